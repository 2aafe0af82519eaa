//! Tests of the sizes of measured programs, of the split of an SM's memory, and of the comparison.

use std::collections::BTreeSet;

use super::*;

fn read_rows() -> SiliconRows {
    SiliconRows::read(&warpshard_lab::reference::References::default()).unwrap()
}

#[test]
fn every_measured_program_has_a_launch_file_its_sizes_and_a_listing_of_the_measured_architecture() {
    let rows = read_rows();
    let programs: BTreeSet<(&str, &str)> = rows.cold.iter().map(|row| (row.program.as_str(), row.set.as_str())).collect();
    assert!(programs.len() > 90);
    for (program, set) in programs {
        let parameters = rows.size_parameters(program, set).unwrap_or_else(|| panic!("{program} {set}"));
        let text = warpshard_config::input::read_text(std::path::Path::new(&format!("programs/{program}.toml"))).unwrap();
        let launch: toml::Table = toml::from_str(&text).unwrap();
        assert!(launch["modules"].get("sm_90").is_some(), "{program}");
        assert!(parameters.iter().all(|(key, _)| launch["parameters"].get(key).is_some()), "{program} {set}");
    }
}

#[test]
fn the_machine_splits_sm_memory_as_the_driver_except_for_three_kernels() {
    let machine = warpshard_run::Catalogue::core().machine(DEFAULT_MACHINE, &[]).unwrap().machine;
    let unified = machine.gpu.sm.l1.unified.unwrap();
    let columns = ["kernel", "launch__shared_mem_config_size", "launch__shared_mem_per_block_allocated"];
    let table = crate::MeasuredTable::LaunchCounters.table(&warpshard_lab::reference::References::default(), &columns).unwrap();
    let mut differ = BTreeSet::new();
    for row in table.rows() {
        let number = |column: &str| row.number::<f64>(column).unwrap() as u32;
        let limits = ["blocks", "registers", "shared_mem", "warps"].map(|limit| number(&format!("launch__occupancy_limit_{limit}")));
        let own = number("launch__shared_mem_per_block") > number("launch__shared_mem_per_block_driver");
        let ctas = limits.into_iter().min().unwrap();
        let ours = unified.shared_bytes(own, number("launch__shared_mem_per_block_allocated"), ctas);
        if ours != Some(number("launch__shared_mem_config_size")) {
            differ.insert((row.text("program").to_owned(), row.text("kernel").to_owned()));
        }
    }
    let known = [("micro/l1_shared_bw", "both"), ("micro/shared_bw", "bandwidth"), ("rodinia/dwt2d", "forward")];
    assert_eq!(differ, known.map(|(program, kernel)| (program.to_owned(), kernel.to_owned())).into());
}

#[test]
fn every_measured_launch_runs_alone_and_is_compared() {
    let request = Request { only: Some("saxpy".into()), quick: true, ..Request::default() };
    let output = study(&request).unwrap();
    let launches = output.column("number").unwrap();
    assert!(!launches.is_empty());
    assert_eq!(output.figure_named("launches whose warp instructions differ"), Some(0.0));
    let none = study(&Request { only: Some("nothing".into()), ..Request::default() }).unwrap_err().to_string();
    assert!(none.contains("no measured program matches `nothing`"), "{none}");
}

#[test]
fn a_launch_has_the_class_of_its_busiest_resource() {
    let mut row = read_rows().cold.into_iter().find(|row| row.active >= LONG_LAUNCH_CYCLES).unwrap();
    (row.active, row.llc_sectors, row.dram, row.issue, row.tensor) = (100_000, 0, 40.0, 30.0, 0.0);
    assert_eq!(LaunchClass::from_utilisation(&row), LaunchClass::Latency);
    row.dram = 60.0;
    assert_eq!(LaunchClass::from_utilisation(&row), LaunchClass::Dram);
    row.tensor = 70.0;
    assert_eq!(LaunchClass::from_utilisation(&row), LaunchClass::Compute);
    row.llc_sectors = 100_000 * 100;
    assert_eq!(LaunchClass::from_utilisation(&row), LaunchClass::Llc);
    row.active = LONG_LAUNCH_CYCLES - 1;
    assert_eq!(LaunchClass::from_utilisation(&row), LaunchClass::Short);
    assert_ne!(LaunchClass::of_long(&row), LaunchClass::Short, "a longer launch of the same kernel is none");
}

#[test]
fn triton_kernels_are_classified_by_computation_and_execute_the_measured_instructions() {
    let rows = read_rows();
    let class = |name: &str| LaunchClass::from_utilisation(rows.cold.iter().find(|row| row.program == name).unwrap());
    let names = ["triton/matmul-512-w8s3", "triton/flash-4x512x64-causal", "triton/softmax-4096x4096", "triton/add-65536"];
    assert_eq!(names.map(class), [LaunchClass::Gemm, LaunchClass::Attention, LaunchClass::Rowwise, LaunchClass::Short]);
    let request = Request { only: Some("triton/add-65536".into()), quick: true, ..Request::default() };
    let output = study(&request).unwrap();
    assert_eq!(output.figure_named("launches whose warp instructions are the hardware's"), Some(1.0));
}

#[test]
fn errors_of_some_suites_do_not_exceed_the_stored_ones() {
    const HEADLINE_FIGURE: &str = "cold: mean absolute error of launches of 10000 cycles and more, %";
    let stored = include_str!("../../results/silicon/suites.csv");
    for line in stored.lines().skip(1) {
        let (suite, mean) = line.split_once(',').unwrap();
        let request = Request { only: Some(suite.to_owned()), quick: true, ..Request::default() };
        let (ours, stored): (f64, f64) = (study(&request).unwrap().figure_named(HEADLINE_FIGURE).unwrap(), mean.parse().unwrap());
        assert!(ours <= stored + 0.5, "{suite}: {ours:.2} %, stored {stored} %");
        assert!(ours >= stored - 0.5, "{suite}: {ours:.2} %, stored {stored} %: store the better one");
    }
}
