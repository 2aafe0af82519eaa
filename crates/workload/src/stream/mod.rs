//! The dynamic instruction stream of one warp, in words of 32 bits.
//!
//! An instruction is one word: bits 0 to 23 the index of its [`super::StaticInst`], bits 24 to 26 the form of its addresses, bit 31 set if
//! a mask word follows (else all 32 lanes are active). Then come, in this order, the mask word and the addresses. The addresses are affine
//! (base low, base high, stride), deltas (base low, base high, then one signed word per further active lane) or a list (two words per
//! active lane). Instead of addresses there may be a payload (the number of words, then the words). So an ALU instruction takes 4 bytes and
//! an affine access 16.
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

use long::{MIN_PART_WORDS, ODD_PART_BIT, StreamPart, StreamParts, StreamWindow};
use store::Store;
use word::{FORM_SHIFT, INDEX_MASK, MASK_FOLLOWS, MASK_SHIFT};

/// The encoding of the addresses of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
pub enum AddressForm {
    /// No addresses.
    #[default]
    None = 0,
    /// `base + i * stride` for the i-th active lane.
    Affine = 1,
    /// A base for the first active lane, then signed differences from the previous active lane.
    Deltas = 2,
    /// One address per active lane.
    List = 3,
    /// No addresses but words whose meaning depends on the instruction ([`WarpStream::payload`]).
    Payload = 4,
}

/// The recorded or generated instructions of one warp. [`WarpStream::read`] reads them in order; an SM instead keeps a cursor for each
/// warp.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub struct WarpStream {
    /// The number of instructions of the whole stream, then the loaded part; empty without instructions.
    words: Arc<[u32]>,
    /// Position of the loaded part in a stream of several parts.
    window: Option<Box<StreamWindow>>,
}

impl WarpStream {
    /// Returns the number of instructions in the stream.
    pub fn len(&self) -> u32 {
        self.words.first().copied().unwrap_or(0)
    }

    /// Returns true if the warp has no instructions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes that the stream occupies, with the compressed size of compressed parts.
    pub fn bytes(&self) -> usize {
        let parts = self.window.iter().flat_map(|window| &window.parts.list).map(|part| part.stored.bytes());
        self.words.len() * 4 + parts.sum::<usize>()
    }

    /// Returns a reader of all instructions in order.
    pub fn read(&self) -> StreamReader {
        let mut stream = self.clone();
        let cursor = stream.seek(0);
        StreamReader { stream, cursor }
    }

    /// Returns true if both streams share an allocation, as equal warps of a trace do.
    pub fn shares_memory_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.words, &other.words)
    }

    /// Returns a hash of the contents, equal for equal streams and the same on every host.
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

    /// Returns the instruction at `cursor` and moves the cursor past it; `None` at the end of the loaded part, after which
    /// [`WarpStream::advance`] may load another part.
    #[inline]
    pub fn next(&self, cursor: &mut Cursor) -> Option<DynInst> {
        let odd = cursor.0 & ODD_PART_BIT;
        let mut at = (cursor.0 ^ odd) as usize;
        let word = *self.words.get(at)?;
        at += 1;
        // Without a mask word this reads the head itself as the mask, and the bits set on the right override it.
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
            // The addresses are read when the instruction reaches the load/store unit, and many addresses lie outside this cache line of
            // the host.
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

    /// Loads the next part if `cursor` is at the end of the loaded part; returns false if there is none.
    #[cold]
    pub fn advance(&mut self, cursor: &mut Cursor) -> bool {
        let Some(window) = &mut self.window else { return false };
        let more = window.advance(&mut self.words);
        if more {
            *cursor = Cursor(FIRST_POSITION | window.parity());
        }
        more
    }

    /// Returns the position after `instructions` instructions, or the end if there are fewer. The addresses of instructions decoded before
    /// become unavailable.
    pub fn seek(&mut self, instructions: u32) -> Cursor {
        let (mut cursor, mut before) = (Cursor::default(), 0);
        if let Some(window) = &mut self.window {
            before = window.seek(instructions.min(window.parts.len), &mut self.words);
            cursor = Cursor(FIRST_POSITION | window.parity());
        }
        for _ in before..instructions {
            if self.next(&mut cursor).is_none() {
                break;
            }
        }
        cursor
    }

    /// Returns true if `cursor` is at the end of the loaded part of a stream with several parts.
    #[inline]
    pub fn part_ends_at(&self, cursor: Cursor) -> bool {
        self.window.is_some() && (cursor.0 & !ODD_PART_BIT) as usize == self.words.len()
    }

    /// Prefetches the instruction at `cursor`.
    #[inline]
    pub fn prefetch(&self, cursor: Cursor) {
        self.prefetch_word((cursor.0 & !ODD_PART_BIT) as usize);
    }

    #[inline]
    fn prefetch_word(&self, at: usize) {
        if let Some(word) = self.words.get(at) {
            prefetch(word);
        }
    }

    /// Returns the words from the addresses of `inst` on.
    #[inline]
    fn tail(&self, inst: &DynInst) -> &[u32] {
        let words = match &self.window {
            None => &*self.words,
            Some(window) => window.words_at(&self.words, inst.addresses_at),
        };
        &words[(inst.addresses_at & !ODD_PART_BIT) as usize..]
    }

    /// Writes the address of the i-th active lane of `inst` to `out[i]` and returns the number of addresses. At most one part may have been
    /// loaded since `inst` was decoded.
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

    /// Returns the payload of `inst`; empty without a payload. At most one part may have been loaded since `inst` was decoded.
    pub fn payload(&self, inst: &DynInst) -> &[u32] {
        match (inst.form, self.tail(inst)) {
            (AddressForm::Payload, [count, words @ ..]) => words.get(..*count as usize).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Returns base and stride of an affine access without expanding its addresses.
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
    /// Compares the instructions, regardless of the loaded parts.
    fn eq(&self, other: &Self) -> bool {
        match (&self.window, &other.window) {
            (None, None) => self.words == other.words,
            (Some(a), Some(b)) => {
                let parts = |window: &StreamWindow| window.parts.list.len();
                Arc::ptr_eq(&a.parts, &b.parts)
                    || parts(a) == parts(b) && (0..parts(a)).all(|part| a.parts.words(part) == b.parts.words(part))
            }
            _ => false,
        }
    }
}

impl Eq for WarpStream {}

/// Returns the reason why an instruction stream could not be read back from its temporary file, if any. It applies to the whole process.
pub fn streams_failure() -> Option<String> {
    Store::shared().failure()
}

/// A position in the loaded part of a [`WarpStream`]; bit 31 is set if that part has an odd number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Cursor(u32);

/// Position of the first instruction of a part.
const FIRST_POSITION: u32 = 1;

impl Default for Cursor {
    /// Returns the beginning of a stream.
    fn default() -> Self {
        Self(FIRST_POSITION)
    }
}

/// Reads a [`WarpStream`] from its beginning to its end.
#[derive(Debug)]
pub struct StreamReader {
    stream: WarpStream,
    cursor: Cursor,
}

impl StreamReader {
    /// Writes the address of the i-th active lane of `inst`, the last instruction read, to `out[i]` and returns the number of addresses.
    pub fn addresses(&self, inst: &DynInst, out: &mut [u64; 32]) -> usize {
        self.stream.addresses(inst, out)
    }
}

impl Iterator for StreamReader {
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
    /// Lanes that execute the instruction; empty if it is predicated off, but it still issues.
    pub mask: LaneMask,
    /// Encoding of the addresses.
    pub form: AddressForm,
    /// Number of lanes that execute the instruction.
    pub lanes: u8,
    addresses_at: u32,
}

/// Builds a [`WarpStream`] instruction by instruction.
#[derive(Debug)]
pub struct StreamBuilder {
    /// A word reserved for the number of instructions, then the part that is being built; empty before the first instruction.
    words: Vec<u32>,
    len: u32,
    /// Position of the last instruction that was appended with a mask.
    last: usize,
    /// Number of words after which a part ends.
    part_words: usize,
    /// The completed parts, and the number of instructions in them.
    parts: Vec<StreamPart>,
    instructions_before: u32,
    store: Option<Arc<Store>>,
}

impl Default for StreamBuilder {
    fn default() -> Self {
        Self { words: Vec::new(), len: 0, last: 0, part_words: MIN_PART_WORDS, parts: Vec::new(), instructions_before: 0, store: None }
    }
}

impl StreamBuilder {
    /// Creates a builder of streams whose parts have at least `part_words` words; the default is 16384.
    pub fn with_parts(part_words: usize) -> Self {
        Self { part_words, ..Self::default() }
    }

    /// Appends an instruction without addresses.
    #[inline]
    pub fn op(&mut self, index: u32, mask: LaneMask) {
        self.push_head(index, mask, AddressForm::None);
    }

    /// Appends an access; `addresses` holds one address per active lane, in lane order.
    ///
    /// Chooses the most compact exact encoding; an access without addresses is predicated off.
    pub fn access(&mut self, index: u32, mask: LaneMask, addresses: &[u64]) {
        assert_eq!(addresses.len(), mask.count() as usize, "one address for each active lane");
        if addresses.is_empty() {
            return self.push_head(index, mask, AddressForm::None);
        }
        // One pass over the lanes computes both tests: most gathers are not affine, but their differences fit.
        let mut deltas = [0; 31];
        let (mut fit, mut differ) = (true, 0);
        for (slot, pair) in deltas.iter_mut().zip(addresses.windows(2)) {
            let delta = pair[1].wrapping_sub(pair[0]) as i64;
            *slot = delta as i32;
            fit &= i64::from(*slot) == delta;
            differ |= delta ^ addresses[1].wrapping_sub(addresses[0]) as i64;
        }
        if !fit {
            self.push_head(index, mask, AddressForm::List);
            for &address in addresses {
                self.push_wide(address);
            }
        } else if differ == 0 {
            self.affine(index, mask, addresses[0], deltas[0]);
        } else {
            self.push_head(index, mask, AddressForm::Deltas);
            self.push_wide(addresses[0]);
            self.words.extend(deltas[..addresses.len() - 1].iter().map(|&delta| delta as u32));
        }
    }

    /// Appends an instruction with a payload, which [`WarpStream::payload`] returns.
    pub fn payload(&mut self, index: u32, mask: LaneMask, words: &[u32]) {
        self.push_head(index, mask, AddressForm::Payload);
        self.words.push(words.len() as u32);
        self.words.extend_from_slice(words);
    }

    /// Appends an access at `base + i * stride` for the i-th active lane; the mask must not be empty.
    pub fn affine(&mut self, index: u32, mask: LaneMask, base: u64, stride: i32) {
        self.push_head(index, mask, AddressForm::Affine);
        self.push_wide(base);
        self.words.push(stride as u32);
    }

    /// Appends instructions without addresses and with all lanes active, by their indices, each below 2^24.
    #[inline]
    pub fn ops(&mut self, indices: &[u32]) {
        debug_assert!(indices.iter().all(|&index| index <= INDEX_MASK), "more than 2^24 static instructions in one kernel");
        let mut rest = indices;
        while !rest.is_empty() {
            self.begin_instruction();
            let room = self.part_words.saturating_sub(self.words.len() - FIRST_POSITION as usize);
            let (here, after) = rest.split_at(room.clamp(1, rest.len()));
            self.words.extend_from_slice(here);
            self.len += here.len() as u32;
            rest = after;
        }
    }

    /// Appends an access of all lanes with a known encoding: `tail` is the stride of an affine access, or the 31 differences of a
    /// delta-encoded access.
    #[inline]
    pub fn encoded_access(&mut self, index: u32, form: AddressForm, base: u64, tail: &[u32]) {
        debug_assert!(matches!((form, tail.len()), (AddressForm::Affine, 1) | (AddressForm::Deltas, 31)));
        self.push_head(index, LaneMask::FULL, form);
        self.push_wide(base);
        self.words.extend_from_slice(tail);
    }

    /// Returns the encoding of the last appended instruction, if it was an access of all lanes, and the tail for
    /// [`StreamBuilder::encoded_access`]: the stride in the first element, or the differences.
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

    /// Returns the number of instructions appended so far.
    pub fn instructions(&self) -> u32 {
        self.len
    }

    /// Returns the finished stream; the builder is then empty and keeps its allocation.
    pub fn finish(&mut self) -> WarpStream {
        let stream = if self.parts.is_empty() {
            self.words.iter_mut().take(1).for_each(|first| *first = self.len);
            WarpStream { words: self.words.as_slice().into(), window: None }
        } else {
            self.end_part();
            let parts = Arc::new(StreamParts { len: self.len, list: std::mem::take(&mut self.parts).into() });
            WarpStream { words: parts.words(0), window: Some(Box::new(StreamWindow::new(parts))) }
        };
        self.words.clear();
        (self.len, self.last, self.instructions_before) = (0, 0, 0);
        stream
    }

    /// Prepares for the next instruction: begins the stream, or its next part, if necessary.
    #[inline]
    fn begin_instruction(&mut self) {
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
        let held = self.store.get_or_insert_with(Store::shared).store_words(&self.words[FIRST_POSITION as usize..]);
        self.parts.push(StreamPart { instructions_before: self.instructions_before, stored: held });
        self.instructions_before = self.len;
        self.words.clear();
    }

    #[inline]
    fn push_head(&mut self, index: u32, mask: LaneMask, form: AddressForm) {
        assert!(index <= INDEX_MASK, "more than 2^24 static instructions in one kernel");
        let full = mask == LaneMask::FULL;
        self.begin_instruction();
        self.last = self.words.len();
        self.words.push(index | (form as u32) << FORM_SHIFT | if full { 0 } else { MASK_FOLLOWS });
        if !full {
            self.words.push(mask.0);
        }
        self.len += 1;
    }

    fn push_wide(&mut self, value: u64) {
        self.words.push(value as u32);
        self.words.push((value >> 32) as u32);
    }
}

#[cfg(test)]
mod tests {
    use warpshard_base::Rng;

    use super::*;

    /// Creates a builder of streams whose parts are kept in `store`.
    fn stored_builder(part_words: usize, store: Arc<Store>) -> StreamBuilder {
        StreamBuilder { store: Some(store), ..StreamBuilder::with_parts(part_words) }
    }

    /// Appends random instructions of all forms to each of `builders`.
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

    fn contents(reader: &mut StreamReader) -> Vec<(u32, LaneMask, Vec<u64>)> {
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
    fn a_stream_in_parts_reads_like_a_single_part() {
        for (seed, limit) in [(1, usize::MAX), (2, 3000), (3, 0)] {
            let mut whole = StreamBuilder::with_parts(usize::MAX - 1);
            let mut parted = stored_builder(200, Arc::new(Store::new(limit)));
            random(seed, 2000, &mut [&mut whole, &mut parted]);
            let (whole, parted) = (whole.finish(), parted.finish());
            assert!(whole.window.is_none() && parted.window.as_ref().is_some_and(|window| window.parts.list.len() > 50));
            assert_eq!(parted.len(), whole.len());
            let expected = contents(&mut whole.read());
            assert_eq!(expected.len(), whole.len() as usize);
            assert_eq!(contents(&mut parted.read()), expected);
            assert!(parted == parted.clone() && parted != whole);

            // Reads like an SM: from any start position, with addresses read late but within a part.
            for start in (0..=whole.len()).step_by(97).chain([whole.len()]) {
                let mut stream = parted.clone();
                let mut cursor = stream.seek(start);
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
    fn a_builder_is_reusable() {
        let mut builder = stored_builder(50, Arc::new(Store::new(0)));
        assert!(builder.finish().is_empty());
        for seed in 1..4 {
            let mut fresh = stored_builder(50, Arc::new(Store::new(0)));
            random(seed, 10_u32.pow(seed as u32), &mut [&mut builder, &mut fresh]);
            let (stream, fresh) = (builder.finish(), fresh.finish());
            assert!(stream == fresh && stream.fingerprint() == fresh.fingerprint() && !stream.is_empty());
        }
    }

    #[test]
    fn a_lost_part_is_read_as_instructions_without_lanes() {
        let store = Arc::new(Store::new(0));
        let mut builder = stored_builder(50, Arc::clone(&store));
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
        // The number of instructions, three instructions of one word, one of them with a mask, and the access.
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
            builder.encoded_access(9, form, addresses[0] + 64, if form == AddressForm::Affine { &tail[..1] } else { &tail });
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
