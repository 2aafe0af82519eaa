//! The version of the program.

use std::sync::LazyLock;

use warpshard_build::commit;

/// Returns the program's version and the commit from which it was built.
pub fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| format!("{} (commit {})", warpshard_build::VERSION, commit()));
    &VERSION
}
