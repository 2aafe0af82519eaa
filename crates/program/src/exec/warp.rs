//! A warp with its registers, the paths of its lanes, and their waits.
//!
//! Divergent lanes are on different paths. Of the ready paths the one with the lowest program counter executes first; YIELD, NANOSLEEP and
//! [`PATH_TURN_INSTRUCTIONS`] executed instructions give the other paths a turn, so that lanes may wait for each other. Paths reconverge where a
//! convergence barrier (BSYNC), a WARPSYNC or a barrier of the CTA made them wait for each other.

use warpshard_workload::StreamBuilder;

use super::super::isa::Rows;
use super::lanes::Lanes;

/// Instructions of a path before the other paths of its warp get a turn.
pub(super) const PATH_TURN_INSTRUCTIONS: u32 = 1 << 10;

/// Yields of a path before lanes that wait for it at a convergence barrier are released without it.
const MAX_YIELDS: u32 = 64;

/// The event that a path waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathWait {
    /// No event: the path can execute.
    Ready,
    /// The lanes of a convergence barrier.
    Sync(u8),
    /// The lanes of a mask (WARPSYNC).
    Warp(u32),
    /// A barrier of the CTA.
    Barrier(u8),
    /// Completion of the phase with a parity, of the barrier at an address of shared memory.
    Mbarrier(u32, bool),
    /// The matrix products of the other warps of the warp group.
    Products,
    /// The barrier of the cluster.
    Cluster,
}

/// A group of lanes that execute the same instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// Index of the next instruction.
    pub(super) place: usize,
    pub(super) mask: u32,
    pub(super) wait: PathWait,
    /// Number of turns that the path has given to other paths.
    pub(super) turn: u32,
    /// Remaining instructions of the path before the other paths get a turn.
    pub(super) left: u32,
    /// Yields of the path since waiting lanes were last released because of it.
    pub(super) yields: u32,
}

/// An executing warp.
#[derive(Debug)]
pub(super) struct Warp {
    pub(super) lanes: Lanes,
    pub(super) paths: Vec<Path>,
    /// Lanes of each convergence barrier.
    pub(super) sync: [u32; 16],
    /// Lanes that have not exited.
    pub(super) live: u32,
    /// Instructions executed.
    pub(super) executed: u64,
    pub(super) stream: StreamBuilder,
    /// Result of the last barrier with a reduction.
    pub(super) barrier_result: u32,
    /// Instruction index and first address of the last memory access.
    pub(super) last_access: (usize, u64),
    /// Number of waits for the products of the warp group, and of arrivals at the barrier of the cluster.
    pub(super) waits: [u32; 2],
    /// True if the warp polls: the other warps get a turn.
    pub(super) polling: bool,
}

impl Warp {
    pub(super) fn new(rows: Rows) -> Self {
        let (paths, stream) = Default::default();
        Self {
            lanes: Lanes::new(rows),
            paths,
            sync: [0; 16],
            live: 0,
            executed: 0,
            stream,
            barrier_result: 0,
            last_access: (0, 0),
            waits: [0; 2],
            polling: false,
        }
    }

    /// Resets the warp for a CTA; `mask` contains its lanes.
    pub(super) fn start(&mut self, mask: u32) {
        self.lanes.reset();
        self.paths.clear();
        if mask != 0 {
            self.paths.push(Path { place: 0, mask, wait: PathWait::Ready, turn: 0, left: PATH_TURN_INSTRUCTIONS, yields: 0 });
        }
        self.sync = [0; 16];
        self.live = mask;
        self.executed = 0;
        self.stream = StreamBuilder::default();
        self.barrier_result = 0;
        self.last_access = (0, 0);
        (self.waits, self.polling) = ([0; 2], false);
    }

    /// Returns the path to execute next.
    pub(super) fn next_path(&self) -> Option<usize> {
        if let [only] = self.paths[..] {
            return (only.wait == PathWait::Ready).then_some(0);
        }
        let ready = self.paths.iter().enumerate().filter(|(_, path)| path.wait == PathWait::Ready);
        ready.min_by_key(|(_, path)| (path.turn, path.place)).map(|(index, _)| index)
    }

    /// Splits the lanes of `mask` off into a path at instruction `place`; the other lanes remain on the old path.
    pub(super) fn split(&mut self, path: usize, mask: u32, place: usize) {
        if self.paths.len() == 1 {
            self.paths[path].left = PATH_TURN_INSTRUCTIONS;
        }
        self.paths[path].mask &= !mask;
        self.paths.push(Path { place, mask, wait: PathWait::Ready, ..self.paths[path] });
    }

    /// Counts executed instructions of a path; at the limit the other paths get a turn.
    pub(super) fn count_executed(&mut self, path: usize, executed: u64) {
        let left = u64::from(self.paths[path].left).saturating_sub(executed);
        self.paths[path].left = left as u32;
        if left == 0 {
            self.yield_turn(path);
        }
    }

    /// Gives the other paths a turn before this one.
    pub(super) fn yield_turn(&mut self, path: usize) {
        let path = &mut self.paths[path];
        path.turn += 1;
        path.left = PATH_TURN_INSTRUCTIONS;
    }

    /// Handles a yield of a path. After many yields it may be waiting for lanes that wait for it at a convergence barrier: these lanes are
    /// released.
    pub(super) fn handle_yield(&mut self, path: usize) {
        self.yield_turn(path);
        let yielding = &mut self.paths[path];
        yielding.yields += 1;
        if yielding.yields < MAX_YIELDS {
            return;
        }
        yielding.yields = 0;
        let lanes = yielding.mask;
        for barrier in 0..16 {
            let arrived = self.waiting(PathWait::Sync(barrier));
            if arrived != 0 && self.sync[usize::from(barrier)] & lanes != 0 {
                self.sync[usize::from(barrier)] &= !arrived;
                self.resume(PathWait::Sync(barrier));
            }
        }
    }

    /// Releases paths whose awaited lanes have all arrived; called whenever lanes exit, leave a barrier or arrive at one.
    pub(super) fn release(&mut self) {
        for barrier in 0..16 {
            let arrived = self.waiting(PathWait::Sync(barrier));
            if arrived != 0 && self.sync[usize::from(barrier)] & self.live & !arrived == 0 {
                self.sync[usize::from(barrier)] = 0;
                self.resume(PathWait::Sync(barrier));
            }
        }
        let wanted: Vec<u32> =
            self.paths.iter().filter_map(|path| if let PathWait::Warp(mask) = path.wait { Some(mask) } else { None }).collect();
        for mask in wanted {
            let arrived = self.waiting(PathWait::Warp(mask));
            if arrived != 0 && mask & self.live & !arrived == 0 {
                self.resume(PathWait::Warp(mask));
            }
        }
    }

    fn waiting(&self, wait: PathWait) -> u32 {
        self.paths.iter().filter(|path| path.wait == wait).fold(0, |mask, path| mask | path.mask)
    }

    /// Resumes the paths that wait for `wait` after their waiting instruction; paths at the same instruction are merged.
    pub(super) fn resume(&mut self, wait: PathWait) {
        let mut going: Vec<Path> = Vec::new();
        self.paths.retain(|path| {
            if path.wait != wait {
                return true;
            }
            match going.iter_mut().find(|other| other.place == path.place + 1) {
                Some(other) => {
                    other.mask |= path.mask;
                    other.turn = other.turn.max(path.turn);
                    other.left = other.left.min(path.left);
                }
                None => going.push(Path { place: path.place + 1, wait: PathWait::Ready, ..*path }),
            }
            false
        });
        self.paths.append(&mut going);
    }
}
