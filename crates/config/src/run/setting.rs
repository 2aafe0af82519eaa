//! Why a setting of a run is refused.

/// Why a text is not the setting that was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; expected {expected}")]
pub struct SettingError {
    /// What is wrong.
    pub message: String,
    /// What the setting takes.
    pub expected: &'static str,
}

impl SettingError {
    pub(super) fn new(message: impl Into<String>, expected: &'static str) -> Self {
        Self { message: message.into(), expected }
    }
}
