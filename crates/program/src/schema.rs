//! The format of launch files. `docs/schema/launch.schema.json` is generated from these types.

use std::fmt;

use indexmap::IndexMap;
#[cfg(test)]
use schemars::JsonSchema;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

/// Named rows in the order of the file.
pub(super) type Rows<T> = IndexMap<String, Spanned<T>>;

/// A launch file.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(title = "warpshard launch file, version 1"))]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchText {
    /// Name of the program.
    pub(super) name: Option<String>,
    /// Listings by architecture, such as sm_70.
    pub(super) modules: IndexMap<String, String>,
    /// Named integers for formulas.
    #[serde(default)]
    pub(super) parameters: IndexMap<String, i64>,
    /// Buffers in device memory.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "IndexMap<String, BufferRow>"))]
    pub(super) buffers: Rows<BufferRow>,
    /// Contents of variables in constant memory.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "IndexMap<String, BufferRow>"))]
    pub(super) symbols: Rows<BufferRow>,
    /// Tensor maps, which describe the boxes that the tensor memory accelerator copies.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "IndexMap<String, TensorRow>"))]
    pub(super) tensors: Rows<TensorRow>,
    /// Texture and surface objects, numbered from 1.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "IndexMap<String, TextureRow>"))]
    pub(super) textures: Rows<TextureRow>,
    /// Maximum number of instructions that a warp may execute.
    pub(super) limit: Option<u64>,
    /// Launches in order.
    #[cfg_attr(test, schemars(with = "Vec<LaunchRow>"))]
    pub(super) launches: Vec<Spanned<LaunchRow>>,
    /// Buffers to check or show after the last launch.
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
    /// A floating-point number.
    Float(f64),
    /// A formula, an address (`&buffer`, `&buffer + formula`) or a texture (`&texture`).
    Text(String),
    /// A struct passed by value: addresses and textures take 8 bytes, other numbers 4, each aligned to its size.
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

/// A number as written: an integer keeps all of its digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// An integer.
    Integer(i64),
    /// A floating-point number.
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
    /// Element type of the buffer.
    #[serde(rename = "type")]
    pub(super) kind: Kind,
    /// Number of elements; for a variable in constant memory by default all of it.
    pub(super) count: Option<Value>,
    /// Address of the buffer; by default the loader chooses one.
    pub(super) address: Option<u64>,
    /// Contents before the first launch; uninitialised by default.
    #[serde(default)]
    pub(super) contents: Contents,
    /// GPU of a system whose memory contains the buffer; by default the GPU of the program.
    pub(super) gpu: Option<Value>,
}

/// A copy between memories, by the copy engine of a GPU.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CopyRow {
    /// Source address: `&buffer`, `&buffer + formula`.
    pub(super) from: Value,
    /// Destination address.
    pub(super) to: Value,
    /// Number of bytes to copy.
    pub(super) bytes: Value,
}

/// The element type of a buffer.
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

/// The contents of a buffer before the first launch.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Contents {
    /// Uninitialised contents: reads before the first write are reported.
    #[default]
    None,
    /// The same number for every element.
    Constant(#[cfg_attr(test, schemars(with = "f64"))] Number),
    /// An arithmetic sequence: first number and difference.
    Sequence([f64; 2]),
    /// Uniformly distributed random numbers.
    Uniform {
        /// Lower bound, inclusive.
        low: f64,
        /// Upper bound, exclusive.
        high: f64,
        /// Seed of the random numbers.
        seed: u64,
    },
    /// Normally distributed random numbers.
    Normal {
        /// Mean of the distribution.
        mean: f64,
        /// Standard deviation of the distribution.
        deviation: f64,
        /// Seed of the random numbers.
        seed: u64,
    },
    /// Uniformly distributed random integers.
    Integer {
        /// Lower bound, inclusive.
        low: i64,
        /// Upper bound, inclusive.
        high: i64,
        /// Seed of the random numbers.
        seed: u64,
    },
    /// An integer formula of the parameters and of the element's index `i`.
    Formula(String),
    /// An integer formula, and a factor for its value.
    Scaled(String, f64),
    /// Values of the first elements; the other elements are zero.
    Values(#[cfg_attr(test, schemars(with = "Vec<f64>"))] Vec<Number>),
    /// The bytes of a file.
    File(String),
}

/// A tensor map: the layout of a tensor in a buffer, and the box that a copy moves.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct TensorRow {
    /// Buffer that contains the tensor.
    pub(super) buffer: String,
    /// Elements of each dimension, the fastest dimension first.
    pub(super) size: Vec<Value>,
    /// Distance in bytes between neighbours in each dimension but the first; the tensor is dense by default.
    #[serde(default)]
    pub(super) strides: Vec<Value>,
    /// Elements of the box in each dimension.
    #[serde(rename = "box")]
    pub(super) extents: Vec<Value>,
    /// Step in each dimension: one element per step is copied; by default 1.
    #[serde(default)]
    pub(super) steps: Vec<Value>,
    /// Bytes of the rows in shared memory within which 16-byte pieces are swizzled: 32, 64 or 128; no swizzling by default.
    pub(super) swizzle: Option<u32>,
    /// Offset of the tensor in the buffer, in bytes.
    pub(super) offset: Option<Value>,
    /// True if elements outside of the tensor read as NaN instead of zero.
    #[serde(default)]
    pub(super) nan: bool,
    /// Element type if it differs from the buffer's: for example `tf32` for a buffer of f32.
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
}

/// A texture or surface object: a buffer as an image of one to three dimensions.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct TextureRow {
    /// Buffer that contains the texels, row by row.
    pub(super) buffer: String,
    /// Width, height and depth in texels, one size per dimension.
    pub(super) size: Vec<Value>,
    /// Components per texel: 1, 2 or 4.
    #[serde(default = "one")]
    pub(super) channels: u8,
    /// True if the last size is a number of layers.
    #[serde(default)]
    pub(super) layered: bool,
    /// Addressing mode for coordinates outside of the image.
    #[serde(default)]
    pub(super) outside: Outside,
    /// True if coordinates are normalised to the range 0 to 1.
    #[serde(default)]
    pub(super) normalized: bool,
    /// True if integers are read as normalised numbers from 0 to 1, or from -1 to 1.
    #[serde(default)]
    pub(super) fractions: bool,
    /// Filter between the centres of texels.
    #[serde(default)]
    pub(super) filter: Filter,
}

fn one() -> u8 {
    1
}

/// The addressing mode of a texture for coordinates outside of its image.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum Outside {
    /// The texel at the edge.
    #[default]
    Clamp,
    /// The value zero.
    Border,
    /// The repeated image; only with normalised coordinates.
    Wrap,
    /// The repeated image with every other copy mirrored; only with normalised coordinates.
    Mirror,
}

/// The filter of a texture between the centres of texels.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum Filter {
    /// The texel that contains the coordinates.
    #[default]
    Point,
    /// The weighted sum of the surrounding texels, with weights in steps of 1/256; only for floating-point numbers.
    Linear,
}

/// A kernel launch, or a sequence of launches.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchRow {
    /// Name of the kernel in the listing, or its identifier in the source.
    pub(super) kernel: Option<String>,
    /// CTAs of the grid in one to three dimensions.
    #[serde(default)]
    pub(super) grid: Vec<Value>,
    /// Threads of a CTA in one to three dimensions.
    #[serde(default)]
    pub(super) block: Vec<Value>,
    /// Bytes of dynamic shared memory per CTA.
    pub(super) shared: Option<Value>,
    /// CTAs of a cluster, which share their memory, in one to three dimensions.
    #[serde(default)]
    pub(super) cluster: Vec<Value>,
    /// True for a cooperative launch, whose CTAs may wait for each other.
    #[serde(default)]
    pub(super) cooperative: bool,
    /// True for a programmatic dependent launch: it may start when every CTA of the previous launch in its stream has triggered it
    /// (`griddepcontrol.launch_dependents`) or has ended, and waits for that launch's end at `griddepcontrol.wait`.
    #[serde(default)]
    pub(super) programmatic: bool,
    /// Arguments of the kernel.
    #[serde(default)]
    pub(super) arguments: Vec<Value>,
    /// Stream of the launch; launches in different streams may run at the same time.
    pub(super) stream: Option<Value>,
    /// Event that is recorded in the stream after the launch.
    pub(super) record: Option<String>,
    /// Events that the stream waits for before the launch, as last recorded by earlier launches.
    #[serde(default)]
    pub(super) wait: Vec<String>,
    /// Number of successive launches; formulas can use the index of the launch as `i`.
    pub(super) repeat: Option<Value>,
    /// Name of the launch index in formulas, instead of `i`.
    pub(super) index: Option<String>,
    /// True for a launch that only prepares buffers: it executes before all others and belongs to no run, trace or count.
    #[serde(default)]
    pub(super) setup: bool,
    /// GPU of a system that executes the launch; by default the GPU of the program.
    pub(super) gpu: Option<Value>,
    /// Alternative to `kernel`: a copy between the memories of GPUs.
    pub(super) copy: Option<CopyRow>,
    /// Alternative to `kernel`: a sequence of launches.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<LaunchRow>"))]
    pub(super) sequence: Vec<Spanned<LaunchRow>>,
}

impl LaunchRow {
    /// Returns true if the launch records or awaits an event.
    pub(super) fn has_events(&self) -> bool {
        self.record.is_some() || !self.wait.is_empty()
    }
}

/// The CRC-32 of a buffer, in hexadecimal.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
pub(super) enum Crc {
    /// The same CRC-32 on all architectures.
    One(String),
    /// One CRC-32 per architecture, such as sm_80: matrix units add differently.
    ByArchitecture(IndexMap<String, String>),
}

impl Crc {
    /// Returns the CRC-32 of an architecture: 80 for sm_80.
    pub(super) fn of(&self, arch: u32) -> Option<&str> {
        match self {
            Self::One(text) => Some(text.as_str()),
            Self::ByArchitecture(texts) => {
                texts.get(&format!("sm_{arch}")).or_else(|| texts.get(&format!("sm_{arch}a"))).map(String::as_str)
            }
        }
    }
}

/// A buffer that is checked or shown after the last launch.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct OutputRow {
    /// Name of the buffer.
    pub(super) buffer: String,
    /// Expected CRC-32 of the buffer's bytes in hexadecimal, or one per architecture.
    pub(super) crc32: Option<Crc>,
    /// Expected contents, in the form of the contents of a buffer with the same type and size.
    pub(super) expected: Option<Contents>,
    /// Tolerated difference of elements from the expected contents; none by default.
    pub(super) tolerance: Option<Tolerance>,
    /// Number of elements to show.
    #[serde(default)]
    pub(super) show: usize,
}

/// The tolerated difference of a number from the expected one: the sum of both parts.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Tolerance {
    /// Absolute part of the tolerance.
    #[serde(default)]
    pub(super) absolute: f64,
    /// Part of the tolerance relative to the expected number.
    #[serde(default)]
    pub(super) relative: f64,
}
