//! Why a set of event energies cannot be had.

use thiserror::Error;

/// Why a set of event energies cannot be had.
#[derive(Debug, Error)]
pub enum EnergyError {
    /// There is no built-in set of this name.
    #[error(
        "unknown energy set \"{name}\"; built-in sets: {known}, or \"none\"; a file is given by a path with a `/` or ending in `.toml`"
    )]
    Unknown {
        /// The name.
        name: String,
        /// The names of the built-in sets.
        known: String,
    },
    /// The file cannot be read.
    #[error("cannot read the energy set `{name}`: {source}")]
    Unreadable {
        /// The file.
        name: String,
        /// Why.
        source: std::io::Error,
    },
    /// The text is no TOML, or has other keys.
    #[error("energy set `{name}`: {}", source.to_string().trim_end())]
    Text {
        /// The set.
        name: String,
        /// What is wrong, with its line.
        source: Box<toml::de::Error>,
    },
    /// Values are impossible.
    #[error("energy set `{name}`: {wrong}")]
    Values {
        /// The set.
        name: String,
        /// Each key with its value and what was expected.
        wrong: String,
    },
}
