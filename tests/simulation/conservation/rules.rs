//! What must hold of the messages of any run. Each rule says what broke it.
#![expect(clippy::disallowed_types, reason = "keys are looked up, and nothing depends on their order")]

use std::collections::{BTreeMap, HashMap};

use warpshard::base::{Addr, Cycle, SECTOR_BYTES};
use warpshard::config::Machine;
use warpshard::config::machine::Crossbar;
use warpshard::engine::{Logged, MessageLog};
use warpshard::protocol::{MemOp, MemPacket, Payload, PeerOp, PeerPacket};
use warpshard::workload::Workload;

use super::record::{Hop, Record, Way, Word, receiver_clock};

pub(crate) type Verdict = Result<(), String>;

macro_rules! demand {
    ($condition:expr, $($text:tt)*) => {
        if !$condition {
            return Err(format!($($text)*));
        }
    };
}

/// Where a run was cut, and whether it had come to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) core_cycle: u64,
    pub(crate) completed: bool,
}

/// Every message is delivered once, in order, at the arrival it was sent for; what is still under way arrives after the
/// cut, and at the end of a completed run that is nothing but credits and word to the network of clusters that CTAs ended.
pub(crate) fn delivery(machine: &Machine, names: &[String], log: &MessageLog<Payload>, end: End) -> Verdict {
    let cut = super::record::clocks(machine)[0].tick(Cycle(end.core_cycle));
    let (sent, delivered) = (by_link(&log.sent, names.len()), by_link(&log.delivered, names.len()));
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
            let late = matches!(message.payload, Payload::Credit(_) | Payload::Peer(PeerPacket { op: PeerOp::Gone, .. }));
            demand!(!end.completed || late || arrives < cut, "link {link} ({name}): {message:?} is under way after the end");
        }
    }
    Ok(())
}

fn by_link(messages: &[Logged<Payload>], links: usize) -> Vec<Vec<Logged<Payload>>> {
    let mut sorted = vec![Vec::new(); links];
    for message in messages {
        sorted[message.link.index()].push(*message);
    }
    sorted
}

/// What enters a network leaves it once, unchanged, towards its goal, and not before it came; unless it took different
/// virtual channels, in order among packets of the same two ends. What is still inside at the end of a run that did not
/// complete is not missed.
pub(crate) fn passage(machine: &Machine, record: &Record, completed: bool) -> Verdict {
    for hop in record.hops(Way::SmToNet).chain(record.hops(Way::NetToSlice)) {
        for (at, packet) in &hop.packets {
            let owner = machine.mem.map.slice_of(packet.addr);
            demand!(packet.slice == owner, "a request for {owner} goes to another slice at {at}: {packet:?}");
        }
    }
    let ordered = machine.noc.mesh.is_none() && machine.noc.crossbar != Crossbar::Vc;
    through(record, Way::SmToNet, Way::NetToSlice, completed, ordered)?;
    through(record, Way::SliceToNet, Way::NetToSm, completed, ordered)
}

fn through(record: &Record, entry: Way, exit: Way, completed: bool, ordered: bool) -> Verdict {
    let flows = |way: Way| {
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
            // Each that left stands opposite the first like it that came and did not leave yet.
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

/// A sector that was asked for: whose, by what name, and what for.
type Asked = (u16, u32, u32, u8, u32, u64);

fn sectors(packet: &MemPacket) -> impl Iterator<Item = Asked> {
    let MemPacket { addr, token, bytes, port, op, .. } = *packet;
    let (kernel, sectors) = (packet.kernel(), packet.sectors());
    let line: Addr = addr.line();
    sectors.iter().map(move |i| (port.0, token, kernel.0, op as u8, bytes, line.0 + u64::from(i) * SECTOR_BYTES))
}

/// Every sector asked of a slice is answered once by that slice, after it was asked for, and nothing else is answered.
/// `forgotten` allows writes to be unanswered at the end: those of lines that an L1 wrote back, for which nobody waits.
pub(crate) fn answers(record: &Record, forgotten: bool) -> Verdict {
    for asked in record.hops(Way::NetToSlice) {
        let answered = record.hop(Way::SliceToNet, asked.index);
        let slice = asked.index;
        let mut open: HashMap<Asked, u32> = HashMap::new();
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
        let lost = open.iter().filter(|((.., op, _, _), left)| **left > 0 && !(forgotten && *op == MemOp::Write as u8)).min();
        demand!(lost.is_none(), "slice{slice} never answered {:?} (sm, token, kernel, operation, bytes, address)", lost.unwrap());
    }
    Ok(())
}

/// No sender has more packets outstanding than the queue holds, no credit comes before its packet, and in a completed run
/// credits came back for all packets but those of the last batch. Returns the fullest that any queue was, in percent.
pub(crate) fn credits(record: &Record, completed: bool) -> Result<u64, String> {
    record.hops.iter().try_fold(0, |fullest, hop| Ok(fullest.max(credits_of(hop, completed)?)))
}

fn credits_of(hop: &Hop, completed: bool) -> Result<u64, String> {
    let Hop { way, index, capacity, .. } = *hop;
    let batch = (capacity / 32).max(1);
    let (mut returned, mut most) = (0, 0);
    let mut credits = hop.credits.iter().peekable();
    for (sent, (arrives, _)) in (1..).zip(&hop.packets) {
        // The last cycle of the sender in which the packet can have left: a slow receiver sees several at once.
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

/// When and on which SM a CTA was launched, started and done.
type Words = [Option<(u64, u16)>; 3];

/// A CTA is launched, started and done once each, in this order, on one SM; in a completed run every CTA is.
pub(crate) fn ctas(workload: &Workload, record: &Record, completed: bool) -> Verdict {
    let mut seen: BTreeMap<(u32, u32), Words> = BTreeMap::new();
    for word in &record.ctas {
        let all = seen.entry((word.kernel.0, word.cta.0)).or_default();
        let place = &mut all[word.word as usize];
        demand!(place.is_none(), "{:?} of {} of {} twice: {place:?} and {}", word.word, word.cta, word.kernel, word.at);
        *place = Some((word.at, word.sm.0));
    }
    for ((kernel, cta), words) in &seen {
        for (earlier, later) in [(Word::Launch, Word::Started), (Word::Started, Word::Done)] {
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
