//! The board's stamp protocol under every interleaving.
//!
//! loom does not see arc-swap; here the board's pointer is a modelled cell with the same two operations.
#![cfg(loom)]

mod explore;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use explore::explore;
use loom::sync::Arc;
use loom::thread;
use warpshard_sync::{Board, EpochBarrier, WaitPolicy};

/// The value that a reader at `now` sees, after checking its stamp.
fn seen(board: &Board<&'static str>, now: u64) -> Option<&'static str> {
    board.read(now).map(|posted| {
        assert!(posted.stamp <= now, "{} holds from {} but was seen at {now}", posted.value, posted.stamp);
        posted.value
    })
}

#[test]
fn a_decision_is_never_seen_before_its_stamp() {
    explore(|| {
        let board = Arc::new(Board::new());
        let publishing = thread::spawn({
            let board = Arc::clone(&board);
            move || {
                board.publish(4, "first");
                board.publish(10, "second");
            }
        });
        assert_eq!(seen(&board, 3), None);
        assert!(matches!(seen(&board, 9), None | Some("first")));
        let late = seen(&board, 10);
        let later = seen(&board, 11);
        assert!(later == late || late != Some("second"), "a decision once seen is not taken back");
        publishing.join().expect("the stamps do not decrease");
        assert_eq!((seen(&board, 9), seen(&board, 10)), (Some("first"), Some("second")));
    });
}

#[test]
fn a_decision_not_yet_due_hides_nothing() {
    explore(|| {
        let board = Arc::new(Board::new());
        board.publish(0, "old");
        let publishing = thread::spawn({
            let board = Arc::clone(&board);
            move || board.publish(10, "new")
        });
        for now in [0, 9] {
            assert_eq!(seen(&board, now), Some("old"));
        }
        publishing.join().expect("the stamps do not decrease");
        assert_eq!(seen(&board, 9), Some("old"));
    });
}

#[test]
fn all_readers_of_an_epoch_see_the_same_decision() {
    explore(|| {
        let parties = EpochBarrier::new(vec![(); 2], Board::new(), WaitPolicy { spins: 0, yields: 0 });
        let work = |mut party: warpshard_sync::Party<(), Board<u64>>| {
            for epoch in 0..3_u64 {
                if party.index() == 0 {
                    party.shared().publish(epoch + 1, epoch);
                }
                let decision = party.shared().read(epoch).map(|posted| posted.value);
                assert_eq!(decision, epoch.checked_sub(1), "at epoch {epoch}");
                party.wait(|_, _| ()).expect("nobody poisons");
            }
            party.finish();
        };
        let mut parties = parties.into_iter();
        let (first, second) = (parties.next().expect("two parties"), parties.next().expect("two parties"));
        let other = thread::spawn(move || work(second));
        work(first);
        other.join().expect("both see the same");
    });
}

#[test]
fn no_publication_is_lost_to_another_publisher() {
    explore(|| {
        let board = Arc::new(Board::new());
        let publishing = thread::spawn({
            let board = Arc::clone(&board);
            // The earlier stamp may come second, which is refused; nothing else may go wrong.
            move || match catch_unwind(AssertUnwindSafe(|| board.publish(4, "early"))) {
                Ok(()) => true,
                Err(panic) if panic.downcast_ref::<String>().is_some_and(|text| text.contains("published after")) => false,
                Err(other) => resume_unwind(other),
            }
        });
        board.publish(5, "late");
        let early = publishing.join().expect("no other panic than the one expected");
        assert_eq!(seen(&board, 5), Some("late"));
        assert_eq!(seen(&board, 4), early.then_some("early"));
    });
}
