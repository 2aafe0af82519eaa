//! Joules by component of the chip, and the events behind them.

use super::event::Event;

/// What energy is booked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Component {
    /// Leakage of the SMs that have power.
    SmStatic,
    /// Clock of the SMs, as long as it runs.
    SmClock,
    /// Fetching, decoding and choosing instructions.
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
    /// Addresses and texture instructions.
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
    /// Memory controllers and their pins, at rest.
    ControllerStatic,
    /// DRAM commands and data.
    Dram,
    /// DRAM at rest.
    DramBackground,
    /// What does not depend on the work: host interface, regulators, fans.
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

    /// How many components there are.
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

    /// Whether it is paid for time and not for events.
    pub fn is_static(self) -> bool {
        matches!(self, Self::SmStatic | Self::NocStatic | Self::LlcStatic | Self::ControllerStatic | Self::DramBackground | Self::Board)
    }
}

/// The energy of a run or of a part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdown {
    /// Seconds that it took on the simulated machine.
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

    /// Every event with how often it occurred and its joules.
    pub fn events(&self) -> impl Iterator<Item = (&'static str, u64, f64)> {
        Event::ALL.iter().zip(self.events).map(|(event, (times, joules))| (event.name(), times, joules))
    }

    /// Joules of all components.
    pub fn total(&self) -> f64 {
        self.joules.iter().sum()
    }

    /// Joules that are paid for time alone: leakage, DRAM at rest, board.
    pub fn at_rest(&self) -> f64 {
        Component::ALL.into_iter().filter(|component| component.is_static()).map(|component| self.get(component)).sum()
    }

    /// Mean power in watts; 0 of no time.
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
