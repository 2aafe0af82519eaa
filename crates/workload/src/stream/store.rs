//! Where the parts of long streams are kept: compressed, in memory up to a limit and beyond it in a temporary file without a name.
//!
//! In: words. Out: the same words. What is kept where has no effect on anything simulated. Space is free again when a part is dropped.

use std::fs::File;
use std::io::{self, Read as _, Seek, SeekFrom, Write};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use warpshard_state::{Reader, State, StateError, Writer};

/// Most bytes of compressed parts in memory, over all streams of the process.
const LIMIT: usize = 1 << 30;
/// Unit of space in the file, in bytes.
const BLOCK: usize = 16 << 10;
/// Streams repeat themselves, so that the fastest level compresses nearly as well as the others.
const LEVEL: i32 = 1;

/// Keeps parts of streams.
#[derive(Debug)]
pub(super) struct Store {
    limit: usize,
    state: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    in_memory: usize,
    file: Option<File>,
    /// Why a part could not be read.
    failure: Option<String>,
    /// Blocks of the file, and those of them that hold nothing.
    blocks: u32,
    free: Vec<u32>,
}

/// A part of a stream.
#[derive(Debug)]
pub(super) struct Held {
    store: Arc<Store>,
    place: Place,
    words: usize,
}

#[derive(Debug)]
enum Place {
    Memory(Box<[u8]>),
    /// The blocks, in their order, and the bytes in them.
    File(Box<[u32]>, usize),
}

impl Store {
    /// The store of the process.
    pub(super) fn shared() -> Arc<Self> {
        static SHARED: LazyLock<Arc<Store>> = LazyLock::new(|| Arc::new(Store::new(LIMIT)));
        Arc::clone(&SHARED)
    }

    /// A store that keeps at most `limit` bytes in memory.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Keeps `words`. Where no file can be written they stay in memory.
    pub(super) fn keep(self: &Arc<Self>, words: &[u32]) -> Held {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let packed = zstd::bulk::compress(&bytes, LEVEL).expect("memory is compressed into memory");
        let mut state = self.lock();
        let written = if state.in_memory + packed.len() > self.limit { state.write(&packed).ok() } else { None };
        let place = match written {
            Some(blocks) => Place::File(blocks, packed.len()),
            None => {
                state.in_memory += packed.len();
                Place::Memory(packed.into())
            }
        };
        drop(state);
        Held { store: Arc::clone(self), place, words: words.len() }
    }

    /// Why a part could not be read, if one could not.
    pub(super) fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    /// As if the file had gone.
    #[cfg(test)]
    pub(super) fn lose_file(&self) {
        self.lock().file = None;
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<Box<[u32]>> {
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
        }
        let mut taken = Vec::new();
        for chunk in bytes.chunks(BLOCK) {
            let block = self.free.pop().unwrap_or_else(|| {
                self.blocks += 1;
                self.blocks - 1
            });
            taken.push(block);
            let file = self.file.as_mut().expect("it was just made");
            let written = file.seek(SeekFrom::Start(u64::from(block) * BLOCK as u64)).and_then(|_| file.write_all(chunk));
            if let Err(error) = written {
                self.free.append(&mut taken);
                return Err(error);
            }
        }
        Ok(taken.into())
    }

    fn read(&mut self, blocks: &[u32], bytes: &mut [u8]) -> io::Result<()> {
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        for (block, chunk) in blocks.iter().zip(bytes.chunks_mut(BLOCK)) {
            file.seek(SeekFrom::Start(u64::from(*block) * BLOCK as u64))?;
            file.read_exact(chunk)?;
        }
        Ok(())
    }
}

impl Held {
    /// Bytes that it takes in memory or in the file.
    pub(super) fn bytes(&self) -> usize {
        match &self.place {
            Place::Memory(packed) => packed.len(),
            Place::File(_, bytes) => *bytes,
        }
    }

    /// Appends the words to `to` and returns whether that was possible; if not, [`Store::failure`] says why.
    pub(super) fn read(&self, to: &mut Vec<u32>) -> bool {
        match self.unpacked() {
            Ok(bytes) => {
                to.extend(bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])));
                true
            }
            Err(error) => {
                let failure = format!("the temporary file for long instruction streams cannot be read: {error}");
                self.store.lock().failure.get_or_insert(failure);
                false
            }
        }
    }

    fn unpacked(&self) -> io::Result<Vec<u8>> {
        let size = 4 * self.words;
        match &self.place {
            Place::Memory(packed) => zstd::bulk::decompress(packed, size),
            Place::File(blocks, bytes) => {
                let mut packed = vec![0; *bytes];
                self.store.lock().read(blocks, &mut packed)?;
                zstd::bulk::decompress(&packed, size)
            }
        }
    }
}

impl State for Held {
    fn save(&self, to: &mut Writer) {
        let mut words = Vec::new();
        // What cannot be read ends the run.
        self.read(&mut words);
        words.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        *self = State::read(from)?;
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Store::shared().keep(&Vec::read(from)?))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.store.lock();
        match &self.place {
            Place::Memory(packed) => state.in_memory -= packed.len(),
            Place::File(blocks, _) => state.free.extend_from_slice(blocks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_beyond_the_limit_go_to_a_file_whose_space_is_used_again() {
        let store = Arc::new(Store::new(100_000));
        // Words that do not compress: parts of about 40 KB, so that two of them fit.
        let part = |seed: u32| (0..10_000_u32).map(|i| (i ^ seed).wrapping_mul(0x9e37_79b9).rotate_left(i % 31) ^ i).collect::<Vec<_>>();
        let mut held: Vec<Held> = (0..10).map(|seed| store.keep(&part(seed))).collect();
        let in_file = |held: &[Held]| held.iter().filter(|held| matches!(held.place, Place::File(..))).count();
        assert!((7..10).contains(&in_file(&held)), "{}", in_file(&held));
        let read = |held: &Held| {
            let mut words = vec![7];
            assert!(held.read(&mut words));
            words.split_off(1)
        };
        for (seed, held) in held.iter().enumerate() {
            assert_eq!(read(held), part(seed as u32));
        }
        let blocks = store.lock().blocks;
        held.truncate(3);
        held.extend((20..27).map(|seed| store.keep(&part(seed))));
        assert!(store.lock().blocks <= blocks, "{} blocks after {blocks}", store.lock().blocks);
        assert_eq!(read(&held[9]), part(26));
        drop(held);
        let state = store.lock();
        assert_eq!((state.in_memory, state.free.len()), (0, state.blocks as usize));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_failure_with_a_message() {
        let store = Arc::new(Store::new(0));
        let held = store.keep(&[1, 2, 3]);
        store.lose_file();
        assert!(!held.read(&mut Vec::new()));
        let failure = store.failure().unwrap();
        assert!(failure.starts_with("the temporary file for long instruction streams cannot be read: "), "{failure}");
    }
}
