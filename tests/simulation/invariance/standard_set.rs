//! The standard set gives the same bytes for every way of running, as checked by `bench --check`.

use std::path::PathBuf;

use warpshard::validate::bench::{CheckOptions, run_check};
use warpshard::{lab::output::StudyError, lab::reference::References, validate::Traces};

use crate::common;

fn traces() -> Traces<'static> {
    let cache = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/traces");
    Traces {
        catalogue: warpshard::catalogue(),
        machine: "v100",
        overrides: vec![("gpu.dispatch.launch_latency".to_owned(), "0".to_owned())],
        cache,
    }
}

#[test]
fn the_beginnings_of_all_traces_are_the_same_on_every_number_of_threads_and_with_every_length_of_epochs() {
    let options = CheckOptions { max_cycles: Some(1500), only: None };
    let output = run_check(&References::default(), &traces(), &options).unwrap_or_else(|error| panic!("{error}"));
    let text = output.text();
    let recorded = if common::shared("sass").is_some() { 2 } else { 0 };
    assert_eq!(text.matches(" none").count(), 12 + recorded, "{text}");
}

#[test]
fn a_whole_trace_is_the_same_too() {
    let options = CheckOptions { max_cycles: None, only: Some("pchase_dram".to_owned()) };
    run_check(&References::default(), &traces(), &options).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn an_unknown_trace_name_is_an_error() {
    let options = CheckOptions { max_cycles: None, only: Some("no such trace".to_owned()) };
    assert!(matches!(run_check(&References::default(), &traces(), &options), Err(StudyError::Nothing(_))));
}
