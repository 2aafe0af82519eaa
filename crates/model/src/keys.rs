//! The keys that each table of a model file may contain. The parser rejects any other key, and the JSON schema for editors is generated
//! from the same tables.

use super::ops::ATOMIC_FUNCTIONS;

/// Kinds of values of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    /// A string.
    Text,
    /// An array of strings.
    Texts,
    /// `true` or `false`.
    Boolean,
    /// An integer, or a formula in quotes.
    Formula,
    /// An array of formulas.
    Formulas,
    /// A formula, or an array of one to three formulas.
    Extent,
    /// A table of names with formulas.
    NamedFormulas,
    /// A table of names with tables of these keys.
    NamedTables(&'static Table),
    /// An array of tables with these keys.
    Tables(&'static Table),
    /// An array of steps.
    Steps,
    /// A table of names with arrays of steps.
    NamedSteps,
    /// The name of an operation.
    Operation,
    /// A register: `name` or `name[index]`.
    Register,
    /// An array of up to four registers.
    Registers,
    /// A word from this list.
    Word(&'static [&'static str]),
}

/// A key of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The key as written in the file.
    pub(super) name: &'static str,
    /// Kind of the value.
    pub(super) kind: KeyKind,
    /// True if the key is required.
    pub(super) required: bool,
    /// Description of the key, for editors.
    pub(super) help: &'static str,
}

/// A table of a model file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Name of the table in messages.
    pub(super) what: &'static str,
    /// Keys of the table.
    pub(super) keys: &'static [Key],
}

impl Table {
    /// Returns the names of the keys.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.keys.iter().map(|key| key.name)
    }
}

const fn required_key(name: &'static str, kind: KeyKind, help: &'static str) -> Key {
    Key { name, kind, required: true, help }
}

const fn optional_key(name: &'static str, kind: KeyKind, help: &'static str) -> Key {
    Key { name, kind, required: false, help }
}

/// Caches that a load can use.
pub(super) const LOAD_CACHES: &[&str] = &["l1", "llc", "texture"];

/// Keys at the top level of the file.
pub(super) static MODEL_KEYS: Table = Table {
    what: "a model",
    keys: &[
        required_key("name", KeyKind::Text, "Name of the model."),
        optional_key("summary", KeyKind::Text, "Description of the computation in a sentence."),
        optional_key("fitted_to", KeyKind::Texts, "Published figures to which the model was fitted."),
        optional_key("parameters", KeyKind::NamedFormulas, "Names with integers, or formulas over earlier parameters."),
        optional_key("require", KeyKind::Formulas, "Conditions over parameters; loading fails if one is 0."),
        optional_key("buffers", KeyKind::NamedTables(&BUFFER_KEYS), "Device memory."),
        optional_key("blocks", KeyKind::NamedSteps, "Named arrays of steps, for `use`."),
        required_key("kernel", KeyKind::Tables(&KERNEL_KEYS), "Kernels, launched in the order of the file."),
    ],
};

/// Keys of a kernel.
pub(super) static KERNEL_KEYS: Table = Table {
    what: "a kernel",
    keys: &[
        required_key("name", KeyKind::Text, "Name of the kernel."),
        optional_key("launches", KeyKind::Formula, "Number of successive launches; formulas refer to the launch number as `launch`."),
        required_key("grid", KeyKind::Extent, "CTAs in one to three dimensions."),
        required_key("block", KeyKind::Extent, "Threads of a CTA in one to three dimensions."),
        optional_key("registers", KeyKind::Formula, "32-bit registers per thread; by default the registers that the body needs."),
        optional_key("shared_bytes", KeyKind::Formula, "Bytes of shared memory per CTA; by default the size of the `shared` arrays."),
        optional_key("stream", KeyKind::Formula, "CUDA stream; by default 0."),
        optional_key("shared", KeyKind::NamedTables(&SHARED_KEYS), "Arrays in shared memory."),
        optional_key("local", KeyKind::NamedTables(&LOCAL_KEYS), "Arrays of each thread in local memory."),
        required_key("body", KeyKind::Steps, "The program; an EXIT follows the last step."),
    ],
};

/// Keys of a buffer in device memory.
pub(super) static BUFFER_KEYS: Table = Table {
    what: "a buffer",
    keys: &[
        required_key("elements", KeyKind::Formula, "Length."),
        optional_key("element_bytes", KeyKind::Formula, "Bytes of an element, the unit of indices; by default 4."),
        optional_key("address", KeyKind::Formula, "First byte."),
        optional_key("copy", KeyKind::Boolean, "True if the host copies the buffer to the device before the first launch."),
    ],
};

const ON_CHIP_KEYS: &[Key] = &[
    required_key("elements", KeyKind::Formula, "Length."),
    optional_key("element_bytes", KeyKind::Formula, "Bytes of an element, the unit of indices; by default 4."),
];

/// Keys of an array in shared memory.
pub(super) static SHARED_KEYS: Table = Table { what: "a shared array", keys: ON_CHIP_KEYS };
/// Keys of an array in local memory.
pub(super) static LOCAL_KEYS: Table = Table { what: "a local array", keys: ON_CHIP_KEYS };

const OP_KEY: Key = required_key("op", KeyKind::Operation, "An instruction.");
const DST_KEY: Key = optional_key("dst", KeyKind::Register, "Destination register.");
const SRC_KEY: Key = optional_key("src", KeyKind::Registers, "Source registers; for accesses, first the address register, then the data.");
const WHEN_KEY: Key = optional_key("when", KeyKind::Formula, "Predicate: lanes for which it is 0 do not execute.");
const TARGET_KEY: Key = required_key("buffer", KeyKind::Text, "A buffer, or a shared or local array of the kernel.");
const INDEX_KEY: Key = required_key("index", KeyKind::Formula, "Index of the element that a lane accesses.");
const WIDTH_KEY: Key = optional_key("width", KeyKind::Formula, "Bytes per lane; by default the size of an element.");

/// Keys of an operation that accesses no memory.
pub(super) static PLAIN_OP_KEYS: Table =
    Table { what: "an operation that accesses no memory", keys: &[OP_KEY, DST_KEY, SRC_KEY, WHEN_KEY] };
/// Keys of a load.
pub(super) static LOAD_KEYS: Table = Table {
    what: "a load",
    keys: &[
        OP_KEY,
        DST_KEY,
        SRC_KEY,
        WHEN_KEY,
        TARGET_KEY,
        INDEX_KEY,
        WIDTH_KEY,
        optional_key("cache", KeyKind::Word(LOAD_CACHES), "`llc` bypasses the L1, `texture` uses the texture cache."),
    ],
};
/// Keys of a store.
pub(super) static STORE_KEYS: Table =
    Table { what: "a store", keys: &[OP_KEY, DST_KEY, SRC_KEY, WHEN_KEY, TARGET_KEY, INDEX_KEY, WIDTH_KEY] };
/// Keys of an atomic operation or reduction.
pub(super) static ATOMIC_KEYS: Table = Table {
    what: "an atomic or reduction",
    keys: &[
        OP_KEY,
        DST_KEY,
        SRC_KEY,
        WHEN_KEY,
        TARGET_KEY,
        INDEX_KEY,
        WIDTH_KEY,
        optional_key("function", KeyKind::Word(ATOMIC_FUNCTIONS), "Function of the operation; by default `add`."),
    ],
};

/// Keys of a loop.
pub(super) static LOOP_KEYS: Table = Table {
    what: "a loop",
    keys: &[
        required_key("loop", KeyKind::Text, "Name of the counter, from 0."),
        required_key("count", KeyKind::Formula, "Trip count."),
        optional_key("unroll", KeyKind::Boolean, "Unroll the body `count` times without loop instructions."),
        required_key("body", KeyKind::Steps, "Steps."),
    ],
};
/// Keys of a conditional step.
pub(super) static IF_KEYS: Table = Table {
    what: "an if",
    keys: &[
        required_key("if", KeyKind::Formula, "Condition, lane by lane."),
        required_key("then", KeyKind::Steps, "Steps for lanes where the condition is not 0."),
        optional_key("else", KeyKind::Steps, "Steps for all other lanes."),
    ],
};
/// Keys of a step that names a value.
pub(super) static LET_KEYS: Table = Table {
    what: "a let",
    keys: &[required_key("let", KeyKind::Text, "Name of the value."), required_key("value", KeyKind::Formula, "The value.")],
};
/// Keys of a step that inserts a block.
pub(super) static USE_KEYS: Table =
    Table { what: "a use", keys: &[required_key("use", KeyKind::Text, "The block whose steps are inserted here.")] };

/// Keys that determine the kind of a step, which has exactly one of them.
pub(super) const LEADING_KEYS: &[&str] = &["op", "loop", "if", "let", "use"];
