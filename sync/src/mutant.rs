//! Deliberate faults, one line each, that the loom tests must catch.
//!
//! A fault is switched on by a cargo feature `mutant_*` and only under `cfg(loom)`: a normal build stays whole even with
//! `--all-features`. `tests/mutants.sh` runs each one with the test named after the property that it breaks.

use crate::primitive::Ordering;

macro_rules! mutants {
    ($($(#[$doc:meta])* $name:ident = $feature:literal;)*) => {
        $($(#[$doc])* pub(crate) const $name: bool = cfg!(all(loom, feature = $feature));)*
    };
}

mutants! {
    /// The last arriver does not wake those who sleep.
    BARRIER_NO_NOTIFY = "mutant_barrier_no_notify";
    /// The last arriver rings without taking the lock, so that it can ring before the sleeper listens.
    BARRIER_NOTIFY_UNLOCKED = "mutant_barrier_notify_unlocked";
    /// An arrival does not publish what the party wrote.
    BARRIER_RELAXED_ARRIVAL = "mutant_barrier_relaxed_arrival";
    /// The release does not publish what the coordinator wrote.
    BARRIER_RELAXED_RELEASE = "mutant_barrier_relaxed_release";
    /// The party before the last counts as the last.
    BARRIER_EARLY = "mutant_barrier_early";
    /// A release does not wake the parties that it makes active again.
    BARRIER_NO_REACTIVATION = "mutant_barrier_no_reactivation";
    /// The last arriver notifies retired parties without taking the lock, so that it can do so before one of them listens.
    BARRIER_REACTIVATE_UNLOCKED = "mutant_barrier_reactivate_unlocked";
    /// A party goes on after a release that retires it.
    BARRIER_RETIRED_GOES_ON = "mutant_barrier_retired_goes_on";
    /// Poisoning does not wake those who sleep.
    POISON_NO_WAKE = "mutant_poison_no_wake";
    /// Poisoning does not wake retired parties.
    POISON_RETIRED_NO_WAKE = "mutant_poison_retired_no_wake";
    /// A panic of the coordinator is not turned into poison.
    POISON_CONTROL_UNNOTICED = "mutant_poison_control_unnoticed";
    /// A party that finishes does not look whether others wait for it.
    LEAVE_UNNOTICED = "mutant_leave_unnoticed";
    /// A party that finishes does not look whether others are retired.
    LEAVE_RETIRED_UNNOTICED = "mutant_leave_retired_unnoticed";
    /// A filled mailbox slot does not publish its content.
    MAILBOX_RELAXED_FILL = "mutant_mailbox_relaxed_fill";
    /// An emptied mailbox slot does not publish that it is empty.
    MAILBOX_RELAXED_EMPTY = "mutant_mailbox_relaxed_empty";
    /// Both parities use the same slot.
    MAILBOX_PARITY_IGNORED = "mutant_mailbox_parity_ignored";
    /// The receiver takes a slot whatever its epoch.
    MAILBOX_STAMP_IGNORED = "mutant_mailbox_stamp_ignored";
    /// The sender does not look whether the slot was taken.
    MAILBOX_OVERTAKE_UNCHECKED = "mutant_mailbox_overtake_unchecked";
    /// The receiver does not mark the slot as taken.
    MAILBOX_NOT_EMPTIED = "mutant_mailbox_not_emptied";
    /// The receiver takes the batch from its end.
    MAILBOX_REVERSED = "mutant_mailbox_reversed";
    /// A stop request does not publish what was written before it.
    STOP_RELAXED = "mutant_stop_relaxed";
    /// An offer does not publish what the owner did to the items.
    WORKLIST_RELAXED_OFFER = "mutant_worklist_relaxed_offer";
    /// An item is given back without publishing what its taker did.
    WORKLIST_RELAXED_RETURN = "mutant_worklist_relaxed_return";
    /// Two takers may count down to the same entry.
    WORKLIST_TAKEN_TWICE = "mutant_worklist_taken_twice";
    /// The owner does not look whether all items are back.
    WORKLIST_CLOSED_EARLY = "mutant_worklist_closed_early";
}

/// The memory order `right`, or `Relaxed` under the fault.
pub(crate) const fn order(fault: bool, right: Ordering) -> Ordering {
    if fault { Ordering::Relaxed } else { right }
}
