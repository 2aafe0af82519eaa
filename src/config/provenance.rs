//! The resolved machine as text: every key with its value, and in a comment the origin of the value.

use super::resolve::{Origin, Setting};

/// Every value of a machine with its origin.
#[derive(Clone, Debug)]
pub struct Provenance {
    settings: Vec<Setting>,
    summary: String,
}

impl Provenance {
    /// Of these settings, in the order of the keys.
    pub(super) fn new(settings: Vec<Setting>, summary: String) -> Self {
        Self { settings, summary }
    }

    /// The values, in the order of the keys.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// One line on what the machine is, as its file says.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// The machine as TOML that loads back to an equal machine; each line ends in a comment with its value's origin.
    pub fn to_toml(&self) -> String {
        let mut text = String::from("# The machine, fully resolved. Behind each value: where it came from.\n");
        if !self.summary.is_empty() {
            text += &format!("summary = {}\n", toml::Value::String(self.summary.clone()));
        }
        let mut table = "";
        for setting in &self.settings {
            let key = setting.key;
            if key.quiet && matches!(setting.origin, Origin::Default) {
                continue;
            }
            if key.table() != table {
                table = key.table();
                text += &format!("\n[{table}]\n");
            }
            let line = format!("{} = {}", key.name(), key.kind.write(&setting.value));
            text += &format!("{line:<40} # {}\n", origin(&setting.origin));
        }
        text
    }
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Default => "default".to_owned(),
        Origin::Given(place) if place.source.is_file => place.to_string(),
        Origin::Given(place) => place.source.text.clone(),
    }
}
