//! The keys that each table of a model file may contain. The parser rejects any other key, and the JSON schema for editors is generated
//! from the same tables.

use super::ops::FUNCTIONS;

/// Kinds of values of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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
    pub(super) kind: Kind,
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

const fn must(name: &'static str, kind: Kind, help: &'static str) -> Key {
    Key { name, kind, required: true, help }
}

const fn may(name: &'static str, kind: Kind, help: &'static str) -> Key {
    Key { name, kind, required: false, help }
}

/// Caches that a load can use.
pub(super) const CACHES: &[&str] = &["l1", "llc", "texture"];

/// Keys at the top level of the file.
pub(super) static MODEL: Table = Table {
    what: "a model",
    keys: &[
        must("name", Kind::Text, "Name of the model."),
        may("summary", Kind::Text, "Description of the computation in a sentence."),
        may("fitted_to", Kind::Texts, "Published figures to which the model was fitted."),
        may("parameters", Kind::NamedFormulas, "Names with integers, or formulas over earlier parameters."),
        may("require", Kind::Formulas, "Conditions over parameters; loading fails if one is 0."),
        may("buffers", Kind::NamedTables(&BUFFER), "Device memory."),
        may("blocks", Kind::NamedSteps, "Named arrays of steps, for `use`."),
        must("kernel", Kind::Tables(&KERNEL), "Kernels, launched in the order of the file."),
    ],
};

/// Keys of a kernel.
pub(super) static KERNEL: Table = Table {
    what: "a kernel",
    keys: &[
        must("name", Kind::Text, "Name of the kernel."),
        may("launches", Kind::Formula, "Number of successive launches; formulas refer to the launch number as `launch`."),
        must("grid", Kind::Extent, "CTAs in one to three dimensions."),
        must("block", Kind::Extent, "Threads of a CTA in one to three dimensions."),
        may("registers", Kind::Formula, "32-bit registers per thread; by default the registers that the body needs."),
        may("shared_bytes", Kind::Formula, "Bytes of shared memory per CTA; by default the size of the `shared` arrays."),
        may("stream", Kind::Formula, "CUDA stream; by default 0."),
        may("shared", Kind::NamedTables(&SHARED), "Arrays in shared memory."),
        may("local", Kind::NamedTables(&LOCAL), "Arrays of each thread in local memory."),
        must("body", Kind::Steps, "The program; an EXIT follows the last step."),
    ],
};

/// Keys of a buffer in device memory.
pub(super) static BUFFER: Table = Table {
    what: "a buffer",
    keys: &[
        must("elements", Kind::Formula, "Length."),
        may("element_bytes", Kind::Formula, "Bytes of an element, the unit of indices; by default 4."),
        may("address", Kind::Formula, "First byte."),
        may("copy", Kind::Boolean, "True if the host copies the buffer to the device before the first launch."),
    ],
};

const ON_CHIP: &[Key] = &[
    must("elements", Kind::Formula, "Length."),
    may("element_bytes", Kind::Formula, "Bytes of an element, the unit of indices; by default 4."),
];

/// Keys of an array in shared memory.
pub(super) static SHARED: Table = Table { what: "a shared array", keys: ON_CHIP };
/// Keys of an array in local memory.
pub(super) static LOCAL: Table = Table { what: "a local array", keys: ON_CHIP };

const OP: Key = must("op", Kind::Operation, "An instruction.");
const DST: Key = may("dst", Kind::Register, "Destination register.");
const SRC: Key = may("src", Kind::Registers, "Source registers; for accesses, first the address register, then the data.");
const WHEN: Key = may("when", Kind::Formula, "Predicate: lanes for which it is 0 do not execute.");
const TARGET: Key = must("buffer", Kind::Text, "A buffer, or a shared or local array of the kernel.");
const INDEX: Key = must("index", Kind::Formula, "Index of the element that a lane accesses.");
const WIDTH: Key = may("width", Kind::Formula, "Bytes per lane; by default the size of an element.");

/// Keys of an operation that accesses no memory.
pub(super) static PLAIN_OP: Table = Table { what: "an operation that accesses no memory", keys: &[OP, DST, SRC, WHEN] };
/// Keys of a load.
pub(super) static LOAD: Table = Table {
    what: "a load",
    keys: &[
        OP,
        DST,
        SRC,
        WHEN,
        TARGET,
        INDEX,
        WIDTH,
        may("cache", Kind::Word(CACHES), "`llc` bypasses the L1, `texture` uses the texture cache."),
    ],
};
/// Keys of a store.
pub(super) static STORE: Table = Table { what: "a store", keys: &[OP, DST, SRC, WHEN, TARGET, INDEX, WIDTH] };
/// Keys of an atomic operation or reduction.
pub(super) static ATOMIC: Table = Table {
    what: "an atomic or reduction",
    keys: &[
        OP,
        DST,
        SRC,
        WHEN,
        TARGET,
        INDEX,
        WIDTH,
        may("function", Kind::Word(FUNCTIONS), "Function of the operation; by default `add`."),
    ],
};

/// Keys of a loop.
pub(super) static LOOP: Table = Table {
    what: "a loop",
    keys: &[
        must("loop", Kind::Text, "Name of the counter, from 0."),
        must("count", Kind::Formula, "Trip count."),
        may("unroll", Kind::Boolean, "Unroll the body `count` times without loop instructions."),
        must("body", Kind::Steps, "Steps."),
    ],
};
/// Keys of a conditional step.
pub(super) static IF: Table = Table {
    what: "an if",
    keys: &[
        must("if", Kind::Formula, "Condition, lane by lane."),
        must("then", Kind::Steps, "Steps for lanes where the condition is not 0."),
        may("else", Kind::Steps, "Steps for all other lanes."),
    ],
};
/// Keys of a step that names a value.
pub(super) static LET: Table =
    Table { what: "a let", keys: &[must("let", Kind::Text, "Name of the value."), must("value", Kind::Formula, "The value.")] };
/// Keys of a step that inserts a block.
pub(super) static USE: Table = Table { what: "a use", keys: &[must("use", Kind::Text, "The block whose steps are inserted here.")] };

/// Keys that determine the kind of a step, which has exactly one of them.
pub(super) const LEADING_KEYS: &[&str] = &["op", "loop", "if", "let", "use"];
