//! Ranks: several processes that simulate one machine.
//!
//! Every rank has the whole plan but steps only its own units. After each epoch each rank sends one packet to every other rank. A packet
//! holds the coordinator's report and the messages to the receiver's units. All coordinators therefore have the same state: they set the
//! same bounds and make the same cuts. At a cut they gather the counters of all units, so that the directors of all ranks see the same
//! values and make the same decisions. Only units' messages affect simulated behaviour, and the results equal the results of one process.
//!
//! Invariant: all ranks call [`Ranks::exchange`] equally often, in the same epochs and cuts.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use warpshard_base::{Tick, UnitId};
use warpshard_state::{Reader, State, Writer};
use warpshard_stats::{LateMessages, RankFacts};

use super::checkpoint::SavedUnit;
use super::outbox::{Event, SentMessage};
use super::placement::{ShardCost, assign_shards};
use super::{Unit, Work};
use crate::SetupError;

/// One rank's connection to all ranks of a run.
pub trait Ranks: Send + std::fmt::Debug {
    /// Returns the number of this rank.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn count(&self) -> usize;

    /// Sends `out[r]` to every other rank r, and puts the packet from rank r into `received[r]`. The contents of `out` afterwards are
    /// unspecified; buffers are reused. The entries of this rank itself remain unchanged.
    ///
    /// # Errors
    /// Fails if a rank has ended; returns a message for the user that names it.
    fn exchange(&mut self, out: &mut [Vec<u8>], received: &mut [Vec<u8>]) -> Result<(), String>;
}

/// Ranks that are threads of one process.
#[derive(Debug)]
pub struct LocalRanks {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

impl LocalRanks {
    /// Creates `count` ranks that are connected with each other.
    pub fn connected(count: usize) -> Vec<Self> {
        let mut to: Vec<Vec<_>> = (0..count).map(|_| Vec::new()).collect();
        let mut ranks: Vec<Self> = Vec::new();
        for rank in 0..count {
            let mut from = Vec::new();
            for to in &mut to {
                let (sender, receiver) = channel();
                to.push(sender);
                from.push(receiver);
            }
            ranks.push(Self { rank, to: Vec::new(), from });
        }
        ranks.iter_mut().zip(to).for_each(|(rank, to)| rank.to = to);
        ranks
    }
}

impl Ranks for LocalRanks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.to.len()
    }

    fn exchange(&mut self, out: &mut [Vec<u8>], received: &mut [Vec<u8>]) -> Result<(), String> {
        let gone = |rank: usize| format!("rank {rank} of {} ended before the run did", self.from.len());
        for (rank, (to, bytes)) in self.to.iter().zip(out).enumerate().filter(|(rank, _)| *rank != self.rank) {
            to.send(std::mem::take(bytes)).map_err(|_| gone(rank))?;
        }
        for (rank, (from, bytes)) in self.from.iter().zip(received).enumerate().filter(|(rank, _)| *rank != self.rank) {
            *bytes = from.recv().map_err(|_| gone(rank))?;
        }
        Ok(())
    }
}

/// The report that a rank sends to every other rank after an epoch, before the messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct EpochReport<E> {
    /// Messages that the rank's units sent.
    pub(super) sent: u64,
    /// Earliest next event of the rank's units, as a global tick.
    pub(super) next: Tick,
    pub(super) events: Vec<Event<E>>,
    /// Work that the rank's units have done; present in some epochs only.
    pub(super) work: Option<Work>,
    /// True if the user asked the rank to stop.
    pub(super) stop: bool,
    /// Failure that prevents the rank from continuing.
    pub(super) failure: Option<String>,
}

/// Values of each unit at a cut.
pub(super) type UnitValues = Vec<(UnitId, Vec<u64>)>;

/// The division of the machine over ranks: the connection to the other ranks and the rank of each unit.
#[derive(Debug)]
pub(super) struct RankDivision {
    pub(super) ranks: Box<dyn Ranks>,
    pub(super) rank_of: Vec<u16>,
    /// Encoded messages to the units of each rank; empty between two exchanges.
    pub(super) messages: Vec<Vec<u8>>,
    pub(super) facts: RankFacts,
}

impl RankDivision {
    /// Divides the shards of a plan over the ranks: first by whole parts of the machine, then within each part so that every rank has its
    /// share, by cost, of each group of units that are stepped together. `part_of` and `group_of` are indexed by unit.
    pub(super) fn new(ranks: Box<dyn Ranks>, shards: &[ShardCost], shard_of: &[u32], part_of: &[u16], group_of: &[u8]) -> Self {
        let mut kind_of_shard = vec![(0, 0); shards.len()];
        let kinds = part_of.iter().zip(group_of).map(|(part, group)| (usize::from(*part), *group));
        shard_of.iter().zip(kinds).for_each(|(shard, kind)| kind_of_shard[*shard as usize] = kind);
        let of_shard = divide(shards, &kind_of_shard, ranks.count());
        let rank_of = shard_of.iter().map(|&shard| of_shard[shard as usize]).collect();
        let facts = RankFacts { count: ranks.count() as u32, ..RankFacts::default() };
        Self { messages: vec![Vec::new(); ranks.count()], ranks, rank_of, facts }
    }

    /// Returns true if this rank steps the unit.
    pub(super) fn owns(&self, unit: usize) -> bool {
        usize::from(self.rank_of[unit]) == self.ranks.rank()
    }

    /// Sends `value` and the messages to every other rank; returns the values of the other ranks, in rank order, and puts their messages
    /// into `received`.
    pub(super) fn exchange<T: Serialize + for<'a> Deserialize<'a>>(
        &mut self,
        value: &T,
        received: &mut Vec<Vec<u8>>,
    ) -> Result<Vec<T>, String> {
        let began = Instant::now();
        let (values, bytes) = exchange(self.ranks.as_mut(), value, &mut self.messages, received)?;
        self.facts.exchanges += 1;
        self.facts.seconds += began.elapsed().as_secs_f64();
        self.facts.bytes += bytes;
        Ok(values)
    }

    /// Adds the counter and task values of the units of all other ranks.
    pub(super) fn gather(&mut self, own: &mut [UnitValues; 2]) -> Result<(), String> {
        for [counters, tasks] in self.exchange::<[UnitValues; 2]>(own, &mut Vec::new())? {
            own[0].extend(counters);
            own[1].extend(tasks);
        }
        Ok(())
    }

    /// Adds the states of the units of all other ranks, and the message counts of those ranks.
    pub(super) fn gather_states(&mut self, units: &mut Vec<SavedUnit>, messages: &mut u64, late: &mut LateMessages) -> Result<(), String> {
        let own = (std::mem::take(units), *messages, *late);
        for (others, sent, received_late) in self.exchange(&own, &mut Vec::new())? {
            units.extend(others);
            *messages += sent;
            late.add(&received_late);
        }
        units.extend(own.0);
        Ok(())
    }
}

/// Returns the rank of each shard, given each shard's part of the machine and group of units.
fn divide(shards: &[ShardCost], kind_of: &[(usize, u8)], ranks: usize) -> Vec<u16> {
    let parts = kind_of.iter().map(|(part, _)| part + 1).max().unwrap_or(1);
    let groups = kind_of.iter().map(|(_, group)| group + 1).max().unwrap_or(1);
    let mut rank_of = vec![0; shards.len()];
    for (part, group) in (0..parts).flat_map(|part| (0..groups).map(move |group| (part, group))) {
        let first = part * ranks / parts;
        let own = ((part + 1) * ranks / parts).saturating_sub(first).max(1);
        let members: Vec<usize> = (0..shards.len()).filter(|shard| kind_of[*shard] == (part, group)).collect();
        let costs: Vec<ShardCost> = members.iter().map(|shard| shards[*shard]).collect();
        members.iter().zip(assign_shards(&costs, own)).for_each(|(shard, rank)| rank_of[*shard] = first as u16 + rank);
    }
    rank_of
}

/// Sends `value` to every other rank; returns the values of the other ranks, in rank order.
///
/// # Errors
/// Fails if a rank has ended or runs another build.
pub fn share<T: Serialize + for<'a> Deserialize<'a>>(ranks: &mut dyn Ranks, value: &T) -> Result<Vec<T>, SetupError> {
    Ok(exchange(ranks, value, &mut Vec::new(), &mut Vec::new())?.0)
}

/// Sends `value` and the bytes `out[r]` to every other rank r, and clears `out`. Returns the values of the other ranks, in rank order, and
/// the number of bytes sent; puts the received bytes into `received`.
///
/// In a packet the value follows the bytes, so that the many bytes are not copied; the length of the value comes last.
fn exchange<T: Serialize + for<'a> Deserialize<'a>>(
    ranks: &mut dyn Ranks,
    value: &T,
    out: &mut Vec<Vec<u8>>,
    received: &mut Vec<Vec<u8>>,
) -> Result<(Vec<T>, u64), String> {
    let own = ranks.rank();
    let value = encode(value);
    out.resize(ranks.count(), Vec::new());
    received.resize(ranks.count(), Vec::new());
    for packet in out.iter_mut() {
        packet.extend_from_slice(&value);
        packet.extend_from_slice(&(value.len() as u32).to_le_bytes());
    }
    out[own].clear();
    let bytes = out.iter().map(|packet| packet.len() as u64).sum();
    ranks.exchange(out, received)?;
    out.iter_mut().for_each(Vec::clear);
    let part = |(rank, packet): (usize, &mut Vec<u8>)| {
        let unread = || format!("the packet of rank {rank} cannot be decoded; all ranks must run the same build of the program");
        split(packet).ok_or_else(unread)
    };
    let others = received.iter_mut().enumerate().filter(|(rank, _)| *rank != own);
    Ok((others.map(part).collect::<Result<_, _>>()?, bytes))
}

/// Removes the value from a packet and returns it; the packet keeps its bytes.
fn split<T: for<'a> Deserialize<'a>>(packet: &mut Vec<u8>) -> Option<T> {
    let (rest, length) = packet.split_last_chunk::<4>()?;
    let start = rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?;
    let value = postcard::from_bytes(&rest[start..]).ok()?;
    packet.truncate(start);
    Some(value)
}

fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    match postcard::to_extend(value, Vec::new()) {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("plain data is written to memory: {error}"),
    }
}

/// Header bytes of the messages to a unit: the unit's number (2 bytes) and the length of the messages (4 bytes).
const MESSAGE_HEADER_BYTES: usize = 6;

/// Appends the encoded messages to a unit of another rank.
pub(super) fn write_messages<U: Unit>(unit: u16, messages: &[SentMessage<U::Payload>], out: &mut Vec<u8>) {
    let start = out.len();
    let mut to = Writer::after(std::mem::take(out));
    to.raw(&unit.to_le_bytes());
    to.raw(&[0; MESSAGE_HEADER_BYTES - 2]);
    messages.iter().for_each(|message| message.save(&mut to));
    *out = to.finish();
    let length = (out.len() - start - MESSAGE_HEADER_BYTES) as u32;
    out[start + 2..start + MESSAGE_HEADER_BYTES].copy_from_slice(&length.to_le_bytes());
}

/// Decodes the messages of another rank for the units that `wanted` accepts; passes the messages of each unit to `take`, in the buffer
/// `messages`.
pub(super) fn read_messages<U: Unit>(
    mut bytes: &[u8],
    messages: &mut Vec<SentMessage<U::Payload>>,
    wanted: impl Fn(UnitId) -> bool,
    mut take: impl FnMut(UnitId, &[SentMessage<U::Payload>]),
) {
    while let Some((head, rest)) = bytes.split_first_chunk::<MESSAGE_HEADER_BYTES>() {
        let unit = UnitId(u16::from_le_bytes([head[0], head[1]]));
        let length = u32::from_le_bytes([head[2], head[3], head[4], head[5]]) as usize;
        let (own, rest) = rest.split_at(length);
        if wanted(unit) {
            let mut from = Reader::new(own);
            messages.clear();
            while !from.is_empty() {
                match SentMessage::read(&mut from) {
                    Ok(message) => messages.push(message),
                    Err(error) => panic!("messages of another rank to {unit} cannot be read: {error}"),
                }
            }
            take(unit, messages);
        }
        bytes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_get_whole_parts_of_a_machine_where_there_are_enough() {
        let shards = [ShardCost { kind: "sm", cost: 1.0 }; 12];
        let kind_of: Vec<(usize, u8)> = (0..12).map(|shard| (shard / 3, 0)).collect();
        let of = |ranks| divide(&shards, &kind_of, ranks);
        assert_eq!(of(2), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
        assert_eq!(of(4), [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
        assert_eq!(of(3), [0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2]);
        let eight = of(8);
        assert!((0..12).all(|shard| usize::from(eight[shard]) / 2 == shard / 3), "{eight:?}");
        assert!((0..8).all(|rank| eight.contains(&rank)), "every rank has some: {eight:?}");
        assert_eq!(divide(&shards, &[(0, 0); 12], 3).iter().filter(|rank| **rank == 2).count(), 4);
    }
    #[test]
    fn every_rank_gets_its_share_of_each_group() {
        let shards: Vec<ShardCost> = (0..12).map(|shard| ShardCost { kind: if shard < 4 { "net" } else { "sm" }, cost: 1.0 }).collect();
        let kind_of: Vec<(usize, u8)> = (0..12).map(|shard| (0, u8::from(shard >= 4))).collect();
        let of = divide(&shards, &kind_of, 2);
        assert_eq!(of[..4].iter().filter(|rank| **rank == 0).count(), 2);
        assert_eq!(of[4..].iter().filter(|rank| **rank == 0).count(), 4);
    }

    #[test]
    fn a_packet_is_split_into_value_and_bytes() {
        let ranks = LocalRanks::connected(3);
        std::thread::scope(|scope| {
            for mut ranks in ranks {
                scope.spawn(move || {
                    let own = ranks.rank() as u8;
                    let mut received = Vec::new();
                    for round in 0..2 {
                        let mut out = (0..3).map(|to| vec![own, to, round]).collect();
                        let (values, bytes) = exchange(&mut ranks, &u32::from(own), &mut out, &mut received).expect("all ranks are there");
                        let others = || (0..3).filter(|rank| *rank != own);
                        assert_eq!(values, others().map(u32::from).collect::<Vec<_>>());
                        assert!(others().all(|rank| received[usize::from(rank)] == [rank, own, round]));
                        assert!(received[usize::from(own)].is_empty() && out.iter().all(Vec::is_empty));
                        assert_eq!(bytes, 2 * (3 + 1 + 4), "three bytes, a small number, its length");
                    }
                });
            }
        });
    }

    #[test]
    fn a_packet_of_another_build_is_rejected() {
        assert_eq!(split::<u32>(&mut vec![1, 2]), None);
        assert_eq!(split::<u32>(&mut vec![7, 9, 0, 0, 0]), None, "longer than the packet");
        let mut packet = vec![5, 7, 1, 0, 0, 0];
        assert_eq!((split::<u32>(&mut packet), packet), (Some(7), vec![5]));
    }
}
