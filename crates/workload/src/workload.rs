//! Kernels, the commands that launch them, and the CTAs that they hand out.

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
    /// One element.
    pub const ONE: Self = Self { x: 1, y: 1, z: 1 };

    /// Elements in the box.
    pub fn count(self) -> u64 {
        u64::from(self.x) * u64::from(self.y) * u64::from(self.z)
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{},{})", self.x, self.y, self.z)
    }
}

/// What a kernel launch needs and is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// The kernel's name.
    pub name: String,
    /// The number that the trace or model gives it.
    pub id: u64,
    /// CTAs of the grid.
    pub grid: Dim3,
    /// CTAs of a cluster, which run at the same time on SMs of one GPC; one where there are no clusters. It divides the grid.
    pub cluster: Dim3,
    /// Threads of a CTA.
    pub block: Dim3,
    /// Shared memory of a CTA, in bytes.
    pub shared_bytes: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// The application that launches it.
    pub app: AppId,
    /// The stream of the application that it is launched into.
    pub stream: StreamId,
    /// Kernels of other streams, launched before it, that it waits for, as by events; those that no command launches are not waited for.
    pub after: Vec<KernelIndex>,
    /// Of a programmatic dependent launch: the launch before it in its stream. It may begin when every CTA of that one has executed
    /// `griddepcontrol.launch_dependents` or has ended, and ends no earlier. Where another launch is before it, or none, it waits for ends alone.
    pub programmatic: Option<KernelIndex>,
    /// First address of the window through which generic accesses reach shared memory.
    pub shared_base: Addr,
    /// First address of the window through which generic accesses reach local memory.
    pub local_base: Addr,
    /// The GPU of a system that it is launched on; `None` where nobody said, which is GPU 0 unless kernels are spread over GPUs.
    pub gpu: Option<GpuId>,
    /// What it copies between GPUs instead of running; it then has one CTA, which no SM gets.
    pub copy: Option<PeerCopy>,
}

/// A copy between the memories of GPUs, by the copy engine of the GPU that it is launched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerCopy {
    /// First byte read.
    pub from: Addr,
    /// First byte written.
    pub to: Addr,
    /// Length in bytes.
    pub bytes: u64,
}

impl KernelInfo {
    /// The GPU that it runs on.
    pub fn on_gpu(&self) -> GpuId {
        self.gpu.unwrap_or_default()
    }

    /// CTAs of the launch.
    pub fn ctas(&self) -> u32 {
        self.grid.count() as u32
    }

    /// CTAs of a cluster; 1 where there are no clusters.
    pub fn cluster_ctas(&self) -> u32 {
        self.cluster.count().max(1) as u32
    }

    /// The CTA at a place of the order in which CTAs are launched: cluster after cluster, and those of a cluster by their ranks.
    pub fn launched(&self, place: u32) -> CtaIndex {
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

    /// Threads of a CTA.
    pub fn threads_per_cta(&self) -> u32 {
        self.block.count() as u32
    }

    /// Warps of a CTA.
    pub fn warps_per_cta(&self) -> u32 {
        self.threads_per_cta().div_ceil(warpshard_base::WARP_SIZE)
    }
}

/// The decoded instructions of one CTA.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub struct CtaProgram {
    /// The kernel's static instructions, as far as they are known; every index in the streams is covered.
    pub code: Arc<[StaticInst]>,
    /// One stream per warp of the CTA, in warp order; a warp that the trace does not list has an empty one.
    pub warps: Box<[WarpStream]>,
    /// Places in `code`, ascending, of stores to global memory after which the CTA may still be executed anew, since they overwrite nothing that it has
    /// read; none where that is not known.
    pub repeatable: Arc<[u32]>,
}

/// What a kernel launch comes to, whatever machine executes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchCounts {
    /// Instructions that warps execute.
    pub warp_instructions: u64,
    /// 32-byte sectors touched by its accesses to device memory, summed over accesses; `None` where not known.
    pub sectors: Option<u64>,
    /// Its instructions by the class of their opcodes; `None` where not known.
    pub classes: Option<[u64; OpClass::COUNT]>,
    /// Lines of device memory that it uses; `None` where not known.
    pub lines: Option<u64>,
    /// Those of them that no launch before it uses, at most; `None` where not known.
    pub new_lines: Option<u64>,
}

/// What the machine code of a kernel needs of the GPU that executes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The architecture that it is for: 70 for sm_70.
    pub arch: u32,
    /// Whether it has tensor instructions, as far as that is known before it is executed.
    pub tensor: bool,
    /// Whether it copies from device to shared memory without registers (LDGSTS), as far as that is known and not noted elsewhere.
    pub copies: bool,
    /// What of it needs units beside the pipeline, as far as that is known.
    pub beside: Units,
}

/// Instructions of code that need units beside the pipeline of an SM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Products of warp groups.
    pub products: u64,
    /// Operations on barriers in shared memory.
    pub barriers: u64,
    /// Bulk copies by the tensor memory accelerator.
    pub bulk: u64,
}

/// Hands out the CTAs of a kernel.
///
/// Called by an SM in the cycle in which a CTA is bound to it, from any worker thread. Within one execution of a
/// kernel CTAs are requested once each, in an order close to ascending; a kernel may be executed again. May block the host thread
/// while the CTA is decoded; what
/// it returns depends on the index alone. After a failure (a trace that is broken further on) it returns programs with
/// empty streams, and the failure is found in [`CtaSource::failure`], which the engine checks between epochs.
pub trait CtaSource: Send + Sync + fmt::Debug {
    /// The program of a CTA.
    fn cta(&self, index: CtaIndex) -> Arc<CtaProgram>;
    /// Says that in the executions that follow only these CTAs will be requested, in ascending order, or any when `None`. What the others do to
    /// memory happens all the same.
    fn choose(&self, ctas: Option<&[Range<u32>]>) {
        let _ = ctas;
    }
    /// Takes back a CTA that was taken away from its SM and will be requested once more.
    fn put_back(&self, index: CtaIndex, program: &Arc<CtaProgram>) {
        let _ = (index, program);
    }
    /// Appends how far it is to a checkpoint: what [`CtaSource::load`] needs so that every CTA comes out as it would have, and so do the
    /// [notes](CtaSource::notes). Nothing where that depends on the CTA's index alone. Several
    /// kernels may have one state; the first then saves it ([`Writer::first_visit`]).
    fn save(&self, to: &mut Writer);
    /// Goes on where the source was that saved this.
    ///
    /// # Errors
    /// When the state is that of another source, or the input can no longer be read so far.
    fn load(&self, from: &mut Reader<'_>) -> Result<(), StateError>;
    /// What went wrong while decoding, if anything did, as a message for the user.
    fn failure(&self) -> Option<String> {
        None
    }
    /// What the whole launch comes to, where that is known without handing out its CTAs.
    fn counts(&self) -> Option<LaunchCounts> {
        None
    }
    /// The lines of device memory that the whole launch uses, in the order of their last use in the order of CTAs and warps: the `limit` used last,
    /// or all. `None` where that is not known without handing out its CTAs.
    fn used_lines(&self, limit: usize) -> Option<Vec<UsedLine>> {
        let _ = limit;
        None
    }
    /// The static instructions that start a basic block, by ascending index, when the source knows them for the whole
    /// kernel; a recorded trace does not.
    fn blocks(&self) -> Option<&[u32]> {
        None
    }
    /// What its machine code needs; `None` for kernels without machine code.
    fn code(&self) -> Option<Code> {
        None
    }
    /// Things accepted though unusual in the CTAs handed out since loading, each with how often it occurred.
    fn notes(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

/// A kernel launch: what it needs, and its instructions.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Needs and names.
    pub info: KernelInfo,
    /// Its CTAs.
    pub source: Arc<dyn CtaSource>,
}

/// One line of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The host copies `bytes` bytes to the device at `addr`.
    CopyToDevice {
        /// First byte.
        addr: Addr,
        /// Length in bytes.
        bytes: u64,
    },
    /// The host launches a kernel.
    Launch(KernelIndex),
}

/// A program of its own among the ones that share the GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// Its name, for reports.
    pub name: String,
    /// The kernels that it launches.
    pub kernels: Range<u32>,
    /// The same kernels once more, as launched after its first end; empty where it is not started again.
    pub again: Range<u32>,
    /// Its commands among those of the workload.
    pub commands: Range<usize>,
    /// Among kernels that wait, those of the highest number go first.
    pub priority: i32,
    /// Arrivals: the core cycles before which the launches of its first execution have no CTA bound, in the order of its kernels; those
    /// beyond begin as they can.
    pub arrivals: Vec<Cycle>,
    /// The GPU of a system that has its memory, and runs its kernels; `None` where nobody said.
    pub gpu: Option<GpuId>,
}

/// All that a run executes.
#[derive(Clone, Debug)]
pub struct Workload {
    /// A short name for reports: the trace's folder or the model's name.
    pub name: String,
    /// Copies and launches in program order.
    pub commands: Vec<Command>,
    /// The kernels that the commands launch, each launched once, and after them those that are launched again.
    pub kernels: Vec<Kernel>,
    /// The applications that share the GPU; empty where all kernels belong to one.
    pub applications: Vec<Application>,
    /// Things accepted though unusual, for the report: each with how often it occurred.
    pub notes: Vec<(String, u64)>,
    /// Allocations that lie on a GPU of their own in a system, by their addresses.
    pub homes: Vec<(Range<u64>, GpuId)>,
}

impl Workload {
    /// The kernel of a launch.
    pub fn kernel(&self, index: KernelIndex) -> &Kernel {
        &self.kernels[index.index()]
    }

    /// Its applications, also where there is a single one.
    pub fn applications(&self) -> Vec<Application> {
        if !self.applications.is_empty() {
            return self.applications.clone();
        }
        let (kernels, commands) = (0..self.kernels.len() as u32, 0..self.commands.len());
        vec![Application { name: self.name.clone(), kernels, again: 0..0, commands, priority: 0, arrivals: Vec::new(), gpu: None }]
    }

    /// Kernels without those that applications launch again.
    pub fn first_launches(&self) -> usize {
        self.applications.iter().map(|app| app.kernels.end as usize).max().unwrap_or(self.kernels.len())
    }

    /// The notes of loading and of the CTAs handed out since, equal ones added up.
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
            block: Dim3::ONE,
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
        let order = |cluster| (0..16).map(|place| info(cluster).launched(place).0).collect::<Vec<_>>();
        assert_eq!(order(Dim3::ONE), (0..16).collect::<Vec<_>>());
        assert_eq!(order(Dim3 { x: 2, ..Dim3::ONE }), (0..16).collect::<Vec<_>>());
        assert_eq!(order(Dim3 { y: 2, ..Dim3::ONE }), [0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15]);
        assert_eq!(order(Dim3 { x: 2, y: 2, z: 1 }), [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]);
    }
}
