//! The vocabulary of accesses to a data cache: what is asked, what became of it, and who answers.

use warpshard_base::{Addr, KernelIndex, PortId, SectorMask};

use super::AccessKind;

/// A request of one sector (or, to a line cache, of sectors of one line).
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Address of the sector or of the line.
    pub addr: Addr,
    /// The set that it belongs to, by `DataCache::set_index`.
    pub set: u32,
    /// The sectors meant.
    pub sectors: SectorMask,
    /// Bytes written in the one sector meant, all ones for several; of a read the signature of its instruction and warp
    /// (`warpshard_seam::Identity::signature`), all ones where they are unknown.
    pub bytes: u32,
    /// What is done.
    pub kind: AccessKind,
    /// Whether the address is local memory, which some write policies treat apart.
    pub local: bool,
    /// The requester's name for it, handed back when the data is there or with the request sent below; all ones is no name.
    pub token: u32,
    /// Whose it is.
    pub owner: Owner,
}

/// Whose a request is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct Owner {
    /// The port of the requester.
    pub port: PortId,
    /// The kernel that it belongs to.
    pub kernel: KernelIndex,
}

/// Why a request has to be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum FailReason {
    /// All lines of the set wait for data or may not be evicted.
    NoLine,
    /// All MSHRs are taken.
    NoMshr,
    /// The MSHR of this address takes no more requests.
    MergeFull,
    /// The queue to the next level cannot take what the request might send.
    QueueFull,
}

/// How a request counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The sector was there.
    Hit,
    /// The sector was on its way.
    HitReserved,
    /// The line was there, the sector was not.
    SectorMiss,
    /// The line was not there.
    Miss,
    /// Nothing changed; the request is to be tried again.
    Fail(FailReason),
}

/// Where the answer to an accepted request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The cache itself, now.
    Now,
    /// The MSHRs, when the data is there (`DataCache::next_ready`).
    AtFill,
    /// The next level, which a write was sent to.
    FromBelow,
    /// Nobody: the request failed.
    None,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it counts.
    pub status: Status,
    /// Who answers.
    pub answer: Answer,
}

/// Who waits for data that is fetched. The MSHRs keep it as the 32 bits that only this type knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiter {
    /// A request, by its requester's name for it.
    Request(u32),
    /// Nobody: the data is that of a write which was sent on.
    Nobody,
}

impl Waiter {
    /// No requester's name.
    const NOBODY: u32 = u32::MAX;

    /// As 32 bits.
    #[inline]
    pub const fn encode(self) -> u32 {
        match self {
            Self::Request(name) => name,
            Self::Nobody => Self::NOBODY,
        }
    }

    /// From what [`Waiter::encode`] returned.
    #[inline]
    pub(super) fn decode(bits: u32) -> Self {
        if bits == Self::NOBODY { Self::Nobody } else { Self::Request(bits) }
    }
}
