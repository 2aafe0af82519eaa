//! A run's message log, sorted by the purpose of the links. This module uses the machine's description but no model.

use warpshard::base::{ClockDomain, CtaIndex, KernelIndex, LinkId, SmId, TimeBase};
use warpshard::config::Machine;
use warpshard::engine::MessageLog;
use warpshard::protocol::{MemPacket, Payload};

/// Hops of packets, in the order in which a request and its reply take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HopKind {
    SmToNet,
    NetToSlice,
    SliceToNet,
    NetToSm,
}

/// A queue at the end of a link: the packets sent to it, and the credits returned for them.
#[derive(Clone, Debug)]
pub(crate) struct Hop {
    pub(crate) way: HopKind,
    /// Number of the SM or slice.
    pub(crate) index: u16,
    pub(crate) from_clock: ClockDomain,
    pub(crate) to_clock: ClockDomain,
    /// Latency of the data link, in base ticks.
    pub(crate) latency: u64,
    /// Packets that the queue and the link hold together.
    pub(crate) capacity: u64,
    /// Packets with their arrival, in the receiver's cycles.
    pub(crate) packets: Vec<(u64, MemPacket)>,
    /// Numbers of returned credits with their arrival, in the sender's cycles.
    pub(crate) credits: Vec<(u64, u64)>,
}

impl Hop {
    pub(crate) fn sectors(&self) -> u64 {
        self.packets.iter().map(|(_, packet)| u64::from(packet.sectors().count())).sum()
    }
}

/// Event in the life of a CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CtaEventKind {
    Launch,
    Started,
    Done,
}

/// An event of a CTA. Its core cycle is the launch's arrival at the SM, or the cycle in which the SM sent the notification.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CtaEvent {
    pub(crate) word: CtaEventKind,
    pub(crate) at: u64,
    pub(crate) sm: SmId,
    pub(crate) kernel: KernelIndex,
    pub(crate) cta: CtaIndex,
}

/// All sent messages, by purpose.
#[derive(Clone, Debug)]
pub(crate) struct RunRecord {
    pub(crate) hops: Vec<Hop>,
    pub(crate) ctas: Vec<CtaEvent>,
}

impl RunRecord {
    pub(crate) fn hops(&self, way: HopKind) -> impl Iterator<Item = &Hop> {
        self.hops.iter().filter(move |hop| hop.way == way)
    }

    pub(crate) fn hop(&self, way: HopKind, index: u16) -> &Hop {
        self.hops.iter().find(|hop| hop.way == way && hop.index == index).unwrap()
    }

    /// Sorts the sent messages by the names of the links and by their payloads.
    ///
    /// # Errors
    /// Fails if a link carries a message of another purpose.
    pub(crate) fn from_log(machine: &Machine, names: &[String], log: &MessageLog<Payload>) -> Result<Self, String> {
        let mut record = Self { hops: empty_hops(machine), ctas: Vec::new() };
        let ends: Vec<(End, End)> = names.iter().map(|name| link_ends(name)).collect();
        for message in &log.sent {
            let (from, to) = ends[message.link.index()];
            record.add_message(machine, (from, to), message.at, message.payload).map_err(|problem| {
                format!("{} ({}) carries {:?} for {}: {problem}", message.link, names[message.link.index()], message.payload, message.at)
            })?;
        }
        Ok(record)
    }

    fn add_message(&mut self, machine: &Machine, (from, to): (End, End), at: u64, payload: Payload) -> Result<(), &'static str> {
        let per_partition = machine.mem.map.slices_per_partition as u16;
        let slice_of = |partition: u16, slice: u16| if slice / per_partition == partition { Ok(slice) } else { Err("not its slice") };
        let (way, index) = match (from, to, payload) {
            (End::Sm(sm), End::RequestNet, Payload::Mem(packet)) if packet.port.0 == sm => (HopKind::SmToNet, sm),
            (End::RequestNet, End::Partition(partition), Payload::Mem(packet)) => {
                (HopKind::NetToSlice, slice_of(partition, packet.slice.0)?)
            }
            (End::Partition(partition), End::ReplyNet, Payload::Mem(packet)) => (HopKind::SliceToNet, slice_of(partition, packet.slice.0)?),
            (End::ReplyNet, End::Sm(sm), Payload::Mem(packet)) if packet.port.0 == sm => (HopKind::NetToSm, sm),
            (End::RequestNet, End::Sm(sm), Payload::Credit(_)) => (HopKind::SmToNet, sm),
            (End::Partition(partition), End::RequestNet, Payload::Credit(credit)) => {
                (HopKind::NetToSlice, slice_of(partition, credit.queue)?)
            }
            (End::ReplyNet, End::Partition(partition), Payload::Credit(credit)) => {
                (HopKind::SliceToNet, slice_of(partition, credit.queue)?)
            }
            (End::Sm(sm), End::ReplyNet, Payload::Credit(_)) => (HopKind::NetToSm, sm),
            (End::Grid, End::Sm(sm), Payload::Launch(launch)) => {
                self.ctas.push(CtaEvent { word: CtaEventKind::Launch, at, sm: SmId(sm), kernel: launch.kernel, cta: launch.cta });
                return Ok(());
            }
            (End::Sm(sm), End::Grid, Payload::CtaStarted(notice) | Payload::CtaDone(notice)) if notice.sm.0 == sm => {
                let word = if matches!(payload, Payload::CtaStarted(_)) { CtaEventKind::Started } else { CtaEventKind::Done };
                // The grid scheduler has the SMs' clock, so the message was sent in the cycle of its arrival minus the latency.
                let at = at.checked_sub(machine.gpu.dispatch.latency).ok_or("it was sent before the run began")?;
                self.ctas.push(CtaEvent { word, at, sm: notice.sm, kernel: notice.kernel, cta: notice.cta });
                return Ok(());
            }
            // The tests of the models check when these messages of programmatic dependent launches and of stores are sent.
            (End::Sm(sm), End::Grid, Payload::CtaTriggered(notice)) if notice.sm.0 == sm => return Ok(()),
            (End::Grid, End::Sm(_), Payload::DependencyMet(_)) => return Ok(()),
            (End::Sm(sm), End::Grid, Payload::StoresPending(from) | Payload::StoresAcknowledged(from)) if from.0 == sm => return Ok(()),
            // Host copies fill tags and have no reply.
            (End::Grid, End::Partition(_), Payload::HostCopy(_)) => return Ok(()),
            // The tests of the network between SMs check accesses to the shared memory of other CTAs.
            (End::Sm(sm), End::Peers, Payload::Peer(packet)) if packet.from.0 == sm => return Ok(()),
            (End::Peers, End::Sm(_), Payload::Peer(_)) => return Ok(()),
            _ => return Err("no message for this link"),
        };
        let hop = self.hops.iter_mut().find(|hop| hop.way == way && hop.index == index).ok_or("nobody lives there")?;
        match payload {
            Payload::Mem(packet) => hop.packets.push((at, packet)),
            Payload::Credit(credit) => {
                if credit.queue != index {
                    return Err("the credits are for another queue");
                }
                hop.credits.push((at, u64::from(credit.count)));
            }
            Payload::Launch(_) | Payload::CtaStarted(_) | Payload::CtaDone(_) | Payload::HostCopy(_) => {}
            Payload::StoresPending(_) | Payload::StoresAcknowledged(_) | Payload::CtaTriggered(_) | Payload::DependencyMet(_) => {}
            Payload::Context(_) | Payload::CtaReturned(_) | Payload::CtaPreempted(_) => return Err("nothing is taken away here"),
            Payload::StartCopy(_) | Payload::CopyDone(_) | Payload::Ended(_) => return Err("this is a GPU alone"),
            Payload::Peer(_) => return Err("it goes to no other unit"),
        }
        Ok(())
    }
}

/// Returns the clocks of core, network and LLC.
pub(crate) fn clock_domains(machine: &Machine) -> [ClockDomain; 3] {
    let clocks = machine.clocks;
    let base = TimeBase::of(&[clocks.core, clocks.noc, clocks.llc, clocks.dram]).unwrap();
    [clocks.core, clocks.noc, clocks.llc].map(|frequency| base.domain(frequency))
}

/// Returns the clock in which arrivals on a link are counted.
pub(crate) fn receiver_clock(machine: &Machine, name: &str) -> ClockDomain {
    let [core, noc, llc] = clock_domains(machine);
    match link_ends(name).1 {
        End::Sm(_) | End::Grid | End::Peers => core,
        End::Partition(_) => llc,
        End::RequestNet | End::ReplyNet => noc,
    }
}

/// Returns the first packet link from one kind of unit to another, for tests that tamper with its messages.
pub(crate) fn packet_link(log: &MessageLog<Payload>, names: &[String], from: &str, to: &str) -> LinkId {
    let wanted = |name: &str| name.split_once(" -> ").is_some_and(|(a, b)| a.starts_with(from) && b.starts_with(to));
    log.sent.iter().find(|m| wanted(&names[m.link.index()]) && !matches!(m.payload, Payload::Credit(_))).unwrap().link
}

#[derive(Clone, Copy, Debug)]
enum End {
    Sm(u16),
    Partition(u16),
    RequestNet,
    ReplyNet,
    Grid,
    Peers,
}

fn link_ends(name: &str) -> (End, End) {
    let end = |unit: &str| match unit {
        "request network" => End::RequestNet,
        "reply network" => End::ReplyNet,
        "grid scheduler" => End::Grid,
        "network of clusters" => End::Peers,
        _ => {
            let number = |prefix| unit.strip_prefix(prefix).and_then(|rest: &str| rest.parse().ok());
            number("sm").map(End::Sm).or_else(|| number("partition").map(End::Partition)).unwrap_or_else(|| panic!("what is {unit}?"))
        }
    };
    let (from, to) = name.split_once(" -> ").unwrap();
    (end(from), end(to))
}

fn empty_hops(machine: &Machine) -> Vec<Hop> {
    let [core, noc, llc] = clock_domains(machine);
    let wire = machine.noc.link_latency * noc.period;
    let raster = machine.mem.rop_latency * llc.period;
    let (input, output) = (u64::from(machine.noc.input_queue), u64::from(machine.noc.output_queue));
    let at_slice = output + machine.mem.rop_latency + u64::from(machine.mem.queues.in_queue);
    let sms = machine.gpu.sms as u16;
    let slices = (machine.mem.map.partitions * machine.mem.map.slices_per_partition) as u16;
    let ways = [
        (HopKind::SmToNet, sms, core, noc, wire, input),
        (HopKind::NetToSlice, slices, noc, llc, wire + raster, at_slice),
        (HopKind::SliceToNet, slices, llc, noc, wire, input),
        (HopKind::NetToSm, sms, noc, core, wire, output),
    ];
    let hop = |(way, count, from_clock, to_clock, latency, capacity)| {
        (0..count).map(move |index| {
            let (packets, credits) = (Vec::new(), Vec::new());
            Hop { way, index, from_clock, to_clock, latency, capacity, packets, credits }
        })
    };
    ways.into_iter().flat_map(hop).collect()
}
