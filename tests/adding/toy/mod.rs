//! A toy paper: one CTA per SM on a machine of two SMs.

use serde::Deserialize;

use warpshard_configs::{File, embedded};
use warpshard_control::{Controller, Decision, DecisionSet, Knob, KnobSet, Observation, Trigger};
use warpshard_lab::job::Job;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::published::{Published, read};
use warpshard_lab::request::{Request, Study, StudyOption};
use warpshard_policy::registry::{Policy, parsed};

use super::Paper;

/// The paper's entry in the program.
pub const PAPER: Paper = Paper { key: "toy", title: "A toy", files: FILES, policies: POLICIES, studies: STUDIES };

/// Machines of the toy paper.
const FILES: &[&[File]] = &[embedded!(Machine, "machines/", ["toy"])];

/// Controllers of the toy paper.
const POLICIES: &[Policy] = &[Policy {
    name: "toy_one_cta",
    help: "one CTA per SM, of a toy paper",
    parameters: &[],
    build: |table| parsed("toy_one_cta", table).map(|Parameters {}| Box::new(OneCta) as Box<dyn Controller>),
}];

/// Studies of the toy paper.
const STUDIES: &[Study] = &[Study {
    name: "toy",
    summary: "one CTA per SM, compared with a toy paper",
    machine: "toy",
    accepted_options: &[StudyOption::Set],
    rejection_reason: "it runs one kernel model",
    swept_keys: &[],
    run: study,
}];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {}

#[derive(Clone, Debug, warpshard_state::State)]
struct OneCta;

impl Controller for OneCta {
    fn name(&self) -> &str {
        "toy_one_cta"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Start]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::CtaLimit])
    }

    fn observe(&mut self, _seen: &Observation<'_>, out: &mut DecisionSet) {
        out.decide(Decision::CtaLimit { sm: None, limit: 1 });
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedSlowdown {
    kernel: String,
}

fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let published: Published<PublishedSlowdown, String> = read("toy", include_str!("published/toy.toml"));
    let all = Job {
        catalogue: request.catalogue,
        machine: "toy".into(),
        settings: request.machine_settings(),
        workload: published.own.kernel,
        parameters: vec![("n".into(), "4096".into())],
        ..Job::default()
    };
    let runs = request.lab().run_tasks(&[all.clone(), all.policy("toy_one_cta")]).map_err(StudyError::input)?;
    let slowdown = runs[1].net_cycles as f64 / runs[0].net_cycles as f64;
    let mut output = StudyOutput::new("toy", "one CTA per SM, compared with a toy paper".into());
    output.columns(&["CTAs", "cycles"]);
    for (ctas, run) in ["all", "1"].into_iter().zip(&runs) {
        output.row(vec![ctas.into(), run.net_cycles.to_string()]);
    }
    for value in &published.values {
        output.grade_number(value, Some(slowdown), &format!(", {}", value.of));
    }
    Ok(output)
}
