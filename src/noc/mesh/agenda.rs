//! What there is to do in all routers of a network: sets of outputs, so that routers and ports without work cost nothing.
//!
//! Stages go through these sets one after the other for the whole network. Within a cycle routers do not see each other, so
//! the result is that of going router by router; but loops are long, and the host guesses their ends less often.

/// A set of ports, counted over all routers.
#[derive(Clone, Debug)]
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

/// What there is to do.
#[derive(Clone, Debug)]
pub(super) struct Agenda {
    /// Outputs that a packet wants a virtual channel of.
    pub(super) wanted: Outputs,
    /// Outputs that a flit can go to.
    pub(super) asked: Outputs,
    /// Channels, counted over all routers, whose packets' routes are computed in this round.
    pub(super) routing: Vec<u32>,
}

impl Agenda {
    pub(super) fn new(ports: usize) -> Self {
        Self { wanted: Outputs::new(ports), asked: Outputs::new(ports), routing: Vec::new() }
    }

    /// Words of the sets.
    #[inline]
    pub(super) fn words(&self) -> usize {
        self.wanted.0.len()
    }

    /// A word of the outputs that are wanted.
    #[inline]
    pub(super) fn wanted(&self, word: usize) -> u64 {
        self.wanted.0[word]
    }

    /// A word of the outputs that are asked for.
    #[inline]
    pub(super) fn asked(&self, word: usize) -> u64 {
        self.asked.0[word]
    }

    /// Whether nothing asks for anything.
    pub(super) fn is_empty(&self) -> bool {
        self.routing.is_empty() && self.asked.is_empty() && self.wanted.is_empty()
    }
}
