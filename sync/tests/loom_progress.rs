//! The progress cell under every interleaving: whole arrays only, never older than one already seen.
#![cfg(loom)]

mod explore;

use explore::explore;
use loom::thread;
use warpshard_sync::progress_cell;

#[test]
fn a_reader_never_sees_a_mixture_of_two_arrays() {
    explore(|| {
        let (mut writer, reader) = progress_cell::<2>();
        let writing = thread::spawn(move || {
            writer.publish([1, 1]);
            writer.publish([2, 2]);
        });
        let mut newest = 0;
        for [a, b] in (0..2).filter_map(|_| reader.try_read()) {
            assert_eq!(a, b, "the two words come from different arrays");
            assert!(a >= newest, "the counters went back");
            newest = a;
        }
        writing.join().expect("the writer does not panic");
        assert_eq!(reader.read(), [2, 2]);
    });
}
