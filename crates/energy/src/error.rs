//! Errors of loading a set of event energies.

use thiserror::Error;

/// An error of loading a set of event energies.
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
        /// The I/O error.
        source: std::io::Error,
    },
    /// The text is not TOML, or has unknown keys.
    #[error("energy set `{name}`: {}", source.to_string().trim_end())]
    Text {
        /// The set.
        name: String,
        /// The error with its line.
        source: Box<toml::de::Error>,
    },
    /// Values are out of range.
    #[error("energy set `{name}`: {wrong}")]
    Values {
        /// The set.
        name: String,
        /// Each invalid key with its value and the expected value.
        wrong: String,
    },
}
