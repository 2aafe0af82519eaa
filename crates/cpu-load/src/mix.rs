//! Mixes of CPU applications as TOML: the application of each core of a chip.
//!
//! Input: a built-in name or a file. Output: a name per core. If a mix has fewer applications than the chip has cores, the applications
//! repeat in order, as in Table IV of Kayiran et al., MICRO 2014 (the source of the built-in mixes), whose mixes L2 and M2 repeat six and
//! seven applications. If the chip has fewer cores, it uses the first applications.

use std::path::Path;

use serde::Deserialize;

use warpshard_configs::{File, Files, Kind};

use super::CpuProfileError;

/// A mix of applications, core by core.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuMix {
    /// The mix's name.
    pub name: String,
    /// A description of the mix in one sentence.
    pub summary: String,
    /// Applications of the first cores, with the names of `--cpu`.
    pub applications: Vec<String>,
}

/// Returns the names of the built-in mixes, from low to high memory demand.
pub fn builtin_mixes() -> impl Iterator<Item = &'static str> {
    Files::core().names(Kind::CpuMix)
}

impl CpuMix {
    /// Loads a built-in mix by name, or a mix from a path if `name` contains a `/` or ends in `.toml`.
    ///
    /// # Errors
    /// There is no mix of that name, or the file cannot be read or is invalid.
    pub fn named(name: &str) -> Result<Self, CpuProfileError> {
        let fail = |what: String| CpuProfileError { file: name.to_owned(), what };
        if name.contains('/') || name.ends_with(".toml") {
            let text =
                warpshard_config::input::read_text(Path::new(name)).map_err(|error| fail(format!("the mix cannot be read: {error}")))?;
            return Self::from_text(name, &text);
        }
        match Files::core().find(Kind::CpuMix, name) {
            Some(File { text, .. }) => Self::from_text(name, text),
            None => {
                let near = builtin_mixes().find(|known| known.eq_ignore_ascii_case(name));
                let near = near.map_or(String::new(), |known| format!(" did you mean @{known}?"));
                let names: Vec<String> = builtin_mixes().map(|known| format!("@{known}")).collect();
                Err(fail(format!("there is no such mix;{near} expected the path of a .toml file, or one of {}", names.join(", "))))
            }
        }
    }

    /// Parses a mix from its text; messages use the name `file`.
    ///
    /// # Errors
    /// The errors of [`CpuMix::named`].
    pub fn from_text(file: &str, text: &str) -> Result<Self, CpuProfileError> {
        let fail = |what: String| CpuProfileError { file: file.to_owned(), what };
        let mix: Self = toml::from_str(text).map_err(|error| fail(error.to_string().trim_end().to_owned()))?;
        if mix.applications.is_empty() {
            return Err(fail("`applications = []`: expected at least one application".to_owned()));
        }
        if let Some(nested) = mix.applications.iter().find(|application| application.starts_with('@')) {
            return Err(fail(format!("`applications` names the mix \"{nested}\"; expected single applications")));
        }
        Ok(mix)
    }

    /// Returns the application of each of `cores` cores.
    pub fn per_core(&self, cores: u32) -> impl Iterator<Item = &str> {
        self.applications.iter().map(String::as_str).cycle().take(cores as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin_profile;

    #[test]
    fn every_built_in_mix_names_fourteen_built_in_profiles() {
        for name in builtin_mixes() {
            let mix = CpuMix::named(name).unwrap();
            assert_eq!((mix.name.as_str(), mix.applications.len()), (name, 14));
            for application in &mix.applications {
                builtin_profile(application).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }

    #[test]
    fn the_memory_demand_of_a_mix_matches_its_name() {
        let mpki = |name: &str| -> Vec<f64> {
            CpuMix::named(name).unwrap().applications.iter().map(|application| builtin_profile(application).unwrap().mpki).collect()
        };
        // The bounds between the categories of Table III.
        for (names, low, high) in [(["L1", "L2"], 0.0, 1.6), (["M1", "M2"], 3.1, 14.6), (["H1", "H2"], 25.0, 103.2)] {
            for name in names {
                assert!(mpki(name).iter().all(|mpki| (low..=high).contains(mpki)), "{name}: {:?}", mpki(name));
            }
        }
    }

    #[test]
    fn a_mix_repeats_its_applications_on_more_cores() {
        let mix = CpuMix::from_text("m.toml", "name = \"m\"\nsummary = \"\"\napplications = [\"mcf\", \"gcc\", \"art\"]").unwrap();
        assert_eq!(mix.per_core(5).collect::<Vec<_>>(), ["mcf", "gcc", "art", "mcf", "gcc"]);
        assert_eq!(mix.per_core(2).collect::<Vec<_>>(), ["mcf", "gcc"]);
        // L2 and M2 of the table repeat six and seven applications over fourteen cores.
        for (name, different) in [("L2", 6), ("M2", 7)] {
            let whole = CpuMix::named(name).unwrap();
            let short = CpuMix { applications: whole.applications[..different].to_vec(), ..whole.clone() };
            assert!(short.per_core(14).eq(whole.per_core(14)), "{name}");
        }
    }

    #[test]
    fn an_invalid_mix_is_reported_with_the_expected_values() {
        let error = |name: &str| CpuMix::named(name).unwrap_err().to_string();
        assert_eq!(
            error("h1"),
            "h1: there is no such mix; did you mean @H1? expected the path of a .toml file, or one of @L1, @L2, @M1, @M2, @H1, @H2"
        );
        assert!(error("H3").contains("H3: there is no such mix; expected"));
        assert!(error("missing.toml").starts_with("missing.toml: the mix cannot be read"));
        let text = |applications: &str| format!("name = \"m\"\nsummary = \"\"\napplications = {applications}");
        let error = |applications: &str| CpuMix::from_text("m.toml", &text(applications)).unwrap_err().to_string();
        assert!(error("[]").contains("at least one"));
        assert!(error("[\"@H1\"]").contains("names the mix \"@H1\""));
        assert!(error("[1]").contains("line 3"));
    }
}
