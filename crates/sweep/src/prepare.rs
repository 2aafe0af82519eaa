//! Checks every run of a plan before the first one begins, and computes the digest under which its results are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use rayon::prelude::*;

use warpshard_energy::Model;
use warpshard_run::{Catalogue, Digest, Digests, Error, OpenedRun, Recipe, Request, configuration_of, controllers_of, files_of};

use super::error::{RunFailure, SweepError};
use super::expand::SweepRun;

/// Maximum number of invalid runs whose messages are shown.
const MAX_SHOWN_FAILURES: usize = 5;

/// A run that is ready to be simulated.
#[derive(Debug)]
pub(super) struct PreparedRun {
    /// The run of the plan.
    pub(super) run: SweepRun,
    /// Digest under which the results are stored.
    pub(super) digest: Digest,
}

/// Checks the machines and workloads of all runs; also returns warnings about settings that are allowed but probably unintended.
///
/// # Errors
/// Fails if a run is invalid, with the messages of the first invalid runs.
pub(super) fn prepare(catalogue: &Catalogue, runs: Vec<SweepRun>, known: &Digests) -> Result<(Vec<PreparedRun>, Vec<String>), SweepError> {
    // The first run of each workload loads the workload, so that an invalid name is found early.
    let mut first: BTreeSet<usize> = BTreeSet::new();
    let mut workloads: BTreeMap<String, usize> = BTreeMap::new();
    for run in &runs {
        let parameters: Vec<_> = run.changes.iter().filter(|(key, _)| key.starts_with("workload.")).collect();
        if *workloads.entry(format!("{:?} {parameters:?}", run.workload)).or_insert(run.number) == run.number {
            first.insert(run.number);
        }
    }
    let checked: Vec<_> =
        runs.par_iter().map(|run| check(catalogue, run, known, first.contains(&run.number)).map_err(RunFailure::from)).collect();
    let (mut prepared, mut wrong, mut warnings) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (run, checked) in runs.into_iter().zip(checked) {
        match checked {
            Ok((digest, said)) => {
                prepared.push(PreparedRun { run, digest });
                warnings.extend(said);
            }
            Err(failure) => wrong.push((run, failure)),
        }
    }
    if wrong.is_empty() { Ok((prepared, warnings.into_iter().collect())) } else { Err(failure(&wrong, prepared.len() + wrong.len())) }
}

fn failure(wrong: &[(SweepRun, RunFailure)], of: usize) -> SweepError {
    let mut message = format!("{} of {of} runs of the plan are wrong; nothing was simulated", wrong.len());
    let mut said = BTreeSet::new();
    for (run, failure) in wrong.iter().filter(|(_, failure)| said.insert(failure.message.clone())).take(MAX_SHOWN_FAILURES) {
        message += &format!("\nrun {}: {}\n{}", run.number, run.line(), failure.message.trim_end());
    }
    SweepError::Runs { message, exit: wrong[0].1.exit }
}

/// Returns the digest of a run, and warnings about its machine.
fn check(catalogue: &Catalogue, run: &SweepRun, known: &Digests, load: bool) -> Result<(Digest, Vec<String>), Error> {
    let request = Request { threads: Some(NonZeroU32::MIN), ..run.request.clone() };
    let opened = OpenedRun::new(catalogue, &request)?;
    let mut recipe = Recipe::default();
    recipe.add("build", warpshard_build::build().as_bytes());
    recipe.add("command", configuration_of(&request, &[]).command.as_bytes());
    recipe.add("machine", opened.loaded().provenance.to_toml().as_bytes());
    let energy = Model::of(opened.machine())?;
    recipe.add("energy", format!("{energy:?}").as_bytes());
    for file in files_of(catalogue, &request)? {
        let digest = known.file(&file).map_err(|source| Error::Unreadable { file: file.clone(), source })?;
        recipe.add(&format!("file {}", file.display()), digest.as_bytes());
    }
    controllers_of(catalogue, &request.policies)?;
    let warnings = opened.warnings().collect();
    if load {
        opened.load()?;
    }
    Ok((recipe.digest(), warnings))
}
