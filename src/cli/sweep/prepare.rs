//! Checks every run of a plan before the first one begins, and finds the digest under which its results are stored.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use warpshard_energy::Model;
use warpshard_sweep::{Digest, Digests, Recipe, Run};

use super::super::args::RunArgs;
use super::super::exit::{Exit, Failure};
use super::super::session::{Opened, request};
use super::super::{build, configuration, policies};
use super::inputs;

/// Wrong runs whose messages are shown.
const SHOWN: usize = 5;

/// A run that is ready to be simulated.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The run.
    pub(super) run: Run,
    /// What its results are stored under.
    pub(super) digest: Digest,
}

/// Checks the machines and workloads of all runs; returns what is allowed but probably not intended, too.
///
/// # Errors
/// The first wrong runs with their messages.
pub(super) fn prepare(runs: Vec<Run>, known: &Digests) -> Result<(Vec<Prepared>, Vec<String>), Failure> {
    let build = build();
    // The first run of each workload loads it, so that a wrong name is found now.
    let mut first: BTreeSet<usize> = BTreeSet::new();
    let mut workloads: BTreeMap<String, usize> = BTreeMap::new();
    for run in &runs {
        let parameters: Vec<_> = run.changes.iter().filter(|(key, _)| key.starts_with("workload.")).collect();
        if *workloads.entry(format!("{:?} {parameters:?}", run.workload)).or_insert(run.number) == run.number {
            first.insert(run.number);
        }
    }
    let checked: Vec<_> = runs.par_iter().map(|run| check(run, build, known, first.contains(&run.number))).collect();
    let (mut prepared, mut wrong, mut warnings) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (run, checked) in runs.into_iter().zip(checked) {
        match checked {
            Ok((digest, said)) => {
                prepared.push(Prepared { run, digest });
                warnings.extend(said);
            }
            Err(failure) => wrong.push((run, failure)),
        }
    }
    if wrong.is_empty() { Ok((prepared, warnings.into_iter().collect())) } else { Err(failure(&wrong, prepared.len() + wrong.len())) }
}

fn failure(wrong: &[(Run, Failure)], of: usize) -> Failure {
    let mut message = format!("{} of {of} runs of the plan are wrong; nothing was simulated", wrong.len());
    let mut said = BTreeSet::new();
    for (run, failure) in wrong.iter().filter(|(_, failure)| said.insert(failure.message.clone())).take(SHOWN) {
        message += &format!("\nrun {}: {}\n{}", run.number, run.line(), failure.message.trim_end());
    }
    Failure::new(wrong[0].1.exit, message)
}

/// The digest of a run, and warnings about its machine.
fn check(run: &Run, build: &str, known: &Digests, load: bool) -> Result<(Digest, Vec<String>), Failure> {
    let arguments = [run.arguments(), vec!["--threads=1".into()]].concat();
    let args: RunArgs = request(&arguments)?;
    let opened = Opened::new(&args, &arguments)?;
    let mut recipe = Recipe::default();
    recipe.add("build", build.as_bytes());
    recipe.add("command", configuration::of(&args, &[]).command.as_bytes());
    recipe.add("machine", opened.loaded().provenance.to_toml().as_bytes());
    let energy = Model::of(opened.machine()).map_err(|problem| Failure::new(Exit::Config, problem))?;
    recipe.add("energy", format!("{energy:?}").as_bytes());
    for file in inputs::of(&args)? {
        let digest = known.file(&file).map_err(|error| Failure::new(Exit::Workload, format!("cannot read {}: {error}", file.display())));
        recipe.add(&format!("file {}", file.display()), digest?.as_bytes());
    }
    policies::controllers(&args.policy)?;
    let warnings = opened.warnings().collect();
    if load {
        opened.load()?;
    }
    Ok((recipe.digest(), warnings))
}
