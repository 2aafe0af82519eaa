//! Kernels of the thesis as launches of programs: the first launch of a kernel alone, with the CTAs per core of the thesis's table.
//!
//! The thesis's compiler differs, so a thread gets the most registers with which that number of CTAs fits. Launches before the first launch
//! of the kernel are not executed: memory holds the contents that the launch file defines.

use std::fmt;
use std::path::Path;

use warpshard_base::{CtaIndex, KernelIndex};
use warpshard_chip::occupancies;
use warpshard_lab::Task;
use warpshard_lab::error::TaskError;
use warpshard_lab::job::{Job, Run};
use warpshard_program::Program;
use warpshard_workload::{Command, Workload};

use super::{KernelGrid, ThesisKernel, ProgramLaunch, kernel_library};

/// SM architecture of the programs' machine code: sm_70, as in all studies of programs.
const SM_ARCHITECTURE: u32 = 70;
/// Number of CTAs, from the first on, whose mean work is taken for all CTAs of a program.
const SAMPLED_CTAS: u32 = 4;
/// Allocation unit of registers per thread, on all machines of the thesis.
const REGISTER_UNIT: u32 = 4;

/// A run of a kernel, as its model or as a program.
#[derive(Clone, Debug)]
pub(super) struct KernelJob {
    pub(super) job: Job,
    pub(super) program: Option<(&'static ProgramLaunch, u32)>,
}

impl KernelJob {
    /// Creates a job of `kernel`'s program if `programs` is set and the kernel has one, otherwise of its model.
    pub(super) fn new(job: Job, kernel: &'static ThesisKernel, programs: bool) -> Self {
        let launch = kernel.program.as_ref().filter(|_| programs);
        let ctas = kernel.phases.as_ref().map(|cells| cells.ctas);
        let program = launch.zip(ctas).map(|(launch, ctas)| (launch, launch.ctas.unwrap_or(ctas)));
        Self { job, program }
    }

    /// Creates a job of a launch that states its CTAs per core, or of the model without such a launch.
    pub(super) fn of_launch(job: Job, launch: Option<&'static ProgramLaunch>) -> Self {
        Self { job, program: launch.and_then(|launch| Some((launch, launch.ctas?))) }
    }

    /// Returns the grid on the job's machine.
    ///
    /// # Errors
    /// Fails if the machine or the workload is invalid; a message for the user.
    pub(super) fn grid(&self) -> Result<KernelGrid, TaskError> {
        let Some((launch, ctas)) = self.program else { return KernelGrid::from_job(&self.job) };
        let machine = self.job.load()?.machine;
        let workload = workload(launch, ctas, machine.gpu.sm.registers)?;
        let most = occupancies(&machine, &workload)?[0];
        let kernel = &workload.kernels[0];
        let (all, first) = (kernel.info.ctas(), SAMPLED_CTAS.min(kernel.info.ctas()));
        let instructions = |cta: u32| kernel.source.cta(CtaIndex(cta)).warps.iter().map(|warp| u64::from(warp.len())).sum::<u64>();
        let per_cta = (0..first).map(instructions).sum::<u64>() as f64 / f64::from(first);
        let whole = all <= kernel_library().own.parameters.few_waves * most * machine.gpu.sms;
        Ok(KernelGrid { ctas: all, most, whole, per_cta, warps: kernel.info.warps_per_cta(), fitted_to: Vec::new() })
    }
}

/// Returns the first launch of a kernel alone, with as many registers per thread as let `ctas` CTAs fit on a core of `registers`.
fn workload(launch: &ProgramLaunch, ctas: u32, registers: u32) -> Result<Workload, TaskError> {
    let workload = Program::load(Path::new(&launch.file), Some(SM_ARCHITECTURE), &launch.parameters)?.workload()?;
    let at = workload.kernels.iter().position(|one| one.info.name == launch.kernel);
    let at = at.ok_or_else(|| format!("{}: there is no launch of `{}`", launch.file, launch.kernel))?;
    let mut one = workload.kernels[at].clone();
    one.info.registers = registers / (ctas * one.info.threads_per_cta()).max(1) / REGISTER_UNIT * REGISTER_UNIT;
    one.info.after.clear();
    let commands = workload.commands.iter().filter_map(|command| match *command {
        Command::Launch(index) if index.index() == at => Some(Command::Launch(KernelIndex(0))),
        Command::Launch(_) => None,
        copy @ Command::CopyToDevice { .. } => Some(copy),
    });
    let commands = commands.collect();
    Ok(Workload { commands, kernels: vec![one], ..workload })
}

impl fmt::Display for KernelJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.job.fmt(f)?;
        self.program.iter().try_for_each(|(launch, _)| write!(f, " as {}", launch.file))
    }
}

impl Task for KernelJob {
    type Result = Run;

    fn key(&self) -> Result<String, TaskError> {
        let Some((launch, ctas)) = self.program else { return self.job.key() };
        let files = warpshard_lab::programs::content(Path::new(&launch.file))?;
        Ok(format!("{} {launch:?} {ctas} {:08x}", self.job.key()?, crc32fast::hash(files.as_bytes())))
    }

    fn run(&self) -> Result<Run, TaskError> {
        let Some((launch, ctas)) = self.program else { return self.job.run() };
        let loaded = self.job.load()?;
        let workload = workload(launch, ctas, loaded.machine.gpu.sm.registers)?;
        self.job.simulate(loaded, workload)
    }
}

#[cfg(test)]
mod tests {
    use warpshard_lab::request::Request;

    use super::super::Thesis;
    use super::*;

    #[test]
    fn programs_have_the_ctas_of_the_tables() {
        let request = Request::default();
        let thesis = Thesis::new(&request);
        let mut programs = 0;
        for kernel in kernel_library().own.kernel.iter().filter(|kernel| kernel.program.is_some()) {
            let cells = kernel.phases.as_ref().expect("only kernels of Tables 3.2 and 3.3 are run as programs");
            let machine = &kernel_library().own.machines.phases;
            let job = KernelJob::new(thesis.kernel_job(kernel, machine, &Default::default()), kernel, true);
            let (launch, ctas) = job.program.unwrap();
            let machine = job.job.load().unwrap().machine;
            // The launch file's default, small input suffices: occupancy does not depend on the input size.
            let small = ProgramLaunch { parameters: Vec::new(), ..launch.clone() };
            let workload = workload(&small, ctas, machine.gpu.sm.registers).unwrap();
            assert_eq!(occupancies(&machine, &workload).unwrap(), [launch.ctas.unwrap_or(cells.ctas)], "{}", kernel.name);
            programs += 1;
        }
        assert_eq!(programs, 10);
    }
}
