//! The form of a launch file. `docs/schema/launch.schema.json` is made from these types.

use std::fmt;

use indexmap::IndexMap;
#[cfg(test)]
use schemars::JsonSchema;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

/// Rows with names, in the order of the file.
pub(super) type Rows<T> = IndexMap<String, Spanned<T>>;

/// A launch file.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(title = "warpshard launch file, version 1"))]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchText {
    /// The name of the program.
    pub(super) name: Option<String>,
    /// Listings by architecture, such as sm_70.
    pub(super) modules: IndexMap<String, String>,
    /// Numbers that formulas use.
    #[serde(default)]
    pub(super) parameters: IndexMap<String, i64>,
    /// Device memory.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "IndexMap<String, BufferRow>"))]
    pub(super) buffers: Rows<BufferRow>,
    /// Variables in constant memory.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "IndexMap<String, BufferRow>"))]
    pub(super) symbols: Rows<BufferRow>,
    /// Tensor maps, by which copies of the tensor memory accelerator find their boxes.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "IndexMap<String, TensorRow>"))]
    pub(super) tensors: Rows<TensorRow>,
    /// Texture and surface objects, which are numbered from 1.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "IndexMap<String, TextureRow>"))]
    pub(super) textures: Rows<TextureRow>,
    /// Most instructions that a warp may execute.
    pub(super) limit: Option<u64>,
    /// What is launched, in order.
    #[cfg_attr(test, schemars(with = "Vec<LaunchRow>"))]
    pub(super) launches: Vec<Spanned<LaunchRow>>,
    /// What is looked at afterwards.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<OutputRow>"))]
    pub(super) outputs: Vec<Spanned<OutputRow>>,
}

/// A number, or a formula of the parameters.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(untagged))]
pub(super) enum Value {
    /// An integer.
    Integer(i64),
    /// A number of floating point.
    Float(f64),
    /// A formula, or an address: `&buffer`, `&buffer + formula`; or a texture: `&texture`.
    Text(String),
    /// A struct that is passed by value: addresses and textures of 8 bytes, other numbers of 4, each at a multiple of its size.
    List(Vec<Value>),
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a formula in quotes")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(Value::List(values))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
                Ok(Value::Integer(number))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
                Ok(Value::Float(number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value::Text(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// A number as it is written: an integer keeps all of its digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// An integer.
    Integer(i64),
    /// A number of floating point.
    Float(f64),
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
                Ok(Number::Integer(number))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Number, E> {
                Ok(Number::Float(number))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// A buffer in device memory.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct BufferRow {
    /// The type of its elements.
    #[serde(rename = "type")]
    pub(super) kind: Kind,
    /// Elements; for a variable in constant memory as many as it has.
    pub(super) count: Option<Value>,
    /// Where it lies, if that matters.
    pub(super) address: Option<u64>,
    /// What it holds before the first launch; without this it is uninitialised.
    #[serde(default)]
    pub(super) contents: Contents,
    /// The GPU of a system whose memory it lies in; that of the program if not given.
    pub(super) gpu: Option<Value>,
}

/// A copy between memories, by the copy engine of a GPU.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CopyRow {
    /// Where it begins to read: `&buffer`, `&buffer + formula`.
    pub(super) from: Value,
    /// Where it begins to write.
    pub(super) to: Value,
    /// Bytes.
    pub(super) bytes: Value,
}

/// The type of a buffer's elements.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    Bf16,
    F32,
    F64,
}

/// What a buffer holds before the first launch.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Contents {
    /// Nothing: reading it before it is written is reported.
    #[default]
    None,
    /// The same number everywhere.
    Constant(#[cfg_attr(test, schemars(with = "f64"))] Number),
    /// First number and difference.
    Sequence([f64; 2]),
    /// Numbers between two bounds that are equally likely.
    Uniform {
        /// Lowest number.
        low: f64,
        /// All are below this one.
        high: f64,
        /// Other seeds give other numbers.
        seed: u64,
    },
    /// Numbers of the normal distribution.
    Normal {
        /// Their mean.
        mean: f64,
        /// Their standard deviation.
        deviation: f64,
        /// Other seeds give other numbers.
        seed: u64,
    },
    /// Integers between two bounds, both included, that are equally likely.
    Integer {
        /// Lowest number.
        low: i64,
        /// Highest number.
        high: i64,
        /// Other seeds give other numbers.
        seed: u64,
    },
    /// A formula of the parameters and of the element's number `i`, in integers.
    Formula(String),
    /// A formula, and what its value is multiplied with.
    Scaled(String, f64),
    /// The first elements; the others are zero.
    Values(#[cfg_attr(test, schemars(with = "Vec<f64>"))] Vec<Number>),
    /// The bytes of a file.
    File(String),
}

/// A tensor map: how a tensor lies in a buffer, and which box of it a copy moves.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct TensorRow {
    /// The buffer that holds the tensor.
    pub(super) buffer: String,
    /// Elements of each dimension, the fastest first.
    pub(super) size: Vec<Value>,
    /// The distance in bytes between neighbours in each dimension but the first; a tensor without it is dense.
    #[serde(default)]
    pub(super) strides: Vec<Value>,
    /// Elements of the box in each dimension.
    #[serde(rename = "box")]
    pub(super) extents: Vec<Value>,
    /// Of each dimension one element in so many is taken; 1 if not given.
    #[serde(default)]
    pub(super) steps: Vec<Value>,
    /// Bytes of the rows in shared memory within which pieces of 16 bytes are exchanged: 32, 64 or 128; none if not given.
    pub(super) swizzle: Option<u32>,
    /// Bytes of the buffer before the tensor.
    pub(super) offset: Option<Value>,
    /// Whether elements outside of the tensor are no numbers, not zeros.
    #[serde(default)]
    pub(super) nan: bool,
    /// The type of its elements, where it is not the buffer's: `tf32` of a buffer of f32, for example.
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
}

/// A texture or surface object: a buffer as an image of one to three dimensions.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct TextureRow {
    /// The buffer that holds the texels, row after row.
    pub(super) buffer: String,
    /// Width, height and depth in texels, as many as it has dimensions.
    pub(super) size: Vec<Value>,
    /// Numbers of a texel: 1, 2 or 4.
    #[serde(default = "one")]
    pub(super) channels: u8,
    /// Whether the last size counts layers.
    #[serde(default)]
    pub(super) layered: bool,
    /// What is read outside of the image.
    #[serde(default)]
    pub(super) outside: Outside,
    /// Whether coordinates run from 0 to 1.
    #[serde(default)]
    pub(super) normalized: bool,
    /// Whether integers are read as numbers from 0 to 1, or from -1 to 1.
    #[serde(default)]
    pub(super) fractions: bool,
    /// What is read between the centres of texels.
    #[serde(default)]
    pub(super) filter: Filter,
}

fn one() -> u8 {
    1
}

/// What a texture returns outside of its image.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum Outside {
    /// The texel at the edge.
    #[default]
    Clamp,
    /// Zero.
    Border,
    /// The image again; only with normalised coordinates.
    Wrap,
    /// The image again, every other one mirrored; only with normalised coordinates.
    Mirror,
}

/// What a texture returns between the centres of texels.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum Filter {
    /// The texel in which the place lies.
    #[default]
    Point,
    /// The sum of the texels around the place, weighted in steps of 1/256; only of floating-point numbers.
    Linear,
}

/// A kernel launch, or a sequence of launches.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
    /// CTAs of a cluster, which share their memory: one to three dimensions.
    #[serde(default)]
    pub(super) cluster: Vec<Value>,
    /// A cooperative launch: its CTAs may wait for each other.
    #[serde(default)]
    pub(super) cooperative: bool,
    /// A programmatic dependent launch: it may begin when every CTA of the launch before it in its stream has triggered it
    /// (`griddepcontrol.launch_dependents`) or has ended, and waits for its end at `griddepcontrol.wait`.
    #[serde(default)]
    pub(super) programmatic: bool,
    /// What the kernel is called with.
    #[serde(default)]
    pub(super) arguments: Vec<Value>,
    /// The stream: launches of different streams may run at the same time.
    pub(super) stream: Option<Value>,
    /// The event that is recorded in its stream after it.
    pub(super) record: Option<String>,
    /// Events that its stream waits for before it, as they were recorded last by launches before it.
    #[serde(default)]
    pub(super) wait: Vec<String>,
    /// How often it is launched, one after the other; formulas see the number of the launch as `i`.
    pub(super) repeat: Option<Value>,
    /// Another name for that number.
    pub(super) index: Option<String>,
    /// Whether it only prepares buffers: it is executed before all others, and belongs to no run, trace or count.
    #[serde(default)]
    pub(super) setup: bool,
    /// The GPU of a system that it runs on; that of the program if not given.
    pub(super) gpu: Option<Value>,
    /// In place of `kernel`: a copy between the memories of GPUs.
    pub(super) copy: Option<CopyRow>,
    /// In place of `kernel`: what is launched in turn.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<LaunchRow>"))]
    pub(super) sequence: Vec<Spanned<LaunchRow>>,
}

impl LaunchRow {
    /// Whether it records or awaits an event.
    pub(super) fn has_events(&self) -> bool {
        self.record.is_some() || !self.wait.is_empty()
    }
}

/// The CRC-32 of a buffer, in hexadecimal.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
pub(super) enum Crc {
    /// The same on all architectures.
    One(String),
    /// By architecture, such as sm_80: matrix units add differently.
    ByArchitecture(IndexMap<String, String>),
}

impl Crc {
    /// That of an architecture: 80 for sm_80.
    pub(super) fn of(&self, arch: u32) -> Option<&str> {
        match self {
            Self::One(text) => Some(text.as_str()),
            Self::ByArchitecture(texts) => {
                texts.get(&format!("sm_{arch}")).or_else(|| texts.get(&format!("sm_{arch}a"))).map(String::as_str)
            }
        }
    }
}

/// A buffer that is looked at after the last launch.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct OutputRow {
    /// The buffer.
    pub(super) buffer: String,
    /// CRC-32 of its bytes, in hexadecimal, or one of each architecture.
    pub(super) crc32: Option<Crc>,
    /// What it should hold, as the contents of a buffer of its type and size.
    pub(super) expected: Option<Contents>,
    /// How far elements may be from what is expected; nothing if it is not given.
    pub(super) tolerance: Option<Tolerance>,
    /// Elements to show.
    #[serde(default)]
    pub(super) show: usize,
}

/// How far a number may be from the one that is expected: by the sum of both.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Tolerance {
    /// So far in any case.
    #[serde(default)]
    pub(super) absolute: f64,
    /// And by this part of the expected number.
    #[serde(default)]
    pub(super) relative: f64,
}
