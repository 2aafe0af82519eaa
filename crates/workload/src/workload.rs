//! Kernels, the commands that launch them, and the sources of their CTAs.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use warpshard_base::{Addr, AppId, CtaIndex, Cycle, GpuId, KernelIndex, StreamId};
use warpshard_state::{Reader, StateError, Writer};

use crate::{OpClass, StaticInst, UsedLine, WarpStream};

/// A size in three dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dim3 {
    /// Fastest-varying dimension.
    pub x: u32,
    /// Middle dimension.
    pub y: u32,
    /// Slowest-varying dimension.
    pub z: u32,
}

impl Dim3 {
    /// The size of a single element.
    pub const SINGLE_ELEMENT: Self = Self { x: 1, y: 1, z: 1 };

    /// Returns the number of elements.
    pub fn count(self) -> u64 {
        u64::from(self.x) * u64::from(self.y) * u64::from(self.z)
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{},{})", self.x, self.y, self.z)
    }
}

/// Names and resource requirements of a kernel launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// Name of the kernel.
    pub name: String,
    /// Number of the launch in the trace or model.
    pub id: u64,
    /// CTAs of the grid.
    pub grid: Dim3,
    /// CTAs of a cluster, which run at the same time on SMs of one GPC; 1 without clusters. The size of a cluster divides the grid.
    pub cluster: Dim3,
    /// Threads of a CTA.
    pub block: Dim3,
    /// Shared memory of a CTA, in bytes.
    pub shared_bytes: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// The application that launches the kernel.
    pub app: AppId,
    /// The application's stream into which the kernel is launched.
    pub stream: StreamId,
    /// Earlier kernels of other streams for which the kernel waits, as through events; kernels that no command launches are ignored.
    pub after: Vec<KernelIndex>,
    /// For a programmatic dependent launch: the previous launch in its stream. The launch may begin when every CTA of the previous launch
    /// has executed `griddepcontrol.launch_dependents` or has ended, and it ends no earlier than the previous launch. If a different launch
    /// precedes it, or none, it only waits for ends.
    pub programmatic: Option<KernelIndex>,
    /// First address of the window through which generic accesses reach shared memory.
    pub shared_base: Addr,
    /// First address of the window through which generic accesses reach local memory.
    pub local_base: Addr,
    /// The GPU of a system on which the kernel is launched; `None` if the workload names none, which means GPU 0 unless kernels are spread
    /// over GPUs.
    pub gpu: Option<GpuId>,
    /// The copy between GPUs that the launch performs instead of running; it then has one CTA, which no SM runs.
    pub copy: Option<PeerCopy>,
}

/// A copy between the memories of GPUs, by the copy engine of the launching GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerCopy {
    /// Address of the first byte read.
    pub from: Addr,
    /// Address of the first byte written.
    pub to: Addr,
    /// Length in bytes.
    pub bytes: u64,
}

impl KernelInfo {
    /// Returns the GPU on which the kernel runs.
    pub fn on_gpu(&self) -> GpuId {
        self.gpu.unwrap_or_default()
    }

    /// Returns the number of CTAs of the launch.
    pub fn ctas(&self) -> u32 {
        self.grid.count() as u32
    }

    /// Returns the number of CTAs of a cluster; 1 without clusters.
    pub fn cluster_ctas(&self) -> u32 {
        self.cluster.count().max(1) as u32
    }

    /// Returns the CTA at a position of the launch order: cluster after cluster, and by rank within a cluster.
    pub fn cta_at(&self, place: u32) -> CtaIndex {
        let size = self.cluster_ctas();
        if size == 1 {
            return CtaIndex(place);
        }
        let (cluster, rank) = (place / size, place % size);
        let of = |index: u32, wide: u32, high: u32| [index % wide, index / wide % high, index / wide / high];
        let Dim3 { x, y, z } = self.cluster;
        let (wide, high) = (self.grid.x, self.grid.y);
        let (base, own) = (of(cluster, wide / x, high / y), of(rank, x, y));
        let at: [u32; 3] = std::array::from_fn(|dimension| base[dimension] * [x, y, z][dimension] + own[dimension]);
        CtaIndex(at[0] + wide * (at[1] + high * at[2]))
    }

    /// Returns the number of threads of a CTA.
    pub fn threads_per_cta(&self) -> u32 {
        self.block.count() as u32
    }

    /// Returns the number of warps of a CTA.
    pub fn warps_per_cta(&self) -> u32 {
        self.threads_per_cta().div_ceil(warpshard_base::WARP_SIZE)
    }
}

/// The decoded instructions of one CTA.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub struct CtaProgram {
    /// The kernel's static instructions that are known so far; they include every index in the streams.
    pub code: Arc<[StaticInst]>,
    /// One stream per warp of the CTA, in warp order; a warp that the trace does not list has an empty stream.
    pub warps: Box<[WarpStream]>,
    /// Indices into `code`, in ascending order, of stores to global memory after which the CTA may still be re-executed, since they
    /// overwrite nothing that it has read; empty if not known.
    pub repeatable: Arc<[u32]>,
}

/// Totals of a kernel launch that do not depend on the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchCounts {
    /// Warp instructions of the launch.
    pub warp_instructions: u64,
    /// 32-byte sectors of device memory that the launch touches, summed over accesses; `None` if not known.
    pub sectors: Option<u64>,
    /// Warp instructions by opcode class; `None` if not known.
    pub classes: Option<[u64; OpClass::COUNT]>,
    /// Lines of device memory that the launch uses; `None` if not known.
    pub lines: Option<u64>,
    /// Upper bound of the lines that no earlier launch uses; `None` if not known.
    pub new_lines: Option<u64>,
}

/// Requirements of a kernel's machine code on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeRequirements {
    /// Target architecture of the code: 70 for sm_70.
    pub arch: u32,
    /// True if the code has tensor instructions, as far as this is known before execution.
    pub tensor: bool,
    /// True if the code copies from device to shared memory without registers (LDGSTS), as far as this is known and not noted elsewhere.
    pub copies: bool,
    /// Instructions that need asynchronous units, as far as they are known.
    pub async_counts: AsyncOpCounts,
}

/// Counts of instructions that need the asynchronous units of an SM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsyncOpCounts {
    /// Matrix products of warp groups.
    pub products: u64,
    /// Operations on barriers in shared memory.
    pub barriers: u64,
    /// Bulk copies by the tensor memory accelerator.
    pub bulk: u64,
}

/// A source of the CTAs of a kernel.
///
/// An SM requests a CTA in the cycle in which the CTA is bound to it, from any worker thread. Within one execution of a kernel each CTA is
/// requested once, in an order close to ascending; a kernel may be executed again. The call may block the host thread while the CTA is
/// decoded; its result depends on the index alone. After a failure (a trace that is corrupt at a later line) the source returns programs
/// with empty streams and reports the failure through [`CtaSource::failure`], which the engine checks between epochs.
pub trait CtaSource: Send + Sync + fmt::Debug {
    /// Returns the program of a CTA.
    fn cta(&self, index: CtaIndex) -> Arc<CtaProgram>;
    /// Restricts the following executions to requests of these CTAs, in ascending order; `None` allows all CTAs. The effects of the other
    /// CTAs on memory still take place.
    fn select_ctas(&self, ctas: Option<&[Range<u32>]>) {
        let _ = ctas;
    }
    /// Accepts the return of a preempted CTA, which will be requested once more.
    fn return_cta(&self, index: CtaIndex, program: &Arc<CtaProgram>) {
        let _ = (index, program);
    }
    /// Appends the progress of the source to a checkpoint: the state that [`CtaSource::load`] needs to return the same CTAs and
    /// [notes](CtaSource::notes) as without the checkpoint. Appends nothing if these depend on the CTA's index alone. Several kernels may
    /// share a state, which the first kernel then saves ([`Writer::first_visit`]).
    fn save(&self, to: &mut Writer);
    /// Restores the progress that [`CtaSource::save`] saved.
    ///
    /// # Errors
    /// Fails if the state belongs to another source, or the input can no longer be read up to this point.
    fn load(&self, from: &mut Reader<'_>) -> Result<(), StateError>;
    /// Returns a message for the user if decoding has failed.
    fn failure(&self) -> Option<String> {
        None
    }
    /// Returns the totals of the whole launch, if they are known without requesting its CTAs.
    fn counts(&self) -> Option<LaunchCounts> {
        None
    }
    /// Returns the lines of device memory that the whole launch uses, at most the `limit` most recently used lines, in the order of their
    /// last use when CTAs and warps execute in order. `None` if they are not known without requesting its CTAs.
    fn used_lines(&self, limit: usize) -> Option<Vec<UsedLine>> {
        let _ = limit;
        None
    }
    /// Returns the static instructions that start a basic block, by ascending index, if the source knows them for the whole kernel; a
    /// recorded trace does not.
    fn blocks(&self) -> Option<&[u32]> {
        None
    }
    /// Returns the requirements of the kernel's machine code; `None` for kernels without machine code.
    fn code(&self) -> Option<CodeRequirements> {
        None
    }
    /// Returns notes about unusual but accepted input in the CTAs returned since loading, each with the number of occurrences.
    fn notes(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

/// A kernel launch: its requirements and its instructions.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Names and resource requirements of the launch.
    pub info: KernelInfo,
    /// Source of the CTAs.
    pub source: Arc<dyn CtaSource>,
}

/// A command of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The host copies `bytes` bytes to the device at `addr`.
    CopyToDevice {
        /// Address of the first byte.
        addr: Addr,
        /// Length in bytes.
        bytes: u64,
    },
    /// The host launches a kernel.
    Launch(KernelIndex),
}

/// One of the applications that share the GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// Name of the application, for reports.
    pub name: String,
    /// Indices of the kernels that the application launches.
    pub kernels: Range<u32>,
    /// Indices of the same kernels for launches after the application's first end; empty if it is not restarted.
    pub again: Range<u32>,
    /// Indices of the application's commands in the workload.
    pub commands: Range<usize>,
    /// Priority; among waiting kernels, kernels with the highest number are dispatched first.
    pub priority: i32,
    /// Arrivals: the core cycles before which no CTA of the launches of the first execution is bound, in the order of the application's
    /// kernels. Further launches begin as soon as possible.
    pub arrivals: Vec<Cycle>,
    /// The GPU of a system that holds the application's memory and runs its kernels; `None` if the workload names none.
    pub gpu: Option<GpuId>,
}

/// The complete workload of a run.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Short name for reports: the trace's folder or the model's name.
    pub name: String,
    /// Copies and launches in program order.
    pub commands: Vec<Command>,
    /// The kernels that the commands launch, each launched once, followed by the kernels of restarted applications.
    pub kernels: Vec<Kernel>,
    /// The applications that share the GPU; empty if all kernels belong to one application.
    pub applications: Vec<Application>,
    /// Notes for the report about unusual but accepted input, each with the number of occurrences.
    pub notes: Vec<(String, u64)>,
    /// Allocations with an explicit GPU in a system, by their address ranges.
    pub homes: Vec<(Range<u64>, GpuId)>,
}

impl Workload {
    /// Returns the kernel of a launch.
    pub fn kernel(&self, index: KernelIndex) -> &Kernel {
        &self.kernels[index.index()]
    }

    /// Returns the applications; for a workload without applications, a single one.
    pub fn applications(&self) -> Vec<Application> {
        if !self.applications.is_empty() {
            return self.applications.clone();
        }
        let (kernels, commands) = (0..self.kernels.len() as u32, 0..self.commands.len());
        vec![Application { name: self.name.clone(), kernels, again: 0..0, commands, priority: 0, arrivals: Vec::new(), gpu: None }]
    }

    /// Returns the number of kernels without the kernels of restarted applications.
    pub fn first_launches(&self) -> usize {
        self.applications.iter().map(|app| app.kernels.end as usize).max().unwrap_or(self.kernels.len())
    }

    /// Returns the notes of loading and of the CTAs returned since, with equal notes combined.
    pub fn all_notes(&self) -> Vec<(String, u64)> {
        let mut all = self.notes.clone();
        for (text, times) in self.kernels.iter().flat_map(|kernel| kernel.source.notes()) {
            match all.iter_mut().find(|(known, _)| *known == text) {
                Some((_, sum)) => *sum += times,
                None => all.push((text, times)),
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctas_are_launched_cluster_by_cluster() {
        let grid = Dim3 { x: 4, y: 4, z: 1 };
        let info = |cluster| KernelInfo {
            name: String::new(),
            id: 1,
            grid,
            cluster,
            block: Dim3::SINGLE_ELEMENT,
            shared_bytes: 0,
            registers: 1,
            app: AppId(0),
            stream: StreamId(0),
            after: Vec::new(),
            programmatic: None,
            shared_base: Addr(0),
            local_base: Addr(0),
            gpu: None,
            copy: None,
        };
        let order = |cluster| (0..16).map(|place| info(cluster).cta_at(place).0).collect::<Vec<_>>();
        assert_eq!(order(Dim3::SINGLE_ELEMENT), (0..16).collect::<Vec<_>>());
        assert_eq!(order(Dim3 { x: 2, ..Dim3::SINGLE_ELEMENT }), (0..16).collect::<Vec<_>>());
        assert_eq!(order(Dim3 { y: 2, ..Dim3::SINGLE_ELEMENT }), [0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15]);
        assert_eq!(order(Dim3 { x: 2, y: 2, z: 1 }), [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]);
    }
}
