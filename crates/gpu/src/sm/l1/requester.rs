//! The requester of an access of the L1, and its encoding in the 32 bits that the cache keeps. No other code knows this encoding.

/// The requester of an access of the L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sm) enum Requester {
    /// An outstanding load.
    Load {
        /// Number of the load.
        load: u16,
    },
    /// A store of a warp.
    Store {
        /// The slot of the warp that issued the store, 0 to 63.
        warp: u8,
        /// The generation of the warp slot.
        generation: u8,
    },
    /// The prefetcher, which waits for no data.
    Prefetch,
}

const LOAD_KIND: u32 = 0;
const STORE_KIND: u32 = 1;
const PREFETCH_KIND: u32 = 2;
const KIND_SHIFT: u32 = 30;
/// First bit of the warp of a store; the generation is below.
const WARP_SHIFT: u32 = 8;

impl Requester {
    /// Returns the requester as 32 bits.
    #[inline]
    pub(in crate::sm) fn encode(self) -> u32 {
        match self {
            Self::Load { load } => LOAD_KIND << KIND_SHIFT | u32::from(load),
            Self::Store { warp, generation } => {
                debug_assert!(warp < 64, "warp {warp}");
                STORE_KIND << KIND_SHIFT | u32::from(warp) << WARP_SHIFT | u32::from(generation)
            }
            Self::Prefetch => PREFETCH_KIND << KIND_SHIFT,
        }
    }

    /// Returns the requester that [`Requester::encode`] encoded as `bits`.
    #[inline]
    pub(in crate::sm) fn decode(bits: u32) -> Self {
        match bits >> KIND_SHIFT {
            LOAD_KIND => Self::Load { load: bits as u16 },
            STORE_KIND => Self::Store { warp: (bits >> WARP_SHIFT & 63) as u8, generation: bits as u8 },
            _ => Self::Prefetch,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_round_trips() {
        for number in [0, 1, 63, 700, u16::MAX] {
            let store = Requester::Store { warp: number as u8 & 63, generation: (number >> 4) as u8 };
            for who in [Requester::Load { load: number }, store, Requester::Prefetch] {
                assert_eq!(Requester::decode(who.encode()), who);
            }
        }
    }
}
