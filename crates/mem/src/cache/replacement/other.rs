//! A policy that sees requests: what the tags say of places is told with the request that caused it.

use warpshard_seam::{Access, BoxedReplacement, Place};

use super::{Lookup, Spot};

/// The policy, and the request that is made.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Other {
    ways: u32,
    policy: BoxedReplacement,
    access: Access,
}

fn place_of(at: Spot) -> Place {
    Place { set: at.set, way: at.way }
}

impl Other {
    pub(super) fn new(policy: BoxedReplacement, ways: u32) -> Self {
        Self { ways, policy, access: Access::default() }
    }

    pub(super) fn note(&mut self, access: &Access) {
        self.access = *access;
    }

    /// What the policy itself keeps is not counted.
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
            "the policy of replacement `{}` chose way {way} of set {set}, which may not go",
            self.policy.0.name()
        );
        Some(line)
    }

    pub(super) fn leave(&mut self, at: Spot) {
        self.policy.0.evict(place_of(at));
    }

    pub(super) fn place(&mut self, at: Spot, _: u64) {
        self.policy.0.fill(place_of(at), &self.access);
    }

    pub(super) fn renew(&mut self, at: Spot, found: Lookup) {
        self.policy.0.hit(place_of(at), &self.access, found == Lookup::Hit);
    }

    pub(super) fn remove(&mut self, at: Spot) {
        self.policy.0.evict(place_of(at));
    }
}
