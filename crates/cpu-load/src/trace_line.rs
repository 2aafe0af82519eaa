//! Parser of a line of a CPU trace: `<bubbles> <read address> [<writeback address>]`.

use warpshard_base::Addr;

/// Number of address bits; higher bits contain the number of the core's address space.
pub(super) const ADDRESS_BITS: u32 = 48;

/// A decoded line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceLine {
    pub(super) bubbles: u64,
    pub(super) read: Addr,
    pub(super) writeback: Option<Addr>,
}

/// An error in a line: the problem, the text found, the expected text, and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineFault {
    pub(super) what: &'static str,
    pub(super) found: String,
    pub(super) expected: &'static str,
    pub(super) help: &'static str,
}

pub(super) const LINE_FORMAT: &str = "`<bubbles> <read address> [<writeback address>]`, as in `12 95812032` or `3 4096 8192`";

/// Decodes a line without its line end.
pub(super) fn parse(text: &[u8]) -> Result<TraceLine, LineFault> {
    let mut fields = text.split(|byte| matches!(byte, b' ' | b'\t' | b'\r')).filter(|field| !field.is_empty());
    let Some(bubbles) = fields.next() else {
        let help = "remove the line, or check whether the file was truncated or edited";
        return Err(LineFault { what: "the line is empty", found: "nothing".into(), expected: LINE_FORMAT, help });
    };
    let Some(read) = fields.next() else {
        let help = "each line needs the address of a read; a truncated file ends in such a line";
        return Err(LineFault { what: "the line has one field", found: shown_text(text), expected: LINE_FORMAT, help });
    };
    let writeback = fields.next();
    if fields.next().is_some() {
        let help = "check that this is a CPU trace with filtered reads; a DRAM trace has other columns";
        return Err(LineFault { what: "the line has more than three fields", found: shown_text(text), expected: LINE_FORMAT, help });
    }
    let bubbles = decimal(bubbles).filter(|&count| count < 1 << 40).ok_or_else(|| LineFault {
        what: "the first field is not a number of instructions",
        found: shown_text(bubbles),
        expected: "a decimal number below 2^40",
        help: "the first field counts the instructions before the read; an address belongs in the second",
    })?;
    let address = |field: &[u8], what| {
        let value = field.strip_prefix(b"0x").or(field.strip_prefix(b"0X")).map_or_else(|| decimal(field), hexadecimal);
        value.filter(|&value| value < 1 << ADDRESS_BITS).map(Addr).ok_or_else(|| LineFault {
            what,
            found: shown_text(field),
            expected: "a byte address below 2^48, decimal, or hexadecimal with the prefix 0x",
            help: "addresses are virtual or physical byte addresses; the bits from 48 up number the cores",
        })
    };
    let read = address(read, "the second field is not a read address")?;
    let writeback = writeback.map(|field| address(field, "the third field is not a writeback address")).transpose()?;
    Ok(TraceLine { bubbles, read, writeback })
}

fn decimal(field: &[u8]) -> Option<u64> {
    field.iter().try_fold(0u64, |value, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

fn hexadecimal(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0u64, |value, &byte| {
        let digit = (byte as char).to_digit(16)?;
        value.checked_mul(16)?.checked_add(u64::from(digit))
    })
}

/// Returns the text for a message, truncated if it is long.
fn shown_text(text: &[u8]) -> String {
    const MAX_SHOWN_BYTES: usize = 60;
    let cut = String::from_utf8_lossy(&text[..text.len().min(MAX_SHOWN_BYTES)]);
    format!("`{}{}`", cut.escape_debug(), if text.len() > MAX_SHOWN_BYTES { ".." } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_line_are_read() {
        assert_eq!(parse(b"12 95812032"), Ok(TraceLine { bubbles: 12, read: Addr(95_812_032), writeback: None }));
        assert_eq!(parse(b" 0\t0x1000 64\r"), Ok(TraceLine { bubbles: 0, read: Addr(4096), writeback: Some(Addr(64)) }));
    }

    #[test]
    fn each_kind_of_error_has_a_message() {
        let faults = [
            ("", "empty"),
            ("  ", "empty"),
            ("12", "one field"),
            ("12 64 64 64", "more than three"),
            ("-1 64", "first field"),
            ("1099511627776 64", "first field"),
            ("99999999999999999999999 64", "first field"),
            ("1 R", "second field"),
            ("1 0x", "second field"),
            ("1 281474976710656", "second field"),
            ("1 64 0xg", "third field"),
        ];
        for (text, what) in faults {
            let fault = parse(text.as_bytes()).unwrap_err();
            assert!(fault.what.contains(what), "{text}: {fault:?}");
        }
    }
}
