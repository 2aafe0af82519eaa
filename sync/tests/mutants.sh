#!/usr/bin/env bash
# Shows that the loom tests can fail: builds each deliberate fault (`mutant_*`, see src/mutant.rs) and runs the test
# named after the property that it breaks. Exits non-zero if a fault survives, does not build, runs out of time, or has
# no row here. Arguments, if any, are the faults to run. Uses `target/loom`, so that the normal build stays as it is.
set -u
cd "$(dirname "$0")/../.."

# fault                        test file      test
rows='
barrier_no_notify              loom_barrier   no_wake_up_is_lost
barrier_notify_unlocked        loom_barrier   no_wake_up_is_lost
barrier_early                  loom_barrier   no_epoch_is_overtaken
barrier_no_reactivation        loom_barrier   a_retired_party_delays_no_epoch_and_is_reactivated
barrier_reactivate_unlocked    loom_barrier   a_retired_party_delays_no_epoch_and_is_reactivated
barrier_retired_goes_on        loom_barrier   a_retired_party_delays_no_epoch_and_is_reactivated
barrier_relaxed_arrival        loom_barrier   the_last_arriver_sees_all_local_states
barrier_relaxed_release        loom_barrier   all_parties_see_the_last_arrivers_writes
poison_no_wake                 loom_poison    poisoning_wakes_all_parties
poison_retired_no_wake         loom_poison    poisoning_wakes_retired_parties
poison_control_unnoticed       loom_poison    a_panicking_control_step_poisons_all_parties
leave_unnoticed                loom_poison    finishing_wakes_parties_that_wait_for_the_leaver
leave_retired_unnoticed        loom_poison    finishing_wakes_retired_parties
mailbox_relaxed_fill           loom_mailbox   no_message_is_lost_duplicated_or_reordered
mailbox_reversed               loom_mailbox   no_message_is_lost_duplicated_or_reordered
mailbox_not_emptied            loom_mailbox   every_batch_arrives_in_the_next_epoch_with_a_barrier
mailbox_parity_ignored         loom_mailbox   every_batch_arrives_in_the_next_epoch_with_a_barrier
mailbox_stamp_ignored          loom_mailbox   nothing_is_visible_before_the_next_epoch
mailbox_overtake_unchecked     loom_mailbox   no_epoch_is_overtaken
mailbox_relaxed_empty          loom_mailbox   no_epoch_is_overtaken
stop_relaxed                   loom_stop      a_thread_that_sees_the_request_sees_earlier_writes
worklist_relaxed_offer         loom_worklist  a_taker_sees_the_owners_writes_before_the_offer
worklist_relaxed_return        loom_worklist  the_owner_sees_every_takers_writes
worklist_taken_twice           loom_worklist  every_offered_item_is_taken_once_and_no_other
worklist_closed_early          loom_worklist  a_work_list_with_a_taken_item_does_not_close
'

export RUSTFLAGS="--cfg loom"
export RUST_BACKTRACE=0 CARGO_PROFILE_DEV_DEBUG=0
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target/loom}"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
bad=0

# Says what happened to one fault and remembers if it was not what it should be.
say() {
    printf '%-9s %-28s %s\n' "$1" "$2" "$3"
    case "$1" in killed) ;; *) bad=$((bad + 1)) ;; esac
}

# Every fault has a row, and every row a fault.
if ! diff <(grep -o '^mutant_[a-z_]*' sync/Cargo.toml | sort) <(awk 'NF { print "mutant_" $1 }' <<<"$rows" | sort); then
    echo "the rows above and the features of Cargo.toml differ"
    exit 1
fi

# A test that fails without a fault proves nothing with one.
if ! cargo test --quiet -p warpshard-sync --test 'loom_*' >"$log" 2>&1; then
    cat "$log"
    echo "the loom tests fail without any fault"
    exit 1
fi

while read -r fault file test; do
    [ -n "$fault" ] || continue
    if [ $# -gt 0 ] && [[ " $* " != *" $fault "* ]]; then continue; fi
    if ! cargo test --quiet -p warpshard-sync --features "mutant_$fault" --test "$file" --no-run >"$log" 2>&1; then
        cat "$log"
        say unbuilt "$fault" "$file"
        continue
    fi
    timeout 60 cargo test --quiet -p warpshard-sync --features "mutant_$fault" --test "$file" -- --exact "$test" >"$log" 2>&1
    status=$?
    # Only the failure of the one named test counts. It is reported by the test runner, or, when loom's objects panic once
    # more while the failed model is torn down, by an abort after that test's panic.
    # Earlier panics are those that the test provokes and catches.
    last=1
    grep -q SIGABRT "$log" || last='$'
    reason="$(grep -A 1 "^thread '$test' .*panicked" "$log" | grep -v -e '^thread ' -e '^--$' | sed -n "${last}p" | cut -c 1-90)"
    if [ $status -eq 124 ]; then
        say endless "$fault" "$test"
    elif [[ "$reason" == "loom explored "* ]]; then
        say unseen "$fault" "$test: $reason"
    elif [ $status -ne 0 ] && [ -n "$reason" ] && grep -q -e '0 passed; 1 failed' -e 'SIGABRT' "$log"; then
        say killed "$fault" "$test: $reason"
    else
        tail -20 "$log"
        say survived "$fault" "$test"
    fi
done <<<"$rows"

if [ $bad -ne 0 ]; then
    echo "$bad faults were not caught"
    exit 1
fi
echo "every fault was caught"
