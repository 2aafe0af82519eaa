//! Least recently used, for sets of many ways: the lines of a set in a linked list in the order of their last access.

use warpshard_state::StateError;

use super::super::directory::{Directory, NONE, Spot};

/// A look-up that stores the lists.
pub(super) trait Linked: Directory<Set = Ends, Line = Link> {}

impl<D: Directory<Set = Ends, Line = Link>> Linked for D {}

/// The ends of a set's list.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(in crate::cache) struct Ends {
    oldest: u16,
    newest: u16,
}

impl Ends {
    /// Those of an empty list.
    pub(super) const NONE: Self = Self { oldest: NONE, newest: NONE };
}

/// A line in its list.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(in crate::cache) struct Link {
    /// Low half of the cycle of the last access; compared for equality only.
    time: u32,
    older: u16,
    newer: u16,
}

impl Link {
    /// That of a line in no list.
    pub(super) const NONE: Self = Self { time: 0, older: NONE, newer: NONE };
}

/// Refuses saved lists of sets that do not end.
pub(super) fn end(lines: &impl Linked, sets: u32) -> Result<(), StateError> {
    let some = |at: u16| (at != NONE).then_some(usize::from(at));
    let ends = || (0..sets).map(|set| lines.of_set(set));
    let count = usize::from(lines.first(sets));
    warpshard_state::lists_end(count, ends().filter_map(|ends| some(ends.oldest)), |at| some(lines.of_line(at as u16).newer))?;
    warpshard_state::lists_end(count, ends().filter_map(|ends| some(ends.newest)), |at| some(lines.of_line(at as u16).older))
}

/// Puts a line at the new end of its set, among those of the same cycle by way.
#[inline(always)]
fn append(lines: &mut impl Linked, at: Spot, now: u64) {
    let (time, line) = (now as u32, at.line);
    let mut newer = NONE;
    let mut older = lines.of_set(at.set).newest;
    while older != NONE && older > line && lines.of_line(older).time == time {
        newer = older;
        older = lines.of_line(older).older;
    }
    *lines.of_line_mut(line) = Link { time, older, newer };
    match older {
        NONE => lines.of_set_mut(at.set).oldest = line,
        _ => lines.of_line_mut(older).newer = line,
    }
    match newer {
        NONE => lines.of_set_mut(at.set).newest = line,
        _ => lines.of_line_mut(newer).older = line,
    }
}

/// A line is gone.
#[inline(always)]
pub(super) fn remove(lines: &mut impl Linked, at: Spot) {
    let Link { older, newer, .. } = *lines.of_line(at.line);
    match older {
        NONE => lines.of_set_mut(at.set).oldest = newer,
        _ => lines.of_line_mut(older).newer = newer,
    }
    match newer {
        NONE => lines.of_set_mut(at.set).newest = older,
        _ => lines.of_line_mut(newer).older = older,
    }
}

/// The oldest line that may go.
#[inline]
pub(super) fn victim(lines: &impl Linked, set: u32, may_go: impl Fn(u16) -> bool) -> Option<u16> {
    let mut at = lines.of_set(set).oldest;
    while at != NONE {
        if may_go(at) {
            return Some(at);
        }
        at = lines.of_line(at).newer;
    }
    None
}

/// A line takes a place, which another left if `replaced`.
#[inline(always)]
pub(super) fn place(lines: &mut impl Linked, at: Spot, replaced: bool, now: u64) {
    if replaced {
        remove(lines, at);
    }
    append(lines, at, now);
}

/// A line is the newest of its set.
#[inline]
pub(super) fn renew(lines: &mut impl Linked, line: u16, now: u64) {
    let link = lines.of_line_mut(line);
    // Lines of one cycle stand by their ways, so that a second access in it moves nothing. (Nor does one that comes 2^32 cycles
    // after the last, which cannot be told from it.)
    if link.newer == NONE || link.time == now as u32 {
        link.time = now as u32;
        return;
    }
    let at = lines.spot(line);
    remove(lines, at);
    append(lines, at, now);
}

/// Whether the last access of a line was in cycle `now`, as far as the low 32 bits tell.
pub(super) fn used_at(lines: &impl Linked, line: u16, now: u64) -> bool {
    lines.of_line(line).time == now as u32
}

/// Prefetches the oldest line.
#[inline]
pub(super) fn prefetch_oldest(lines: &impl Linked, set: u32) {
    lines.prefetch(lines.of_set(set).oldest);
}
