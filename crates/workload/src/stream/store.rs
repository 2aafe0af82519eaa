//! Storage for the parts of long streams: compressed, in memory up to a limit and beyond it in an unnamed temporary file.
//!
//! Inputs: words. Outputs: the same words. The storage location has no effect on simulated results. The space of a part is free again when
//! the part is dropped.

use std::fs::File;
use std::io::{self, Read as _, Seek, SeekFrom, Write};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use warpshard_state::{Reader, State, StateError, Writer};

/// Maximum number of bytes of compressed parts in memory, over all streams of the process.
const MEMORY_LIMIT_BYTES: usize = 1 << 30;
/// Allocation unit in the file, in bytes.
const BLOCK_BYTES: usize = 16 << 10;
/// Compression level of zstd. Streams are so repetitive that the fastest level compresses nearly as well as the others.
const ZSTD_LEVEL: i32 = 1;

/// Storage for parts of streams.
#[derive(Debug)]
pub(super) struct Store {
    limit: usize,
    state: Mutex<StoreState>,
}

#[derive(Debug, Default)]
struct StoreState {
    in_memory: usize,
    file: Option<File>,
    /// The reason why a part could not be read.
    failure: Option<String>,
    /// Number of blocks of the file, and the list of free blocks.
    blocks: u32,
    free: Vec<u32>,
}

/// A stored part of a stream.
#[derive(Debug)]
pub(super) struct StoredPart {
    store: Arc<Store>,
    place: PartLocation,
    words: usize,
}

#[derive(Debug)]
enum PartLocation {
    Memory(Box<[u8]>),
    /// The blocks in order, and the number of bytes in them.
    File(Box<[u32]>, usize),
}

impl Store {
    /// Returns the store of the process.
    pub(super) fn shared() -> Arc<Self> {
        static PROCESS_STORE: LazyLock<Arc<Store>> = LazyLock::new(|| Arc::new(Store::new(MEMORY_LIMIT_BYTES)));
        Arc::clone(&PROCESS_STORE)
    }

    /// Creates a store that keeps at most `limit` bytes in memory.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Stores `words`. If no file can be written they stay in memory.
    pub(super) fn store_words(self: &Arc<Self>, words: &[u32]) -> StoredPart {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let packed = zstd::bulk::compress(&bytes, ZSTD_LEVEL).expect("memory is compressed into memory");
        let mut state = self.lock();
        let written = if state.in_memory + packed.len() > self.limit { state.write(&packed).ok() } else { None };
        let place = match written {
            Some(blocks) => PartLocation::File(blocks, packed.len()),
            None => {
                state.in_memory += packed.len();
                PartLocation::Memory(packed.into())
            }
        };
        drop(state);
        StoredPart { store: Arc::clone(self), place, words: words.len() }
    }

    /// Returns the reason why a part could not be read, if any.
    pub(super) fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    /// Simulates the loss of the file.
    #[cfg(test)]
    pub(super) fn lose_file(&self) {
        self.lock().file = None;
    }

    fn lock(&self) -> MutexGuard<'_, StoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreState {
    fn write(&mut self, bytes: &[u8]) -> io::Result<Box<[u32]>> {
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
        }
        let mut taken = Vec::new();
        for chunk in bytes.chunks(BLOCK_BYTES) {
            let block = self.free.pop().unwrap_or_else(|| {
                self.blocks += 1;
                self.blocks - 1
            });
            taken.push(block);
            let file = self.file.as_mut().expect("it was just made");
            let written = file.seek(SeekFrom::Start(u64::from(block) * BLOCK_BYTES as u64)).and_then(|_| file.write_all(chunk));
            if let Err(error) = written {
                self.free.append(&mut taken);
                return Err(error);
            }
        }
        Ok(taken.into())
    }

    fn read(&mut self, blocks: &[u32], bytes: &mut [u8]) -> io::Result<()> {
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        for (block, chunk) in blocks.iter().zip(bytes.chunks_mut(BLOCK_BYTES)) {
            file.seek(SeekFrom::Start(u64::from(*block) * BLOCK_BYTES as u64))?;
            file.read_exact(chunk)?;
        }
        Ok(())
    }
}

impl StoredPart {
    /// Returns the bytes that the part takes in memory or in the file.
    pub(super) fn bytes(&self) -> usize {
        match &self.place {
            PartLocation::Memory(packed) => packed.len(),
            PartLocation::File(_, bytes) => *bytes,
        }
    }

    /// Appends the words to `to`; returns false on failure, whose reason [`Store::failure`] returns.
    pub(super) fn read(&self, to: &mut Vec<u32>) -> bool {
        match self.unpack() {
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

    fn unpack(&self) -> io::Result<Vec<u8>> {
        let size = 4 * self.words;
        match &self.place {
            PartLocation::Memory(packed) => zstd::bulk::decompress(packed, size),
            PartLocation::File(blocks, bytes) => {
                let mut packed = vec![0; *bytes];
                self.store.lock().read(blocks, &mut packed)?;
                zstd::bulk::decompress(&packed, size)
            }
        }
    }
}

impl State for StoredPart {
    fn save(&self, to: &mut Writer) {
        let mut words = Vec::new();
        // The recorded failure ends the run.
        self.read(&mut words);
        words.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        *self = State::read(from)?;
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Store::shared().store_words(&Vec::read(from)?))
    }
}

impl Drop for StoredPart {
    fn drop(&mut self) {
        let mut state = self.store.lock();
        match &self.place {
            PartLocation::Memory(packed) => state.in_memory -= packed.len(),
            PartLocation::File(blocks, _) => state.free.extend_from_slice(blocks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_beyond_the_limit_go_to_a_file_whose_space_is_used_again() {
        let store = Arc::new(Store::new(100_000));
        // Incompressible words: parts of about 40 KB, so that two of them fit.
        let part = |seed: u32| (0..10_000_u32).map(|i| (i ^ seed).wrapping_mul(0x9e37_79b9).rotate_left(i % 31) ^ i).collect::<Vec<_>>();
        let mut held: Vec<StoredPart> = (0..10).map(|seed| store.store_words(&part(seed))).collect();
        let in_file = |held: &[StoredPart]| held.iter().filter(|held| matches!(held.place, PartLocation::File(..))).count();
        assert!((7..10).contains(&in_file(&held)), "{}", in_file(&held));
        let read = |held: &StoredPart| {
            let mut words = vec![7];
            assert!(held.read(&mut words));
            words.split_off(1)
        };
        for (seed, held) in held.iter().enumerate() {
            assert_eq!(read(held), part(seed as u32));
        }
        let blocks = store.lock().blocks;
        held.truncate(3);
        held.extend((20..27).map(|seed| store.store_words(&part(seed))));
        assert!(store.lock().blocks <= blocks, "{} blocks after {blocks}", store.lock().blocks);
        assert_eq!(read(&held[9]), part(26));
        drop(held);
        let state = store.lock();
        assert_eq!((state.in_memory, state.free.len()), (0, state.blocks as usize));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_failure_with_a_message() {
        let store = Arc::new(Store::new(0));
        let held = store.store_words(&[1, 2, 3]);
        store.lose_file();
        assert!(!held.read(&mut Vec::new()));
        let failure = store.failure().unwrap();
        assert!(failure.starts_with("the temporary file for long instruction streams cannot be read: "), "{failure}");
    }
}
