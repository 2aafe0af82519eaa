//! What units of a chip exchange: memory requests and replies, CTA launches and completions, credits, events.
//!
//! Payloads are plain data without pointers, so that units can live on other threads today and in other processes later.
//! A payload is at most 24 bytes, so that with its arrival and its link it fills half a cache line.
#![forbid(unsafe_code)]

mod credit;
mod home;
mod local;
mod map;
mod part;
mod path;
mod progress;

pub use credit::{Credit, CreditReceiver, CreditSender};
pub use home::{HomeRule, Homes};
pub use local::LocalMap;
pub use map::{AddressMap, Location, NearSlices, PartitionHash, ipoly};
pub use part::PacketPart;
pub use path::{COPY_PORT, OWN_PAGE, PAGE_PORT, Path, SIGNAL_PORT};
pub use progress::{CtaGone, CtaProgress, EndedCtas, SmProgress};

use warpshard_base::{Addr, AppId, CpuId, CtaIndex, GpuId, KernelIndex, MOST_KERNELS, PortId, SectorMask, SliceId, SmId};
use warpshard_engine::Sent;

/// Whatever travels on a link of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum Payload {
    /// A request of a core to an LLC slice, or a slice's reply; which of the two follows from the link.
    Mem(MemPacket),
    /// A receiver has room again.
    Credit(Credit),
    /// The grid scheduler binds a CTA to an SM.
    Launch(CtaLaunch),
    /// An SM started a bound CTA.
    CtaStarted(CtaNotice),
    /// The first warp of a CTA executed `griddepcontrol.launch_dependents`, where the launch after it waits for that ([`CtaLaunch::triggers`]).
    CtaTriggered(CtaNotice),
    /// The launch before this programmatically dependent one has ended, and its stores are performed: warps that wait for that may continue.
    DependencyMet(KernelIndex),
    /// An SM finished a CTA: all its warps exited, and its stores are acknowledged or follow [`Payload::StoresLeft`].
    CtaDone(CtaNotice),
    /// A CTA ends on an SM whose stores were all acknowledged, and stores of its own are not.
    StoresLeft(SmId),
    /// All stores of an SM that sent [`Payload::StoresLeft`] are acknowledged.
    StoresAnswered(SmId),
    /// A warp of a CTA that leaves its SM, or comes back to one.
    Context(WarpContext),
    /// An SM gives back a CTA that it has not started.
    CtaReturned(CtaNotice),
    /// An SM gives back a CTA that it has started.
    CtaPreempted(CtaNotice),
    /// A copy from the host to the device; the LLC may keep its lines.
    Warm(Warm),
    /// The grid scheduler starts a copy between GPUs at its hub; the kernel is the copy's.
    StartCopy(KernelIndex),
    /// The hub finished a copy.
    CopyDone(KernelIndex),
    /// A grid scheduler tells another one, through the hubs, that a kernel ended.
    Ended(Signal),
    /// A message between an SM and the network between the SMs of clusters.
    Peer(PeerPacket),
}

const _: () = assert!(size_of::<Payload>() <= 24);
const _: () = assert!(size_of::<Sent<Payload>>() <= 32);

/// What a unit of the chip sends through.
pub type Outbox = warpshard_engine::Outbox<Payload, EventKind>;

/// An event that a unit of the chip reported.
pub type Event = warpshard_engine::Event<EventKind>;

/// The operation of a memory request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
pub enum MemOp {
    /// Read the sectors.
    #[default]
    Read,
    /// Write the sectors; acknowledged.
    Write,
    /// Read, modify and write at the slice; returns the old value.
    Atomic,
    /// An atomic whose old value is not used; acknowledged.
    Reduction,
}

/// The kernel in packets of CPU cores, which have none.
pub const NO_KERNEL: KernelIndex = KernelIndex(MOST_KERNELS as u32);

/// A request from a core to an LLC slice, or the reply to it: the same packet, with the sectors that are returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct MemPacket {
    /// The line's address, or the sector's for exactly one sector.
    pub addr: Addr,
    /// The requester's own identifier of the request; the reply carries it back.
    pub token: u32,
    /// Of a write: the bytes written within the sector, bit i for byte i, when it is one sector; all ones otherwise:
    /// a request that writes several sectors covers them whole. Of a read, which needs no mask: the signature of its instruction and warp
    /// (`warpshard_seam::Identity::signature`), all ones where they are unknown.
    pub bytes: u32,
    /// The requester, to which the reply goes.
    pub port: PortId,
    /// The slice that owns the address, by the [`AddressMap`].
    pub slice: SliceId,
    /// The kernel that it belongs to, and the sectors of the line that it is about.
    pub part: PacketPart,
    /// The operation.
    pub op: MemOp,
}

impl MemPacket {
    /// The kernel that it belongs to, for the statistics per kernel; [`NO_KERNEL`] for CPU cores.
    #[inline]
    pub fn kernel(&self) -> KernelIndex {
        self.part.kernel()
    }

    /// The requested sectors of the line; a read of several may be answered by several replies.
    #[inline]
    pub fn sectors(&self) -> SectorMask {
        self.part.sectors()
    }
}

/// A copy from the host that passes through the LLC slices on its way to DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Warm {
    /// First byte.
    pub addr: Addr,
    /// Length in bytes.
    pub bytes: u64,
}

/// Word of a kernel's end, for the grid scheduler of another GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Signal {
    /// The kernel launch that ended.
    pub kernel: KernelIndex,
    /// The GPU that waits for it.
    pub to: GpuId,
}

/// What a CTA of a cluster does to another one, or what becomes of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
pub enum PeerOp {
    /// To the network: the CTA started; `amount` CTAs are its cluster.
    #[default]
    Here,
    /// To the network: it ended.
    Gone,
    /// To the network: all its warps arrived at the barrier of the cluster.
    Meet,
    /// From the network: all CTAs of the cluster did.
    Met,
    /// To the network: a read or an atomic of `amount` sectors of another CTA's shared memory.
    Read,
    /// To the network: a write of `amount` sectors.
    Write,
    /// From the network: the access of the sender's own `token` is done.
    Done,
    /// Arrivals at a barrier in another CTA's shared memory, to the network and from it: `amount` arrivals, and `bytes` that are expected or,
    /// where negative, have come.
    Arrive,
    /// The same, with `-bytes` bytes of data on the way to the network.
    Send,
}

/// A message between an SM and the network between the SMs of clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct PeerPacket {
    /// The byte of shared memory at which a barrier lies.
    pub address: u32,
    /// As the operation says.
    pub amount: u32,
    /// As the operation says.
    pub bytes: i32,
    /// The sender's name of an access.
    pub token: u16,
    /// The cluster, by the number that the grid scheduler gave it.
    pub cluster: u16,
    /// The SM that sent it.
    pub from: SmId,
    /// The CTA of the cluster that it is for; of a notice the one that sends it.
    pub rank: u8,
    /// What it is.
    pub op: PeerOp,
}

/// The number of no cluster.
pub const NO_CLUSTER: u16 = u16::MAX;

/// A CTA bound to an SM; the SM starts it in the first cycle in which its resources are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CtaLaunch {
    /// The kernel launch.
    pub kernel: KernelIndex,
    /// Which CTA of it.
    pub cta: CtaIndex,
    /// CTAs of the kernel that the SM may hold at once; `u16::MAX` for as many as fit.
    pub share: u16,
    /// Whether it goes on from the contexts that were sent before.
    pub resumes: bool,
    /// The number of its cluster, which no other one has at the same time; [`NO_CLUSTER`] where it is in none.
    pub cluster: u16,
    /// Its rank in the cluster.
    pub rank: u8,
    /// Whether its warps wait at `griddepcontrol.wait`: the launch before it has not ended, or its stores are not performed. Over with
    /// [`Payload::DependencyMet`].
    pub waits: bool,
    /// Whether the grid scheduler awaits [`Payload::CtaTriggered`] of it.
    pub triggers: bool,
}

/// Where a warp of a CTA that is taken away from its SM stands. The contexts of all its warps precede the CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, warpshard_state::State)]
pub struct WarpContext {
    /// The kernel launch.
    pub kernel: KernelIndex,
    /// Which CTA of it.
    pub cta: CtaIndex,
    /// Which warp of the CTA.
    pub warp: u8,
    /// Whether it waits at the CTA's barrier.
    pub at_barrier: bool,
    /// Whether its CTA has written to global memory, or done an atomic there.
    pub wrote: bool,
    /// Instructions that it has executed.
    pub executed: u32,
    /// Those among the last 32 of them that were squashed and are replayed before it goes on: bit `i` is the one before `i` others.
    pub replays: u32,
}

/// A notice of a CTA from its SM; the CTA started or ended when the message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CtaNotice {
    /// The kernel launch.
    pub kernel: KernelIndex,
    /// Which CTA of it.
    pub cta: CtaIndex,
    /// Where.
    pub sm: SmId,
}

/// The power state of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum PowerState {
    /// Without power, once its resident CTAs have ended: no leakage, no state.
    Gated,
    /// With power and state, but issuing nothing.
    Paused,
    /// Issuing.
    Active,
}

/// How CTAs are taken away from an SM. Those that were bound to it and have not started go back in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, warpshard_state::State)]
pub enum Preemption {
    /// The context of each is saved, and restored where it goes on.
    Switch,
    /// Each is dropped and starts again from its beginning; one that has written to global memory is switched.
    Flush,
    /// They end by themselves.
    Drain,
    /// Each is dropped and starts again from its beginning, whatever it has written: who asks for it knows that its kernel may be executed
    /// twice.
    Drop,
}

/// Something that ends a run, a phase or a sample. It takes effect about one lookahead after it was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, warpshard_state::State)]
pub enum EventKind {
    /// All kernels ended.
    RunEnded,
    /// The first CTA of a kernel started.
    KernelStarted(KernelIndex),
    /// The last CTA of a kernel ended.
    KernelEnded(KernelIndex),
    /// The CTAs of a kernel may be bound to SMs from now on.
    KernelReady(KernelIndex),
    /// The last CTA of a kernel was bound to an SM.
    KernelDispatched(KernelIndex),
    /// An application ended, once more where it is started again.
    ApplicationEnded(AppId),
    /// A CTA ended on an SM.
    CtaEnded(SmId, KernelIndex),
    /// A paused SM has nothing in flight any more.
    SmQuiet(SmId),
    /// A CPU core retired the instructions of its warm-up.
    CoreWarm(CpuId),
    /// A CPU core retired the instructions that are measured; it keeps running.
    CoreMeasured(CpuId),
}
