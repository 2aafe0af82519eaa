//! What a channel is asked for, and what it says of its work.

use warpshard_base::{Addr, KernelIndex, KernelSectors, PortId, SectorMask};

/// What a request wants, and what of its slice hears of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum RequestKind {
    /// A read, answered with its data.
    Read {
        /// The MSHR that the data is for.
        entry: u16,
    },
    /// A write that is acknowledged.
    Write {
        /// The slice's request, by its number there.
        number: u32,
    },
    /// A write that is not acknowledged.
    WriteBack {
        /// The slice's request that the line made room for.
        number: u32,
    },
}

/// What a request does, without the number that [`RequestKind`] has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
pub(crate) enum Op {
    #[default]
    Read,
    Write,
    WriteBack,
}

/// A request to a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct Request {
    /// The address, for the requester.
    pub addr: Addr,
    /// The number in [`Request::kind`].
    pub(crate) number: u32,
    /// Row of the bank.
    pub row: u32,
    /// Low half of the DRAM cycle in which it left its slice, for the latency.
    pub since: u32,
    /// The port of the requester; of a write-back that of the request which its line made room for.
    pub port: PortId,
    pub(crate) op: Op,
    /// The bank.
    pub bank: u8,
    /// Which slice of the partition asked.
    pub slice: u8,
    /// The sectors meant, whose number decides how many bursts are moved; and the kernel of the requester, as above.
    pub part: KernelSectors,
    /// Bursts not yet commanded; the channel fills it in.
    pub bursts: u8,
}

const _: () = assert!(size_of::<Request>() == 32);

/// Whose a request is: a slice of the partition, and what of it the request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The slice.
    pub slice: u8,
    /// What of it.
    pub kind: RequestKind,
}

impl Request {
    /// The same for what `kind` says.
    #[inline]
    #[must_use]
    pub fn with_kind(self, kind: RequestKind) -> Self {
        let (op, number) = match kind {
            RequestKind::Read { entry } => (Op::Read, u32::from(entry)),
            RequestKind::Write { number } => (Op::Write, number),
            RequestKind::WriteBack { number } => (Op::WriteBack, number),
        };
        Self { op, number, ..self }
    }

    /// What is wanted.
    #[inline]
    pub fn kind(&self) -> RequestKind {
        match self.op {
            Op::Read => RequestKind::Read { entry: self.number as u16 },
            Op::Write => RequestKind::Write { number: self.number },
            Op::WriteBack => RequestKind::WriteBack { number: self.number },
        }
    }

    /// Whether it reads.
    #[inline]
    pub fn is_read(&self) -> bool {
        self.op == Op::Read
    }

    /// The kernel of the requester.
    #[inline]
    pub fn kernel(&self) -> KernelIndex {
        self.part.kernel()
    }

    /// The sectors meant.
    #[inline]
    pub fn sectors(&self) -> SectorMask {
        self.part.sectors()
    }

    /// Whose it is.
    #[inline]
    pub fn owner(&self) -> Owner {
        Owner { slice: self.slice, kind: self.kind() }
    }
}

/// What a channel did in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worked {
    /// The write-back that finished.
    pub written_back: Option<Owner>,
    /// The read whose data was given a place on the data bus, where that is known before it is finished.
    pub moving: Option<Owner>,
    /// The read that finished, which is now the youngest of the return queue, where that is known.
    pub read: Option<Owner>,
}
