//! Replacement: the selection of the victim line of a full set.
//!
//! Input: lines that are inserted, found and removed. Output: a victim among the evictable lines. An order uses neither addresses nor the
//! states of sectors. Selecting a victim changes nothing, because a request that fails is retried in every cycle; an order is updated when
//! the new line is inserted. [`LruBytes`] is LRU for few ways. [`AnyReplacementOrder`] is LRU for many ways, or another [`ReplacementPolicy`] in a separate file. A
//! policy that uses more than positions (addresses, instructions, kernels) is a [`Replacement`](seam::Replacement) behind the trait object
//! [`RequestPolicy`].

mod fifo;
mod lru_bytes;
mod lru_list;
mod random;
mod request_policy;
mod ship;
mod srrip;
mod ta_drrip;
#[cfg(test)]
mod tests;

use warpshard_config::machine::Replacement;
use warpshard_seam::{self as seam, BoxedReplacement, CacheSite, UserPolicies};
use warpshard_state::StateError;

use super::Lookup;
use super::directory::{Directory, LineSlot};

pub(super) use lru_bytes::LruBytes;
use request_policy::RequestPolicy;

/// The eviction order of the lines in the sets of a cache.
pub(super) trait ReplacementOrder {
    /// The replacement state of a set and of a line, which the directory stores.
    type Set: Copy;
    type Line: Copy;
    /// The replacement state of an empty set and of an empty way.
    const EMPTY_SET: Self::Set;
    const EMPTY_WAY: Self::Line;

    /// Returns the order of empty sets.
    fn new(policy: Replacement, sets: u32, max_ways: u32) -> Self;

    /// Returns the bytes of private arrays.
    fn hot_bytes(&self) -> usize;

    /// Rejects saved lines of `sets` sets in which a search for a victim would not terminate.
    fn lists_end(&self, lines: &impl DirectoryFor<Self>, sets: u32) -> Result<(), StateError> {
        let _ = (lines, sets);
        Ok(())
    }

    /// Resets the order after all lines were removed.
    fn clear(&mut self);

    /// Returns the victim of a full set among the evictable lines, without changing anything.
    fn victim(&self, lines: &impl DirectoryFor<Self>, set: u32, evictable: impl Fn(u16) -> bool) -> Option<u16>;

    /// Records the insertion of a line in cycle `now`; it replaces a victim if `replaced`.
    fn insert(&mut self, lines: &mut impl DirectoryFor<Self>, at: LineSlot, replaced: bool, now: u64);

    /// Records that a line was found in cycle `now`, with or without its sector.
    fn touch(&mut self, lines: &mut impl DirectoryFor<Self>, line: u16, found: Lookup, now: u64);

    /// Records the removal of a line, which leaves an empty way.
    fn remove(&mut self, lines: &mut impl DirectoryFor<Self>, at: LineSlot);

    /// Returns true if lines are evicted in the order of their last access.
    fn is_lru(&self) -> bool;

    /// Returns true if `line`, the present victim, was last used in cycle `now` by the low 32 bits: then each further miss of this cycle
    /// evicts the line of the previous miss. Always false for orders other than LRU.
    fn victim_is_new(&self, lines: &impl DirectoryFor<Self>, line: u16, now: u64) -> bool;

    /// Prefetches the line that would be evicted.
    fn prefetch_oldest(&self, lines: &impl DirectoryFor<Self>, set: u32);
}

/// A directory that stores the state of an order.
pub(super) trait DirectoryFor<O: ReplacementOrder + ?Sized>: Directory<Set = O::Set, Line = O::Line> {}

impl<O: ReplacementOrder, D: Directory<Set = O::Set, Line = O::Line>> DirectoryFor<O> for D {}

/// A replacement policy with private state, for any number of ways.
trait ReplacementPolicy {
    /// Returns the policy for empty sets.
    fn new(sets: u32, ways: u32) -> Self;

    /// Returns the bytes of the arrays.
    fn hot_bytes(&self) -> usize;

    /// Resets the policy after all lines were removed.
    fn clear(&mut self);

    /// Returns the victim among `lines` of one set, at least one, in ascending order, without changing anything.
    fn victim(&self, set: u32, lines: impl Iterator<Item = u16> + Clone) -> Option<u16>;

    /// Records the eviction of the line at a position before the next line is inserted there.
    fn evict(&mut self, at: LineSlot) {
        let _ = at;
    }

    /// Records the insertion of a line in cycle `now` into an empty or victim way.
    fn insert(&mut self, at: LineSlot, now: u64);

    /// Records that a line was found, with its sector present, being fetched, or missing.
    fn touch(&mut self, at: LineSlot, found: Lookup);

    /// Records the removal of a line.
    fn remove(&mut self, at: LineSlot);
}

/// Declares the enumeration of policies other than LRU, with their words in machine files.
macro_rules! policies {
    ($($word:ident: $policy:ty,)+) => {
        #[derive(Clone, Debug, warpshard_state::State)]
        enum SelectedPolicy {
            $($word($policy),)+
            RequestPolicy(RequestPolicy),
        }

        /// Calls the same function of the selected policy.
        macro_rules! each {
            ($chosen:expr, $it:ident => $call:expr) => {
                match $chosen {
                    $(SelectedPolicy::$word($it) => $call,)+
                    SelectedPolicy::RequestPolicy($it) => $call,
                }
            };
        }

        impl SelectedPolicy {
            fn new(policy: Replacement, sets: u32, ways: u32) -> Self {
                match policy {
                    Replacement::Lru => unreachable!("LRU is not a policy with private state"),
                    Replacement::Ship | Replacement::TaDrrip | Replacement::Own => unreachable!("a policy that examines requests is made with its site"),
                    $(Replacement::$word => Self::$word(<$policy>::new(sets, ways)),)+
                }
            }
        }
    };
}

policies! {
    Fifo: fifo::Fifo,
    Random: random::Random,
    Srrip: srrip::Srrip,
}

/// Returns the policy of a cache that examines requests; `None` for the other policies.
///
/// # Panics
/// If the machine selects `own` and the calling program provided no policy; the assembly of a machine rejects this case.
pub(super) fn request_policy(policy: Replacement, site: &CacheSite, own: &UserPolicies) -> Option<BoxedReplacement> {
    match policy {
        Replacement::Ship => Some(BoxedReplacement(Box::new(ship::Ship::new(site)))),
        Replacement::TaDrrip => Some(BoxedReplacement(Box::new(ta_drrip::TaDrrip::new(site)))),
        Replacement::Own => {
            let Some(maker) = &own.replacement else { panic!("the calling program provided no replacement policy") };
            Some(maker.create(site))
        }
        _ => None,
    }
}

/// The order of any policy, for any number of ways: LRU by lists, or another policy.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct AnyReplacementOrder {
    ways: u16,
    policy: Option<Box<SelectedPolicy>>,
}

impl AnyReplacementOrder {
    /// Returns the order of a policy that examines requests.
    pub(super) fn with_request_policy(policy: BoxedReplacement, max_ways: u32) -> Self {
        Self { ways: max_ways as u16, policy: Some(Box::new(SelectedPolicy::RequestPolicy(RequestPolicy::new(policy, max_ways)))) }
    }

    /// Passes the next request to a policy that examines requests.
    #[cold]
    pub(super) fn record_request(&mut self, access: &seam::Access) {
        if let Some(SelectedPolicy::RequestPolicy(other)) = self.policy.as_deref_mut() {
            other.record_request(access);
        }
    }
}

impl ReplacementOrder for AnyReplacementOrder {
    type Set = lru_list::ListEnds;
    type Line = lru_list::ListLinks;
    const EMPTY_SET: Self::Set = lru_list::ListEnds::EMPTY_LIST;
    const EMPTY_WAY: Self::Line = lru_list::ListLinks::UNLINKED;

    fn new(policy: Replacement, sets: u32, max_ways: u32) -> Self {
        let other = (policy != Replacement::Lru).then(|| Box::new(SelectedPolicy::new(policy, sets, max_ways)));
        Self { ways: max_ways as u16, policy: other }
    }

    fn hot_bytes(&self) -> usize {
        self.policy.as_deref().map_or(0, |other| each!(other, policy => policy.hot_bytes()))
    }

    fn lists_end(&self, lines: &impl DirectoryFor<Self>, sets: u32) -> Result<(), StateError> {
        if self.is_lru() { lru_list::check_lists_end(lines, sets) } else { Ok(()) }
    }

    fn clear(&mut self) {
        if let Some(other) = &mut self.policy {
            each!(&mut **other, policy => policy.clear());
        }
    }

    #[inline]
    fn victim(&self, lines: &impl DirectoryFor<Self>, set: u32, evictable: impl Fn(u16) -> bool) -> Option<u16> {
        let Some(other) = &self.policy else { return lru_list::victim(lines, set, evictable) };
        let first = lines.first(set);
        // Ways that are not in use hold no line.
        let candidates = (first..first + self.ways).filter(|line| lines.sectors(*line).is_any_present() && evictable(*line));
        candidates.clone().next()?;
        each!(&**other, policy => policy.victim(set, candidates))
    }

    #[inline(always)]
    fn insert(&mut self, lines: &mut impl DirectoryFor<Self>, at: LineSlot, replaced: bool, now: u64) {
        match &mut self.policy {
            None => lru_list::insert(lines, at, replaced, now),
            Some(other) => each!(&mut **other, policy => {
                if replaced {
                    policy.evict(at);
                }
                policy.insert(at, now);
            }),
        }
    }

    #[inline]
    fn touch(&mut self, lines: &mut impl DirectoryFor<Self>, line: u16, found: Lookup, now: u64) {
        match &mut self.policy {
            None => lru_list::touch(lines, line, now),
            Some(other) => each!(&mut **other, policy => policy.touch(lines.slot_of(line), found)),
        }
    }

    fn remove(&mut self, lines: &mut impl DirectoryFor<Self>, at: LineSlot) {
        match &mut self.policy {
            None => lru_list::remove(lines, at),
            Some(other) => each!(&mut **other, policy => policy.remove(at)),
        }
    }

    fn is_lru(&self) -> bool {
        self.policy.is_none()
    }

    fn victim_is_new(&self, lines: &impl DirectoryFor<Self>, line: u16, now: u64) -> bool {
        self.is_lru() && lru_list::used_at(lines, line, now)
    }

    #[inline]
    fn prefetch_oldest(&self, lines: &impl DirectoryFor<Self>, set: u32) {
        lru_list::prefetch_oldest(lines, set);
    }
}
