//! Several processes that simulate one machine: ranks.
//!
//! Every rank has the whole plan but steps only its own units. After each epoch the ranks exchange one packet with each other: what their
//! coordinators need, and the messages to the other's units. With these, all coordinators are in the same state: they set the same bounds,
//! make the same cuts, and at a cut gather the counters of all units, so that every rank's director sees the same and decides the same.
//! Nothing is therefore sent but what units send, and results are those of one process.
//!
//! Invariant: all ranks call [`Ranks::exchange`] equally often, in the same epochs and cuts.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use warpshard_base::{Tick, UnitId};
use warpshard_state::{Reader, State, Writer};
use warpshard_stats::{LateMessages, RankFacts};

use super::checkpoint::SavedUnit;
use super::outbox::{Event, Sent};
use super::placement::{ShardCost, place};
use super::{Unit, Work};
use crate::SetupError;

/// The processes of a run, as one of them sees them.
pub trait Ranks: Send + std::fmt::Debug {
    /// The number of this one.
    fn rank(&self) -> usize;

    /// How many there are.
    fn count(&self) -> usize;

    /// Sends `out[r]` to every other rank r, and puts what each of them sent into `came[r]`. What `out` holds afterwards does not matter; buffers are
    /// used again. The own entries stay as they are.
    ///
    /// # Errors
    /// When a rank is gone; a message for the user that names it.
    fn exchange(&mut self, out: &mut [Vec<u8>], came: &mut [Vec<u8>]) -> Result<(), String>;
}

/// Ranks that are threads of one process.
#[derive(Debug)]
pub struct LocalRanks {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

impl LocalRanks {
    /// `count` ranks that are connected with each other.
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

    fn exchange(&mut self, out: &mut [Vec<u8>], came: &mut [Vec<u8>]) -> Result<(), String> {
        let gone = |rank: usize| format!("rank {rank} of {} ended before the run did", self.from.len());
        for (rank, (to, bytes)) in self.to.iter().zip(out).enumerate().filter(|(rank, _)| *rank != self.rank) {
            to.send(std::mem::take(bytes)).map_err(|_| gone(rank))?;
        }
        for (rank, (from, bytes)) in self.from.iter().zip(came).enumerate().filter(|(rank, _)| *rank != self.rank) {
            *bytes = from.recv().map_err(|_| gone(rank))?;
        }
        Ok(())
    }
}

/// What a rank tells every other one after an epoch, before the messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct EpochReport<E> {
    /// Messages that its units sent.
    pub(super) sent: u64,
    /// The next event of its units, as a global tick.
    pub(super) next: Tick,
    pub(super) events: Vec<Event<E>>,
    /// Work that its units have done, now and then.
    pub(super) work: Option<Work>,
    /// It was asked to stop.
    pub(super) stop: bool,
    /// It cannot go on; why.
    pub(super) failure: Option<String>,
}

/// Values of units at a cut.
pub(super) type Values = Vec<(UnitId, Vec<u64>)>;

/// The other ranks, and which rank steps which unit.
#[derive(Debug)]
pub(super) struct Division {
    pub(super) ranks: Box<dyn Ranks>,
    pub(super) rank_of: Vec<u16>,
    /// Messages to the units of each rank, encoded; empty between two exchanges.
    pub(super) messages: Vec<Vec<u8>>,
    pub(super) facts: RankFacts,
}

impl Division {
    /// Divides the shards of a plan over the ranks: whole parts of the machine first, and each part such that every rank has its share, by cost,
    /// of the units that are stepped in the same epoch. `part_of` and `group_of` are by unit.
    pub(super) fn new(ranks: Box<dyn Ranks>, shards: &[ShardCost], shard_of: &[u32], part_of: &[u16], group_of: &[u8]) -> Self {
        let mut kind_of_shard = vec![(0, 0); shards.len()];
        let kinds = part_of.iter().zip(group_of).map(|(part, group)| (usize::from(*part), *group));
        shard_of.iter().zip(kinds).for_each(|(shard, kind)| kind_of_shard[*shard as usize] = kind);
        let of_shard = divide(shards, &kind_of_shard, ranks.count());
        let rank_of = shard_of.iter().map(|&shard| of_shard[shard as usize]).collect();
        let facts = RankFacts { count: ranks.count() as u32, ..RankFacts::default() };
        Self { messages: vec![Vec::new(); ranks.count()], ranks, rank_of, facts }
    }

    /// Whether this rank steps a unit.
    pub(super) fn owns(&self, unit: usize) -> bool {
        usize::from(self.rank_of[unit]) == self.ranks.rank()
    }

    /// Sends `value` and the messages to every other rank; returns the values that came, by rank, and puts the messages into `came`.
    pub(super) fn exchange<T: Serialize + for<'a> Deserialize<'a>>(
        &mut self,
        value: &T,
        came: &mut Vec<Vec<u8>>,
    ) -> Result<Vec<T>, String> {
        let began = Instant::now();
        let (values, bytes) = exchange(self.ranks.as_mut(), value, &mut self.messages, came)?;
        self.facts.exchanges += 1;
        self.facts.seconds += began.elapsed().as_secs_f64();
        self.facts.bytes += bytes;
        Ok(values)
    }

    /// Adds the values of the units of all other ranks.
    pub(super) fn gather(&mut self, own: &mut [Values; 2]) -> Result<(), String> {
        for [counters, tasks] in self.exchange::<[Values; 2]>(own, &mut Vec::new())? {
            own[0].extend(counters);
            own[1].extend(tasks);
        }
        Ok(())
    }

    /// Adds the states of the units of all other ranks, and the messages that they counted.
    pub(super) fn gather_states(&mut self, units: &mut Vec<SavedUnit>, messages: &mut u64, late: &mut LateMessages) -> Result<(), String> {
        let own = (std::mem::take(units), *messages, *late);
        for (others, sent, came_late) in self.exchange(&own, &mut Vec::new())? {
            units.extend(others);
            *messages += sent;
            late.add(&came_late);
        }
        units.extend(own.0);
        Ok(())
    }
}

/// The rank of each shard, given the part of the machine that it belongs to and the group of units that it is stepped with.
fn divide(shards: &[ShardCost], kind_of: &[(usize, u8)], ranks: usize) -> Vec<u16> {
    let parts = kind_of.iter().map(|(part, _)| part + 1).max().unwrap_or(1);
    let groups = kind_of.iter().map(|(_, group)| group + 1).max().unwrap_or(1);
    let mut rank_of = vec![0; shards.len()];
    for (part, group) in (0..parts).flat_map(|part| (0..groups).map(move |group| (part, group))) {
        let first = part * ranks / parts;
        let own = ((part + 1) * ranks / parts).saturating_sub(first).max(1);
        let members: Vec<usize> = (0..shards.len()).filter(|shard| kind_of[*shard] == (part, group)).collect();
        let costs: Vec<ShardCost> = members.iter().map(|shard| shards[*shard]).collect();
        members.iter().zip(place(&costs, own)).for_each(|(shard, rank)| rank_of[*shard] = first as u16 + rank);
    }
    rank_of
}

/// Sends `value` to every other rank; returns what these sent, by rank.
///
/// # Errors
/// When a rank is gone, or runs another build.
pub fn share<T: Serialize + for<'a> Deserialize<'a>>(ranks: &mut dyn Ranks, value: &T) -> Result<Vec<T>, SetupError> {
    Ok(exchange(ranks, value, &mut Vec::new(), &mut Vec::new())?.0)
}

/// Sends `value` and the bytes of `out`, by rank, to every other rank, and leaves `out` empty; returns the values that came, by rank, and the number of
/// bytes sent, and puts the bytes that came into `came`.
///
/// In a packet the value follows the bytes, which are many, so that nobody copies them; its length comes last.
fn exchange<T: Serialize + for<'a> Deserialize<'a>>(
    ranks: &mut dyn Ranks,
    value: &T,
    out: &mut Vec<Vec<u8>>,
    came: &mut Vec<Vec<u8>>,
) -> Result<(Vec<T>, u64), String> {
    let own = ranks.rank();
    let value = encode(value);
    out.resize(ranks.count(), Vec::new());
    came.resize(ranks.count(), Vec::new());
    for packet in out.iter_mut() {
        packet.extend_from_slice(&value);
        packet.extend_from_slice(&(value.len() as u32).to_le_bytes());
    }
    out[own].clear();
    let bytes = out.iter().map(|packet| packet.len() as u64).sum();
    ranks.exchange(out, came)?;
    out.iter_mut().for_each(Vec::clear);
    let part = |(rank, packet): (usize, &mut Vec<u8>)| {
        let unread = || format!("what rank {rank} sent cannot be read; all ranks must run the same build of the program");
        split(packet).ok_or_else(unread)
    };
    let others = came.iter_mut().enumerate().filter(|(rank, _)| *rank != own);
    Ok((others.map(part).collect::<Result<_, _>>()?, bytes))
}

/// Takes the value off a packet, which then has the bytes that belong to it.
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

/// Bytes before the messages to a unit: its number, and the length of what follows.
const HEAD: usize = 6;

/// Appends the messages to a unit of another rank.
pub(super) fn write_messages<U: Unit>(unit: u16, messages: &[Sent<U::Payload>], out: &mut Vec<u8>) {
    let start = out.len();
    let mut to = Writer::after(std::mem::take(out));
    to.raw(&unit.to_le_bytes());
    to.raw(&[0; HEAD - 2]);
    messages.iter().for_each(|message| message.save(&mut to));
    *out = to.finish();
    let length = (out.len() - start - HEAD) as u32;
    out[start + 2..start + HEAD].copy_from_slice(&length.to_le_bytes());
}

/// The messages that another rank sent, unit by unit, of the units that `wanted` says; each in turn in `messages`.
pub(super) fn read_messages<U: Unit>(
    mut bytes: &[u8],
    messages: &mut Vec<Sent<U::Payload>>,
    wanted: impl Fn(UnitId) -> bool,
    mut take: impl FnMut(UnitId, &[Sent<U::Payload>]),
) {
    while let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() {
        let unit = UnitId(u16::from_le_bytes([head[0], head[1]]));
        let length = u32::from_le_bytes([head[2], head[3], head[4], head[5]]) as usize;
        let (own, rest) = rest.split_at(length);
        if wanted(unit) {
            let mut from = Reader::new(own);
            messages.clear();
            while !from.is_empty() {
                match Sent::read(&mut from) {
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
    fn every_rank_gets_its_share_of_what_is_stepped_together() {
        let shards: Vec<ShardCost> = (0..12).map(|shard| ShardCost { kind: if shard < 4 { "net" } else { "sm" }, cost: 1.0 }).collect();
        let kind_of: Vec<(usize, u8)> = (0..12).map(|shard| (0, u8::from(shard >= 4))).collect();
        let of = divide(&shards, &kind_of, 2);
        assert_eq!(of[..4].iter().filter(|rank| **rank == 0).count(), 2);
        assert_eq!(of[4..].iter().filter(|rank| **rank == 0).count(), 4);
    }

    #[test]
    fn a_packet_is_split_into_what_it_was_made_of() {
        let ranks = LocalRanks::connected(3);
        std::thread::scope(|scope| {
            for mut ranks in ranks {
                scope.spawn(move || {
                    let own = ranks.rank() as u8;
                    let mut came = Vec::new();
                    for round in 0..2 {
                        let mut out = (0..3).map(|to| vec![own, to, round]).collect();
                        let (values, bytes) = exchange(&mut ranks, &u32::from(own), &mut out, &mut came).expect("all ranks are there");
                        let others = || (0..3).filter(|rank| *rank != own);
                        assert_eq!(values, others().map(u32::from).collect::<Vec<_>>());
                        assert!(others().all(|rank| came[usize::from(rank)] == [rank, own, round]));
                        assert!(came[usize::from(own)].is_empty() && out.iter().all(Vec::is_empty));
                        assert_eq!(bytes, 2 * (3 + 1 + 4), "three bytes, a small number, its length");
                    }
                });
            }
        });
    }

    #[test]
    fn a_packet_of_another_build_is_refused() {
        assert_eq!(split::<u32>(&mut vec![1, 2]), None);
        assert_eq!(split::<u32>(&mut vec![7, 9, 0, 0, 0]), None, "longer than the packet");
        let mut packet = vec![5, 7, 1, 0, 0, 0];
        assert_eq!((split::<u32>(&mut packet), packet), (Some(7), vec![5]));
    }
}
