//! For whom an access of the L1 is, as the 32 bits under which the cache keeps it: the only place that knows them.

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
    },
    /// The prefetcher; nothing waits.
    Prefetch,
}

const LOAD: u32 = 0;
const STORE: u32 = 1;
const PREFETCH: u32 = 2;
const KIND: u32 = 30;
/// Where the warp of a store begins, after the generation.
const WARP: u32 = 8;

impl Requester {
    /// As 32 bits.
    #[inline]
    pub(in crate::sm) fn encode(self) -> u32 {
        match self {
            Self::Load { load } => LOAD << KIND | u32::from(load),
            Self::Store { warp, generation } => {
                debug_assert!(warp < 64, "warp {warp}");
                STORE << KIND | u32::from(warp) << WARP | u32::from(generation)
            }
            Self::Prefetch => PREFETCH << KIND,
        }
    }

    /// From what [`Requester::encode`] returned.
    #[inline]
    pub(in crate::sm) fn decode(bits: u32) -> Self {
        match bits >> KIND {
            LOAD => Self::Load { load: bits as u16 },
            STORE => Self::Store { warp: (bits >> WARP & 63) as u8, generation: bits as u8 },
            _ => Self::Prefetch,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_what_it_was_made_of() {
        for number in [0, 1, 63, 700, u16::MAX] {
            let store = Requester::Store { warp: number as u8 & 63, generation: (number >> 4) as u8 };
            for who in [Requester::Load { load: number }, store, Requester::Prefetch] {
                assert_eq!(Requester::decode(who.encode()), who);
            }
        }
    }
}
