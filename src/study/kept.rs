//! Results of runs in files, so that each run is simulated once: a study that was interrupted goes on where it was, and parts
//! that were simulated elsewhere are put together by copying their files into one folder.
//!
//! In: the folder, and a text of all that a run depends on. Out: what the run gave. A file holds that text, too, so that a result is never
//! taken for another's.

use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;

use rustc_hash::FxHasher;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Kept<T> {
    of: String,
    result: T,
}

/// What `make` gives, or what an earlier call left in `folder` for the same text `of` and the same build of the program.
///
/// # Errors
/// Those of `make`.
pub(super) fn kept<T: Serialize + DeserializeOwned>(
    folder: Option<&Path>,
    of: &str,
    make: impl FnOnce() -> Result<T, String>,
) -> Result<T, String> {
    let of = format!("{} {}\n{of}", env!("CARGO_PKG_VERSION"), env!("WARPSHARD_COMMIT"));
    let mut hasher = FxHasher::default();
    of.hash(&mut hasher);
    let path = folder.map(|folder| folder.join(format!("{:016x}.json", hasher.finish())));
    let earlier = path.as_ref().and_then(|path| fs::read(path).ok());
    if let Some(kept) = earlier.and_then(|text| serde_json::from_slice::<Kept<T>>(&text).ok())
        && kept.of == of
    {
        return Ok(kept.result);
    }
    let made = Kept { of, result: make()? };
    if let (Some(path), Ok(text)) = (path, serde_json::to_vec(&made)) {
        // A study that cannot keep its results runs all the same.
        let _ = write(&path, &text);
    }
    Ok(made.result)
}

/// Writes all of a file or nothing: a process that is killed leaves no half result.
fn write(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut file, text)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_made_once_and_belongs_to_its_text() {
        let folder = tempfile::tempdir().unwrap();
        let get = |of: &str, value: u32| kept(Some(folder.path()), of, || Ok(value));
        assert_eq!([get("a", 1), get("a", 2), get("b", 3)], [Ok(1), Ok(1), Ok(3)]);
        assert_eq!(kept::<u32>(Some(folder.path()), "c", || Err("broken".into())), Err("broken".into()));
        assert_eq!(get("c", 4), Ok(4), "a failure is not kept");
    }

    #[test]
    fn a_file_of_another_text_or_of_no_sense_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let get = |value: u32| kept(Some(folder.path()), "a", || Ok(value));
        assert_eq!(get(1), Ok(1));
        let file = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        fs::write(&file, r#"{"of":"x","result":9}"#).unwrap();
        assert_eq!(get(2), Ok(2));
        fs::write(&file, "{").unwrap();
        assert_eq!([get(3), get(4)], [Ok(3), Ok(3)]);
    }
}
