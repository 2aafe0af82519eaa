//! Tests of the work list on real threads.
#![cfg(not(loom))]

use std::thread;

use warpshard_sync::{EpochBarrier, WaitPolicy, worklist};

const fn rounds(full: u64) -> u64 {
    if cfg!(miri) { 20 } else { full }
}

#[test]
fn items_are_taken_from_the_end_of_the_list() {
    let (mut owner, stealer) = worklist(vec!["a", "b", "c", "d"]);
    owner.offer(&[0, 1, 3]);
    assert_eq!(stealer.remaining(), 3);
    assert_eq!(owner.take().as_deref(), Some(&"d"));
    assert_eq!(stealer.steal().as_deref(), Some(&"b"));
    assert_eq!(owner.take().as_deref(), Some(&"a"));
    assert!(owner.take().is_none() && stealer.steal().is_none());
    assert!(owner.is_done());
    owner.close();
    assert_eq!(owner.len(), 4);
    owner.offer(&[2, 1]);
    assert_eq!((owner.take().as_deref(), stealer.steal().as_deref()), (Some(&"b"), Some(&"c")));
}

#[test]
fn untaken_items_are_unchanged() {
    let (mut owner, stealer) = worklist(vec![1, 2]);
    owner.offer(&[0, 1]);
    *stealer.steal().unwrap() += 10;
    assert!(!owner.is_done());
    owner.close();
    assert_eq!(stealer.remaining(), 0);
    assert!(stealer.steal().is_none());
    assert_eq!(owner.drain(), [1, 12]);
    owner.push(5);
    assert_eq!(*owner.get_mut(0), 5);
}

#[test]
#[should_panic(expected = "closed while 1 of its items were taken")]
fn a_work_list_with_a_taken_item_does_not_close() {
    let (mut owner, stealer) = worklist(vec![1]);
    owner.offer(&[0]);
    let _item = stealer.steal();
    owner.close();
}

#[test]
#[should_panic(expected = "accesses its items while they are on offer")]
fn the_owner_has_no_items_while_they_are_on_offer() {
    let (mut owner, _stealer) = worklist(vec![1]);
    owner.offer(&[0]);
    owner.get_mut(0);
}

#[test]
#[should_panic(expected = "an invalid offer")]
fn an_item_is_not_offered_twice() {
    let (mut owner, _stealer) = worklist(vec![1, 2]);
    owner.offer(&[1, 1]);
}

#[test]
#[should_panic(expected = "an invalid offer")]
fn a_list_that_turns_may_name_an_item_twice() {
    let (mut owner, _stealer) = worklist(vec![1, 2, 3]);
    owner.offer(&[0, 2, 1]);
}

#[test]
#[should_panic(expected = "an invalid offer")]
fn an_item_that_is_not_there_is_not_offered() {
    let (mut owner, _stealer) = worklist(vec![1, 2]);
    owner.offer(&[2, 1]);
}

#[test]
fn every_item_is_processed_once_per_epoch() {
    const WORKERS: usize = 4;
    const ITEMS: u32 = 9;
    let (owners, stealers): (Vec<_>, Vec<_>) = (0..WORKERS).map(|_| worklist(vec![0_u64; ITEMS as usize])).unzip();
    let parties = EpochBarrier::new(owners, stealers, WaitPolicy::for_threads(WORKERS, 2));
    let list: Vec<u32> = (0..ITEMS).collect();
    let ends: Vec<_> = thread::scope(|scope| {
        let run = |mut party: warpshard_sync::Party<_, Vec<warpshard_sync::Stealer<u64>>>| {
            for epoch in 0..rounds(3000) {
                let index = party.index();
                let (owner, stealers): (&mut warpshard_sync::WorkOwner<u64>, _) = party.local_and_shared();
                owner.close();
                owner.iter_mut().for_each(|item| assert_eq!(*item, epoch));
                owner.offer(&list);
                while let Some(mut item) = owner.take() {
                    *item += 1;
                }
                for step in 1..WORKERS {
                    while let Some(mut item) = stealers[(index + step) % WORKERS].steal() {
                        *item += 1;
                    }
                }
                party.wait(|_, _| ()).expect("no party fails");
            }
            party.finish()
        };
        let threads: Vec<_> = parties.into_iter().map(|party| scope.spawn(move || run(party))).collect();
        threads.into_iter().filter_map(|thread| thread.join().expect("no panic")).collect()
    });
    for mut owner in ends.into_iter().flat_map(|(owners, _)| owners) {
        owner.close();
        assert_eq!(owner.drain(), vec![rounds(3000); ITEMS as usize]);
    }
}
