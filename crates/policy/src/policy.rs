//! What a policy is: a name, its parameters, and how a controller is made of them.

use serde::de::DeserializeOwned;
use thiserror::Error;

use warpshard_control::Controller;

/// A policy that a run can name.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Its name in run files.
    pub name: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// Its parameters with their meaning, one line each.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Makes a controller from the policy's own table.
    pub build: fn(toml::Table) -> Result<Box<dyn Controller>, PolicyError>,
}

/// Why a controller could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PolicyError {
    /// No policy has this name.
    #[error("there is no policy `{name}`{}; known are {known}", nearest.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        /// The requested name.
        name: String,
        /// The known name that is most like it, if one is.
        nearest: Option<&'static str>,
        /// All known names, for people.
        known: String,
    },
    /// A parameter has no value.
    #[error("`{text}` is not of the form KEY=VALUE")]
    NoAssignment {
        /// What was given.
        text: String,
    },
    /// A parameter is unknown, missing or of the wrong type.
    #[error("policy `{policy}`: {problem}")]
    Parameters {
        /// The policy.
        policy: &'static str,
        /// What is wrong, with the parameter's name.
        problem: String,
    },
}

impl PolicyError {
    /// A problem with the parameters of `policy`.
    pub fn parameters(policy: &'static str, problem: impl Into<String>) -> Self {
        Self::Parameters { policy, problem: problem.into() }
    }
}

/// Reads the parameters of `policy` from its table.
///
/// # Errors
/// When one is unknown, missing or of the wrong type.
pub fn parsed<P: DeserializeOwned>(policy: &'static str, table: toml::Table) -> Result<P, PolicyError> {
    table.try_into().map_err(|error: toml::de::Error| PolicyError::parameters(policy, error.message()))
}
