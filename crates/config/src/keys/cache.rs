//! Keys that every cache has.

/// `cache_keys!(NAME, "table.", "-option, ", |m| cache of m, .when(..))`: the keys of one cache as a constant list.
macro_rules! cache_keys {
    ($list:ident, $table:literal, $option:literal, |$machine:ident| $cache:expr $(, .when($flag:literal, $value:literal))?) => {
        pub(super) const $list: &[$crate::keys::Key] = {
            use $crate::choices::Words;
            use $crate::keys::declaration::{Field, Key};
            use $crate::machine::{Allocate, Replacement, SetIndex, WriteMiss, WritePolicy};
            use $crate::value::Kind;
            macro_rules! member {
                ($name:ident, $kind:expr, $doc:literal, $part:literal) => {
                    Key::new(concat!($table, stringify!($name)), $kind, $doc, |$machine, value| $cache.$name = Field::of(value))
                        .option(concat!($option, $part))
                        $(.when($flag, $value))?
                };
            }
            &[
                member!(sets, Kind::Count(1, 32768), "Sets; of the LLC those of each slice.", "nsets"),
                member!(ways, Kind::Count(1, 1024), "Ways.", "assoc"),
                member!(sectored, Kind::Flag, "Whether lines are filled sector by sector.", "S or N"),
                member!(write, Kind::Choice(WritePolicy::WORDS), "When written data reaches the next level.", "wr"),
                member!(write_miss, Kind::Choice(WriteMiss::WORDS), "What a write miss does.", "wr_alloc"),
                member!(allocate, Kind::Choice(Allocate::WORDS), "Whether a miss reserves its line when sent or when filled.", "alloc"),
                member!(index, Kind::Choice(SetIndex::WORDS), "Set index function.", "set_index_fn"),
                member!(replacement, Kind::Choice(Replacement::WORDS), "Which line of a full set makes room.", "rep").default("\"lru\""),
                member!(mshrs, Kind::Count(1, 16384), "Outstanding misses (sectors, or lines of a line cache).", "mshr N"),
                member!(mshr_merge, Kind::Count(1, 16384), "Requests merged into one outstanding miss.", "mshr merge"),
                member!(miss_queue, Kind::Count(1, 16384), "Misses waiting to leave for the next level.", "mq"),
                member!(port_bytes, Kind::Bytes(1, 256), "What the data port moves in a cycle.", "data_port_width"),
            ]
        };
    };
}
pub(super) use cache_keys;
