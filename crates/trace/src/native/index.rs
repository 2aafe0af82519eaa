//! The index of a native file: the trace's name, its kernel list, and the locations of each kernel's blocks.

use super::footprint::Footprint;
use super::frame::BlockRef;
use super::wire::{ByteReader, write_number, write_text};

/// The index at the end of a native file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    /// Name of the trace.
    pub(super) name: String,
    /// Original text of the kernel list; `None` if the trace is a single kernel's file.
    pub(super) list: Option<Vec<u8>>,
    /// Kernel number of each launch of the list, in order.
    pub(super) launches: Vec<u32>,
    /// The kernels, in the order of their first launch.
    pub(super) kernels: Vec<KernelEntry>,
}

/// The index entry of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KernelEntry {
    /// Name of the kernel's file in the list.
    pub(super) listed: String,
    /// Block with the kernel's header and templates.
    pub(super) code: BlockRef,
    /// Warp instructions of the kernel.
    pub(super) instructions: u64,
    /// Batches of the kernel's CTAs, in order.
    pub(super) batches: Vec<BatchEntry>,
    /// Memory footprint of the kernel; files of version 1 do not contain it.
    pub(super) footprint: Option<Footprint>,
}

/// The index entry of a batch of consecutive CTAs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BatchEntry {
    pub(super) ctas: u32,
    /// Bytes of text that the CTAs represent.
    pub(super) text_bytes: u64,
    pub(super) programs: BlockRef,
    /// Block with text patches, if at least one CTA needs a patch.
    pub(super) text: Option<BlockRef>,
}

impl KernelEntry {
    /// Returns the number of CTAs of the kernel.
    pub(super) fn ctas(&self) -> u64 {
        self.batches.iter().map(|batch| u64::from(batch.ctas)).sum()
    }

    /// Returns the bytes in the file that simulation reads, and the bytes that only the text needs.
    pub(super) fn file_bytes(&self) -> (u64, u64) {
        let programs: u64 = self.batches.iter().map(|batch| batch.programs.file_bytes()).sum();
        let text = self.batches.iter().filter_map(|batch| batch.text.as_ref()).map(BlockRef::file_bytes).sum();
        let lines = self.footprint.and_then(|footprint| footprint.block).map_or(0, |block| block.file_bytes());
        (self.code.file_bytes() + programs + lines, text)
    }
}

impl Index {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_text(&mut out, self.name.as_bytes());
        write_number(&mut out, u64::from(self.list.is_some()));
        write_text(&mut out, self.list.as_deref().unwrap_or_default());
        write_number(&mut out, self.launches.len() as u64);
        self.launches.iter().for_each(|&kernel| write_number(&mut out, kernel.into()));
        write_number(&mut out, self.kernels.len() as u64);
        for kernel in &self.kernels {
            write_text(&mut out, kernel.listed.as_bytes());
            kernel.code.write(&mut out);
            write_number(&mut out, kernel.instructions);
            write_number(&mut out, kernel.batches.len() as u64);
            for batch in &kernel.batches {
                write_number(&mut out, batch.ctas.into());
                write_number(&mut out, batch.text_bytes);
                batch.programs.write(&mut out);
                write_number(&mut out, u64::from(batch.text.is_some()));
                batch.text.iter().for_each(|text| text.write(&mut out));
            }
            kernel.footprint.unwrap_or_default().write(&mut out);
        }
        out
    }

    /// Decodes the index of a file of format version `version`.
    pub(super) fn decode(raw: &[u8], version: u32) -> Option<Self> {
        let mut bytes = ByteReader::new(raw);
        let string = |bytes: &mut ByteReader<'_>| String::from_utf8(bytes.text()?.to_vec()).ok();
        let flag = |bytes: &mut ByteReader<'_>| bytes.byte().filter(|&flag| flag < 2).map(|flag| flag == 1);
        let name = string(&mut bytes)?;
        let listed = flag(&mut bytes)?;
        let list = bytes.text()?.to_vec();
        let launches: Vec<u32> = (0..bytes.count()?).map(|_| bytes.number_u32()).collect::<Option<_>>()?;
        let mut kernels = Vec::new();
        for _ in 0..bytes.count()? {
            let listed = string(&mut bytes)?;
            let code = BlockRef::read(&mut bytes)?;
            let instructions = bytes.number()?;
            let mut batches = Vec::new();
            for _ in 0..bytes.count()? {
                let (ctas, text_bytes) = (bytes.number_u32().filter(|&ctas| ctas > 0)?, bytes.number()?);
                let programs = BlockRef::read(&mut bytes)?;
                let text = if flag(&mut bytes)? { Some(BlockRef::read(&mut bytes)?) } else { None };
                batches.push(BatchEntry { ctas, text_bytes, programs, text });
            }
            let footprint = if version > 1 { Some(Footprint::read(&mut bytes)?) } else { None };
            kernels.push(KernelEntry { listed, code, instructions, batches, footprint });
        }
        let complete = bytes.remaining() == 0 && launches.iter().all(|&kernel| (kernel as usize) < kernels.len());
        complete.then_some(Self { name, list: listed.then_some(list), launches, kernels })
    }
}
