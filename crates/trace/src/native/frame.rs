//! Blocks of a native file: a header with kind, lengths and checksum, then the data, perhaps compressed.
//!
//! A checksum covers all of a block except itself, and every reference to a block repeats its checksum, so that exchanged blocks
//! are detected as well as changed bytes.

use std::io::{self, Write};

use super::wire::{Bytes, put};

/// The first bytes of a native file: no text, and damaged by whatever changes line ends or strips the eighth bit.
pub(super) const MAGIC: [u8; 8] = *b"\x89WST\r\n\x1a\n";
/// The last bytes of a native file.
pub(super) const END_MAGIC: [u8; 8] = *b"WSTend\r\n";
/// The version that this program writes, and the newest that it reads.
pub const VERSION: u32 = 2;
/// Bytes before the first block: magic, version, checksum of both.
pub(super) const FILE_HEADER: usize = 16;
/// Bytes of a block's header.
pub(super) const BLOCK_HEADER: usize = 20;
/// Bytes after the index: where it is, how long it is, checksum of both, magic.
pub(super) const TRAILER: usize = 24;
/// Bytes that a block holds at most when unpacked.
pub(super) const MOST: usize = 1 << 30;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A kernel's header and instruction templates.
    Code,
    /// Consecutive CTAs.
    Programs,
    /// What the text of these CTAs has beyond the canonical spelling.
    Text,
    /// The lines of memory that a kernel uses.
    Lines,
    /// The kernel list, and where all blocks are.
    Index,
}

impl Kind {
    fn mark(self) -> [u8; 4] {
        *match self {
            Self::Code => b"CODE",
            Self::Programs => b"CTAS",
            Self::Text => b"TEXT",
            Self::Lines => b"LINE",
            Self::Index => b"INDX",
        }
    }

    /// The kind in words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Code => "instructions",
            Self::Programs => "CTAs",
            Self::Text => "text",
            Self::Lines => "lines",
            Self::Index => "index",
        }
    }
}

/// Where a block is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockRef {
    /// The offset of its header in the file.
    pub(super) offset: u64,
    /// Bytes of data in the file.
    pub(super) stored: u32,
    /// Bytes of data when unpacked.
    pub(super) raw: u32,
    /// The checksum in its header.
    pub(super) crc: u32,
}

impl BlockRef {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put(out, self.offset);
        put(out, self.stored.into());
        put(out, self.raw.into());
        out.extend_from_slice(&self.crc.to_le_bytes());
    }

    pub(super) fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        Some(Self { offset: bytes.number()?, stored: bytes.small()?, raw: bytes.small()?, crc: bytes.word()? })
    }

    /// Bytes in the file, header included.
    pub(super) fn file_bytes(&self) -> u64 {
        BLOCK_HEADER as u64 + u64::from(self.stored)
    }
}

/// Writes blocks one after the other.
pub(super) struct BlockWriter<'a> {
    out: &'a mut dyn Write,
    offset: u64,
    compress: bool,
}

/// Zstandard's own default, beyond which files of traces shrink little and slowly.
const LEVEL: i32 = 3;

impl<'a> BlockWriter<'a> {
    /// Writes the file's header.
    pub(super) fn new(out: &'a mut dyn Write, compress: bool) -> io::Result<Self> {
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
        out.write_all(&header)?;
        Ok(Self { out, offset: header.len() as u64, compress })
    }

    /// Writes a block; one that compression does not make shorter is stored as it is.
    pub(super) fn block(&mut self, kind: Kind, raw: &[u8]) -> io::Result<BlockRef> {
        if raw.len() > MOST {
            let what = format!("a CTA's {} takes {} bytes, and the format has room for {MOST}", kind.name(), raw.len());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        let packed = if self.compress { Some(zstd::bulk::compress(raw, LEVEL)?) } else { None };
        let packed = packed.filter(|packed| packed.len() < raw.len());
        let data = packed.as_deref().unwrap_or(raw);
        let mut header = [0; BLOCK_HEADER];
        header[..4].copy_from_slice(&kind.mark());
        header[4..8].copy_from_slice(&u32::from(packed.is_some()).to_le_bytes());
        header[8..12].copy_from_slice(&(data.len() as u32).to_le_bytes());
        header[12..16].copy_from_slice(&(raw.len() as u32).to_le_bytes());
        let crc = checksum(&header, data);
        header[16..].copy_from_slice(&crc.to_le_bytes());
        self.out.write_all(&header)?;
        self.out.write_all(data)?;
        let at = BlockRef { offset: self.offset, stored: data.len() as u32, raw: raw.len() as u32, crc };
        self.offset += at.file_bytes();
        Ok(at)
    }

    /// Writes the index and the trailer that leads to it; returns the length of the file.
    pub(super) fn finish(mut self, index: &[u8]) -> io::Result<u64> {
        let at = self.block(Kind::Index, index)?;
        let mut trailer = at.offset.to_le_bytes().to_vec();
        trailer.extend_from_slice(&(at.file_bytes() as u32).to_le_bytes());
        trailer.extend_from_slice(&crc32fast::hash(&trailer).to_le_bytes());
        trailer.extend_from_slice(&END_MAGIC);
        self.out.write_all(&trailer)?;
        Ok(self.offset + trailer.len() as u64)
    }
}

fn checksum(header: &[u8; BLOCK_HEADER], data: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[..16]);
    hasher.update(data);
    hasher.finalize()
}

/// Unpacks a block as it is in the file; `expected` is its checksum where one is known. What is wrong is described in words.
pub(super) fn unpack(kind: Kind, block: &[u8], expected: Option<u32>) -> Result<Vec<u8>, String> {
    let (header, data) = block.split_first_chunk::<BLOCK_HEADER>().ok_or("a block without a header")?;
    let field = |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
    let (codec, stored, raw, crc) = (field(4), field(8) as usize, field(12) as usize, field(16));
    if header[..4] != kind.mark() {
        return Err(format!("`{}` where a block of kind `{}` belongs", header[..4].escape_ascii(), kind.mark().escape_ascii()));
    }
    if stored != data.len() || raw > MOST {
        return Err(format!("a block of {stored} bytes that unpack to {raw}, with {} bytes at hand", data.len()));
    }
    let found = checksum(header, data);
    if found != crc || expected.is_some_and(|expected| expected != crc) {
        return Err(format!("checksum {found:08x} instead of {:08x}", expected.unwrap_or(crc)));
    }
    let unpacked = match codec {
        0 => data.to_vec(),
        1 => zstd::bulk::decompress(data, raw).map_err(|error| error.to_string())?,
        other => return Err(format!("compression {other}, which this version does not know")),
    };
    if unpacked.len() == raw { Ok(unpacked) } else { Err(format!("{} bytes instead of {raw} when unpacked", unpacked.len())) }
}
