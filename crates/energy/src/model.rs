//! The energy model: a set of event energies applied to a machine.
//!
//! With the core voltage V and the reference voltage V0 of the set, the energy of events and of the clock on the chip scales with (V/V0)^2,
//! and leakage with V/V0. DRAM and board have separate supplies. Time is core cycles divided by the core frequency, so that static energy
//! depends on the frequency of the machine.
//!
//! An SM leaks unless it is power-gated, and leaks more with a resident CTA. Its clock runs unless it is gated or paused.

use warpshard_config::Machine;
use warpshard_config::machine::Cache;
use warpshard_config::system::LinkSet;
use warpshard_stats::{IntervalSeries, Outcome};

use super::error::EnergyError;
use super::{Breakdown, Component, Counts, EnergySet, Event};

/// Sizes in bytes of a sector, of a line, and of a flit of crossbars without channels.
const SECTOR_BYTES: f64 = 32.0;
const LINE_BYTES: f64 = 128.0;
const FLIT_BYTES: f64 = 32.0;

/// The properties of a machine on which its energy depends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MachineShape {
    core_hertz: f64,
    l1_bytes: f64,
    flit_bytes: f64,
    meshed: bool,
    ports: f64,
    llc_bytes: f64,
    llc_mib: f64,
    channels: f64,
    burst_bytes: f64,
    /// Number of boards with constant power.
    boards: f64,
    /// Joules per byte that crosses a link between GPUs, and a link to a host; `None` for a single GPU.
    links: Option<(f64, f64)>,
}

impl MachineShape {
    /// Sums the properties over all GPUs. The checks of machines ensure that an event takes the same energy on each GPU.
    fn of(machine: &Machine) -> Self {
        let mem = &machine.mem;
        let slices = |gpu: &Machine| f64::from(gpu.mem.map.partitions * gpu.mem.map.slices_per_partition);
        let cores = |gpu: &Machine| f64::from(gpu.gpu.sms + gpu.cpu.as_ref().map_or(0, |cpu| cpu.count));
        let llc_mib = |gpu: &Machine| {
            let Cache { sets, ways, line_bytes, .. } = gpu.mem.llc;
            slices(gpu) * f64::from(sets) * f64::from(ways) * f64::from(line_bytes) / f64::from(1 << 20)
        };
        let flit_bytes = match &machine.noc.mesh {
            Some(mesh) => f64::from(mesh.channel_bytes),
            None if machine.noc.vc.channel_bytes > 0 => f64::from(machine.noc.vc.channel_bytes),
            None => FLIT_BYTES,
        };
        let per_byte = |links: &LinkSet| 8.0 * f64::from(links.energy) * 1e-15;
        let system = machine.system.as_ref();
        Self {
            core_hertz: machine.clocks.core.0 as f64 * 1000.0,
            l1_bytes: if machine.gpu.sm.lsu.sector_requests { SECTOR_BYTES } else { LINE_BYTES },
            flit_bytes,
            meshed: machine.noc.mesh.is_some(),
            ports: machine.each_gpu().map(|gpu| cores(gpu) + slices(gpu)).sum(),
            llc_bytes: if mem.llc.sectored { SECTOR_BYTES } else { f64::from(mem.llc.line_bytes) },
            llc_mib: machine.each_gpu().map(llc_mib).sum(),
            channels: machine.each_gpu().map(|gpu| f64::from(gpu.mem.map.partitions)).sum(),
            burst_bytes: mem.dram.burst().0 as f64,
            boards: f64::from(system.map_or(1, |system| if system.boards > 0 { system.boards } else { system.gpus })),
            links: system.map(|system| (per_byte(&system.peer), per_byte(&system.host))),
        }
    }
}

/// The energy model of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The name of the set, or the path of its file.
    pub name: String,
    /// The set.
    pub set: EnergySet,
    /// Core voltage of the run, in volts.
    pub volts: f64,
    shape: MachineShape,
}

impl Model {
    /// Creates the model of `set` for `machine`, at the machine's voltage or, by default, the set's voltage.
    pub fn new(set: EnergySet, machine: &Machine) -> Self {
        let volts = match machine.energy.millivolts {
            0 => set.reference_volts,
            millivolts => f64::from(millivolts) / 1000.0,
        };
        Self { name: machine.energy.set.clone(), set, volts, shape: MachineShape::of(machine) }
    }

    /// Creates the model of `machine` with the set that it names; `None` if it names none.
    ///
    /// # Errors
    /// The set is unknown or cannot be read.
    pub fn of(machine: &Machine) -> Result<Option<Self>, EnergyError> {
        if machine.energy.set == "none" {
            return Ok(None);
        }
        Ok(Some(Self::new(EnergySet::named(&machine.energy.set)?, machine)))
    }

    /// Returns the model at another core voltage.
    #[must_use]
    pub fn at_volts(self, volts: f64) -> Self {
        Self { volts, ..self }
    }

    /// Returns the joules of one occurrence of an event.
    pub fn joules(&self, event: Event) -> f64 {
        let (set, shape) = (&self.set, &self.shape);
        let l1 = |bytes: f64| set.l1.tag_pj + bytes * shape.l1_bytes;
        let llc = |bytes: f64| set.llc.tag_pj + bytes * shape.llc_bytes;
        let devices = (shape.burst_bytes / set.dram.device_burst_bytes).max(1.0);
        let dynamic = |picojoules: f64| picojoules * 1e-12 * (self.volts / set.reference_volts).powi(2);
        let dram = |picojoules: f64| picojoules * 1e-12;
        match event {
            Event::Issue => dynamic(set.instruction.issue_pj),
            Event::Fetch => dynamic(set.instruction.fetch_pj),
            Event::IntegerLane => dynamic(set.instruction.integer_pj),
            Event::MoveLane => dynamic(set.instruction.move_pj),
            Event::FloatLane => dynamic(set.instruction.float_pj),
            Event::DoubleLane => dynamic(set.instruction.double_pj),
            Event::SpecialLane => dynamic(set.instruction.special_pj),
            Event::TensorLane => dynamic(set.instruction.tensor_pj),
            Event::TextureLane => dynamic(set.instruction.texture_pj),
            Event::UniformLane => dynamic(set.instruction.uniform_pj),
            Event::ControlLane => dynamic(set.instruction.control_pj),
            Event::AddressLane => dynamic(set.instruction.address_pj),
            Event::RegisterRead => dynamic(set.registers.read_pj),
            Event::RegisterWrite => dynamic(set.registers.write_pj),
            Event::SharedPass => dynamic(set.shared.pass_pj),
            Event::SharedWord => dynamic(set.shared.word_pj),
            Event::Constant => dynamic(set.constant.access_pj),
            Event::L1Read => dynamic(l1(set.l1.read_pj_byte)),
            Event::L1Miss => dynamic(l1(set.l1.read_pj_byte + set.l1.write_pj_byte)),
            Event::L1Write => dynamic(l1(set.l1.write_pj_byte)),
            Event::Hop if shape.meshed => {
                dynamic((set.noc.buffer_pj_byte + set.noc.switch_pj_byte + set.noc.link_pj_byte) * shape.flit_bytes)
            }
            Event::Hop | Event::Crossbar => dynamic(set.noc.crossbar_pj_byte * shape.flit_bytes),
            Event::LlcRead => dynamic(llc(set.llc.read_pj_byte)),
            Event::LlcMiss => dynamic(llc(set.llc.read_pj_byte + set.llc.write_pj_byte)),
            Event::LlcWrite => dynamic(llc(set.llc.write_pj_byte)),
            Event::LlcAtomic => dynamic(set.llc.atomic_pj + SECTOR_BYTES * set.llc.write_pj_byte),
            Event::LlcWriteBack => dynamic(SECTOR_BYTES * set.llc.read_pj_byte),
            Event::Activate => dram(set.dram.activate_pj * devices),
            Event::DramRead => dram(set.dram.read_pj_byte * shape.burst_bytes),
            Event::DramWrite => dram(set.dram.write_pj_byte * shape.burst_bytes),
            Event::Refresh => dram(set.dram.refresh_pj * devices),
            // Links have a separate supply, so their energy does not scale with the core voltage.
            Event::PeerLink => shape.links.map_or(0.0, |(peer, _)| peer),
            Event::HostLink => shape.links.map_or(0.0, |(_, host)| host),
        }
    }

    /// Returns the energy of the given counts.
    pub fn breakdown(&self, counts: &Counts) -> Breakdown {
        let (set, shape) = (&self.set, &self.shape);
        let ratio = self.volts / set.reference_volts;
        let seconds = counts.cycles as f64 / shape.core_hertz;
        let mut joules = [0.0; Component::COUNT];
        let mut events = [(0, 0.0); Event::COUNT];
        for event in Event::ALL {
            let times = counts.get(event);
            let spent = times as f64 * self.joules(event);
            events[event as usize] = (times, spent);
            joules[event.component() as usize] += spent;
        }
        let sms = &counts.sms;
        let [cycles, resident, paused, paused_resident, gated] =
            [sms.cycles, sms.resident, sms.paused, sms.paused_resident, sms.gated].map(|cycles| cycles as f64);
        let working = resident - paused_resident;
        let idle = cycles - gated - paused - working;
        let leaking = (cycles - gated) * set.sm.static_watts + resident * set.sm.resident_watts;
        let devices = (shape.burst_bytes / set.dram.device_burst_bytes).max(1.0);
        let mut rest = |component: Component, spent: f64| joules[component as usize] = spent;
        rest(Component::SmStatic, leaking / shape.core_hertz * ratio);
        rest(Component::SmClock, (working * set.sm.clock_pj + idle * set.sm.idle_clock_pj) * 1e-12 * ratio.powi(2));
        rest(Component::NocStatic, set.noc.static_watts * shape.ports * seconds * ratio);
        rest(Component::LlcStatic, set.llc.static_watts_mib * shape.llc_mib * seconds * ratio);
        rest(Component::ControllerStatic, set.dram.controller_watts * shape.channels * seconds * ratio);
        rest(Component::DramBackground, set.dram.background_watts * devices * shape.channels * seconds);
        rest(Component::Board, set.board.constant_watts * shape.boards * seconds);
        Breakdown { seconds, joules, events, links: shape.links.is_some() }
    }

    /// Returns the energy of a whole run.
    pub fn of_run(&self, outcome: &Outcome) -> Breakdown {
        self.breakdown(&Counts::of(outcome))
    }

    /// Returns the energy of each interval of a run, with the cycle at which the interval ended.
    pub fn intervals<'a>(&'a self, series: &'a IntervalSeries) -> impl Iterator<Item = (u64, Breakdown)> + 'a {
        Counts::of_series(series, 0).map(|(cycle, counts)| (cycle, self.breakdown(&counts)))
    }
}

impl EnergySet {
    /// Returns the energy of a whole run of `machine`, at the machine's voltage.
    pub fn breakdown(&self, outcome: &Outcome, machine: &Machine) -> Breakdown {
        self.breakdown_of(&Counts::of(outcome), machine)
    }

    /// Returns the energy of a run, of an interval, or of the difference between two states of a run.
    pub fn breakdown_of(&self, counts: &Counts, machine: &Machine) -> Breakdown {
        Model::new(self.clone(), machine).breakdown(counts)
    }
}
