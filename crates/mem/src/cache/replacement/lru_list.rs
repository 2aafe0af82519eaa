//! Least recently used, for sets of many ways: the lines of a set in a linked list in the order of their last access.

use warpshard_state::StateError;

use super::super::directory::{Directory, LineSlot, NO_LINE};

/// A directory that stores the lists.
pub(super) trait Linked: Directory<Set = ListEnds, Line = ListLinks> {}

impl<D: Directory<Set = ListEnds, Line = ListLinks>> Linked for D {}

/// The ends of a set's list.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(in crate::cache) struct ListEnds {
    oldest: u16,
    newest: u16,
}

impl ListEnds {
    /// The ends of an empty list.
    pub(super) const EMPTY_LIST: Self = Self { oldest: NO_LINE, newest: NO_LINE };
}

/// The list links of a line.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(in crate::cache) struct ListLinks {
    /// The low half of the cycle of the last access; compared for equality only.
    time: u32,
    older: u16,
    newer: u16,
}

impl ListLinks {
    /// The links of a line that is in no list.
    pub(super) const UNLINKED: Self = Self { time: 0, older: NO_LINE, newer: NO_LINE };
}

/// Rejects saved lists that do not terminate.
pub(super) fn check_lists_end(lines: &impl Linked, sets: u32) -> Result<(), StateError> {
    let some = |at: u16| (at != NO_LINE).then_some(usize::from(at));
    let ends = || (0..sets).map(|set| lines.set_state(set));
    let count = usize::from(lines.first(sets));
    warpshard_state::check_lists_end(count, ends().filter_map(|ends| some(ends.oldest)), |at| some(lines.line_state(at as u16).newer))?;
    warpshard_state::check_lists_end(count, ends().filter_map(|ends| some(ends.newest)), |at| some(lines.line_state(at as u16).older))
}

/// Inserts a line at the newest end of its set's list, ordered by way among the lines of the same cycle.
#[inline(always)]
fn append(lines: &mut impl Linked, at: LineSlot, now: u64) {
    let (time, line) = (now as u32, at.line);
    let mut newer = NO_LINE;
    let mut older = lines.set_state(at.set).newest;
    while older != NO_LINE && older > line && lines.line_state(older).time == time {
        newer = older;
        older = lines.line_state(older).older;
    }
    *lines.line_state_mut(line) = ListLinks { time, older, newer };
    match older {
        NO_LINE => lines.set_state_mut(at.set).oldest = line,
        _ => lines.line_state_mut(older).newer = line,
    }
    match newer {
        NO_LINE => lines.set_state_mut(at.set).newest = line,
        _ => lines.line_state_mut(newer).older = line,
    }
}

/// Removes a line from its list.
#[inline(always)]
pub(super) fn remove(lines: &mut impl Linked, at: LineSlot) {
    let ListLinks { older, newer, .. } = *lines.line_state(at.line);
    match older {
        NO_LINE => lines.set_state_mut(at.set).oldest = newer,
        _ => lines.line_state_mut(older).newer = newer,
    }
    match newer {
        NO_LINE => lines.set_state_mut(at.set).newest = older,
        _ => lines.line_state_mut(newer).older = older,
    }
}

/// Returns the oldest evictable line.
#[inline]
pub(super) fn victim(lines: &impl Linked, set: u32, evictable: impl Fn(u16) -> bool) -> Option<u16> {
    let mut at = lines.set_state(set).oldest;
    while at != NO_LINE {
        if evictable(at) {
            return Some(at);
        }
        at = lines.line_state(at).newer;
    }
    None
}

/// Inserts a line into its list; if `replaced`, the victim of its way is removed first.
#[inline(always)]
pub(super) fn insert(lines: &mut impl Linked, at: LineSlot, replaced: bool, now: u64) {
    if replaced {
        remove(lines, at);
    }
    append(lines, at, now);
}

/// Moves a line to the newest end of its set's list.
#[inline]
pub(super) fn touch(lines: &mut impl Linked, line: u16, now: u64) {
    let link = lines.line_state_mut(line);
    // Lines of one cycle are ordered by way, so a second access in the cycle moves nothing. (An access 2^32 cycles after the last one moves
    // nothing either, because its time looks the same.)
    if link.newer == NO_LINE || link.time == now as u32 {
        link.time = now as u32;
        return;
    }
    let at = lines.slot_of(line);
    remove(lines, at);
    append(lines, at, now);
}

/// Returns true if the low 32 bits of a line's last access equal those of cycle `now`.
pub(super) fn used_at(lines: &impl Linked, line: u16, now: u64) -> bool {
    lines.line_state(line).time == now as u32
}

/// Prefetches the oldest line.
#[inline]
pub(super) fn prefetch_oldest(lines: &impl Linked, set: u32) {
    lines.prefetch(lines.set_state(set).oldest);
}
