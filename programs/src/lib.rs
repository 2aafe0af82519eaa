//! The bundled programs of warpshard: launch files and listings, embedded so that `programs/saxpy.toml` runs without a checkout.
//!
//! The CUDA sources of the listings (`.cu`, in the same folders) are not embedded.
#![forbid(unsafe_code)]

use std::ops::Range;
use std::path::{Component, Path};
use std::sync::OnceLock;

// Defines `FILES`, the embedded files by path.
include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The compressed files, concatenated.
static COMPRESSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/files.xz"));

/// An embedded file.
struct File {
    /// Path relative to the root of the project's sources.
    name: &'static str,
    /// Byte range of the file in `COMPRESSED`.
    range: Range<usize>,
    /// Text of the file, decompressed on first use.
    text: OnceLock<String>,
}

impl File {
    const fn new(name: &'static str, range: Range<usize>) -> Self {
        Self { name, range, text: OnceLock::new() }
    }

    fn text(&self) -> &str {
        self.text.get_or_init(|| {
            let bytes = liblzma::decode_all(&COMPRESSED[self.range.clone()]);
            bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()).expect("the build compressed a text")
        })
    }
}

/// Returns the text of an embedded file, by a relative path that begins with `programs/`.
pub fn find(path: &Path) -> Option<&'static str> {
    let mut parts: Vec<&str> = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::Prefix(_) | Component::RootDir => return None,
        }
    }
    let name = parts.join("/");
    FILES.binary_search_by_key(&name.as_str(), |file| file.name).ok().map(|index| FILES[index].text())
}

/// Iterates over the paths of all embedded files.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|file| file.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_any_spelling_of_their_path() {
        let text = find(Path::new("programs/saxpy.toml")).unwrap();
        assert!(text.contains("[[launches]]"));
        for same in ["./programs/saxpy.toml", "programs/sdk/../saxpy.toml", "programs//saxpy.toml"] {
            assert_eq!(find(Path::new(same)), Some(text), "{same}");
        }
        for other in ["saxpy.toml", "/programs/saxpy.toml", "../programs/saxpy.toml", "programs/none.toml", "programs"] {
            assert_eq!(find(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn every_listing_named_in_a_launch_file_exists() {
        let launch_files: Vec<_> = names().filter(|name| name.ends_with(".toml")).collect();
        assert!(launch_files.len() > 70);
        for name in launch_files {
            let text = find(Path::new(name)).unwrap();
            for listing in text.split('"').filter(|word| word.ends_with(".sass")) {
                assert!(find(&Path::new(name).with_file_name(listing)).is_some(), "{name} names {listing}");
            }
        }
    }
}
