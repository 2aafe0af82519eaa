//! Tests that idle cycles make no difference, and of the consistency of rows and queues.

use proptest::prelude::*;

use warpshard_base::Cycle;
use warpshard_seam::{BoxedPagePolicy, BoxedRefresh, Column, PagePolicy, RowAction};

use super::page::Predicted;
use super::refresh::Elastic;
use super::*;
use crate::dram::standard::{STANDARDS, Standard};

/// Pushes each access as early as possible, ticks every cycle or only cycles with events, and returns the finished accesses.
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
fn the_first_request_uses_the_direction_of_an_idle_controller() {
    let policy = Policy { write_queue: 4, drain: Drain::Marks { above: 3, below: 1 }, ..Policy::RAMULATOR2 };
    let access = |bank: u8, write: bool| Access { bank, row: 2, column: 3, write, token: u32::from(write), ..Access::default() };
    let load = [(7, access(3, false)), (7, access(9, true))];
    let (mut every, mut jumping) = (Controller::new(STANDARDS[0], policy), Controller::new(STANDARDS[0], policy));
    assert_eq!(play(&mut every, &load, true), play(&mut jumping, &load, false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn cycles_without_events_may_be_skipped(
        device in 0..STANDARDS.len(),
        kind in 0..9usize,
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
            Policy::RAMULATOR2,
            Policy::RAMULATOR2,
        ][kind];
        let banks = standard.organisation.all_banks();
        let policies = || match kind {
            7 => ChannelPolicies { page: Some(BoxedPagePolicy(Box::new(Predicted::new(banks)))), ..elastic() },
            8 => ChannelPolicies { page: Some(BoxedPagePolicy(Box::new(Timed(40)))), ..elastic() },
            _ => ChannelPolicies::default(),
        };
        let policy = Policy { refresh, ..base };
        let mut at = 0;
        let load: Vec<(u64, Access)> = load.iter().enumerate().map(|(i, &(gap, bank, row, column, write))| {
            at += gap;
            let bank = bank % standard.organisation.all_banks() as u8;
            (at, Access { bank, row, column, write, token: i as u32, ..Access::default() })
        }).collect();
        let (mut every, mut jumping) = (Controller::with_policies(standard, policy, policies()), Controller::with_policies(standard, policy, policies()));
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

/// Returns the cycles for reads of whole rows of all banks of an HBM3 device, over several refresh intervals.
fn stream(refresh_banks: RefreshBanks) -> (u64, ControlCounters) {
    let standard = Standard::named("hbm3-5600").unwrap();
    let mut controller = Controller::new(standard, Policy { refresh_banks, ..Policy::RAMULATOR2 });
    let (banks, columns) = (standard.organisation.all_banks(), standard.organisation.columns);
    let (mut now, mut next, mut done) = (0, 0, 0);
    let total = 20_000;
    while done < total {
        let access = |i: u32| {
            let (bank, column, row) = (i % banks, i / banks % columns, i / banks / columns);
            // Neighbouring accesses use different pseudo channels and bank groups.
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
fn a_stream_loses_less_to_single_bank_refreshes_than_to_all_bank_refreshes() {
    let ((all, of_all), (single, of_one)) = (stream(RefreshBanks::All), stream(RefreshBanks::Single));
    assert!(of_all.refreshes > 0 && of_all.bank_refreshes == 0, "{of_all:?}");
    assert!(of_one.bank_refreshes > 0 && of_one.refreshes == 0, "{of_one:?}");
    assert!(single * 100 < all * 97, "{single} cycles, {all} with refreshes of all banks");
}

/// Returns policies with elastic refresh.
fn elastic() -> ChannelPolicies {
    ChannelPolicies { refresh: Some(BoxedRefresh(Box::new(Elastic))), ..ChannelPolicies::default() }
}

/// A page policy that closes every row some cycles after its last column command.
#[derive(Clone, Debug, warpshard_state::State)]
struct Timed(u64);

impl PagePolicy for Timed {
    fn name(&self) -> &str {
        "timed"
    }

    fn column(&mut self, _: &Column) -> RowAction {
        RowAction::For(self.0)
    }
}

/// Returns the sum of the latencies of all accesses, in cycles from arrival to completion.
fn latency(controller: &mut Controller, load: &[(u64, Access)]) -> u64 {
    let done = play(controller, load, false);
    assert_eq!(done.len(), load.len());
    done.iter().map(|done| done.at.0 - done.arrived.0).sum()
}

/// Reads two rows of a bank in turn, each twice with a pause. Returns the number of activates and the sum of latencies.
fn pairs(page: Page, policies: ChannelPolicies) -> (u64, u64) {
    let standard = Standard::named("hbm2-2000").unwrap();
    let policy = Policy { page, refresh: false, ..Policy::RAMULATOR2 };
    let mut controller = Controller::with_policies(standard, policy, policies);
    let access = |i: u32| Access { row: i / 2 % 2, column: i, token: i, ..Access::default() };
    let load: Vec<(u64, Access)> = (0..64).map(|i| (u64::from(i) * 400, access(i))).collect();
    let latency = latency(&mut controller, &load);
    (controller.counters().activates, latency)
}

#[test]
fn a_prediction_closes_a_row_after_its_previous_number_of_reads() {
    let predicted = ChannelPolicies { page: Some(BoxedPagePolicy(Box::new(Predicted::new(64)))), ..ChannelPolicies::default() };
    let ((open, of_open), (closed, of_closed)) =
        (pairs(Page::Open, ChannelPolicies::default()), pairs(Page::Closed, ChannelPolicies::default()));
    let (activates, latency) = pairs(Page::Open, predicted);
    // An open page needs an activate for every second read, after a precharge; a closed page needs an activate for every read.
    assert_eq!((open, closed, activates), (32, 64, 32));
    assert!(latency < of_open && latency < of_closed, "{latency} cycles, {of_open} with open pages, {of_closed} with closed ones");
}

#[test]
fn a_row_is_closed_after_its_time_limit() {
    let timed =
        |cycles| pairs(Page::Open, ChannelPolicies { page: Some(BoxedPagePolicy(Box::new(Timed(cycles)))), ..ChannelPolicies::default() });
    let open = pairs(Page::Open, ChannelPolicies::default());
    // The time is too short for the second read of a row, 400 cycles after the first.
    assert_eq!(timed(100).0, 64);
    // With 399 cycles, the row is open for the second read and closed before another row is opened; with 500 cycles, it stays open as long
    // as with an open page.
    assert!(timed(399).0 == 32 && timed(399).1 < open.1, "{:?} {open:?}", timed(399));
    assert_eq!(timed(500), open);
}

#[test]
fn refreshes_that_wait_for_their_banks_disturb_reads_less_and_are_not_lost() {
    let standard = Standard::named("hbm2-2000").unwrap();
    let interval = u64::from(standard.timing.tREFI);
    // The test issues reads for most of an interval, then none.
    let reads = (0..20_000u32).map(|i| (u64::from(i), i)).filter(|(at, _)| at % interval < interval / 2 && at % 4 == 0);
    let load: Vec<(u64, Access)> = reads
        .map(|(at, i)| (at, Access { bank: (i / 4 % 16) as u8, row: i / 512, column: i / 64 % 8, token: i, ..Access::default() }))
        .collect();
    let run = |policies| {
        let mut controller = Controller::with_policies(standard, Policy::RAMULATOR2, policies);
        let latency = latency(&mut controller, &load);
        (controller.counters().refreshes, latency)
    };
    let ((due, of_due), (postponed, of_postponed)) = (run(ChannelPolicies::default()), run(elastic()));
    assert_eq!(due, postponed);
    assert!(of_postponed < of_due, "{of_postponed} cycles of latency, {of_due} if refreshes do not wait");
}
