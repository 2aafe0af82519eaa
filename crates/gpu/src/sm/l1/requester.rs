//! For whom an access of the L1 is, as the 32 bits under which the cache keeps it: the only place that knows them.

use warpshard_base::KernelIndex;

/// For whom an access of the L1 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sm) enum Requester {
    /// A load under way.
    Load {
        /// Its number.
        load: u16,
    },
    /// A store.
    Store {
        /// The slot of the warp that made it, 0 to 63.
        warp: u8,
        /// The generation of its slot.
        generation: u8,
        /// The kernel of its CTA, which may have left the SM.
        kernel: KernelIndex,
    },
    /// The prefetcher; nothing waits.
    Prefetch {
        /// The kernel that it is for.
        kernel: KernelIndex,
    },
}

const LOAD: u32 = 0;
const STORE: u32 = 1;
const PREFETCH: u32 = 2;
const KIND: u32 = 30;
/// Where the generation and the warp of a store begin, after the kernel.
const GENERATION: u32 = 16;
const WARP: u32 = 24;

impl Requester {
    /// As 32 bits.
    #[inline]
    pub(in crate::sm) fn encode(self) -> u32 {
        match self {
            Self::Load { load } => LOAD << KIND | u32::from(load),
            Self::Store { warp, generation, kernel } => {
                debug_assert!(warp < 64, "warp {warp}");
                STORE << KIND | u32::from(warp) << WARP | u32::from(generation) << GENERATION | u32::from(kernel.0)
            }
            Self::Prefetch { kernel } => PREFETCH << KIND | u32::from(kernel.0),
        }
    }

    /// From what [`Requester::encode`] returned.
    #[inline]
    pub(in crate::sm) fn decode(bits: u32) -> Self {
        match bits >> KIND {
            LOAD => Self::Load { load: bits as u16 },
            STORE => {
                let (warp, generation) = ((bits >> WARP & 63) as u8, (bits >> GENERATION) as u8);
                Self::Store { warp, generation, kernel: KernelIndex(bits as u16) }
            }
            _ => Self::Prefetch { kernel: KernelIndex(bits as u16) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_what_it_was_made_of() {
        for number in [0, 1, 63, 700, u16::MAX] {
            let kernel = KernelIndex(number);
            let store = Requester::Store { warp: number as u8 & 63, generation: (number >> 4) as u8, kernel };
            for who in [Requester::Load { load: number }, store, Requester::Prefetch { kernel }] {
                assert_eq!(Requester::decode(who.encode()), who);
            }
        }
    }
}
