//! The events that consume energy, and the counters whose sum each of them is.

use super::breakdown::Component;

/// An event that consumes energy each time it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Event {
    /// A warp instruction is decoded, checked against the scoreboard and selected by its scheduler.
    Issue,
    /// Instructions are fetched from the instruction cache into a warp's buffer.
    Fetch,
    /// A lane of integer arithmetic.
    IntegerLane,
    /// A lane of a move, conversion, vote or shuffle.
    MoveLane,
    /// A lane of single-precision arithmetic.
    FloatLane,
    /// A lane of double-precision arithmetic.
    DoubleLane,
    /// A lane of a special function.
    SpecialLane,
    /// A lane's share of a matrix instruction.
    TensorLane,
    /// A lane of a texture instruction.
    TextureLane,
    /// A lane's share of an instruction of the uniform datapath.
    UniformLane,
    /// A lane of a branch, fence, barrier or exit.
    ControlLane,
    /// A lane of a memory instruction: its address.
    AddressLane,
    /// A warp's register is read from its bank into a collector.
    RegisterRead,
    /// A warp's register is written.
    RegisterWrite,
    /// One pass of an access over the banks of shared memory.
    SharedPass,
    /// A lane reads or writes a word of four bytes of shared memory.
    SharedWord,
    /// An access to the constant cache.
    Constant,
    /// A read hit in the L1 or the texture cache.
    L1Read,
    /// A read miss in the L1 or the texture cache: the line is filled and read.
    L1Miss,
    /// A write that accesses the L1.
    L1Write,
    /// A flit passes a router of a mesh (buffer, switch) and the link after it.
    Hop,
    /// A flit passes a crossbar.
    Crossbar,
    /// A read hit in the LLC.
    LlcRead,
    /// A read miss in the LLC: the sector is filled and read.
    LlcMiss,
    /// A write to an LLC slice.
    LlcWrite,
    /// The arithmetic of an atomic at an LLC slice.
    LlcAtomic,
    /// A dirty sector is read from the LLC to be written back to DRAM.
    LlcWriteBack,
    /// A DRAM row is activated, and later precharged.
    Activate,
    /// A burst is read from DRAM.
    DramRead,
    /// A burst is written to DRAM.
    DramWrite,
    /// A refresh of all banks of a channel.
    Refresh,
}

/// A counter and the event that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The kind of component that has it.
    pub kind: &'static str,
    /// Its name.
    pub counter: &'static str,
    /// The event.
    pub event: Event,
}

const fn term(kind: &'static str, counter: &'static str, event: Event) -> Term {
    Term { kind, counter, event }
}

/// All counters of events, each once. Per-kernel counters are those of the SMs, which sum them.
pub const TERMS: &[Term] = &[
    term("sm", "issued_sp", Event::Issue),
    term("sm", "issued_int", Event::Issue),
    term("sm", "issued_alu", Event::Issue),
    term("sm", "issued_sfu", Event::Issue),
    term("sm", "issued_dp", Event::Issue),
    term("sm", "issued_tensor", Event::Issue),
    term("sm", "issued_branch", Event::Issue),
    term("sm", "issued_texture", Event::Issue),
    term("sm", "issued_uniform", Event::Issue),
    term("sm", "issued_load", Event::Issue),
    term("sm", "issued_store", Event::Issue),
    term("sm", "issued_fence", Event::Issue),
    term("sm", "issued_barrier", Event::Issue),
    term("sm", "issued_exit", Event::Issue),
    term("sm", "instruction_fetches", Event::Fetch),
    term("sm", "lanes_int", Event::IntegerLane),
    term("sm", "lanes_alu", Event::MoveLane),
    term("sm", "lanes_sp", Event::FloatLane),
    term("sm", "lanes_dp", Event::DoubleLane),
    term("sm", "lanes_sfu", Event::SpecialLane),
    term("sm", "lanes_tensor", Event::TensorLane),
    term("sm", "lanes_texture", Event::TextureLane),
    term("sm", "lanes_uniform", Event::UniformLane),
    term("sm", "lanes_branch", Event::ControlLane),
    term("sm", "lanes_fence", Event::ControlLane),
    term("sm", "lanes_barrier", Event::ControlLane),
    term("sm", "lanes_exit", Event::ControlLane),
    term("sm", "lanes_load", Event::AddressLane),
    term("sm", "lanes_store", Event::AddressLane),
    term("sm", "register_reads", Event::RegisterRead),
    term("sm", "register_writes", Event::RegisterWrite),
    term("sm", "shared_instructions", Event::SharedPass),
    term("sm", "shared_conflict_cycles", Event::SharedPass),
    term("sm", "shared_words", Event::SharedWord),
    term("sm", "constant_accesses", Event::Constant),
    term("sm", "l1_read_hits", Event::L1Read),
    term("sm", "l1_read_pending_hits", Event::L1Read),
    term("sm", "l1_read_misses", Event::L1Miss),
    term("sm", "l1_read_sector_misses", Event::L1Miss),
    term("sm", "texture_hits", Event::L1Read),
    term("sm", "texture_misses", Event::L1Miss),
    term("sm", "l1_write_hits", Event::L1Write),
    term("sm", "l1_write_pending_hits", Event::L1Write),
    term("sm", "l1_write_misses", Event::L1Write),
    term("sm", "l1_write_sector_misses", Event::L1Write),
    term("request_net", "flits", Event::Crossbar),
    term("reply_net", "flits", Event::Crossbar),
    term("request_net", "hops", Event::Hop),
    term("reply_net", "hops", Event::Hop),
    term("llc", "read_hits", Event::LlcRead),
    term("llc", "pending_hits", Event::LlcRead),
    term("llc", "read_misses", Event::LlcMiss),
    term("llc", "read_sector_misses", Event::LlcMiss),
    term("llc", "write_hits", Event::LlcWrite),
    term("llc", "write_misses", Event::LlcWrite),
    term("llc", "write_sector_misses", Event::LlcWrite),
    term("llc", "atomics", Event::LlcAtomic),
    term("llc", "write_backs", Event::LlcWriteBack),
    term("dram", "activates", Event::Activate),
    term("dram", "reads", Event::DramRead),
    term("dram", "writes", Event::DramWrite),
    term("dram", "refreshes", Event::Refresh),
];

impl Event {
    /// Number of events.
    pub const COUNT: usize = Self::ALL.len();

    /// All events, in the order of their numbers.
    pub const ALL: [Self; 31] = [
        Self::Issue,
        Self::Fetch,
        Self::IntegerLane,
        Self::MoveLane,
        Self::FloatLane,
        Self::DoubleLane,
        Self::SpecialLane,
        Self::TensorLane,
        Self::TextureLane,
        Self::UniformLane,
        Self::ControlLane,
        Self::AddressLane,
        Self::RegisterRead,
        Self::RegisterWrite,
        Self::SharedPass,
        Self::SharedWord,
        Self::Constant,
        Self::L1Read,
        Self::L1Miss,
        Self::L1Write,
        Self::Hop,
        Self::Crossbar,
        Self::LlcRead,
        Self::LlcMiss,
        Self::LlcWrite,
        Self::LlcAtomic,
        Self::LlcWriteBack,
        Self::Activate,
        Self::DramRead,
        Self::DramWrite,
        Self::Refresh,
    ];

    /// The name of the event in results, and the component that consumes its energy.
    pub fn describe(self) -> (&'static str, Component) {
        match self {
            Self::Issue => ("issue", Component::FrontEnd),
            Self::Fetch => ("fetch", Component::FrontEnd),
            Self::IntegerLane => ("integer_lane", Component::Integer),
            Self::MoveLane => ("move_lane", Component::Integer),
            Self::UniformLane => ("uniform_lane", Component::Integer),
            Self::ControlLane => ("control_lane", Component::Integer),
            Self::FloatLane => ("float_lane", Component::Float),
            Self::DoubleLane => ("double_lane", Component::Double),
            Self::SpecialLane => ("special_lane", Component::Special),
            Self::TensorLane => ("tensor_lane", Component::Tensor),
            Self::TextureLane => ("texture_lane", Component::LoadStore),
            Self::AddressLane => ("address_lane", Component::LoadStore),
            Self::RegisterRead => ("register_read", Component::Registers),
            Self::RegisterWrite => ("register_write", Component::Registers),
            Self::SharedPass => ("shared_pass", Component::Shared),
            Self::SharedWord => ("shared_word", Component::Shared),
            Self::Constant => ("constant_access", Component::Constant),
            Self::L1Read => ("l1_read", Component::L1),
            Self::L1Miss => ("l1_miss", Component::L1),
            Self::L1Write => ("l1_write", Component::L1),
            Self::Hop => ("noc_hop", Component::Noc),
            Self::Crossbar => ("noc_crossbar", Component::Noc),
            Self::LlcRead => ("llc_read", Component::Llc),
            Self::LlcMiss => ("llc_miss", Component::Llc),
            Self::LlcWrite => ("llc_write", Component::Llc),
            Self::LlcAtomic => ("llc_atomic", Component::Llc),
            Self::LlcWriteBack => ("llc_write_back", Component::Llc),
            Self::Activate => ("dram_activate", Component::Dram),
            Self::DramRead => ("dram_read", Component::Dram),
            Self::DramWrite => ("dram_write", Component::Dram),
            Self::Refresh => ("dram_refresh", Component::Dram),
        }
    }

    /// The event's name in results.
    pub fn name(self) -> &'static str {
        self.describe().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_every_event_comes_from_a_counter() {
        for (i, event) in Event::ALL.into_iter().enumerate() {
            assert_eq!(event as usize, i);
            assert!(TERMS.iter().any(|term| term.event == event), "{event:?} comes from nothing");
            assert!(Event::ALL[..i].iter().all(|other| other.name() != event.name()), "{event:?}");
        }
    }

    #[test]
    fn no_counter_is_part_of_two_events() {
        for (i, term) in TERMS.iter().enumerate() {
            let same = TERMS[..i].iter().find(|other| other.kind == term.kind && other.counter == term.counter);
            assert_eq!(same, None);
        }
    }
}
