//! Property tests of machine texts: any text results in a machine or in errors, never in a panic.

use proptest::prelude::*;

use warpshard::config::{Machine, Override, RunFile};

/// Values that some keys accept, and values that no key accepts.
const KEY_VALUES: [&str; 18] = [
    "0",
    "1",
    "3",
    "64",
    "4294967295",
    "4294967296",
    "-5",
    "1.5",
    "true",
    "false",
    "[]",
    "[\"8 KiB\", \"4 KiB\"]",
    "{ a = 1 }",
    "\"1 kHz\"",
    "\"18446744073709551 kHz\"",
    "\"4095 MiB\"",
    "\"\"",
    "\"RBCS\"",
];

fn assert_machine_or_errors(text: &str, settings: &[Override]) {
    match Machine::from_text_among(warpshard::catalogue().files(), "any.toml", text, settings) {
        Ok(loaded) => {
            let again = Machine::from_text_among(warpshard::catalogue().files(), "any.toml", &loaded.provenance.to_toml(), &[]);
            assert_eq!(again.map(|again| again.machine), Ok(loaded.machine));
        }
        Err(errors) => assert!(errors.to_string().starts_with("error: ")),
    }
}

proptest! {
    #[test]
    fn any_value_for_any_key_is_accepted_or_refused(changes in prop::collection::vec((any::<prop::sample::Index>(), 0..KEY_VALUES.len()), 1..4)) {
        let keys: Vec<&str> = warpshard::config::keys::all().map(|key| key.path).collect();
        let settings: Vec<Override> = changes.iter().map(|(key, value)| Override::new(keys[key.index(keys.len())], KEY_VALUES[*value])).collect();
        assert_machine_or_errors("extends = \"v100\"", &settings);
        assert_machine_or_errors("extends = \"m2090\"", &settings);
    }

    #[test]
    fn any_replacement_text_in_a_machine_is_accepted_or_refused(at in any::<prop::sample::Index>(), cut in 0usize..40, put in "\\PC{0,12}") {
        let mut text: Vec<char> = include_str!("../../../configs/machines/tiny.toml").chars().collect();
        let from = at.index(text.len());
        let to = (from + cut).min(text.len());
        text.splice(from..to, put.chars());
        assert_machine_or_errors(&text.into_iter().collect::<String>(), &[]);
    }

    #[test]
    fn any_text_as_a_setting_or_a_run_is_accepted_or_refused(text in "\\PC{0,40}") {
        if let Ok(setting) = text.parse::<Override>() {
            assert_machine_or_errors("extends = \"tiny\"", &[setting]);
        }
        if let Err(errors) = RunFile::from_text("any.toml", &format!("[run]\n{text}")) {
            assert!(errors.to_string().starts_with("error: "));
        }
    }
}
