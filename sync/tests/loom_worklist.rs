//! Tests of the work list under every interleaving: each item is taken once, and the writes of its owner and its takers are visible to the
//! next thread.
#![cfg(loom)]

mod explore;
mod pair;

use loom::thread;

use warpshard_sync::{Stealer, WorkOwner, worklist};

use explore::explore;
use pair::pair;

/// Takes items until none is left and adds ten to each; returns the number of taken items.
fn stealer_takes(stealer: &Stealer<u32>) -> u32 {
    let mut taken = 0;
    while let Some(mut item) = stealer.steal() {
        *item += 10;
        taken += 1;
    }
    taken
}

/// Takes items as the owner until none is left and adds ten to each, then waits until all items have been returned; returns the number of
/// taken items.
fn owner_takes(owner: &mut WorkOwner<u32>) -> u32 {
    let mut taken = 0;
    while let Some(mut item) = owner.take() {
        *item += 10;
        taken += 1;
    }
    // There is no barrier here, so the list itself must publish the writes.
    while !owner.is_done() {
        thread::yield_now();
    }
    owner.close();
    taken
}

fn items(owner: &mut WorkOwner<u32>) -> Vec<u32> {
    owner.iter_mut().map(|item| *item).collect()
}

#[test]
fn every_offered_item_is_taken_once_and_no_other() {
    explore(|| {
        let (mut owner, stealer) = worklist(vec![0, 1, 2]);
        let owning = move || {
            owner.offer(&[0, 2]);
            (owner_takes(&mut owner), items(&mut owner))
        };
        let ((by_owner, items), by_stealer) = pair(owning, move || stealer_takes(&stealer));
        assert_eq!(by_owner + by_stealer, 2);
        assert_eq!(items, [10, 1, 12]);
    });
}

#[test]
fn a_taker_sees_the_owners_writes_before_the_offer() {
    explore(|| {
        let (mut owner, stealer) = worklist(vec![0]);
        let owning = move || {
            *owner.get_mut(0) = 7;
            owner.offer(&[0]);
            while !owner.is_done() {
                thread::yield_now();
            }
        };
        let taking = move || loop {
            if let Some(item) = stealer.steal() {
                assert_eq!(*item, 7);
                break;
            }
            thread::yield_now();
        };
        pair(owning, taking);
    });
}

#[test]
fn the_owner_sees_every_takers_writes() {
    explore(|| {
        let (mut owner, stealer) = worklist(vec![0, 0]);
        let owning = move || {
            owner.offer(&[0, 1]);
            owner_takes(&mut owner);
            assert_eq!(items(&mut owner), [10, 10]);
        };
        pair(owning, move || stealer_takes(&stealer));
    });
}

#[test]
fn a_take_after_closing_finds_nothing_or_the_next_offer() {
    explore(|| {
        let (mut owner, stealer) = worklist(vec![0, 0]);
        let owning = move || {
            let mut taken = 0;
            for _ in 0..2 {
                owner.offer(&[1]);
                if let Some(mut item) = owner.take() {
                    *item += 10;
                    taken += 1;
                }
                // The model ends here if a stealer is slow, since it cannot wait in a bounded number of steps.
                if !owner.is_done() {
                    return None;
                }
                owner.close();
            }
            Some((taken, items(&mut owner)))
        };
        let taking = move || match stealer.steal() {
            Some(mut item) => {
                *item += 10;
                1
            }
            None => 0,
        };
        let (end, by_stealer) = pair(owning, taking);
        if let Some((by_owner, items)) = end {
            assert_eq!(by_owner + by_stealer, 2);
            assert_eq!(items, [0, 20]);
        }
    });
}

#[test]
fn a_work_list_with_a_taken_item_does_not_close() {
    explore(|| {
        let (mut owner, stealer) = worklist(vec![0]);
        let owning = move || {
            owner.offer(&[0]);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| owner.close())).is_ok()
        };
        let taking = move || match stealer.steal() {
            Some(item) => {
                std::mem::forget(item);
                true
            }
            None => false,
        };
        let (closed, out) = pair(owning, taking);
        assert!(closed != out, "closed: {closed}, an item out: {out}");
    });
}
