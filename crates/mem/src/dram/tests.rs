//! Tests of commands cycle by cycle, of the rate of the data bus, and of the channel against a model that counts timers down.

use proptest::prelude::*;

use warpshard_base::{Addr, Cycle, KernelIndex, KernelSectors, SectorMask};
use warpshard_config::machine::{Dram, DramScheduler, DramTiming};
use warpshard_stats::Counters;

use super::simple_channel::SimpleChannel;
use super::*;

/// Returns the HBM2 channel of SM7_QV100.
fn hbm2_dram() -> Dram {
    Dram {
        banks: 16,
        bank_groups: 4,
        group_low_bits: true,
        bus_bytes: 16,
        burst: 2,
        beats_per_clock: 2,
        dual_command_bus: true,
        scheduler: DramScheduler::FrFcfs,
        queue: 64,
        return_queue: 192,
        control: None,
        timing: DramTiming {
            tCCD: 1,
            tCCDL: 2,
            tRRD: 3,
            tRCD: 12,
            tRAS: 28,
            tRP: 12,
            tRC: 40,
            tCL: 12,
            tWL: 2,
            tCDLR: 3,
            tWR: 10,
            tRTPL: 3,
        },
    }
}

fn first_sectors(sectors: u8) -> KernelSectors {
    KernelSectors::new(KernelIndex(0), SectorMask(sectors))
}

fn request(kind: RequestKind, bank: u8, row: u32) -> DramRequest {
    let request = DramRequest { addr: Addr(u64::from(number(kind)) * 32), row, bank, part: first_sectors(0b1), ..DramRequest::default() };
    request.with_kind(kind)
}

fn read(bank: u8, row: u32, number: u32) -> DramRequest {
    request(RequestKind::Read { entry: number as u16 }, bank, row)
}

fn write(bank: u8, row: u32, number: u32) -> DramRequest {
    request(RequestKind::WriteBack { number }, bank, row)
}

/// Returns the number that identifies a request.
fn number(kind: RequestKind) -> u32 {
    match kind {
        RequestKind::Read { entry } => entry.into(),
        RequestKind::Write { number } | RequestKind::WriteBack { number } => number,
    }
}

/// Removes all returned requests.
fn drain_returned(channel: &mut SimpleChannel) {
    while channel.oldest_returned().is_some() {
        channel.drop_returned();
    }
}

/// Pushes each request at the end of its cycle and removes each one cycle after its return. Returns (cycle of the return or the finish,
/// token), sorted by cycle.
fn run_requests(channel: &mut SimpleChannel, requests: &[(u64, DramRequest)], cycles: u64, every: bool) -> Vec<(u64, u32)> {
    let mut done = Vec::new();
    let mut next = 0;
    let mut now = 0;
    while now < cycles {
        drain_returned(channel);
        if let Some(finished) = channel.cycle(Cycle(now)).written_back {
            done.push((now, number(finished.kind)));
        }
        if let Some(returned) = channel.oldest_returned() {
            done.push((now, number(returned.kind())));
        }
        if next < requests.len() && requests[next].0 <= now && !channel.is_full() {
            channel.push(Cycle(now), &requests[next].1);
            next += 1;
        }
        let pushes = requests.get(next).map_or(u64::MAX, |(at, _)| (*at).max(now + 1));
        let event = channel.next_event(Cycle(now + 1)).0;
        now = if every { now + 1 } else { event.min(pushes) };
    }
    done
}

#[test]
fn a_read_of_a_closed_row_takes_activate_and_column_latency() {
    let done = run_requests(&mut SimpleChannel::new(&hbm2_dram()), &[(0, read(3, 7, 1))], 1000, true);
    // The bank gets the request and is activated in cycle 1, reads in 13 and has the data in 25.
    assert_eq!(done, [(1 + 12 + 12, 1)]);
}

#[test]
fn another_row_waits_for_tras_and_a_precharge() {
    let late = run_requests(&mut SimpleChannel::new(&hbm2_dram()), &[(0, read(3, 7, 1)), (100, read(3, 8, 2))], 1000, true);
    assert_eq!(late, [(25, 1), (101 + 12 + 12 + 12, 2)]);
    let early = run_requests(&mut SimpleChannel::new(&hbm2_dram()), &[(0, read(3, 7, 1)), (1, read(3, 8, 2))], 1000, true);
    assert_eq!(early, [(25, 1), (1 + 28 + 12 + 12 + 12, 2)], "tRAS after the activate of cycle 1, then tRP, tRCD, tCL");
}

#[test]
fn reads_of_an_open_row_stream_at_the_rate_of_their_bank_groups() {
    let one_bank: Vec<_> = (0..32).map(|i| (0, read(0, 0, i))).collect();
    let done = run_requests(&mut SimpleChannel::new(&hbm2_dram()), &one_bank, 1000, true);
    let gaps: Vec<_> = done.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps[..].iter().all(|gap| *gap == 2), "tCCDL apart: {gaps:?}");
    let groups: Vec<_> = (0..400).map(|i| (0, read((i % 4) as u8, 0, i))).collect();
    let mut channel = SimpleChannel::new(&hbm2_dram());
    let done = run_requests(&mut channel, &groups, 2000, true);
    assert_eq!(done.len(), 400);
    let span = done[399].0 - done[40].0;
    // One bank per cycle gets its next request, so a bank group is sometimes late by a cycle.
    assert!((359..=359 * 20 / 19).contains(&span), "359 bursts of four groups took {span} cycles");
    assert_eq!(channel.counters().data_cycles, 400);
}

#[test]
fn a_read_after_a_write_waits_for_the_bus_to_turn() {
    let requests = [(0, write(0, 5, 1)), (40, write(0, 5, 2)), (40, read(1, 0, 3)), (42, read(0, 5, 4))];
    let done = run_requests(&mut SimpleChannel::new(&hbm2_dram()), &requests, 1000, true);
    let at = |token| done.iter().find(|(_, t)| *t == token).unwrap().0;
    // The activate allows the write after tRCD - WL - 1 cycles, and its data follows after WL cycles.
    assert_eq!(at(1), 1 + 9 + 2);
    assert_eq!(at(2), 41 + 2);
    assert_eq!(at(4), 41 + (2 + 1 + 3) + 12, "WL, the burst and tCDLR between write and read");
}

#[test]
fn open_rows_are_served_first_only_if_the_scheduler_prefers_hits() {
    let requests = [(0, read(0, 1, 1)), (1, read(0, 2, 2)), (2, read(0, 1, 3))];
    let order = |scheduler| {
        let done = run_requests(&mut SimpleChannel::new(&Dram { scheduler, ..hbm2_dram() }), &requests, 1000, true);
        done.into_iter().map(|(_, token)| token).collect::<Vec<_>>()
    };
    assert_eq!(order(DramScheduler::FrFcfs), [1, 3, 2]);
    assert_eq!(order(DramScheduler::Fcfs), [1, 2, 3]);
}

#[test]
fn a_full_return_queue_stops_the_data_bus() {
    let mut channel = SimpleChannel::new(&Dram { return_queue: 2, ..hbm2_dram() });
    let mut now = 0;
    for i in 0..8 {
        channel.cycle(Cycle(now));
        channel.push(Cycle(now), &read(i % 4, 0, u32::from(i)));
        now += 1;
    }
    for _ in 0..200 {
        channel.cycle(Cycle(now));
        now += 1;
    }
    assert!(channel.return_full());
    let mut got = Vec::new();
    for _ in 0..200 {
        if let Some(returned) = channel.oldest_returned() {
            got.push(number(returned.kind()));
            channel.drop_returned();
        }
        channel.cycle(Cycle(now));
        now += 1;
    }
    got.sort_unstable();
    assert_eq!(got, (0..8).collect::<Vec<_>>());
}

#[test]
fn one_command_bus_carries_one_command_a_cycle() {
    let spec = Dram { dual_command_bus: false, bank_groups: 1, ..hbm2_dram() };
    let mut channel = SimpleChannel::new(&spec);
    let (mut before, mut pushed) = (0, 0);
    for now in 0..3000u64 {
        channel.cycle(Cycle(now));
        drain_returned(&mut channel);
        let c = channel.counters();
        let commands = c.reads + c.writes + c.activates + c.precharges;
        assert!(commands <= before + 1, "{} commands in cycle {now}", commands - before);
        before = commands;
        if pushed < 200 && !channel.is_full() {
            channel.push(Cycle(now), &read((now * 7 % 16) as u8, (now * 5 % 3) as u32, pushed));
            pushed += 1;
        }
    }
    assert_eq!(channel.counters().reads, 200);
}

#[test]
fn requests_of_several_sectors_move_several_bursts() {
    let mut channel = SimpleChannel::new(&hbm2_dram());
    let wide = DramRequest { part: first_sectors(0b1011), ..write(0, 0, 9) };
    let done = run_requests(&mut channel, &[(0, wide)], 100, true);
    assert_eq!(channel.counters().writes, 3);
    assert_eq!(done, [(1 + 9 + 2 + 2 * 2, 9)], "three bursts of one bank group");
}

/// A channel with a dual command bus as GPGPU-Sim describes it: a timer per constraint, counted down every cycle.
#[derive(Default)]
struct CountdownChannel {
    first: usize,
    waiting: Vec<DramRequest>,
    sticky: [Option<u32>; 16],
    serving: [Option<DramRequest>; 16],
    row: [u32; 16],
    open: [bool; 16],
    /// Timers per bank: read, write, precharge after activate, activate, precharge of the row cycle, precharge after write, precharge after
    /// read.
    rcd: [u32; 16],
    rcdwr: [u32; 16],
    ras: [u32; 16],
    rc: [u32; 16],
    rp: [u32; 16],
    wtp: [u32; 16],
    rtp: [u32; 16],
    ccdl: [u32; 4],
    rtpl: [u32; 4],
    ccd: u32,
    rrd: u32,
    rtw: u32,
    wtr: u32,
    bus: Vec<(u64, DramRequest)>,
    last: u64,
}

impl CountdownChannel {
    fn cycle(&mut self, now: u64) -> Option<u32> {
        let done = self.bus.iter().position(|(at, _)| *at == now).map(|i| number(self.bus.remove(i).1.kind()));
        for i in 0..16 {
            let b = (i + self.first) % 16;
            if self.serving[b].is_some() || !self.waiting.iter().any(|r| usize::from(r.bank) == b) {
                continue;
            }
            let of = |row: u32, list: &[DramRequest]| list.iter().position(|r| usize::from(r.bank) == b && r.row == row);
            let row = self.sticky[b].unwrap_or_else(|| match of(self.row[b], &self.waiting) {
                Some(_) => self.row[b],
                None => self.waiting.iter().find(|r| usize::from(r.bank) == b).unwrap().row,
            });
            let at = of(row, &self.waiting).unwrap();
            self.serving[b] = Some(self.waiting.remove(at));
            self.sticky[b] = of(row, &self.waiting).map(|_| row);
            self.first = (self.first + 1) % 16;
            break;
        }
        for i in 0..16 {
            let b = (i + self.first) % 16;
            let Some(r) = self.serving[b] else { continue };
            let write = !r.is_read();
            let own = if write { self.rcdwr[b] + self.rtw } else { self.rcd[b] + self.wtr };
            if self.ccd + self.ccdl[b % 4] + own > 0 || !self.open[b] || self.row[b] != r.row {
                continue;
            }
            self.last = (self.last + 1).max(now + if write { 2 } else { 12 });
            self.bus.push((self.last, r));
            (self.ccd, self.ccdl[b % 4]) = (1, 2);
            if write {
                (self.wtr, self.wtp[b]) = (6, 13);
            } else {
                (self.rtw, self.rtp[b], self.rtpl[b % 4]) = (12 + 1 + 2 - 2, 1, 3);
            }
            self.serving[b] = None;
            break;
        }
        for i in 0..16 {
            let b = (i + self.first) % 16;
            let Some(r) = self.serving[b] else { continue };
            if !self.open[b] {
                if self.rrd + self.rp[b] + self.rc[b] > 0 {
                    continue;
                }
                (self.open[b], self.row[b]) = (true, r.row);
                (self.rrd, self.rcd[b], self.rcdwr[b], self.ras[b], self.rc[b]) = (3, 12, 9, 28, 40);
            } else if self.row[b] != r.row && self.ras[b] + self.wtp[b] + self.rtp[b] + self.rtpl[b % 4] == 0 {
                (self.open[b], self.rp[b]) = (false, 12);
            } else {
                continue;
            }
            self.first = (b + 1) % 16;
            break;
        }
        let banks = [&mut self.rcd, &mut self.rcdwr, &mut self.ras, &mut self.rc, &mut self.rp, &mut self.wtp, &mut self.rtp];
        let groups = [&mut self.ccdl, &mut self.rtpl];
        let all = [&mut self.ccd, &mut self.rrd, &mut self.rtw, &mut self.wtr];
        let timers = banks.into_iter().flatten().chain(groups.into_iter().flatten()).chain(all);
        timers.for_each(|t| *t = t.saturating_sub(1));
        done
    }
}

proptest! {
    #[test]
    fn the_channel_equals_timers_that_count_down_and_needs_no_idle_cycles(
        load in prop::collection::vec((0u64..12, 0u8..16, 0u32..3, prop::bool::weighted(0.3)), 1..150),
    ) {
        let mut at = 0;
        let requests: Vec<_> = load.iter().enumerate().map(|(i, (gap, bank, row, writes))| {
            at += gap;
            (at, if *writes { write(*bank, *row, i as u32) } else { read(*bank, *row, i as u32) })
        }).collect();
        let end = 20_000;
        let mut every = SimpleChannel::new(&hbm2_dram());
        let done = run_requests(&mut every, &requests, end, true);
        let mut jumping = SimpleChannel::new(&hbm2_dram());
        prop_assert_eq!(&run_requests(&mut jumping, &requests, end, false), &done);
        prop_assert_eq!(every.counters(), jumping.counters());
        prop_assert_eq!(every.read_latency(), jumping.read_latency());
        prop_assert_eq!(done.len(), requests.len());
        prop_assert_eq!(every.occupancy(), 0);

        let (mut model, mut expected, mut next) = (CountdownChannel::default(), Vec::new(), 0);
        for now in 0..end {
            expected.extend(model.cycle(now).map(|token| (now, token)));
            if next < requests.len() && requests[next].0 <= now && model.waiting.len() < 64 {
                model.waiting.push(requests[next].1);
                next += 1;
            }
        }
        prop_assert_eq!(done, expected);
    }
}

#[test]
fn every_counter_has_a_description() {
    assert!(DramCounters::INFO.iter().all(|info| info.help.ends_with('.') && !info.unit.is_empty()));
}
