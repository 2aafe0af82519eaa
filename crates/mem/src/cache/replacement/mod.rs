//! Replacement: which line of a full set makes room for another.
//!
//! In: lines that are placed, found and removed. Out: a victim among the lines that may go. An order never looks at addresses or
//! at the states of sectors. Asking for a victim changes nothing, since a request that fails asks again in every cycle; what an
//! order learns of a replacement it learns when the new line is placed.
//! [`Bytes`] is LRU for few ways. [`Any`] is LRU for many, or another [`Policy`], which is a file of its own. A policy that looks at more
//! than places (addresses, instructions, kernels) is a [`Replacement`](seam::Replacement) behind the trait object [`Other`].

mod fifo;
mod lru_bytes;
mod lru_list;
mod other;
mod random;
mod ship;
mod srrip;
mod ta_drrip;
#[cfg(test)]
mod tests;

use warpshard_config::machine::Replacement;
use warpshard_seam::{self as seam, BoxedReplacement, CacheSite, Own};
use warpshard_state::StateError;

use super::Lookup;
use super::directory::{Directory, Spot};

pub(super) use lru_bytes::Bytes;
use other::Other;

/// The order in which the lines of the sets of a cache make room.
pub(super) trait Order {
    /// What it keeps of a set and of a line where look-ups read.
    type Set: Copy;
    type Line: Copy;
    /// The same, of a set without lines and of a way without one.
    const SET: Self::Set;
    const LINE: Self::Line;

    /// The order of empty sets.
    fn new(policy: Replacement, sets: u32, max_ways: u32) -> Self;

    /// Bytes of arrays of its own.
    fn hot_bytes(&self) -> usize;

    /// Refuses what was saved of the lines of `sets` sets where a search for a victim would not end.
    fn lists_end(&self, lines: &impl Of<Self>, sets: u32) -> Result<(), StateError> {
        let _ = (lines, sets);
        Ok(())
    }

    /// All lines are gone.
    fn clear(&mut self);

    /// The line of a full set that makes room, of those that may go. Changes nothing.
    fn victim(&self, lines: &impl Of<Self>, set: u32, may_go: impl Fn(u16) -> bool) -> Option<u16>;

    /// A line came to a place in cycle `now`, which another left if `replaced`.
    fn place(&mut self, lines: &mut impl Of<Self>, at: Spot, replaced: bool, now: u64);

    /// A line was found in cycle `now`, with or without its sector.
    fn renew(&mut self, lines: &mut impl Of<Self>, line: u16, found: Lookup, now: u64);

    /// A line is gone, and its way is empty.
    fn remove(&mut self, lines: &mut impl Of<Self>, at: Spot);

    /// Whether lines make room in the order of their last access.
    fn is_lru(&self) -> bool;

    /// Whether a line that misses in cycle `now` would make room for the next miss of that cycle, where `line` makes room now:
    /// only an order by the last access, of which `line`'s was in that cycle as far as the low 32 bits tell, knows that.
    fn turns_over(&self, lines: &impl Of<Self>, line: u16, now: u64) -> bool;

    /// Prefetches the line that would have to make room.
    fn prefetch_oldest(&self, lines: &impl Of<Self>, set: u32);
}

/// A look-up that stores what an order keeps.
pub(super) trait Of<O: Order + ?Sized>: Directory<Set = O::Set, Line = O::Line> {}

impl<O: Order, D: Directory<Set = O::Set, Line = O::Line>> Of<O> for D {}

/// A replacement policy with state of its own, for any number of ways.
trait Policy {
    /// That of empty sets.
    fn new(sets: u32, ways: u32) -> Self;

    /// Bytes of its arrays.
    fn hot_bytes(&self) -> usize;

    /// All lines are gone.
    fn clear(&mut self);

    /// The line that makes room, of `lines` of one set in ascending order, of which there is one at least. Changes nothing.
    fn victim(&self, set: u32, lines: impl Iterator<Item = u16> + Clone) -> Option<u16>;

    /// The line of a place makes room for the one that comes to it next.
    fn leave(&mut self, at: Spot) {
        let _ = at;
    }

    /// A line came to a place in cycle `now`: an empty one, or that of the victim.
    fn place(&mut self, at: Spot, now: u64);

    /// A line was found: its sector was there, on its way, or missing.
    fn renew(&mut self, at: Spot, found: Lookup);

    /// A line is gone.
    fn remove(&mut self, at: Spot);
}

/// One of the policies other than LRU, by its word in the machine.
macro_rules! policies {
    ($($word:ident: $policy:ty,)+) => {
        #[derive(Clone, Debug, warpshard_state::State)]
        enum Chosen {
            $($word($policy),)+
            Other(Other),
        }

        /// Calls the same function of any.
        macro_rules! each {
            ($chosen:expr, $it:ident => $call:expr) => {
                match $chosen {
                    $(Chosen::$word($it) => $call,)+
                    Chosen::Other($it) => $call,
                }
            };
        }

        impl Chosen {
            fn new(policy: Replacement, sets: u32, ways: u32) -> Self {
                match policy {
                    Replacement::Lru => unreachable!("LRU is no policy with state of its own"),
                    Replacement::Ship | Replacement::TaDrrip | Replacement::Own => unreachable!("a policy that sees requests is made with its site"),
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

/// The policy of a cache that sees requests, where the cache has one.
///
/// # Panics
/// When the machine says `own` and the calling program brought none, which the assembly of a machine refuses.
pub(super) fn seeing_requests(policy: Replacement, site: &CacheSite, own: &Own) -> Option<BoxedReplacement> {
    match policy {
        Replacement::Ship => Some(BoxedReplacement(Box::new(ship::Ship::new(site)))),
        Replacement::TaDrrip => Some(BoxedReplacement(Box::new(ta_drrip::TaDrrip::new(site)))),
        Replacement::Own => {
            let Some(maker) = &own.replacement else { panic!("the calling program brought no policy of replacement") };
            Some(maker.make(site))
        }
        _ => None,
    }
}

/// The order of any policy, for any number of ways: LRU by lists, or another.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Any {
    ways: u16,
    other: Option<Box<Chosen>>,
}

impl Any {
    /// That of a policy which sees requests.
    pub(super) fn seeing(policy: BoxedReplacement, max_ways: u32) -> Self {
        Self { ways: max_ways as u16, other: Some(Box::new(Chosen::Other(Other::new(policy, max_ways)))) }
    }

    /// Tells a policy which sees requests the one that comes next.
    #[cold]
    pub(super) fn note(&mut self, access: &seam::Access) {
        if let Some(Chosen::Other(other)) = self.other.as_deref_mut() {
            other.note(access);
        }
    }
}

impl Order for Any {
    type Set = lru_list::Ends;
    type Line = lru_list::Link;
    const SET: Self::Set = lru_list::Ends::NONE;
    const LINE: Self::Line = lru_list::Link::NONE;

    fn new(policy: Replacement, sets: u32, max_ways: u32) -> Self {
        let other = (policy != Replacement::Lru).then(|| Box::new(Chosen::new(policy, sets, max_ways)));
        Self { ways: max_ways as u16, other }
    }

    fn hot_bytes(&self) -> usize {
        self.other.as_deref().map_or(0, |other| each!(other, policy => policy.hot_bytes()))
    }

    fn lists_end(&self, lines: &impl Of<Self>, sets: u32) -> Result<(), StateError> {
        if self.is_lru() { lru_list::end(lines, sets) } else { Ok(()) }
    }

    fn clear(&mut self) {
        if let Some(other) = &mut self.other {
            each!(&mut **other, policy => policy.clear());
        }
    }

    #[inline]
    fn victim(&self, lines: &impl Of<Self>, set: u32, may_go: impl Fn(u16) -> bool) -> Option<u16> {
        let Some(other) = &self.other else { return lru_list::victim(lines, set, may_go) };
        let first = lines.first(set);
        // Ways that are not in use hold no line.
        let candidates = (first..first + self.ways).filter(|line| lines.sectors(*line).any() && may_go(*line));
        candidates.clone().next()?;
        each!(&**other, policy => policy.victim(set, candidates))
    }

    #[inline(always)]
    fn place(&mut self, lines: &mut impl Of<Self>, at: Spot, replaced: bool, now: u64) {
        match &mut self.other {
            None => lru_list::place(lines, at, replaced, now),
            Some(other) => each!(&mut **other, policy => {
                if replaced {
                    policy.leave(at);
                }
                policy.place(at, now);
            }),
        }
    }

    #[inline]
    fn renew(&mut self, lines: &mut impl Of<Self>, line: u16, found: Lookup, now: u64) {
        match &mut self.other {
            None => lru_list::renew(lines, line, now),
            Some(other) => each!(&mut **other, policy => policy.renew(lines.spot(line), found)),
        }
    }

    fn remove(&mut self, lines: &mut impl Of<Self>, at: Spot) {
        match &mut self.other {
            None => lru_list::remove(lines, at),
            Some(other) => each!(&mut **other, policy => policy.remove(at)),
        }
    }

    fn is_lru(&self) -> bool {
        self.other.is_none()
    }

    fn turns_over(&self, lines: &impl Of<Self>, line: u16, now: u64) -> bool {
        self.is_lru() && lru_list::used_at(lines, line, now)
    }

    #[inline]
    fn prefetch_oldest(&self, lines: &impl Of<Self>, set: u32) {
        lru_list::prefetch_oldest(lines, set);
    }
}
