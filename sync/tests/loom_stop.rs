//! Tests of the stop flag under every interleaving.
#![cfg(loom)]

mod explore;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use warpshard_sync::StopFlag;

use explore::explore;

#[test]
fn a_thread_that_sees_the_request_sees_earlier_writes() {
    explore(|| {
        let flag = StopFlag::new();
        let cause = Arc::new(AtomicU64::new(0));
        let asking = thread::spawn({
            let (flag, cause) = (flag.clone(), Arc::clone(&cause));
            move || {
                cause.store(7, Ordering::Relaxed);
                flag.request();
            }
        });
        if flag.requested() {
            assert_eq!(cause.load(Ordering::Relaxed), 7);
            assert!(flag.requested(), "a request is not taken back");
        }
        asking.join().expect("asking does not panic");
        assert!(flag.requested());
    });
}
