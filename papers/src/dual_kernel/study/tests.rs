//! Tests of figures computed from hand-made runs, of the page and of the stored results.

use std::path::Path;

use warpshard_stats::TimelineEntry;

use super::cell::{PreemptionCounts, RequestCounts, request_counts};
use super::*;

fn timeline_entry(cycle: u64, sm: Option<u16>, name: &'static str, value: f64) -> TimelineEntry {
    TimelineEntry { cycle, controller: "dual_kernel".into(), sm, name, value: Some(value), reason: String::new() }
}

#[test]
fn a_timeline_is_counted_by_request() {
    let mut timeline = vec![
        timeline_entry(1000, None, "request", 4.0),
        timeline_entry(1000, Some(0), "running", 1.0),
        timeline_entry(1000, Some(0), "drained", 1.0),
        timeline_entry(1000, Some(0), "flushed", 2.0),
        timeline_entry(1000, Some(0), "flush_overhead", 500.0),
        timeline_entry(1000, Some(1), "running", 1.0),
        timeline_entry(1000, Some(1), "flush_overhead", 100.0),
        timeline_entry(1000, Some(2), "running", 2.0),
        timeline_entry(1400, Some(0), "drain_estimate", 300.0),
        timeline_entry(1400, Some(0), "drain_latency", 200.0),
        timeline_entry(1400, Some(0), "latency", 250.0),
        timeline_entry(1400, Some(0), "overhead", 90.0),
        timeline_entry(1400, None, "utilisation", 0.5),
        timeline_entry(9000, None, "request", 5.0),
        timeline_entry(9000, Some(0), "running", 1.0),
        timeline_entry(9000, Some(0), "flush_overhead", 200.0),
        timeline_entry(9400, Some(0), "latency", 350.0),
        timeline_entry(9400, Some(0), "overhead", 200.0),
        timeline_entry(20_000, None, "request", 6.0),
    ];
    // Rows of decisions have a reason; they are not signals of the ledger.
    timeline.push(TimelineEntry { reason: "kernel4 arrived".into(), ..timeline_entry(1000, Some(0), "overhead", 7.0) });
    let kernel = |number: u32| Some((format!("k{number}"), (4..6).contains(&number).then(|| 4000 + 8000 * (u64::from(number) - 4))));
    let got = request_counts(&timeline, 300, kernel);
    let of =
        |all: &[(&str, u64)]| all.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<std::collections::BTreeMap<_, _>>();
    let kernels: Vec<_> = got.requests.iter().map(|seen| seen.kernels.clone()).collect();
    assert_eq!(kernels, [of(&[("k1", 2), ("k2", 1)]), of(&[("k1", 1)]), of(&[])]);
    let numbers: Vec<_> = got.requests.iter().map(|seen| (seen.preemptions, seen.violations, seen.overhead, seen.flush_overhead)).collect();
    // SM 1 of the first request has no latency; the latency of the second request exceeds the bound.
    assert_eq!(numbers, [(3, 1, 90.0, 600.0), (1, 1, 200.0, 200.0), (0, 0, 0.0, 0.0)]);
    // SM 2 of the first request has space for the task without victims.
    assert_eq!(got.requests.iter().map(|seen| seen.emptied).collect::<Vec<_>>(), [2, 1, 0]);
    // Flushing SM 1 of the first request would have wasted 100 instructions within the bound; the second request wasted all its
    // instructions anyway.
    assert_eq!(got.requests.iter().map(|seen| seen.late_overhead).collect::<Vec<_>>(), [100.0, 0.0, 0.0]);
    let first = &got.requests[0];
    assert_eq!((first.drained, first.flushed, first.switched), (1, 2, 0));
    assert_eq!(got.requests.iter().map(|seen| seen.finished).collect::<Vec<_>>(), [Some(3000), Some(3000), None]);
    assert_eq!((first.utilisation, first.drain_error), (Some(0.5), (0.5, 1)));
    let times = AloneTimes { shares: vec![1.0], ..AloneTimes::default() };
    let got = PreemptionFigures::new(&benchmarks()[0], &times, &[], got, Vec::new());
    // By hand: the ratio is 290 / 800, and 90 and 200 differ from it by 127.5 each; there are three requests.
    let spread = got.overhead_spread().unwrap();
    assert!((spread - 100.0 * 1.96 * (2.0f64 * 127.5 * 127.5 * 1.5).sqrt() / 800.0).abs() < 1e-9, "{spread}");
    assert_eq!((got.violation_rate(), got.late_rate(), got.overhead_rate()), (Some(50.0), Some(100.0), Some(36.25)));
    assert_eq!((got.missed_rate(2700.0), got.missed_rate(2699.0).map(f64::round)), (Some(0.0), Some(67.0)));
    assert_eq!((got.median_finish(), got.mean_utilisation()), (Some(3000.0), Some(50.0)));
}

#[test]
fn a_rare_kernel_has_separate_arrivals_and_is_weighted_by_its_time() {
    let bfs = benchmarks().iter().find(|one| one.name == "bfs").unwrap();
    let spans = vec![vec![(80, 9580)], vec![(9580, 10_000), (10_100, 10_180)]];
    let times = AloneTimes { cycles: 10_180, kernels: vec![(1, 5000.0, 1.0, 1); 2], shares: vec![0.95, 0.05], spans, ..AloneTimes::default() };
    assert_eq!((times.rare_kernels(70), times.rare_kernels(267)), (vec![1], Vec::new()), "20 and 13.35 arrivals are enough for 200 preemptions");
    let setup = StudySetup { configuration: Configuration::Base, settings: Vec::new() };
    let cell = PreemptedRun {
        setup,
        benchmark: bfs,
        scheme: PublishedScheme::Dual,
        bound: 2,
        points: 70,
        window: 20_000,
        at: None,
        overwrites: Arc::default(),
    };
    let stratum = KernelStratum::new(cell, &times, 1);
    assert_eq!((stratum.kernel.as_str(), stratum.arrivals.len()), ("advance", 18));
    assert!(stratum.arrivals.iter().all(|at| (9580..10_000).contains(at) || (10_100..10_180).contains(at)), "{:?}", stratum.arrivals);
    let one = PreemptedRun { at: Some(9600), ..stratum.cell };
    assert_eq!((one.arrival_cycles(), one.max_cycles()), (vec![warpshard_base::Cycle(9600)], 209_600));

    let seen = |kernel: &str, violations| RequestCounts {
        preemptions: 10,
        violations,
        kernels: [(kernel.to_owned(), 10)].into_iter().filter(|(name, _)| !name.is_empty()).collect(),
        ..RequestCounts::default()
    };
    let windows = PreemptionCounts { bound: 2800, requests: vec![seen("visit", 1), seen("visit", 3), seen("advance", 9), seen("", 2)] };
    // The last of these requests found no CTA of `advance`, so it does not count.
    let further = PreemptionCounts { bound: 2800, requests: vec![seen("advance", 5), seen("advance", 10), seen("", 10)] };
    let figures = PreemptionFigures::new(bfs, &times, &[1], windows, vec![further]);
    assert_eq!(figures.total_count(|_| 1), 6);
    // 20 % of the preemptions violate the bound in 95 % of the time, and 80 % in the rest.
    assert!((figures.violation_rate().unwrap() - 23.0).abs() < 1e-9, "{:?}", figures.violation_rate());
}

#[test]
fn the_number_of_arrivals_suffices_for_each_kernel() {
    let kernels = vec![(1, 5000.0, 1.0, 1); 2];
    let points = |cycles: u64, shares: [f64; 2], most: u32| {
        AloneTimes { cycles, kernels: kernels.clone(), shares: shares.to_vec(), ..AloneTimes::default() }.arrival_count(most)
    };
    // A window has 20,000 cycles, and each kernel needs 18 arrivals.
    assert_eq!(points(100_000, [1.0, 1.0], 1000), 18);
    assert_eq!(points(100_000, [0.75, 0.25], 1000), 72);
    assert_eq!(points(100_000, [0.75, 0.0], 1000), 1000, "a kernel without time is not hit");
    assert_eq!(points(2_010_000, [0.5, 0.5], 1000), 101, "the benchmark is executed once");
}

/// Returns results in which `of` gives the violations and the overhead in percent of each scheme, for 100 preemptions at each bound.
fn example_results(configuration: Configuration, of: impl Fn(PublishedScheme) -> (u64, f64)) -> DualKernelResults {
    let times = AloneTimes { shares: vec![1.0], ..AloneTimes::default() };
    let figures = |(scheme, bound): (PublishedScheme, u32)| {
        let (violations, overhead) = of(scheme);
        let seen = RequestCounts { preemptions: 100, violations, overhead, flush_overhead: 100.0, drain_error: (0.3, 1), ..RequestCounts::default() };
        let seen = RequestCounts { utilisation: Some(if scheme.shares_sms() { 0.9 } else { 0.3 }), ..seen };
        let counts = PreemptionCounts { bound: 2800, requests: vec![seen] };
        (BoundedScheme { scheme, bound }, PreemptionFigures::new(&benchmarks()[0], &times, &[], counts, Vec::new()))
    };
    let point = BenchmarkRuns { benchmark: &benchmarks()[0], times: times.clone(), figures: scheme_cells().map(figures).collect() };
    DualKernelResults { configuration, task_alone: 1000.0, benchmarks: vec![point] }
}

#[test]
fn every_published_value_is_compared_and_the_order_is_graded() {
    let graded = |of: fn(PublishedScheme) -> (u64, f64)| {
        let mut output = StudyOutput::new("dual-kernel", String::new());
        findings::show_findings(&mut output, &example_results(Configuration::Base, of));
        output
    };
    let ordered = graded(|scheme| match scheme {
        PublishedScheme::Oracle => (6, 30.0),
        PublishedScheme::Dual => (8, 50.0),
        PublishedScheme::Chimera | PublishedScheme::ChimeraPlus => (14, 67.0),
    });
    assert_eq!(ordered.compared().1.len(), published().values.len());
    let ours = ordered.compared().1.iter().find(|row| row[0].starts_with("violations at 2 us, dual kernel"));
    assert!(ours.is_some_and(|row| row.iter().any(|cell| cell == "8.00")), "{ours:?}");
    let verdict = |output: &StudyOutput, figure: &str| {
        let row = output.compared().1.iter().find(|row| row[0].starts_with(figure)).cloned();
        row.unwrap_or_default().iter().any(|cell| cell == "holds")
    };
    assert!(verdict(&ordered, "violations: Oracle") && verdict(&ordered, "overhead: Oracle") && verdict(&ordered, "utilisation"));
    let reversed = graded(|scheme| if scheme == PublishedScheme::Oracle { (20, 80.0) } else { (10, 50.0) });
    assert!(!verdict(&reversed, "violations: Oracle") && !verdict(&reversed, "overhead: Oracle"));
    let mut other = StudyOutput::new("dual-kernel", String::new());
    findings::show_findings(&mut other, &example_results(Configuration::Wide, |_| (1, 1.0)));
    assert!(other.compared().1.is_empty());
}

#[test]
fn an_unknown_configuration_is_refused() {
    assert_eq!(configuration(None).unwrap(), Configuration::Base);
    assert_eq!(configuration(Some("deep")).unwrap_err().to_string(), "--configuration deep: expected one of base, traffic, wide, compiled, beyond, in-turn");
}

#[test]
fn an_sm_holds_as_many_ctas_of_each_kernel_as_table_4_2_says() {
    use warpshard_chip::{RunOptions, simulate};
    use warpshard_program::Program;
    let setup = StudySetup { configuration: Configuration::Base, settings: Vec::new() };
    let machine = setup.machine(Some(PublishedScheme::Dual)).unwrap().machine;
    for benchmark in benchmarks() {
        let mut program = Program::load(Path::new(&benchmark.program), Some(70), &[]).unwrap().workload().unwrap();
        for kernel in &mut program.kernels {
            let row = benchmark.kernels.iter().find(|row| row.kernel == kernel.info.name).expect("the table has all kernels");
            assert_eq!(kernel.info.threads_per_cta().next_multiple_of(32), row.threads, "{} {}", benchmark.name, row.kernel);
            (kernel.info.registers, kernel.info.shared_bytes) = (row.registers / row.threads, row.shared);
        }
        let run = simulate(&machine, &Arc::new(program), RunOptions { max_cycles: Some(1), ..RunOptions::default() }).unwrap();
        for row in &benchmark.kernels {
            let kernel = run.outcome.kernels.iter().find(|kernel| kernel.name == row.kernel);
            assert_eq!(kernel.map(|kernel| kernel.ctas_per_sm), Some(row.ctas), "{} {}", benchmark.name, row.kernel);
        }
    }
}

#[test]
fn the_page_has_the_current_cycles_of_the_task() {
    use warpshard_lab::Task;
    let setup = StudySetup { configuration: Configuration::Base, settings: Vec::new() };
    let cycles = TaskAloneRun { setup }.run().unwrap();
    let sentence = format!("The task alone takes {cycles:.0} core cycles");
    crate::assert_page_contains("dual_kernel/dual-kernel.md", &sentence);
}

#[test]
fn stored_results_are_reproduced() {
    let results = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/dual_kernel/results"));
    warpshard_lab::stored::check_stored(results, &[("hotspot", |_| {
        use warpshard_lab::Task;
        let setup = StudySetup { configuration: Configuration::Base, settings: Vec::new() };
        format!("execution of the task alone, core cycles: {:.3}", TaskAloneRun { setup }.run().unwrap())
    })]);
}
