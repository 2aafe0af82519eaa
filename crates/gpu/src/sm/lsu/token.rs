//! Tokens of the requests of an SM: 32 bits that the reply returns.
//!
//! In: the destination of a reply. Out: a number that is opaque to the network and the slices. No other code knows the encoding: two bits
//! for the kind of destination, the others for the requester.

use warpshard_protocol::OWN_PAGE_TOKEN;

use super::super::l1::Requester;

/// The destination of the reply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sm) enum ReplyToken {
    /// A fetch of the L1.
    Fetch {
        /// The MSHR of the fetch.
        entry: u16,
    },
    /// A store.
    Store {
        /// The warp that issued the store.
        warp: u8,
        /// The generation of the warp slot.
        generation: u8,
    },
    /// A load or atomic that bypasses the L1.
    PastL1 {
        /// The number of the load.
        load: u16,
        /// Lanes of an atomic, at most 32.
        lanes: u8,
    },
    /// A line that the L1 wrote back; the reply has no effect.
    WriteBack,
    /// A line that the texture cache requested.
    Texture {
        /// The slot of the line in the reorder buffer.
        slot: u16,
    },
    /// A part of the context of a CTA that is saved or restored.
    Context {
        /// The first warp of the CTA.
        warp: u8,
    },
    /// A part of a bulk copy.
    Bulk {
        /// The slot of the copy in flight, or the number for a tensor map.
        slot: u8,
    },
    /// An unsolicited message: the hub reports that a page is on this GPU.
    OwnPage,
}

const FETCH_KIND: u32 = 0;
const STORE_KIND: u32 = 1;
const PAST_L1_KIND: u32 = 2;
/// Requests of lines; further bits distinguish textures, contexts and bulk copies.
const LINE_KIND: u32 = 3;
const KIND_SHIFT: u32 = 30;
const TEXTURE_BIT: u32 = 1 << 29;
const CONTEXT_BIT: u32 = 1 << 28;
const PAGE_BIT: u32 = 1 << 27;
const BULK_COPY_BIT: u32 = 1 << 26;
const _: () = assert!(OWN_PAGE_TOKEN == LINE_KIND << KIND_SHIFT | PAGE_BIT);
/// First bit of the generation of a store.
const GENERATION_SHIFT: u32 = 8;
/// First bit of the lanes of an atomic.
const LANES_SHIFT: u32 = 16;

impl ReplyToken {
    /// Returns the token as 32 bits.
    #[inline]
    pub(in crate::sm) fn encode(self) -> u32 {
        match self {
            Self::Fetch { entry } => FETCH_KIND << KIND_SHIFT | u32::from(entry),
            Self::Store { warp, generation } => STORE_KIND << KIND_SHIFT | u32::from(generation) << GENERATION_SHIFT | u32::from(warp),
            Self::PastL1 { load, lanes } => PAST_L1_KIND << KIND_SHIFT | u32::from(lanes) << LANES_SHIFT | u32::from(load),
            Self::WriteBack => LINE_KIND << KIND_SHIFT,
            Self::Texture { slot } => LINE_KIND << KIND_SHIFT | TEXTURE_BIT | u32::from(slot),
            Self::Context { warp } => LINE_KIND << KIND_SHIFT | CONTEXT_BIT | u32::from(warp),
            Self::Bulk { slot } => LINE_KIND << KIND_SHIFT | BULK_COPY_BIT | u32::from(slot),
            Self::OwnPage => OWN_PAGE_TOKEN,
        }
    }

    /// Returns the token that [`ReplyToken::encode`] encoded as `bits`.
    #[inline]
    pub(in crate::sm) fn decode(bits: u32) -> Self {
        match bits >> KIND_SHIFT {
            FETCH_KIND => Self::Fetch { entry: bits as u16 },
            STORE_KIND => Self::Store { warp: bits as u8, generation: (bits >> GENERATION_SHIFT) as u8 },
            PAST_L1_KIND => Self::PastL1 { load: bits as u16, lanes: (bits >> LANES_SHIFT & 0x3f) as u8 },
            _ if bits & TEXTURE_BIT != 0 => Self::Texture { slot: bits as u16 },
            _ if bits & CONTEXT_BIT != 0 => Self::Context { warp: bits as u8 },
            _ if bits & PAGE_BIT != 0 => Self::OwnPage,
            _ if bits & BULK_COPY_BIT != 0 => Self::Bulk { slot: bits as u8 },
            _ => Self::WriteBack,
        }
    }

    /// Returns the token of a write that the L1 forwards for `requester`.
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
    fn encoding_round_trips() {
        let all = [0, 1, 31, 511, u16::MAX].into_iter().flat_map(|number| {
            let of_lanes = [0, 1, 32].map(|lanes| ReplyToken::PastL1 { load: number, lanes });
            let [warp, generation] = number.to_be_bytes();
            let store = ReplyToken::Store { warp, generation };
            let others = [
                ReplyToken::Fetch { entry: number },
                store,
                ReplyToken::Texture { slot: number },
                ReplyToken::Context { warp },
                ReplyToken::Bulk { slot: warp },
            ];
            of_lanes.into_iter().chain(others)
        });
        let all: Vec<ReplyToken> = all.chain([ReplyToken::WriteBack, ReplyToken::OwnPage]).collect();
        assert!(all.iter().all(|token| ReplyToken::decode(token.encode()) == *token));
    }
}
