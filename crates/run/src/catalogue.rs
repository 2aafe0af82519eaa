//! The catalogue of names that a run can use: the machines, kernel models and policies that come with the program.
//!
//! [`Catalogue::core`] has the files and policies that belong to no paper; the package `warpshard-papers` adds the papers' files and
//! policies.

use std::fmt;
use std::sync::LazyLock;

use warpshard_config::{ConfigErrors, Loaded, Machine, Override};
use warpshard_configs::{File, Files, Kind};
use warpshard_control::Controller;
use warpshard_model::{Model, ModelError, builtin_model};
use warpshard_policy::registry::{Policies, Policy, PolicyError};
use warpshard_report::verdict::Measurements;
use warpshard_seam::UserPolicies;

/// Files and policies of several packages, by name.
#[derive(Clone)]
pub struct Catalogue {
    files: Files,
    policies: Policies,
    user_policies: UserPolicies,
    measurements: Measurements,
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
    /// Returns the catalogue of the files and policies that belong to no paper.
    pub fn core() -> &'static Self {
        static CORE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue {
            files: Files::core().clone(),
            policies: Policies::core().clone(),
            user_policies: UserPolicies::default(),
            measurements: Measurements::default(),
        });
        &CORE
    }

    /// Returns this catalogue with additional files and policies.
    #[must_use]
    pub fn with(&self, files: &[&'static [File]], policies: &[&'static [Policy]]) -> Self {
        Self {
            files: self.files.with(files),
            policies: self.policies.with(policies),
            user_policies: self.user_policies.clone(),
            measurements: self.measurements,
        }
    }

    /// Returns this catalogue with policies of the calling program, which machines select by the word `own`; see `docs/adding.md`.
    #[must_use]
    pub fn with_policies(&self, own: UserPolicies) -> Self {
        Self { user_policies: own, ..self.clone() }
    }

    /// Returns this catalogue with measured launches, with which verdicts compare simulated kernels.
    #[must_use]
    pub fn with_measurements(&self, measured: Measurements) -> Self {
        Self { measurements: measured, ..self.clone() }
    }

    /// Returns the measured launches.
    pub fn measurements(&self) -> Measurements {
        self.measurements
    }

    /// Returns the files.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Returns the policies.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// Loads a machine by name or from a path.
    ///
    /// # Errors
    /// See [`Machine::load_among`].
    pub fn machine(&self, name_or_path: &str, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
        let loaded = Machine::load_among(&self.files, name_or_path, overrides)?;
        Ok(Loaded { machine: loaded.machine.with_policies(&self.user_policies), ..loaded })
    }

    /// Loads a kernel model by name; `parameters` override the values of its file.
    ///
    /// # Errors
    /// See [`builtin_model`].
    pub fn model(&self, name: &str, seed: u64, parameters: &[(String, String)]) -> Result<Model, ModelError> {
        builtin_model(&self.files, name, seed, parameters)
    }

    /// Returns the text of a kernel model.
    pub fn model_text(&self, name: &str) -> Option<&'static str> {
        self.files.find(Kind::Model, name).map(|file| file.text)
    }

    /// Creates the controller that `text` names, as `NAME` or `NAME:KEY=VALUE,KEY=VALUE`.
    ///
    /// # Errors
    /// See [`Policies::from_text`].
    pub fn controller(&self, text: &str) -> Result<Box<dyn Controller>, PolicyError> {
        self.policies.from_text(text)
    }
}
