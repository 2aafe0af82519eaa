//! The words for the machine's enumerations.

use super::super::dram::DramPage;
use super::super::machine::{
    Allocate, Arbiter, CoreStyle, Crossbar, DramScheduler, MemcpyWarms, SetIndex, Topology, WarpOrder, WriteMiss, WritePolicy,
};
use super::super::value::{Choice, Kind, Value};
use super::Field;
use crate::protocol::PartitionHash;

/// An enumeration with a word for each variant.
pub(super) trait Words: Sized {
    /// What its keys take.
    const KIND: Kind;
}

macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal: $doc:literal,)+ }) => {
        impl Words for $name {
            const KIND: Kind = Kind::Choice(&[$(Choice { name: $word, doc: $doc }),+]);
        }

        impl Field for $name {
            fn of(value: &Value) -> Self {
                match value {
                    Value::Choice(position) => [$(Self::$variant),+][*position],
                    other => panic!("{other:?} for a choice"),
                }
            }
        }
    };
}

words!(CoreStyle {
    SubCores = "sub-cores": "each scheduler has its own collectors, register banks and units (Volta and later)",
    Shared = "shared": "all schedulers share them (Fermi to Pascal)",
});

words!(WarpOrder {
    Lrr = "lrr": "loose round robin",
    Gto = "gto": "greedy, then oldest",
    Oldest = "oldest": "oldest first, without greed",
    Phase = "phase": "the warp nearest to the end of its phase first, of equals the oldest",
    TwoLevelLrr = "two-level-lrr": "a ready queue of a few warps in turns, filled in the order of arrival",
    TwoLevelOldest = "two-level-oldest": "a ready queue of a few warps in turns, filled with the oldest first",
    TwoLevelPhase = "two-level-phase": "a ready queue of a few warps in turns, filled with the shortest next phase first",
});

words!(WritePolicy {
    Back = "back": "at eviction",
    Through = "through": "at once",
    LocalBackGlobalThrough = "local-back-global-through": "local memory at eviction, global memory at once, evicting the line (Fermi)",
});

words!(WriteMiss {
    NoAllocate = "no-allocate": "goes past the cache",
    NoAllocateWaits = "no-allocate-waits": "goes past the cache as 32, 64 or 128 bytes, and waits while all lines of its set wait for data",
    WriteAllocate = "write-allocate": "the LLC only: sends the write on to DRAM and reads the line or sector besides",
    FetchOnWrite = "fetch-on-write": "reads the sector, then writes",
    LazyFetchOnRead = "lazy-fetch-on-read": "writes with byte masks; a later read of a partly written sector fetches it",
});

words!(Allocate {
    OnMiss = "on-miss": "when the miss is sent",
    OnFill = "on-fill": "when the data comes",
});

words!(SetIndex {
    Linear = "linear": "low bits of the line address",
    Ipoly = "ipoly": "irreducible-polynomial hash (Rau, ISCA 1991)",
    Fermi = "fermi": "the hash of Fermi's L1 (Nugteren et al., HPCA 2014)",
});

words!(Arbiter {
    RoundRobin = "round-robin": "one pointer for the switch",
    Islip = "islip": "one pointer per output, moved on grants (McKeown 1999)",
});

words!(Crossbar {
    Fifo = "fifo": "input queues with head-of-line blocking, one packet per output and cycle, whatever its size",
    OutputQueued = "output_queued": "a queue per output, in the order of arrival, one packet per output and cycle",
    Vc = "vc": "one router with virtual channels; packets are flits",
});

words!(Topology {
    Crossbar = "crossbar": "a crossbar, see `crossbar`",
    Mesh = "mesh": "a 2-D mesh of virtual-channel routers",
});

words!(DramScheduler {
    Fcfs = "fcfs": "first come, first served",
    FrFcfs = "fr-fcfs": "row hits first, then oldest (Rixner et al., ISCA 2000)",
});

words!(DramPage {
    Open = "open": "it stays open until another row of its bank is wanted",
    Closed = "closed": "the last queued request for it closes it with its own command",
});

words!(MemcpyWarms {
    Off = "off": "nothing",
    Low32 = "low32": "its lines at the low 32 bits of their addresses, so that data above 4 GiB is never found, as in Accel-Sim",
    Full = "full": "its lines, as far as there is room",
});

words!(PartitionHash {
    Linear = "linear": "the address bits as they are",
    Xor = "xor": "exclusive or with the next bits up",
    Ipoly = "ipoly": "irreducible-polynomial hash of the bits above (Rau, ISCA 1991)",
});
