//! The description of a policy: its name, its parameters, and the function that creates its controller.

use serde::de::DeserializeOwned;
use thiserror::Error;

use warpshard_control::Controller;

/// A policy that a run can name.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Name of the policy in run files.
    pub name: &'static str,
    /// Summary in one line.
    pub help: &'static str,
    /// Parameters with their meaning, one line each.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Creates a controller from the policy's table of parameters.
    pub build: fn(toml::Table) -> Result<Box<dyn Controller>, PolicyError>,
}

/// Reasons for which a controller cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PolicyError {
    /// No policy has this name.
    #[error("there is no policy `{name}`{}; known are {known}", nearest.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        /// The requested name.
        name: String,
        /// The most similar known name, if any.
        nearest: Option<&'static str>,
        /// All known names, for the message.
        known: String,
    },
    /// A parameter has no value.
    #[error("`{text}` is not of the form KEY=VALUE")]
    NoAssignment {
        /// The given text.
        text: String,
    },
    /// A parameter is unknown, missing or of the wrong type.
    #[error("policy `{policy}`: {problem}")]
    Parameters {
        /// Name of the policy.
        policy: &'static str,
        /// Description of the problem, with the parameter's name.
        problem: String,
    },
}

impl PolicyError {
    /// Creates an error for the parameters of `policy`.
    pub fn parameters(policy: &'static str, problem: impl Into<String>) -> Self {
        Self::Parameters { policy, problem: problem.into() }
    }
}

/// Parses the parameters of `policy` from its table.
///
/// # Errors
/// Fails if a parameter is unknown, missing or of the wrong type.
pub fn parsed<P: DeserializeOwned>(policy: &'static str, table: toml::Table) -> Result<P, PolicyError> {
    table.try_into().map_err(|error: toml::de::Error| PolicyError::parameters(policy, error.message()))
}
