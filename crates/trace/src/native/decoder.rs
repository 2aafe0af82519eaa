//! Batch decoder of a kernel in a native file, parallel over blocks.

use std::sync::Arc;

use crossbeam_channel::unbounded;

use warpshard_workload::{CtaProgram, StaticInst};

use super::super::block::ParsedBlock;
use super::super::decoder::{DecodeEnd, DecodedBatch, DecodedCta, DecoderSetup, StreamCache};
use super::super::error::{Problem, ProblemKind, TraceError};
use super::super::table::StaticTable;
use super::container::{CONTRADICTION, NativeKernel};
use super::frame::{BlockKind, unpack};
use super::index::BatchEntry;
use super::program;
use super::template::TemplateMeanings;

/// A decoder of one kernel, from its first CTA to its last.
#[derive(Debug)]
pub(in super::super) struct NativeDecoder {
    setup: Arc<DecoderSetup>,
    kernel: Arc<NativeKernel>,
    meanings: Option<Arc<TemplateMeanings>>,
    code: Arc<[StaticInst]>,
    /// Index of the next block.
    next: usize,
    /// CTAs before the next block.
    decoded_ctas: u32,
    read: u64,
    sharing: StreamCache,
}

impl NativeDecoder {
    pub(in super::super) fn new(setup: Arc<DecoderSetup>, kernel: Arc<NativeKernel>) -> Self {
        let code = Arc::default();
        Self { setup, kernel, meanings: None, code, next: 0, decoded_ctas: 0, read: 0, sharing: StreamCache::default() }
    }

    /// Returns the warp instructions of the kernel.
    pub(in super::super) fn instructions(&self) -> u64 {
        self.kernel.index().instructions
    }

    /// Returns the bytes of the text that was decoded so far.
    pub(in super::super) fn bytes_read(&self) -> u64 {
        self.read
    }

    /// Returns the static instructions and their notes, or `None` before the first batch.
    pub(in super::super) fn table(&self) -> Option<&StaticTable> {
        self.meanings.as_ref().map(|meanings| &meanings.table)
    }

    /// Seeks to the block that contains CTA `cta`; returns the first CTA of this block.
    pub(in super::super) fn seek(&mut self, cta: u32) -> u32 {
        let batches = &self.kernel.index().batches;
        (self.next, self.decoded_ctas, self.read) = (0, 0, 0);
        while let Some(batch) = batches.get(self.next).filter(|batch| self.decoded_ctas.saturating_add(batch.ctas) <= cta) {
            self.decoded_ctas += batch.ctas;
            self.read += batch.text_bytes;
            self.next += 1;
        }
        self.decoded_ctas
    }

    /// Decodes at least one block, and further blocks while the text that they represent stays below `budget` bytes.
    pub(in super::super) fn next_batch(&mut self, budget: usize) -> DecodedBatch {
        let decoded = self.start().and_then(|meanings| self.blocks(&meanings, budget));
        decoded.unwrap_or_else(|error| {
            let from = self.decoded_ctas.min(self.setup.ctas.saturating_sub(1));
            DecodedBatch { ctas: Vec::new(), end: Some(DecodeEnd::Failed { from, error }) }
        })
    }

    /// Returns the parsed templates. The first call parses them and checks the number of CTAs in the file against the grid.
    fn start(&mut self) -> Result<Arc<TemplateMeanings>, TraceError> {
        if let Some(meanings) = &self.meanings {
            return Ok(Arc::clone(meanings));
        }
        let index = self.kernel.index();
        if index.ctas() != u64::from(self.setup.ctas) {
            return Err(self.count(index.ctas()).into());
        }
        let mut meanings = TemplateMeanings::default();
        for template in &self.kernel.code.templates {
            meanings.add(template, &self.setup.dialect).map_err(|(what, found)| self.unknown(what, found))?;
        }
        let meanings = Arc::new(meanings);
        self.code = meanings.table.entries().iter().map(|entry| entry.inst).collect();
        self.meanings = Some(Arc::clone(&meanings));
        Ok(meanings)
    }

    fn blocks(&mut self, meanings: &Arc<TemplateMeanings>, budget: usize) -> Result<DecodedBatch, TraceError> {
        let kernel = Arc::clone(&self.kernel);
        let batches = &kernel.index().batches;
        let first = self.next;
        let mut text = 0;
        let mut packed = Vec::new();
        while let Some(batch) = batches.get(self.next).filter(|_| packed.is_empty() || text < budget as u64) {
            match kernel.container.read_packed(BlockKind::Programs, &batch.programs, kernel.number) {
                Ok(block) => packed.push(block),
                // The blocks before the unreadable one are valid; the next batch reports the fault.
                Err(_) if !packed.is_empty() => break,
                Err(error) => return Err(error),
            }
            text += batch.text_bytes;
            self.next += 1;
        }
        if packed.is_empty() {
            return Ok(DecodedBatch { ctas: Vec::new(), end: Some(DecodeEnd::Finished) });
        }
        let mut ctas = Vec::new();
        for (number, decoded) in (first..).zip(self.decode(packed, &batches[first..self.next], meanings)) {
            let batch = &batches[number];
            let parsed =
                decoded.and_then(|parsed| if parsed.len() == batch.ctas as usize { Ok(parsed) } else { Err(CONTRADICTION.into()) });
            let parsed = match parsed {
                Ok(parsed) => parsed,
                Err(found) => {
                    let error = kernel.container.damaged(BlockKind::Programs, &batch.programs, kernel.number, found).into();
                    return Ok(DecodedBatch { ctas, end: Some(DecodeEnd::Failed { from: self.decoded_ctas, error }) });
                }
            };
            self.decoded_ctas += batch.ctas;
            self.read += batch.text_bytes;
            ctas.extend(parsed.into_iter().map(|parsed| self.program(parsed)));
        }
        Ok(DecodedBatch { ctas, end: None })
    }

    /// Decodes blocks, in parallel if there is a pool; results come in the order of the blocks.
    fn decode(
        &self,
        packed: Vec<Vec<u8>>,
        batches: &[BatchEntry],
        meanings: &Arc<TemplateMeanings>,
    ) -> Vec<Result<Vec<ParsedBlock>, String>> {
        let warps = self.setup.layout.warps;
        let one = move |block: &[u8], crc: u32, meanings: &TemplateMeanings| {
            let raw = unpack(BlockKind::Programs, block, Some(crc))?;
            program::decode(&raw, meanings, warps).ok_or_else(|| CONTRADICTION.to_owned())
        };
        let work = packed.into_iter().zip(batches.iter().map(|batch| batch.programs.crc));
        let Some(pool) = self.setup.pool.as_ref().filter(|_| batches.len() > 1) else {
            return work.map(|(block, crc)| one(&block, crc, meanings)).collect();
        };
        // The caller waits on a channel instead of in the pool, as in the text decoder.
        let (send, receive) = unbounded();
        for (number, (block, crc)) in work.enumerate() {
            let (send, meanings) = (send.clone(), Arc::clone(meanings));
            pool.spawn(move || drop(send.send((number, one(&block, crc, &meanings)))));
        }
        drop(send);
        let mut parts: Vec<_> = receive.iter().collect();
        parts.sort_unstable_by_key(|&(number, _)| number);
        assert_eq!(parts.len(), batches.len(), "a decoding thread of {} was lost", self.setup.file.display());
        parts.into_iter().map(|(_, part)| part).collect()
    }

    fn program(&mut self, parsed: ParsedBlock) -> DecodedCta {
        let warps = parsed.warps.into_iter().map(|(stream, print)| self.sharing.share(stream, print)).collect();
        DecodedCta { program: Arc::new(CtaProgram { code: Arc::clone(&self.code), warps, ..CtaProgram::default() }), notes: parsed.notes }
    }

    fn count(&self, found: u64) -> Problem {
        Problem {
            kind: ProblemKind::Count,
            file: self.setup.file.clone(),
            line: None,
            what: "the number of CTAs in the file differs from its grid".into(),
            found: format!("{found} CTAs"),
            expected: format!("{}, as `-grid dim = {}` says", self.setup.ctas, self.setup.grid),
            help: "convert the trace again from its text".into(),
        }
    }

    fn unknown(&self, what: String, found: String) -> Problem {
        Problem {
            kind: ProblemKind::Opcode,
            file: self.setup.file.clone(),
            line: None,
            what,
            found,
            expected: "an instruction of the header's binary version".into(),
            help: "check the header's binary version, or pass --lenient to treat unknown opcodes as ALU operations".into(),
        }
    }
}
