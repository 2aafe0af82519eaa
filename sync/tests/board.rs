//! What the board, the progress cell and the stop flag do.
#![cfg(not(loom))]

use warpshard_sync::{Board, StopFlag, progress_cell};

fn value(board: &Board<&'static str>, now: u64) -> Option<&'static str> {
    board.read(now).map(|posted| posted.value)
}

#[test]
fn an_empty_board_shows_nothing() {
    let board = Board::new();
    assert_eq!(value(&board, u64::MAX), None);
    assert!(board.latest().is_none());
}

#[test]
fn a_value_shows_from_its_stamp_on_and_its_predecessor_until_then() {
    let board = Board::new();
    board.publish(10, "first");
    assert_eq!((value(&board, 9), value(&board, 10)), (None, Some("first")));
    board.publish(20, "second");
    assert_eq!((value(&board, 9), value(&board, 19), value(&board, 20)), (None, Some("first"), Some("second")));
    let latest = board.latest().expect("something was published");
    assert_eq!((latest.stamp, latest.value), (20, "second"));
}

#[test]
fn a_value_with_the_same_stamp_takes_the_place_of_the_newest() {
    let board = Board::new();
    board.publish(1, "old");
    board.publish(5, "wrong");
    board.publish(5, "right");
    assert_eq!((value(&board, 4), value(&board, 5)), (Some("old"), Some("right")));
}

#[test]
fn a_longer_history_keeps_what_is_published_further_ahead() {
    let board = Board::with_history(2);
    for (stamp, value) in [(0, "a"), (10, "b"), (20, "c")] {
        board.publish(stamp, value);
    }
    assert_eq!([0, 9, 10, 19, 20].map(|now| value(&board, now)), [Some("a"), Some("a"), Some("b"), Some("b"), Some("c")]);
}

#[test]
#[should_panic(expected = "what was due at 9 is no longer kept")]
fn a_reader_too_far_behind_is_stopped_rather_than_misled() {
    let board = Board::new();
    for (stamp, value) in [(0, "a"), (10, "b"), (20, "c")] {
        board.publish(stamp, value);
    }
    value(&board, 9);
}

#[test]
#[should_panic(expected = "stamp 4 was published after stamp 5")]
fn a_stamp_that_goes_back_is_refused() {
    let board = Board::new();
    board.publish(5, "a");
    board.publish(4, "b");
}

#[test]
fn progress_counters_are_read_as_they_were_last_written() {
    let (mut writer, reader) = progress_cell();
    let other = reader.clone();
    assert_eq!(reader.read(), [0, 0, 0]);
    writer.publish([1, 2, 3]);
    writer.publish([4, 5, 6]);
    assert_eq!((reader.read(), other.try_read()), ([4, 5, 6], Some([4, 5, 6])));
}

#[test]
fn a_stop_request_reaches_all_clones_and_stays() {
    let flag = StopFlag::new();
    let other = flag.clone();
    assert!(!flag.requested());
    other.request();
    other.request();
    assert!(flag.requested() && other.requested());
}
