//! The components of the chip or board that consume energy.

use warpshard_base::named;

named! {
    /// A component of the chip or board that consumes energy.
    pub enum Component {
        /// The name in results.
        name: &'static str = 0,
        /// `true` if the component's energy depends on time and not on events.
        is_static: bool = 1;
        SmStatic("sm_static", true): "Leakage of the SMs that are not power-gated.",
        SmClock("sm_clock", false): "Clock of the SMs while it runs.",
        FrontEnd("front_end", false): "Instruction fetch, decode and scheduling.",
        Integer("integer", false): "Integer arithmetic, moves and control.",
        Float("float", false): "Single-precision arithmetic.",
        Double("double", false): "Double-precision arithmetic.",
        Special("special", false): "Special functions.",
        Tensor("tensor", false): "Matrix units.",
        LoadStore("load_store", false): "Address generation and texture instructions.",
        Registers("registers", false): "The register file and the operand collectors.",
        Shared("shared_memory", false): "Shared memory.",
        Constant("constant_cache", false): "The constant cache.",
        L1("l1", false): "The L1 data cache.",
        Noc("noc", false): "Traffic on the networks.",
        NocStatic("noc_static", true): "Leakage and clock of the networks.",
        Llc("llc", false): "Accesses to the LLC.",
        LlcStatic("llc_static", true): "Leakage of the LLC.",
        ControllerStatic("controller_static", true): "Static power of memory controllers and pins.",
        Dram("dram", false): "DRAM commands and data.",
        DramBackground("dram_background", true): "Background power of DRAM.",
        Links("links", false): "Links between GPUs, switches and hosts; only in systems of several GPUs.",
        Board("board", true): "Constant power of the board: host interface, regulators, fans.",
    }
}
