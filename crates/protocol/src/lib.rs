//! Messages between the units of a chip: memory requests and replies, CTA launches and completions, credits and events.
//!
//! Payloads are plain data without pointers, so that units can run on other threads or in other processes. A payload has at most 24 bytes;
//! with its arrival and its link it fills half a cache line.
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
pub use map::{AddressMap, MemoryLocation, PartitionHash, SliceLookup, ipoly};
pub use part::PacketPart;
pub use path::{COPY_PORT, GpuPath, OWN_PAGE_TOKEN, PAGE_PORT, SIGNAL_PORT};
pub use progress::{CtaProgress, DepartedCta, EndedCtas, SmProgress};

use warpshard_base::{Addr, AppId, CpuId, CtaIndex, GpuId, KernelIndex, MAX_KERNELS, PortId, SectorMask, SliceId, SmId};
use warpshard_engine::SentMessage;

/// The payload of a message on a link of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum Payload {
    /// A request of a core to an LLC slice, or the reply of the slice; the link distinguishes the two.
    Mem(MemPacket),
    /// A receiver has free slots again.
    Credit(Credit),
    /// The grid scheduler binds a CTA to an SM.
    Launch(CtaLaunch),
    /// An SM started a bound CTA.
    CtaStarted(CtaNotice),
    /// The first warp of a CTA executed `griddepcontrol.launch_dependents`, and the launch after it waits for this event
    /// ([`CtaLaunch::triggers`]).
    CtaTriggered(CtaNotice),
    /// The launch before this programmatically dependent one has ended, and its stores are performed: warps that wait for it may continue.
    DependencyMet(KernelIndex),
    /// An SM finished a CTA: all its warps exited, and its stores are acknowledged or [`Payload::StoresPending`] covers them.
    CtaDone(CtaNotice),
    /// A CTA ends with unacknowledged stores on an SM that had none before.
    StoresPending(SmId),
    /// All stores of an SM that sent [`Payload::StoresPending`] are acknowledged.
    StoresAcknowledged(SmId),
    /// The context of a warp whose CTA is preempted from its SM or returns to an SM.
    Context(WarpContext),
    /// An SM returns a CTA that it has not started.
    CtaReturned(CtaNotice),
    /// An SM returns a CTA that it has started.
    CtaPreempted(CtaNotice),
    /// A copy from the host to the device; the LLC may cache its lines.
    HostCopy(HostCopy),
    /// The grid scheduler starts a copy between GPUs at its hub; the kernel number identifies the copy.
    StartCopy(KernelIndex),
    /// The hub finished a copy.
    CopyDone(KernelIndex),
    /// A grid scheduler notifies the grid scheduler of another GPU, through the hubs, that a kernel ended.
    Ended(KernelEndSignal),
    /// A message between an SM and the SM-to-SM network of clusters.
    Peer(PeerPacket),
}

const _: () = assert!(size_of::<Payload>() <= 24);
const _: () = assert!(size_of::<SentMessage<Payload>>() <= 32);

/// The outbox of a unit of the chip.
pub type Outbox = warpshard_engine::Outbox<Payload, EventKind>;

/// An event that a unit of the chip reported.
pub type Event = warpshard_engine::Event<EventKind>;

/// The operation of a memory request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
pub enum MemOp {
    /// A read of the sectors.
    #[default]
    Read,
    /// A write of the sectors, which is acknowledged.
    Write,
    /// A read-modify-write at the slice, which returns the old value.
    Atomic,
    /// An atomic whose old value is not used; it is acknowledged.
    Reduction,
}

/// The kernel number in packets of CPU cores, which run no kernels.
pub const NO_KERNEL: KernelIndex = KernelIndex(MAX_KERNELS as u32);

/// A request from a core to an LLC slice, or the reply to it. A reply is the same packet with the sectors that are returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct MemPacket {
    /// The address of the line, or of the sector if the request is for exactly one sector.
    pub addr: Addr,
    /// The identifier that the requester gave the request; the reply carries it, too.
    pub token: u32,
    /// For a write of one sector: the mask of the bytes written, bit i for byte i. For a write of several sectors: all ones, because it
    /// covers them completely. For a read, which needs no mask: the signature of its instruction and warp
    /// (`warpshard_seam::Identity::signature`), all ones if they are unknown.
    pub bytes: u32,
    /// The requester, to which the reply is sent.
    pub port: PortId,
    /// The slice that owns the address according to the [`AddressMap`].
    pub slice: SliceId,
    /// The kernel of the request and the requested sectors of the line.
    pub part: PacketPart,
    /// The operation.
    pub op: MemOp,
}

impl MemPacket {
    /// Returns the kernel of the request, for statistics per kernel; [`NO_KERNEL`] for CPU cores.
    #[inline]
    pub fn kernel(&self) -> KernelIndex {
        self.part.kernel()
    }

    /// Returns the requested sectors of the line; several replies may serve one read of several sectors.
    #[inline]
    pub fn sectors(&self) -> SectorMask {
        self.part.sectors()
    }
}

/// A copy from the host that passes through the LLC slices to DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct HostCopy {
    /// The address of the first byte.
    pub addr: Addr,
    /// Length in bytes.
    pub bytes: u64,
}

/// A notification, to the grid scheduler of another GPU, that a kernel ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct KernelEndSignal {
    /// The kernel launch that ended.
    pub kernel: KernelIndex,
    /// The GPU that waits for the end of the kernel.
    pub to: GpuId,
}

/// An operation between CTAs of a cluster, or its completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
pub enum PeerOp {
    /// To the network: the CTA started; its cluster has `amount` CTAs.
    #[default]
    CtaStarted,
    /// To the network: the CTA ended.
    CtaEnded,
    /// To the network: all warps of the CTA arrived at the cluster barrier.
    BarrierArrived,
    /// From the network: all CTAs of the cluster arrived at the cluster barrier.
    BarrierOpened,
    /// To the network: a read or atomic of `amount` sectors of another CTA's shared memory.
    Read,
    /// To the network: a write of `amount` sectors of another CTA's shared memory.
    Write,
    /// From the network: the access with the sender's `token` is complete.
    Done,
    /// To and from the network: `amount` arrivals at a barrier in another CTA's shared memory, with a change of its transaction count:
    /// positive `bytes` are expected, negative `bytes` have arrived.
    Arrive,
    /// To the network: arrivals as in [`PeerOp::Arrive`], with `-bytes` bytes of data in the packet.
    Send,
}

/// A message between an SM and the network between the SMs of clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct PeerPacket {
    /// The byte address in shared memory of a barrier.
    pub address: u32,
    /// A count of CTAs, sectors or arrivals; see [`PeerOp`].
    pub amount: u32,
    /// Bytes that a barrier expects, or minus the bytes that arrived; see [`PeerOp::Arrive`].
    pub bytes: i32,
    /// The identifier that the sender gave the access.
    pub token: u16,
    /// The number that the grid scheduler gave the cluster.
    pub cluster: u16,
    /// The SM that sent the message.
    pub from: SmId,
    /// The rank in the cluster of the destination CTA; in a notice, of the CTA that sends it.
    pub rank: u8,
    /// The operation.
    pub op: PeerOp,
}

/// The cluster number of a CTA without a cluster.
pub const NO_CLUSTER: u16 = u16::MAX;

/// A CTA bound to an SM; the SM starts the CTA in the first cycle in which its resources are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CtaLaunch {
    /// The kernel launch.
    pub kernel: KernelIndex,
    /// The CTA of the kernel.
    pub cta: CtaIndex,
    /// The maximum number of CTAs of this kernel that are resident on the SM; `u16::MAX` for no limit.
    pub share: u16,
    /// True if the CTA resumes from the contexts that were sent before.
    pub resumes: bool,
    /// The number of the CTA's cluster, unique at any time; [`NO_CLUSTER`] for a CTA without a cluster.
    pub cluster: u16,
    /// The rank of the CTA in its cluster.
    pub rank: u8,
    /// True if warps of the CTA wait at `griddepcontrol.wait`: the launch before it has not ended, or its stores are not performed.
    /// [`Payload::DependencyMet`] ends the wait.
    pub waits: bool,
    /// True if the grid scheduler expects [`Payload::CtaTriggered`] from this CTA.
    pub triggers: bool,
}

/// The context of a warp of a preempted CTA. The contexts of all warps of a CTA are sent before the CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, warpshard_state::State)]
pub struct WarpContext {
    /// The kernel launch.
    pub kernel: KernelIndex,
    /// The CTA of the kernel.
    pub cta: CtaIndex,
    /// The index of the warp in the CTA.
    pub warp: u8,
    /// True if the warp waits at the CTA's barrier.
    pub at_barrier: bool,
    /// True if the CTA has written to global memory or executed an atomic on it.
    pub wrote: bool,
    /// Instructions that the warp has executed.
    pub executed: u32,
    /// Squashed instructions among the last 32 of the warp, which are replayed before it continues: bit `i` is the instruction followed by
    /// `i` others.
    pub replays: u32,
}

/// A notice from an SM about a CTA that started or ended when the message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CtaNotice {
    /// The kernel launch.
    pub kernel: KernelIndex,
    /// The CTA of the kernel.
    pub cta: CtaIndex,
    /// The SM that sent the notice.
    pub sm: SmId,
}

/// The power state of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum PowerState {
    /// Power-gated once the resident CTAs have ended: no leakage, no state.
    Gated,
    /// Powered, with its state, but issuing no instructions.
    Paused,
    /// Powered and issuing instructions.
    Active,
}

/// The way in which CTAs are preempted. CTAs that are bound to the SM and have not started are returned in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, warpshard_state::State)]
pub enum Preemption {
    /// The context of each CTA is saved, and restored when the CTA resumes.
    Switch,
    /// Each CTA is dropped and restarts from its beginning; a CTA that has written to global memory is switched instead.
    Flush,
    /// The CTAs run to their end.
    Drain,
    /// Each CTA is dropped and restarts from its beginning, even if it has written. The caller guarantees that the kernel may be executed
    /// twice.
    Drop,
}

/// An event that ends a run, a phase or a sample. It takes effect about one lookahead after the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, warpshard_state::State)]
pub enum EventKind {
    /// All kernels ended.
    RunEnded,
    /// The first CTA of a kernel started.
    KernelStarted(KernelIndex),
    /// The last CTA of a kernel ended.
    KernelEnded(KernelIndex),
    /// The CTAs of a kernel may be bound to SMs from this point on.
    KernelReady(KernelIndex),
    /// The last CTA of a kernel was bound to an SM.
    KernelDispatched(KernelIndex),
    /// An application ended; reported again if the application is restarted.
    ApplicationEnded(AppId),
    /// A CTA ended on an SM.
    CtaEnded(SmId, KernelIndex),
    /// A paused SM has nothing in flight.
    SmQuiet(SmId),
    /// A CPU core retired the instructions of its warm-up.
    CoreWarm(CpuId),
    /// A CPU core retired the measured instructions; it continues to run.
    CoreMeasured(CpuId),
}
