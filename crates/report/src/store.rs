//! Stores the results of runs by content, so that each run is simulated once: an interrupted study resumes, and parts that were simulated
//! elsewhere are combined by copying their files into one folder.
//!
//! A file is identified by a hash of the key, which contains everything that the run depends on. The file also contains the key itself, so
//! that a hash collision cannot return the result of another run.

use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;

use rustc_hash::FxHasher;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct StoredResult<T> {
    key: String,
    result: T,
}

/// Returns the result that an earlier call stored in `folder` under the same `key` and `sources` of the program, or else the result of
/// `make`.
///
/// # Errors
/// Fails if `make` fails.
pub fn load_or_compute<T: Serialize + DeserializeOwned, E>(
    folder: Option<&Path>,
    sources: &str,
    key: &str,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let key = format!("{} {sources}\n{key}", warpshard_build::VERSION);
    let mut hasher = FxHasher::default();
    key.hash(&mut hasher);
    let path = folder.map(|folder| folder.join(format!("{:016x}.json", hasher.finish())));
    let earlier = path.as_ref().and_then(|path| fs::read(path).ok());
    if let Some(stored) = earlier.and_then(|text| serde_json::from_slice::<StoredResult<T>>(&text).ok())
        && stored.key == key
    {
        return Ok(stored.result);
    }
    let made = StoredResult { key, result: make()? };
    if let (Some(path), Ok(text)) = (path, serde_json::to_vec(&made)) {
        // A study whose results cannot be stored still runs.
        let _ = write_atomically(&path, &text);
    }
    Ok(made.result)
}

/// Writes a file atomically: a killed process leaves no partial result.
fn write_atomically(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut file, text)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use warpshard_build::{SIMULATOR_DIGEST, SOURCES_DIGEST};

    use super::*;

    #[test]
    fn a_result_is_simulated_once_per_key() {
        let folder = tempfile::tempdir().unwrap();
        let get = |of: &str, value: u32| load_or_compute(Some(folder.path()), SOURCES_DIGEST, of, || Ok::<_, String>(value));
        assert_eq!([get("a", 1), get("a", 2), get("b", 3)], [Ok(1), Ok(1), Ok(3)]);
        assert_eq!(load_or_compute::<u32, _>(Some(folder.path()), SOURCES_DIGEST, "c", || Err("broken")), Err("broken"));
        assert_eq!(get("c", 4), Ok(4), "a failure is not stored");
        assert_eq!(
            load_or_compute(Some(folder.path()), SIMULATOR_DIGEST, "a", || Ok::<_, String>(5)),
            Ok(5),
            "other sources are another key"
        );
    }

    #[test]
    fn a_file_with_another_key_or_broken_content_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let get = |value: u32| load_or_compute(Some(folder.path()), SOURCES_DIGEST, "a", || Ok::<_, String>(value));
        assert_eq!(get(1), Ok(1));
        let file = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        fs::write(&file, r#"{"key":"x","result":9}"#).unwrap();
        assert_eq!(get(2), Ok(2));
        fs::write(&file, "{").unwrap();
        assert_eq!([get(3), get(4)], [Ok(3), Ok(3)]);
    }
}
