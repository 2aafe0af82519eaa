//! A policy that examines requests: it receives the updates of the tags together with the request that caused them.

use warpshard_seam::{Access, BoxedReplacement, LinePosition};

use super::{LineSlot, Lookup};

/// The policy, and the present request.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct RequestPolicy {
    ways: u32,
    policy: BoxedReplacement,
    access: Access,
}

fn line_position(at: LineSlot) -> LinePosition {
    LinePosition { set: at.set, way: at.way }
}

impl RequestPolicy {
    pub(super) fn new(policy: BoxedReplacement, ways: u32) -> Self {
        Self { ways, policy, access: Access::default() }
    }

    pub(super) fn record_request(&mut self, access: &Access) {
        self.access = *access;
    }

    /// The internal state of the policy is not counted.
    pub(super) fn hot_bytes(&self) -> usize {
        size_of::<Self>()
    }

    pub(super) fn clear(&mut self) {
        self.policy.0.clear();
    }

    pub(super) fn victim(&self, set: u32, lines: impl Iterator<Item = u16> + Clone) -> Option<u16> {
        let first = set * self.ways;
        let mut ways = lines.clone().map(|line| u32::from(line) - first);
        let way = self.policy.0.victim(&Access { set, ..self.access }, &mut ways)?;
        let line = (first + way) as u16;
        assert!(
            lines.clone().any(|candidate| candidate == line),
            "the replacement policy `{}` chose way {way} of set {set}, which is not evictable",
            self.policy.0.name()
        );
        Some(line)
    }

    pub(super) fn evict(&mut self, at: LineSlot) {
        self.policy.0.evict(line_position(at));
    }

    pub(super) fn insert(&mut self, at: LineSlot, _: u64) {
        self.policy.0.fill(line_position(at), &self.access);
    }

    pub(super) fn touch(&mut self, at: LineSlot, found: Lookup) {
        self.policy.0.hit(line_position(at), &self.access, found == Lookup::Hit);
    }

    pub(super) fn remove(&mut self, at: LineSlot) {
        self.policy.0.evict(line_position(at));
    }
}
