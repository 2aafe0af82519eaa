//! Reproduced papers, one folder each: controllers, studies with published values, machines, kernel models, and a page. No crate below
//! this one depends on a paper.
//!
//! To add a paper, add a folder with a constant `PAPER`, and its name to the list below.
#![forbid(unsafe_code)]

use std::sync::LazyLock;

use warpshard_config::{ConfigErrors, Loaded, Override};
use warpshard_configs::File;
use warpshard_lab::request::Study;
use warpshard_policy::registry::Policy;
use warpshard_run::Catalogue;

macro_rules! papers {
    ($($key:ident),* $(,)?) => {
        $(pub mod $key;)*

        /// All papers.
        pub const PAPERS: &[Paper] = &[$($key::PAPER),*];
    };
}

papers! {
    cd_search,
    dual_kernel,
    hetero,
    kernel_mgmt,
    wa_sched,
}

/// The contents that a paper adds to the simulator.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// The name of the paper's folder.
    pub key: &'static str,
    /// The paper's topic in a few words.
    pub title: &'static str,
    /// The paper's machines and kernel models.
    pub files: &'static [&'static [File]],
    /// The paper's controllers.
    pub policies: &'static [Policy],
    /// The paper's studies.
    pub studies: &'static [Study],
}

/// Returns the catalogue of built-in files and policies, including the files and policies of all papers.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
        let files: Vec<_> = PAPERS.iter().flat_map(|paper| paper.files).copied().collect();
        let policies: Vec<_> = PAPERS.iter().map(|paper| paper.policies).collect();
        Catalogue::core().with(&files, &policies)
    });
    &CATALOGUE
}

/// Returns the studies of all papers.
pub fn studies() -> impl Iterator<Item = &'static Study> {
    PAPERS.iter().flat_map(|paper| paper.studies)
}

/// Loads a machine, also one of a paper, by its name or path.
fn machine(name_or_path: &str, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
    catalogue().machine(name_or_path, overrides)
}

/// Fails if the page at `path` in this crate's `src` lacks `sentence`. Line breaks in the page do not matter.
#[cfg(test)]
fn assert_page_contains(path: &str, sentence: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path);
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(sentence), "{} is stale, run the study again: {sentence}", path.display());
}

/// Creates the policy called `name`, also one of a paper, from the text of its parameters.
#[cfg(test)]
fn built_policy(name: &str, parameters: &str) -> Box<dyn warpshard_control::Controller> {
    warpshard_policy::testing::policy_among(catalogue().policies(), name, parameters)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use warpshard_configs::Kind;

    use super::*;

    #[test]
    fn every_machine_and_model_of_a_paper_is_listed() {
        for paper in PAPERS {
            for (kind, folder) in [(Kind::Machine, "machines"), (Kind::Model, "models")] {
                let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(paper.key).join(folder);
                let entries = std::fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().file_name().into_string().unwrap());
                let there: BTreeSet<String> = entries.filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())).collect();
                let files = paper.files.iter().copied().flatten().filter(|file| file.kind == kind);
                let listed: BTreeSet<String> = files.map(|file| file.name.rsplit('/').next().unwrap().to_owned()).collect();
                assert_eq!(there, listed, "left: papers/src/{}/{folder}, right: FILES in its mod.rs", paper.key);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let unique = |names: Vec<&'static str>| {
            let mut seen = BTreeSet::new();
            let twice: Vec<_> = names.into_iter().filter(|name| !seen.insert(*name)).collect();
            assert!(twice.is_empty(), "these names occur twice: {twice:?}");
        };
        for kind in [Kind::Machine, Kind::Model] {
            unique(catalogue().files().names(kind).collect());
        }
        unique(catalogue().policies().all().into_iter().map(|policy| policy.name).collect());
        unique(studies().map(|study| study.name).collect());
    }
}
