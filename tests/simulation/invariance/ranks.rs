//! Several ranks with several threads each simulate one machine: every rank ends with the bytes of a single-process run.

use warpshard::chip::{CpuApplication, CpuEnd, CpuLoad, RunError, RunOptions, RunResult, simulate};
use warpshard::engine::{LocalRanks, Ranks};

use super::files::{ResultFiles, files, run};
use super::{in_rotation, systems, with_interval};
use crate::common::{SimulationCase, at_length, built_in, cases, machine};

/// Pairs of ranks and threads per rank.
const RANKS_AND_THREADS: [(usize, usize); 5] = [(1, 2), (2, 1), (2, 2), (4, 1), (3, 2)];

/// Runs all ranks as threads of this process and returns their results.
pub(crate) fn run_in_ranks(
    case: &SimulationCase,
    (ranks, threads): (usize, usize),
    options: impl Fn(usize) -> RunOptions + Sync,
) -> Vec<Result<RunResult, RunError>> {
    std::thread::scope(|scope| {
        let start = |rank: LocalRanks| {
            let options = &options;
            scope.spawn(move || {
                let options = options(rank.rank());
                let ranks: Option<Box<dyn Ranks>> = Some(Box::new(rank));
                simulate(&case.machine, &case.workload, RunOptions { ranks, threads, ..options })
            })
        };
        let handles: Vec<_> = LocalRanks::connected(ranks).into_iter().map(start).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    })
}

fn assert_same_files(case: &SimulationCase, base: &ResultFiles, way: (usize, usize), options: impl Fn() -> RunOptions + Sync) {
    for (rank, result) in run_in_ranks(case, way, |_| options()).into_iter().enumerate() {
        let other = files(case, &result.unwrap_or_else(|error| panic!("{}: rank {rank} of {way:?}: {error}", case.name)));
        let what = format!("{}: rank {rank} of {} ranks with {} threads", case.name, way.0, way.1);
        assert_eq!(other.stats, base.stats, "{what}: stats.json");
        assert_eq!(other.intervals, base.intervals, "{what}: intervals.csv");
        assert_eq!(other.timeline, base.timeline, "{what}: timeline.csv");
    }
}

#[test]
fn ranks_change_nothing() {
    for (i, case) in cases().iter().enumerate() {
        let base = run(case, with_interval(case));
        // The first case runs in all ways, the other cases in some.
        for (_, way) in
            RANKS_AND_THREADS.into_iter().enumerate().filter(|(way, _)| i == 0 || way % 5 == i % 5 || at_length() && way % 3 == i % 3)
        {
            assert_same_files(case, &base, way, || with_interval(case));
        }
    }
}

#[test]
fn ranks_change_nothing_on_a_chip_with_cpu_cores() {
    let overrides = [("gpu.dispatch.launch_latency", "200")];
    let workload = built_in("gather", &[("cta_count", "24"), ("table", "262144"), ("rounds", "2")]);
    let policy = Some(("cm_cpu", "high = 0.02\nlow = 0.01\ninterval = 256"));
    let case = SimulationCase { name: "gather with three profiles".into(), machine: machine("hetero-small", &overrides), workload, policy };
    let options = || {
        let applications = ["mcf", "lbm", "gcc"].iter().map(|name| CpuApplication::named(name).unwrap()).collect();
        let load = CpuLoad { applications, warm: 1500, measure: 4000, gpu_waits: true, end: CpuEnd::Both, seed: 1 };
        RunOptions { interval: Some(1024), cpu: Some(load), controllers: case.controllers(), ..RunOptions::default() }
    };
    let base = run(&case, options());
    in_rotation(&RANKS_AND_THREADS[2..], 0).iter().for_each(|way| assert_same_files(&case, &base, *way, options));
}

#[test]
fn ranks_change_nothing_in_systems_of_several_gpus() {
    for (i, case) in systems::system_cases().iter().enumerate() {
        let base = run(case, with_interval(case));
        for (_, way) in RANKS_AND_THREADS.into_iter().enumerate().filter(|(way, _)| way % 5 == i % 5 || at_length() && way % 2 == i % 2) {
            assert_same_files(case, &base, way, || with_interval(case));
        }
    }
}

#[test]
fn ranks_with_limits_short_epochs_and_stepping_match_one_process() {
    let case = &cases()[0];
    for (epoch, skip) in [(Some(1), true), (Some(7), false)] {
        let options = || RunOptions { max_cycles: Some(2_345), epoch, skip, ..with_interval(case) };
        assert_same_files(case, &run(case, options()), (3, 2), options);
    }
}

#[test]
fn a_request_to_stop_on_one_rank_ends_all_at_the_same_cycle() {
    let case = &cases()[2];
    let asked = RunOptions::default();
    asked.stop.request();
    let results = run_in_ranks(case, (2, 1), |rank| {
        if rank == 0 { RunOptions { stop: asked.stop.clone(), ..with_interval(case) } } else { with_interval(case) }
    });
    let files: Vec<ResultFiles> = results.iter().map(|result| files(case, result.as_ref().unwrap())).collect();
    assert_eq!(files[0], files[1]);
    assert!(files[0].stats.contains("\"interrupted\""));
}

/// A rank that panics after a few exchanges.
#[derive(Debug)]
struct FailingRank(LocalRanks, u32);

impl Ranks for FailingRank {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn count(&self) -> usize {
        self.0.count()
    }

    fn exchange(&mut self, out: &mut [Vec<u8>], came: &mut [Vec<u8>]) -> Result<(), String> {
        self.1 -= 1;
        assert!(self.1 > 0, "this rank dies");
        self.0.exchange(out, came)
    }
}

#[test]
fn a_failing_rank_ends_the_others_with_its_number() {
    let case = &cases()[0];
    let errors: Vec<String> = std::thread::scope(|scope| {
        let start = |rank: LocalRanks| {
            scope.spawn(move || {
                let ranks: Box<dyn Ranks> = if rank.rank() == 1 { Box::new(FailingRank(rank, 9)) } else { Box::new(rank) };
                simulate(&case.machine, &case.workload, RunOptions { ranks: Some(ranks), threads: 2, ..with_interval(case) })
            })
        };
        let handles: Vec<_> = LocalRanks::connected(3).into_iter().map(start).collect();
        handles.into_iter().map(|handle| handle.join().unwrap().unwrap_err().to_string()).collect()
    });
    assert!(errors[1].contains("this rank dies"), "{errors:?}");
    assert!(
        [0, 2].iter().all(|rank| errors[*rank].contains("rank 1 of 3 ended before the run did") || errors[*rank].contains("rank")),
        "{errors:?}"
    );
}
