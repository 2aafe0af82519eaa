//! What the paper states, and its kernels.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;

use warpshard_lab::error::TaskError;
use warpshard_lab::published::{Published, read};

/// The study's part of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Own {
    pub(super) parameters: Parameters,
    pub(super) kernel: Vec<Kernel>,
    pub(super) pair: Vec<Pair>,
    pub(super) pool: Vec<Vec<String>>,
}

/// The file explains each.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    pub(super) machine: String,
    pub(super) smc: String,
    pub(super) tolerance: f64,
}

/// The types of Table III.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Type {
    Up,
    Optimal,
    Down,
}

impl Type {
    /// The type of a kernel that is fastest with `opt` of at most `most` CTAs on an SM (Section 4.1).
    pub(super) fn of(opt: u32, most: u32) -> Self {
        match opt {
            _ if opt == most => Self::Up,
            1 => Self::Down,
            _ => Self::Optimal,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Optimal => "optimal",
            Self::Down => "down",
        }
    }
}

/// Which inputs kernels have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Quick,
    /// Up to four times longer.
    Full,
    /// [`Kernel::features`], of a kernel that has any: so many.
    Features(u32),
    /// [`Kernel::revised`], of a kernel that has it.
    Revised,
}

/// A kernel of Table III.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) program: String,
    /// Its first launch is run.
    pub(super) kernel: String,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) full: Vec<(String, String)>,
    /// Inputs by their number of features, of which that decides how much of what a CTA reads again the L1 holds; none where it has no features.
    #[serde(default)]
    pub(super) features: BTreeMap<String, Vec<(String, String)>>,
    /// Another program and its parameters, in configuration `revised`.
    pub(super) revised: Option<Program>,
    pub(super) registers: u32,
    pub(super) opt: u32,
    pub(super) most: u32,
    /// Threads, shared memory and registers, in percent.
    pub(super) utilisation: [f64; 3],
    #[serde(rename = "type")]
    pub(super) kind: Type,
}

/// A launch file and its parameters.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    pub(super) program: String,
    pub(super) parameters: Vec<(String, String)>,
}

impl Kernel {
    /// Its launch file.
    pub(super) fn program(&self, input: Input) -> &str {
        match &self.revised {
            Some(revised) if input == Input::Revised => &revised.program,
            _ => &self.program,
        }
    }

    /// The size of its input.
    pub(super) fn size(&self, input: Input) -> &[(String, String)] {
        match input {
            Input::Quick => &self.parameters,
            Input::Full => &self.full,
            Input::Features(number) => self.features.get(&number.to_string()).unwrap_or(&self.parameters),
            Input::Revised => self.revised.as_ref().map_or(&self.parameters, |revised| &revised.parameters),
        }
    }

    /// Whatever its run depends on besides its input: the launch file, and the listings beside it that it names.
    ///
    /// # Errors
    /// When a file is not there; a message for the user.
    pub(super) fn content(&self, input: Input) -> Result<String, TaskError> {
        warpshard_lab::programs::content(Path::new(self.program(input)))
    }
}

/// A row of Table IV.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pair {
    pub(super) kernels: [String; 2],
    pub(super) ctas: [u32; 2],
    /// Threads, shared memory and registers, in percent.
    pub(super) utilisation: [f64; 3],
}

/// What a published value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Quantity {
    Static,
    Dynamic,
    Bypassing,
    SmartEven,
    Smc,
    Energy,
    MemoryStalls,
    StructuralStalls,
    Types,
    Choices,
    Threads,
    Shared,
    Registers,
    BypassingMisses,
    BeatsSpatial,
    Pools,
}

/// What a published value is of.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Of {
    pub(super) quantity: Quantity,
}

/// The file.
pub(super) fn published() -> &'static Published<Own, Of> {
    static READ: OnceLock<Published<Own, Of>> = OnceLock::new();
    READ.get_or_init(|| read("kernel-mgmt", include_str!("../published/kernel-mgmt.toml")))
}

/// Table III.
pub(super) fn kernels() -> &'static [Kernel] {
    &published().own.kernel
}

/// The place of a kernel in Table III.
///
/// # Panics
/// When there is none of this name; a test reads all names of the file.
pub(super) fn kernel(name: &str) -> usize {
    kernels().iter().position(|kernel| kernel.name == name).unwrap_or_else(|| panic!("kernel-mgmt.toml: there is no kernel {name}"))
}

/// The name of a group: those of its kernels.
pub(super) fn name(members: &[usize]) -> String {
    members.iter().map(|member: &usize| kernels()[*member].name.as_str()).collect::<Vec<_>>().join("_")
}

/// The kernel of a place in Table III.
pub(super) fn of(member: usize) -> &'static Kernel {
    &kernels()[member]
}
