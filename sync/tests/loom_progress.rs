//! The progress cell under every interleaving: whole arrays only, never older than one already seen.
#![cfg(loom)]

mod explore;
mod pair;

use explore::explore;
use pair::pair;
use warpshard_sync::progress_cell;

#[test]
fn a_reader_never_sees_a_mixture_of_two_arrays() {
    explore(|| {
        let (mut writer, reader) = progress_cell::<2>();
        let later = reader.clone();
        let writing = move || {
            writer.publish([1, 1]);
            writer.publish([2, 2]);
        };
        let reading = move || {
            let mut newest = 0;
            for [a, b] in (0..2).filter_map(|_| reader.try_read()) {
                assert_eq!(a, b, "the two words come from different arrays");
                assert!(a >= newest, "the counters went back");
                newest = a;
            }
        };
        pair(writing, reading);
        assert_eq!(later.read(), [2, 2]);
    });
}
