//! Rules for the messages of any run. A violated rule returns a description of the violation.
#![expect(clippy::disallowed_types, reason = "keys are looked up, and nothing depends on their order")]

use std::collections::{BTreeMap, HashMap};

use warpshard::base::{Addr, Cycle, SECTOR_BYTES};
use warpshard::config::Machine;
use warpshard::config::machine::Crossbar;
use warpshard::engine::{LoggedMessage, MessageLog};
use warpshard::protocol::{MemOp, MemPacket, Payload, PeerOp, PeerPacket};
use warpshard::workload::Workload;

use super::record::{CtaEventKind, Hop, HopKind, RunRecord, receiver_clock};

pub(crate) type Verdict = Result<(), String>;

macro_rules! demand {
    ($condition:expr, $($text:tt)*) => {
        if !$condition {
            return Err(format!($($text)*));
        }
    };
}

/// The cut of a run, and whether the run was completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) core_cycle: u64,
    pub(crate) completed: bool,
}

/// Checks that every message is delivered once, in order, at its arrival time. Messages still in flight arrive after the cut; at the end of
/// a completed run only credits and notifications of ended CTAs to the network of clusters are in flight.
pub(crate) fn check_delivery(machine: &Machine, names: &[String], log: &MessageLog<Payload>, end: End) -> Verdict {
    let cut = super::record::clock_domains(machine)[0].tick(Cycle(end.core_cycle));
    let (sent, delivered) = (messages_by_link(&log.sent, names.len()), messages_by_link(&log.delivered, names.len()));
    for (link, name) in names.iter().enumerate() {
        let clock = receiver_clock(machine, name);
        let (sent, delivered) = (&sent[link], &delivered[link]);
        demand!(delivered.len() <= sent.len(), "link {link} ({name}): {} messages of {} were delivered", delivered.len(), sent.len());
        for (nth, (was, is)) in sent.iter().zip(delivered).enumerate() {
            demand!(was == is, "link {link} ({name}): message {nth} was sent as {was:?} and delivered as {is:?}");
        }
        for pair in delivered.windows(2) {
            demand!(pair[0].at <= pair[1].at, "link {link} ({name}): {:?} was overtaken by {:?}", pair[0], pair[1]);
        }
        for (nth, message) in sent.iter().enumerate() {
            let arrives = clock.tick(Cycle(message.at));
            demand!(nth < delivered.len() || arrives >= cut, "link {link} ({name}): {message:?} was never delivered");
            let late = matches!(message.payload, Payload::Credit(_) | Payload::Peer(PeerPacket { op: PeerOp::CtaEnded, .. }));
            demand!(!end.completed || late || arrives < cut, "link {link} ({name}): {message:?} is under way after the end");
        }
    }
    Ok(())
}

fn messages_by_link(messages: &[LoggedMessage<Payload>], links: usize) -> Vec<Vec<LoggedMessage<Payload>>> {
    let mut sorted = vec![Vec::new(); links];
    for message in messages {
        sorted[message.link.index()].push(*message);
    }
    sorted
}

/// Checks that a packet leaves a network once, unchanged, at its destination, and after its arrival. Packets between the same two ends stay
/// in order, unless the network has virtual channels or is a mesh. Packets inside a network at the end of an incomplete run are not errors.
pub(crate) fn check_network_transit(machine: &Machine, record: &RunRecord, completed: bool) -> Verdict {
    for hop in record.hops(HopKind::SmToNet).chain(record.hops(HopKind::NetToSlice)) {
        for (at, packet) in &hop.packets {
            let owner = machine.mem.map.slice_of(packet.addr);
            demand!(packet.slice == owner, "a request for {owner} goes to another slice at {at}: {packet:?}");
        }
    }
    let ordered = machine.noc.mesh.is_none() && machine.noc.crossbar != Crossbar::Vc;
    check_transit(record, HopKind::SmToNet, HopKind::NetToSlice, completed, ordered)?;
    check_transit(record, HopKind::SliceToNet, HopKind::NetToSm, completed, ordered)
}

fn check_transit(record: &RunRecord, entry: HopKind, exit: HopKind, completed: bool, ordered: bool) -> Verdict {
    let flows = |way: HopKind| {
        let mut flows: HashMap<(u16, u16), Vec<(u64, MemPacket)>> = HashMap::new();
        for hop in record.hops(way) {
            for (at, packet) in &hop.packets {
                flows.entry((packet.port.0, packet.slice.0)).or_default().push((hop.to_clock.tick(Cycle(*at)).0, *packet));
            }
        }
        flows
    };
    let (mut came, mut left) = (flows(entry), flows(exit));
    let mut pairs: Vec<_> = came.keys().chain(left.keys()).copied().collect();
    pairs.sort_unstable();
    pairs.dedup();
    for (sm, slice) in pairs {
        let (mut came, left) = (came.remove(&(sm, slice)).unwrap_or_default(), left.remove(&(sm, slice)).unwrap_or_default());
        if !ordered {
            // Each departed packet is matched with the first equal packet that arrived and is not matched yet.
            for (nth, (_, packet)) in left.iter().enumerate() {
                let same = came.iter().skip(nth).position(|(_, other)| other == packet);
                if let Some(same) = same {
                    came[nth..=nth + same].rotate_right(1);
                }
            }
        }
        for (nth, (before, after)) in came.iter().zip(&left).enumerate() {
            demand!(before.1 == after.1, "sm{sm} and slice{slice}: packet {nth} became another: {:?}, {:?}", before.1, after.1);
            demand!(before.0 < after.0, "sm{sm} and slice{slice}: packet {nth} left before it came: {:?}", before.1);
        }
        let lost = if completed { came.len() != left.len() } else { came.len() < left.len() };
        demand!(!lost, "sm{sm} and slice{slice}: {} packets became {} on their way", came.len(), left.len());
    }
    Ok(())
}

/// A requested sector: requester, token, kernel, operation, bytes and address.
type RequestedSector = (u16, u32, u32, u8, u32, u64);

fn sectors(packet: &MemPacket) -> impl Iterator<Item = RequestedSector> {
    let MemPacket { addr, token, bytes, port, op, .. } = *packet;
    let (kernel, sectors) = (packet.kernel(), packet.sectors());
    let line: Addr = addr.line();
    sectors.iter().map(move |i| (port.0, token, kernel.0, op as u8, bytes, line.0 + u64::from(i) * SECTOR_BYTES))
}

/// Checks that a slice replies exactly once to each requested sector, after the request, and sends no other replies. `forgotten` allows
/// writes without a reply at the end: write-backs of an L1, for which no warp waits.
pub(crate) fn check_replies(record: &RunRecord, allow_pending_writes: bool) -> Verdict {
    for asked in record.hops(HopKind::NetToSlice) {
        let answered = record.hop(HopKind::SliceToNet, asked.index);
        let slice = asked.index;
        let mut open: HashMap<RequestedSector, u32> = HashMap::new();
        let mut coming = asked.packets.iter().peekable();
        for (at, reply) in &answered.packets {
            let now = answered.to_clock.tick(Cycle(*at));
            while let Some((_, request)) = coming.next_if(|(at, _)| asked.to_clock.tick(Cycle(*at)) < now) {
                sectors(request).for_each(|sector| *open.entry(sector).or_default() += 1);
            }
            for sector in sectors(reply) {
                let left = open.get_mut(&sector).filter(|left| **left > 0);
                let Some(left) = left else { return Err(format!("slice{slice} answers at {at} what nobody asked: {reply:?}")) };
                *left -= 1;
            }
        }
        for (_, request) in coming {
            sectors(request).for_each(|sector| *open.entry(sector).or_default() += 1);
        }
        let lost = open.iter().filter(|((.., op, _, _), left)| **left > 0 && !(allow_pending_writes && *op == MemOp::Write as u8)).min();
        demand!(lost.is_none(), "slice{slice} never answered {:?} (sm, token, kernel, operation, bytes, address)", lost.unwrap());
    }
    Ok(())
}

/// Checks that no sender has more packets outstanding than the queue holds, that no credit precedes its packet, and that in a completed run
/// credits were returned for all packets except the last incomplete batch. Returns the maximum fill of any queue in percent.
pub(crate) fn check_credits(record: &RunRecord, completed: bool) -> Result<u64, String> {
    record.hops.iter().try_fold(0, |fullest, hop| Ok(fullest.max(credits_of(hop, completed)?)))
}

fn credits_of(hop: &Hop, completed: bool) -> Result<u64, String> {
    let Hop { way, index, capacity, .. } = *hop;
    let batch = (capacity / 32).max(1);
    let (mut returned, mut most) = (0, 0);
    let mut credits = hop.credits.iter().peekable();
    for (sent, (arrives, _)) in (1..).zip(&hop.packets) {
        // Latest cycle of the sender in which the packet can have left; a slow receiver sees several packets at the same time.
        let left = (hop.to_clock.tick(Cycle(*arrives)).0 - hop.latency) / hop.from_clock.period;
        while let Some((_, count)) = credits.next_if(|(at, _)| *at <= left) {
            returned += count;
        }
        demand!(returned < sent, "{way:?} {index}: {returned} credits at {left} for {} packets", sent - 1);
        let outstanding = sent - returned;
        demand!(outstanding <= capacity, "{way:?} {index}: {outstanding} packets outstanding at {left}, the queue holds {capacity}");
        most = most.max(outstanding);
    }
    let (mut seen, mut returned) = (0, 0);
    let mut packets = hop.packets.iter().peekable();
    for (at, count) in &hop.credits {
        let now = hop.from_clock.tick(Cycle(*at));
        while packets.next_if(|(arrives, _)| hop.to_clock.tick(Cycle(*arrives)) < now).is_some() {
            seen += 1;
        }
        returned += count;
        demand!(*count == batch, "{way:?} {index}: {count} credits at {at} where batches have {batch}");
        demand!(returned <= seen, "{way:?} {index}: {returned} credits at {at} for {seen} packets");
    }
    let all = hop.packets.len() as u64;
    demand!(
        !completed || returned == all / batch * batch,
        "{way:?} {index}: {returned} credits in the end for {all} packets in batches of {batch}"
    );
    Ok(most * 100 / capacity)
}

/// Cycle and SM of a CTA's launch, start and end.
type CtaTimes = [Option<(u64, u16)>; 3];

/// Checks that a CTA is launched, started and done once each, in this order, on one SM; in a completed run this holds for every CTA.
pub(crate) fn check_ctas(workload: &Workload, record: &RunRecord, completed: bool) -> Verdict {
    let mut seen: BTreeMap<(u32, u32), CtaTimes> = BTreeMap::new();
    for word in &record.ctas {
        let all = seen.entry((word.kernel.0, word.cta.0)).or_default();
        let place = &mut all[word.word as usize];
        demand!(place.is_none(), "{:?} of {} of {} twice: {place:?} and {}", word.word, word.cta, word.kernel, word.at);
        *place = Some((word.at, word.sm.0));
    }
    for ((kernel, cta), words) in &seen {
        for (earlier, later) in [(CtaEventKind::Launch, CtaEventKind::Started), (CtaEventKind::Started, CtaEventKind::Done)] {
            let Some((at, sm)) = words[later as usize] else { continue };
            let Some((before, first)) = words[earlier as usize] else {
                return Err(format!("{later:?} of cta {cta} of kernel {kernel} without {earlier:?}"));
            };
            demand!(sm == first, "cta {cta} of kernel {kernel}: {earlier:?} on sm{first}, {later:?} on sm{sm}");
            demand!(before <= at, "cta {cta} of kernel {kernel}: {later:?} at {at}, {earlier:?} at {before}");
        }
    }
    if completed {
        for (kernel, launch) in workload.kernels.iter().enumerate() {
            for cta in 0..launch.info.ctas() {
                let whole = seen.get(&(kernel as u32, cta)).is_some_and(|words| words.iter().all(Option::is_some));
                demand!(whole, "cta {cta} of kernel {kernel} was not carried out: {:?}", seen.get(&(kernel as u32, cta)));
            }
        }
    }
    Ok(())
}
