//! Tests of the groups, and of figures computed from hand-made runs.

use warpshard_lab::Task;

use super::published::{Quantity, KernelType};
use super::*;

#[test]
fn groups_are_those_of_the_paper() {
    let pairs = all_groups(Configuration::Pairs);
    assert_eq!((pairs.len(), kernels().len()), (28, 8));
    let mut sorted: Vec<Vec<usize>> = pairs.clone();
    sorted.iter_mut().for_each(|pair| pair.sort_unstable());
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), 28, "every pair once");
    let sizes: Vec<usize> = all_groups(Configuration::Pools).iter().map(Vec::len).collect();
    assert_eq!(sizes, [4, 4, 4, 4, 5, 5]);
    let fits = all_groups(Configuration::Fits(16));
    assert_eq!(fits, all_groups(Configuration::FitsWithinOpt(20)));
    assert_eq!(pairs, all_groups(Configuration::WithinOpt));
    assert!(fits.len() == 7 && fits.iter().all(|pair| pair.contains(&kernel_index("KMS"))), "{fits:?}");
}

#[test]
fn register_utilisation_agrees_with_table_iii() {
    let machine = crate::machine("fermi15", &[]).unwrap().machine;
    for kernel in kernels() {
        let ours = occupancy(kernel, &machine, Input::Quick).unwrap();
        let used = ours.each.map(|each| each * f64::from(kernel.opt));
        for (used, published) in used.iter().zip(kernel.utilisation) {
            assert!((used - published).abs() < 0.2, "{}: {used} % used, {published} % published", kernel.name);
        }
        assert_eq!((ours.most, KernelType::from_optimum(kernel.opt, kernel.most)), (kernel.most, kernel.kind), "{}", kernel.name);
    }
}

#[test]
fn an_unknown_configuration_is_refused() {
    assert_eq!(Configuration::named(None).unwrap(), Configuration::Pairs);
    let error = Configuration::named(Some("all")).unwrap_err().to_string();
    let expected = "expected one of pairs, pools, exhaustive, within-opt, fits, fits-within-opt, revised; after fits and fits-within-opt `=N` may follow, N one of 6, 8, 16, 18, 20, 22, 24, 26, 28, 30";
    assert_eq!(error, format!("--configuration all: {expected}"));
    let of = |name| Configuration::named(Some(name)).map_err(|error| error.to_string());
    assert_eq!([of("fits"), of("fits=16"), of("fits=20")], [16, 16, 20].map(|features| Ok(Configuration::Fits(features))));
    assert_eq!(of("fits-within-opt=18"), Ok(Configuration::FitsWithinOpt(18)));
    assert!(["fits=17", "fits=", "pairs=16", "fits=16=16"].iter().all(|name| of(name).is_err()));
    let kms = &kernels()[kernel_index("KMS")];
    let has = |of: &(&String, &Vec<(String, String)>)| of.1.contains(&("features".to_owned(), of.0.clone()));
    assert!(kms.features.len() == 10 && kms.features.iter().all(|input| has(&input)));
    assert_eq!(kms.size_parameters(Input::Features(22))[0].1, "76800");
}

fn run_result(cycles: u64, joules: f64, chosen: &[u32]) -> RunResult {
    RunResult { cycles, joules, memory_stalls: cycles / 2, structural_stalls: cycles / 4, chosen: chosen.to_vec(), ..RunResult::default() }
}

#[test]
fn gains_are_over_left_over_and_every_published_value_is_compared() {
    let pair = [kernel_index("BKP"), kernel_index("KMS")];
    let group = KernelGroupRuns {
        members: pair.to_vec(),
        left_over_run: run_result(1000, 3.0, &[]),
        static_run: run_result(800, 2.5, &[5, 1]),
        dynamic_run: run_result(700, 2.2, &[5, 1]),
        bypassing: RunResult { l1_reads: 100, l1_hits: 50, ..run_result(625, 2.0, &[5, 1]) },
        smart_even_run: run_result(900, 2.8, &[]),
        smc: Some(run_result(850, 2.7, &[])),
        fixed_runs: Vec::new(),
    };
    let occupancy = Occupancy { most: 6, each: [100.0 / 6.0, 0.0, 10.0], ctas: 100 };
    let profiled = |kernel, cycles: [u64; 6]| ProfileRuns { tolerance: 0.0, kernel, occupancy, runs: cycles.map(|cycles| run_result(cycles, 1.0, &[])).to_vec() };
    let profiles = vec![profiled(pair[0], [9, 8, 7, 6, 5, 4]), profiled(pair[1], [3, 4, 5, 6, 7, 8])];
    assert_eq!((profiles[0].optimal_ctas(), profiles[1].optimal_ctas()), (6, 1));
    let beyond = |cycles| ProfileRuns { tolerance: 0.02, ..profiled(pair[0], cycles) }.optimal_ctas();
    assert_eq!((beyond([130, 110, 100, 101, 101, 102]), beyond([130, 110, 100, 101, 101, 103])), (6, 3), "all CTAs if they lose 2 % or less");
    let results = KernelMgmtResults { profiles, groups: vec![group] };
    let mut output = StudyOutput::new("kernel-mgmt", String::new());
    findings::show_pairs(&mut output, &results);
    let compared = published().values.iter().filter(|value| value.of.quantity != Quantity::Pools).count();
    assert_eq!(output.compared().1.len(), compared);
    let ours = |figure: &str| output.figure_named(&format!("{figure}, %")).unwrap();
    assert!((ours("pairs, speedup with cache bypassing, mean") - 60.0).abs() < 1e-9);
    assert!((ours("pairs, work per joule over LeftOver, mean") - 50.0).abs() < 1e-9);
    assert!((ours("pairs, memory stalls against LeftOver, mean") + 37.6).abs() < 1e-9);
    assert!((ours("threads used with the static choice, mean") - 100.0).abs() < 1e-9);
    let shares = ["kernels of the type of Table III", "pairs with the numbers of CTAs of Table IV", "pairs at least as fast as"];
    for share in shares {
        let row = output.compared().1.iter().find(|row| row[0].starts_with(share)).unwrap();
        assert_eq!((row[1].as_str(), row[6].as_str()), ("100.00", "holds"), "{share}");
    }
}

#[test]
fn the_page_has_the_current_cycles() {
    let run = SchemeRun {
        kernels: vec![&kernels()[kernel_index("SPM")]],
        scheme: SharingScheme::Alone(2),
        machine: &published().own.parameters.machine,
        settings: Vec::new(),
        input: Input::Quick,
    };
    let cycles = run.run().unwrap().cycles;
    let sentence = format!("SPM alone with two CTAs per SM takes {cycles} cycles");
    crate::assert_page_contains("kernel_mgmt/kernel-mgmt.md", &sentence);
}

/// Simulates a kernel alone with each number of CTAs per SM; returns its row of `kernels.csv`.
fn simulate_row(cells: &[&str]) -> String {
    let member = kernel_index(cells[0]);
    let request = Request::default();
    let builder = RunBuilder { request: &request, input: Input::Quick, within_opt: false };
    let machine = builder.run(&[member], SharingScheme::LeftOver).machine().unwrap().machine;
    let occupancy = occupancy(&kernels()[member], &machine, Input::Quick).unwrap();
    let runs = (1..=occupancy.most).map(|ctas| builder.run(&[member], SharingScheme::Alone(ctas)).run().unwrap());
    findings::profile_row(&ProfileRuns { kernel: member, occupancy, runs: runs.collect(), tolerance: 0.0 }).join(",")
}

#[test]
fn stored_results_are_reproduced() {
    let results = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernel_mgmt/results"));
    warpshard_lab::stored::check_stored(results, &[("pair", simulate_row)]);
}
