//! The profiles that come with the program, embedded so that it runs from anywhere.

use super::{CpuProfile, ProfileError};

macro_rules! embedded {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("../../../configs/workloads/cpu/", $name, ".toml")))),*]
    };
}

/// Names and texts: the 34 applications of Table III of the `hetero` paper.
const PROFILES: &[(&str, &str)] = embedded! {
    "applu",
    "art",
    "astar",
    "barnes",
    "bzip2",
    "cactus",
    "calculix",
    "dealII",
    "gcc",
    "Gems",
    "gobmk",
    "gromacs",
    "h264ref",
    "hmmer",
    "lbm",
    "leslie3d",
    "libquantum",
    "mcf",
    "milc",
    "namd",
    "ocean",
    "omnetpp",
    "perlbench",
    "povray",
    "sjas",
    "sjbb",
    "sjeng",
    "soplex",
    "sphinx3",
    "swim",
    "tonto",
    "tpcw",
    "wrf",
    "xalan",
};

/// The names of the built-in profiles, in alphabetical order.
pub fn builtin_profiles() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|(name, _)| *name)
}

/// A built-in profile by name.
///
/// # Errors
/// When there is none of that name.
pub fn builtin_profile(name: &str) -> Result<CpuProfile, ProfileError> {
    match PROFILES.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => CpuProfile::from_text(name, text),
        None => {
            let near = PROFILES.iter().map(|(known, _)| (strsim::damerau_levenshtein(known, name), *known)).min();
            let near = near.filter(|(distance, _)| *distance <= 2).map_or(String::new(), |(_, known)| format!(" did you mean {known}?"));
            let names: Vec<&str> = builtin_profiles().collect();
            let what =
                format!("there is no such built-in profile;{near} expected the path of a .toml file, or one of {}", names.join(", "));
            Err(ProfileError { file: name.to_owned(), what })
        }
    }
}
