//! What the paper states, from `configs/published/hetero.toml`.

use std::sync::OnceLock;

use serde::Deserialize;

use super::concurrency::GpuType;

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

/// A GPU application of Table II.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Application {
    /// The abbreviation.
    pub(super) name: String,
    /// What many warps do to it.
    pub(super) kind: GpuType,
    /// The least and the greatest number of warps of an SM with which it is fastest.
    pub(super) optimal: (u32, u32),
}

/// A result of Section 6.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    /// Our name of it.
    pub(super) id: String,
    /// Section, and figure where there is one.
    pub(super) source: String,
    /// `number`, `direction`, or `not stated` for what stands in a figure alone.
    pub(super) kind: String,
    /// What is stated, shortened.
    pub(super) text: String,
    /// The number, in percent of the baseline.
    pub(super) value: Option<f64>,
    /// Where ours is to lie.
    pub(super) within: Option<(f64, f64)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    statement: Vec<Statement>,
    application: Vec<Application>,
    figure: Vec<Figure>,
}

/// The file.
///
/// # Panics
/// When the compiled-in file is broken, which a test would have found.
fn published() -> &'static Published {
    static READ: OnceLock<Published> = OnceLock::new();
    READ.get_or_init(|| toml::from_str(include_str!("../../../configs/published/hetero.toml")).expect("hetero.toml is read"))
}

/// All statements.
pub(super) fn statements() -> &'static [Statement] {
    &published().statement
}

/// The GPU applications, in the order of Table II.
pub(super) fn applications() -> &'static [Application] {
    &published().application
}

/// All results of Section 6.
pub(super) fn figures() -> &'static [Figure] {
    &published().figure
}

/// The statement of a name.
///
/// # Panics
/// When there is none.
pub(super) fn statement(id: &str) -> &'static Statement {
    statements().iter().find(|statement| statement.id == id).unwrap_or_else(|| panic!("configs/published/hetero.toml has no `{id}`"))
}
