//! Idle cycles make no difference, and rows and queues keep each other's promises.

use proptest::prelude::*;

use warpshard_base::Cycle;

use super::*;
use crate::dram::standard::{STANDARDS, Standard};

/// Pushes each access as early as it may, ticks every cycle or only where something happens, and returns what finished.
fn play(controller: &mut Controller, load: &[(u64, Access)], every: bool) -> Vec<Done> {
    let (mut done, mut next) = (Vec::new(), 0);
    for now in 0..60_000 {
        while next < load.len() && load[next].0 <= now && controller.push(Cycle(now), load[next].1) {
            next += 1;
        }
        if every {
            controller.wake = 0;
        }
        controller.tick(Cycle(now + 1));
        done.extend(std::iter::from_fn(|| controller.pop_done()));
    }
    done
}

#[test]
fn a_first_request_finds_the_direction_that_an_idle_controller_has() {
    let policy = Policy { write_queue: 4, drain: Drain::Marks { above: 3, below: 1 }, ..Policy::RAMULATOR2 };
    let access = |bank: u8, write: bool| Access { bank, row: 2, column: 3, write, token: u32::from(write), ..Access::default() };
    let load = [(7, access(3, false)), (7, access(9, true))];
    let (mut every, mut jumping) = (Controller::new(STANDARDS[0], policy), Controller::new(STANDARDS[0], policy));
    assert_eq!(play(&mut every, &load, true), play(&mut jumping, &load, false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn cycles_in_which_nothing_happens_may_be_left_out(
        device in 0..STANDARDS.len(),
        kind in 0..7usize,
        refresh: bool,
        load in prop::collection::vec((0u64..30, 0u8..64, 0u32..3, 0u32..4, prop::bool::weighted(0.4)), 1..200),
    ) {
        let standard = STANDARDS[device];
        let base = [
            Policy::RAMULATOR2,
            Policy::RAMULATOR1,
            Policy { page: Page::Closed, ..Policy::RAMULATOR2 },
            Policy { age_cap: Some(60), ..Policy::RAMULATOR2 },
            Policy { age_cap: Some(20), page: Page::Closed, ..Policy::RAMULATOR1 },
            Policy { refresh_banks: RefreshBanks::Single, ..Policy::RAMULATOR2 },
            Policy { order: Order::Fcfs, write_queue: 4, read_queue: 3, drain: Drain::Marks { above: 3, below: 1 }, ..Policy::RAMULATOR2 },
        ][kind];
        let policy = Policy { refresh, ..base };
        let mut at = 0;
        let load: Vec<(u64, Access)> = load.iter().enumerate().map(|(i, &(gap, bank, row, column, write))| {
            at += gap;
            let bank = bank % standard.organisation.all_banks() as u8;
            (at, Access { bank, row, column, write, token: i as u32, ..Access::default() })
        }).collect();
        let (mut every, mut jumping) = (Controller::new(standard, policy), Controller::new(standard, policy));
        every.record();
        jumping.record();
        let done = play(&mut every, &load, true);
        prop_assert_eq!(&play(&mut jumping, &load, false), &done);
        prop_assert_eq!(every.take_trace(), jumping.take_trace());
        prop_assert_eq!(every.counters(), jumping.counters());
        prop_assert_eq!(every.bank_counters(), jumping.bank_counters());
        prop_assert_eq!(every.read_latency(), jumping.read_latency());
        prop_assert_eq!(done.len(), load.len());
        prop_assert_eq!(every.occupancy(), 0);
        let counters = every.counters();
        prop_assert_eq!(counters.reads + counters.writes + counters.forwarded + counters.coalesced, load.len() as u64);
        prop_assert_eq!(counters.row_hits + counters.row_misses + counters.row_conflicts, counters.reads + counters.writes);
    }
}

/// Cycles that reads of whole rows of all banks of a device of HBM3 take, over several refresh intervals.
fn stream(refresh_banks: RefreshBanks) -> (u64, ControlCounters) {
    let standard = Standard::named("hbm3-5600").unwrap();
    let mut controller = Controller::new(standard, Policy { refresh_banks, ..Policy::RAMULATOR2 });
    let (banks, columns) = (standard.organisation.all_banks(), standard.organisation.columns);
    let (mut now, mut next, mut done) = (0, 0, 0);
    let total = 20_000;
    while done < total {
        let access = |i: u32| {
            let (bank, column, row) = (i % banks, i / banks % columns, i / banks / columns);
            // Neighbours lie in different pseudo channels and bank groups.
            Access { bank: (bank % 8 * 4 + bank / 8) as u8, row, column, write: false, token: i, ..Access::default() }
        };
        while next < total && controller.push(Cycle(now), access(next)) {
            next += 1;
        }
        now += 1;
        controller.tick(Cycle(now));
        done += std::iter::from_fn(|| controller.pop_done()).count() as u32;
    }
    (now, controller.counters().clone())
}

#[test]
fn a_stream_loses_less_to_refreshes_of_single_banks_than_to_those_of_all() {
    let ((all, of_all), (single, of_one)) = (stream(RefreshBanks::All), stream(RefreshBanks::Single));
    assert!(of_all.refreshes > 0 && of_all.bank_refreshes == 0, "{of_all:?}");
    assert!(of_one.bank_refreshes > 0 && of_one.refreshes == 0, "{of_one:?}");
    assert!(single * 100 < all * 97, "{single} cycles, {all} with refreshes of all banks");
}
