//! Opcode numbers of each mnemonic: the low nine bits of an instruction's first word, on Volta and later generations.
//!
//! The numbers were read from kernels compiled for sm_70 to sm_90a; the number of a mnemonic that is not listed is unknown.

use super::parts::MnemonicParts;

/// Number of barriers per CTA.
pub(in super::super) const BARRIERS: u8 = 16;

/// Mnemonics with their numbers.
const CODES: &[(&str, &[u16])] = &[
    ("ARRIVES", &[0x1b0]),
    ("ATOMG", &[0x1a8, 0x1a9]),
    ("ATOMS", &[0x18c, 0x18d]),
    ("BAR", &[0x11d]),
    ("BMOV", &[0x155, 0x156, 0x157]),
    ("BRA", &[0x147]),
    ("BREAK", &[0x142]),
    ("BREV", &[0x101]),
    ("BRX", &[0x149, 0x14a]),
    ("BSSY", &[0x145]),
    ("BSYNC", &[0x141]),
    ("CALL", &[0x143, 0x144]),
    ("CS2R", &[0x005]),
    ("DADD", &[0x029]),
    ("DFMA", &[0x02b]),
    ("DMUL", &[0x028]),
    ("DSETP", &[0x02a]),
    ("EXIT", &[0x14d]),
    ("F2F", &[0x104, 0x110]),
    ("F2I", &[0x105, 0x111]),
    ("FADD", &[0x021]),
    ("FFMA", &[0x023]),
    ("FLO", &[0x100]),
    ("FMNMX", &[0x009]),
    ("FMUL", &[0x020]),
    ("FSEL", &[0x008]),
    ("FSETP", &[0x00b]),
    ("HADD2", &[0x030]),
    ("HFMA2", &[0x031, 0x035]),
    ("HMUL2", &[0x032]),
    ("I2F", &[0x106, 0x112]),
    ("IABS", &[0x013]),
    ("IADD3", &[0x010]),
    ("IMAD", &[0x024, 0x025, 0x027]),
    ("IMNMX", &[0x017]),
    ("ISETP", &[0x00c]),
    ("LD", &[0x180]),
    ("LDC", &[0x182]),
    ("LDG", &[0x181]),
    ("LDL", &[0x183]),
    ("LDS", &[0x184]),
    ("LDSM", &[0x03b]),
    ("LEA", &[0x011]),
    ("LOP3", &[0x012]),
    ("MOV", &[0x002]),
    ("MUFU", &[0x108]),
    ("NOP", &[0x118]),
    ("PLOP3", &[0x01c]),
    ("POPC", &[0x109]),
    ("PRMT", &[0x016]),
    ("RET", &[0x150]),
    ("S2R", &[0x119]),
    ("SEL", &[0x007]),
    ("SHF", &[0x019]),
    ("SHFL", &[0x189]),
    ("ST", &[0x185]),
    ("STG", &[0x186]),
    ("STL", &[0x187]),
    ("STS", &[0x188]),
    ("VOTE", &[0x006]),
    ("WARPSYNC", &[0x148]),
];

/// Returns the opcode numbers of a mnemonic without modifiers, or `None` if they are unknown.
pub(in super::super) fn codes_of(name: &str) -> Option<&'static [u16]> {
    CODES.binary_search_by_key(&name, |(known, _)| known).ok().map(|place| CODES[place].1)
}

/// Returns true if bits 16 to 23 of the first word are the destination register, which is the first operand.
pub(in super::super) fn writes_first(name: &str) -> bool {
    codes_of(name).is_some() && !matches!(name, "BAR" | "BRX" | "CALL" | "RET" | "WARPSYNC")
}

/// Returns the number of registers that each register operand of an access covers; 1 for other instructions.
pub(in super::super) fn access_registers(mnemonic: &str) -> u32 {
    let parts = MnemonicParts::new(mnemonic);
    match parts.name() {
        "LD" | "LDC" | "LDG" | "LDL" | "LDS" | "ST" | "STG" | "STL" | "STS" => u32::from(parts.access().1).max(1),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mnemonics_are_sorted_and_found() {
        assert!(CODES.is_sorted_by_key(|(name, _)| *name));
        assert_eq!((codes_of("EXIT"), codes_of("NONE")), (Some(&[0x14d][..]), None));
    }

    #[test]
    fn a_barrier_whose_number_is_in_a_register_writes_none() {
        assert_eq!(["MOV", "BAR", "WARPSYNC"].map(writes_first), [true, false, false]);
    }

    #[test]
    fn wide_accesses_have_as_many_registers_as_they_move() {
        let counts = ["LDG.E.128.SYS", "STS.64", "LDL", "LDG.E.U8", "IMAD.WIDE"].map(access_registers);
        assert_eq!(counts, [4, 2, 1, 1, 1]);
    }
}
