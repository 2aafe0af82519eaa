//! Guesses the GPU generation from the instructions of a trace whose header names no known generation.

use super::Generation;

/// Returns the most likely generation of a program, given the program counters and mnemonics that occur in it.
///
/// Instructions are 8 bytes apart up to Pascal and 16 bytes apart since Volta. Accesses carry `.SYS` on Volta and Turing but not on Ampere.
/// Among the remaining generations the one with the fewest unknown opcodes is chosen.
pub fn guess<'a>(instructions: impl Iterator<Item = (u32, &'a str)> + Clone) -> Generation {
    if instructions.clone().any(|(pc, _)| pc % 16 != 0) {
        return Generation::Pascal;
    }
    let accesses = || instructions.clone().map(|(_, m)| m).filter(|m| m.starts_with("LDG.") || m.starts_with("STG."));
    let says_sys = accesses().any(|mnemonic| mnemonic.ends_with(".SYS"));
    let candidates: &[Generation] = match (says_sys, accesses().next().is_some()) {
        (true, _) => &[Generation::Volta, Generation::Turing],
        (false, true) => &[Generation::Ampere, Generation::Turing, Generation::Volta],
        (false, false) => &[Generation::Volta, Generation::Turing, Generation::Ampere],
    };
    let unknown = |generation: Generation| {
        let name = |mnemonic: &'a str| mnemonic.split('.').next().unwrap_or(mnemonic);
        instructions.clone().filter(|&(_, mnemonic)| generation.opcode(name(mnemonic)).is_none()).count()
    };
    candidates.iter().copied().min_by_key(|&generation| unknown(generation)).unwrap_or(Generation::Volta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generation_is_guessed_from_spacing_suffixes_and_opcodes() {
        let of = |program: &[(u32, &'static str)]| guess(program.iter().copied());
        assert_eq!(of(&[(8, "MOV"), (16, "XMAD")]), Generation::Pascal);
        assert_eq!(of(&[(0, "MOV"), (16, "LDG.E.SYS")]), Generation::Volta);
        assert_eq!(of(&[(0, "ULDC.64"), (16, "LDG.E.SYS")]), Generation::Turing);
        assert_eq!(of(&[(0, "HFMA2.MMA"), (16, "LDG.E.64")]), Generation::Ampere);
    }
}
