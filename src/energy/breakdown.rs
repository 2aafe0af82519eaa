//! Joules by component of the chip and by event.

use super::event::Event;

/// A component of the chip or board that consumes energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Component {
    /// Leakage of the SMs that are not power-gated.
    SmStatic,
    /// Clock of the SMs while it runs.
    SmClock,
    /// Instruction fetch, decode and scheduling.
    FrontEnd,
    /// Integer arithmetic, moves and control.
    Integer,
    /// Single-precision arithmetic.
    Float,
    /// Double-precision arithmetic.
    Double,
    /// Special functions.
    Special,
    /// Matrix units.
    Tensor,
    /// Address generation and texture instructions.
    LoadStore,
    /// The register file and the operand collectors.
    Registers,
    /// Shared memory.
    Shared,
    /// The constant cache.
    Constant,
    /// The L1 data cache.
    L1,
    /// Traffic on the networks.
    Noc,
    /// Leakage and clock of the networks.
    NocStatic,
    /// Accesses to the LLC.
    Llc,
    /// Leakage of the LLC.
    LlcStatic,
    /// Static power of memory controllers and pins.
    ControllerStatic,
    /// DRAM commands and data.
    Dram,
    /// Background power of DRAM.
    DramBackground,
    /// Constant power of the board: host interface, regulators, fans.
    Board,
}

impl Component {
    /// All components, in the order of their numbers.
    pub const ALL: [Self; 21] = [
        Self::SmStatic,
        Self::SmClock,
        Self::FrontEnd,
        Self::Integer,
        Self::Float,
        Self::Double,
        Self::Special,
        Self::Tensor,
        Self::LoadStore,
        Self::Registers,
        Self::Shared,
        Self::Constant,
        Self::L1,
        Self::Noc,
        Self::NocStatic,
        Self::Llc,
        Self::LlcStatic,
        Self::ControllerStatic,
        Self::Dram,
        Self::DramBackground,
        Self::Board,
    ];

    /// Number of components.
    pub const COUNT: usize = Self::ALL.len();

    /// The component's name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::SmStatic => "sm_static",
            Self::SmClock => "sm_clock",
            Self::FrontEnd => "front_end",
            Self::Integer => "integer",
            Self::Float => "float",
            Self::Double => "double",
            Self::Special => "special",
            Self::Tensor => "tensor",
            Self::LoadStore => "load_store",
            Self::Registers => "registers",
            Self::Shared => "shared_memory",
            Self::Constant => "constant_cache",
            Self::L1 => "l1",
            Self::Noc => "noc",
            Self::NocStatic => "noc_static",
            Self::Llc => "llc",
            Self::LlcStatic => "llc_static",
            Self::ControllerStatic => "controller_static",
            Self::Dram => "dram",
            Self::DramBackground => "dram_background",
            Self::Board => "board",
        }
    }

    /// Whether its energy depends on time and not on events.
    pub fn is_static(self) -> bool {
        matches!(self, Self::SmStatic | Self::NocStatic | Self::LlcStatic | Self::ControllerStatic | Self::DramBackground | Self::Board)
    }
}

/// The energy of a run or an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdown {
    /// Simulated time in seconds.
    pub seconds: f64,
    pub(super) joules: [f64; Component::COUNT],
    pub(super) events: [(u64, f64); Event::COUNT],
}

impl Breakdown {
    /// Every component with its joules, in a fixed order.
    pub fn components(&self) -> impl Iterator<Item = (&'static str, f64)> {
        Component::ALL.iter().map(|component| component.name()).zip(self.joules)
    }

    /// Joules of one component.
    pub fn get(&self, component: Component) -> f64 {
        self.joules[component as usize]
    }

    /// Every event with its number of occurrences and its joules.
    pub fn events(&self) -> impl Iterator<Item = (&'static str, u64, f64)> {
        Event::ALL.iter().zip(self.events).map(|(event, (times, joules))| (event.name(), times, joules))
    }

    /// Joules of all components.
    pub fn total(&self) -> f64 {
        self.joules.iter().sum()
    }

    /// Joules that depend on time alone: leakage, DRAM background power, board.
    pub fn at_rest(&self) -> f64 {
        Component::ALL.into_iter().filter(|component| component.is_static()).map(|component| self.get(component)).sum()
    }

    /// Mean power in watts; 0 where no time has passed.
    pub fn mean_watts(&self) -> f64 {
        if self.seconds > 0.0 { self.total() / self.seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_components_is_in_order_and_every_dynamic_one_has_an_event() {
        for (i, component) in Component::ALL.into_iter().enumerate() {
            assert_eq!(component as usize, i);
            let has_event = Event::ALL.iter().any(|event| event.describe().1 == component);
            assert_eq!(has_event, !component.is_static() && component != Component::SmClock, "{component:?}");
        }
    }
}
