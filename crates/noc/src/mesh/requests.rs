//! Pending work of all routers of a network as sets of outputs, so that routers and ports without work cost nothing.
//!
//! Each stage walks its set for the whole network. Within a cycle routers are independent, so the result equals a walk router by router,
//! but the loops are longer and the host mispredicts fewer loop exits.

/// A set of ports, numbered over all routers.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct OutputSet(Box<[u64]>);

impl OutputSet {
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

/// The pending work of all routers.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct RouterRequests {
    /// Outputs with packets that request a virtual channel.
    pub(super) vc: OutputSet,
    /// Outputs with flits that request the switch.
    pub(super) switch: OutputSet,
    /// Channels, numbered over all routers, whose packets' routes are computed in this round.
    pub(super) routing: Vec<u32>,
}

impl RouterRequests {
    pub(super) fn new(ports: usize) -> Self {
        Self { vc: OutputSet::new(ports), switch: OutputSet::new(ports), routing: Vec::new() }
    }

    /// Returns the number of words of the sets.
    #[inline]
    pub(super) fn words(&self) -> usize {
        self.vc.0.len()
    }

    /// Returns a word of the set of outputs with requests for a virtual channel.
    #[inline]
    pub(super) fn vc(&self, word: usize) -> u64 {
        self.vc.0[word]
    }

    /// Returns a word of the set of outputs with requests for the switch.
    #[inline]
    pub(super) fn switch(&self, word: usize) -> u64 {
        self.switch.0[word]
    }

    /// Returns true if no output has a request.
    pub(super) fn is_empty(&self) -> bool {
        self.routing.is_empty() && self.switch.is_empty() && self.vc.is_empty()
    }
}
