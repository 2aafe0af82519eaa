//! The dynamic instruction stream of one warp, in words of 32 bits.
//!
//! An instruction is one word: bits 0 to 23 the index of its [`super::StaticInst`], bits 24 to 26 the form of its
//! addresses, bit 31 set when a mask word follows (else all 32 lanes are active). Then come, in this order, the mask word
//! and the addresses: affine (base low, base high, stride), deltas (base low, base high, then one signed word per further
//! active lane) or a list (two words per active lane). So an ALU instruction takes 4 bytes and an affine access 16.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;

use crate::base::{LaneMask, prefetch};

const INDEX_MASK: u32 = 0x00ff_ffff;
const FORM_SHIFT: u32 = 24;
const MASK_SHIFT: u32 = 31;
const MASK_FOLLOWS: u32 = 1 << MASK_SHIFT;

/// How the addresses of an access are written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum AddressForm {
    /// No memory access.
    #[default]
    None = 0,
    /// `base + i * stride` for the i-th active lane.
    Affine = 1,
    /// A base for the first active lane, then signed differences from the previous active lane.
    Deltas = 2,
    /// One address per active lane.
    List = 3,
}

/// The recorded or generated instructions of one warp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarpStream {
    words: Arc<[u32]>,
    len: u32,
}

impl WarpStream {
    /// Instructions in the stream.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether the warp has nothing to execute.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that the stream occupies.
    pub fn bytes(&self) -> usize {
        self.words.len() * 4
    }

    /// Whether both streams are the same allocation, as equal warps of a trace are.
    pub fn shares_memory_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.words, &other.words)
    }

    /// A hash of the contents, equal for equal streams and the same on every machine run.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.words.hash(&mut hasher);
        hasher.finish()
    }

    /// The instruction at `cursor`, which moves past it; `None` at the end.
    #[inline]
    pub fn next(&self, cursor: &mut Cursor) -> Option<DynInst> {
        let mut at = cursor.0 as usize;
        let word = *self.words.get(at)?;
        at += 1;
        // The word read as a mask is the head itself where none follows, and does not count then.
        let follows = word >> MASK_SHIFT;
        let mask = LaneMask(self.words[at - 1 + follows as usize] | follows.wrapping_sub(1));
        at += follows as usize;
        let (addresses_at, lanes) = (at as u32, mask.count());
        let form = match word >> FORM_SHIFT & 7 {
            0 => AddressForm::None,
            1 => AddressForm::Affine,
            2 => AddressForm::Deltas,
            _ => AddressForm::List,
        };
        if form != AddressForm::None {
            // The addresses are read when it reaches the load/store unit, and many of them lie outside the host's cache line.
            self.prefetch_word(at + 16);
            at += match form {
                AddressForm::Deltas => 1 + (lanes as usize).max(1),
                AddressForm::List => 2 * lanes as usize,
                _ => 3,
            };
        }
        cursor.0 = at as u32;
        Some(DynInst { index: word & INDEX_MASK, mask, form, lanes: lanes as u8, addresses_at })
    }

    /// The cursor after so many instructions; the end where there are fewer.
    pub fn cursor_after(&self, instructions: u32) -> Cursor {
        let mut cursor = Cursor::default();
        for _ in 0..instructions {
            if self.next(&mut cursor).is_none() {
                break;
            }
        }
        cursor
    }

    /// Prefetches the instruction at `cursor`.
    #[inline]
    pub fn prefetch(&self, cursor: Cursor) {
        self.prefetch_word(cursor.0 as usize);
    }

    #[inline]
    fn prefetch_word(&self, at: usize) {
        if let Some(word) = self.words.get(at) {
            prefetch(word);
        }
    }

    /// Writes the address of the i-th active lane of `inst` to `out[i]` and returns how many there are.
    pub fn addresses(&self, inst: &DynInst, out: &mut [u64; 32]) -> usize {
        let lanes = usize::from(inst.lanes);
        let words = &self.words[inst.addresses_at as usize..];
        let wide = |i: usize| u64::from(words[i]) | u64::from(words[i + 1]) << 32;
        match inst.form {
            AddressForm::None => return 0,
            AddressForm::Affine => {
                let (mut address, stride) = (wide(0), i64::from(words[2] as i32));
                for slot in &mut out[..lanes] {
                    *slot = address;
                    address = address.wrapping_add_signed(stride);
                }
            }
            AddressForm::Deltas => {
                let mut address = wide(0);
                for (i, slot) in out[..lanes].iter_mut().enumerate() {
                    if i > 0 {
                        address = address.wrapping_add_signed(i64::from(words[i + 1] as i32));
                    }
                    *slot = address;
                }
            }
            AddressForm::List => {
                for (i, slot) in out[..lanes].iter_mut().enumerate() {
                    *slot = wide(2 * i);
                }
            }
        }
        lanes
    }

    /// Base and stride of an affine access, without expanding it.
    #[inline]
    pub fn affine(&self, inst: &DynInst) -> Option<(u64, i32)> {
        if inst.form != AddressForm::Affine {
            return None;
        }
        let words = &self.words[inst.addresses_at as usize..];
        Some((u64::from(words[0]) | u64::from(words[1]) << 32, words[2] as i32))
    }
}

/// A place in a [`WarpStream`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor(u32);

/// One execution of an instruction by a warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DynInst {
    /// Index of the static instruction in [`super::CtaProgram::code`].
    pub index: u32,
    /// Lanes that execute it; none means predicated off, issued all the same.
    pub mask: LaneMask,
    /// Form of its addresses.
    pub form: AddressForm,
    /// How many lanes execute it.
    pub lanes: u8,
    addresses_at: u32,
}

/// Builds a [`WarpStream`] instruction by instruction.
#[derive(Clone, Debug, Default)]
pub struct StreamBuilder {
    words: Vec<u32>,
    len: u32,
    /// Where the instruction begins that was appended last with its lanes.
    last: usize,
}

impl StreamBuilder {
    /// Appends an instruction without addresses.
    #[inline]
    pub fn op(&mut self, index: u32, mask: LaneMask) {
        self.head(index, mask, AddressForm::None);
    }

    /// Appends an access; `addresses` holds one address per active lane, in lane order.
    ///
    /// The most compact form that holds them exactly is chosen; none at all is the form of a predicated-off access.
    pub fn access(&mut self, index: u32, mask: LaneMask, addresses: &[u64]) {
        assert_eq!(addresses.len(), mask.count() as usize, "one address for each active lane");
        if addresses.is_empty() {
            return self.head(index, mask, AddressForm::None);
        }
        // One pass over the lanes: most lists of a gather are neither affine nor too far apart for differences.
        let mut deltas = [0; 31];
        let (mut fit, mut differ) = (true, 0);
        for (slot, pair) in deltas.iter_mut().zip(addresses.windows(2)) {
            let delta = pair[1].wrapping_sub(pair[0]) as i64;
            *slot = delta as i32;
            fit &= i64::from(*slot) == delta;
            differ |= delta ^ addresses[1].wrapping_sub(addresses[0]) as i64;
        }
        if !fit {
            self.head(index, mask, AddressForm::List);
            for &address in addresses {
                self.wide(address);
            }
        } else if differ == 0 {
            self.affine(index, mask, addresses[0], deltas[0]);
        } else {
            self.head(index, mask, AddressForm::Deltas);
            self.wide(addresses[0]);
            self.words.extend(deltas[..addresses.len() - 1].iter().map(|&delta| delta as u32));
        }
    }

    /// Appends an access at `base + i * stride` for the i-th active lane; the mask is not empty.
    pub fn affine(&mut self, index: u32, mask: LaneMask, base: u64, stride: i32) {
        self.head(index, mask, AddressForm::Affine);
        self.wide(base);
        self.words.push(stride as u32);
    }

    /// Appends instructions without addresses, all lanes active, by their indices, each below 2^24.
    #[inline]
    pub fn ops(&mut self, indices: &[u32]) {
        debug_assert!(indices.iter().all(|&index| index <= INDEX_MASK), "more than 2^24 static instructions in one kernel");
        self.words.extend_from_slice(indices);
        self.len += indices.len() as u32;
    }

    /// Appends an access of all lanes whose form is known: `tail` is the stride of an affine access, or the 31 differences
    /// of one in deltas.
    #[inline]
    pub fn prepared(&mut self, index: u32, form: AddressForm, base: u64, tail: &[u32]) {
        debug_assert!(matches!((form, tail.len()), (AddressForm::Affine, 1) | (AddressForm::Deltas, 31)));
        self.head(index, LaneMask::FULL, form);
        self.wide(base);
        self.words.extend_from_slice(tail);
    }

    /// The form of the instruction appended last, if it was an access of all lanes, and what [`StreamBuilder::prepared`] takes as
    /// its tail: the stride first, or the differences.
    pub fn last_tail(&self) -> Option<(AddressForm, [u32; 31])> {
        let [head, _, _, words @ ..] = self.words.get(self.last..)? else { return None };
        let form = match (head >> FORM_SHIFT, words.len()) {
            (form, 1) if form == AddressForm::Affine as u32 => AddressForm::Affine,
            (form, 31) if form == AddressForm::Deltas as u32 => AddressForm::Deltas,
            _ => return None,
        };
        let mut tail = [0; 31];
        tail[..words.len()].copy_from_slice(words);
        Some((form, tail))
    }

    /// Instructions appended so far.
    pub fn instructions(&self) -> u32 {
        self.len
    }

    /// The finished stream; the builder is empty again and keeps its allocation.
    pub fn finish(&mut self) -> WarpStream {
        let stream = WarpStream { words: self.words.as_slice().into(), len: self.len };
        self.words.clear();
        (self.len, self.last) = (0, 0);
        stream
    }

    #[inline]
    fn head(&mut self, index: u32, mask: LaneMask, form: AddressForm) {
        assert!(index <= INDEX_MASK, "more than 2^24 static instructions in one kernel");
        let full = mask == LaneMask::FULL;
        self.last = self.words.len();
        self.words.push(index | (form as u32) << FORM_SHIFT | if full { 0 } else { MASK_FOLLOWS });
        if !full {
            self.words.push(mask.0);
        }
        self.len += 1;
    }

    fn wide(&mut self, value: u64) {
        self.words.push(value as u32);
        self.words.push((value >> 32) as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(mask: LaneMask, addresses: &[u64]) -> (AddressForm, usize) {
        let mut builder = StreamBuilder::default();
        builder.op(7, LaneMask::FULL);
        builder.access(8, mask, addresses);
        builder.op(9, LaneMask(0));
        let stream = builder.finish();
        let mut cursor = Cursor::default();
        assert_eq!(stream.next(&mut cursor).unwrap().index, 7);
        let inst = stream.next(&mut cursor).unwrap();
        let mut out = [0; 32];
        let n = stream.addresses(&inst, &mut out);
        assert_eq!(&out[..n], addresses);
        assert_eq!(inst.mask, mask);
        assert_eq!(stream.next(&mut cursor).unwrap().index, 9);
        assert_eq!(stream.next(&mut cursor), None);
        (inst.form, stream.bytes())
    }

    #[test]
    fn a_coalesced_access_takes_16_bytes() {
        let addresses: Vec<u64> = (0..32).map(|i| 0x7f00_0000_0000 + 4 * i).collect();
        assert_eq!(round_trip(LaneMask::FULL, &addresses), (AddressForm::Affine, 4 + 16 + 8));
    }

    #[test]
    fn the_tail_of_the_last_access_prepares_the_same_access_elsewhere() {
        let gather: Vec<u64> = (0..32).map(|i| 0x7f00_0000_0000 + (i * i * 37) % 1001).collect();
        let row: Vec<u64> = (0..32).map(|i| 0x7f00_0000_0000 + 4 * i).collect();
        for addresses in [gather, row] {
            let mut builder = StreamBuilder::default();
            builder.op(7, LaneMask::FULL);
            assert_eq!(builder.last_tail(), None);
            builder.access(8, LaneMask::FULL, &addresses);
            let (form, tail) = builder.last_tail().unwrap();
            builder.prepared(9, form, addresses[0] + 64, if form == AddressForm::Affine { &tail[..1] } else { &tail });
            let stream = builder.finish();
            let (mut cursor, mut out) = (Cursor::default(), [0; 32]);
            let last = std::iter::from_fn(|| stream.next(&mut cursor)).last().unwrap();
            stream.addresses(&last, &mut out);
            assert!(last.index == 9 && out.iter().zip(&addresses).all(|(moved, address)| *moved == address + 64));
        }
        let mut builder = StreamBuilder::default();
        builder.access(8, LaneMask(0xff), &[0, 4, 8, 12, 16, 20, 24, 28]);
        assert_eq!(builder.last_tail(), None);
    }

    #[test]
    fn gathers_keep_every_address() {
        let addresses: Vec<u64> = (0..32).map(|i| 0x7f00_0000_0000 + (i * i * 37) % 1001).collect();
        assert_eq!(round_trip(LaneMask::FULL, &addresses).0, AddressForm::Deltas);
        assert_eq!(round_trip(LaneMask(0x8001), &[16, 1 << 40]).0, AddressForm::List);
        assert_eq!(round_trip(LaneMask(4), &[99]).0, AddressForm::Affine);
        assert_eq!(round_trip(LaneMask(0), &[]).0, AddressForm::None);
    }
}
