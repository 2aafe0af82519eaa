//! The canonical text of a CTA, and patches that convert it to the recorded text.
//!
//! The text is cut into pieces with a one-to-one correspondence: the opening with the first warp's lines, each instruction line, the text
//! between two warps, and the closing. A patch copies, drops and inserts bytes of the canonical text, so unusual parts of a recorded file
//! are preserved at the cost of their length.

use std::io::Write;

use super::record::{AddressMode, CtaRecord, WarpRecord};
use super::template::Template;
use super::wire::{ByteReader, write_number, write_text};

/// Appends the canonical text of the kernel's CTA `index` to `out`, and the end of each piece to `marks`.
pub(super) fn render(cta: &CtaRecord, index: u64, templates: &[Template], out: &mut Vec<u8>, marks: &mut Vec<usize>) {
    let [x, y, z] = cta.coordinates;
    let between = if index > 0 { "\n\n" } else { "" };
    push_text(out, format_args!("{between}#BEGIN_TB\n\nthread block = {x},{y},{z}\n\n"));
    for (place, warp) in cta.warps.iter().enumerate() {
        if place > 0 {
            out.push(b'\n');
        }
        push_text(out, format_args!("warp = {}\ninsts = {}\n", warp.number, warp.steps.len()));
        marks.push(out.len());
        lines(cta, warp, templates, out, marks);
    }
    push_text(out, format_args!("{}#END_TB", if cta.warps.is_empty() { "" } else { "\n" }));
    marks.push(out.len());
}

/// Returns the start of each line of a warp in files whose lines repeat the CTA's coordinates.
pub(super) fn coordinates(cta: [u64; 3], warp: u32) -> String {
    format!("{} {} {} {warp} ", cta[0], cta[1], cta[2])
}

fn lines(cta: &CtaRecord, warp: &WarpRecord, templates: &[Template], out: &mut Vec<u8>, marks: &mut Vec<usize>) {
    let lead = coordinates(cta.coordinates, warp.number);
    let mut numbers = warp.addresses.iter().copied();
    for step in &warp.steps {
        let template = &templates[step.template as usize];
        if template.coordinates {
            out.extend_from_slice(lead.as_bytes());
        }
        out.extend_from_slice(&template.before);
        push_hex(out, step.mask.into(), 8);
        out.extend_from_slice(&template.middle);
        let digits = if template.padded { 16 } else { 1 };
        let mut address = 0u64;
        for lane in 0..step.address_count() {
            let number = numbers.next().unwrap_or_default();
            address = if lane == 0 { number } else { address.wrapping_add(number) };
            match (lane, step.mode) {
                (0, mode) => {
                    out.extend_from_slice(match mode {
                        AddressMode::None | AddressMode::List => b"0 0x",
                        AddressMode::Affine => b"1 0x",
                        AddressMode::Deltas => b"2 0x",
                    });
                    push_hex(out, address, digits);
                }
                (_, AddressMode::Deltas) => push_text(out, format_args!(" {}", number as i64)),
                _ => {
                    out.extend_from_slice(b" 0x");
                    push_hex(out, address, digits);
                }
            }
        }
        if step.mode == AddressMode::Affine {
            push_text(out, format_args!(" {}", step.stride));
        }
        out.extend_from_slice(&template.end);
        out.push(b'\n');
        marks.push(out.len());
    }
}

fn push_text(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _ = out.write_fmt(text);
}

/// Appends a number with at least `least` hexadecimal digits.
fn push_hex(out: &mut Vec<u8>, value: u64, least: u32) {
    let digits = (64 - value.leading_zeros()).div_ceil(4).max(least);
    for digit in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(value >> (4 * digit) & 15) as usize]);
    }
}

/// Appends the patch that converts `canonical` to `recorded`; `marks` and `recorded_marks` are the ends of their pieces.
pub(super) fn write_patch(out: &mut Vec<u8>, canonical: &[u8], marks: &[usize], recorded: &[u8], recorded_marks: &[usize]) {
    let mut edits = 0;
    let mut body = Vec::new();
    // End of the canonical bytes that earlier edits cover; later bytes are copied.
    let mut done = 0;
    let (mut from, mut recorded_from) = (0, 0);
    for (&to, &recorded_to) in marks.iter().zip(recorded_marks) {
        let (old, new) = (&canonical[from..to], &recorded[recorded_from..recorded_to]);
        if old != new {
            let front = old.iter().zip(new).take_while(|(a, b)| a == b).count();
            let most = old.len().min(new.len()) - front;
            let back = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
            write_number(&mut body, (from + front - done) as u64);
            write_number(&mut body, (old.len() - front - back) as u64);
            write_text(&mut body, &new[front..new.len() - back]);
            done = to - back;
            edits += 1;
        }
        (from, recorded_from) = (to, recorded_to);
    }
    write_number(out, edits);
    out.append(&mut body);
}

/// Applies the next patch of `patches` to `canonical` and appends the result to `out`; returns `None` if the patch is malformed.
pub(super) fn apply_patch(patches: &mut ByteReader<'_>, canonical: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let edits = patches.number()?;
    let mut rest = canonical;
    for _ in 0..edits {
        let (copied, after) = rest.split_at_checked(usize::try_from(patches.number()?).ok()?)?;
        out.extend_from_slice(copied);
        rest = after.split_at_checked(usize::try_from(patches.number()?).ok()?)?.1;
        out.extend_from_slice(patches.text()?);
    }
    out.extend_from_slice(rest);
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn pieces(texts: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
        let ends = texts.iter().scan(0, |at, text| {
            *at += text.len();
            Some(*at)
        });
        (texts.concat(), ends.collect())
    }

    proptest! {
        #[test]
        fn a_patch_makes_the_recorded_text(both in vec((vec(0u8..4, 0..6), vec(0u8..4, 0..6)), 0..8)) {
            let (old, new): (Vec<_>, Vec<_>) = both.into_iter().unzip();
            let ((old, marks), (new, new_marks)) = (pieces(&old), pieces(&new));
            let mut patch = Vec::new();
            write_patch(&mut patch, &old, &marks, &new, &new_marks);
            let mut out = Vec::new();
            let mut bytes = ByteReader::new(&patch);
            prop_assert_eq!(apply_patch(&mut bytes, &old, &mut out), Some(()));
            prop_assert_eq!(bytes.remaining(), 0);
            prop_assert_eq!(out, new);
        }
    }

    #[test]
    fn equal_texts_need_one_byte() {
        let mut patch = Vec::new();
        write_patch(&mut patch, b"abc", &[1, 3], b"abc", &[1, 3]);
        assert_eq!(patch, [0]);
    }
}
