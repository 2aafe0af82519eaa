//! Tests of the comparison on synthetic runs, where a chip agrees with the paper in everything or breaks one statement, and of a tiny
//! study on the simulator, run in parts and as a whole.

use warpshard_report::ResultFile;
use warpshard_lab::output::StudyOutput;
use warpshard_lab::Lab;
use warpshard_lab::request::Request;
use warpshard_lab::verdict::Verdict;

use super::super::published::GpuType;
use super::findings::findings;
use super::job::{Cpus, ConcurrencyJob, JobMeasurements};
use super::pairs::{CpuType, WorkloadKind, WorkloadPair};
use super::results::ConcurrencyResults;
use super::scheme::{ConcurrencyScheme, System, all_schemes};
use super::span::{CpuCoreCounts, SpanCounts, STEP_CYCLES, Total};
use super::{ConcurrencyOptions, jobs, report, run};
use crate::hetero::study::published::{compare, concurrency};

/// The statement of the paper that a synthetic chip breaks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum BrokenClaim {
    Nothing,
    /// CM-CPU does not slow the GPU.
    CmCpuIsFree,
    /// A limit of 16 warps is better than CM-BAL1.
    StaticWins,
    /// CM-BAL1 makes BFS much slower.
    BalHurtsBfs,
    /// A greater k changes neither CPU nor GPU performance.
    LevelsAreEqual,
    /// DYNCTA helps the CPU cores as much as CM-BAL1.
    DynctaHelpsCpus,
}

/// Returns CPU and GPU performance relative to the baseline, and the warp limit.
fn synthetic_performance(kind: WorkloadKind, job: &ConcurrencyJob, broken: BrokenClaim) -> (f64, f64, f64) {
    let WorkloadKind(gpu, cpu) = kind;
    let by = |h: f64, m: f64, l: f64| match gpu {
        GpuType::H => h,
        GpuType::M => m,
        GpuType::L => l,
    };
    let fewer = if cpu == CpuType::H { 0.8 } else { 1.0 };
    match (job.scheme, job.system) {
        (ConcurrencyScheme::All, _) => (1.0, 1.0, 48.0),
        (ConcurrencyScheme::DynCta, _) => {
            let helps = if broken == BrokenClaim::DynctaHelpsCpus { 1.07 } else { 1.02 };
            (helps, by(0.99, 0.99, 1.07), 40.0)
        }
        (ConcurrencyScheme::Ccws, _) => (1.01, by(1.0, 1.0, 1.1), 48.0),
        (ConcurrencyScheme::CmCpu, _) if broken == BrokenClaim::CmCpuIsFree => (1.24, by(1.0, 1.0, 1.1), fewer * by(20.0, 10.0, 4.0)),
        (ConcurrencyScheme::CmCpu, _) => (1.24, by(0.75, 0.85, 1.1), fewer * by(20.0, 10.0, 4.0)),
        (ConcurrencyScheme::CmBal(_), System::Small) => (1.13, 1.02, 20.0),
        (ConcurrencyScheme::CmBal(_), System::Partitioned) => (1.08, 1.15, 20.0),
        (ConcurrencyScheme::CmBal(level), _) => {
            let more = if broken == BrokenClaim::LevelsAreEqual { 0.0 } else { f64::from(level - 1) };
            let bfs = if broken == BrokenClaim::BalHurtsBfs && job.gpu.as_deref() == Some("BFS") { 0.8 } else { 1.0 };
            (by(1.03, 1.09, 1.09) + 0.04 * more, bfs * (by(0.97, 1.02, 1.2) - 0.02 * more), fewer * by(40.0, 16.0, 6.0))
        }
        (ConcurrencyScheme::Static(warps), _) => {
            let (cpu, gpu) = match warps {
                4 => (1.2, by(0.6, 1.0, 1.15)),
                6 => (1.15, by(0.7, 1.0, 1.1)),
                16 if broken == BrokenClaim::StaticWins => (1.0, 1.2),
                _ => (1.0, 0.97),
            };
            (cpu, gpu, f64::from(warps))
        }
    }
}

/// Returns the measurements of a run on a synthetic chip.
fn synthetic_measurements(job: &ConcurrencyJob, kinds: &[(usize, &'static WorkloadPair)], broken: BrokenClaim) -> JobMeasurements {
    const MILLION: f64 = 1e6;
    let names = match &job.cpus {
        Cpus::Off => Vec::new(),
        Cpus::One(name) => vec![name.clone()],
        Cpus::Mix(mix) => warpshard_cpu_load::CpuMix::named(mix).unwrap().applications,
    };
    let pair = kinds.iter().find(|(_, pair)| Some(&pair.gpu) == job.gpu.as_ref() && job.cpus == Cpus::Mix(pair.mix.clone()));
    let (cpu, gpu, limit) = match (pair, &job.cpus) {
        (Some((_, pair)), _) => {
            let (cpu, gpu, limit) = synthetic_performance(pair.kind(), job, broken);
            (0.5 * cpu, gpu, limit)
        }
        (None, Cpus::Mix(_)) => (0.5 * 1.69, 0.0, 48.0),
        (None, _) => (1.0, 1.25, 48.0),
    };
    let level = |cm_cpu: f64, bal: f64| match job.scheme {
        ConcurrencyScheme::CmCpu => cm_cpu,
        ConcurrencyScheme::CmBal(_) => bal,
        _ => 1.0,
    };
    let mut counts = SpanCounts { cycles: 1_000_000, gpu_cycles: 1_000_000, gpu_issued: (gpu * MILLION) as u64, ..SpanCounts::default() };
    counts.cores = names.iter().map(|_| CpuCoreCounts { instructions: (cpu * MILLION) as u64, cycles: 1_000_000, reads: 10_000 }).collect();
    let type_l = pair.is_some_and(|(_, pair)| pair.kind().0 == GpuType::L);
    let mut total = |total: Total, value: f64| counts.totals[total as usize] = value as u64;
    total(Total::Issued, gpu * MILLION);
    total(Total::StallGpu, gpu * MILLION * level(1.2, if type_l { 0.9 } else { 1.0 }));
    total(Total::StallMc, 3.0 * MILLION * level(0.5, 0.8));
    total(Total::LlcAccesses, MILLION * level(0.8, 0.87));
    total(Total::WarpCycles, 28.0 * 48.0 * MILLION);
    JobMeasurements { counts, applications: names, limit, limits: vec![limit; 4], chip: (28, 48, 4.0) }
}

fn synthetic_results(broken: BrokenClaim) -> (ConcurrencyOptions, ConcurrencyResults) {
    let options = ConcurrencyOptions::new(&Request::default()).unwrap();
    let (pairs, other_system_pairs, schemes) = (options.pairs(), options.other_system_pairs(), all_schemes());
    let runs = jobs(&pairs, &other_system_pairs, &schemes).unwrap().into_iter().map(|job| {
        let run = synthetic_measurements(&job, &pairs, broken);
        (job, run)
    });
    let results = ConcurrencyResults::new(runs, pairs.clone(), other_system_pairs, schemes.clone());
    (options, results)
}

fn verdicts(broken: BrokenClaim) -> Vec<(String, Verdict)> {
    let findings = findings(&synthetic_results(broken).1);
    let verdicts = compare(&concurrency().values, &findings, &mut StudyOutput::new("test", String::new()));
    assert_eq!((findings.len(), verdicts.len()), (concurrency().values.len(), concurrency().values.len()));
    verdicts
}

#[test]
fn a_chip_that_does_what_the_paper_states_holds_in_every_figure() {
    for (id, verdict) in verdicts(BrokenClaim::Nothing) {
        assert_eq!(verdict, Verdict::Holds, "{id}");
    }
}

#[test]
fn a_chip_that_breaks_a_figure_misses_it() {
    for (broken, ids) in [
        (BrokenClaim::CmCpuIsFree, &["cm-cpu-on-gpu", "cm-cpu-on-types", "oss-of-cm-cpu"][..]),
        (BrokenClaim::StaticWins, &["static-on-gpu"]),
        (BrokenClaim::LevelsAreEqual, &["cm-bal-trades"]),
        (BrokenClaim::BalHurtsBfs, &["cm-bal1-worst-gpu"]),
        (BrokenClaim::DynctaHelpsCpus, &["dyncta-on-cpus", "dyncta-below-half"]),
    ] {
        let verdicts = verdicts(broken);
        for id in ids {
            assert!(verdicts.contains(&((*id).to_owned(), Verdict::Misses)), "{broken:?}: {id} in {verdicts:?}");
        }
    }
}

#[test]
fn the_report_has_the_baseline_first_and_a_file_for_every_table_and_plot() {
    let (options, results) = synthetic_results(BrokenClaim::Nothing);
    let output = report(&results, &options);
    assert_eq!(output.column("workload").map(|column| column.len()), Some(9));
    assert_eq!(output.figure_named("published values that hold"), Some(concurrency().values.len() as f64));
    let names: Vec<String> = output.files().unwrap().into_iter().map(|file| file.name.to_string()).collect();
    for name in ["table.csv", "gpu.csv", "pairs.csv", "systems.csv", "runs.csv", "comparison.csv", "oss.svg", "over-time.svg", "index.html"]
    {
        assert!(names.iter().any(|other| other == name), "{name} is not in {names:?}");
    }
}

#[test]
fn runs_alone_are_shared_between_pairs_and_chips() {
    let options = ConcurrencyOptions::new(&Request { full: true, ..Request::default() }).unwrap();
    let jobs = jobs(&options.pairs(), &options.other_system_pairs(), &all_schemes()).unwrap();
    let count = |wanted: &dyn Fn(&ConcurrencyJob) -> bool| jobs.iter().filter(|job| wanted(job)).count();
    assert_eq!(count(&|job| job.system == System::Base && job.cpus == Cpus::Off), 13);
    assert_eq!(count(&|job| matches!(job.cpus, Cpus::One(_)) && job.system == System::Two), 0, "idle SMs are not counted");
    assert_eq!(count(&|job| job.system == System::Base && job.gpu.is_none() && matches!(job.cpus, Cpus::Mix(_))), 6);
    assert_eq!(count(&|job| job.system == System::Base && job.gpu.is_some() && job.cpus != Cpus::Off), 36 * all_schemes().len());
}

#[test]
fn a_study_run_in_parts_has_the_bytes_of_the_whole() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let schemes = [ConcurrencyScheme::All, ConcurrencyScheme::DynCta, ConcurrencyScheme::CmCpu, ConcurrencyScheme::CmBal(1)];
    let files = |pairs, folder: &tempfile::TempDir| -> Vec<ResultFile> {
        let options = ConcurrencyOptions {
            scale: 0.0005,
            longest: Some(8 * STEP_CYCLES),
            pairs: vec![pairs],
            ..ConcurrencyOptions::new(&Request { full: true, ..Request::default() }).unwrap()
        };
        run(&options, &schemes, &Lab::new(Some(folder.path().to_owned()))).unwrap().files().unwrap()
    };
    let [one, two, whole] = &folders;
    files((2, 2), one);
    let part = files((3, 3), two);
    let made = |folder: &tempfile::TempDir| std::fs::read_dir(folder.path()).unwrap().count();
    let before = made(one);
    for file in std::fs::read_dir(two.path()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), one.path().join(file.file_name())).unwrap();
    }
    assert!(made(one) > before);
    let (together, runs) = (files((2, 3), one), made(one));
    assert_eq!(together, files((2, 3), whole));
    assert_ne!(together, part);
    assert_eq!(made(whole), runs, "nothing was simulated that the parts had not");
}

#[test]
fn a_configuration_chooses_programs_and_the_clock_and_keeps_to_the_headline_schemes() {
    let of = |name: &str| ConcurrencyOptions::new(&Request { configuration: Some(name.to_owned()), ..Request::default() });
    let half = of("half-programs").unwrap();
    assert!(half.configuration.programs && half.overrides.iter().any(|set| format!("{set:?}").contains("700 MHz")));
    assert_eq!((half.configuration.schemes().len(), half.other_system_pairs().len()), (4, 0));
    assert_eq!(of("models").unwrap().configuration.schemes(), all_schemes());
    let error = of("programmes").unwrap_err().to_string();
    assert!(error.contains("--configuration programmes: expected one of models, programs, half, half-programs"), "{error}");
}

#[test]
fn eleven_applications_are_programs_that_load() {
    let programs = super::super::published::applications().iter().filter_map(|application| {
        Some((application.program.as_ref()?, &application.parameters))
    });
    let mut count = 0;
    for (file, parameters) in programs {
        let path = std::path::Path::new(file);
        warpshard_program::Program::load(path, Some(70), &[]).unwrap_or_else(|error| panic!("{file}: {error}"));
        let text = warpshard_lab::programs::content(path).unwrap();
        assert!(parameters.iter().all(|(name, _)| text.contains(&format!("\n{name} = "))), "{file} has all of {parameters:?}");
        count += 1;
    }
    assert_eq!(count, 11);
}
