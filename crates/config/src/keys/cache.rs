//! Keys common to all caches.

/// Declares the keys of a cache as a constant list: `cache_keys!(NAME, "table.", "-option, ", |m| cache of m, .when(..))`.
macro_rules! cache_keys {
    ($list:ident, $table:literal, $option:literal, |$machine:ident| $cache:expr $(, .when($flag:literal, $value:literal))?) => {
        pub(super) const $list: &[$crate::keys::Key] = {
            use $crate::choices::Words;
            use $crate::keys::declaration::{Field, Key};
            use $crate::machine::{Allocate, Replacement, SetIndex, WriteMiss, WritePolicy};
            use $crate::value::ValueKind;
            macro_rules! member {
                ($name:ident, $kind:expr, $doc:literal, $part:literal) => {
                    Key::new(concat!($table, stringify!($name)), $kind, $doc, |$machine, value| $cache.$name = Field::of(value))
                        .option(concat!($option, $part))
                        $(.when($flag, $value))?
                };
            }
            &[
                member!(sets, ValueKind::Count(1, 32768), "Number of sets; for the LLC, sets per slice.", "nsets"),
                member!(ways, ValueKind::Count(1, 1024), "Ways.", "assoc"),
                member!(sectored, ValueKind::Flag, "True if lines are filled sector by sector.", "S or N"),
                member!(write, ValueKind::Choice(WritePolicy::WORDS), "Time at which written data reaches the next level.", "wr"),
                member!(write_miss, ValueKind::Choice(WriteMiss::WORDS), "Policy for write misses.", "wr_alloc"),
                member!(allocate, ValueKind::Choice(Allocate::WORDS), "Time at which a miss reserves its line.", "alloc"),
                member!(index, ValueKind::Choice(SetIndex::WORDS), "Set index function.", "set_index_fn"),
                member!(replacement, ValueKind::Choice(Replacement::WORDS), "Replacement policy: selects the victim line of a full set.", "rep").default("\"lru\""),
                member!(mshrs, ValueKind::Count(1, 16384), "Number of MSHRs: outstanding misses of sectors, or of lines if the cache has no sectors.", "mshr N"),
                member!(mshr_merge, ValueKind::Count(1, 16384), "Maximum number of requests merged into one outstanding miss.", "mshr merge"),
                member!(miss_queue, ValueKind::Count(1, 16384), "Capacity of the miss queue to the next level.", "mq"),
                member!(port_bytes, ValueKind::Bytes(1, 256), "Width of the data port, per cycle.", "data_port_width"),
            ]
        };
    };
}
pub(super) use cache_keys;
