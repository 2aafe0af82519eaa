//! Which program this is.

use std::sync::LazyLock;

use warpshard_build::commit;

/// The program's version and the commit it was built from.
pub fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| format!("{} (commit {})", warpshard_build::VERSION, commit()));
    &VERSION
}
