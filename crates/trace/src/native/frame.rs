//! Blocks of a native file: a header with kind, lengths and checksum, then the data, optionally compressed.
//!
//! The checksum covers all of a block except itself. Every reference to a block repeats its checksum, so that swapped blocks are detected
//! as well as changed bytes.

use std::io::{self, Write};

use super::wire::{ByteReader, write_number};

/// Magic bytes at the start of a native file. They are not text, and conversion of line ends or removal of the eighth bit damages them.
pub(super) const MAGIC: [u8; 8] = *b"\x89WST\r\n\x1a\n";
/// Magic bytes at the end of a native file.
pub(super) const END_MAGIC: [u8; 8] = *b"WSTend\r\n";
/// Version of the format that this program writes, and the newest version that it reads.
pub const VERSION: u32 = 2;
/// Bytes before the first block: magic, version, and the checksum of both.
pub(super) const FILE_HEADER_BYTES: usize = 16;
/// Bytes of the header of a block.
pub(super) const BLOCK_HEADER_BYTES: usize = 20;
/// Bytes after the index: its offset and length, their checksum, and the end magic.
pub(super) const TRAILER_BYTES: usize = 24;
/// Maximum bytes of an unpacked block.
pub(super) const MAX_BLOCK_BYTES: usize = 1 << 30;

/// The contents of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// A kernel's header and instruction templates.
    Code,
    /// Consecutive CTAs.
    Programs,
    /// Differences between the recorded text of these CTAs and the canonical text.
    Text,
    /// Cache lines that a kernel uses.
    Lines,
    /// The kernel list and the locations of all blocks.
    Index,
}

impl BlockKind {
    fn magic_bytes(self) -> [u8; 4] {
        *match self {
            Self::Code => b"CODE",
            Self::Programs => b"CTAS",
            Self::Text => b"TEXT",
            Self::Lines => b"LINE",
            Self::Index => b"INDX",
        }
    }

    /// Returns the name of the kind for messages.
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

/// A reference to a block in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockRef {
    /// Offset of the block's header in the file.
    pub(super) offset: u64,
    /// Bytes of the block's data in the file.
    pub(super) stored: u32,
    /// Bytes of the block's data after unpacking.
    pub(super) raw: u32,
    /// Checksum in the block's header.
    pub(super) crc: u32,
}

impl BlockRef {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write_number(out, self.offset);
        write_number(out, self.stored.into());
        write_number(out, self.raw.into());
        out.extend_from_slice(&self.crc.to_le_bytes());
    }

    pub(super) fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self { offset: bytes.number()?, stored: bytes.number_u32()?, raw: bytes.number_u32()?, crc: bytes.word()? })
    }

    /// Returns the bytes of the block in the file, header included.
    pub(super) fn file_bytes(&self) -> u64 {
        BLOCK_HEADER_BYTES as u64 + u64::from(self.stored)
    }
}

/// A sequential writer of blocks.
pub(super) struct BlockWriter<'a> {
    out: &'a mut dyn Write,
    offset: u64,
    compress: bool,
}

/// Compression level of Zstandard, its default; higher levels are slow and reduce trace files only slightly.
const ZSTD_LEVEL: i32 = 3;

impl<'a> BlockWriter<'a> {
    /// Creates a writer and writes the header of the file.
    pub(super) fn new(out: &'a mut dyn Write, compress: bool) -> io::Result<Self> {
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
        out.write_all(&header)?;
        Ok(Self { out, offset: header.len() as u64, compress })
    }

    /// Writes a block. A block that compression does not shorten is stored uncompressed.
    pub(super) fn block(&mut self, kind: BlockKind, raw: &[u8]) -> io::Result<BlockRef> {
        if raw.len() > MAX_BLOCK_BYTES {
            let what = format!("a CTA's {} takes {} bytes, and the format allows {MAX_BLOCK_BYTES}", kind.name(), raw.len());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        let packed = if self.compress { Some(zstd::bulk::compress(raw, ZSTD_LEVEL)?) } else { None };
        let packed = packed.filter(|packed| packed.len() < raw.len());
        let data = packed.as_deref().unwrap_or(raw);
        let mut header = [0; BLOCK_HEADER_BYTES];
        header[..4].copy_from_slice(&kind.magic_bytes());
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

    /// Writes the index and the trailer with its location; returns the length of the file.
    pub(super) fn finish(mut self, index: &[u8]) -> io::Result<u64> {
        let at = self.block(BlockKind::Index, index)?;
        let mut trailer = at.offset.to_le_bytes().to_vec();
        trailer.extend_from_slice(&(at.file_bytes() as u32).to_le_bytes());
        trailer.extend_from_slice(&crc32fast::hash(&trailer).to_le_bytes());
        trailer.extend_from_slice(&END_MAGIC);
        self.out.write_all(&trailer)?;
        Ok(self.offset + trailer.len() as u64)
    }
}

fn checksum(header: &[u8; BLOCK_HEADER_BYTES], data: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[..16]);
    hasher.update(data);
    hasher.finalize()
}

/// Unpacks a block of the file; `expected` is its checksum if the caller has a reference. The error describes the fault.
pub(super) fn unpack(kind: BlockKind, block: &[u8], expected: Option<u32>) -> Result<Vec<u8>, String> {
    let (header, data) = block.split_first_chunk::<BLOCK_HEADER_BYTES>().ok_or("a block without a header")?;
    let field = |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
    let (codec, stored, raw, crc) = (field(4), field(8) as usize, field(12) as usize, field(16));
    if header[..4] != kind.magic_bytes() {
        return Err(format!("`{}` where a block of kind `{}` belongs", header[..4].escape_ascii(), kind.magic_bytes().escape_ascii()));
    }
    if stored != data.len() || raw > MAX_BLOCK_BYTES {
        return Err(format!("a block of {stored} bytes that unpack to {raw}, with {} bytes available", data.len()));
    }
    let found = checksum(header, data);
    if found != crc || expected.is_some_and(|expected| expected != crc) {
        return Err(format!("checksum {found:08x} instead of {:08x}", expected.unwrap_or(crc)));
    }
    let unpacked = match codec {
        0 => data.to_vec(),
        1 => zstd::bulk::decompress(data, raw).map_err(|error| error.to_string())?,
        other => return Err(format!("the unknown compression {other}")),
    };
    if unpacked.len() == raw { Ok(unpacked) } else { Err(format!("{} bytes instead of {raw} when unpacked", unpacked.len())) }
}
