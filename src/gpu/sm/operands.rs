//! Operand collectors and register banks.
//!
//! Input: issued instructions in one register per kind of unit. An instruction takes a free collector, its sources queue at
//! their banks, and when the last one was read it goes to the register before its unit. The register file makes
//! `bank_ports` steps per core cycle; in each, in this order, complete instructions leave, every bank reads the first of
//! its queue (unless a result is written to it), and instructions enter collectors. A collector cannot leave in the step
//! in which it read its last operand.

use crate::config::machine::{CoreStyle, Sm as Spec};

use super::units::{ALL_KINDS, Flight, Flights, KINDS, StageRegisters, UnitKind, places};

/// In which order an input port of the collectors looks at the kinds, as bits of kind numbers to ranks.
const PORT_ORDER: [UnitKind; KINDS] = [
    UnitKind::Sp,
    UnitKind::Sfu,
    UnitKind::Mem,
    UnitKind::Dp,
    UnitKind::Int,
    UnitKind::Branch,
    UnitKind::Texture,
    UnitKind::Tensor,
    UnitKind::Uniform,
];

#[derive(Clone, Copy, Debug, Default)]
struct Collector {
    flight: u8,
    missing: u8,
}

/// Reads that wait at a bank, oldest first, by the number of the collector.
#[derive(Clone, Debug)]
struct BankQueue {
    slots: Box<[u8]>,
    head: u8,
    len: u8,
}

/// Collectors, banks, and the registers before and after them.
#[derive(Debug)]
pub(super) struct Operands {
    groups: usize,
    per_group: usize,
    banks_per_group: u32,
    shared: bool,
    ports: usize,
    steps: u32,
    places: [usize; KINDS],
    /// Issued instructions that wait for a collector.
    pub(super) issued: StageRegisters,
    /// Instructions that wait for their unit.
    pub(super) ready: StageRegisters,
    /// Kinds whose register takes nothing more from a scheduler's sub-core (or from anybody, where it is shared).
    full: [u16; 8],
    collectors: Box<[Collector]>,
    free: u64,
    complete: u64,
    banks: Box<[BankQueue]>,
    reading: u64,
    written: u64,
    /// Where each output port began last, per group.
    last: Vec<u8>,
    /// Bank reads that had to wait for an earlier read or a write.
    pub(super) conflicts: u64,
}

impl Operands {
    pub(super) fn new(spec: &Spec) -> Self {
        let shared = spec.style == CoreStyle::Shared;
        let groups = if shared { 1 } else { spec.schedulers as usize };
        let collectors = (spec.operands.collectors as usize).max(groups);
        let banks = spec.operands.banks as usize;
        assert!(collectors <= 64 && collectors.is_multiple_of(groups), "{collectors} collectors cannot be shared out to {groups}");
        assert!(banks <= 64 && banks >= groups && banks.is_multiple_of(groups), "{banks} banks cannot be shared out to {groups}");
        let per_group = collectors / groups;
        let depth = (4 * per_group).next_power_of_two();
        let ports = (spec.operands.ports as usize).max(1);
        Self {
            groups,
            per_group,
            banks_per_group: (banks / groups) as u32,
            shared,
            ports,
            steps: spec.operands.bank_ports.max(1),
            places: places(spec),
            issued: StageRegisters::new(),
            ready: StageRegisters::new(),
            full: [0; 8],
            collectors: vec![Collector::default(); collectors].into(),
            free: if collectors == 64 { u64::MAX } else { (1 << collectors) - 1 },
            complete: 0,
            banks: (0..banks).map(|_| BankQueue { slots: vec![0; depth].into(), head: 0, len: 0 }).collect(),
            reading: 0,
            written: 0,
            last: (0..ports * groups).map(|i| (i % groups * per_group) as u8).collect(),
            conflicts: 0,
        }
    }

    /// The bank of a register of a warp; register numbers count from one there, as in the reference.
    #[inline]
    pub(super) fn bank(&self, register: u16, warp: usize, group: usize) -> u8 {
        ((u32::from(register) + 1 + warp as u32) % self.banks_per_group + group as u32 * self.banks_per_group) as u8
    }

    /// The sub-core of a scheduler.
    #[inline]
    pub(super) fn group(&self, scheduler: usize) -> usize {
        if self.shared { 0 } else { scheduler }
    }

    /// Kinds to which a scheduler cannot issue now.
    #[inline]
    pub(super) fn full(&self, scheduler: usize) -> u16 {
        self.full[self.group(scheduler)]
    }

    /// Takes an issued instruction; its kind is not [`Operands::full`].
    #[inline]
    pub(super) fn issue(&mut self, slot: u8, flight: &Flight) {
        let group = usize::from(flight.group);
        let place = if self.shared { (!self.issued.taken(flight.kind)).trailing_zeros() as usize } else { group };
        self.issued.put(flight.kind, place, slot);
        if !self.shared || self.issued.taken(flight.kind).count_ones() as usize == self.places[flight.kind as usize] {
            self.full[group] |= 1 << flight.kind as u8;
        }
    }

    /// Writes a result: the bank reads nothing in the next step. Returns whether the bank was free to be written.
    #[inline]
    pub(super) fn write(&mut self, bank: u8) -> bool {
        let free = self.written >> bank & 1 == 0;
        self.written |= 1 << bank;
        free
    }

    /// Whether the next cycle has nothing to do here, results written to banks aside.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.issued.any == 0 && self.ready.any == 0 && self.free.count_ones() as usize == self.collectors.len()
    }

    /// One core cycle of the register file.
    #[inline]
    pub(super) fn cycle(&mut self, flights: &Flights) {
        for _ in 0..self.steps {
            if self.complete != 0 {
                self.dispatch(flights);
            }
            if self.reading != 0 {
                self.read();
            }
            if self.issued.any != 0 {
                self.collect(flights);
            }
            self.written = 0;
        }
    }

    /// Sends complete instructions to the registers before their units, one per output port.
    fn dispatch(&mut self, flights: &Flights) {
        for port in 0..self.ports {
            let Some(chosen) = self.find_complete(port, flights) else { break };
            let slot = self.collectors[chosen].flight;
            let flight = flights.get(slot);
            let place = if self.shared { (!self.ready.taken(flight.kind)).trailing_zeros() as usize } else { usize::from(flight.group) };
            self.ready.put(flight.kind, place, slot);
            self.complete &= !(1 << chosen);
            self.free |= 1 << chosen;
        }
    }

    fn find_complete(&mut self, port: usize, flights: &Flights) -> Option<usize> {
        for group in 0..self.groups {
            let first = group * self.per_group;
            let mask = if self.per_group == 64 { u64::MAX } else { (1 << self.per_group) - 1 };
            if self.complete >> first & mask == 0 {
                continue;
            }
            let last = usize::from(self.last[port * self.groups + group]);
            for step in 0..self.per_group {
                let chosen = first + (last + first + step + 1) % self.per_group;
                if self.complete >> chosen & 1 == 0 {
                    continue;
                }
                let kind = flights.get(self.collectors[chosen].flight).kind;
                let taken = self.ready.taken(kind);
                let room = if self.shared { (taken.count_ones() as usize) < self.places[kind as usize] } else { taken >> group & 1 == 0 };
                if room {
                    self.last[port * self.groups + group] = chosen as u8;
                    return Some(chosen);
                }
            }
        }
        None
    }

    /// Every bank that is not written reads the first operand of its queue.
    fn read(&mut self) {
        let mut banks = self.reading & !self.written;
        self.conflicts += u64::from((self.reading & self.written).count_ones());
        while banks != 0 {
            let bank = banks.trailing_zeros() as usize;
            banks &= banks - 1;
            let queue = &mut self.banks[bank];
            let reader = usize::from(queue.slots[usize::from(queue.head)]);
            queue.head = (queue.head + 1) & (queue.slots.len() - 1) as u8;
            queue.len -= 1;
            if queue.len == 0 {
                self.reading &= !(1 << bank);
            } else {
                self.conflicts += u64::from(queue.len);
            }
            let collector = &mut self.collectors[reader];
            collector.missing -= 1;
            if collector.missing == 0 {
                self.complete |= 1 << reader;
            }
        }
    }

    /// Each input port offers the oldest instruction of every kind a collector of its sub-core.
    fn collect(&mut self, flights: &Flights) {
        for _ in 0..self.ports {
            let mut moved = false;
            for kind in PORT_ORDER {
                if self.issued.any >> kind as u8 & 1 == 0 {
                    continue;
                }
                let Some(place) = self.issued.oldest(kind, flights) else { continue };
                let flight = flights.get(self.issued.slot(kind, place));
                let group = usize::from(flight.group);
                let first = group * self.per_group;
                let mask = if self.per_group == 64 { u64::MAX } else { (1 << self.per_group) - 1 };
                let free = self.free >> first & mask;
                if free != 0 {
                    let chosen = first + free.trailing_zeros() as usize;
                    self.enter(kind, place, chosen, flights);
                    moved = true;
                }
            }
            if !moved || self.issued.any == 0 {
                break;
            }
        }
    }

    fn enter(&mut self, kind: UnitKind, place: usize, chosen: usize, flights: &Flights) {
        let slot = self.issued.take(kind, place);
        let flight = flights.get(slot);
        self.full[usize::from(flight.group)] &= !(1 << kind as u8);
        self.free &= !(1 << chosen);
        self.collectors[chosen] = Collector { flight: slot, missing: flight.sources };
        if flight.sources == 0 {
            self.complete |= 1 << chosen;
        }
        for bank in &flight.banks[..usize::from(flight.sources)] {
            let queue = &mut self.banks[usize::from(*bank)];
            let tail = usize::from(queue.head + queue.len) & (queue.slots.len() - 1);
            queue.slots[tail] = chosen as u8;
            queue.len += 1;
            self.reading |= 1 << bank;
        }
    }

    /// How many instructions wait in each register before the collectors, for reports of a standstill.
    pub(super) fn describe(&self) -> String {
        let mut text = format!("{} of {} collectors free", self.free.count_ones(), self.collectors.len());
        for kind in ALL_KINDS {
            let (before, after) = (self.issued.taken(kind).count_ones(), self.ready.taken(kind).count_ones());
            if before + after > 0 {
                text.push_str(&format!(", {kind:?}: {before} wait for a collector, {after} for the unit"));
            }
        }
        text
    }
}
