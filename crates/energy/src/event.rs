//! The events that consume energy, and the counters that are summed for each event.

use warpshard_base::named;

use super::component::Component;

named! {
    /// An event that consumes energy each time it occurs.
    pub enum Event {
        /// The name in results.
        name: &'static str = 0,
        /// The component that consumes the energy.
        component: Component = 1;
        Issue("issue", Component::FrontEnd): "A warp instruction is decoded, checked against the scoreboard and selected by its scheduler.",
        Fetch("fetch", Component::FrontEnd): "Instructions are fetched from the instruction cache into a warp's buffer.",
        IntegerLane("integer_lane", Component::Integer): "A lane of integer arithmetic.",
        MoveLane("move_lane", Component::Integer): "A lane of a move, conversion, vote or shuffle.",
        FloatLane("float_lane", Component::Float): "A lane of single-precision arithmetic.",
        DoubleLane("double_lane", Component::Double): "A lane of double-precision arithmetic.",
        SpecialLane("special_lane", Component::Special): "A lane of a special function.",
        TensorLane("tensor_lane", Component::Tensor): "A lane's share of a matrix instruction.",
        TextureLane("texture_lane", Component::LoadStore): "A lane of a texture instruction.",
        UniformLane("uniform_lane", Component::Integer): "A lane's share of an instruction of the uniform datapath.",
        ControlLane("control_lane", Component::Integer): "A lane of a branch, fence, barrier or exit.",
        AddressLane("address_lane", Component::LoadStore): "A lane of a memory instruction: its address.",
        RegisterRead("register_read", Component::Registers): "A warp's register is read from its bank into a collector.",
        RegisterWrite("register_write", Component::Registers): "A warp's register is written.",
        SharedPass("shared_pass", Component::Shared): "One pass of an access over the banks of shared memory.",
        SharedWord("shared_word", Component::Shared): "A lane reads or writes a word of four bytes of shared memory.",
        Constant("constant_access", Component::Constant): "An access to the constant cache.",
        L1Read("l1_read", Component::L1): "A read hit in the L1 or the texture cache.",
        L1Miss("l1_miss", Component::L1): "A read miss in the L1 or the texture cache: the line is filled and read.",
        L1Write("l1_write", Component::L1): "A write that accesses the L1.",
        Hop("noc_hop", Component::Noc): "A flit passes a router of a mesh (buffer, switch) and the link after it.",
        Crossbar("noc_crossbar", Component::Noc): "A flit passes a crossbar.",
        LlcRead("llc_read", Component::Llc): "A read hit in the LLC.",
        LlcMiss("llc_miss", Component::Llc): "A read miss in the LLC: the sector is filled and read.",
        LlcWrite("llc_write", Component::Llc): "A write to an LLC slice.",
        LlcAtomic("llc_atomic", Component::Llc): "The arithmetic of an atomic at an LLC slice.",
        LlcWriteBack("llc_write_back", Component::Llc): "A dirty sector is read from the LLC to be written back to DRAM.",
        Activate("dram_activate", Component::Dram): "A DRAM row is activated, and later precharged.",
        DramRead("dram_read", Component::Dram): "A burst is read from DRAM.",
        DramWrite("dram_write", Component::Dram): "A burst is written to DRAM.",
        Refresh("dram_refresh", Component::Dram): "A refresh of all banks of a channel.",
        PeerLink("peer_link_byte", Component::Links): "A byte crosses a link between GPUs; only in systems of several GPUs.",
        HostLink("host_link_byte", Component::Links): "A byte crosses a link to a host; only in systems of several GPUs.",
    }
}

/// A counter and the event to which it contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTerm {
    /// The kind of component that has the counter.
    pub kind: &'static str,
    /// The name of the counter.
    pub counter: &'static str,
    /// The event.
    pub event: Event,
}

const fn term(kind: &'static str, counter: &'static str, event: Event) -> EventTerm {
    EventTerm { kind, counter, event }
}

/// All counters that contribute to events, each once. Per-kernel counters are not listed, because SM counters include them.
pub const TERMS: &[EventTerm] = &[
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
    term("link", "peer_bytes", Event::PeerLink),
    term("link", "host_bytes", Event::HostLink),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_a_unique_name_and_a_counter() {
        for (i, event) in Event::ALL.into_iter().enumerate() {
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
