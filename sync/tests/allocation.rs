//! Checks that the steady state of an epoch allocates nothing.
#![cfg(not(loom))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use warpshard_sync::{EpochBarrier, WaitPolicy, mailbox};

/// The system's allocator, with a count of each thread's calls.
struct CountingAllocator;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; the counter is a plain thread-local cell that needs neither an allocation
// nor a destructor.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller meets the contract of `System::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller meets the contract of `System::dealloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING_ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn an_epoch_of_waiting_sending_and_receiving_allocates_nothing_in_the_steady_state() {
    let (to_second, from_first) = mailbox();
    let (to_first, from_second) = mailbox();
    let locals = vec![(to_second, from_second), (to_first, from_first)];
    // Falling asleep must allocate nothing, too.
    let parties = EpochBarrier::new(locals, 0_u64, WaitPolicy { spin: Duration::from_nanos(1) });
    let warm_up = 8;
    let counts: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let threads: Vec<_> = parties
            .into_iter()
            .map(|mut party| {
                scope.spawn(move || {
                    let (mut batch, mut warm, mut received) = (Vec::new(), 0, 0);
                    for epoch in 0..1000 {
                        if epoch == warm_up {
                            warm = ALLOCATIONS.get();
                        }
                        let (sender, receiver) = party.local();
                        receiver.receive(epoch, |number: &u64| received += number);
                        batch.extend(0..50);
                        sender.send(epoch, &mut batch);
                        party.wait(|epochs, _| *epochs += 1).expect("no party fails");
                    }
                    let steady = ALLOCATIONS.get() - warm;
                    party.finish();
                    (warm, steady)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    for (warm, steady) in counts {
        assert!(warm > 0, "the counter counts");
        assert_eq!(steady, 0);
    }
}
