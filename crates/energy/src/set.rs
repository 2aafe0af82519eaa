//! Sets of event energies and leakages, read from TOML.
//!
//! Input: a built-in name or the path of a file. Output: an [`EnergySet`] in which every value is given, finite and not negative. The key
//! of a value ends in its unit: `_pj` for picojoules per event, `_pj_byte` for picojoules per byte of the access, `_watts` for watts.

use std::path::Path;

use serde::Deserialize;

use warpshard_configs::{File, Files, Kind};

use super::error::EnergyError;

/// Returns the names of the built-in sets.
pub fn builtin_sets() -> impl Iterator<Item = &'static str> {
    Files::core().names(Kind::Energy)
}

macro_rules! part {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_doc])* pub $field: f64,)* }

        impl $name {
            fn visit(&self, see: &mut dyn FnMut(&'static str, f64)) {
                $(see(stringify!($field), self.$field);)*
            }
        }
    };
}

part! {
    /// Static power and clock energy of an SM.
    SmPart {
        /// Leakage of an SM that is not power-gated.
        static_watts,
        /// Additional leakage with a resident CTA, from lanes that are otherwise off.
        resident_watts,
        /// Clock energy per cycle with a resident CTA.
        clock_pj,
        /// Clock energy per cycle without a resident CTA.
        idle_clock_pj,
    }
}
part! {
    /// Energies of instructions: per warp instruction (issue), per fetch, or per active lane (all others).
    InstructionPart {
        /// Decoding, scoreboard and scheduler, per warp instruction.
        issue_pj,
        /// A fetch from the instruction cache.
        fetch_pj,
        /// A lane of integer arithmetic.
        integer_pj,
        /// A lane of a move, conversion, vote or shuffle.
        move_pj,
        /// A lane of single-precision arithmetic.
        float_pj,
        /// A lane of double-precision arithmetic.
        double_pj,
        /// A lane of a special function.
        special_pj,
        /// A lane's share of a matrix instruction.
        tensor_pj,
        /// A lane of a texture instruction.
        texture_pj,
        /// A lane's share of an instruction of the uniform datapath.
        uniform_pj,
        /// A lane of a branch, fence, barrier or exit.
        control_pj,
        /// The address computation of a lane of a memory access.
        address_pj,
    }
}
part! {
    /// Energies of the register file, per register of a whole warp (128 bytes).
    RegisterPart {
        /// A register read, including the transfer to the collector.
        read_pj,
        /// A register write.
        write_pj,
    }
}
part! {
    /// Energies of shared memory.
    SharedPart {
        /// A pass over the banks: conflict detection and crossbar control.
        pass_pj,
        /// An access to a word of four bytes.
        word_pj,
    }
}
part! {
    /// Energies of the constant cache.
    ConstantPart {
        /// An access to the constant cache.
        access_pj,
    }
}
part! {
    /// Energies of the L1 data cache. An access moves a line of 128 bytes, or a sector of 32 bytes if the coalescer makes sector requests.
    L1Part {
        /// Tag lookup, per access.
        tag_pj,
        /// Data read, per byte.
        read_pj_byte,
        /// Data write, per byte.
        write_pj_byte,
    }
}
part! {
    /// Energies of the networks.
    NocPart {
        /// A byte that crosses a crossbar, including its buffers.
        crossbar_pj_byte,
        /// A byte written to and read from a router's buffer.
        buffer_pj_byte,
        /// A byte that crosses a router's switch.
        switch_pj_byte,
        /// A byte that crosses the link between two routers.
        link_pj_byte,
        /// Static power per port (of an SM, CPU core or slice) of both subnets.
        static_watts,
    }
}
part! {
    /// Energies of the LLC. An access moves a sector of 32 bytes, or a line of 128 bytes if lines have no sectors.
    LlcPart {
        /// Tag lookup, per access.
        tag_pj,
        /// Data read, per byte.
        read_pj_byte,
        /// Data write, per byte.
        write_pj_byte,
        /// The arithmetic of an atomic access.
        atomic_pj,
        /// Leakage per MiB.
        static_watts_mib,
    }
}
part! {
    /// Energies of DRAM. A burst is spread over all devices of a channel.
    DramPart {
        /// Activate and precharge of a row, per device.
        activate_pj,
        /// Data read, per byte, including pins and memory controller.
        read_pj_byte,
        /// Data write, per byte, including pins and memory controller.
        write_pj_byte,
        /// A refresh of all banks, per device.
        refresh_pj,
        /// Background power per device, including refreshes if the channel model has none.
        background_watts,
        /// Bytes of a burst per device.
        device_burst_bytes,
        /// Static power of the memory controller of a channel.
        controller_watts,
    }
}
part! {
    /// Power of the board.
    BoardPart {
        /// Constant power of the board.
        constant_watts,
    }
}

/// Event energies and leakages of a technology.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnergySet {
    /// A one-line description.
    pub summary: String,
    /// The core voltage of the values, in volts.
    pub reference_volts: f64,
    /// Energies of SMs.
    pub sm: SmPart,
    /// Energies of instructions.
    pub instruction: InstructionPart,
    /// Energies of the register file.
    pub registers: RegisterPart,
    /// Energies of shared memory.
    pub shared: SharedPart,
    /// Energies of the constant cache.
    pub constant: ConstantPart,
    /// Energies of the L1.
    pub l1: L1Part,
    /// Energies of the networks.
    pub noc: NocPart,
    /// Energies of the LLC.
    pub llc: LlcPart,
    /// Energies of DRAM and its controllers.
    pub dram: DramPart,
    /// Power of the board.
    pub board: BoardPart,
}

impl EnergySet {
    /// Loads a built-in set by name, or the set in a file if the name contains a `/` or ends in `.toml`.
    ///
    /// # Errors
    /// An unknown name, or a file that cannot be read or is invalid.
    pub fn named(name: &str) -> Result<Self, EnergyError> {
        if name.contains('/') || name.ends_with(".toml") {
            let text = warpshard_config::input::read_text(Path::new(name))
                .map_err(|source| EnergyError::Unreadable { name: name.to_owned(), source })?;
            return Self::from_text(name, &text);
        }
        match Files::core().find(Kind::Energy, name) {
            Some(File { name, text, .. }) => Self::from_text(name, text),
            None => {
                let known: Vec<&str> = builtin_sets().collect();
                Err(EnergyError::Unknown { name: name.to_owned(), known: known.join(", ") })
            }
        }
    }

    /// Parses a set from a text; messages use the name `name`.
    ///
    /// # Errors
    /// The errors in the text, with key or line.
    pub fn from_text(name: &str, text: &str) -> Result<Self, EnergyError> {
        let set: Self = toml::from_str(text).map_err(|error| EnergyError::Text { name: name.to_owned(), source: Box::new(error) })?;
        let mut wrong = Vec::new();
        set.visit(&mut |table, key, value| {
            if !(value.is_finite() && value >= 0.0) {
                wrong.push(format!("`{table}{key}` is {value}, expected a number that is not negative"));
            }
        });
        if set.reference_volts <= 0.0 {
            wrong.push(format!("`reference_volts` is {}, expected a voltage above 0", set.reference_volts));
        }
        if set.dram.device_burst_bytes < 1.0 {
            wrong.push(format!("`dram.device_burst_bytes` is {}, expected at least 1", set.dram.device_burst_bytes));
        }
        if wrong.is_empty() { Ok(set) } else { Err(EnergyError::Values { name: name.to_owned(), wrong: wrong.join("; ") }) }
    }

    /// Calls `see` for every value, with its table (and a dot) and its key.
    pub fn visit(&self, see: &mut dyn FnMut(&'static str, &'static str, f64)) {
        see("", "reference_volts", self.reference_volts);
        self.sm.visit(&mut |key, value| see("sm.", key, value));
        self.instruction.visit(&mut |key, value| see("instruction.", key, value));
        self.registers.visit(&mut |key, value| see("registers.", key, value));
        self.shared.visit(&mut |key, value| see("shared.", key, value));
        self.constant.visit(&mut |key, value| see("constant.", key, value));
        self.l1.visit(&mut |key, value| see("l1.", key, value));
        self.noc.visit(&mut |key, value| see("noc.", key, value));
        self.llc.visit(&mut |key, value| see("llc.", key, value));
        self.dram.visit(&mut |key, value| see("dram.", key, value));
        self.board.visit(&mut |key, value| see("board.", key, value));
    }
}
