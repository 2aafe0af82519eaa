//! The identity of this build of warpshard: its version, its commit, and digests of its sources.
#![forbid(unsafe_code)]

mod git;

use std::path::Path;
use std::sync::LazyLock;

use git::commit_of;

/// The version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// A digest of the sources of all packages.
pub const SOURCES_DIGEST: &str = env!("WARPSHARD_SOURCES");
/// A digest of the sources of the packages that affect the result of a whole run.
pub const SIMULATOR_DIGEST: &str = env!("WARPSHARD_SIMULATOR");
/// The packages included in [`SIMULATOR_DIGEST`], separated by commas.
pub const SIMULATOR_PACKAGES: &str = env!("WARPSHARD_SIMULATOR_PACKAGES");

/// Returns the commit of the program, or `unknown`; for a development build, the present commit of its sources with `-development`.
pub fn commit() -> &'static str {
    static COMMIT: LazyLock<String> = LazyLock::new(|| match env!("WARPSHARD_COMMIT") {
        "" => commit_of(&workspace().to_string_lossy()).map_or_else(|| "unknown".to_owned(), |commit| commit + "-development"),
        commit => commit.to_owned(),
    });
    &COMMIT
}

/// Returns the version, the commit and the digest of the sources; the digest identifies development builds of uncommitted sources. The
/// Python package of the same sources has the same build.
pub fn build() -> &'static str {
    static BUILD: LazyLock<String> = LazyLock::new(|| format!("{VERSION} {} {SOURCES_DIGEST}", commit()));
    &BUILD
}

/// The folder of the workspace in which this package was built.
fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::process::Command;

    use super::*;

    /// Returns the workspace packages on which a package depends according to cargo, including the package.
    fn dependency_closure(of: &str) -> BTreeSet<String> {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--offline", "--edges", "normal,build", "--prefix", "none", "--format", "{p}", "--package", of])
            .current_dir(workspace())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter_map(|line| line.split(' ').next()).filter(|name| name.starts_with("warpshard")).map(str::to_owned).collect()
    }

    #[test]
    fn the_digest_covers_every_package_that_a_whole_run_depends_on() {
        let covered: BTreeSet<String> = SIMULATOR_PACKAGES.split(',').map(str::to_owned).collect();
        let needed: BTreeMap<&str, BTreeSet<String>> = ["warpshard-chip", "warpshard-run"].map(|of| (of, dependency_closure(of))).into();
        assert!(needed["warpshard-chip"].len() > 15, "{needed:?}");
        for (of, needed) in needed {
            let missing: Vec<_> = needed.difference(&covered).filter(|name| *name != "warpshard-sample").collect();
            assert!(missing.is_empty(), "{of} depends on {missing:?}, which the digest does not cover");
        }
    }
}
