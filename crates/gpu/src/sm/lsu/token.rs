//! The names under which the SM sends requests, as the 32 bits that a reply carries back.
//!
//! In: what a reply will be for. Out: a number that means nothing to the network and the slices. This is the only place that knows the bits:
//! two for what the reply is for, the others for whom.

use warpshard_protocol::OWN_PAGE;

use super::super::l1::Requester;

/// What the reply to a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sm) enum Token {
    /// A fetch of the L1.
    Fetch {
        /// Its MSHR.
        entry: u16,
    },
    /// A store.
    Store {
        /// The warp that made it.
        warp: u8,
        /// The generation of its slot.
        generation: u8,
    },
    /// A load or atomic past the L1.
    PastL1 {
        /// The load.
        load: u16,
        /// Lanes of an atomic, at most 32.
        lanes: u8,
    },
    /// A line that the L1 wrote back; nothing waits for it.
    WriteBack,
    /// A line that the texture cache asked for.
    Texture {
        /// Its place in the reorder buffer.
        place: u16,
    },
    /// A part of the context of a CTA that leaves or comes back.
    Context {
        /// The first warp of the CTA.
        warp: u8,
    },
    /// A part of a bulk copy.
    Bulk {
        /// Its place among those under way, or that of a tensor map.
        place: u8,
    },
    /// Nothing that was asked for: the hub tells that a page lies on this GPU.
    OwnPage,
}

const FETCH: u32 = 0;
const STORE: u32 = 1;
const PAST_L1: u32 = 2;
/// Of lines, with a further bit for those of textures, of contexts and of bulk copies.
const LINE: u32 = 3;
const KIND: u32 = 30;
const OF_TEXTURE: u32 = 1 << 29;
const OF_CONTEXT: u32 = 1 << 28;
const OF_PAGE: u32 = 1 << 27;
const OF_BULK: u32 = 1 << 26;
const _: () = assert!(OWN_PAGE == LINE << KIND | OF_PAGE);
/// Where the generation of a store begins.
const GENERATION: u32 = 8;
/// Where the lanes of an atomic begin.
const LANES: u32 = 16;

impl Token {
    /// As 32 bits.
    #[inline]
    pub(in crate::sm) fn encode(self) -> u32 {
        match self {
            Self::Fetch { entry } => FETCH << KIND | u32::from(entry),
            Self::Store { warp, generation } => STORE << KIND | u32::from(generation) << GENERATION | u32::from(warp),
            Self::PastL1 { load, lanes } => PAST_L1 << KIND | u32::from(lanes) << LANES | u32::from(load),
            Self::WriteBack => LINE << KIND,
            Self::Texture { place } => LINE << KIND | OF_TEXTURE | u32::from(place),
            Self::Context { warp } => LINE << KIND | OF_CONTEXT | u32::from(warp),
            Self::Bulk { place } => LINE << KIND | OF_BULK | u32::from(place),
            Self::OwnPage => OWN_PAGE,
        }
    }

    /// From what [`Token::encode`] returned.
    #[inline]
    pub(in crate::sm) fn decode(bits: u32) -> Self {
        match bits >> KIND {
            FETCH => Self::Fetch { entry: bits as u16 },
            STORE => Self::Store { warp: bits as u8, generation: (bits >> GENERATION) as u8 },
            PAST_L1 => Self::PastL1 { load: bits as u16, lanes: (bits >> LANES & 0x3f) as u8 },
            _ if bits & OF_TEXTURE != 0 => Self::Texture { place: bits as u16 },
            _ if bits & OF_CONTEXT != 0 => Self::Context { warp: bits as u8 },
            _ if bits & OF_PAGE != 0 => Self::OwnPage,
            _ if bits & OF_BULK != 0 => Self::Bulk { place: bits as u8 },
            _ => Self::WriteBack,
        }
    }

    /// That of a write which the L1 sends on for `requester`.
    #[inline]
    pub(super) fn of_write(requester: Requester) -> Self {
        match requester {
            Requester::Store { warp, generation } => Self::Store { warp, generation },
            Requester::Load { .. } | Requester::Prefetch => unreachable!("{requester:?} writes nothing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_what_it_was_made_of() {
        let all = [0, 1, 31, 511, u16::MAX].into_iter().flat_map(|number| {
            let of_lanes = [0, 1, 32].map(|lanes| Token::PastL1 { load: number, lanes });
            let [warp, generation] = number.to_be_bytes();
            let store = Token::Store { warp, generation };
            let others = [
                Token::Fetch { entry: number },
                store,
                Token::Texture { place: number },
                Token::Context { warp },
                Token::Bulk { place: warp },
            ];
            of_lanes.into_iter().chain(others)
        });
        let all: Vec<Token> = all.chain([Token::WriteBack, Token::OwnPage]).collect();
        assert!(all.iter().all(|token| Token::decode(token.encode()) == *token));
    }
}
