//! What the paper states, from `configs/published/hetero.toml`.

use std::sync::OnceLock;

use serde::Deserialize;

/// A sentence of the paper.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Statement {
    /// Our name of it.
    pub(super) id: String,
    /// Section, and figure where there is one.
    pub(super) source: String,
    /// `direction`, or `number`, which stands beside ours and is not judged.
    pub(super) kind: String,
    /// What is stated, shortened.
    pub(super) text: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    statement: Vec<Statement>,
}

/// All statements.
///
/// # Panics
/// When the compiled-in file is broken, which a test would have found.
pub(super) fn statements() -> &'static [Statement] {
    static READ: OnceLock<Vec<Statement>> = OnceLock::new();
    READ.get_or_init(|| {
        let published: Published = toml::from_str(include_str!("../../../configs/published/hetero.toml")).expect("hetero.toml is read");
        published.statement
    })
}

/// The statement of a name.
///
/// # Panics
/// When there is none.
pub(super) fn statement(id: &str) -> &'static Statement {
    statements().iter().find(|statement| statement.id == id).unwrap_or_else(|| panic!("configs/published/hetero.toml has no `{id}`"))
}
