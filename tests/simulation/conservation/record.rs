//! A run's log of messages, sorted by what the links are for. Knows the machine's description and no model.

use warpshard::base::{ClockDomain, CtaIndex, KernelIndex, LinkId, SmId, TimeBase};
use warpshard::config::Machine;
use warpshard::engine::MessageLog;
use warpshard::protocol::{MemPacket, Payload};

/// The ways of packets, in the order in which a request and its answer take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    SmToNet,
    NetToSlice,
    SliceToNet,
    NetToSm,
}

/// A queue at the end of a link: what was sent there, and the credits that came back for it.
#[derive(Clone, Debug)]
pub(crate) struct Hop {
    pub(crate) way: Way,
    /// SM or slice.
    pub(crate) index: u16,
    pub(crate) from_clock: ClockDomain,
    pub(crate) to_clock: ClockDomain,
    /// Of the data link, in base ticks.
    pub(crate) latency: u64,
    /// Packets that the queue holds, those under way included.
    pub(crate) capacity: u64,
    /// The receiver's cycle of arrival, and the packet.
    pub(crate) packets: Vec<(u64, MemPacket)>,
    /// The sender's cycle in which credits arrive, and how many.
    pub(crate) credits: Vec<(u64, u64)>,
}

impl Hop {
    pub(crate) fn sectors(&self) -> u64 {
        self.packets.iter().map(|(_, packet)| u64::from(packet.sectors().count())).sum()
    }
}

/// What was said of CTAs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Launch,
    Started,
    Done,
}

/// Word of a CTA: the core cycle is that of the launch's arrival at the SM, or that in which the SM spoke.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CtaWord {
    pub(crate) word: Word,
    pub(crate) at: u64,
    pub(crate) sm: SmId,
    pub(crate) kernel: KernelIndex,
    pub(crate) cta: CtaIndex,
}

/// Everything that was sent, by what it was for.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) hops: Vec<Hop>,
    pub(crate) ctas: Vec<CtaWord>,
}

impl Record {
    pub(crate) fn hops(&self, way: Way) -> impl Iterator<Item = &Hop> {
        self.hops.iter().filter(move |hop| hop.way == way)
    }

    pub(crate) fn hop(&self, way: Way, index: u16) -> &Hop {
        self.hops.iter().find(|hop| hop.way == way && hop.index == index).unwrap()
    }

    /// Sorts what was sent by the names of the links and by what they carry.
    ///
    /// # Errors
    /// When a link carries what it is not for.
    pub(crate) fn of(machine: &Machine, names: &[String], log: &MessageLog<Payload>) -> Result<Self, String> {
        let mut record = Self { hops: empty_hops(machine), ctas: Vec::new() };
        let ends: Vec<(End, End)> = names.iter().map(|name| ends(name)).collect();
        for message in &log.sent {
            let (from, to) = ends[message.link.index()];
            record.sort_in(machine, (from, to), message.at, message.payload).map_err(|problem| {
                format!("{} ({}) carries {:?} for {}: {problem}", message.link, names[message.link.index()], message.payload, message.at)
            })?;
        }
        Ok(record)
    }

    fn sort_in(&mut self, machine: &Machine, (from, to): (End, End), at: u64, payload: Payload) -> Result<(), &'static str> {
        let per_partition = machine.mem.map.slices_per_partition as u16;
        let slice_of = |partition: u16, slice: u16| if slice / per_partition == partition { Ok(slice) } else { Err("not its slice") };
        let (way, index) = match (from, to, payload) {
            (End::Sm(sm), End::RequestNet, Payload::Mem(packet)) if packet.port.0 == sm => (Way::SmToNet, sm),
            (End::RequestNet, End::Partition(partition), Payload::Mem(packet)) => (Way::NetToSlice, slice_of(partition, packet.slice.0)?),
            (End::Partition(partition), End::ReplyNet, Payload::Mem(packet)) => (Way::SliceToNet, slice_of(partition, packet.slice.0)?),
            (End::ReplyNet, End::Sm(sm), Payload::Mem(packet)) if packet.port.0 == sm => (Way::NetToSm, sm),
            (End::RequestNet, End::Sm(sm), Payload::Credit(_)) => (Way::SmToNet, sm),
            (End::Partition(partition), End::RequestNet, Payload::Credit(credit)) => (Way::NetToSlice, slice_of(partition, credit.queue)?),
            (End::ReplyNet, End::Partition(partition), Payload::Credit(credit)) => (Way::SliceToNet, slice_of(partition, credit.queue)?),
            (End::Sm(sm), End::ReplyNet, Payload::Credit(_)) => (Way::NetToSm, sm),
            (End::Grid, End::Sm(sm), Payload::Launch(launch)) => {
                self.ctas.push(CtaWord { word: Word::Launch, at, sm: SmId(sm), kernel: launch.kernel, cta: launch.cta });
                return Ok(());
            }
            (End::Sm(sm), End::Grid, Payload::CtaStarted(notice) | Payload::CtaDone(notice)) if notice.sm.0 == sm => {
                let word = if matches!(payload, Payload::CtaStarted(_)) { Word::Started } else { Word::Done };
                // The grid scheduler's clock is the SMs', so the cycle of sending is the arrival less the latency.
                let at = at.checked_sub(machine.gpu.dispatch.latency).ok_or("it was sent before the run began")?;
                self.ctas.push(CtaWord { word, at, sm: notice.sm, kernel: notice.kernel, cta: notice.cta });
                return Ok(());
            }
            // Answers to stores are checked packet by packet.
            // Programmatic dependent launches: when they come is checked where the messages are made.
            (End::Sm(sm), End::Grid, Payload::CtaTriggered(notice)) if notice.sm.0 == sm => return Ok(()),
            (End::Grid, End::Sm(_), Payload::DependencyMet(_)) => return Ok(()),
            (End::Sm(sm), End::Grid, Payload::StoresLeft(from) | Payload::StoresAnswered(from)) if from.0 == sm => return Ok(()),
            // Copies of the host fill tags; nobody answers them.
            (End::Grid, End::Partition(_), Payload::Warm(_)) => return Ok(()),
            // What becomes of accesses to the shared memory of other CTAs is checked where the network is.
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
            Payload::Launch(_) | Payload::CtaStarted(_) | Payload::CtaDone(_) | Payload::Warm(_) => {}
            Payload::StoresLeft(_) | Payload::StoresAnswered(_) | Payload::CtaTriggered(_) | Payload::DependencyMet(_) => {}
            Payload::Context(_) | Payload::CtaReturned(_) | Payload::CtaPreempted(_) => return Err("nothing is taken away here"),
            Payload::StartCopy(_) | Payload::CopyDone(_) | Payload::Ended(_) => return Err("this is a GPU alone"),
            Payload::Peer(_) => return Err("it goes to no other unit"),
        }
        Ok(())
    }
}

/// The clocks of core, network and LLC.
pub(crate) fn clocks(machine: &Machine) -> [ClockDomain; 3] {
    let clocks = machine.clocks;
    let base = TimeBase::of(&[clocks.core, clocks.noc, clocks.llc, clocks.dram]).unwrap();
    [clocks.core, clocks.noc, clocks.llc].map(|frequency| base.domain(frequency))
}

/// The clock in which arrivals on a link are counted.
pub(crate) fn receiver_clock(machine: &Machine, name: &str) -> ClockDomain {
    let [core, noc, llc] = clocks(machine);
    match ends(name).1 {
        End::Sm(_) | End::Grid | End::Peers => core,
        End::Partition(_) => llc,
        End::RequestNet | End::ReplyNet => noc,
    }
}

/// The first link from one kind of unit to another that carries packets, for tests that tamper with one.
pub(crate) fn link_that_carries(log: &MessageLog<Payload>, names: &[String], from: &str, to: &str) -> LinkId {
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

fn ends(name: &str) -> (End, End) {
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
    let [core, noc, llc] = clocks(machine);
    let wire = machine.noc.link_latency * noc.period;
    let raster = machine.mem.rop_latency * llc.period;
    let (input, output) = (u64::from(machine.noc.input_queue), u64::from(machine.noc.output_queue));
    let at_slice = output + machine.mem.rop_latency + u64::from(machine.mem.queues.in_queue);
    let sms = machine.gpu.sms as u16;
    let slices = (machine.mem.map.partitions * machine.mem.map.slices_per_partition) as u16;
    let ways = [
        (Way::SmToNet, sms, core, noc, wire, input),
        (Way::NetToSlice, slices, noc, llc, wire + raster, at_slice),
        (Way::SliceToNet, slices, llc, noc, wire, input),
        (Way::NetToSm, sms, noc, core, wire, output),
    ];
    let hop = |(way, count, from_clock, to_clock, latency, capacity)| {
        (0..count).map(move |index| {
            let (packets, credits) = (Vec::new(), Vec::new());
            Hop { way, index, from_clock, to_clock, latency, capacity, packets, credits }
        })
    };
    ways.into_iter().flat_map(hop).collect()
}
