//! A warp: its registers, the paths that its lanes are on, and what they wait for.
//!
//! Lanes that diverge are on different paths. Of the paths that can go on, the one with the lowest program counter goes first; YIELD,
//! NANOSLEEP and [`PATH_TURN`] instructions let the others go on before it, so that lanes may wait for each other. Paths meet again where a convergence barrier (BSYNC), a WARPSYNC or a barrier
//! of the CTA made them wait for each other.

use warpshard_workload::StreamBuilder;

use super::super::isa::Rows;
use super::lanes::Lanes;

/// Instructions of a path before it lets the other paths of its warp go on.
pub(super) const PATH_TURN: u32 = 1 << 10;

/// How often a path yields before lanes that wait for it at a convergence barrier go on without it.
const MOST_YIELDS: u32 = 64;

/// What a path waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing.
    Ready,
    /// The lanes of a convergence barrier.
    Sync(u8),
    /// These lanes.
    Warp(u32),
    /// A barrier of the CTA.
    Barrier(u8),
    /// The phase of this parity of a barrier at an address of shared memory.
    Mbarrier(u32, bool),
    /// The products of the other warps of its group.
    Products,
    /// The CTAs of its cluster.
    Cluster,
}

/// Lanes that execute the same instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// The place of the next instruction in the code.
    pub(super) place: usize,
    pub(super) mask: u32,
    pub(super) wait: Wait,
    /// How often it let others go first.
    pub(super) turn: u32,
    /// Instructions that it may execute before it does so again.
    pub(super) left: u32,
    /// How often it has yielded since others were freed for it.
    pub(super) yields: u32,
}

/// A warp that executes.
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
    /// What the last barrier with a reduction found.
    pub(super) barrier_result: u32,
    /// The place of the last access to memory, and its first address.
    pub(super) last_access: (usize, u64),
    /// How often it waited for the products of its group, and arrived at the barrier of its cluster.
    pub(super) waits: [u32; 2],
    /// It waits for others in a loop: they go first.
    pub(super) rests: bool,
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
            rests: false,
        }
    }

    /// Prepares the warp for a CTA in which `mask` are its lanes.
    pub(super) fn start(&mut self, mask: u32) {
        self.lanes.reset();
        self.paths.clear();
        if mask != 0 {
            self.paths.push(Path { place: 0, mask, wait: Wait::Ready, turn: 0, left: PATH_TURN, yields: 0 });
        }
        self.sync = [0; 16];
        self.live = mask;
        self.executed = 0;
        self.stream = StreamBuilder::default();
        self.barrier_result = 0;
        self.last_access = (0, 0);
        (self.waits, self.rests) = ([0; 2], false);
    }

    /// The path that goes on next.
    pub(super) fn next_path(&self) -> Option<usize> {
        if let [only] = self.paths[..] {
            return (only.wait == Wait::Ready).then_some(0);
        }
        let ready = self.paths.iter().enumerate().filter(|(_, path)| path.wait == Wait::Ready);
        ready.min_by_key(|(_, path)| (path.turn, path.place)).map(|(index, _)| index)
    }

    /// Splits off the lanes of `mask` as a path at another place; the rest stays.
    pub(super) fn split(&mut self, path: usize, mask: u32, place: usize) {
        if self.paths.len() == 1 {
            self.paths[path].left = PATH_TURN;
        }
        self.paths[path].mask &= !mask;
        self.paths.push(Path { place, mask, wait: Wait::Ready, ..self.paths[path] });
    }

    /// A path has executed so many instructions more; when it has executed as many as it may, the others go first the next time.
    pub(super) fn use_up(&mut self, path: usize, executed: u64) {
        let left = u64::from(self.paths[path].left).saturating_sub(executed);
        self.paths[path].left = left as u32;
        if left == 0 {
            self.step_back(path);
        }
    }

    /// Lets the other paths go before this one.
    pub(super) fn step_back(&mut self, path: usize) {
        let path = &mut self.paths[path];
        path.turn += 1;
        path.left = PATH_TURN;
    }

    /// A path yields. When it does so often, it may wait for lanes that wait for it at a convergence barrier: these go on.
    pub(super) fn give_way(&mut self, path: usize) {
        self.step_back(path);
        let yielding = &mut self.paths[path];
        yielding.yields += 1;
        if yielding.yields < MOST_YIELDS {
            return;
        }
        yielding.yields = 0;
        let lanes = yielding.mask;
        for barrier in 0..16 {
            let arrived = self.waiting(Wait::Sync(barrier));
            if arrived != 0 && self.sync[usize::from(barrier)] & lanes != 0 {
                self.sync[usize::from(barrier)] &= !arrived;
                self.resume(Wait::Sync(barrier));
            }
        }
    }

    /// Lets paths go on whose lanes are all there; called whenever lanes exit, leave a barrier or arrive at one.
    pub(super) fn release(&mut self) {
        for barrier in 0..16 {
            let arrived = self.waiting(Wait::Sync(barrier));
            if arrived != 0 && self.sync[usize::from(barrier)] & self.live & !arrived == 0 {
                self.sync[usize::from(barrier)] = 0;
                self.resume(Wait::Sync(barrier));
            }
        }
        let wanted: Vec<u32> =
            self.paths.iter().filter_map(|path| if let Wait::Warp(mask) = path.wait { Some(mask) } else { None }).collect();
        for mask in wanted {
            let arrived = self.waiting(Wait::Warp(mask));
            if arrived != 0 && mask & self.live & !arrived == 0 {
                self.resume(Wait::Warp(mask));
            }
        }
    }

    fn waiting(&self, wait: Wait) -> u32 {
        self.paths.iter().filter(|path| path.wait == wait).fold(0, |mask, path| mask | path.mask)
    }

    /// Lets the paths that wait for `wait` go on after the instruction at which they wait; those at one place become one.
    pub(super) fn resume(&mut self, wait: Wait) {
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
                None => going.push(Path { place: path.place + 1, wait: Wait::Ready, ..*path }),
            }
            false
        });
        self.paths.append(&mut going);
    }
}
