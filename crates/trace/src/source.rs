//! Sources of a kernel's CTAs: from memory if all are decoded, else from a window that moves through the file.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use warpshard_base::CtaIndex;
use warpshard_state::{Reader, State, StateError, Writer};
use warpshard_workload::{AsyncOpCounts, CodeRequirements, CtaProgram, CtaSource, LaunchCounts, OpClass, UsedLine};

use super::decode::Decoder;
use super::decoder::{DecodeEnd, DecodedCta, DecoderSetup};
use super::native::NativeKernel;
use super::notes::NoteTally;
use super::options::{DecodeClock, TraceOptions};

/// A kernel that is completely decoded while loading. Its CTAs can be requested any number of times.
#[derive(Debug)]
pub(super) struct ResidentKernel {
    programs: Vec<Arc<CtaProgram>>,
    file: FileData,
}

/// Data of a kernel besides its CTAs; most of it exists only in a native file.
#[derive(Debug)]
struct FileData {
    native: Option<Arc<NativeKernel>>,
    /// Binary version of the kernel's code.
    arch: u32,
    failure: OnceLock<String>,
}

impl FileData {
    fn of(setup: &DecoderSetup) -> Self {
        Self { native: setup.native.clone(), arch: setup.dialect.binary_version, failure: OnceLock::new() }
    }

    /// Returns the kernel's code properties. Copies from device to shared memory are detected when they are decoded.
    fn code(&self, tensor: bool) -> CodeRequirements {
        CodeRequirements { arch: self.arch, tensor, copies: false, async_counts: AsyncOpCounts::default() }
    }

    fn counts(&self) -> Option<LaunchCounts> {
        self.native.as_ref().map(|native| native.counts())
    }

    fn used_lines(&self, limit: usize) -> Option<Vec<UsedLine>> {
        let lines = self.native.as_ref()?.used_lines(limit);
        lines.unwrap_or_else(|error| {
            self.failure.get_or_init(|| error.to_string());
            Some(Vec::new())
        })
    }
}

impl ResidentKernel {
    pub(super) fn new(programs: Vec<Arc<CtaProgram>>, setup: &DecoderSetup) -> Self {
        Self { programs, file: FileData::of(setup) }
    }
}

impl CtaSource for ResidentKernel {
    fn cta(&self, index: CtaIndex) -> Arc<CtaProgram> {
        Arc::clone(&self.programs[index.index()])
    }

    fn save(&self, _: &mut Writer) {}

    fn load(&self, _: &mut Reader<'_>) -> Result<(), StateError> {
        Ok(())
    }

    fn counts(&self) -> Option<LaunchCounts> {
        self.file.counts().or_else(|| {
            let warps = self.programs.iter().flat_map(|cta| &cta.warps);
            Some(LaunchCounts { warp_instructions: warps.map(|warp| u64::from(warp.len())).sum(), ..LaunchCounts::default() })
        })
    }

    fn used_lines(&self, limit: usize) -> Option<Vec<UsedLine>> {
        self.file.used_lines(limit)
    }

    fn code(&self) -> Option<CodeRequirements> {
        let mut seen: Option<&CtaProgram> = None;
        let tensor = self.programs.iter().any(|cta| {
            // Almost all CTAs share one instruction array.
            let new = seen.is_none_or(|before| !Arc::ptr_eq(&before.code, &cta.code));
            seen = Some(cta);
            new && cta.code.iter().any(|inst| inst.class == OpClass::Tensor)
        });
        Some(self.file.code(tensor))
    }

    fn failure(&self) -> Option<String> {
        self.file.failure.get().cloned()
    }
}

/// A kernel that is decoded when its CTAs are requested. A CTA is dropped after it has been taken.
///
/// A request for a CTA that was taken and not put back decodes again: from the start of a text file, or from the CTA's block of a native
/// file.
pub(super) struct StreamedKernel {
    window: Mutex<CtaWindow>,
    /// CTAs that were put back.
    returned_ctas: Mutex<BTreeMap<u32, Arc<CtaProgram>>>,
    file: FileData,
    ctas: u32,
    warps: usize,
    window_bytes: usize,
    clock: Arc<DecodeClock>,
}

/// A window of CTAs `base..base + slots.len()`; a slot is empty if its CTA has been taken.
#[derive(Debug)]
pub(super) struct CtaWindow {
    decoder: Decoder,
    base: u32,
    slots: VecDeque<Option<DecodedCta>>,
    bytes: usize,
    /// CTAs beyond the slots that were taken before the window was restored.
    taken_ahead: BTreeSet<u32>,
    /// True if only a selection of CTAs is requested, in ascending order.
    selective: bool,
    end: Option<DecodeEnd>,
    /// Counts of the notes of the CTAs that were taken.
    tally: NoteTally,
}

impl CtaWindow {
    pub(super) fn new(decoder: Decoder) -> Self {
        Self {
            decoder,
            base: 0,
            slots: VecDeque::new(),
            bytes: 0,
            taken_ahead: BTreeSet::new(),
            selective: false,
            end: None,
            tally: NoteTally::default(),
        }
    }

    /// Decodes one batch of about `budget` bytes of text.
    pub(super) fn advance(&mut self, budget: usize) {
        let batch = self.decoder.next_batch(budget);
        self.bytes += batch.ctas.iter().map(bytes).sum::<usize>();
        self.slots.extend(batch.ctas.into_iter().map(Some));
        self.end = batch.end;
        self.drop_taken();
    }

    /// Drops decoded CTAs that were taken before the window was restored.
    fn drop_taken(&mut self) {
        while let Some(slot) = self.taken_ahead.first().and_then(|index| self.slots.get_mut((index - self.base) as usize)) {
            self.taken_ahead.pop_first();
            self.bytes -= slot.take().map_or(0, |cta| bytes(&cta));
        }
        self.skip_taken();
    }

    /// Advances the window past CTAs that were taken.
    fn skip_taken(&mut self) {
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.base += 1;
        }
    }

    /// Returns the first CTA that has not been taken, and the taken CTAs after it.
    fn taken(&self) -> (u32, BTreeSet<u32>) {
        let empty = (self.base..).zip(&self.slots).filter(|(_, slot)| slot.is_none()).map(|(index, _)| index);
        (self.base, empty.chain(self.taken_ahead.iter().copied()).collect())
    }

    /// Restores the window of a kernel of `ctas` CTAs: the first `first` CTAs and the CTAs in `gone` were taken.
    fn restore(&mut self, first: u32, mut gone: BTreeSet<u32>, ctas: u32) {
        self.slots.clear();
        self.bytes = 0;
        if first >= ctas {
            (self.base, self.end) = (ctas, Some(DecodeEnd::Finished));
            return;
        }
        (self.base, self.end) = (self.decoder.seek(first), None);
        gone.extend(self.base..first);
        self.taken_ahead = gone;
    }

    /// Returns the outcome at the end of the file, or `None` before the end.
    pub(super) fn end(&self) -> Option<&DecodeEnd> {
        self.end.as_ref()
    }

    /// Returns the decoder of the kernel.
    pub(super) fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Returns all programs and their notes. Requires that no CTA was taken and that the file is finished.
    pub(super) fn into_programs(mut self) -> (Vec<Arc<CtaProgram>>, Vec<(String, u64)>) {
        self.slots.iter().flatten().for_each(|cta| self.tally.add(cta.notes.as_deref()));
        let notes = self.descriptions();
        (self.slots.into_iter().flatten().map(|cta| cta.program).collect(), notes)
    }

    /// Returns the text and count of the notes of the CTAs that were taken.
    fn descriptions(&self) -> Vec<(String, u64)> {
        self.decoder.table().map_or_else(Vec::new, |table| self.tally.descriptions(table.notes()))
    }

    /// Discards the decoded CTAs and restarts decoding at CTA `index`.
    fn restart(&mut self, index: u32) {
        (self.base, self.bytes, self.end) = (self.decoder.seek(index), 0, None);
        self.slots = VecDeque::new();
        self.taken_ahead.clear();
        self.tally = NoteTally::default();
    }

    fn take(&mut self, index: u32, limit: usize) -> Option<Arc<CtaProgram>> {
        let taken = index
            .checked_sub(self.base)
            .is_none_or(|i| self.taken_ahead.contains(&index) || self.slots.get(i as usize).is_some_and(Option::is_none));
        if taken {
            self.restart(index);
        }
        if self.selective && index > self.base + self.slots.len() as u32 && self.decoder.instructions().is_some() {
            // No CTA before `index` will be requested.
            (self.base, self.bytes) = (self.decoder.seek(index), 0);
            self.slots.clear();
        }
        while self.end.is_none() && index >= self.base + self.slots.len() as u32 {
            // A difference of two characters becomes four bytes: decoded text is at most twice as long.
            self.advance(if self.selective { 1 } else { (limit.saturating_sub(self.bytes) / 2).max(1) });
        }
        let cta = self.slots.get_mut((index - self.base) as usize)?.take()?;
        self.bytes -= bytes(&cta);
        self.tally.add(cta.notes.as_deref());
        self.skip_taken();
        Some(cta.program)
    }
}

impl StreamedKernel {
    fn lock(&self) -> MutexGuard<'_, CtaWindow> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn new(window: CtaWindow, setup: &DecoderSetup, options: &TraceOptions) -> Self {
        Self {
            window: Mutex::new(window),
            returned_ctas: Mutex::default(),
            file: FileData::of(setup),
            ctas: setup.ctas,
            warps: setup.layout.warps as usize,
            window_bytes: options.window_bytes,
            clock: Arc::clone(&options.clock),
        }
    }
}

impl CtaSource for StreamedKernel {
    /// Returns the kernel's code properties; the instructions are unknown before they are decoded.
    fn code(&self) -> Option<CodeRequirements> {
        Some(self.file.code(false))
    }

    fn save(&self, to: &mut Writer) {
        let window = self.lock();
        window.tally.save(to);
        window.taken().save(to);
        drop(window);
        self.returned_ctas.lock().unwrap_or_else(PoisonError::into_inner).save(to);
    }

    /// Restores the window. The file is read again from the first CTA that was not taken, or from its start if it has no index.
    fn load(&self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let mut window = self.lock();
        window.tally.load(from)?;
        let (first, gone) = <(u32, BTreeSet<u32>)>::read(from)?;
        if first > 0 || !gone.is_empty() {
            window.restore(first, gone, self.ctas);
        }
        self.returned_ctas.lock().unwrap_or_else(PoisonError::into_inner).load(from)
    }

    fn select_ctas(&self, ctas: Option<&[Range<u32>]>) {
        let mut window = self.lock();
        window.selective = ctas.is_some();
        // CTAs that were decoded ahead for earlier requests would stay in memory until the next execution.
        if window.decoder.instructions().is_some() {
            window.restart(0);
        }
    }

    fn return_cta(&self, index: CtaIndex, program: &Arc<CtaProgram>) {
        self.returned_ctas.lock().unwrap_or_else(PoisonError::into_inner).insert(index.0, Arc::clone(program));
    }

    fn cta(&self, index: CtaIndex) -> Arc<CtaProgram> {
        if let Some(kept) = self.returned_ctas.lock().unwrap_or_else(PoisonError::into_inner).remove(&index.0) {
            return kept;
        }
        let start = Instant::now();
        let mut window = self.lock();
        let program = window.take(index.0, self.window_bytes);
        // The request for the last CTA also checks the rest of the file.
        while window.end.is_none() && index.0 + 1 == self.ctas {
            window.advance(1);
        }
        // A failure is reported only when a CTA at or after the faulty CTA is requested, independent of how far decoding ran ahead.
        let failed = match &window.end {
            Some(DecodeEnd::Failed { from, error }) if index.0 >= *from => {
                self.file.failure.get_or_init(|| error.to_string());
                true
            }
            _ => false,
        };
        drop(window);
        self.clock.add_since(start);
        let empty = || Arc::new(CtaProgram { warps: vec![Default::default(); self.warps].into(), ..CtaProgram::default() });
        if failed { empty() } else { program.unwrap_or_else(empty) }
    }

    fn failure(&self) -> Option<String> {
        self.file.failure.get().cloned()
    }

    fn counts(&self) -> Option<LaunchCounts> {
        self.file.counts()
    }

    fn used_lines(&self, limit: usize) -> Option<Vec<UsedLine>> {
        self.file.used_lines(limit)
    }

    fn notes(&self) -> Vec<(String, u64)> {
        self.lock().descriptions()
    }
}

impl fmt::Debug for StreamedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamedKernel").field("ctas", &self.ctas).field("failure", &self.file.failure).finish_non_exhaustive()
    }
}

fn bytes(cta: &DecodedCta) -> usize {
    size_of::<CtaProgram>() + cta.program.warps.iter().map(|stream| size_of_val(stream) + 16 + stream.bytes()).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::super::{TraceOptions, kernel};
    use super::*;

    /// Returns a window over 200 CTAs of one warp each, with about 80 decoded bytes and 150 bytes of text per CTA.
    fn window(chunk_bytes: usize) -> (CtaWindow, tempfile::TempDir) {
        let mut text = "-grid dim = (200,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n-nregs = 8\n-binary version = 70\n".to_string();
        text += "-accelsim tracer version = 4\n\n";
        for cta in 0..200 {
            let line = format!("0000 ffffffff 1 R1 LDG.E.SYS 1 R2 4 1 {:#x} 4 \n0010 ffffffff 0 EXIT 0 0 ", 0x1000 + cta * 128);
            write!(text, "#BEGIN_TB\nthread block = {cta},0,0\nwarp = 0\ninsts = 2\n{line}\n#END_TB\n").unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kernel-1.traceg");
        std::fs::write(&file, text).unwrap();
        let options = TraceOptions { chunk_bytes, ..TraceOptions::default() };
        let opened = kernel::open(&kernel::KernelFile::Text(file), &options, None).unwrap();
        (CtaWindow::new(Decoder::new(opened.setup)), folder)
    }

    #[test]
    fn ctas_that_wait_stay_within_the_windows_bytes() {
        let (mut window, _folder) = window(1 << 20);
        let one = 200;
        for index in 0..200 {
            assert!(window.take(index, 2000).is_some());
            assert!(window.bytes <= 2000 + one, "{} bytes wait at cta {index}", window.bytes);
        }
        assert_eq!((window.bytes, window.slots.len()), (0, 0));
    }

    #[test]
    fn distant_requests_keep_skipped_ctas() {
        let (mut window, _folder) = window(1000);
        assert!(window.take(150, 1).is_some());
        assert_eq!((window.base, window.slots.len()), (0, 151));
        for index in (0..150).chain(151..200) {
            assert!(window.take(index, 1).is_some());
        }
        assert_eq!(window.base, 200);
        assert!(window.take(200, 1).is_none());
        assert!(matches!(window.end, Some(DecodeEnd::Finished)));
    }
}
