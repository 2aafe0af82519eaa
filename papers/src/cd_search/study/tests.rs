//! Tests of the pairs, and of figures computed from hand-made runs.

use super::curves::{IpcCurve, best_partition, fewest_sms};
use super::task::RunResult;
use super::*;

#[test]
fn pairs_are_those_of_the_paper() {
    let pairs = all_pairs();
    let memory = |pair: &Members| pair.iter().filter(|app| applications()[**app].kind == ApplicationType::Memory).count();
    let of = |count: usize| pairs.iter().filter(|pair| memory(pair) == count).count();
    assert_eq!((pairs.len(), of(1), of(2), of(0)), (91, 49, 21, 21));
}

#[test]
fn quick_pairs_have_each_application_equally_often() {
    let pairs = quick_pairs();
    assert_eq!(pairs.len(), 21);
    for app in 0..applications().len() {
        assert_eq!(pairs.iter().filter(|pair| pair.contains(&app)).count(), 3, "{}", applications()[app].name);
    }
    assert!(groups_of_four().iter().all(|group| group.len() == 4));
}

#[test]
fn an_unknown_configuration_is_refused() {
    assert_eq!(configuration(None).unwrap(), Configuration::Base);
    let error = configuration(Some("sms-40")).unwrap_err().to_string();
    assert_eq!(error, "--configuration sms-40: expected one of base, sms-30, bandwidth-75, bandwidth-150, four, classes, hashed, curves");
}

/// Returns a run of 100 cycles with these instructions per application and these signals.
fn run(instructions: &[u64], signals: &[(u16, &str, f64)]) -> RunResult {
    RunResult {
        apps: instructions.iter().map(|&instructions| task::Execution { instructions, cycles: 100 }).collect(),
        cycles: 100,
        joules: 10.0,
        seconds: 1.0,
        signals: signals.iter().map(|(sm, name, value)| (50, *sm, (*name).to_owned(), *value)).collect(),
        ..RunResult::default()
    }
}

#[test]
fn the_partition_follows_from_the_recorded_signals() {
    let group = |signals: &[(u16, &str, f64)]| GroupRuns {
        members: vec![0, 7],
        even_run: run(&[1, 1], &[]),
        search_run: run(&[1, 1], signals),
        fixed_run: None,
        shared_runs: None,
    };
    let classes = [(0, "memory_intensive", 0.0), (12, "memory_intensive", 1.0)];
    assert_eq!(group(&[&classes[..], &[(12, "sms", 4.0)]].concat()).chosen_partition(24), Some(vec![20, 4]));
    assert_eq!(group(&[&classes[..], &[(12, "sms", 12.0)]].concat()).chosen_partition(24), None, "it is the even partition");
    assert_eq!(group(&classes).chosen_partition(24), None, "the run ended during the search");
    let both = [(0, "memory_intensive", 1.0), (12, "memory_intensive", 1.0), (0, "sms", 3.0), (12, "sms", 5.0)];
    assert_eq!(group(&both).chosen_partition(24), Some(vec![3, 5]));
}

#[test]
fn every_published_value_is_compared_in_its_configuration() {
    for (_, configuration) in Configuration::ALL.into_iter().filter(|(_, configuration)| !matches!(configuration, Configuration::Classes | Configuration::Curves)) {
        let alone = |app| AloneRuns { app, full_run: run(&[100], &[]), half_run: run(&[80], &[]) };
        let classes = [(0, "memory_intensive", 0.0), (12, "memory_intensive", 1.0), (12, "sms", 4.0)];
        let mixed = GroupRuns {
            members: vec![0, 7],
            even_run: run(&[50, 60], &[]),
            search_run: run(&[80, 60], &classes),
            fixed_run: Some(run(&[82, 60], &[])),
            shared_runs: None,
        };
        let inside = |smk, shares| SharedRuns { smk: run(&[smk, 60], &[]), maestro: run(&[60, 60], &[(0, "shares_sms", shares)]) };
        let mixed = GroupRuns { shared_runs: Some(inside(40, 0.0)), ..mixed };
        let better = GroupRuns { shared_runs: Some(inside(70, 1.0)), ..mixed.clone() };
        let memory = GroupRuns { members: vec![7, 8], fixed_run: Some(run(&[80, 60], &[])), shared_runs: None, ..mixed.clone() };
        let results = CdSearchResults { configuration, sms: 24, alone: [0, 7, 8].map(alone).into(), groups: vec![mixed, better, memory] };
        let mut output = StudyOutput::new("cd-search", String::new());
        findings::show_findings(&mut output, &results);
        let expected = published().values.iter().filter(|value| value.of.configuration == configuration.compared_as()).count();
        assert_eq!(output.compared().1.len(), expected);
        if configuration.compared_as() == Configuration::Base {
            // The STP is 1.1 with the even partition, 1.4 with CD-search, and 1.42 with CD-search's partition from the start.
            let stp = output.figure_named("mixed pairs, STP over the even partition, mean, %").unwrap();
            assert!((stp - 100.0 * (1.4 / 1.1 - 1.0)).abs() < 1e-9, "{stp}");
            let cost = output.figure_named("mixed pairs, STP lost by the search, %").unwrap();
            assert!((cost - 100.0 * (1.42 / 1.4 - 1.0)).abs() < 1e-9, "{cost}");
            // The STP of SMK is 1.0 in one pair and 1.3 in the other, the STP of Maestro 1.2 in both; Maestro keeps the even partition in
            // the first.
            assert_eq!(results.smk_loss_percent(), Some(50.0));
            let maestro = output.figure_named("mixed pairs, STP of Maestro over the even partition, mean, %").unwrap();
            assert!((maestro - 100.0 * (1.2 / 1.1 - 1.0)).abs() < 1e-9, "{maestro}");
            let on_top = output.figure_named("mixed pairs, STP of CD-search on top of Maestro over Maestro, mean, %").unwrap();
            assert!((on_top - 50.0 * (1.4 / 1.2 - 1.0)).abs() < 1e-9, "{on_top}");
        }
    }
}

#[test]
fn the_page_has_the_current_instruction_count() {
    use warpshard_lab::Task;
    let own = &published().own.parameters;
    let task = SharedRun { apps: vec![&applications()[0]], policy: None, machine: &own.machine, settings: own.set.clone(), cycles: 20_000 };
    let issued = task.run().unwrap().instructions;
    let sentence = format!("DXTC alone issues {issued} warp instructions in 20,000 cycles");
    crate::assert_page_contains("cd_search/cd-search.md", &sentence);
}

#[test]
fn stored_results_are_reproduced() {
    let results = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/cd_search/results"));
    warpshard_lab::stored::check_stored(results, &[("classes", |cells| classes::simulate_row(cells[0]))]);
}

#[test]
fn classes_are_compared_with_table_1_and_with_utilisation() {
    let signals = |memory: f64| [(0, "memory_intensive", 0.0), (12, "memory_intensive", memory), (0, "demand", 3.0), (12, "demand", 900.0)];
    let of = |memory| ClassifiedGroup { members: vec![0, 7], run: run(&[50, 60], &signals(memory)) };
    let mut output = StudyOutput::new("cd-search", String::new());
    classes::show_classes(&mut output, &[of(1.0), of(0.0)], &[(0, 0.3), (7, 0.2)]);
    let expected = published().values.iter().filter(|value| value.of.configuration == Configuration::Classes).count();
    assert_eq!((output.compared().1.len(), expected), (2, 2));
    let text = format!("{:?}", output.compared().1);
    assert!(text.contains("50"), "one of two pairs is classified as published: {text}");
    assert_eq!(classes::utilisation_misses(&[(0, 0.3), (7, 0.2)], &[&vec![0, 7]]), Some(100.0), "the compute-intensive one is busier");
    assert_eq!(classes::utilisation_misses(&[(0, 0.1), (7, 0.2)], &[&vec![0, 7]]), Some(0.0));
}

#[test]
fn curves_give_the_best_partition_and_the_fewest_sms() {
    // One curve is linear in SMs, the other flat from a sixth of the SMs.
    let linear = IpcCurve { app: 0, ipc: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] };
    let flat = IpcCurve { app: 7, ipc: [5.0; 6] };
    assert_eq!((linear.progress_on(2.0, 24), linear.progress_on(12.0, 24), flat.progress_on(4.0, 24)), (1.0 / 12.0, 0.5, 1.0));
    let (sms, gain) = best_partition(&linear, &flat, 24);
    assert_eq!(sms, 20, "the flat application keeps a sixth of the SMs");
    assert!((gain - 100.0 * ((20.0 / 24.0 + 1.0) / 1.5 - 1.0)).abs() < 1e-9, "{gain}");
    assert_eq!((fewest_sms(&linear, 24), fewest_sms(&flat, 24)), (12, 4), "within 5 % of half of the SMs");
}
