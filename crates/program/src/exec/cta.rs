//! A CTA: its warps, its memories, and the barriers at which they meet.

use std::path::PathBuf;
use std::sync::Arc;

use warpshard_base::wide;
use warpshard_workload::{Dim3, MemInst, WarpStream};

use super::super::isa::{Banks, Barrier, Decoded, Space};
use super::super::memory::{Fault, Memory};
use super::access::Memories;
use super::control;
use super::copies::Copies;
use super::heap::Heap;
use super::outside::Printed;
use super::shadow::Shadow;
use super::tally::{Count, Tally};
use super::texture::Texture;
use super::turn::Turn;
use super::warp::{Wait, Warp};

/// First address of the window through which generic accesses reach shared memory.
pub(in super::super) const SHARED_WINDOW: u64 = 0x7f00_0000_0000;
/// First address of the window through which generic accesses reach local memory.
pub(in super::super) const LOCAL_WINDOW: u64 = SHARED_WINDOW + WINDOW_BYTES;
/// Size of either window.
pub(super) const WINDOW_BYTES: u64 = 1 << 24;
/// Where constant bank 0 holds the end of a thread's local memory, at which its stack begins.
pub(in super::super) const STACK_TOP: usize = 0x28;
/// Instructions of a warp before it lets the other warps of its CTA go on, though it waits for nothing.
pub(super) const TURN: u64 = 1 << 18;

/// A kernel with everything that a launch sets.
#[derive(Debug)]
pub(in super::super) struct Kernel {
    pub(in super::super) file: PathBuf,
    pub(in super::super) name: String,
    /// The line of each instruction in its listing, and its text.
    pub(in super::super) lines: Vec<(u32, String)>,
    pub(in super::super) decoded: Decoded,
    /// What each instruction does to memory as the streams' readers see it.
    pub(in super::super) access: Vec<Option<MemInst>>,
    pub(in super::super) banks: Banks,
    pub(in super::super) grid: Dim3,
    pub(in super::super) block: Dim3,
    pub(in super::super) shared_bytes: usize,
    /// Local memory of a thread, in bytes.
    pub(in super::super) local_bytes: usize,
    /// Most instructions that a warp may execute.
    pub(in super::super) limit: u64,
    /// Texture and surface objects, of which the first has number 1.
    pub(in super::super) textures: Arc<[Texture]>,
}

/// Why a program cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Trouble {
    /// Outside of all allocations.
    Outside(Fault),
    /// Beyond shared or local memory.
    OutsideOwn {
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
    /// A jump to a place without an instruction.
    RanOff,
    /// After so many instructions; the place of the last load or atomic, and what is closest to its address.
    Endless(u64, Option<(usize, Fault)>),
    Trap,
    /// Another warp accessed the byte of shared memory, at that place, and no barrier lies between.
    Race {
        byte: usize,
        warp: usize,
        place: usize,
    },
    /// A call of a function that the listing lacks.
    Absent,
    /// A failed assertion: file, line and text.
    Assertion(String),
    /// There is no texture object of this number, only so many.
    Object(u32, usize),
    /// An access beyond a surface that traps there, at these coordinates.
    BeyondSurface([i32; 3]),
    /// Threads wait for what never comes: for each path its warp, place, lanes and what it waits for.
    Stuck(Vec<(usize, usize, u32, String)>),
}

/// Trouble, and where: warp, place in the code, lane.
pub(in super::super) type Located = (usize, usize, usize, Trouble);

/// A barrier of the CTA.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BarrierState {
    /// Threads that it waits for; 0 for all that have not exited.
    pub(super) expected: u32,
    /// Threads that arrived without waiting.
    pub(super) arrived: u32,
    /// Threads whose condition holds.
    pub(super) holds: u32,
    /// Threads that reported a condition.
    pub(super) reported: u32,
    pub(super) kind: Option<Barrier>,
}

/// Executes the CTAs of a kernel, one after the other.
#[derive(Debug, Default, warpshard_state::State)]
pub(in super::super) struct Executor {
    // Of the CTA that is executed: at its beginning all are as new.
    #[state(fixed)]
    warps: Vec<Warp>,
    #[state(fixed)]
    shared: Vec<u8>,
    #[state(fixed)]
    local: Vec<u8>,
    #[state(fixed)]
    copies: Copies,
    heap: Heap,
    /// What kernels have printed.
    pub(in super::super) printed: Printed,
    /// Where accesses to shared and local memory are checked, which no run with timing does.
    #[state(fixed)]
    pub(in super::super) shadow: Option<Box<Shadow>>,
}

/// What is common to the steps of a CTA.
pub(super) struct Context<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) cta: [u32; 3],
    pub(super) barriers: [BarrierState; 16],
    pub(super) record: bool,
    pub(super) measure: bool,
    pub(super) tally: &'a mut Tally,
}

/// How a path's turn ended.
pub(super) enum Flow {
    /// It goes on at this place.
    Next(usize),
    /// The warp's paths have changed.
    Changed,
}

impl Executor {
    /// Executes CTA `index`; returns a stream per warp, empty ones where `record` is false.
    pub(in super::super) fn cta(
        &mut self,
        kernel: &Kernel,
        memory: &mut Memory,
        index: u32,
        record: bool,
        measured: (&mut Tally, bool),
    ) -> Result<Box<[WarpStream]>, Located> {
        let threads = kernel.block.count() as usize;
        let count = threads.div_ceil(32);
        while self.warps.len() < count || self.warps.first().is_some_and(|warp| !warp.lanes.fits(kernel.decoded.rows)) {
            if self.warps.first().is_some_and(|warp| !warp.lanes.fits(kernel.decoded.rows)) {
                self.warps.clear();
            }
            self.warps.push(Warp::new(kernel.decoded.rows));
        }
        for (number, warp) in self.warps[..count].iter_mut().enumerate() {
            let lanes = (threads - 32 * number).min(32);
            warp.start(if lanes == 32 { u32::MAX } else { (1 << lanes) - 1 });
        }
        for (memory, size) in [(&mut self.shared, kernel.shared_bytes), (&mut self.local, kernel.local_bytes * count * 32)] {
            memory.clear();
            memory.resize(size, 0);
        }
        let mut memories = Memories {
            global: memory,
            shared: std::mem::take(&mut self.shared),
            local: std::mem::take(&mut self.local),
            local_bytes: kernel.local_bytes,
            copies: std::mem::take(&mut self.copies),
            heap: std::mem::take(&mut self.heap),
            printed: std::mem::take(&mut self.printed),
            shadow: self.shadow.take(),
        };
        memories.copies.clear();
        if let Some(shadow) = &mut memories.shadow {
            shadow.begin(count, memories.shared.len(), memories.local.len());
        }
        let (x, y) = (kernel.grid.x.max(1), kernel.grid.y.max(1));
        let (tally, measure) = measured;
        tally.0.resize(kernel.decoded.code.len(), Count::default());
        let cta = [index % x, index / x % y, index / (x * y)];
        let mut context = Context { kernel, cta, barriers: Default::default(), record, measure, tally };
        let done = run(&mut self.warps[..count], &mut memories, &mut context);
        (self.shared, self.local, self.copies) = (memories.shared, memories.local, memories.copies);
        (self.heap, self.printed, self.shadow) = (memories.heap, memories.printed, memories.shadow);
        done?;
        Ok(self.warps[..count].iter_mut().map(|warp| std::mem::take(&mut warp.stream).finish()).collect())
    }
}

/// Lets the warps take turns until all have exited.
fn run(warps: &mut [Warp], memories: &mut Memories<'_>, context: &mut Context<'_>) -> Result<(), Located> {
    loop {
        let mut advanced = false;
        for (number, warp) in warps.iter_mut().enumerate() {
            let end = warp.executed + TURN;
            while let Some(path) = warp.next_path() {
                advanced = true;
                wide(Turn { warp, number, path, memories, context })?;
                if warp.executed >= end {
                    break;
                }
            }
        }
        if warps.iter().all(|warp| warp.paths.is_empty()) {
            return Ok(());
        }
        if !control::release_barriers(warps, context, memories) && !advanced {
            return Err(stuck(warps));
        }
    }
}

fn stuck(warps: &[Warp]) -> Located {
    let mut waiting = Vec::new();
    for (number, warp) in warps.iter().enumerate() {
        for path in &warp.paths {
            let wait = match path.wait {
                Wait::Ready => "nothing".into(),
                Wait::Sync(barrier) => format!("convergence barrier B{barrier}"),
                Wait::Warp(mask) => format!("lanes {mask:08x} of the warp"),
                Wait::Barrier(barrier) => format!("barrier {barrier} of the CTA"),
            };
            waiting.push((number, path.place, path.mask, wait));
        }
    }
    let (warp, place, mask) = waiting.first().map_or((0, 0, 1), |first| (first.0, first.1, first.2));
    (warp, place, mask.trailing_zeros() as usize, Trouble::Stuck(waiting))
}
