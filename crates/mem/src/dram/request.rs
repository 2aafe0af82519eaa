//! Requests to a channel, and the results of its cycles.

use warpshard_base::{Addr, KernelIndex, KernelSectors, PortId, SectorMask};

/// The operation of a request, and the number that identifies it in its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum RequestKind {
    /// A read, which returns data.
    Read {
        /// The MSHR that waits for the data.
        entry: u16,
    },
    /// A write that is acknowledged.
    Write {
        /// The number of the slice's request.
        number: u32,
    },
    /// A write that is not acknowledged.
    WriteBack {
        /// The number of the slice's request that evicted the line.
        number: u32,
    },
}

/// The operation of a request, without the number in [`RequestKind`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
pub(crate) enum DramOp {
    #[default]
    Read,
    Write,
    WriteBack,
}

/// A request to a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct DramRequest {
    /// The address, for the requester.
    pub addr: Addr,
    /// The number in [`DramRequest::kind`].
    pub(crate) number: u32,
    /// The row of the bank.
    pub row: u32,
    /// The low half of the DRAM cycle in which the request left its slice, used for the latency.
    pub since: u32,
    /// The port of the requester; for a write-back, of the request that evicted the line.
    pub port: PortId,
    pub(crate) op: DramOp,
    /// The bank.
    pub bank: u8,
    /// The slice of the partition that sent the request.
    pub slice: u8,
    /// The requested sectors, whose number determines the number of bursts, and the kernel of the requester, as for `port`.
    pub part: KernelSectors,
    /// Bursts without a command yet; the channel sets the number.
    pub bursts: u8,
}

const _: () = assert!(size_of::<DramRequest>() == 32);

/// The origin of a request: a slice of the partition, and the request of the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceRequest {
    /// The slice.
    pub slice: u8,
    /// The operation and the number in the slice.
    pub kind: RequestKind,
}

impl DramRequest {
    /// Returns a copy of the request with another kind.
    #[inline]
    #[must_use]
    pub fn with_kind(self, kind: RequestKind) -> Self {
        let (op, number) = match kind {
            RequestKind::Read { entry } => (DramOp::Read, u32::from(entry)),
            RequestKind::Write { number } => (DramOp::Write, number),
            RequestKind::WriteBack { number } => (DramOp::WriteBack, number),
        };
        Self { op, number, ..self }
    }

    /// Returns the operation and the number in the slice.
    #[inline]
    pub fn kind(&self) -> RequestKind {
        match self.op {
            DramOp::Read => RequestKind::Read { entry: self.number as u16 },
            DramOp::Write => RequestKind::Write { number: self.number },
            DramOp::WriteBack => RequestKind::WriteBack { number: self.number },
        }
    }

    /// Returns true if the request is a read.
    #[inline]
    pub fn is_read(&self) -> bool {
        self.op == DramOp::Read
    }

    /// Returns the kernel of the requester.
    #[inline]
    pub fn kernel(&self) -> KernelIndex {
        self.part.kernel()
    }

    /// Returns the requested sectors.
    #[inline]
    pub fn sectors(&self) -> SectorMask {
        self.part.sectors()
    }

    /// Returns the origin of the request.
    #[inline]
    pub fn owner(&self) -> SliceRequest {
        SliceRequest { slice: self.slice, kind: self.kind() }
    }
}

/// The results of a channel's cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CycleEvents {
    /// The write-back that finished.
    pub written_back: Option<SliceRequest>,
    /// The read whose data was scheduled on the data bus, if it is known before the read finishes.
    pub moving: Option<SliceRequest>,
    /// The read that finished and is now the youngest in the return queue, if it is known.
    pub read: Option<SliceRequest>,
}
