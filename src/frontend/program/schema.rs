//! The form of a launch file.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A launch file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchText {
    /// The name of the program.
    pub(super) name: Option<String>,
    /// Listings by architecture.
    pub(super) modules: BTreeMap<String, String>,
    /// Numbers that formulas use.
    #[serde(default)]
    pub(super) parameters: toml::Table,
    /// Device memory.
    #[serde(default)]
    pub(super) buffers: toml::Table,
    /// Variables in constant memory.
    #[serde(default)]
    pub(super) symbols: toml::Table,
    /// Most instructions that a warp may execute.
    pub(super) limit: Option<u64>,
    /// What is launched, in order.
    pub(super) launches: Vec<LaunchRow>,
    /// What is looked at afterwards.
    #[serde(default)]
    pub(super) outputs: Vec<OutputRow>,
}

/// A number, or a formula of the parameters.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub(super) enum Value {
    /// An integer.
    Integer(i64),
    /// A number of floating point.
    Float(f64),
    /// A formula, or an address: `&buffer`, `&buffer + formula`.
    Text(String),
}

/// A buffer in device memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BufferRow {
    /// The type of its elements: u8 to u64, i8 to i64, f32, f64.
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// Elements; for a variable in constant memory as many as it has.
    pub(super) count: Option<Value>,
    /// Where it lies, if that matters.
    pub(super) address: Option<u64>,
    #[serde(default)]
    pub(super) contents: Contents,
}

/// What a buffer holds before the first launch.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Contents {
    /// Nothing: reading it before it is written is reported.
    #[default]
    None,
    /// The same number everywhere.
    Constant(f64),
    /// First number and difference.
    Sequence([f64; 2]),
    /// Lowest number, and the one that all are below; drawn with `seed`.
    Uniform {
        /// Lowest number.
        low: f64,
        /// All are below this one.
        high: f64,
        /// Other seeds give other numbers.
        seed: u64,
    },
    /// A formula of the parameters and of the element's number `i`, in integers.
    Formula(String),
    /// A formula, and what its value is multiplied with.
    Scaled(String, f64),
    /// The first elements; the others are zero.
    Values(Vec<f64>),
    /// The bytes of a file.
    File(String),
}

/// A kernel launch, or a sequence of launches.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchRow {
    /// The kernel's name in its listing, or the identifier of the source.
    pub(super) kernel: Option<String>,
    /// CTAs: one to three dimensions.
    #[serde(default)]
    pub(super) grid: Vec<Value>,
    /// Threads of a CTA: one to three dimensions.
    #[serde(default)]
    pub(super) block: Vec<Value>,
    /// Dynamic shared memory of a CTA, in bytes.
    pub(super) shared: Option<Value>,
    #[serde(default)]
    pub(super) arguments: Vec<Value>,
    /// How often it is launched, one after the other; formulas see the number of the launch as `i`.
    pub(super) repeat: Option<Value>,
    /// Another name for that number.
    pub(super) index: Option<String>,
    /// Whether it only prepares buffers: it is executed before all others, and belongs to no run, trace or count.
    #[serde(default)]
    pub(super) setup: bool,
    /// In place of `kernel`: what is launched in turn.
    #[serde(default)]
    pub(super) sequence: Vec<LaunchRow>,
}

/// A buffer that is looked at after the last launch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutputRow {
    pub(super) buffer: String,
    /// CRC-32 of its bytes, in hexadecimal.
    pub(super) crc32: Option<String>,
    /// Elements to show.
    #[serde(default)]
    pub(super) show: usize,
}
