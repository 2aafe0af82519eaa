//! Opcodes that access memory, with memory space, kind and width of the access.

use warpshard_workload::{CachePolicy, MemInst, MemKind, MemSpace, OpClass};

use super::opcode::{MemoryOpcode, Opcode};

const fn memory_opcode(name: &'static str, space: MemSpace, kind: MemKind) -> MemoryOpcode {
    MemoryOpcode { name, space, kind }
}

pub(super) const CORE: &[MemoryOpcode] = &[
    memory_opcode("LD", MemSpace::Generic, MemKind::Load),
    memory_opcode("LDG", MemSpace::Global, MemKind::Load),
    memory_opcode("LDL", MemSpace::Local, MemKind::Load),
    memory_opcode("LDS", MemSpace::Shared, MemKind::Load),
    memory_opcode("ST", MemSpace::Generic, MemKind::Store),
    memory_opcode("STG", MemSpace::Global, MemKind::Store),
    memory_opcode("STL", MemSpace::Local, MemKind::Store),
    memory_opcode("STS", MemSpace::Shared, MemKind::Store),
    memory_opcode("ATOM", MemSpace::Generic, MemKind::Atomic),
    memory_opcode("ATOMG", MemSpace::Global, MemKind::Atomic),
    memory_opcode("ATOMS", MemSpace::Shared, MemKind::Atomic),
    memory_opcode("RED", MemSpace::Global, MemKind::Reduction),
];

/// Memory opcodes of Kepler. Atomics in shared memory use a locking load and a conditional store; surfaces are accessed as global memory.
pub(super) const KEPLER: &[MemoryOpcode] = &[
    memory_opcode("LDSLK", MemSpace::Shared, MemKind::Load),
    memory_opcode("STSCUL", MemSpace::Shared, MemKind::Store),
    memory_opcode("SULDGA", MemSpace::Global, MemKind::Load),
    memory_opcode("SUSTGA", MemSpace::Global, MemKind::Store),
];

pub(super) const SINCE_TURING: &[MemoryOpcode] = &[memory_opcode("LDSM", MemSpace::Shared, MemKind::Load)];

/// Memory opcodes that Ampere adds. LDGSTS copies from device to shared memory; the caches see only the load from device memory.
pub(super) const AMPERE: &[MemoryOpcode] = &[memory_opcode("LDGSTS", MemSpace::Global, MemKind::Load)];

/// Memory opcodes that Hopper adds: REDG is a reduction in device memory, and STSM stores matrices as LDSM loads them.
pub(super) const HOPPER: &[MemoryOpcode] =
    &[memory_opcode("REDG", MemSpace::Global, MemKind::Reduction), memory_opcode("STSM", MemSpace::Shared, MemKind::Store)];

/// Texture and surface opcodes. Traces generated from programs contain their addresses; recorded traces do not. Surface accesses use the L1
/// like other accesses to device memory.
const IMAGES: &[MemoryOpcode] = &[
    memory_opcode("TEX", MemSpace::Texture, MemKind::Load),
    memory_opcode("TLD", MemSpace::Texture, MemKind::Load),
    memory_opcode("TLD4", MemSpace::Texture, MemKind::Load),
    memory_opcode("TXD", MemSpace::Texture, MemKind::Load),
    memory_opcode("SULD", MemSpace::Global, MemKind::Load),
    memory_opcode("SUST", MemSpace::Global, MemKind::Store),
];

/// Returns the opcode of a texture or surface access with known addresses, which is treated as a load or a store.
pub fn image(name: &str) -> Option<Opcode> {
    let row = IMAGES.iter().find(|row| row.name == name)?;
    Some(Opcode { class: row.class(), mem: Some(*row), packed_half: false })
}

impl MemoryOpcode {
    /// Returns the resource class. Accesses that return a value have the class of loads.
    pub fn class(&self) -> OpClass {
        match self.kind {
            MemKind::Load | MemKind::Atomic => OpClass::Load,
            MemKind::Store | MemKind::Reduction => OpClass::Store,
        }
    }

    /// Returns the memory access of an instruction with this opcode and the full mnemonic `mnemonic`.
    pub fn access(&self, mnemonic: &str) -> MemInst {
        let has = |token: &str| mnemonic.split('.').any(|t| t == token);
        let beyond_l1 = match self.kind {
            MemKind::Atomic | MemKind::Reduction => self.space != MemSpace::Shared,
            MemKind::Load => matches!(self.space, MemSpace::Global | MemSpace::Local) && has("STRONG") && has("GPU"),
            MemKind::Store => false,
        };
        let system = self.kind == MemKind::Load && has("STRONG") && has("SYS");
        let cache = match (beyond_l1, system) {
            (true, _) => CachePolicy::Global,
            (false, true) => CachePolicy::System,
            (false, false) => CachePolicy::All,
        };
        MemInst { space: self.space, kind: self.kind, width: width_of(mnemonic), cache }
    }
}

/// Returns the bytes per lane of a mnemonic. The first token of digits, or of `U` and digits, is the width in bits; the width is 4 bytes
/// without such a token.
///
/// This is Accel-Sim's rule. A number that is not a valid width (1, 2, 4, 8 or 16 bytes) also gives 4 bytes.
pub fn width_of(mnemonic: &str) -> u8 {
    let bits = |token: &str| {
        let digits = token.strip_prefix('U').unwrap_or(token);
        if digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse::<u32>().ok() } else { None }
    };
    match mnemonic.split('.').skip(1).find_map(bits) {
        Some(8) => 1,
        Some(16) => 2,
        Some(64) => 8,
        Some(128) => 16,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_come_from_the_mnemonic() {
        for (mnemonic, bytes) in [
            ("LDG.E.SYS", 4),
            ("LDG.E.64.SYS", 8),
            ("LDG.E.U8.SYS", 1),
            ("LDS.U.128", 16),
            ("LDS.U.32", 4),
            ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU", 4),
            ("ATOMG.E.ADD.64", 8),
            ("LDG.E.U16", 2),
            ("LDGSTS.E.BYPASS.LTC128B.128", 16),
        ] {
            assert_eq!(width_of(mnemonic), bytes, "{mnemonic}");
        }
    }

    #[test]
    fn textures_and_surfaces_with_addresses_are_loads_and_stores() {
        let access = |name: &str, mnemonic: &str| {
            let known = image(name).unwrap();
            let mem = known.mem.unwrap().access(mnemonic);
            (known.class, mem.space, mem.width)
        };
        assert_eq!(access("TEX", "TEX.SCR.LL"), (OpClass::Load, MemSpace::Texture, 4));
        assert_eq!(access("SUST", "SUST.D.BA.2D.128.STRONG.CTA.TRAP"), (OpClass::Store, MemSpace::Global, 16));
        assert_eq!(image("TXQ"), None);
    }

    #[test]
    fn strong_loads_and_atomics_bypass_the_l1() {
        let access = |opcode: &str, mnemonic: &str| CORE.iter().find(|r| r.name == opcode).unwrap().access(mnemonic);
        assert_eq!(access("LDG", "LDG.E.64.STRONG.GPU").cache, CachePolicy::Global);
        assert_eq!(access("LDG", "LDG.E.STRONG.SYS").cache, CachePolicy::System);
        assert_eq!(access("RED", "RED.E.ADD").cache, CachePolicy::Global);
        assert_eq!(access("ATOMS", "ATOMS.ADD").cache, CachePolicy::All);
    }
}
