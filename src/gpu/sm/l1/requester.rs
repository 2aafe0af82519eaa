//! For whom an access of the L1 is, as the 32 bits under which the cache keeps it: the only place that knows them.

use crate::base::KernelIndex;

/// For whom an access of the L1 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu::sm) enum Requester {
    /// A load under way.
    Load {
        /// Its number.
        load: u16,
    },
    /// A store.
    Store {
        /// The warp that made it.
        warp: u8,
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

impl Requester {
    /// As 32 bits.
    #[inline]
    pub(in crate::gpu::sm) fn encode(self) -> u32 {
        match self {
            Self::Load { load } => LOAD << KIND | u32::from(load),
            Self::Store { warp } => STORE << KIND | u32::from(warp),
            Self::Prefetch { kernel } => PREFETCH << KIND | u32::from(kernel.0),
        }
    }

    /// From what [`Requester::encode`] returned.
    #[inline]
    pub(in crate::gpu::sm) fn decode(bits: u32) -> Self {
        match bits >> KIND {
            LOAD => Self::Load { load: bits as u16 },
            STORE => Self::Store { warp: bits as u8 },
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
            for who in [Requester::Load { load: number }, Requester::Store { warp: number as u8 }, Requester::Prefetch { kernel }] {
                assert_eq!(Requester::decode(who.encode()), who);
            }
        }
    }
}
