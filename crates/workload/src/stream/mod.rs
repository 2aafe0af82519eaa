//! The dynamic instruction stream of one warp, in words of 32 bits.
//!
//! An instruction is one word: bits 0 to 23 the index of its [`super::StaticInst`], bits 24 to 26 the form of its
//! addresses, bit 31 set when a mask word follows (else all 32 lanes are active). Then come, in this order, the mask word
//! and the addresses: affine (base low, base high, stride), deltas (base low, base high, then one signed word per further
//! active lane) or a list (two words per active lane), or a payload (their number, and words). So an ALU instruction takes 4 bytes and an affine access 16.
//!
//! A stream of more than 64 KiB has parts (`long`), of which a reader holds two as words; the others are compressed, in memory or in a
//! temporary file (`store`). So the memory that a run needs for streams does not grow with their length.

mod long;
mod store;
mod word;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;

use warpshard_base::{LaneMask, prefetch};

use long::{ODD, PART_WORDS, Part, Parts, Window};
use store::Store;
use word::{FORM_SHIFT, INDEX_MASK, MASK_FOLLOWS, MASK_SHIFT};

/// How the addresses of an access are written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
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
    /// No addresses: words whose meaning the instruction gives ([`WarpStream::payload`]).
    Payload = 4,
}

/// The recorded or generated instructions of one warp. What is read in order, [`WarpStream::read`] reads; an SM keeps the place of each warp itself.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub struct WarpStream {
    /// The number of instructions of the whole stream, then the part that is at hand; empty where there are no instructions.
    words: Arc<[u32]>,
    /// Where the part at hand lies in a stream of several.
    window: Option<Box<Window>>,
}

impl WarpStream {
    /// Instructions in the stream.
    pub fn len(&self) -> u32 {
        self.words.first().copied().unwrap_or(0)
    }

    /// Whether the warp has nothing to execute.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the stream occupies, compressed parts as they are.
    pub fn bytes(&self) -> usize {
        let parts = self.window.iter().flat_map(|window| &window.parts.list).map(|part| part.held.bytes());
        self.words.len() * 4 + parts.sum::<usize>()
    }

    /// All instructions in order.
    pub fn read(&self) -> Reader {
        let mut stream = self.clone();
        let cursor = stream.go_to(0);
        Reader { stream, cursor }
    }

    /// Whether both streams are the same allocation, as equal warps of a trace are.
    pub fn shares_memory_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.words, &other.words)
    }

    /// A hash of the contents, equal for equal streams and the same on every machine run.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.for_each_part(|words| words.hash(&mut hasher));
        hasher.finish()
    }

    /// Calls `see` with the words of each part.
    fn for_each_part(&self, mut see: impl FnMut(&[u32])) {
        match &self.window {
            None => see(&self.words),
            Some(window) => (0..window.parts.list.len()).for_each(|part| see(&window.parts.words(part))),
        }
    }

    /// The instruction at `cursor`, which moves past it; `None` at the end of the part at hand, where [`WarpStream::advance`] may go on.
    #[inline]
    pub fn next(&self, cursor: &mut Cursor) -> Option<DynInst> {
        let odd = cursor.0 & ODD;
        let mut at = (cursor.0 ^ odd) as usize;
        let word = *self.words.get(at)?;
        at += 1;
        // The word read as a mask is the head itself where none follows, and does not count then.
        let follows = word >> MASK_SHIFT;
        let mask = LaneMask(self.words[at - 1 + follows as usize] | follows.wrapping_sub(1));
        at += follows as usize;
        let (addresses_at, lanes) = (at as u32 | odd, mask.count());
        let mut form = AddressForm::None;
        let bits = word >> FORM_SHIFT & 7;
        if bits != 0 {
            form = match bits {
                1 => AddressForm::Affine,
                2 => AddressForm::Deltas,
                3 => AddressForm::List,
                _ => AddressForm::Payload,
            };
            // The addresses are read when it reaches the load/store unit, and many of them lie outside the host's cache line.
            self.prefetch_word(at + 16);
            at += match form {
                AddressForm::Deltas => 1 + (lanes as usize).max(1),
                AddressForm::List => 2 * lanes as usize,
                AddressForm::Payload => 1 + self.words[at] as usize,
                _ => 3,
            };
        }
        cursor.0 = at as u32 | odd;
        Some(DynInst { index: word & INDEX_MASK, mask, form, lanes: lanes as u8, addresses_at })
    }

    /// Goes on to the next part where `cursor` is at the end of the part at hand; returns whether there is one.
    #[cold]
    pub fn advance(&mut self, cursor: &mut Cursor) -> bool {
        let Some(window) = &mut self.window else { return false };
        let more = window.advance(&mut self.words);
        if more {
            *cursor = Cursor(FIRST | window.parity());
        }
        more
    }

    /// Goes to the instruction after `instructions` others and returns its place; the end where there are fewer. Forgets the addresses of
    /// instructions decoded before.
    pub fn go_to(&mut self, instructions: u32) -> Cursor {
        let (mut cursor, mut before) = (Cursor::default(), 0);
        if let Some(window) = &mut self.window {
            before = window.go_to(instructions.min(window.parts.len), &mut self.words);
            cursor = Cursor(FIRST | window.parity());
        }
        for _ in before..instructions {
            if self.next(&mut cursor).is_none() {
                break;
            }
        }
        cursor
    }

    /// Whether `cursor` is at the end of the part at hand and there are others.
    #[inline]
    pub fn part_ends_at(&self, cursor: Cursor) -> bool {
        self.window.is_some() && (cursor.0 & !ODD) as usize == self.words.len()
    }

    /// Prefetches the instruction at `cursor`.
    #[inline]
    pub fn prefetch(&self, cursor: Cursor) {
        self.prefetch_word((cursor.0 & !ODD) as usize);
    }

    #[inline]
    fn prefetch_word(&self, at: usize) {
        if let Some(word) = self.words.get(at) {
            prefetch(word);
        }
    }

    /// The words from the addresses of `inst` on.
    #[inline]
    fn tail(&self, inst: &DynInst) -> &[u32] {
        let words = match &self.window {
            None => &*self.words,
            Some(window) => window.holding(&self.words, inst.addresses_at),
        };
        &words[(inst.addresses_at & !ODD) as usize..]
    }

    /// Writes the address of the i-th active lane of `inst` to `out[i]` and returns how many there are. At most one part may have been begun
    /// since `inst` was decoded.
    pub fn addresses(&self, inst: &DynInst, out: &mut [u64; 32]) -> usize {
        let lanes = usize::from(inst.lanes);
        let words = self.tail(inst);
        let wide = |i: usize| u64::from(words[i]) | u64::from(words[i + 1]) << 32;
        match inst.form {
            AddressForm::None | AddressForm::Payload => return 0,
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

    /// The payload of `inst`; empty where it has none. At most one part may have been begun since `inst` was decoded.
    pub fn payload(&self, inst: &DynInst) -> &[u32] {
        match (inst.form, self.tail(inst)) {
            (AddressForm::Payload, [count, words @ ..]) => words.get(..*count as usize).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Base and stride of an affine access, without expanding it.
    #[inline]
    pub fn affine(&self, inst: &DynInst) -> Option<(u64, i32)> {
        if inst.form != AddressForm::Affine {
            return None;
        }
        let words = self.tail(inst);
        Some((u64::from(words[0]) | u64::from(words[1]) << 32, words[2] as i32))
    }
}

impl PartialEq for WarpStream {
    /// Equal instructions, whatever part is at hand.
    fn eq(&self, other: &Self) -> bool {
        match (&self.window, &other.window) {
            (None, None) => self.words == other.words,
            (Some(a), Some(b)) => {
                let parts = |window: &Window| window.parts.list.len();
                Arc::ptr_eq(&a.parts, &b.parts)
                    || parts(a) == parts(b) && (0..parts(a)).all(|part| a.parts.words(part) == b.parts.words(part))
            }
            _ => false,
        }
    }
}

impl Eq for WarpStream {}

/// Why an instruction stream could not be read back from its temporary file, if one could not. It holds for the whole process.
pub fn streams_failure() -> Option<String> {
    Store::shared().failure()
}

/// A place in the part of a [`WarpStream`] that is at hand, and in bit 31 whether that part has an odd number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Cursor(u32);

/// Place of the first instruction of a part.
const FIRST: u32 = 1;

impl Default for Cursor {
    /// The beginning of a stream.
    fn default() -> Self {
        Self(FIRST)
    }
}

/// Reads a [`WarpStream`] from its beginning to its end.
#[derive(Debug)]
pub struct Reader {
    stream: WarpStream,
    cursor: Cursor,
}

impl Reader {
    /// Writes the address of the i-th active lane of `inst`, which was the last to be read, to `out[i]` and returns how many there are.
    pub fn addresses(&self, inst: &DynInst, out: &mut [u64; 32]) -> usize {
        self.stream.addresses(inst, out)
    }
}

impl Iterator for Reader {
    type Item = DynInst;

    fn next(&mut self) -> Option<DynInst> {
        self.stream.next(&mut self.cursor).or_else(|| {
            let more = self.stream.advance(&mut self.cursor);
            if more { self.stream.next(&mut self.cursor) } else { None }
        })
    }
}

/// One execution of an instruction by a warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
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
#[derive(Debug)]
pub struct StreamBuilder {
    /// A place for the number of instructions, then the part that is being built; empty before the first instruction.
    words: Vec<u32>,
    len: u32,
    /// Where the instruction begins that was appended last with its lanes.
    last: usize,
    /// Words after which a part ends.
    part_words: usize,
    /// The parts before, and the instructions in them.
    parts: Vec<Part>,
    before: u32,
    store: Option<Arc<Store>>,
}

impl Default for StreamBuilder {
    fn default() -> Self {
        Self { words: Vec::new(), len: 0, last: 0, part_words: PART_WORDS, parts: Vec::new(), before: 0, store: None }
    }
}

impl StreamBuilder {
    /// A builder of streams whose parts have at least `part_words` words, which is 16384 otherwise.
    pub fn with_parts(part_words: usize) -> Self {
        Self { part_words, ..Self::default() }
    }

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

    /// Appends an instruction with words of its own, which [`WarpStream::payload`] hands out.
    pub fn payload(&mut self, index: u32, mask: LaneMask, words: &[u32]) {
        self.head(index, mask, AddressForm::Payload);
        self.words.push(words.len() as u32);
        self.words.extend_from_slice(words);
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
        let mut rest = indices;
        while !rest.is_empty() {
            self.begin();
            let room = self.part_words.saturating_sub(self.words.len() - FIRST as usize);
            let (here, after) = rest.split_at(room.clamp(1, rest.len()));
            self.words.extend_from_slice(here);
            self.len += here.len() as u32;
            rest = after;
        }
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
        let stream = if self.parts.is_empty() {
            self.words.iter_mut().take(1).for_each(|first| *first = self.len);
            WarpStream { words: self.words.as_slice().into(), window: None }
        } else {
            self.end_part();
            let parts = Arc::new(Parts { len: self.len, list: std::mem::take(&mut self.parts).into() });
            WarpStream { words: parts.words(0), window: Some(Box::new(Window::new(parts))) }
        };
        self.words.clear();
        (self.len, self.last, self.before) = (0, 0, 0);
        stream
    }

    /// Makes room for an instruction: begins the stream, or the next part of it.
    #[inline]
    fn begin(&mut self) {
        if self.words.len().wrapping_sub(1) >= self.part_words {
            self.begin_part();
        }
    }

    #[cold]
    fn begin_part(&mut self) {
        if !self.words.is_empty() {
            self.end_part();
        }
        self.words.push(0);
    }

    fn end_part(&mut self) {
        let held = self.store.get_or_insert_with(Store::shared).keep(&self.words[FIRST as usize..]);
        self.parts.push(Part { before: self.before, held });
        self.before = self.len;
        self.words.clear();
    }

    #[inline]
    fn head(&mut self, index: u32, mask: LaneMask, form: AddressForm) {
        assert!(index <= INDEX_MASK, "more than 2^24 static instructions in one kernel");
        let full = mask == LaneMask::FULL;
        self.begin();
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
    use warpshard_base::Rng;

    use super::*;

    /// A builder of streams whose parts are kept in `store`.
    fn kept(part_words: usize, store: Arc<Store>) -> StreamBuilder {
        StreamBuilder { store: Some(store), ..StreamBuilder::with_parts(part_words) }
    }

    /// Random instructions of all forms, appended to each of `builders`.
    fn random(seed: u64, instructions: u32, builders: &mut [&mut StreamBuilder]) {
        let mut rng = Rng::keyed(seed, &[]);
        for number in 0..instructions {
            let mask = if rng.below(3) == 0 { LaneMask(rng.next_u64() as u32) } else { LaneMask::FULL };
            let (base, scale) = (rng.next_u64() >> 20, [4, 0x1000, 1 << 40][rng.below(3) as usize]);
            let addresses: Vec<u64> = (0..u64::from(mask.count())).map(|lane| base + scale * (lane + rng.below(2))).collect();
            for builder in builders.iter_mut() {
                match number % 5 {
                    0 => builder.op(number, mask),
                    1 => builder.ops(&[number; 5]),
                    2 => builder.affine(number, LaneMask::FULL, base, 4),
                    3 => builder.payload(number, mask, &vec![number; (number % 7) as usize]),
                    _ => builder.access(number, mask, &addresses),
                }
            }
        }
    }

    fn contents(reader: &mut Reader) -> Vec<(u32, LaneMask, Vec<u64>)> {
        let mut all = Vec::new();
        while let Some(inst) = reader.next() {
            let mut out = [0; 32];
            let count = reader.addresses(&inst, &mut out);
            let words = reader.stream.payload(&inst).iter().map(|word| u64::from(*word));
            all.push((inst.index, inst.mask, out[..count].iter().copied().chain(words).collect()));
        }
        all
    }

    #[test]
    fn a_stream_is_the_same_whether_its_instructions_are_appended_together_or_one_by_one() {
        let indices: Vec<u32> = (0..1000).collect();
        for part_words in [0, 1, 7, 100, 2000] {
            let (mut together, mut alone) = (StreamBuilder::with_parts(part_words), StreamBuilder::with_parts(part_words));
            together.op(5, LaneMask::FULL);
            together.ops(&indices);
            [5].iter().chain(&indices).for_each(|&index| alone.op(index, LaneMask::FULL));
            let (together, alone) = (together.finish(), alone.finish());
            assert_eq!(together, alone, "parts of {part_words} words");
            assert_eq!(contents(&mut together.read()), contents(&mut alone.read()));
        }
    }

    #[test]
    fn a_stream_in_parts_reads_as_one_in_a_piece() {
        for (seed, limit) in [(1, usize::MAX), (2, 3000), (3, 0)] {
            let mut whole = StreamBuilder::with_parts(usize::MAX - 1);
            let mut parted = kept(200, Arc::new(Store::new(limit)));
            random(seed, 2000, &mut [&mut whole, &mut parted]);
            let (whole, parted) = (whole.finish(), parted.finish());
            assert!(whole.window.is_none() && parted.window.as_ref().is_some_and(|window| window.parts.list.len() > 50));
            assert_eq!(parted.len(), whole.len());
            let expected = contents(&mut whole.read());
            assert_eq!(expected.len(), whole.len() as usize);
            assert_eq!(contents(&mut parted.read()), expected);
            assert!(parted == parted.clone() && parted != whole);

            // As an SM reads: from any place, addresses late but within a part.
            for start in (0..=whole.len()).step_by(97).chain([whole.len()]) {
                let mut stream = parted.clone();
                let mut cursor = stream.go_to(start);
                let mut late: Vec<(u32, DynInst)> = Vec::new();
                for number in start..whole.len() {
                    let inst = stream.next(&mut cursor).unwrap_or_else(|| {
                        assert!(stream.part_ends_at(cursor) && stream.advance(&mut cursor), "{start}: ends at {number}");
                        stream.next(&mut cursor).unwrap()
                    });
                    late.push((number, inst));
                    if late.len() == 5 {
                        for (number, inst) in late.drain(..) {
                            let mut out = [0; 32];
                            let count = stream.addresses(&inst, &mut out);
                            let words = stream.payload(&inst).iter().map(|word| u64::from(*word));
                            let found = (inst.index, inst.mask, out[..count].iter().copied().chain(words).collect());
                            assert_eq!(found, expected[number as usize], "{start}: {number}");
                        }
                    }
                }
                assert!(stream.next(&mut cursor).is_none() && !stream.advance(&mut cursor));
            }
        }
    }

    #[test]
    fn a_builder_makes_one_stream_after_the_other() {
        let mut builder = kept(50, Arc::new(Store::new(0)));
        assert!(builder.finish().is_empty());
        for seed in 1..4 {
            let mut fresh = kept(50, Arc::new(Store::new(0)));
            random(seed, 10_u32.pow(seed as u32), &mut [&mut builder, &mut fresh]);
            let (stream, fresh) = (builder.finish(), fresh.finish());
            assert!(stream == fresh && stream.fingerprint() == fresh.fingerprint() && !stream.is_empty());
        }
    }

    #[test]
    fn a_part_that_is_lost_leaves_instructions_without_lanes() {
        let store = Arc::new(Store::new(0));
        let mut builder = kept(50, Arc::clone(&store));
        random(1, 100, &mut [&mut builder]);
        let stream = builder.finish();
        store.lose_file();
        assert_eq!(stream.read().count(), stream.len() as usize);
        assert!(store.failure().is_some());
    }

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
        // Three instructions of one word, one of them with a mask, the access, and the number of instructions.
        assert_eq!(round_trip(LaneMask::FULL, &addresses), (AddressForm::Affine, 4 + 16 + 8 + 4));
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
