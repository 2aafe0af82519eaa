//! Enumerations of policies that a machine selects by a word, each with the word and the meaning of its variants.
//!
//! A variant is declared only here. The models match on the variants, so that the compiler lists the match arms to add.

use warpshard_protocol::PartitionHash;

/// A word that a key accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word as written in a machine file.
    pub name: &'static str,
    /// The meaning of the word.
    pub doc: &'static str,
}

/// An enumeration with a word for each variant.
pub(super) trait Words: Copy + 'static {
    /// All variants.
    const ALL: &'static [Self];
    /// The word of each variant, in the order of [`Words::ALL`].
    const WORDS: &'static [Choice];
}

/// Implements [`Words`] for an enumeration: `Variant = "word": "meaning"`.
macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal: $doc:literal,)+ }) => {
        impl Words for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            const WORDS: &'static [Choice] = &[$(Choice { name: $word, doc: $doc }),+];
        }
    };
}

/// Declares an enumeration with its words. The documentation of a variant is its meaning and the comment above it.
macro_rules! choices {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal: $doc:literal,)+ }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $(
                #[doc = $doc]
                ///
                $(#[$inner])*
                $variant,
            )+
        }

        /// The first variant.
        impl Default for $name {
            fn default() -> Self {
                Self::ALL[0]
            }
        }

        words!($name { $($variant = $word: $doc,)+ });
    };
}

choices! {
    /// The ownership of the execution units.
    CoreStyle {
        SubCores = "sub-cores": "each scheduler has private collectors, register banks and units (Volta and later)",
        Shared = "shared": "all schedulers share collectors, register banks and units (Fermi to Pascal)",
        /// Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025.
        ControlWords = "control-words": "as `sub-cores`, but with dependences from the control words of machine code and without collectors (Volta and later)",
    }
}

choices! {
    /// The compute capability of the GPU: the generation of machine code that it executes. Source: NVIDIA, "CUDA C++ Programming Guide", the chapter on
    /// compute capabilities.
    Capability {
        Unknown = "unknown": "unknown: code is not checked",
        Of20 = "2.0": "Fermi",
        Of21 = "2.1": "Fermi",
        Of30 = "3.0": "Kepler",
        Of35 = "3.5": "Kepler",
        Of37 = "3.7": "Kepler",
        Of50 = "5.0": "Maxwell",
        Of52 = "5.2": "Maxwell",
        Of60 = "6.0": "Pascal",
        Of61 = "6.1": "Pascal",
        Of70 = "7.0": "Volta",
        Of75 = "7.5": "Turing",
        Of80 = "8.0": "Ampere",
        Of86 = "8.6": "Ampere",
        Of89 = "8.9": "Ada",
        Of90 = "9.0": "Hopper",
        Of100 = "10.0": "Blackwell",
        Of120 = "12.0": "Blackwell",
    }
}

impl Capability {
    /// Returns the architecture number: 70 for 7.0 (sm_70). `None` if the capability is unknown.
    pub fn number(self) -> Option<u32> {
        Some(match self {
            Self::Unknown => return None,
            Self::Of20 => 20,
            Self::Of21 => 21,
            Self::Of30 => 30,
            Self::Of35 => 35,
            Self::Of37 => 37,
            Self::Of50 => 50,
            Self::Of52 => 52,
            Self::Of60 => 60,
            Self::Of61 => 61,
            Self::Of70 => 70,
            Self::Of75 => 75,
            Self::Of80 => 80,
            Self::Of86 => 86,
            Self::Of89 => 89,
            Self::Of90 => 90,
            Self::Of100 => 100,
            Self::Of120 => 120,
        })
    }

    /// Returns `true` if the GPU executes code for the architecture `arch`: the same major version, and not a later minor version.
    /// Returns `None` if the capability is unknown.
    ///
    /// Source: NVIDIA, "CUDA C++ Programming Guide", binary compatibility.
    pub fn executes(self, arch: u32) -> Option<bool> {
        self.number().map(|own| arch / 10 == own / 10 && arch <= own)
    }

    /// Returns the name of the GPU generation of the architecture `arch`.
    pub fn generation(arch: u32) -> Option<&'static str> {
        let known = Self::ALL.iter().zip(Self::WORDS).find(|(capability, _)| capability.number() == Some(arch));
        known.map(|(_, word)| word.doc)
    }

    /// Returns `true` if the SMs have tensor cores, which exist since 7.0; `None` if the capability is unknown.
    pub fn has_tensor_cores(self) -> Option<bool> {
        self.number().map(|own| own >= 70)
    }

    /// Returns the highest architecture among `archs` whose code the GPU executes.
    pub fn best_of(self, archs: impl IntoIterator<Item = u32>) -> Option<u32> {
        archs.into_iter().filter(|arch| self.executes(*arch) == Some(true)).max()
    }
}

/// Formats the capability as in "7.0".
impl std::fmt::Display for Capability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let position = Self::ALL.iter().position(|known| known == self).unwrap_or_default();
        f.write_str(Self::WORDS[position].name)
    }
}

choices! {
    /// The division of the SMs between concurrent kernels.
    Sharing {
        LeftOver = "left-over": "a kernel gets the SM resources that earlier kernels leave",
        /// Adriaens et al., "The case for GPGPU spatial multitasking", HPCA 2012.
        Spatial = "spatial": "each application has private SMs, initially the same number for all",
        /// "Workload-aware scheduling techniques", Section 5.4.
        Interleaved = "interleaved": "every kernel runs on every SM, with a maximum of CTAs per kernel",
    }
}

choices! {
    /// The policy that assigns addresses to the memories of GPUs.
    PagePlacement {
        Local = "local": "the memory of the GPU that the allocation names; otherwise of the application's GPU",
        Interleaved = "interleaved": "pages go to the GPUs in turn",
        FirstTouch = "first-touch": "a page goes to the GPU that accesses it first",
    }
}

choices! {
    /// The distribution of a kernel's CTAs over GPUs.
    Launch {
        Bound = "bound": "all on the GPU that the launch or its application names; by default on GPU 0",
        Spread = "spread": "consecutive CTAs on all GPUs in proportion to their SMs, unless the launch or its application names a GPU",
    }
}

choices! {
    /// The pairs of nodes that links connect.
    LinkTopology {
        None = "none": "no links",
        Pairs = "pairs": "every GPU with every other GPU",
        Ring = "ring": "every GPU with the next GPU, and the last with the first",
        Mesh = "mesh": "every GPU with its neighbours in rows of `columns` GPUs",
        Switch = "switch": "every GPU with switch0",
        Host = "host": "every GPU with host0",
        List = "list": "the links of the key `links`",
    }
}

choices! {
    /// The allocation of an SM's registers and shared memory to CTAs.
    Allocation {
        Counts = "counts": "by amount, without fragmentation",
        /// Shieh, "Enabling Fast Preemption via Dual-Kernel Support on GPUs", 2016, Sections 2.1 and 3.2.
        Ranges = "ranges": "by contiguous ranges; CTAs of applications above the lowest priority start at multiples of their size and are placed first",
    }
}

choices! {
    /// The cost model of saving and restoring the context of a CTA.
    Switch {
        Time = "time": "the time of the transfer at the SM's share of the DRAM bandwidth, without delay of other traffic",
        InTurn = "in-turn": "as `time`, but the contexts of an SM are transferred one after another, so that together they use only its share",
        Traffic = "traffic": "reads and writes of the SM that bypass its L1",
    }
}

choices! {
    /// The treatment of in-flight instructions of a CTA that a controller preempts.
    InFlightPolicy {
        Awaited = "awaited": "the CTA leaves the SM when all its instructions are complete and its loads and stores have replies",
        /// Shieh, "Enabling Fast Preemption via Dual-Kernel Support on GPUs", 2016, Section 3.3.2: dropping a CTA takes no time.
        Squashed = "squashed": "instructions are squashed; a switched CTA replays its squashed memory instructions when it is restored",
    }
}

choices! {
    /// The order in which a warp scheduler considers its warps.
    WarpOrder {
        Lrr = "lrr": "loose round robin",
        Gto = "gto": "greedy, then oldest",
        Oldest = "oldest": "oldest first, not greedy",
        /// Huerta et al., MICRO 2025, Section 5.1.2.
        Gty = "gty": "greedy, then youngest",
        /// Zhao, Wang and Eeckhout, ICS 2018, Section 7.5.
        KernelGto = "kernel-gto": "kernels in turn; within a kernel greedy, then oldest",
        /// "Workload-aware scheduling techniques", Section 3.4.
        Phase = "phase": "the warp nearest to the end of its phase first; ties go to the oldest",
        TwoLevelLrr = "two-level-lrr": "a small ready queue served round robin, filled in the order of arrival",
        TwoLevelOldest = "two-level-oldest": "a small ready queue served round robin, filled with the oldest first",
        TwoLevelPhase = "two-level-phase": "a small ready queue served round robin, filled with the shortest next phase first",
        Own = "own": "the order of the calling program",
    }
}

impl WarpOrder {
    /// Returns `true` if the scheduler uses the phases of kernels.
    pub fn needs_phases(self) -> bool {
        matches!(self, Self::Phase | Self::TwoLevelPhase)
    }
}

choices! {
    /// The time at which written data reaches the next level.
    WritePolicy {
        Back = "back": "at eviction",
        Through = "through": "immediately",
        LocalBackGlobalThrough = "local-back-global-through": "local memory at eviction, global memory immediately, evicting the line (Fermi)",
    }
}

choices! {
    /// The policy for write misses.
    WriteMiss {
        NoAllocate = "no-allocate": "the write bypasses the cache",
        /// Without byte masks (GPGPU-Sim 3; version 4 does not wait).
        NoAllocateWaits = "no-allocate-waits": "the write bypasses the cache as 32, 64 or 128 bytes, and waits while all lines of its set wait for data",
        /// The data read becomes valid and the line stays clean (GPGPU-Sim 3's only way to allocate for a write, `W`).
        WriteAllocate = "write-allocate": "LLC only: the write goes to DRAM, and the line or sector is also read",
        FetchOnWrite = "fetch-on-write": "the sector is read, then written",
        LazyFetchOnRead = "lazy-fetch-on-read": "data is written with byte masks; a later read of a partially written sector fetches it",
    }
}

choices! {
    /// The time at which a miss reserves its line.
    Allocate {
        OnMiss = "on-miss": "when the miss is sent",
        /// MSHRs, not lines, then limit the misses (a streaming cache).
        OnFill = "on-fill": "when the data arrives",
    }
}

choices! {
    /// The replacement policy, which selects the victim line of a full set.
    Replacement {
        Lru = "lru": "least recently used",
        Fifo = "fifo": "first in, first out",
        Random = "random": "a random line from a keyed generator",
        Srrip = "srrip": "predicted re-reference intervals of two bits; lines that are read once are evicted first (SRRIP-HP, Jaleel et al., ISCA 2010)",
        Ship = "ship": "as `srrip`; lines of instructions whose lines are seldom re-read are evicted first (SHiP, Wu et al., MICRO 2011)",
        TaDrrip = "ta-drrip": "as `srrip`, or with most lines inserted as the first victims, whichever has fewer misses for the kernel (TA-DRRIP, Jaleel et al., ISCA 2010)",
        Own = "own": "the policy of the calling program",
    }
}

choices! {
    /// The prefetching policy of a cache.
    Prefetch {
        None = "none": "nothing",
        NextLine = "next-line": "at each access, the same sectors of a following line (Smith, IEEE Computer 1978)",
        Stride = "stride": "sectors a number of strides ahead of a warp's load instruction, once its stride has occurred twice (Baer and Chen, SC 1991; Lee et al., MICRO 2010)",
        Ghb = "ghb": "the misses that followed the same miss of the warp the last time (global history buffer with address correlation, Nesbit and Smith, HPCA 2004)",
        Own = "own": "the prefetcher of the calling program",
    }
}

choices! {
    /// The set index function of a cache.
    SetIndex {
        Linear = "linear": "low bits of the line address",
        Ipoly = "ipoly": "irreducible-polynomial hash (Rau, ISCA 1991)",
        Fermi = "fermi": "the hash of Fermi's L1 (Nugteren et al., HPCA 2014)",
    }
}

choices! {
    /// The topology of the network.
    Topology {
        Crossbar = "crossbar": "a crossbar, see `crossbar`",
        Mesh = "mesh": "a 2-D mesh of virtual-channel routers",
        Torus = "torus": "a mesh with rows and columns closed to rings; packets take the closing link first if that path is shorter",
        Own = "own": "routers, links and routes of the calling program, with the size given in `mesh`",
    }
}

choices! {
    /// The kind of a crossbar.
    Crossbar {
        Fifo = "fifo": "input queues with head-of-line blocking, one packet per output and cycle regardless of its size",
        OutputQueued = "output_queued": "a queue per output, in the order of arrival, one packet per output and cycle",
        Vc = "vc": "one router with virtual channels; packets are divided into flits",
    }
}

choices! {
    /// The arbitration policy of a crossbar's outputs.
    Arbiter {
        RoundRobin = "round-robin": "one round-robin pointer for the switch",
        Islip = "islip": "one pointer per output, advanced on grants (McKeown 1999)",
        Age = "age": "the packet that has waited longest at its input (Abts and Weisser, SC 2007)",
        Own = "own": "the arbiter of the calling program",
    }
}

choices! {
    /// The effect of copies from the host on the LLC.
    MemcpyWarms {
        Off = "off": "nothing",
        /// GPGPU-Sim keeps the address in 32 bits.
        Low32 = "low32": "lines of the copy, at the low 32 bits of their addresses, so that data above 4 GiB never hits, as in Accel-Sim",
        Full = "full": "lines of the copy, up to the capacity of the LLC",
    }
}

choices! {
    /// The order in which a DRAM channel serves requests.
    DramScheduler {
        Fcfs = "fcfs": "first come, first served",
        FrFcfs = "fr-fcfs": "row hits first, then oldest (Rixner et al., ISCA 2000)",
        ParBs = "par-bs": "in batches of a few requests per requester and bank; within a batch row hits first, then the requester with the fewest requests (Mutlu and Moscibroda, ISCA 2008)",
        Own = "own": "the order of the calling program",
    }
}

choices! {
    /// The cache level that serves loads of system scope.
    SystemLoads {
        Cached = "cached": "the L1, as for other loads (Accel-Sim)",
        Bypass = "bypass": "the LLC, bypassing the L1 (hardware)",
    }
}

choices! {
    /// The hash of banks with rows.
    BankHash {
        Plain = "plain": "banks as in the address mapping",
        Permuted = "permuted": "exclusive or of banks and bank groups with the row (Zhang, Zhu and Zhang, MICRO 2000)",
    }
}

choices! {
    /// The banks that one refresh blocks.
    DramRefresh {
        All = "all": "all banks of a pseudo channel at the same time, every tREFI",
        Single = "single": "one bank after another, each every tREFI, while the other banks continue (JESD238, REFpb)",
    }
}

choices! {
    /// The order in which SMs receive CTAs.
    CtaOrder {
        Rotating = "rotating": "the SMs in turn, starting after the SM served last",
        Pairs = "pairs": "two CTAs with consecutive numbers go to the same SM (Lee et al., HPCA 2014)",
        Own = "own": "the order of the calling program",
    }
}

choices! {
    /// The time at which a due refresh of all banks is issued.
    RefreshWhen {
        Due = "due": "immediately",
        Elastic = "elastic": "when no request is queued for the pseudo channel; immediately after eight postponed refreshes (after Stuecheli et al., MICRO 2010)",
        Own = "own": "when the policy of the calling program issues it",
    }
}

choices! {
    /// The row-buffer policy: the time at which an open row is closed.
    DramPage {
        Open = "open": "a row stays open until another row of its bank is requested",
        Closed = "closed": "the last queued request for a row closes it with auto-precharge",
        Predicted = "predicted": "a row is closed with auto-precharge after as many column commands as it received when it was last open (Awasthi et al., PACT 2011)",
        Own = "own": "the policy of the calling program",
    }
}

words!(PartitionHash {
    Linear = "linear": "the address bits without a hash",
    Xor = "xor": "exclusive or with the next higher bits",
    Ipoly = "ipoly": "irreducible-polynomial hash of the higher bits (Rau, ISCA 1991)",
    Spread = "spread": "as `ipoly`, with equal shares for any number of slices; identical to `ipoly` for powers of two",
    Own = "own": "the hash of the calling program",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_executes_code_of_its_major_version_up_to_its_own() {
        for (capability, archs, expected) in [
            (Capability::Of70, &[70, 75, 80][..], Some(70)),
            (Capability::Of75, &[70, 75, 80], Some(75)),
            (Capability::Of75, &[70, 80], Some(70)),
            (Capability::Of86, &[70, 80, 90], Some(80)),
            (Capability::Of90, &[70, 80, 90], Some(90)),
            (Capability::Of90, &[70, 80], None),
            (Capability::Of20, &[70, 80], None),
            (Capability::Unknown, &[70, 80], None),
        ] {
            assert_eq!(capability.best_of(archs.iter().copied()), expected, "{capability}");
        }
        for known in Capability::ALL.iter().filter(|known| **known != Capability::Unknown) {
            assert_eq!(known.number().map(|number| format!("{}.{}", number / 10, number % 10)), Some(known.to_string()));
        }
        assert_eq!((Capability::Unknown.executes(70), Capability::Of35.has_tensor_cores()), (None, Some(false)));
    }
}
