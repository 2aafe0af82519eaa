//! Tests that idle cycles make no difference, and of the consistency of rows and queues.

use proptest::prelude::*;

use warpshard_base::Cycle;
use warpshard_seam::{BoxedPagePolicy, BoxedRefresh, Column, PagePolicy, RowAction};

use super::page::Predicted;
use super::refresh::Elastic;
use super::*;
use crate::dram::standard::{STANDARDS, Standard};

/// Pushes each access as early as possible, ticks every cycle or only cycles with events, and returns the finished accesses.
fn run_accesses(controller: &mut Controller, load: &[(u64, DramAccess)], every: bool) -> Vec<FinishedAccess> {
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
    let policy = ControllerPolicy { write_queue: 4, drain: WriteDrain::Marks { above: 3, below: 1 }, ..ControllerPolicy::RAMULATOR2 };
    let access = |bank: u8, write: bool| DramAccess { bank, row: 2, column: 3, write, token: u32::from(write), ..DramAccess::default() };
    let load = [(7, access(3, false)), (7, access(9, true))];
    let (mut every, mut jumping) = (Controller::new(STANDARDS[0], policy), Controller::new(STANDARDS[0], policy));
    assert_eq!(run_accesses(&mut every, &load, true), run_accesses(&mut jumping, &load, false));
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
            ControllerPolicy::RAMULATOR2,
            ControllerPolicy::RAMULATOR1,
            ControllerPolicy { page: Page::Closed, ..ControllerPolicy::RAMULATOR2 },
            ControllerPolicy { age_cap: Some(60), ..ControllerPolicy::RAMULATOR2 },
            ControllerPolicy { age_cap: Some(20), page: Page::Closed, ..ControllerPolicy::RAMULATOR1 },
            ControllerPolicy { refresh_banks: RefreshBanks::Single, ..ControllerPolicy::RAMULATOR2 },
            ControllerPolicy { order: Order::Fcfs, write_queue: 4, read_queue: 3, drain: WriteDrain::Marks { above: 3, below: 1 }, ..ControllerPolicy::RAMULATOR2 },
            ControllerPolicy::RAMULATOR2,
            ControllerPolicy::RAMULATOR2,
        ][kind];
        let banks = standard.organisation.all_banks();
        let policies = || match kind {
            7 => ChannelPolicies { page: Some(BoxedPagePolicy(Box::new(Predicted::new(banks)))), ..elastic_refresh() },
            8 => ChannelPolicies { page: Some(BoxedPagePolicy(Box::new(TimedPagePolicy(40)))), ..elastic_refresh() },
            _ => ChannelPolicies::default(),
        };
        let policy = ControllerPolicy { refresh, ..base };
        let mut at = 0;
        let load: Vec<(u64, DramAccess)> = load.iter().enumerate().map(|(i, &(gap, bank, row, column, write))| {
            at += gap;
            let bank = bank % standard.organisation.all_banks() as u8;
            (at, DramAccess { bank, row, column, write, token: i as u32, ..DramAccess::default() })
        }).collect();
        let (mut every, mut jumping) = (Controller::with_policies(standard, policy, policies()), Controller::with_policies(standard, policy, policies()));
        every.record();
        jumping.record();
        let done = run_accesses(&mut every, &load, true);
        prop_assert_eq!(&run_accesses(&mut jumping, &load, false), &done);
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
fn stream_rows(refresh_banks: RefreshBanks) -> (u64, ControlCounters) {
    let standard = Standard::named("hbm3-5600").unwrap();
    let mut controller = Controller::new(standard, ControllerPolicy { refresh_banks, ..ControllerPolicy::RAMULATOR2 });
    let (banks, columns) = (standard.organisation.all_banks(), standard.organisation.columns);
    let (mut now, mut next, mut done) = (0, 0, 0);
    let total = 20_000;
    while done < total {
        let access = |i: u32| {
            let (bank, column, row) = (i % banks, i / banks % columns, i / banks / columns);
            // Neighbouring accesses use different pseudo channels and bank groups.
            DramAccess { bank: (bank % 8 * 4 + bank / 8) as u8, row, column, write: false, token: i, ..DramAccess::default() }
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
    let ((all, of_all), (single, of_one)) = (stream_rows(RefreshBanks::All), stream_rows(RefreshBanks::Single));
    assert!(of_all.refreshes > 0 && of_all.bank_refreshes == 0, "{of_all:?}");
    assert!(of_one.bank_refreshes > 0 && of_one.refreshes == 0, "{of_one:?}");
    assert!(single * 100 < all * 97, "{single} cycles, {all} with refreshes of all banks");
}

/// Returns policies with elastic refresh.
fn elastic_refresh() -> ChannelPolicies {
    ChannelPolicies { refresh: Some(BoxedRefresh(Box::new(Elastic))), ..ChannelPolicies::default() }
}

/// A page policy that closes every row some cycles after its last column command.
#[derive(Clone, Debug, warpshard_state::State)]
struct TimedPagePolicy(u64);

impl PagePolicy for TimedPagePolicy {
    fn name(&self) -> &str {
        "timed"
    }

    fn column(&mut self, _: &Column) -> RowAction {
        RowAction::For(self.0)
    }
}

/// Returns the sum of the latencies of all accesses, in cycles from arrival to completion.
fn total_latency(controller: &mut Controller, load: &[(u64, DramAccess)]) -> u64 {
    let done = run_accesses(controller, load, false);
    assert_eq!(done.len(), load.len());
    done.iter().map(|done| done.at.0 - done.arrived.0).sum()
}

/// Reads two rows of a bank in turn, each twice with a pause. Returns the number of activates and the sum of latencies.
fn read_row_pairs(page: Page, policies: ChannelPolicies) -> (u64, u64) {
    let standard = Standard::named("hbm2-2000").unwrap();
    let policy = ControllerPolicy { page, refresh: false, ..ControllerPolicy::RAMULATOR2 };
    let mut controller = Controller::with_policies(standard, policy, policies);
    let access = |i: u32| DramAccess { row: i / 2 % 2, column: i, token: i, ..DramAccess::default() };
    let load: Vec<(u64, DramAccess)> = (0..64).map(|i| (u64::from(i) * 400, access(i))).collect();
    let latency = total_latency(&mut controller, &load);
    (controller.counters().activates, latency)
}

#[test]
fn a_prediction_closes_a_row_after_its_previous_number_of_reads() {
    let predicted = ChannelPolicies { page: Some(BoxedPagePolicy(Box::new(Predicted::new(64)))), ..ChannelPolicies::default() };
    let ((open, of_open), (closed, of_closed)) =
        (read_row_pairs(Page::Open, ChannelPolicies::default()), read_row_pairs(Page::Closed, ChannelPolicies::default()));
    let (activates, latency) = read_row_pairs(Page::Open, predicted);
    // An open page needs an activate for every second read, after a precharge; a closed page needs an activate for every read.
    assert_eq!((open, closed, activates), (32, 64, 32));
    assert!(latency < of_open && latency < of_closed, "{latency} cycles, {of_open} with open pages, {of_closed} with closed ones");
}

#[test]
fn a_row_is_closed_after_its_time_limit() {
    let timed = |cycles| {
        read_row_pairs(
            Page::Open,
            ChannelPolicies { page: Some(BoxedPagePolicy(Box::new(TimedPagePolicy(cycles)))), ..ChannelPolicies::default() },
        )
    };
    let open = read_row_pairs(Page::Open, ChannelPolicies::default());
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
    let load: Vec<(u64, DramAccess)> = reads
        .map(|(at, i)| (at, DramAccess { bank: (i / 4 % 16) as u8, row: i / 512, column: i / 64 % 8, token: i, ..DramAccess::default() }))
        .collect();
    let run = |policies| {
        let mut controller = Controller::with_policies(standard, ControllerPolicy::RAMULATOR2, policies);
        let latency = total_latency(&mut controller, &load);
        (controller.counters().refreshes, latency)
    };
    let ((due, of_due), (postponed, of_postponed)) = (run(ChannelPolicies::default()), run(elastic_refresh()));
    assert_eq!(due, postponed);
    assert!(of_postponed < of_due, "{of_postponed} cycles of latency, {of_due} if refreshes do not wait");
}
