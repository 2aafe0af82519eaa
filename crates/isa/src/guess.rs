//! Guesses the generation from the instructions themselves, for a trace whose header does not name one.

use super::Generation;

/// The most likely generation of a program, given the program counters and mnemonics that occur in it.
///
/// Instructions are 8 bytes apart up to Pascal and 16 since Volta. `.SYS` is written on accesses of Volta and Turing and
/// no longer on Ampere's. Among the generations that remain the oldest wins that knows all opcodes, or else most.
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
    fn spacing_suffixes_and_opcodes_tell_generations_apart() {
        let of = |program: &[(u32, &'static str)]| guess(program.iter().copied());
        assert_eq!(of(&[(8, "MOV"), (16, "XMAD")]), Generation::Pascal);
        assert_eq!(of(&[(0, "MOV"), (16, "LDG.E.SYS")]), Generation::Volta);
        assert_eq!(of(&[(0, "ULDC.64"), (16, "LDG.E.SYS")]), Generation::Turing);
        assert_eq!(of(&[(0, "HFMA2.MMA"), (16, "LDG.E.64")]), Generation::Ampere);
    }
}
