//! The resolved machine as text: every key with its value, and in a comment the origin of the value.

use super::error::Place;
use super::kind_keys::TABLE;
use super::resolve::{Origin, Setting};

/// A kind with the settings in which it differs from the machine around it.
#[derive(Clone, Debug)]
pub(super) struct KindSettings {
    pub(super) name: String,
    pub(super) gpus: Vec<u32>,
    /// Where its GPUs are listed.
    pub(super) place: Place,
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
    /// Of these settings, in the order of the keys.
    pub(super) fn new(settings: Vec<Setting>, summary: String, kinds: Vec<KindSettings>) -> Self {
        Self { settings, summary, kinds }
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
        let told = self.settings.iter().filter(|setting| !(setting.key.quiet && matches!(setting.origin, Origin::Default)));
        write(told, "", &mut text);
        for kind in &self.kinds {
            let table = format!("{}.{}", TABLE, kind.name);
            let line = format!("gpus = {:?}", kind.gpus);
            text += &format!(
                "\n# What is not given here is as above.\n[{table}]\n{line:<40} # {}\n",
                origin(&Origin::Given(kind.place.clone()))
            );
            write(kind.settings.iter(), &format!("{table}."), &mut text);
        }
        text
    }
}

/// Writes settings, in tables whose names begin with `prefix`.
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

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Default => "default".to_owned(),
        Origin::Given(place) if place.source.is_file => place.to_string(),
        Origin::Given(place) => place.source.text.clone(),
    }
}
