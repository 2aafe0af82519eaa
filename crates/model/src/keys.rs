//! The keys of a model file: what each table may contain. The parser refuses what is not here, and the JSON schema for editors
//! is made from the same tables.

use super::ops::FUNCTIONS;

/// What the value of a key is.
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
    /// A formula, or an array of one to three.
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
    /// One of these words.
    Word(&'static [&'static str]),
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// As written.
    pub(super) name: &'static str,
    /// What its value is.
    pub(super) kind: Kind,
    /// Whether it must be there.
    pub(super) required: bool,
    /// What it means, for editors.
    pub(super) help: &'static str,
}

/// A table of a model file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// What it is called in messages.
    pub(super) what: &'static str,
    /// Its keys.
    pub(super) keys: &'static [Key],
}

impl Table {
    /// The names of its keys.
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

/// Where loads may be cached.
pub(super) const CACHES: &[&str] = &["l1", "llc", "texture"];

/// The whole file.
pub(super) static MODEL: Table = Table {
    what: "a model",
    keys: &[
        must("name", Kind::Text, "Name of the model."),
        may("summary", Kind::Text, "What it computes, in a sentence."),
        may("fitted_to", Kind::Texts, "The published figures that the model was fitted to."),
        may("parameters", Kind::NamedFormulas, "Names with integers, or formulas over the parameters before them."),
        may("require", Kind::Formulas, "Conditions over parameters; loading fails when one is 0."),
        may("buffers", Kind::NamedTables(&BUFFER), "Device memory."),
        may("blocks", Kind::NamedSteps, "Named arrays of steps, for `use`."),
        must("kernel", Kind::Tables(&KERNEL), "Kernels, launched in the order of the file."),
    ],
};

/// A kernel.
pub(super) static KERNEL: Table = Table {
    what: "a kernel",
    keys: &[
        must("name", Kind::Text, "Name of the kernel."),
        may("launches", Kind::Formula, "How often it is launched in succession; formulas see the number as `launch`."),
        must("grid", Kind::Extent, "CTAs in one to three directions."),
        must("block", Kind::Extent, "Threads of a CTA in one to three directions."),
        may("registers", Kind::Formula, "32-bit registers of a thread; what the body needs when left out."),
        may("shared_bytes", Kind::Formula, "Shared memory of a CTA in bytes; what `shared` takes when left out."),
        may("stream", Kind::Formula, "CUDA stream; 0 when left out."),
        may("shared", Kind::NamedTables(&SHARED), "Arrays in shared memory."),
        may("local", Kind::NamedTables(&LOCAL), "Arrays of each thread in local memory."),
        must("body", Kind::Steps, "The program; an EXIT follows the last step."),
    ],
};

/// A buffer in device memory.
pub(super) static BUFFER: Table = Table {
    what: "a buffer",
    keys: &[
        must("elements", Kind::Formula, "Length."),
        may("element_bytes", Kind::Formula, "Bytes of an element, what an index counts in; 4 when left out."),
        may("address", Kind::Formula, "First byte."),
        may("copy", Kind::Boolean, "Whether the host copies it to the device before the first launch."),
    ],
};

const ON_CHIP: &[Key] = &[
    must("elements", Kind::Formula, "Length."),
    may("element_bytes", Kind::Formula, "Bytes of an element, what an index counts in; 4 when left out."),
];

/// An array in shared memory.
pub(super) static SHARED: Table = Table { what: "a shared array", keys: ON_CHIP };
/// An array in local memory.
pub(super) static LOCAL: Table = Table { what: "a local array", keys: ON_CHIP };

const OP: Key = must("op", Kind::Operation, "An instruction.");
const DST: Key = may("dst", Kind::Register, "Destination register.");
const SRC: Key = may("src", Kind::Registers, "Source registers; of accesses the address register first, then the data.");
const WHEN: Key = may("when", Kind::Formula, "Predicate: lanes for which it is 0 do not execute.");
const TARGET: Key = must("buffer", Kind::Text, "A buffer, or a shared or local array of the kernel.");
const INDEX: Key = must("index", Kind::Formula, "Element that a lane addresses.");
const WIDTH: Key = may("width", Kind::Formula, "Bytes per lane; an element's when left out.");

/// An operation that accesses no memory.
pub(super) static PLAIN_OP: Table = Table { what: "an operation that accesses no memory", keys: &[OP, DST, SRC, WHEN] };
/// A load.
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
/// A store.
pub(super) static STORE: Table = Table { what: "a store", keys: &[OP, DST, SRC, WHEN, TARGET, INDEX, WIDTH] };
/// An atomic or reduction.
pub(super) static ATOMIC: Table = Table {
    what: "an atomic or reduction",
    keys: &[OP, DST, SRC, WHEN, TARGET, INDEX, WIDTH, may("function", Kind::Word(FUNCTIONS), "What it computes; `add` when left out.")],
};

/// A loop.
pub(super) static LOOP: Table = Table {
    what: "a loop",
    keys: &[
        must("loop", Kind::Text, "Name of the counter, from 0."),
        must("count", Kind::Formula, "Trip count."),
        may("unroll", Kind::Boolean, "Lay the body out `count` times without loop instructions."),
        must("body", Kind::Steps, "Steps."),
    ],
};
/// A choice.
pub(super) static IF: Table = Table {
    what: "an if",
    keys: &[
        must("if", Kind::Formula, "Condition, lane by lane."),
        must("then", Kind::Steps, "Steps for lanes where it is not 0."),
        may("else", Kind::Steps, "Steps for the others."),
    ],
};
/// A name for a value.
pub(super) static LET: Table =
    Table { what: "a let", keys: &[must("let", Kind::Text, "Name that gets a value."), must("value", Kind::Formula, "The value.")] };
/// A block's steps.
pub(super) static USE: Table = Table { what: "a use", keys: &[must("use", Kind::Text, "The block whose steps are inserted here.")] };

/// The keys of which a step has exactly one.
pub(super) const LEADS: &[&str] = &["op", "loop", "if", "let", "use"];
