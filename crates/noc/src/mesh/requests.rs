//! Pending work of all routers of a network as sets of outputs, so that routers and ports without work cost nothing.
//!
//! Each stage walks its set for the whole network. Within a cycle routers do not see each other, so the result equals that of
//! walking router by router, but the loops are longer and the host mispredicts fewer loop exits.

/// A set of ports, counted over all routers.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Outputs(Box<[u64]>);

impl Outputs {
    fn new(ports: usize) -> Self {
        Self(vec![0; ports.div_ceil(64)].into())
    }

    #[inline]
    pub(super) fn set(&mut self, port: usize) {
        self.0[port / 64] |= 1 << (port % 64);
    }

    #[inline]
    pub(super) fn clear(&mut self, port: usize) {
        self.0[port / 64] &= !(1 << (port % 64));
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
}

/// The pending work.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Requests {
    /// Outputs of which a packet requests a virtual channel.
    pub(super) vc: Outputs,
    /// Outputs for which a flit requests the switch.
    pub(super) switch: Outputs,
    /// Channels, counted over all routers, whose packets' routes are computed in this round.
    pub(super) routing: Vec<u32>,
}

impl Requests {
    pub(super) fn new(ports: usize) -> Self {
        Self { vc: Outputs::new(ports), switch: Outputs::new(ports), routing: Vec::new() }
    }

    /// Words of the sets.
    #[inline]
    pub(super) fn words(&self) -> usize {
        self.vc.0.len()
    }

    /// A word of the outputs of which a virtual channel is requested.
    #[inline]
    pub(super) fn vc(&self, word: usize) -> u64 {
        self.vc.0[word]
    }

    /// A word of the outputs for which the switch is requested.
    #[inline]
    pub(super) fn switch(&self, word: usize) -> u64 {
        self.switch.0[word]
    }

    /// Whether nothing is requested.
    pub(super) fn is_empty(&self) -> bool {
        self.routing.is_empty() && self.switch.is_empty() && self.vc.is_empty()
    }
}
