//! Execution of a CTA with its warps, memories and barriers.

use std::ops::{Deref, Range};
use std::path::PathBuf;
use std::sync::Arc;

use warpshard_base::wide;
use warpshard_workload::{Dim3, MemInst, StaticInst, WarpStream};

use super::super::isa::{Banks, Barrier, DecodedKernel, Op, Space};
use super::super::memory::{AccessFault, Memory};
use super::access::Memories;
use super::copies::Copies;
use super::heap::Heap;
use super::lanes::RegisterRow;
use super::pool::ConstantPool;
use super::runtime_calls::PrintedText;
use super::shadow::Shadow;
use super::tally::{Count, Tally};
use super::texture::Texture;
use super::turn::PathTurn;
use super::warp::{PathWait, Warp};
use super::{control, mbarrier};

/// First address of the window through which generic accesses reach shared memory.
pub(in super::super) const SHARED_WINDOW: u64 = 0x7f00_0000_0000;
/// Bytes of the generic window of shared memory: 16 MiB for each CTA of a cluster.
pub(super) const SHARED_BYTES: u64 = 1 << 28;
/// First address of the window through which generic accesses reach local memory.
pub(in super::super) const LOCAL_WINDOW: u64 = SHARED_WINDOW + SHARED_BYTES;
/// Bytes of the generic window of local memory.
pub(super) const WINDOW_BYTES: u64 = 1 << 24;
/// First address of the window through which copies reach constant bank 0.
pub(in super::super) const CONSTANT_WINDOW: u64 = LOCAL_WINDOW + SHARED_BYTES;
/// Address and bytes of the counter that synchronises the CTAs of a cooperative launch.
pub(in super::super) const COOPERATIVE_COUNTER: (u64, usize) = (CONSTANT_WINDOW + SHARED_BYTES, 256);
/// Addresses that no buffer of a program can have: the windows and the counter of cooperative launches.
pub(in super::super) const WINDOWS: Range<u64> = SHARED_WINDOW..COOPERATIVE_COUNTER.0 + COOPERATIVE_COUNTER.1 as u64;
/// Maximum CTAs that execute together.
pub(in super::super) const MAX_CTAS_TOGETHER: u32 = 4096;
/// Offset in constant bank 0 of the end of a thread's local memory, where its stack begins.
pub(in super::super) const STACK_TOP: usize = 0x28;
/// Instructions of a warp before the other warps of its CTA get a turn although this warp waits for nothing.
const TURN_INSTRUCTIONS: u64 = 1 << 18;
/// Instructions of a warp per turn in a kernel whose warps poll barriers in shared memory: the instructions of the polling loop are part of
/// their streams.
const POLLING_TURN_INSTRUCTIONS: u64 = 1 << 8;

/// The data that all launches of a kernel share.
#[derive(Debug, Default)]
pub(in super::super) struct KernelCode {
    pub(in super::super) file: PathBuf,
    pub(in super::super) name: String,
    /// Registers per thread.
    pub(in super::super) registers: u32,
    /// Line number in the listing and text of each instruction.
    pub(in super::super) lines: Box<[(u32, String)]>,
    /// Source line of each instruction; 0 if the listing does not contain it.
    pub(in super::super) sources: Box<[u32]>,
    pub(in super::super) decoded: DecodedKernel,
    /// Static instructions that streams refer to; `None` if the timing model has no opcode table for the architecture.
    pub(in super::super) statics: Option<Arc<[StaticInst]>>,
    /// Opcode of each instruction with its modifiers.
    pub(in super::super) mnemonics: Box<[String]>,
    /// Memory access of each instruction in the form that readers of streams use.
    pub(in super::super) access: Box<[Option<MemInst>]>,
}

/// A kernel with all parameters of a launch.
#[derive(Debug)]
pub(in super::super) struct Kernel {
    pub(in super::super) code: Arc<KernelCode>,
    pub(in super::super) banks: Banks,
    pub(in super::super) grid: Dim3,
    pub(in super::super) block: Dim3,
    pub(in super::super) shared_bytes: usize,
    /// Bytes of local memory per thread.
    pub(in super::super) local_bytes: usize,
    /// Maximum instructions that a warp may execute.
    pub(in super::super) limit: u64,
    /// Texture and surface objects; the first one has number 1.
    pub(in super::super) textures: Arc<[Texture]>,
    /// CTAs of a cluster in each dimension.
    pub(in super::super) cluster: Dim3,
    /// True if all CTAs are resident at the same time and may wait for each other.
    pub(in super::super) cooperative: bool,
    /// True if waiting warps poll with YIELD in between: in a cooperative launch, and at barriers in shared memory before Hopper.
    pub(in super::super) polls: bool,
}

impl Deref for Kernel {
    type Target = KernelCode;

    #[inline]
    fn deref(&self) -> &KernelCode {
        &self.code
    }
}

impl Kernel {
    /// Returns the instructions of a warp before the other warps of its CTA get a turn.
    pub(super) fn turn(&self) -> u64 {
        if self.polls && !self.cooperative { POLLING_TURN_INSTRUCTIONS } else { TURN_INSTRUCTIONS }
    }

    /// Returns how many CTAs execute together: one cluster, all clusters in the same rows, or the whole grid.
    pub(in super::super) fn concurrent_ctas(&self) -> u32 {
        let Dim3 { x, y, .. } = self.grid;
        let count = match self.cluster {
            _ if self.cooperative => self.grid.count() as u32,
            Dim3 { x: wide, y: 0..=1, z: 0..=1 } => wide.max(1),
            Dim3 { y: high, z: 0..=1, .. } => x * high,
            Dim3 { z: deep, .. } => x * y * deep,
        };
        count.max(1)
    }

    /// Returns true if a CTA does not communicate with other running CTAs, and all its reads are loads.
    pub(in super::super) fn is_independent(&self) -> bool {
        self.concurrent_ctas() == 1 && !self.decoded.code.iter().any(|inst| matches!(inst.op, Op::Bulk(_)))
    }

    /// Returns the coordinates of a CTA in its grid.
    fn coordinates_of(&self, index: u32) -> [u32; 3] {
        let (x, y) = (self.grid.x.max(1), self.grid.y.max(1));
        [index % x, index / x % y, index / (x * y)]
    }

    /// Returns the rank of a CTA in its cluster, and the indices of the cluster's CTAs by rank.
    fn cluster_of(&self, index: u32) -> (usize, Vec<u32>) {
        let sizes = [self.cluster.x.max(1), self.cluster.y.max(1), self.cluster.z.max(1)];
        let at = self.coordinates_of(index);
        let base: [u32; 3] = std::array::from_fn(|dimension| at[dimension] / sizes[dimension] * sizes[dimension]);
        let [x, y, z] = sizes;
        let (wide, high) = (self.grid.x.max(1), self.grid.y.max(1));
        let member = |rank: u32| base[0] + rank % x + (base[1] + rank / x % y) * wide + (base[2] + rank / (x * y)) * wide * high;
        let all: Vec<u32> = (0..x * y * z).map(member).collect();
        (all.iter().position(|other| *other == index).unwrap_or_default(), all)
    }
}

/// A fault that stops a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum ExecFault {
    /// An access outside of all allocations.
    Outside(AccessFault),
    /// An access beyond shared or local memory.
    BeyondMemory {
        space: Space,
        address: u64,
        size: usize,
    },
    Misaligned {
        address: u64,
        bytes: usize,
    },
    /// A constant beyond the end of its bank.
    Constant {
        bank: u8,
        offset: i64,
    },
    /// A jump to an address without an instruction.
    NoInstruction,
    /// The instruction limit was exceeded: the limit, and the index of the last load or atomic with the allocation closest to its address.
    InstructionLimit(u64, Option<(usize, AccessFault)>),
    Trap,
    /// Another warp accessed the byte of shared memory at that instruction, without a barrier in between.
    Race {
        byte: usize,
        warp: usize,
        place: usize,
    },
    /// Another CTA of the launch accessed the byte of a buffer at that instruction, and no synchronisation orders the two accesses.
    RaceOfCtas {
        buffer: String,
        byte: usize,
        cta: u32,
        place: usize,
    },
    /// A CTA barrier with a number that does not exist, or with a thread count that is not a multiple of the warp size.
    NoBarrier {
        number: u32,
        threads: u32,
    },
    /// A call of a function that the listing does not contain.
    MissingFunction,
    /// An operation of the hardware that functional execution does not implement.
    Unsupported(&'static str),
    /// A failed assertion: file, line and text.
    Assertion(String),
    /// A texture object number that does not exist, with the number of objects.
    Object(u32, usize),
    /// An access at coordinates beyond a surface that traps such accesses.
    BeyondSurface([i32; 3]),
    /// A deadlock: for each path its warp, instruction index, lanes and the event that it waits for.
    Deadlock(Vec<(usize, usize, u32, String)>),
}

/// A fault with its warp, instruction index and lane.
pub(in super::super) type LocatedFault = (usize, usize, usize, ExecFault);

/// Streams per warp of several CTAs.
pub(in super::super) type Streams = Vec<Box<[WarpStream]>>;

/// The state of a CTA barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BarrierState {
    /// Threads that the barrier waits for; 0 for all threads that have not exited.
    pub(super) expected: u32,
    /// Threads that have arrived without waiting.
    pub(super) arrived: u32,
    /// Threads whose predicate is true.
    pub(super) holds: u32,
    /// Threads that have supplied a predicate.
    pub(super) reported: u32,
    pub(super) kind: Option<Barrier>,
}

/// An executing CTA.
#[derive(Debug, Default)]
struct Cta {
    index: u32,
    warps: Vec<Warp>,
    local: Vec<u8>,
    copies: Copies,
    barriers: [BarrierState; 16],
    /// Rank of the CTA in its cluster, and indices of the cluster's CTAs among the CTAs that execute together.
    rank: usize,
    peers: Vec<usize>,
}

/// An executor of a kernel's CTAs: one after the other, or together if they may wait for each other.
#[derive(Debug, Default, warpshard_state::State)]
pub(in super::super) struct Executor {
    // State of the executing CTAs, which is reset before each execution.
    #[state(fixed)]
    ctas: Vec<Cta>,
    #[state(fixed)]
    shared: Vec<Vec<u8>>,
    #[state(fixed)]
    pool: ConstantPool,
    heap: Heap,
    /// Text that kernels have printed.
    pub(in super::super) printed: PrintedText,
    /// Checker of accesses to shared and local memory; never used in a run with timing.
    #[state(fixed)]
    pub(in super::super) shadow: Option<Box<Shadow>>,
    /// True if matrix products are skipped; their result registers keep their old values.
    #[state(fixed)]
    pub(in super::super) skips_products: bool,
}

/// The context of a CTA's execution steps.
pub(super) struct Context<'a> {
    pub(super) kernel: &'a Kernel,
    /// Constants of the kernel as rows.
    pub(super) pool: &'a [RegisterRow],
    pub(super) cta: [u32; 3],
    pub(super) barriers: [BarrierState; 16],
    pub(super) record: bool,
    pub(super) measure: bool,
    pub(super) skips_products: bool,
    pub(super) tally: &'a mut Tally,
}

/// The outcome of a control-flow instruction for its path.
pub(super) enum Flow {
    /// The path continues at this instruction index.
    Next(usize),
    /// The warp's paths have changed.
    Changed,
}

impl Executor {
    /// Executes the CTAs from `first` on that execute together ([`Kernel::concurrent_ctas`]). Returns the streams of each CTA's warps, which are
    /// empty if `record` is false. The error contains the CTA's index.
    pub(in super::super) fn ctas(
        &mut self,
        kernel: &Kernel,
        memory: &mut Memory,
        first: u32,
        record: bool,
        (tally, measure): (&mut Tally, bool),
    ) -> Result<Streams, (u32, LocatedFault)> {
        let together = kernel.concurrent_ctas() as usize;
        if kernel.cooperative {
            let (start, bytes) = COOPERATIVE_COUNTER;
            if memory.allocate_at("the counter of a cooperative launch", start, vec![0; bytes], true).is_none() {
                let _ = memory.fill(start, &vec![0; bytes]);
            }
        }
        self.ctas.resize_with(self.ctas.len().max(together), Cta::default);
        self.shared.resize_with(together, Vec::new);
        for (place, (cta, shared)) in self.ctas.iter_mut().zip(&mut self.shared).enumerate() {
            cta.begin(kernel, first, first + place as u32);
            shared.clear();
            shared.resize(kernel.shared_bytes, 0);
        }
        let mut memories = Memories {
            global: memory,
            shared: Vec::new(),
            rank: 0,
            peers: Vec::new(),
            others: std::mem::take(&mut self.shared),
            local: Vec::new(),
            local_bytes: kernel.local_bytes,
            copies: Copies::default(),
            heap: std::mem::take(&mut self.heap),
            printed: std::mem::take(&mut self.printed),
            // Accesses are not checked if CTAs may wait for each other.
            shadow: self.shadow.take_if(|_| together == 1),
        };
        let ctas = &mut self.ctas[..together];
        if let Some(shadow) = &mut memories.shadow {
            shadow.begin(first, ctas[0].warps.len(), memories.others[0].len(), ctas[0].local.len());
        }
        tally.0.resize(kernel.decoded.code.len(), Count::default());
        let skips_products = self.skips_products;
        let pool = self.pool.of(kernel);
        let mut context = Context { kernel, pool, cta: [0; 3], barriers: Default::default(), record, measure, skips_products, tally };
        let done = run(ctas, &mut memories, &mut context);
        self.shared = memories.others;
        (self.heap, self.printed) = (memories.heap, memories.printed);
        self.shadow = memories.shadow.or(self.shadow.take());
        done?;
        let streams = |cta: &mut Cta| cta.warps.iter_mut().map(|warp| std::mem::take(&mut warp.stream).finish()).collect();
        Ok(self.ctas[..together].iter_mut().map(streams).collect())
    }
}

impl Cta {
    /// Resets the state for CTA `index`; `first` is the first of the CTAs that execute together.
    fn begin(&mut self, kernel: &Kernel, first: u32, index: u32) {
        let threads = kernel.block.count() as usize;
        let count = threads.div_ceil(32);
        if self.warps.first().is_some_and(|warp| !warp.lanes.fits(kernel.decoded.rows)) {
            self.warps.clear();
        }
        self.warps.resize_with(count, || Warp::new(kernel.decoded.rows));
        for (number, warp) in self.warps.iter_mut().enumerate() {
            let lanes = (threads - 32 * number).min(32);
            warp.start(if lanes == 32 { u32::MAX } else { (1 << lanes) - 1 });
        }
        self.local.clear();
        self.local.resize(kernel.local_bytes * count * 32, 0);
        self.copies.clear();
        self.barriers = Default::default();
        self.index = index;
        let (rank, all) = kernel.cluster_of(index);
        self.rank = rank;
        self.peers.clear();
        self.peers.extend(all.iter().map(|other| (other - first) as usize));
    }

    fn has_ended(&self) -> bool {
        self.warps.iter().all(|warp| warp.paths.is_empty())
    }

    /// Swaps the CTA's private state into `memories` and `context` before its turn, or back after it.
    fn swap_state(&mut self, place: usize, memories: &mut Memories<'_>, context: &mut Context<'_>) {
        std::mem::swap(&mut memories.shared, &mut memories.others[place]);
        std::mem::swap(&mut memories.local, &mut self.local);
        std::mem::swap(&mut memories.copies, &mut self.copies);
        std::mem::swap(&mut memories.peers, &mut self.peers);
        std::mem::swap(&mut context.barriers, &mut self.barriers);
        (memories.rank, context.cta) = (self.rank, context.kernel.coordinates_of(self.index));
    }
}

/// Executes the CTAs and their warps in turns until all have exited.
fn run(ctas: &mut [Cta], memories: &mut Memories<'_>, context: &mut Context<'_>) -> Result<(), (u32, LocatedFault)> {
    let several = ctas.len() > 1;
    loop {
        let mut advanced = false;
        let mut ended = true;
        for (place, cta) in ctas.iter_mut().enumerate() {
            if cta.has_ended() {
                continue;
            }
            ended = false;
            cta.swap_state(place, memories, context);
            // A single CTA executes to its end.
            let done = loop {
                match run_round(&mut cta.warps, memories, context) {
                    Ok(true) => advanced = true,
                    other => break other,
                }
                if several || cta.has_ended() {
                    break Ok(true);
                }
            };
            cta.swap_state(place, memories, context);
            done.map_err(|fault| (cta.index, fault))?;
        }
        if ended {
            return Ok(());
        }
        advanced |= release_clusters(ctas);
        if !advanced {
            return Err(deadlock(ctas, memories));
        }
    }
}

/// Gives each warp of a CTA a turn; returns true if any warp has advanced.
fn run_round(warps: &mut [Warp], memories: &mut Memories<'_>, context: &mut Context<'_>) -> Result<bool, LocatedFault> {
    let mut advanced = false;
    for (number, warp) in warps.iter_mut().enumerate() {
        advanced |= mbarrier::release(warp, number, context, memories).map_err(|(place, fault)| (number, place, 0, fault))?;
        let end = warp.executed + context.kernel.turn();
        while let Some(path) = warp.next_path() {
            advanced = true;
            wide(PathTurn { warp, number, path, memories, context })?;
            if warp.executed >= end || std::mem::take(&mut warp.polling) {
                break;
            }
        }
    }
    advanced |= release_products(warps);
    Ok(control::release_barriers(warps, context, memories) || advanced)
}

/// Releases warps that wait for the matrix products of their warp group; returns true if any warp was released.
fn release_products(warps: &mut [Warp]) -> bool {
    let mut any = false;
    for group in warps.chunks_mut(4) {
        let waiting = |warp: &Warp| warp.paths.iter().any(|path| path.wait == PathWait::Products);
        let behind = group.iter().filter(|warp| warp.live != 0).map(|warp| warp.waits[0]).min().unwrap_or(0);
        for warp in group.iter_mut().filter(|warp| waiting(warp) && warp.waits[0] <= behind) {
            warp.resume(PathWait::Products);
            any = true;
        }
    }
    any
}

/// Releases warps that wait at a cluster barrier at which all CTAs have arrived; returns true if any warp was released.
fn release_clusters(ctas: &mut [Cta]) -> bool {
    let mut any = false;
    for place in 0..ctas.len() {
        let waiting = |warp: &Warp| warp.paths.iter().any(|path| path.wait == PathWait::Cluster);
        if !ctas[place].warps.iter().any(waiting) {
            continue;
        }
        let live = |peer: &usize| ctas[*peer].warps.iter().filter(|warp| warp.live != 0).map(|warp| warp.waits[1]).min();
        let behind = ctas[place].peers.iter().filter_map(live).min().unwrap_or(0);
        for warp in ctas[place].warps.iter_mut().filter(|warp| waiting(warp) && warp.waits[1] <= behind) {
            warp.resume(PathWait::Cluster);
            any = true;
        }
    }
    any
}

/// Returns the deadlock fault with all waiting paths.
fn deadlock(ctas: &mut [Cta], memories: &mut Memories<'_>) -> (u32, LocatedFault) {
    let several = ctas.len() > 1;
    let mut waiting = Vec::new();
    let mut first = None;
    for (position, cta) in ctas.iter().enumerate() {
        for (number, warp) in cta.warps.iter().enumerate() {
            for path in &warp.paths {
                let mut wait = match path.wait {
                    PathWait::Ready => "nothing".into(),
                    PathWait::Sync(barrier) => format!("convergence barrier B{barrier}"),
                    PathWait::Warp(mask) => format!("lanes {mask:08x} of the warp"),
                    PathWait::Barrier(barrier) => format!("barrier {barrier} of the CTA"),
                    PathWait::Products => "the products of the other warps of its group".into(),
                    PathWait::Cluster => "the barrier of its cluster".into(),
                    PathWait::Mbarrier(address, parity) => {
                        (memories.rank, memories.peers) = (usize::MAX, cta.peers.clone());
                        if cta.peers.len() == 1 {
                            memories.peers = vec![position];
                        }
                        let word = memories.read(Space::Shared, u64::from(address), 8, 0).unwrap_or_default();
                        let (phase, lacks) = (u8::from(parity), warpshard_workload::Mbarrier::of(word));
                        format!(
                            "phase {phase} of the barrier at {address:#x} of shared memory, which lacks {} arrivals and {} bytes",
                            lacks.missing, lacks.bytes
                        )
                    }
                };
                if several {
                    wait += &format!(" (CTA {})", cta.index);
                }
                first.get_or_insert((cta.index, number, path.place, path.mask));
                waiting.push((number, path.place, path.mask, wait));
            }
        }
    }
    let (cta, warp, place, mask) = first.unwrap_or((0, 0, 0, 1));
    (cta, (warp, place, mask.trailing_zeros() as usize, ExecFault::Deadlock(waiting)))
}
