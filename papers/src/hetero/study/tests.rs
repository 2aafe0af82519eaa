//! Tests of the comparison on synthetic runs: a chip agrees with the paper in everything or breaks one statement.

use warpshard_lab::output::StudyOutput;
use warpshard_lab::request::Request;
use warpshard_lab::verdict::Verdict;

use super::measure::{SetupMeasurements, measure};
use super::published::{compare, directions};
use super::results::DirectionResults;
use super::setup::{Cpus, DIVERGENT_KERNEL, GATHER_KERNEL, GEMM_KERNEL, HEAVY_MIX, LIGHT_MIX, STREAM_KERNEL, ChipSetup, all_setups};
use super::{HeteroOptions, findings, report};

/// The statement of the paper that a synthetic chip breaks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum BrokenClaim {
    Nothing,
    /// CPU performance rises with every dedicated controller.
    MoreControllersHelp,
    /// A warp limit makes CPU cores slower.
    WarpsHelpCpus,
    /// Dedicated controllers do not slow the GPU and make the CPU cores much faster.
    SplitWins,
    /// The SMs slow down more than the CPU cores.
    GpuLosesMore,
}

/// Returns the figures of a run on a synthetic chip.
fn synthetic_figures(setup: &ChipSetup, broken: BrokenClaim) -> SetupMeasurements {
    let ChipSetup { kernel, cpus, warps, split } = *setup;
    let light = cpus == LIGHT_MIX || matches!(cpus, Cpus::All("perlbench", _));
    let pressure = match kernel {
        None => 0.0,
        Some(GEMM_KERNEL) => 0.05,
        Some(GATHER_KERNEL) => 1.0,
        Some(_) => f64::from(warps) / 48.0,
    };
    let sensitive = if light { 0.05 } else { 0.6 };
    let mut cpu = 1.0 - sensitive * pressure;
    if broken == BrokenClaim::WarpsHelpCpus {
        cpu = 1.0 - sensitive * (1.0 - pressure);
    }
    // Four controllers are best; each controller more or fewer costs performance.
    let away = f64::from(split.controllers.abs_diff(4));
    if split.controllers > 0 {
        cpu *= match broken {
            BrokenClaim::MoreControllersHelp => 1.0 + 0.05 * f64::from(split.controllers),
            BrokenClaim::SplitWins => 3.0,
            _ if split.vcs > 0 => 0.8,
            _ => 1.1 - 0.05 * away,
        };
    } else if split.vcs > 0 {
        cpu *= 1.2 - 0.05 * f64::from(split.vcs);
    }
    let mut gpu = match kernel {
        Some(DIVERGENT_KERNEL) if warps == 8 => 1.5,
        _ => 1.0,
    };
    if warps == 4 && kernel != Some(GATHER_KERNEL) {
        gpu *= 0.7;
    }
    gpu *= match cpus {
        Cpus::Off => 1.0,
        _ if broken == BrokenClaim::GpuLosesMore => 0.2,
        _ => 0.9,
    };
    if broken != BrokenClaim::SplitWins {
        gpu *= 1.0 - 0.1 * f64::from(split.controllers);
    }
    gpu *= 1.0 - 0.1 * f64::from(split.vcs);
    let names: Vec<String> = match cpus {
        Cpus::Off => Vec::new(),
        Cpus::All(name, cores) => vec![name.to_owned(); cores as usize],
        Cpus::Mix(mix) => {
            let mix = warpshard_cpu_load::CpuMix::named(mix).unwrap();
            mix.applications
        }
    };
    SetupMeasurements {
        cores: names.into_iter().map(|name| (name, cpu)).collect(),
        cut: 0,
        gpu_ipc: if kernel.is_some() { gpu } else { 0.0 },
        stall_mc: 6.0 * pressure,
        stall_net: if kernel == Some(DIVERGENT_KERNEL) { 4.0 * pressure } else { 0.0 },
        llc_accesses: gpu * (1.0 + pressure),
        llc_misses: 0.5,
        bandwidth: 0.7 - 0.02 * f64::from(split.controllers),
        read_latency: 300.0,
    }
}

fn verdicts(broken: BrokenClaim) -> Vec<(String, Verdict)> {
    let results = DirectionResults::new(all_setups().into_iter().map(|setup| (setup, synthetic_figures(&setup, broken))));
    compare(&directions().values, &findings(&results), &mut StudyOutput::new("test", String::new()))
}

#[test]
fn every_statement_is_graded_once() {
    let results = DirectionResults::new(all_setups().into_iter().map(|setup| (setup, synthetic_figures(&setup, BrokenClaim::Nothing))));
    let mut found: Vec<&str> = findings(&results).iter().map(|finding| finding.id).collect();
    let mut stated: Vec<&str> = directions().values.iter().map(|value| value.of.as_str()).collect();
    found.sort_unstable();
    stated.sort_unstable();
    assert_eq!(found, stated);
    assert!(verdicts(BrokenClaim::Nothing).iter().all(|(_, verdict)| *verdict != Verdict::NotRun));
}

#[test]
fn a_chip_that_does_what_the_paper_says_agrees_in_every_direction() {
    let directions: Vec<&str> =
        directions().values.iter().filter(|value| value.claim.kind() == "direction").map(|value| value.of.as_str()).collect();
    for (id, verdict) in verdicts(BrokenClaim::Nothing) {
        assert!(verdict == Verdict::Holds || !directions.contains(&id.as_str()), "{id}");
    }
}

#[test]
fn a_chip_that_breaks_a_statement_misses_it() {
    for (broken, ids) in [
        (BrokenClaim::MoreControllersHelp, &["controllers-four-for-cpu", "controllers-more-than-four-hurt"][..]),
        (BrokenClaim::WarpsHelpCpus, &["fewer-warps-help-heavy-cpus", "fewer-warps-never-hurt-cpus"]),
        (BrokenClaim::SplitWins, &["shared-is-the-best-whole", "controllers-fewer-hurt-gpu"]),
        (BrokenClaim::GpuLosesMore, &["cpus-lose-more", "a-kernel-beside-mcf"]),
    ] {
        let verdicts = verdicts(broken);
        for id in ids {
            assert!(verdicts.contains(&((*id).to_owned(), Verdict::Misses)), "{broken:?}: {id}");
        }
    }
}

#[test]
fn the_report_has_a_row_per_run_a_graded_comparison_and_plots() {
    let results = DirectionResults::new(all_setups().into_iter().map(|setup| (setup, synthetic_figures(&setup, BrokenClaim::Nothing))));
    let output = report(&results);
    assert_eq!(output.column("kernel").unwrap().len(), all_setups().len());
    assert_eq!(output.compared().1.len(), directions().values.len());
    let files = output.files().unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    for name in ["table.csv", "runs.csv", "warps-cpu.svg", "warps-stalls.svg", "controllers.svg", "network.svg"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    let runs = files.iter().find(|file| file.name == "runs.csv").unwrap();
    assert_eq!(String::from_utf8(runs.contents()).unwrap().lines().count(), 1 + all_setups().len());
}

#[test]
fn heavy_setups_are_cut_and_light_ones_are_measured_between_two_cycles() {
    let options = HeteroOptions {
        light_warm: 2000,
        light_from: 24_000,
        light_until: 28_000,
        longest: 12_000,
        ..HeteroOptions::new(&Request::default())
    };
    let heavy = measure(&ChipSetup::together(STREAM_KERNEL, HEAVY_MIX), &options).unwrap();
    assert!(heavy.cut > 0 && heavy.stall_mc > 0.0 && heavy.gpu_ipc > 0.0 && heavy.cores.len() == 14, "{heavy:?}");
    let light = ChipSetup { warps: 4, ..ChipSetup::together(STREAM_KERNEL, LIGHT_MIX) };
    let measured = measure(&light, &options).unwrap();
    assert!(measured.cores.iter().all(|(_, ipc)| (0.01..=3.0).contains(ipc)), "{measured:?}");
    assert_eq!((measured.cut, measured.clone()), (0, measure(&light, &options).unwrap()));
    let early = HeteroOptions { light_from: 3000, ..options };
    assert!(measure(&light, &early).unwrap_err().to_string().contains("had not settled by cycle 3000"));
}

#[test]
fn the_page_has_what_the_program_gives_now() {
    let run = measure(&ChipSetup::together(STREAM_KERNEL, Cpus::Off), &HeteroOptions::new(&Request::default())).unwrap();
    let sentence = format!("`stream` alone issues {:.4} warp instructions per core cycle, with `stall_mc` {:.4}", run.gpu_ipc, run.stall_mc);
    crate::assert_page_contains("hetero/hetero.md", &sentence);
}
