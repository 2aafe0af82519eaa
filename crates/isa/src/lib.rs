//! Opcode tables: the resource class and the memory access of each SASS opcode, per GPU generation.
//!
//! The input is the binary version of a trace and the opcode's name (the mnemonic before its first dot); the output is an [`Opcode`]. The
//! tables are data: a core that all generations share, and one file of additions per generation. A new generation is one file and one row
//! of [`Generation::ALL`]. Resource classes follow Accel-Sim's opcode tables because its published latencies are per class.
#![forbid(unsafe_code)]

mod ampere;
mod core;
mod flops;
mod group;
mod guess;
mod hopper;
mod kepler;
mod memory;
mod opcode;
mod pascal;
mod pipe;
mod turing;
mod volta;

pub use self::flops::flops;
pub use self::guess::guess;
pub use self::memory::{image, width_of};
pub use self::opcode::{MemoryOpcode, Opcode};
pub use self::pipe::{control, pipe};

use self::group::OpcodeGroup;

/// A family of binary versions that share an opcode table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// Binary version 35.
    Kepler,
    /// Binary versions 60 and 61.
    Pascal,
    /// Binary version 70.
    Volta,
    /// Binary version 75.
    Turing,
    /// Binary versions 80, 86, 87 and 89.
    Ampere,
    /// Binary version 90.
    Hopper,
}

impl Generation {
    /// Every generation with a table, oldest first.
    pub const ALL: [Self; 6] = [Self::Kepler, Self::Pascal, Self::Volta, Self::Turing, Self::Ampere, Self::Hopper];

    /// Returns the generation of a trace's `-binary version`; `None` for a version without a table.
    pub fn of(binary_version: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|generation| generation.versions().contains(&binary_version))
    }

    /// Returns the binary versions that the generation covers.
    pub fn versions(self) -> &'static [u32] {
        match self {
            Self::Kepler => &[35],
            Self::Pascal => &[60, 61],
            Self::Volta => &[70],
            Self::Turing => &[75],
            // Orin (87) and Ada (89) add no instructions that tracers record; Accel-Sim also reads them as Ampere.
            Self::Ampere => &[80, 86, 87, 89],
            Self::Hopper => &[90],
        }
    }

    /// Returns the generation's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kepler => "Kepler",
            Self::Pascal => "Pascal",
            Self::Volta => "Volta",
            Self::Turing => "Turing",
            Self::Ampere => "Ampere",
            Self::Hopper => "Hopper",
        }
    }

    /// Returns all known binary versions as text for messages: "35 (Kepler), 60, 61 (Pascal), 70 (Volta), ...".
    pub fn known_versions() -> String {
        let one = |generation: Self| {
            let versions: Vec<String> = generation.versions().iter().map(u32::to_string).collect();
            format!("{} ({})", versions.join(", "), generation.name())
        };
        Self::ALL.map(one).join(", ")
    }

    /// Returns the opcode called `name`, the part of a mnemonic before its first dot.
    pub fn opcode(self, name: &str) -> Option<Opcode> {
        let packed_half = core::PACKED_HALF.contains(&name);
        if let Some(row) = self.memory().find(|row| row.name == name) {
            return Some(Opcode { class: row.class(), mem: Some(*row), packed_half });
        }
        let group = self.groups().find(|group| group.names.contains(&name))?;
        Some(Opcode { class: group.class, mem: None, packed_half })
    }

    /// Returns the groups of the generation's opcodes without memory accesses.
    fn groups(self) -> impl Iterator<Item = &'static OpcodeGroup> {
        let parts: &[&'static [OpcodeGroup]] = match self {
            Self::Kepler => &[core::OPCODE_GROUPS, kepler::OPCODE_GROUPS],
            Self::Pascal => &[core::OPCODE_GROUPS, pascal::OPCODE_GROUPS],
            Self::Volta => &[core::OPCODE_GROUPS, volta::SINCE_VOLTA, volta::OPCODE_GROUPS],
            Self::Turing => &[core::OPCODE_GROUPS, volta::SINCE_VOLTA, turing::SINCE_TURING],
            Self::Ampere => &[core::OPCODE_GROUPS, volta::SINCE_VOLTA, turing::SINCE_TURING, ampere::OPCODE_GROUPS],
            Self::Hopper => &[core::OPCODE_GROUPS, volta::SINCE_VOLTA, turing::SINCE_TURING, ampere::OPCODE_GROUPS, hopper::OPCODE_GROUPS],
        };
        parts.iter().flat_map(|part| part.iter())
    }

    /// Returns the memory opcodes of the generation.
    fn memory(self) -> impl Iterator<Item = &'static MemoryOpcode> {
        let parts: &[&'static [MemoryOpcode]] = match self {
            Self::Kepler => &[memory::CORE, memory::KEPLER],
            Self::Pascal | Self::Volta => &[memory::CORE],
            Self::Turing => &[memory::CORE, memory::SINCE_TURING],
            Self::Ampere => &[memory::CORE, memory::SINCE_TURING, memory::AMPERE],
            Self::Hopper => &[memory::CORE, memory::SINCE_TURING, memory::AMPERE, memory::HOPPER],
        };
        parts.iter().flat_map(|part| part.iter())
    }
}

#[cfg(test)]
mod tests {
    use warpshard_workload::OpClass;

    use super::*;

    #[test]
    fn no_generation_lists_an_opcode_twice() {
        for generation in Generation::ALL {
            let mut names: Vec<&str> = generation.groups().flat_map(|group| group.names.iter().copied()).collect();
            names.extend(generation.memory().map(|row| row.name));
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{} lists an opcode twice", generation.name());
            assert!(all > 120, "{} has only {all} opcodes", generation.name());
        }
    }

    #[test]
    fn packed_halves_are_opcodes_of_some_generation() {
        for name in core::PACKED_HALF {
            assert!(Generation::ALL.iter().any(|g| g.opcode(name).is_some_and(|o| o.packed_half)), "{name}");
        }
    }

    #[test]
    fn generations_differ_where_the_hardware_does() {
        assert_eq!(Generation::Kepler.opcode("ISUB").map(|o| o.class), Some(OpClass::Int));
        assert_eq!(Generation::Kepler.opcode("LDSLK").map(|o| o.class), Some(OpClass::Load));
        assert_eq!(Generation::Kepler.opcode("XMAD"), None);
        assert_eq!(Generation::Pascal.opcode("XMAD").map(|o| o.class), Some(OpClass::Int));
        assert_eq!(Generation::Volta.opcode("XMAD"), None);
        assert_eq!(Generation::Volta.opcode("ULDC"), None);
        assert_eq!(Generation::Turing.opcode("ULDC").map(|o| o.class), Some(OpClass::Uniform));
        assert_eq!(Generation::Volta.opcode("IMMA").map(|o| o.class), Some(OpClass::Int));
        assert_eq!(Generation::Ampere.opcode("IMMA").map(|o| o.class), Some(OpClass::Tensor));
        assert_eq!(Generation::Pascal.opcode("BRA").map(|o| o.class), Some(OpClass::Alu));
        assert_eq!(Generation::Volta.opcode("BRA").map(|o| o.class), Some(OpClass::Branch));
        assert_eq!(Generation::Turing.opcode("LDGSTS"), None);
        assert_eq!(Generation::Ampere.opcode("LDGSTS").map(|o| o.class), Some(OpClass::Load));
        assert_eq!(Generation::Ampere.opcode("VIADD"), None);
        assert_eq!(Generation::Hopper.opcode("VIADD").map(|o| o.class), Some(OpClass::Int));
        assert_eq!(Generation::Hopper.opcode("REDG").map(|o| o.class), Some(OpClass::Store));
    }

    #[test]
    fn known_versions_are_listed_for_messages() {
        assert_eq!(
            Generation::known_versions(),
            "35 (Kepler), 60, 61 (Pascal), 70 (Volta), 75 (Turing), 80, 86, 87, 89 (Ampere), 90 (Hopper)"
        );
        assert_eq!((Generation::of(35), Generation::of(50)), (Some(Generation::Kepler), None));
    }
}
