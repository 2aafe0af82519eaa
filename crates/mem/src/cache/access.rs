//! Types of an access to a data cache: the request, its outcome, and the source of the reply.

use warpshard_base::{Addr, KernelIndex, PortId, SectorMask};

use super::AccessKind;

/// A request for one sector or, to a line cache, for sectors of one line.
#[derive(Clone, Copy, Debug)]
pub struct CacheAccess {
    /// The address of the sector or of the line.
    pub addr: Addr,
    /// The set of the address, from `DataCache::set_index`.
    pub set: u32,
    /// The requested sectors.
    pub sectors: SectorMask,
    /// For a write of one sector: the mask of the bytes written, all ones for several sectors. For a read: the signature of its instruction
    /// and warp (`warpshard_seam::Identity::signature`), all ones if they are unknown.
    pub bytes: u32,
    /// The operation.
    pub kind: AccessKind,
    /// True for an address in local memory, which some write policies treat separately.
    pub local: bool,
    /// The requester's token, which is returned with the data or passed on with the request to the next level; all ones for no token.
    pub token: u32,
    /// The origin of the request.
    pub owner: AccessOrigin,
}

/// The origin of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct AccessOrigin {
    /// The port of the requester.
    pub port: PortId,
    /// The kernel of the request.
    pub kernel: KernelIndex,
}

/// The reason why a request must be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum FailReason {
    /// All lines of the set wait for data or are not evictable.
    NoLine,
    /// All MSHRs are in use.
    NoMshr,
    /// The MSHR of this address accepts no more requests.
    MergeFull,
    /// The queue to the next level cannot hold the packets that the request may send.
    QueueFull,
}

/// The outcome of a request as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessStatus {
    /// The sector was present.
    Hit,
    /// The sector was being fetched.
    HitReserved,
    /// The line was present without the sector.
    SectorMiss,
    /// The line was absent.
    Miss,
    /// Nothing changed; the request must be retried.
    Fail(FailReason),
}

/// The source of the reply to an accepted request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplySource {
    /// The cache, in the same cycle.
    Cache,
    /// The MSHRs, once the data arrives (`DataCache::next_ready`).
    Fill,
    /// The next level, to which the write was sent.
    NextLevel,
    /// No reply: the request failed.
    None,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessOutcome {
    /// The outcome as it is counted.
    pub status: AccessStatus,
    /// The source of the reply.
    pub reply: ReplySource,
}

/// The recipient of fetched data. The MSHRs store it as 32 bits, which only this type interprets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiter {
    /// A request, by the requester's token.
    Request(u32),
    /// No recipient: the fetch belongs to a write that was sent to the next level.
    NoRequest,
}

impl Waiter {
    /// The encoding of a fetch without a recipient.
    const NO_REQUEST: u32 = u32::MAX;

    /// Encodes the recipient in 32 bits.
    #[inline]
    pub const fn encode(self) -> u32 {
        match self {
            Self::Request(name) => name,
            Self::NoRequest => Self::NO_REQUEST,
        }
    }

    /// Decodes the result of [`Waiter::encode`].
    #[inline]
    pub(super) fn decode(bits: u32) -> Self {
        if bits == Self::NO_REQUEST { Self::NoRequest } else { Self::Request(bits) }
    }
}
