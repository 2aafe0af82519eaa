//! The distribution of a workload over a system of several GPUs: every kernel runs on one GPU, or has a part of its CTAs on each GPU.
//!
//! Inputs: a workload in which some kernels and applications name a GPU. Outputs: a workload in which all kernels name a GPU. A kernel that
//! is spread becomes one kernel per GPU, each with consecutive CTAs; kernels that wait for it wait for all of its parts.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use warpshard_base::{CtaIndex, GpuId, KernelIndex, MAX_KERNELS};
use warpshard_state::{Reader, StateError, Writer};

use crate::SpreadError;
use crate::workload::{Application, Command, CtaProgram, CtaSource, Dim3, Kernel, KernelInfo, Workload};

/// The source of a kernel without instructions, such as a copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptySource;

impl CtaSource for EmptySource {
    fn cta(&self, _: CtaIndex) -> Arc<CtaProgram> {
        Arc::default()
    }

    fn save(&self, _: &mut Writer) {}

    fn load(&self, _: &mut Reader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// A consecutive part of the CTAs of a kernel.
#[derive(Debug)]
struct KernelPart {
    whole_kernel: Arc<dyn CtaSource>,
    first: u32,
    /// True for the one part that reports the notes of the whole kernel.
    reports_notes: bool,
}

impl CtaSource for KernelPart {
    fn cta(&self, index: CtaIndex) -> Arc<CtaProgram> {
        self.whole_kernel.cta(CtaIndex(self.first + index.0))
    }

    fn return_cta(&self, index: CtaIndex, program: &Arc<CtaProgram>) {
        self.whole_kernel.return_cta(CtaIndex(self.first + index.0), program);
    }

    fn save(&self, to: &mut Writer) {
        if to.first_visit(&*self.whole_kernel) {
            self.whole_kernel.save(to);
        }
    }

    fn load(&self, from: &mut Reader<'_>) -> Result<(), StateError> {
        if from.first_visit(&*self.whole_kernel) { self.whole_kernel.load(from) } else { Ok(()) }
    }

    fn failure(&self) -> Option<String> {
        self.whole_kernel.failure()
    }

    fn blocks(&self) -> Option<&[u32]> {
        self.whole_kernel.blocks()
    }

    fn notes(&self) -> Vec<(String, u64)> {
        if self.reports_notes { self.whole_kernel.notes() } else { Vec::new() }
    }
}

/// Distributes a workload over GPUs, where `sms[i]` is the number of SMs of GPU i. If `spread` is true, kernels without a named GPU run on
/// all GPUs, with CTAs in proportion to the GPUs' SMs.
///
/// # Errors
/// Fails if a named GPU does not exist or there are too many kernels; returns a message for the user.
pub fn for_gpus(workload: &Workload, sms: &[u32], spread: bool) -> Result<Workload, SpreadError> {
    let gpus = sms.len() as u32;
    check_gpus(workload, gpus)?;
    if let Some(kernel) = workload.kernels.iter().find(|kernel| spread && kernel.info.programmatic.is_some()) {
        let name = &kernel.info.name;
        let what = format!("kernel `{name}` is a programmatic dependent launch, which cannot be spread over the GPUs");
        return Err(format!("{what}; name the GPU of each launch, or launch it without `programmatic`").into());
    }
    let mut made =
        SpreadWorkload { workload: Workload { kernels: Vec::new(), commands: Vec::new(), ..workload.clone() }, parts: BTreeMap::new() };
    let of_app: Vec<Application> = workload.applications();
    let (mut applications, mut restarts) = (Vec::new(), 0);
    let mut last: BTreeMap<(u16, u64), KernelIndex> = BTreeMap::new();
    for app in &of_app {
        let (first, commands) = (made.workload.kernels.len(), made.workload.commands.len());
        let mut everywhere = false;
        for command in &workload.commands[app.commands.clone()] {
            let Command::Launch(index) = *command else {
                made.workload.commands.push(*command);
                continue;
            };
            let kernel = workload.kernel(index);
            let named = kernel.info.gpu.or(app.gpu);
            let before = last.insert((kernel.info.app.0, kernel.info.stream.0), index);
            let wide = spread && named.is_none() && kernel.info.copy.is_none();
            made.add(index, kernel, before.filter(|_| spread), if wide { 0..gpus } else { only_gpu(named.unwrap_or_default()) }, sms)?;
            everywhere |= wide || named != app.gpu;
        }
        let kernels = first as u32..made.workload.kernels.len() as u32;
        let commands = commands..made.workload.commands.len();
        restarts += u64::from(everywhere && !app.again.is_empty());
        let again = if everywhere { 0..0 } else { app.again.clone() };
        applications.push((Application { kernels, commands, ..app.clone() }, again));
    }
    for (app, again) in &mut applications {
        let from = again.clone();
        app.again = made.workload.kernels.len() as u32..(made.workload.kernels.len() + from.len()) as u32;
        for index in from {
            let mut kernel = workload.kernel(KernelIndex(index)).clone();
            kernel.info.gpu = Some(kernel.info.gpu.or(app.gpu).unwrap_or_default());
            made.workload.kernels.push(kernel);
        }
        if app.again.is_empty() {
            app.again = 0..0;
        }
    }
    let mut made = made.workload;
    if restarts > 0 {
        made.notes.push(("applications that run on several GPUs are not restarted".to_owned(), restarts));
    }
    if made.kernels.len() > MAX_KERNELS {
        return Err(format!("the workload has {} kernels on {gpus} GPUs, expected at most {MAX_KERNELS}", made.kernels.len()).into());
    }
    made.applications = if workload.applications.is_empty() { Vec::new() } else { applications.into_iter().map(|(app, _)| app).collect() };
    made.homes.sort_by_key(|(range, _)| range.start);
    Ok(made)
}

fn only_gpu(gpu: GpuId) -> Range<u32> {
    u32::from(gpu.0)..u32::from(gpu.0) + 1
}

fn check_gpus(workload: &Workload, gpus: u32) -> Result<(), String> {
    let beyond = |gpu: Option<GpuId>| gpu.filter(|gpu| u32::from(gpu.0) >= gpus);
    let has = if gpus == 1 { "one GPU, gpu0".to_owned() } else { format!("{gpus} GPUs, counted from 0") };
    for kernel in &workload.kernels {
        if let Some(gpu) = beyond(kernel.info.gpu) {
            return Err(format!("kernel `{}` runs on {gpu}, but the machine has {has}", kernel.info.name));
        }
        if gpus == 1 && kernel.info.copy.is_some() {
            return Err(format!("`{}` copies between GPUs, but the machine has {has}", kernel.info.name));
        }
    }
    for app in &workload.applications {
        if let Some(gpu) = beyond(app.gpu) {
            return Err(format!("application `{}` runs on {gpu}, but the machine has {has}", app.name));
        }
    }
    match workload.homes.iter().find(|(_, gpu)| u32::from(gpu.0) >= gpus) {
        Some((range, gpu)) => Err(format!("the allocation at {:#x} is on {gpu}, but the machine has {has}", range.start)),
        None => Ok(()),
    }
}

/// The workload under construction, and the parts of each kernel so far.
struct SpreadWorkload {
    workload: Workload,
    parts: BTreeMap<KernelIndex, Vec<KernelIndex>>,
}

impl SpreadWorkload {
    /// Adds a kernel, or a part of it for each GPU of `gpus`; `sms` is the number of SMs of each GPU. `before` is the previous kernel of
    /// its stream, if that kernel may have parts.
    fn add(
        &mut self,
        index: KernelIndex,
        kernel: &Kernel,
        before: Option<KernelIndex>,
        gpus: Range<u32>,
        sms: &[u32],
    ) -> Result<(), String> {
        let Kernel { info, source } = kernel;
        let count = gpus.len() as u64;
        let mut after: Vec<KernelIndex> = Vec::new();
        for before in info.after.iter().copied().chain(before) {
            after.extend(self.parts.get(&before).into_iter().flatten().filter(|part| !after.contains(part)).copied().collect::<Vec<_>>());
        }
        let sms_before = |part: usize| sms[gpus.start as usize..][..part].iter().copied().map(u64::from).sum::<u64>();
        let all_sms = sms_before(gpus.len());
        let bound = |part: usize| (u64::from(info.ctas()) * sms_before(part) / all_sms) as u32;
        let mut parts = Vec::new();
        for (part, gpu) in gpus.clone().enumerate() {
            let ctas = bound(part)..bound(part + 1);
            if ctas.is_empty() {
                continue;
            }
            let number = self.workload.kernels.len();
            if number >= MAX_KERNELS {
                let problem = "kernels once each is spread over the GPUs; simulate its parts one after the other";
                return Err(format!("the workload has more than {MAX_KERNELS} {problem}"));
            }
            let number = number as u32;
            // The previous launch has a single part, since launches with programmatic dependence are not spread.
            let programmatic = info.programmatic.and_then(|before| self.parts.get(&before)?.first().copied());
            let mut own = KernelInfo { gpu: Some(GpuId(gpu as u8)), after: after.clone(), programmatic, ..info.clone() };
            let mut source = Arc::clone(source);
            if count > 1 {
                own.grid = Dim3 { x: ctas.len() as u32, y: 1, z: 1 };
                source = Arc::new(KernelPart { whole_kernel: source, first: ctas.start, reports_notes: parts.is_empty() });
            }
            self.workload.kernels.push(Kernel { info: own, source });
            self.workload.commands.push(Command::Launch(KernelIndex(number)));
            parts.push(KernelIndex(number));
        }
        self.parts.insert(index, parts);
        Ok(())
    }
}
