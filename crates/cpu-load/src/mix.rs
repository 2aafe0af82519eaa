//! Mixes of CPU applications, as TOML: which application each core of a chip executes.
//!
//! In: a built-in name or a file. Out: a name per core. A mix with fewer applications than the chip has cores is dealt out from
//! its beginning again, as Table IV of Kayiran et al., MICRO 2014 (whose mixes the built-in ones are) does where its mixes L2 and M2 repeat six and seven applications; a
//! chip with fewer cores takes the first ones.

use std::path::Path;

use serde::Deserialize;

use warpshard_configs::{File, Files, Kind};

use super::ProfileError;

/// A mix of applications, core by core.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuMix {
    /// The mix's name.
    pub name: String,
    /// What it is, in a sentence.
    pub summary: String,
    /// Applications of the first cores, named as `--cpu` names them.
    pub applications: Vec<String>,
}

/// The names of the built-in mixes, from low to high demand on the memory.
pub fn builtin_mixes() -> impl Iterator<Item = &'static str> {
    Files::core().names(Kind::CpuMix)
}

impl CpuMix {
    /// A built-in mix by name, or one from a path when `name` contains a `/` or ends in `.toml`.
    ///
    /// # Errors
    /// When there is none of that name, or the file cannot be read or says something impossible.
    pub fn named(name: &str) -> Result<Self, ProfileError> {
        let fail = |what: String| ProfileError { file: name.to_owned(), what };
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

    /// Reads a mix from its text; `file` names it in messages.
    ///
    /// # Errors
    /// As [`CpuMix::named`].
    pub fn from_text(file: &str, text: &str) -> Result<Self, ProfileError> {
        let fail = |what: String| ProfileError { file: file.to_owned(), what };
        let mix: Self = toml::from_str(text).map_err(|error| fail(error.to_string().trim_end().to_owned()))?;
        if mix.applications.is_empty() {
            return Err(fail("`applications = []`: expected at least one application".to_owned()));
        }
        if let Some(nested) = mix.applications.iter().find(|application| application.starts_with('@')) {
            return Err(fail(format!("`applications` names the mix \"{nested}\"; expected single applications")));
        }
        Ok(mix)
    }

    /// What each of `cores` cores executes.
    pub fn dealt(&self, cores: u32) -> impl Iterator<Item = &str> {
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
    fn the_mixes_are_as_heavy_as_their_names_say() {
        let mpki = |name: &str| -> Vec<f64> {
            CpuMix::named(name).unwrap().applications.iter().map(|application| builtin_profile(application).unwrap().mpki).collect()
        };
        // The bounds between the types in Table III.
        for (names, low, high) in [(["L1", "L2"], 0.0, 1.6), (["M1", "M2"], 3.1, 14.6), (["H1", "H2"], 25.0, 103.2)] {
            for name in names {
                assert!(mpki(name).iter().all(|mpki| (low..=high).contains(mpki)), "{name}: {:?}", mpki(name));
            }
        }
    }

    #[test]
    fn a_mix_is_dealt_out_again_from_its_beginning() {
        let mix = CpuMix::from_text("m.toml", "name = \"m\"\nsummary = \"\"\napplications = [\"mcf\", \"gcc\", \"art\"]").unwrap();
        assert_eq!(mix.dealt(5).collect::<Vec<_>>(), ["mcf", "gcc", "art", "mcf", "gcc"]);
        assert_eq!(mix.dealt(2).collect::<Vec<_>>(), ["mcf", "gcc"]);
        // L2 and M2 of the table are themselves six and seven applications dealt over fourteen cores.
        for (name, different) in [("L2", 6), ("M2", 7)] {
            let whole = CpuMix::named(name).unwrap();
            let short = CpuMix { applications: whole.applications[..different].to_vec(), ..whole.clone() };
            assert!(short.dealt(14).eq(whole.dealt(14)), "{name}");
        }
    }

    #[test]
    fn what_is_no_mix_is_refused_with_what_belongs_there() {
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
