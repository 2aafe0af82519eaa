//! What a run can name: the machines, kernel models and policies that come with the program.
//!
//! [`Catalogue::core`] has those of no particular paper; the package `warpshard-papers` adds those of the papers.

use std::fmt;
use std::sync::LazyLock;

use warpshard_config::{ConfigErrors, Loaded, Machine, Override};
use warpshard_configs::{File, Files, Kind};
use warpshard_control::Controller;
use warpshard_model::{Model, ModelError, builtin_model};
use warpshard_policy::registry::{Policies, Policy, PolicyError};
use warpshard_report::verdict::Measurements;
use warpshard_seam::Own;

/// Files and policies of several packages, by name.
#[derive(Clone)]
pub struct Catalogue {
    files: Files,
    policies: Policies,
    own: Own,
    measured: Measurements,
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Catalogue")
    }
}

impl Default for &'static Catalogue {
    fn default() -> Self {
        Catalogue::core()
    }
}

impl Catalogue {
    /// The files and policies of no particular paper.
    pub fn core() -> &'static Self {
        static CORE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue {
            files: Files::core().clone(),
            policies: Policies::core().clone(),
            own: Own::default(),
            measured: Measurements::default(),
        });
        &CORE
    }

    /// The same with more files and policies.
    #[must_use]
    pub fn with(&self, files: &[&'static [File]], policies: &[&'static [Policy]]) -> Self {
        Self { files: self.files.with(files), policies: self.policies.with(policies), own: self.own.clone(), measured: self.measured }
    }

    /// The same with policies of the calling program, which machines choose by the word `own`; see `docs/adding.md`.
    #[must_use]
    pub fn with_own(&self, own: Own) -> Self {
        Self { own, ..self.clone() }
    }

    /// The same with measured launches, which verdicts on kernels are compared with.
    #[must_use]
    pub fn with_measured(&self, measured: Measurements) -> Self {
        Self { measured, ..self.clone() }
    }

    /// The measured launches.
    pub fn measured(&self) -> Measurements {
        self.measured
    }

    /// The files.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The policies.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// A machine by name, or from a path.
    ///
    /// # Errors
    /// As [`Machine::load_among`].
    pub fn machine(&self, name_or_path: &str, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
        let loaded = Machine::load_among(&self.files, name_or_path, overrides)?;
        Ok(Loaded { machine: loaded.machine.with_own(&self.own), ..loaded })
    }

    /// A kernel model by name, with parameters that differ from its file's.
    ///
    /// # Errors
    /// As [`builtin_model`].
    pub fn model(&self, name: &str, seed: u64, parameters: &[(String, String)]) -> Result<Model, ModelError> {
        builtin_model(&self.files, name, seed, parameters)
    }

    /// The text of a kernel model.
    pub fn model_text(&self, name: &str) -> Option<&'static str> {
        self.files.find(Kind::Model, name).map(|file| file.text)
    }

    /// The controller that `text` names, as `NAME` or `NAME:KEY=VALUE,KEY=VALUE`.
    ///
    /// # Errors
    /// As [`Policies::from_text`].
    pub fn controller(&self, text: &str) -> Result<Box<dyn Controller>, PolicyError> {
        self.policies.from_text(text)
    }
}
