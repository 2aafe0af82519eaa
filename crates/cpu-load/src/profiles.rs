//! The built-in profiles: the 34 applications of Table III of Kayiran et al., MICRO 2014.

use warpshard_configs::{File, Files, Kind};

use super::{CpuProfile, CpuProfileError};

/// Returns the names of the built-in profiles in alphabetical order.
pub fn builtin_profiles() -> impl Iterator<Item = &'static str> {
    Files::core().names(Kind::CpuProfile)
}

/// Returns a built-in profile by name.
///
/// # Errors
/// There is no profile of that name.
pub fn builtin_profile(name: &str) -> Result<CpuProfile, CpuProfileError> {
    match Files::core().find(Kind::CpuProfile, name) {
        Some(File { text, .. }) => CpuProfile::from_text(name, text),
        None => {
            let near = builtin_profiles().map(|known| (strsim::damerau_levenshtein(known, name), known)).min();
            let near = near.filter(|(distance, _)| *distance <= 2).map_or(String::new(), |(_, known)| format!(" did you mean {known}?"));
            let names: Vec<&str> = builtin_profiles().collect();
            let what =
                format!("there is no such built-in profile;{near} expected the path of a .toml file, or one of {}", names.join(", "));
            Err(CpuProfileError { file: name.to_owned(), what })
        }
    }
}
