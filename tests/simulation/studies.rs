//! The registry of studies: every study refuses the options that it does not support, and uses the others.

use warpshard::lab::request::{Request, StudyOption};
use warpshard::{catalogue, find_study, studies};

/// Returns a request with one option, with an invalid value if there is one, and a part of the expected message.
fn invalid_request(option: StudyOption) -> (Request, Option<&'static str>) {
    let none = || Request { catalogue: catalogue(), ..Request::default() };
    match option {
        StudyOption::Machine => (Request { machine: Some("no-such-machine".into()), ..none() }, Some("no-such-machine")),
        StudyOption::Set => (Request { set: vec![("no.such.key".into(), "1".into())], ..none() }, Some("no.such.key")),
        StudyOption::Policy => (Request { policy: vec!["no_such_policy".into()], ..none() }, Some("no_such_policy")),
        StudyOption::Order => (Request { order: Some("no-such-order".into()), ..none() }, Some("no-such-order")),
        StudyOption::Only => (Request { only: Some("no-such-kernel".into()), ..none() }, Some("no-such-kernel")),
        StudyOption::Pairs => (Request { pairs: vec![(99, 99)], ..none() }, Some("--pairs")),
        StudyOption::Length => (Request { full: true, ..none() }, None),
        StudyOption::Configuration => (Request { configuration: Some("none".into()), ..none() }, None),
        StudyOption::Windows => (Request { cpu_warm: Some(1), ..none() }, None),
        StudyOption::Longest => (Request { longest: Some(1), ..none() }, None),
        StudyOption::Scale => (Request { scale: Some(0.5), ..none() }, None),
        StudyOption::Workload => (Request { workload: Some("vecadd".into()), ..none() }, Some("--workload")),
        StudyOption::Cycles => (Request { cycles: Some(1), ..none() }, None),
    }
}

#[test]
fn every_study_refuses_unsupported_options_and_uses_the_others() {
    for study in studies() {
        for option in StudyOption::ALL {
            let (request, value) = invalid_request(option);
            if !study.accepted_options.contains(&option) {
                let message = study.start(&request).unwrap_err().to_string();
                let refusal = format!("study `{}` does not take {}: ", study.name, option.flag());
                assert!(message.starts_with(&refusal) && message.len() > refusal.len(), "{message}");
            } else if let Some(value) = value {
                let message = study.start(&request).unwrap_err().to_string();
                assert!(message.contains(value), "{} {}: {message}", study.name, option.flag());
            }
        }
    }
}

#[test]
fn a_study_refuses_settings_of_its_own_machine_and_models() {
    for study in studies().into_iter().filter(|study| study.accepted_options.contains(&StudyOption::Set)) {
        let message = |key: &str| {
            let set = vec![(key.to_owned(), "1".to_owned())];
            study.start(&Request { set, catalogue: catalogue(), ..Request::default() }).unwrap_err().to_string()
        };
        for key in study.swept_keys {
            assert!(message(key).contains(&format!("sets {key} itself")), "{}", study.name);
        }
        if !study.accepted_options.contains(&StudyOption::Workload) {
            assert!(message("workload.n").contains("--set workload.n"), "{}", study.name);
        }
    }
}

#[test]
fn studies_of_kernels_support_a_policy_and_an_order() {
    for name in ["characterise", "phase-aware", "perf-sat", "onac", "oracle"] {
        let study = find_study(name).unwrap();
        assert!([StudyOption::Policy, StudyOption::Order].iter().all(|option| study.accepted_options.contains(option)), "{name}");
    }
}
