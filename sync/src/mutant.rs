//! Deliberate faults, one line each, that the loom tests must catch.
//!
//! A cargo feature `mutant_*` enables a fault, and only under `cfg(loom)`: a normal build has no fault even with `--all-features`.
//! `tests/mutants.sh` runs each fault with the test named after the property that it breaks.

use crate::primitive::Ordering;

macro_rules! mutants {
    ($($(#[$doc:meta])* $name:ident = $feature:literal;)*) => {
        $($(#[$doc])* pub(crate) const $name: bool = cfg!(all(loom, feature = $feature));)*
    };
}

mutants! {
    /// The last arriver does not wake sleeping parties.
    BARRIER_NO_NOTIFY = "mutant_barrier_no_notify";
    /// The last arriver notifies without taking the lock, so that it can notify before the sleeper waits on the condition.
    BARRIER_NOTIFY_UNLOCKED = "mutant_barrier_notify_unlocked";
    /// An arrival does not publish the party's writes.
    BARRIER_RELAXED_ARRIVAL = "mutant_barrier_relaxed_arrival";
    /// The release does not publish the coordinator's writes.
    BARRIER_RELAXED_RELEASE = "mutant_barrier_relaxed_release";
    /// The party before the last counts as the last.
    BARRIER_EARLY = "mutant_barrier_early";
    /// A release does not wake the parties that it makes active again.
    BARRIER_NO_REACTIVATION = "mutant_barrier_no_reactivation";
    /// The last arriver notifies retired parties without taking the lock, so that it can notify before a party waits on the condition.
    BARRIER_REACTIVATE_UNLOCKED = "mutant_barrier_reactivate_unlocked";
    /// A party continues after a release that retires it.
    BARRIER_RETIRED_GOES_ON = "mutant_barrier_retired_goes_on";
    /// Poisoning does not wake sleeping parties.
    POISON_NO_WAKE = "mutant_poison_no_wake";
    /// Poisoning does not wake retired parties.
    POISON_RETIRED_NO_WAKE = "mutant_poison_retired_no_wake";
    /// A panic of the coordinator does not poison the barrier.
    POISON_CONTROL_UNNOTICED = "mutant_poison_control_unnoticed";
    /// A party that finishes does not check whether others wait for it.
    LEAVE_UNNOTICED = "mutant_leave_unnoticed";
    /// A party that finishes does not check whether others are retired.
    LEAVE_RETIRED_UNNOTICED = "mutant_leave_retired_unnoticed";
    /// A filled mailbox slot does not publish its content.
    MAILBOX_RELAXED_FILL = "mutant_mailbox_relaxed_fill";
    /// An emptied mailbox slot does not publish that it is empty.
    MAILBOX_RELAXED_EMPTY = "mutant_mailbox_relaxed_empty";
    /// Both parities use the same slot.
    MAILBOX_PARITY_IGNORED = "mutant_mailbox_parity_ignored";
    /// The receiver takes a slot regardless of its epoch.
    MAILBOX_STAMP_IGNORED = "mutant_mailbox_stamp_ignored";
    /// The sender does not check whether the slot was taken.
    MAILBOX_OVERTAKE_UNCHECKED = "mutant_mailbox_overtake_unchecked";
    /// The receiver does not mark the slot as taken.
    MAILBOX_NOT_EMPTIED = "mutant_mailbox_not_emptied";
    /// The receiver takes the batch in reverse order.
    MAILBOX_REVERSED = "mutant_mailbox_reversed";
    /// A stop request does not publish earlier writes.
    STOP_RELAXED = "mutant_stop_relaxed";
    /// An offer does not publish the owner's writes to the items.
    WORKLIST_RELAXED_OFFER = "mutant_worklist_relaxed_offer";
    /// The return of an item does not publish the taker's writes.
    WORKLIST_RELAXED_RETURN = "mutant_worklist_relaxed_return";
    /// Two takers may take the same entry.
    WORKLIST_TAKEN_TWICE = "mutant_worklist_taken_twice";
    /// The owner does not check whether all items have been returned.
    WORKLIST_CLOSED_EARLY = "mutant_worklist_closed_early";
}

/// Returns the memory order `right`, or `Relaxed` if the fault is enabled.
pub(crate) const fn order(fault: bool, right: Ordering) -> Ordering {
    if fault { Ordering::Relaxed } else { right }
}
