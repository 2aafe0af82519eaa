//! The DRAM controller: closed forms, hard bounds, legality of every command, and comparison with Ramulator 2.

use std::collections::BTreeMap;

use proptest::prelude::*;

use warpshard::base::Cycle;
use warpshard::mem::dram::control::{Controller, ControllerPolicy, DramAccess, Order, Page, RefreshBanks, WriteDrain};
use warpshard::mem::dram::standard::{Command, Organisation, STANDARDS, Scope, Standard, StandardError, Timing};
use warpshard::rig::audit::audit;
use warpshard::rig::dram::{DramOptions, DramOutcome, run, run_traced};
use warpshard::rig::{AccessPattern, PATTERNS};

fn standard_named(name: &str) -> &'static Standard {
    Standard::named(name).unwrap()
}

fn run_point(name: &str, pattern: &str, writes: f64, load: f64, requests: u64) -> DramOutcome {
    let policy = ControllerPolicy { refresh: false, ..ControllerPolicy::RAMULATOR2 };
    run(&DramOptions { standard: standard_named(name), policy, pattern: AccessPattern::named(pattern).unwrap(), writes, load, requests })
}

/// Returns the read latency of the last of `rows`, read one after the other from bank 0 of an idle channel.
fn quiet_latency(name: &str, rows: &[u32]) -> u64 {
    let mut controller = Controller::new(standard_named(name), ControllerPolicy { refresh: false, ..ControllerPolicy::RAMULATOR2 });
    let mut last = 0;
    for (i, &row) in rows.iter().enumerate() {
        let now = 1000 * i as u64;
        assert!(controller.push(Cycle(now), DramAccess { row, column: i as u32, ..DramAccess::default() }));
        (now + 1..now + 1000).for_each(|at| controller.tick(Cycle(at)));
        let done = controller.pop_done().unwrap();
        last = done.at.0 - done.arrived.0;
    }
    last
}

#[test]
fn an_idle_channel_replies_after_the_sum_of_its_latencies() {
    for (name, closed, hit, conflict) in [("gddr6-14g", 54, 27, 81), ("hbm2-2000", 32, 17, 45), ("gddr5-6g", 51, 27, 75)] {
        assert_eq!(quiet_latency(name, &[3]), closed, "{name}, closed");
        assert_eq!(quiet_latency(name, &[3, 3]), hit, "{name}, hit");
        assert_eq!(quiet_latency(name, &[3, 4]), conflict, "{name}, conflict");
    }
    for standard in STANDARDS {
        let t = &standard.timing;
        let hit = u64::from(1 + t.tCL + t.tBL);
        // An activate of two clocks delays the next read as much as it shortens the wait after the previous precharge.
        let conflict = hit + u64::from(t.tRP + t.tRCDRD);
        assert_eq!(quiet_latency(standard.name, &[3, 3]), hit, "{}", standard.name);
        assert_eq!(quiet_latency(standard.name, &[3, 4]), conflict, "{}", standard.name);
    }
}

#[test]
fn a_slow_stream_pays_one_conflict_per_row() {
    let outcome = run_point("gddr6-14g", "seq_bg", 0.0, 0.05, 22_000);
    assert!((outcome.mean_controller_latency() - (27.0 + 54.0 / 64.0)).abs() < 0.01, "{}", outcome.mean_controller_latency());
    assert!((outcome.row_hit_rate() - 63.0 / 64.0).abs() < 0.001);
    assert!((outcome.mean_total_latency() - outcome.mean_controller_latency() + 1.0).abs() < 1e-9);
}

#[test]
fn hard_bounds_of_banks_windows_and_buses_are_reached() {
    for (name, pattern, bound) in [
        ("gddr6-14g", "conf1", 2.0 / 80.0),
        ("gddr6-14g", "conf4", 0.1),
        ("gddr6-14g", "random", 2.0 / 8.0),
        ("gddr6-14g", "confN", 2.0 / 8.0),
        ("gddr5-6g", "confN", 2.0 * 32.0 / 360.0),
        ("gddr5-6g", "random", 2.0 * 32.0 / 360.0),
        ("hbm2-2000", "confN", 1.0 / 3.0),
        ("hbm2-2000", "conf1", 1.0 / 48.0),
        ("gddr6-14g", "seq_bg", 1.0),
        ("gddr6-14g", "seq_row", 1.0),
        ("hbm2-2000", "seq_bg", 1.0),
    ] {
        let outcome = run_point(name, pattern, 0.0, 1.2, 11_000);
        assert!((outcome.achieved / bound - 1.0).abs() < 0.005, "{name} {pattern}: {} instead of {bound}", outcome.achieved);
    }
}

#[test]
fn impossible_timings_are_refused() {
    assert!(STANDARDS.iter().all(|standard| standard.check() == Ok(())));
    assert!(STANDARDS.is_sorted_by_key(|standard| standard.name));
    let good = standard_named("gddr6-14g");
    let broken = |change: fn(&mut Timing, &mut Organisation)| {
        let mut bad = good.clone();
        change(&mut bad.timing, &mut bad.organisation);
        bad.check().map_err(|StandardError { problem, .. }| problem)
    };
    type InvalidTiming = fn(&mut Timing, &mut Organisation);
    let cases: [(InvalidTiming, &str); 8] = [
        (|t, _| t.tRC = 52, "tRC = 52"),
        (|t, _| t.tRAS = 20, "tRAS = 20"),
        (|t, _| t.tCCDL = 1, "tCCDL = 1"),
        (|t, _| t.tRTW = 19, "tRTW = 19"),
        (|t, _| t.tFAW = 5, "tFAW = 5"),
        (|t, _| t.tREFI = 200, "tREFI = 200"),
        (|_, o| o.banks = 3, "banks = 3"),
        (|_, o| o.pseudo_channels = 8, "128 banks"),
    ];
    for (change, expected) in cases {
        let problem = broken(change).unwrap_err();
        assert!(problem.contains(expected), "{problem} does not name {expected}");
    }
}

/// Longest distance by scope, earlier command, later command and window.
type Distances = BTreeMap<(usize, Command, Command, u32), u32>;

/// Iterates over the lines of a table of the reference, without comments and heading, split into cells.
fn table_lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| line.split(',').collect())
}

/// Returns our command for the reference's name of a command, if our model has it.
fn command_named(name: &str) -> Option<Command> {
    Some(match name {
        "ACT" => Command::Activate,
        "PRE" => Command::Precharge,
        "PREA" => Command::PrechargeAll,
        "RD" => Command::Read,
        "WR" => Command::Write,
        "RDA" => Command::ReadPrecharge,
        "WRA" => Command::WritePrecharge,
        "REFab" => Command::Refresh,
        "REFpb" => return None,
        _ => panic!("unknown command {name}"),
    })
}

/// Returns the timing constraints of a device of Ramulator 2, restricted to the commands of our model.
fn reference_rules(device: &str) -> Distances {
    let mut distances = Distances::new();
    for row in table_lines(include_str!("../../validate/reference/ramulator2-rules.csv")).filter(|row| row[0] == device) {
        let scope = match row[1] {
            "channel" => Scope::Channel,
            "pseudo-channel" => Scope::PseudoChannel,
            "bank-group" => Scope::BankGroup,
            "bank" => Scope::Bank,
            other => panic!("unknown scope {other}"),
        };
        let (cycles, window) = (row[4].parse().unwrap(), row[5].parse().unwrap());
        for before in row[2].split(' ').filter_map(command_named) {
            for after in row[3].split(' ').filter_map(command_named) {
                let distance = distances.entry((scope as usize, before, after, window)).or_insert(cycles);
                *distance = (*distance).max(cycles);
            }
        }
    }
    assert!(distances.len() > 30, "{device}: only {} distances", distances.len());
    distances
}

#[test]
fn the_timing_rules_match_ramulator() {
    use Command::*;
    for (name, device) in [("gddr6-14g", "gddr6"), ("hbm2-2000", "hbm2")] {
        let theirs = reference_rules(device);
        let mut ours = Distances::new();
        for rule in standard_named(name).rules() {
            for &before in rule.preceding {
                for &after in rule.following {
                    let distance = ours.entry((rule.scope as usize, before, after, rule.window)).or_default();
                    *distance = (*distance).max(rule.cycles);
                }
            }
        }
        for (key, distance) in &theirs {
            // The command bus enforces a distance of one clock.
            assert!(*distance <= 1 || ours.get(key) == Some(distance), "{name} {key:?}: {:?} instead of {distance}", ours.get(key));
        }
        // Our additional rules are that no command starts during a refresh, and that a precharge ends before a refresh.
        for key in ours.keys().filter(|key| !theirs.contains_key(key)) {
            assert!(key.1 == Refresh || (key.1 == Precharge && key.2 == Refresh), "{name} has {key:?}, which the reference has not");
        }
    }
}

/// Returns the measured points of a sweep: load, achieved bandwidth, latency.
fn reference_points(device: &str, refresh: bool, pattern: &str, writes: &str) -> Vec<(f64, f64, f64)> {
    let sweep = ["ramulator2", device, if refresh { "ref" } else { "noref" }, pattern, writes];
    let rows = table_lines(include_str!("../../validate/reference/ramulator2.csv")).filter(|row| row[..5] == sweep);
    let number = |cell: &str| cell.parse().unwrap();
    rows.map(|row| (number(row[5]), number(row[6]), number(row[7]))).collect()
}

#[test]
fn points_of_ramulator_2_are_reproduced() {
    for (name, device, pattern, writes, refresh) in [
        ("gddr6-14g", "gddr6", "random", "0.00", false),
        ("gddr6-14g", "gddr6", "seq_bg", "0.50", true),
        ("hbm2-2000", "hbm2", "seq_bg", "0.00", false),
    ] {
        let sweep = format!("{name} {pattern} {writes}");
        let points = reference_points(device, refresh, pattern, writes);
        assert!(points.len() > 10, "{sweep}");
        let writes = writes.parse().unwrap();
        for (load, achieved, latency) in points.into_iter().step_by(4) {
            let policy = ControllerPolicy { refresh, ..ControllerPolicy::RAMULATOR2 };
            let options = DramOptions {
                standard: standard_named(name),
                policy,
                pattern: AccessPattern::named(pattern).unwrap(),
                writes,
                load,
                requests: 33_000,
            };
            let outcome = run(&options);
            let bandwidth = (outcome.achieved / achieved - 1.0).abs();
            let error = (outcome.mean_controller_latency() / latency - 1.0).abs();
            assert!(bandwidth < 0.02 && error < 0.04, "{sweep} at {load}: {} and {}", outcome.achieved, outcome.mean_controller_latency());
        }
    }
}

#[test]
fn a_read_of_a_queued_write_is_forwarded_and_equal_writes_merge() {
    let mut controller = Controller::new(standard_named("gddr6-14g"), ControllerPolicy { refresh: false, ..ControllerPolicy::RAMULATOR2 });
    let write = DramAccess { row: 5, write: true, ..DramAccess::default() };
    assert!(controller.push(Cycle(0), write) && controller.push(Cycle(0), write));
    assert!(controller.push(Cycle(0), DramAccess { write: false, ..write }));
    (1..200).for_each(|at| controller.tick(Cycle(at)));
    let counters = controller.counters();
    assert_eq!((counters.coalesced, counters.forwarded, counters.writes, counters.reads), (1, 1, 1, 0));
    let done: Vec<_> = std::iter::from_fn(|| controller.pop_done()).collect();
    assert_eq!(done.iter().find(|done| !done.access.write).unwrap().at, Cycle(1));
    assert_eq!((done.len(), controller.occupancy()), (3, 0));
}

#[test]
fn row_hits_before_an_older_request_end_at_the_cap() {
    // On this device a row's next read is allowed before the row may be closed, so row hits could continue forever.
    let served_before_the_other_row = |hit_cap| {
        let policy = ControllerPolicy { refresh: false, hit_cap, ..ControllerPolicy::RAMULATOR1 };
        let mut controller = Controller::new(standard_named("ddr4-2400r"), policy);
        assert!(controller.push(Cycle(0), DramAccess::default()));
        assert!(controller.push(Cycle(0), DramAccess { row: 1, token: 1, ..DramAccess::default() }));
        for column in 1..30 {
            assert!(controller.push(Cycle(0), DramAccess { column, ..DramAccess::default() }));
        }
        (1..1000).for_each(|at| controller.tick(Cycle(at)));
        std::iter::from_fn(|| controller.pop_done()).position(|done| done.access.token == 1)
    };
    assert_eq!(served_before_the_other_row(None), Some(30));
    // The cap allows 16 hits after the access that opened the row.
    assert_eq!(served_before_the_other_row(Some(16)), Some(17));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_random_run_breaks_a_timing_and_every_request_finishes(
        device in 0..STANDARDS.len(),
        pattern in 0..PATTERNS.len(),
        writes in prop_oneof![Just(0.0), Just(1.0), 0.05..0.95f64],
        load in prop_oneof![0.01..1.3f64, Just(1.5)],
        refresh: bool,
        single: bool,
        closed: bool,
        policy in 0..4usize,
        queues in prop_oneof![Just((64, 64)), (1..40u32, 2..40u32)],
    ) {
        let standard = STANDARDS[device];
        let base = [ControllerPolicy::RAMULATOR2, ControllerPolicy::RAMULATOR1, ControllerPolicy::DRAMSIM3, ControllerPolicy { order: Order::Fcfs, ..ControllerPolicy::RAMULATOR2 }][policy];
        let policy = ControllerPolicy {
            refresh,
            refresh_banks: if single && standard.timing.tRFCpb > 0 { RefreshBanks::Single } else { RefreshBanks::All },
            page: if closed { Page::Closed } else { Page::Open },
            read_queue: queues.0,
            write_queue: queues.1,
            drain: match base.drain {
                WriteDrain::Marks { .. } => WriteDrain::Marks { above: queues.1 * 4 / 5, below: queues.1.div_ceil(5) },
                batch => batch,
            },
            ..base
        };
        let requests = 1500;
        let (outcome, commands) = run_traced(&DramOptions { standard, policy, pattern: PATTERNS[pattern].1, writes, load, requests });
        prop_assert_eq!(audit(standard, &commands), Ok(()));
        prop_assert_eq!(outcome.measured, requests - requests / 11);
        let bursts: u64 = outcome.banks.iter().map(|bank| bank.reads + bank.writes).sum();
        let columns = commands.iter().filter(|issued| issued.command.is_column()).count() as u64;
        prop_assert_eq!(bursts, columns);
        prop_assert!(columns <= requests);
        if refresh {
            let cycles = commands.last().map_or(0, |issued| issued.at.0);
            let o = &standard.organisation;
            let (command, at_once) =
                if policy.refresh_banks == RefreshBanks::Single { (Command::RefreshBank, o.bank_groups * o.banks) } else { (Command::Refresh, 1) };
            let refreshes = commands.iter().filter(|issued| issued.command == command).count() as u64;
            let due = cycles / (u64::from(standard.timing.tREFI) / u64::from(at_once)) * u64::from(o.pseudo_channels);
            prop_assert!(refreshes + u64::from(2 * o.pseudo_channels) >= due, "{} refreshes, {} due", refreshes, due);
        }
    }
}
