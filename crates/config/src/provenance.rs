//! The resolved machine as text: every key with its value, and a comment with the value's origin.

use super::error::SourceSpan;
use super::kind_keys::KINDS_TABLE;
use super::resolve::{Setting, SettingOrigin};

/// A kind of GPU with the settings that differ from the enclosing machine.
#[derive(Clone, Debug)]
pub(super) struct KindSettings {
    pub(super) name: String,
    pub(super) gpus: Vec<u32>,
    /// The source location of its list of GPUs.
    pub(super) location: SourceSpan,
    pub(super) settings: Vec<Setting>,
}

/// Every value of a machine with its origin.
#[derive(Clone, Debug)]
pub struct Provenance {
    settings: Vec<Setting>,
    summary: String,
    kinds: Vec<KindSettings>,
}

impl Provenance {
    /// Creates the provenance of `settings`, which are in key order.
    pub(super) fn new(settings: Vec<Setting>, summary: String, kinds: Vec<KindSettings>) -> Self {
        Self { settings, summary, kinds }
    }

    /// Returns the values in key order.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// Returns the one-line description in the machine's file.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Returns the machine as TOML that loads back to an equal machine; each line ends in a comment with the value's origin.
    pub fn to_toml(&self) -> String {
        let mut text = String::from("# The machine, fully resolved. Behind each value: where it came from.\n");
        if !self.summary.is_empty() {
            text += &format!("summary = {}\n", toml::Value::String(self.summary.clone()));
        }
        let told = self.settings.iter().filter(|setting| !(setting.key.quiet && matches!(setting.origin, SettingOrigin::Default)));
        write(told, "", &mut text);
        for kind in &self.kinds {
            let table = format!("{}.{}", KINDS_TABLE, kind.name);
            let line = format!("gpus = {:?}", kind.gpus);
            text += &format!(
                "\n# What is not given here is as above.\n[{table}]\n{line:<40} # {}\n",
                origin(&SettingOrigin::Given(kind.location.clone()))
            );
            write(kind.settings.iter(), &format!("{table}."), &mut text);
        }
        text
    }
}

/// Writes settings in tables whose names begin with `prefix`.
fn write<'a>(settings: impl Iterator<Item = &'a Setting>, prefix: &str, text: &mut String) {
    let mut table = "";
    for setting in settings {
        let key = setting.key;
        if key.table() != table {
            table = key.table();
            *text += &format!("\n[{prefix}{table}]\n");
        }
        let line = format!("{} = {}", key.name(), key.kind.write(&setting.value));
        *text += &format!("{line:<40} # {}\n", origin(&setting.origin));
    }
}

fn origin(origin: &SettingOrigin) -> String {
    match origin {
        SettingOrigin::Default => "default".to_owned(),
        SettingOrigin::Given(location) if location.source.is_file => location.to_string(),
        SettingOrigin::Given(location) => location.source.text.clone(),
    }
}
