//! The error of an invalid run setting.

/// The error for a text that is not a valid setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; expected {expected}")]
pub struct SettingError {
    /// The description of the error.
    pub message: String,
    /// The expected form of the setting.
    pub expected: &'static str,
}

impl SettingError {
    pub(super) fn new(message: impl Into<String>, expected: &'static str) -> Self {
        Self { message: message.into(), expected }
    }
}
