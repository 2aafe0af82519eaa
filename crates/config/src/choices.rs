//! The choices that a machine makes by a word: each enumeration with the word and the meaning of its variants.
//!
//! A variant is declared here and nowhere else; the models that act on it match on it, so the compiler lists the arms to add.

use warpshard_protocol::PartitionHash;

/// One of the words that a key accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// An enumeration with a word for each variant.
pub(super) trait Words: Copy + 'static {
    /// Its variants.
    const ALL: &'static [Self];
    /// The word of each variant, in the same order.
    const WORDS: &'static [Choice];
}

/// The words of an enumeration: `Variant = "word": "meaning"`.
macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal: $doc:literal,)+ }) => {
        impl Words for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            const WORDS: &'static [Choice] = &[$(Choice { name: $word, doc: $doc }),+];
        }
    };
}

/// An enumeration and its words. The meaning is also the variant's documentation, with what else is written above it.
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

        /// The first.
        impl Default for $name {
            fn default() -> Self {
                Self::ALL[0]
            }
        }

        words!($name { $($variant = $word: $doc,)+ });
    };
}

choices! {
    /// Who owns the execution units.
    CoreStyle {
        SubCores = "sub-cores": "each scheduler has its own collectors, register banks and units (Volta and later)",
        Shared = "shared": "all schedulers share them (Fermi to Pascal)",
        /// Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025.
        ControlWords = "control-words": "as sub-cores, with dependences from the control words of machine code and without collectors (Volta and later)",
    }
}

choices! {
    /// The compute capability of the GPU: the generation of machine code that it executes. Source: NVIDIA, "CUDA C++ Programming Guide", the chapter on
    /// compute capabilities.
    Capability {
        Unknown = "unknown": "none: nothing is said about code",
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
    /// Its number, as architectures of code are numbered: 70 for 7.0 and sm_70. `None` where it is unknown.
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

    /// Whether the GPU executes code for the architecture `arch`: code of its own major version that is not above it.
    /// `None` where the capability is unknown.
    ///
    /// Source: NVIDIA, "CUDA C++ Programming Guide", binary compatibility.
    pub fn executes(self, arch: u32) -> Option<bool> {
        self.number().map(|own| arch / 10 == own / 10 && arch <= own)
    }

    /// The name of the generation of GPUs that code for `arch` is for.
    pub fn generation(arch: u32) -> Option<&'static str> {
        let known = Self::ALL.iter().zip(Self::WORDS).find(|(capability, _)| capability.number() == Some(arch));
        known.map(|(_, word)| word.doc)
    }

    /// Whether its SMs have tensor cores, which came with 7.0; `None` where it is unknown.
    pub fn has_tensor_cores(self) -> Option<bool> {
        self.number().map(|own| own >= 70)
    }

    /// The architecture among `archs` whose code the GPU executes, the highest of several.
    pub fn best_of(self, archs: impl IntoIterator<Item = u32>) -> Option<u32> {
        archs.into_iter().filter(|arch| self.executes(*arch) == Some(true)).max()
    }
}

/// "7.0".
impl std::fmt::Display for Capability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = Self::ALL.iter().position(|known| known == self).unwrap_or_default();
        f.write_str(Self::WORDS[place].name)
    }
}

choices! {
    /// How kernels that run at once divide the SMs.
    Sharing {
        LeftOver = "left-over": "a kernel gets what the ones before it leave",
        /// Adriaens et al., "The case for GPGPU spatial multitasking", HPCA 2012.
        Spatial = "spatial": "each application has SMs of its own, as many as the others at first",
        /// "Workload-aware scheduling techniques", Section 5.4.
        Interleaved = "interleaved": "every kernel runs on every SM, with a maximum of CTAs for each",
    }
}

choices! {
    /// Which GPU's memory holds an address.
    Placing {
        Local = "local": "that of the GPU that the allocation names; else that of the application's GPU",
        Interleaved = "interleaved": "pages go to the GPUs in turn",
        FirstTouch = "first-touch": "a page goes to the GPU that accesses it first",
    }
}

choices! {
    /// On which GPUs the CTAs of a kernel run.
    Launch {
        Bound = "bound": "on the one that the launch or its application names; GPU 0 where neither does",
        Spread = "spread": "on all, on each as large a part of consecutive CTAs as it has of the SMs, unless the launch or its application names one",
    }
}

choices! {
    /// Which nodes links connect.
    LinkTopology {
        None = "none": "no links",
        Pairs = "pairs": "every GPU with every other",
        Ring = "ring": "every GPU with the next, and the last with the first",
        Mesh = "mesh": "every GPU with its neighbours in rows of `columns` GPUs",
        Switch = "switch": "every GPU with switch0",
        Host = "host": "every GPU with host0",
        List = "list": "what `links` says",
    }
}

choices! {
    /// How CTAs take the registers and the shared memory of an SM.
    Allocation {
        Counts = "counts": "by number, so that nothing is fragmented",
        /// Shieh, "Enabling Fast Preemption via Dual-Kernel Support on GPUs", 2016, Sections 2.1 and 3.2.
        Ranges = "ranges": "by contiguous ranges; CTAs of applications of more than the least priority go to multiples of their need, and first",
    }
}

choices! {
    /// What saving and restoring the context of a CTA is.
    Switch {
        Time = "time": "the time that it takes at the SM's share of the DRAM bandwidth; it delays nobody else",
        InTurn = "in-turn": "the same time, but the contexts of an SM go one after the other, so that together they take no more than its share",
        Traffic = "traffic": "writes and reads of the SM past its L1",
    }
}

choices! {
    /// What becomes of the instructions under way of a CTA that a controller takes away.
    UnderWay {
        Awaited = "awaited": "the CTA leaves when all of them, its loads and its stores have been answered",
        /// Shieh, "Enabling Fast Preemption via Dual-Kernel Support on GPUs", 2016, Section 3.3.2: dropping a CTA takes no time.
        Squashed = "squashed": "they are squashed; a CTA that is switched replays the memory instructions among them when it comes back",
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
    /// Whether the schedulers need to know the phases of kernels.
    pub fn needs_phases(self) -> bool {
        matches!(self, Self::Phase | Self::TwoLevelPhase)
    }
}

choices! {
    /// When written data reaches the next level.
    WritePolicy {
        Back = "back": "at eviction",
        Through = "through": "immediately",
        LocalBackGlobalThrough = "local-back-global-through": "local memory at eviction, global memory immediately, evicting the line (Fermi)",
    }
}

choices! {
    /// What a write miss does.
    WriteMiss {
        NoAllocate = "no-allocate": "bypasses the cache",
        /// Without byte masks (GPGPU-Sim 3; version 4 does not wait).
        NoAllocateWaits = "no-allocate-waits": "bypasses the cache as 32, 64 or 128 bytes, and waits while all lines of its set wait for data",
        /// What was read becomes valid and stays clean (GPGPU-Sim 3's only way to allocate for a write, `W`).
        WriteAllocate = "write-allocate": "the LLC only: sends the write to DRAM and also reads the line or sector",
        FetchOnWrite = "fetch-on-write": "reads the sector, then writes",
        LazyFetchOnRead = "lazy-fetch-on-read": "writes with byte masks; a later read of a partly written sector fetches it",
    }
}

choices! {
    /// When a miss reserves its line.
    Allocate {
        OnMiss = "on-miss": "when the miss is sent",
        /// Misses are then limited by MSHRs, not by lines (a streaming cache).
        OnFill = "on-fill": "when the data arrives",
    }
}

choices! {
    /// Which line of a full set makes room.
    Replacement {
        Lru = "lru": "least recently used",
        Fifo = "fifo": "the line that was placed first",
        Random = "random": "any, drawn by a keyed generator",
        Srrip = "srrip": "predicted re-reference intervals of two bits; lines that are read once leave first (SRRIP-HP, Jaleel et al., ISCA 2010)",
        Ship = "ship": "as srrip, and lines of instructions whose lines are seldom read again leave first (SHiP, Wu et al., MICRO 2011)",
        TaDrrip = "ta-drrip": "as srrip, or with most lines leaving first, whichever of the two misses less for the kernel (TA-DRRIP, Jaleel et al., ISCA 2010)",
        Own = "own": "the policy of the calling program",
    }
}

choices! {
    /// What a cache fetches before a read asks for it.
    Prefetch {
        None = "none": "nothing",
        NextLine = "next-line": "with each access, the same sectors of a following line (Smith, IEEE Computer 1978)",
        Stride = "stride": "what lies strides ahead of a load instruction of a warp, once its stride came twice (Baer and Chen, SC 1991; Lee et al., MICRO 2010)",
        Ghb = "ghb": "what followed a miss of the warp the last time (global history buffer with address correlation, Nesbit and Smith, HPCA 2004)",
        Own = "own": "what the calling program says",
    }
}

choices! {
    /// Set index function of a cache.
    SetIndex {
        Linear = "linear": "low bits of the line address",
        Ipoly = "ipoly": "irreducible-polynomial hash (Rau, ISCA 1991)",
        Fermi = "fermi": "the hash of Fermi's L1 (Nugteren et al., HPCA 2014)",
    }
}

choices! {
    /// What packets travel over.
    Topology {
        Crossbar = "crossbar": "a crossbar, see `crossbar`",
        Mesh = "mesh": "a 2-D mesh of virtual-channel routers",
        Torus = "torus": "the same with rows and columns closed to rings; packets begin with the closing link where that is shorter",
        Own = "own": "the routers, links and routes of the calling program, of the size that `mesh` gives",
    }
}

choices! {
    /// Kinds of crossbars.
    Crossbar {
        Fifo = "fifo": "input queues with head-of-line blocking, one packet per output and cycle regardless of its size",
        OutputQueued = "output_queued": "a queue per output, in the order of arrival, one packet per output and cycle",
        Vc = "vc": "one router with virtual channels; packets are flits",
    }
}

choices! {
    /// How the crossbar's outputs choose among its inputs.
    Arbiter {
        RoundRobin = "round-robin": "one pointer for the switch",
        Islip = "islip": "one pointer per output, moved on grants (McKeown 1999)",
        Age = "age": "the packet that has waited longest at its input (Abts and Weisser, SC 2007)",
        Own = "own": "as the calling program says",
    }
}

choices! {
    /// What a copy from the host leaves in the LLC.
    MemcpyWarms {
        Off = "off": "nothing",
        /// GPGPU-Sim keeps the address in 32 bits.
        Low32 = "low32": "its lines, at the low 32 bits of their addresses, so that data above 4 GiB never hits, as in Accel-Sim",
        Full = "full": "its lines, as far as they fit",
    }
}

choices! {
    /// The order in which a DRAM channel serves requests.
    DramScheduler {
        Fcfs = "fcfs": "first come, first served",
        FrFcfs = "fr-fcfs": "row hits first, then oldest (Rixner et al., ISCA 2000)",
        ParBs = "par-bs": "in batches of a few requests of each requester and bank; within a batch row hits first, then the requester with the least (Mutlu and Moscibroda, ISCA 2008)",
        Own = "own": "the order of the calling program",
    }
}

choices! {
    /// Where loads of system scope look.
    SystemLoads {
        Cached = "cached": "in the L1, as other loads (Accel-Sim)",
        Bypass = "bypass": "in the LLC, past the L1 (hardware)",
    }
}

choices! {
    /// How banks are mixed with rows.
    BankHash {
        Plain = "plain": "as the mapping places them",
        Permuted = "permuted": "exclusive or of banks and bank groups with the row (Zhang, Zhu and Zhang, MICRO 2000)",
    }
}

choices! {
    /// Which banks a refresh takes.
    DramRefresh {
        All = "all": "all banks of a pseudo channel at once, every tREFI",
        Single = "single": "one bank after the other, each every tREFI, while the others work on (JESD238, REFpb)",
    }
}

choices! {
    /// Which SM gets the next CTA.
    CtaOrder {
        Rotating = "rotating": "the SMs in turn, from the one served last",
        Pairs = "pairs": "CTAs with neighbouring numbers go to one SM, two by two (Lee et al., HPCA 2014)",
        Own = "own": "as the order of the calling program says",
    }
}

choices! {
    /// When a refresh of all banks that is due goes out.
    RefreshWhen {
        Due = "due": "at once",
        Elastic = "elastic": "when no request is queued for its pseudo channel; at once where eight others were postponed (after Stuecheli et al., MICRO 2010)",
        Own = "own": "when the policy of the calling program says so",
    }
}

choices! {
    /// What happens to an open row.
    DramPage {
        Open = "open": "it stays open until another row of its bank is requested",
        Closed = "closed": "the last queued request for it closes it, with auto-precharge",
        Predicted = "predicted": "the column command closes it, with auto-precharge, after which its last opening had no other (Awasthi et al., PACT 2011)",
        Own = "own": "as the policy of the calling program says",
    }
}

words!(PartitionHash {
    Linear = "linear": "the address bits as they are",
    Xor = "xor": "exclusive or with the next bits up",
    Ipoly = "ipoly": "irreducible-polynomial hash of the bits above (Rau, ISCA 1991)",
    Spread = "spread": "the same with equal shares for any number of slices; at powers of two it is ipoly",
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
