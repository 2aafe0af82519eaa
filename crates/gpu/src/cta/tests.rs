//! Tests of the exact behaviour of the grid scheduler with mock SMs.

mod clusters;
mod dependents;
mod mock;
mod sharing;

use warpshard_base::{AppId, ClockDomain, Cycle, KernelIndex, LinkId, SmId, Tick, UnitId};
use warpshard_config::machine::Dispatch;
use warpshard_engine::{Route, Unit};
use warpshard_protocol::{EventKind, Outbox, Payload};

use super::{Grid, GridPorts};
use mock::{EVERY_CYCLE, MockChip, MockKernel, Stepping, dispatch_spec};

const MAX_TEST_CYCLES: u64 = 1_000_000;

fn mock_kernel(stream: u64, ctas: u32, resident: u32, cycles: fn(u32) -> u64) -> MockKernel {
    MockKernel { stream, ctas, resident, cycles, app: 0 }
}

fn run_chip(sms: usize, spec: &Dispatch, jobs: &[MockKernel]) -> MockChip {
    let mut chip = MockChip::new(sms, spec, jobs);
    chip.run(MAX_TEST_CYCLES, EVERY_CYCLE);
    assert!(chip.grid.end_cycle().is_some(), "the run ends: {:?}", chip.grid.waiting());
    chip
}

#[test]
fn the_first_ctas_start_exactly_one_launch_latency_after_the_launch() {
    let chip = run_chip(4, &dispatch_spec(), &[mock_kernel(0, 8, 2, |_| 50)]);
    assert_eq!(chip.start_cycles(0), [20, 20, 20, 20, 21, 21, 21, 21]);
    let stats = &chip.grid.kernel_stats()[0];
    assert_eq!((stats.launched, stats.started, stats.ended), (Some(0), Some(20), Some(71)));
    assert_eq!((stats.ctas_done, stats.ctas_per_sm, stats.launch_latency_cycles), (8, 2, 20));
    assert_eq!(chip.grid.end_cycle(), Some(Cycle(71)));
}

#[test]
fn the_scheduler_fills_all_sms_in_a_cycle_and_freed_cta_slots_one_by_one() {
    let slow = |ctas_per_cycle| Dispatch { ahead: 0, ctas_per_cycle, ..dispatch_spec() };
    let chip = run_chip(4, &slow(1), &[mock_kernel(0, 12, 1, |_| 50)]);
    assert_eq!(chip.start_cycles(0), [20, 20, 20, 20, 80, 81, 82, 83, 140, 141, 142, 143]);
    assert_eq!(chip.sms_of(0), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
    let chip = run_chip(4, &slow(2), &[mock_kernel(0, 8, 1, |_| 50), mock_kernel(0, 4, 1, |_| 50)]);
    assert_eq!(chip.start_cycles(0), [20, 20, 20, 20, 80, 80, 81, 81]);
    assert_eq!(chip.start_cycles(1).iter().max(), chip.start_cycles(1).iter().min(), "another kernel fills the SMs again");
}

#[test]
fn ctas_are_bound_breadth_first_and_the_rotation_continues_from_the_last_sm() {
    let chip = run_chip(4, &dispatch_spec(), &[mock_kernel(0, 6, 4, |_| 50), mock_kernel(0, 3, 4, |_| 50)]);
    assert_eq!(chip.sms_of(0), [0, 1, 2, 3, 0, 1]);
    assert_eq!(chip.sms_of(1), [2, 3, 0]);
}

#[test]
fn a_kernel_starts_one_launch_latency_after_its_predecessor_in_the_stream_ended() {
    let chip = run_chip(2, &dispatch_spec(), &[mock_kernel(7, 2, 1, |_| 33), mock_kernel(7, 2, 1, |_| 10)]);
    assert_eq!(chip.start_cycles(1), [20 + 33 + 20; 2]);
    assert_eq!(chip.grid.kernel_stats()[1].launched, Some(53));
    assert_eq!(chip.grid.kernel_stats()[1].launch_latency_cycles, 20);
}

#[test]
fn a_launch_latency_below_the_round_trip_starts_a_kernel_as_early_as_messages_allow() {
    let quick = Dispatch { launch_latency: 3, ..dispatch_spec() };
    let chip = run_chip(2, &quick, &[mock_kernel(0, 1, 1, |_| 10), mock_kernel(0, 1, 1, |_| 10)]);
    assert_eq!(chip.start_cycles(0), [5]);
    assert_eq!(chip.start_cycles(1), [5 + 10 + 2 * 5]);
    let latencies: Vec<u64> = chip.grid.kernel_stats().iter().map(|stats| stats.launch_latency_cycles).collect();
    assert_eq!(latencies, [5, 10]);
}

#[test]
fn a_cta_bound_ahead_follows_without_a_bubble() {
    let jobs = [mock_kernel(0, 2 * 10, 1, |_| 30)];
    let chip = run_chip(2, &dispatch_spec(), &jobs);
    assert_eq!(chip.grid.end_cycle(), Some(Cycle(20 + 10 * 30)));
    let without = run_chip(2, &Dispatch { ahead: 0, ..dispatch_spec() }, &jobs);
    assert_eq!(without.grid.end_cycle(), Some(Cycle(20 + 10 * 30 + 9 * 10)));
}

#[test]
fn an_sm_holds_at_most_the_resident_ctas_and_those_bound_ahead() {
    let chip = run_chip(3, &Dispatch { ahead: 2, ..dispatch_spec() }, &[mock_kernel(0, 60, 4, |cta| 20 + u64::from(cta % 7))]);
    assert_eq!(chip.max_held, [6, 6, 6]);
}

#[test]
fn no_cta_is_bound_ahead_with_fewer_unassigned_ctas_than_free_slots() {
    // Three CTAs remain after the first wave of four. They go to the SMs that become free first, not behind the long CTA.
    let chip = run_chip(4, &dispatch_spec(), &[mock_kernel(0, 7, 1, |cta| if cta == 0 { 500 } else { 30 })]);
    assert_eq!(chip.grid.counters().ctas_bound_ahead, 0);
    assert_eq!(chip.sms_of(0), [0, 1, 2, 3, 1, 2, 3]);
    assert_eq!(chip.start_cycles(0)[4..], [20 + 30 + 2 * 5; 3]);
    let more = run_chip(4, &dispatch_spec(), &[mock_kernel(0, 8, 1, |cta| if cta == 0 { 500 } else { 30 })]);
    assert_eq!(more.grid.counters().ctas_bound_ahead, 4, "a round that gives every SM a CTA is completed");
}

#[test]
fn no_cta_of_the_last_wave_waits_behind_long_ones() {
    // Eight CTAs fit, and six remain after the first eight: all six can start before the CTAs of SM 0 end.
    let chip = run_chip(4, &dispatch_spec(), &[mock_kernel(0, 14, 2, |cta| if cta % 4 == 0 && cta < 8 { 500 } else { 30 })]);
    assert_eq!(chip.grid.counters().ctas_bound_ahead, 0);
    assert!(!chip.sms_of(0)[8..].contains(&0), "{:?}", chip.sms_of(0));
    assert_eq!(chip.grid.end_cycle(), Some(Cycle(21 + 500)));
}

#[test]
fn kernels_of_different_streams_overlap_and_share_their_idle_launch_latency() {
    let chip = run_chip(4, &dispatch_spec(), &[mock_kernel(1, 2, 1, |_| 100), mock_kernel(2, 2, 1, |_| 100), mock_kernel(1, 1, 1, |_| 10)]);
    assert_eq!((chip.sms_of(0), chip.start_cycles(0)), (vec![0, 1], vec![20, 20]));
    assert_eq!((chip.sms_of(1), chip.start_cycles(1)), (vec![2, 3], vec![20, 20]));
    let latencies: Vec<u64> = chip.grid.kernel_stats().iter().map(|stats| stats.launch_latency_cycles).collect();
    assert_eq!(latencies, [20, 0, 20]);
    assert_eq!(chip.grid.end_cycle(), Some(Cycle(20 + 100 + 20 + 10)));
}

#[test]
fn the_launch_latency_overlaps_with_a_running_kernel() {
    let chip = run_chip(2, &dispatch_spec(), &[mock_kernel(1, 1, 1, |_| 10), mock_kernel(2, 1, 1, |_| 100), mock_kernel(1, 1, 1, |_| 10)]);
    assert_eq!(chip.grid.kernel_stats()[2].launched, Some(30));
    assert_eq!(chip.start_cycles(2), [50]);
    assert_eq!(chip.grid.kernel_stats()[2].launch_latency_cycles, 0);
}

#[test]
fn concurrent_kernels_are_limited_by_the_slots_of_the_chip() {
    let one = Dispatch { max_kernels: 1, ..dispatch_spec() };
    let chip = run_chip(4, &one, &[mock_kernel(1, 1, 1, |_| 40), mock_kernel(2, 1, 1, |_| 40), mock_kernel(3, 1, 1, |_| 40)]);
    let launched: Vec<_> = chip.grid.kernel_stats().iter().map(|stats| stats.launched).collect();
    assert_eq!(launched, [Some(0), Some(60), Some(120)]);
}

#[test]
fn an_sm_of_its_own_turns_to_another_kernel_only_when_it_is_empty() {
    let jobs = [mock_kernel(1, 3, 4, |cta| 30 + 40 * u64::from(cta)), mock_kernel(2, 2, 4, |_| 10)];
    let alone = run_chip(2, &dispatch_spec(), &jobs);
    // CTAs 0 and 2 of the first kernel run on SM 0 until cycles 30 and 21 + 110, and CTA 1 runs on SM 1 until cycle 90.
    assert_eq!(alone.start_cycles(0), [20, 20, 21]);
    assert_eq!(alone.sms_of(1), [1, 1]);
    assert_eq!(alone.start_cycles(1), [20 + 70 + 2 * 5, 20 + 70 + 2 * 5 + 1]);
    let shared = run_chip(2, &Dispatch { share_sm: true, ..dispatch_spec() }, &jobs);
    assert_eq!(shared.sms_of(1), [1, 0]);
    assert_eq!(shared.start_cycles(1), [21, 22]);
}

#[test]
fn kernels_that_share_an_sm_share_its_resources() {
    let shared = Dispatch { share_sm: true, ahead: 0, ..dispatch_spec() };
    let chip = run_chip(1, &shared, &[mock_kernel(1, 1, 2, |_| 1000), mock_kernel(2, 8, 4, |_| 100)]);
    assert_eq!(chip.max_held, [3], "half the SM for the first kernel, two quarters for the second");
}

#[test]
fn an_sm_without_capacity_for_one_kernel_gets_the_next_kernel_in_turn() {
    let shared = Dispatch { share_sm: true, ahead: 0, ..dispatch_spec() };
    let chip = run_chip(2, &shared, &[mock_kernel(1, 1, 2, |_| 1000), mock_kernel(2, 2, 1, |_| 100), mock_kernel(3, 1, 2, |_| 10)]);
    assert_eq!((chip.sms_of(1), chip.start_cycles(1)), (vec![1, 1], vec![20, 130]));
    assert_eq!((chip.sms_of(2), chip.start_cycles(2)), (vec![0], vec![131]), "one cycle after the second kernel's last CTA");
}

#[test]
fn a_kernel_is_served_to_its_end_before_a_later_one_in_a_lower_slot() {
    let shared = Dispatch { share_sm: true, max_kernels: 2, ..dispatch_spec() };
    let chip = run_chip(1, &shared, &[mock_kernel(1, 1, 2, |_| 10), mock_kernel(2, 24, 2, |_| 30), mock_kernel(1, 1, 2, |_| 10)]);
    assert_eq!(chip.grid.kernel_stats()[2].launched, Some(30));
    assert!(chip.start_cycles(2) > chip.start_cycles(1)[23..].to_vec(), "{:?} after {:?}", chip.start_cycles(2), chip.start_cycles(1));
}

#[test]
fn launches_of_two_streams_overlap() {
    let chip = run_chip(
        2,
        &dispatch_spec(),
        &[mock_kernel(1, 1, 1, |_| 40), mock_kernel(2, 1, 1, |_| 45), mock_kernel(1, 1, 1, |_| 9), mock_kernel(2, 1, 1, |_| 9)],
    );
    assert_eq!((chip.start_cycles(2), chip.start_cycles(3)), (vec![80], vec![85]));
    let latencies: Vec<u64> = chip.grid.kernel_stats().iter().map(|stats| stats.launch_latency_cycles).collect();
    assert_eq!(latencies, [20, 0, 15, 0], "kernels of the first stream run until 60 and from 80, and of the second stream until 65");
}

#[test]
fn a_cta_limit_holds_from_the_cut_on_without_bubbles_and_can_be_lifted() {
    let mut chip = MockChip::new(2, &dispatch_spec(), &[mock_kernel(0, 40, 2, |_| 30)]);
    chip.limit_ctas(0, 1);
    chip.run(200, EVERY_CYCLE);
    assert_eq!(chip.max_held, [2, 3], "one and two CTAs run, and one waits at each SM");
    let on_first: Vec<u64> = chip.lifetimes.values().filter(|life| life.sm == 0).map(|life| life.start).collect();
    assert_eq!(on_first, [20, 50, 80, 110, 140, 170]);
    chip.limit_ctas(0, 2);
    assert_eq!(chip.grid.next_event(), Cycle(200));
    chip.run(MAX_TEST_CYCLES, EVERY_CYCLE);
    assert_eq!(chip.max_held, [3, 3]);
    assert!(chip.grid.end_cycle().is_some());
}

#[test]
fn a_cta_limit_at_the_occupancy_has_no_effect() {
    let plain = run_chip(2, &dispatch_spec(), &mixed_kernels());
    let mut limited = MockChip::new(2, &dispatch_spec(), &mixed_kernels());
    (0..2).for_each(|sm| limited.limit_ctas(sm, 5));
    limited.run(MAX_TEST_CYCLES, EVERY_CYCLE);
    assert_eq!(limited.lifetimes, plain.lifetimes);
}

/// Returns the number of unassigned CTAs of the kernels that have a slot.
fn unassigned_ctas(chip: &MockChip) -> u64 {
    chip.grid.streams.occupied_slots().map(|slot| u64::from(slot.unassigned_ctas())).sum()
}

#[test]
fn the_deadlock_report_names_cta_limits() {
    let mut chip = MockChip::new(2, &dispatch_spec(), &[mock_kernel(0, 4, 2, |_| 30), mock_kernel(0, 1, 1, |_| 30)]);
    (0..2).for_each(|sm| chip.limit_ctas(sm, 0));
    chip.run(100, EVERY_CYCLE);
    assert_eq!(chip.grid.next_event(), Cycle::NEVER);
    assert_eq!((chip.grid.streams.occupied_slots().count(), chip.grid.streams.unfinished_apps(), unassigned_ctas(&chip)), (1, 1, 4));
    assert_eq!(
        chip.grid.waiting(),
        ["0 of 4 CTAs of kernel 0 (job0, stream 0) are done, 4 are bound to no SM; none has started, the first may be bound \
          from cycle 15 on; 2 SMs have reached the CTA limit that a controller set"]
    );
}

#[test]
fn the_deadlock_report_names_waiting_kernels_and_busy_sms() {
    let one = Dispatch { max_kernels: 1, ..dispatch_spec() };
    let mut chip = MockChip::new(1, &one, &[mock_kernel(0, 1, 1, |_| MAX_TEST_CYCLES), mock_kernel(1, 1, 1, |_| 1)]);
    chip.run(100, EVERY_CYCLE);
    assert_eq!(
        chip.grid.waiting()[1..],
        [
            "kernel 1 (job1, stream 1) waits for a slot among the kernels of the chip",
            "sm0 holds 1 CTAs, 1 of them started; its last message arrived at cycle 25"
        ]
    );
}

#[test]
fn a_workload_without_kernels_ends_immediately() {
    let mut chip = MockChip::new(2, &dispatch_spec(), &[]);
    assert_eq!(chip.grid.next_event(), Cycle(0));
    chip.run(10, Stepping { skip: true, ..EVERY_CYCLE });
    assert_eq!(chip.events, [(0, EventKind::RunEnded)]);
    assert_eq!(chip.grid.end_cycle(), Some(Cycle(0)));
}

#[test]
fn events_are_sent_one_latency_after_the_start_or_end() {
    let chip = run_chip(1, &dispatch_spec(), &[mock_kernel(0, 2, 1, |_| 30)]);
    let (kernel, sm) = (KernelIndex(0), SmId(0));
    assert_eq!(
        chip.events,
        [
            (15, EventKind::KernelReady(kernel)),
            (16, EventKind::KernelDispatched(kernel)),
            (25, EventKind::KernelStarted(kernel)),
            (55, EventKind::CtaEnded(sm, kernel)),
            (85, EventKind::CtaEnded(sm, kernel)),
            (85, EventKind::KernelEnded(kernel)),
            (85, EventKind::ApplicationEnded(AppId(0))),
            (85, EventKind::RunEnded)
        ]
    );
}

#[test]
fn a_run_ends_when_the_stores_of_ended_ctas_are_acknowledged() {
    let mut chip = MockChip::new(1, &dispatch_spec(), &[mock_kernel(0, 2, 1, |_| 30)]);
    let from_sm = LinkId(1);
    chip.grid.deliver(from_sm, Cycle(20), &Payload::StoresPending(SmId(0)));
    chip.run(400, Stepping { skip: true, ..EVERY_CYCLE });
    assert!(chip.events.contains(&(85, EventKind::KernelEnded(KernelIndex(0)))), "the kernel does not wait");
    assert!(!chip.events.iter().any(|(_, event)| *event == EventKind::RunEnded));
    chip.grid.deliver(from_sm, Cycle(450), &Payload::StoresAcknowledged(SmId(0)));
    chip.run(500, Stepping { skip: true, ..EVERY_CYCLE });
    assert_eq!(chip.events.last(), Some(&(450, EventKind::RunEnded)));
}

fn mixed_kernels() -> Vec<MockKernel> {
    vec![
        mock_kernel(0, 50, 3, |cta| 11 + u64::from(cta * cta * 37 % 41)),
        mock_kernel(1, 9, 2, |cta| 60 + u64::from(cta)),
        mock_kernel(1, 30, 5, |_| 17),
        mock_kernel(0, 1, 1, |_| 1),
        mock_kernel(2, 12, 1, |cta| 1 + u64::from(cta * 31 % 29)),
    ]
}

#[test]
fn results_do_not_depend_on_stepping() {
    for share_sm in [false, true] {
        let spec = Dispatch { share_sm, max_kernels: 2, ..dispatch_spec() };
        let expected = run_chip(7, &spec, &mixed_kernels());
        for (span, skip, first_sm) in [(1, true, 3), (2, false, 6), (3, true, 1), (4, false, 2), (5, true, 5), (5, false, 4)] {
            let mut chip = MockChip::new(7, &spec, &mixed_kernels());
            chip.run(MAX_TEST_CYCLES, Stepping { span, skip, first_sm });
            assert_eq!(chip.grid.kernel_stats(), expected.grid.kernel_stats());
            assert_eq!(chip.grid.counters(), expected.grid.counters());
            assert_eq!(chip.events, expected.events);
            assert_eq!(chip.lifetimes, expected.lifetimes);
        }
    }
}

#[test]
fn every_cta_of_every_kernel_runs_once() {
    let jobs = mixed_kernels();
    let chip = run_chip(7, &dispatch_spec(), &jobs);
    assert_eq!(chip.lifetimes.len() as u32, jobs.iter().map(|job| job.ctas).sum::<u32>());
    let counters = chip.grid.counters();
    assert_eq!((counters.ctas_bound, counters.ctas_started, counters.ctas_done), (102, 102, 102));
    assert_eq!(
        (counters.kernels_launched, counters.kernels_ended, chip.grid.streams.unfinished_apps() as u64, unassigned_ctas(&chip)),
        (5, 5, 0, 0)
    );
}

#[test]
fn the_next_event_is_exactly_the_next_cycle_that_changes_anything() {
    let mut chip = MockChip::new(5, &Dispatch { max_kernels: 2, ..dispatch_spec() }, &mixed_kernels());
    let state = |chip: &MockChip| {
        let grid = &chip.grid;
        format!("{:?} {:?} {:?} {:?}", grid.streams, grid.dispatch, grid.records, grid.counters)
    };
    while chip.grid.end_cycle().is_none() {
        let (before, acts) = (state(&chip), chip.grid.next_event() == Cycle(chip.now));
        chip.run(chip.now + 1, EVERY_CYCLE);
        assert_eq!(state(&chip) != before, acts, "at cycle {}", chip.now - 1);
    }
}

#[test]
#[should_panic(expected = "kernel 0 has no CTAs")]
fn a_kernel_without_ctas_is_refused() {
    MockChip::new(1, &dispatch_spec(), &[mock_kernel(0, 0, 1, |_| 1)]);
}

#[test]
#[should_panic(expected = "no CTA of `job0` fits on an SM")]
fn a_kernel_that_does_not_fit_is_refused() {
    MockChip::new(1, &dispatch_spec(), &[mock_kernel(0, 1, 0, |_| 1)]);
}

#[test]
fn a_real_sm_gets_as_many_ctas_as_its_resources_allow() {
    let machine = crate::test_machine::test_machine();
    let info = crate::test_machine::kernel_info(256, 4000);
    let resident = crate::occupancy::resident_ctas(&machine.gpu.sm, &info).expect("the CTA fits");
    let workload = mock::workload_of(vec![info]);
    let ports = GridPorts {
        first_to_sm: LinkId(0),
        first_from_sm: LinkId(machine.gpu.sms as u16),
        first_to_partition: LinkId(0),
        partitions: 0,
        system: None,
    };
    let mut grid = Grid::new(&machine, workload, vec![resident], ports);
    let clock = ClockDomain { period: 1 };
    let route = Route { to: UnitId(0), from_clock: clock, to_clock: clock, latency: Tick(1) };
    let mut out = Outbox::new(vec![route; machine.gpu.sms as usize].into(), vec![0], 1);
    grid.run(Cycle(MAX_TEST_CYCLES), true, &mut out);
    let held = u64::from(resident + machine.gpu.dispatch.ahead);
    assert_eq!(grid.counters().ctas_bound, u64::from(machine.gpu.sms) * held);
    assert_eq!(grid.counters().binding_cycles, held);
}

#[test]
fn copies_are_sent_to_every_partition_once_at_the_launch_of_the_next_kernel() {
    use warpshard_base::Addr;
    use warpshard_protocol::HostCopy;
    use warpshard_workload::{Command, Workload};

    let machine = crate::test_machine::test_machine();
    let info = crate::test_machine::kernel_info(32, 1);
    let plain = mock::workload_of(vec![info.clone(), info]);
    let copy = |addr| Command::CopyToDevice { addr: Addr(addr), bytes: 64 };
    let launch = |kernel| Command::Launch(KernelIndex(kernel));
    let commands = vec![copy(0x100), copy(0x200), launch(0), copy(0x300), launch(1), copy(0x400)];
    let workload = std::sync::Arc::new(Workload { commands, ..(*plain).clone() });
    let sms = machine.gpu.sms as u16;
    let ports =
        GridPorts { first_to_sm: LinkId(0), first_from_sm: LinkId(sms), first_to_partition: LinkId(2 * sms), partitions: 2, system: None };
    let mut grid = Grid::new(&machine, workload, vec![1, 1], ports);
    let clock = ClockDomain { period: 1 };
    let route = Route { to: UnitId(0), from_clock: clock, to_clock: clock, latency: Tick(1) };
    let mut out = Outbox::new(vec![route; usize::from(2 * sms) + 2].into(), vec![0], 1);
    grid.run(Cycle(MAX_TEST_CYCLES), true, &mut out);
    let warm = |link: u16, addr| (LinkId(2 * sms + link), HostCopy { addr: Addr(addr), bytes: 64 });
    let notified: Vec<(LinkId, HostCopy)> = out
        .batch(0)
        .iter()
        .filter_map(|sent| match sent.payload {
            Payload::HostCopy(copy) => Some((sent.link, copy)),
            _ => None,
        })
        .collect();
    // The second kernel, in the same stream, waits for the first kernel, and so does the copy before the second kernel.
    assert_eq!(notified, [warm(0, 0x100), warm(1, 0x100), warm(0, 0x200), warm(1, 0x200)]);
}
