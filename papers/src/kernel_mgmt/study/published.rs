//! The published figures of the paper, and its kernels.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;

use warpshard_lab::error::TaskError;
use warpshard_lab::published::{Published, read};

/// The sections of `kernel-mgmt.toml` that only this study has.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StudyData {
    pub(super) parameters: Parameters,
    pub(super) kernel: Vec<PublishedKernel>,
    pub(super) pair: Vec<PublishedPair>,
    pub(super) pool: Vec<Vec<String>>,
}

/// Parameters of the study; `kernel-mgmt.toml` explains each.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    pub(super) machine: String,
    pub(super) smc: String,
    pub(super) tolerance: f64,
}

/// The kernel types of Table III.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum KernelType {
    Up,
    Optimal,
    Down,
}

impl KernelType {
    /// Returns the type of a kernel that is fastest with `opt` CTAs per SM, of which `most` fit (Section 4.1).
    pub(super) fn from_optimum(opt: u32, most: u32) -> Self {
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

/// The inputs of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Quick,
    /// Inputs with up to four times longer runs.
    Full,
    /// Inputs with this number of features, for kernels with [`PublishedKernel::features`].
    Features(u32),
    /// The program of [`PublishedKernel::revised`], for kernels that have one.
    Revised,
}

/// A kernel of Table III.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedKernel {
    pub(super) name: String,
    pub(super) program: String,
    /// Name of the kernel in the program; its first launch is run.
    pub(super) kernel: String,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) full: Vec<(String, String)>,
    /// Inputs by their number of features, which decides how much of a CTA's reused data the L1 holds; empty for a kernel without features.
    #[serde(default)]
    pub(super) features: BTreeMap<String, Vec<(String, String)>>,
    /// The program and its parameters for the configuration `revised`.
    pub(super) revised: Option<RevisedProgram>,
    pub(super) registers: u32,
    pub(super) opt: u32,
    pub(super) most: u32,
    /// Published utilisation of threads, shared memory and registers, in percent.
    pub(super) utilisation: [f64; 3],
    #[serde(rename = "type")]
    pub(super) kind: KernelType,
}

/// A launch file and its parameters.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RevisedProgram {
    pub(super) program: String,
    pub(super) parameters: Vec<(String, String)>,
}

impl PublishedKernel {
    /// Returns the launch file of the kernel.
    pub(super) fn program(&self, input: Input) -> &str {
        match &self.revised {
            Some(revised) if input == Input::Revised => &revised.program,
            _ => &self.program,
        }
    }

    /// Returns the parameters that set the size of the input.
    pub(super) fn size_parameters(&self, input: Input) -> &[(String, String)] {
        match input {
            Input::Quick => &self.parameters,
            Input::Full => &self.full,
            Input::Features(number) => self.features.get(&number.to_string()).unwrap_or(&self.parameters),
            Input::Revised => self.revised.as_ref().map_or(&self.parameters, |revised| &revised.parameters),
        }
    }

    /// Returns the program of the kernel as text: the launch file, and the listings that the launch file names.
    ///
    /// # Errors
    /// Returns a message for the user if a file does not exist.
    pub(super) fn input_text(&self, input: Input) -> Result<String, TaskError> {
        warpshard_lab::programs::content(Path::new(self.program(input)))
    }
}

/// A row of Table IV.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedPair {
    pub(super) kernels: [String; 2],
    pub(super) ctas: [u32; 2],
    /// Published utilisation of threads, shared memory and registers, in percent.
    pub(super) utilisation: [f64; 3],
}

/// The quantity of a published value.
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

/// The key `of` of a published value: its quantity.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ValueSelector {
    pub(super) quantity: Quantity,
}

/// Returns the parsed `kernel-mgmt.toml`.
pub(super) fn published() -> &'static Published<StudyData, ValueSelector> {
    static PUBLISHED_FILE: OnceLock<Published<StudyData, ValueSelector>> = OnceLock::new();
    PUBLISHED_FILE.get_or_init(|| read("kernel-mgmt", include_str!("../published/kernel-mgmt.toml")))
}

/// Returns the kernels of Table III.
pub(super) fn kernels() -> &'static [PublishedKernel] {
    &published().own.kernel
}

/// Returns the index of a kernel in Table III.
///
/// # Panics
/// Panics if no kernel has this name; a test reads all names of the file.
pub(super) fn kernel_index(name: &str) -> usize {
    kernels().iter().position(|kernel| kernel.name == name).unwrap_or_else(|| panic!("kernel-mgmt.toml: there is no kernel {name}"))
}

/// Returns the name of a group: the names of its kernels, joined by "_".
pub(super) fn group_name(members: &[usize]) -> String {
    members.iter().map(|member: &usize| kernels()[*member].name.as_str()).collect::<Vec<_>>().join("_")
}

/// Returns the kernel at an index of Table III.
pub(super) fn kernel_at(member: usize) -> &'static PublishedKernel {
    &kernels()[member]
}
