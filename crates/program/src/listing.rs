//! Listings of compiled programs: provenance, properties of each kernel, and its instructions with their encoded words.
//!
//! `warpshard compile` writes this text; `docs/programs.md` describes it line by line.

use std::path::{Path, PathBuf};

use warpshard_model::suggest;

use super::error::{ProgramError, listed};
use super::operand::{self, Kind, Operand, PT};

/// Maximum bytes of a listing.
const MAX_LISTING_BYTES: u64 = 1 << 28;
/// Maximum bytes of all variables in device memory.
const MAX_GLOBAL_BYTES: usize = 1 << 28;
/// Maximum bytes of a constant bank.
const MAX_BANK_BYTES: usize = 1 << 16;

/// A parsed listing.
#[derive(Clone, Debug, Default)]
pub(super) struct Module {
    pub(super) file: PathBuf,
    /// Architecture of the code: 70 for sm_70.
    pub(super) arch: u32,
    /// Variables in device memory.
    pub(super) globals: Vec<Global>,
    /// Constant banks that all kernels share.
    pub(super) constants: Vec<(u8, Vec<u8>)>,
    /// Variables in constant memory: name, bank, offset in bytes, size in bytes.
    pub(super) symbols: Vec<(String, u8, usize, usize)>,
    /// Words of constant banks that contain the address of a variable: bank, offset, name, line of the listing.
    pub(super) addresses: Vec<(u8, usize, String, u32)>,
    /// Kernel names in the source, without spaces, each with the name in the listing.
    pub(super) instances: Vec<(String, String)>,
    pub(super) kernels: Vec<KernelText>,
}

/// A variable in device memory.
#[derive(Clone, Debug)]
pub(super) struct Global {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// A kernel of a listing.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelText {
    pub(super) name: String,
    /// First line of the kernel.
    pub(super) line: u32,
    pub(super) registers: u32,
    /// Bytes of static shared memory per CTA.
    pub(super) shared: u32,
    /// Bytes of local memory per thread.
    pub(super) local: u32,
    /// CTAs of a cluster in each dimension, if the kernel determines them.
    pub(super) cluster: Option<[u32; 3]>,
    /// Offset of the parameters in constant bank 0.
    pub(super) parameter_base: usize,
    pub(super) parameter_bytes: usize,
    /// Offset and size of each parameter.
    pub(super) parameters: Vec<(usize, usize)>,
    pub(super) constants: Vec<(u8, Vec<u8>)>,
    pub(super) code: Vec<TextInst>,
}

/// An instruction as it is written in the listing.
#[derive(Clone, Debug)]
pub(super) struct TextInst {
    pub(super) pc: u32,
    pub(super) line: u32,
    /// Source line of the instruction; 0 if the listing does not contain it.
    pub(super) source: u32,
    /// Predicate that guards the instruction.
    pub(super) guard: Operand,
    /// Opcode with all modifiers.
    pub(super) mnemonic: String,
    pub(super) operands: Vec<Operand>,
    /// Encoded words of the instruction; bits 41 to 61 of the second word are control information.
    pub(super) words: [u64; 2],
}

impl Module {
    /// Reads a listing from a file.
    pub(super) fn load(file: &Path) -> Result<Self, ProgramError> {
        let unreadable = |error: std::io::Error| {
            ProgramError::new(file, 0, "the listing cannot be read").found(error.to_string()).help("make one with `warpshard compile`")
        };
        let bytes = warpshard_config::input::read(file, MAX_LISTING_BYTES).map_err(unreadable)?;
        Self::parse(file, &String::from_utf8_lossy(&bytes))
    }

    /// Reads a listing from its text.
    pub(super) fn parse(file: &Path, text: &str) -> Result<Self, ProgramError> {
        let mut module = Self { file: file.to_path_buf(), ..Self::default() };
        let mut lines = text.lines().enumerate().map(|(i, line)| (i as u32 + 1, line.trim_end()));
        if lines.next().is_none_or(|(_, first)| first != "warpshard listing 1") {
            let found = text.lines().next().unwrap_or("nothing").chars().take(60).collect::<String>();
            return Err(ProgramError::new(file, 1, "this is not a program listing of a supported version")
                .found(found)
                .expected("warpshard listing 1")
                .help("make one with `warpshard compile kernel.cu -o kernel.sass`"));
        }
        while let Some((number, line)) = lines.next() {
            let bad = |expected: &str| ProgramError::new(file, number, "the line cannot be read").found(line).expected(expected);
            let mut words = line.split_whitespace();
            let Some(key) = words.next() else { continue };
            let rest: Vec<&str> = words.collect();
            match (key, module.kernels.last_mut()) {
                ("arch", None) => {
                    // `sm_90a` is a superset of `sm_90`.
                    let arch = rest.first().and_then(|arch| arch.strip_prefix("sm_")?.trim_end_matches('a').parse().ok());
                    module.arch = arch.ok_or_else(|| bad("arch sm_70"))?;
                }
                ("source" | "compiler" | "disassembler" | "options", None) => {}
                ("symbol", None) => module.symbols.push(symbol(&rest).ok_or_else(|| bad("symbol NAME BANK OFFSET BYTES"))?),
                ("global", None) => {
                    let taken: usize = module.globals.iter().map(|global| global.bytes.len()).sum();
                    let expected = "global NAME BYTES zero|HEX, at most 256 MiB of all variables together";
                    module.globals.push(global(&rest, MAX_GLOBAL_BYTES - taken).ok_or_else(|| bad(expected))?);
                }
                ("instance", None) => {
                    let name = rest.first().ok_or_else(|| bad("instance NAME EXPRESSION"))?;
                    module.instances.push((rest[1..].concat(), (*name).to_owned()));
                }
                ("address", None) => {
                    let (bank, offset, name) = address(&rest).ok_or_else(|| bad("address BANK OFFSET NAME"))?;
                    module.addresses.push((bank, offset, name, number));
                }
                ("constant", None) => module.constants.push(bank(&rest).ok_or_else(|| bad("constant BANK HEX"))?),
                ("kernel", _) => {
                    let name = rest.first().ok_or_else(|| bad("kernel NAME"))?.to_string();
                    module.kernels.push(KernelText { name, line: number, ..KernelText::default() });
                }
                ("constant", Some(kernel)) => kernel.constants.push(bank(&rest).ok_or_else(|| bad("constant BANK HEX"))?),
                ("barriers", Some(_)) => {}
                ("registers", Some(kernel)) => kernel.registers = count(&rest, 255).ok_or_else(|| bad("registers 0 to 255"))?,
                ("shared", Some(kernel)) => kernel.shared = count(&rest, 1 << 20).ok_or_else(|| bad("shared BYTES"))?,
                ("local", Some(kernel)) => kernel.local = count(&rest, 1 << 19).ok_or_else(|| bad("local BYTES, at most 512 KiB"))?,
                ("cluster", Some(kernel)) => kernel.cluster = Some(cluster(&rest).ok_or_else(|| bad("cluster X Y Z, of at most 16 CTAs"))?),
                ("parameters", Some(kernel)) => parameters(kernel, &rest).ok_or_else(|| bad("parameters BASE BYTES OFFSET:SIZE ..."))?,
                ("code", Some(kernel)) => {
                    let mut ended = false;
                    for (number, line) in lines.by_ref() {
                        if line == "end" {
                            ended = true;
                            break;
                        }
                        kernel.code.push(instruction(file, number, line)?);
                        let place = 16 * (kernel.code.len() - 1);
                        if kernel.code.last().is_some_and(|inst| inst.pc as usize != place) {
                            return Err(ProgramError::new(file, number, "the instructions of a kernel are not in order")
                                .found(line)
                                .expected(format!("the instruction at {place:04x}")));
                        }
                    }
                    if !ended {
                        return Err(ProgramError::new(file, number, "the listing ends within a kernel").expected("a line `end`"));
                    }
                }
                _ => return Err(bad("a line of a listing, as `warpshard compile` writes it")),
            }
        }
        match module.arch {
            0 => Err(ProgramError::new(file, 0, "the listing names no architecture").expected("a line such as `arch sm_70`")),
            _ if module.kernels.is_empty() => Err(ProgramError::new(file, 0, "the listing has no kernel")),
            _ => Ok(module),
        }
    }

    /// Returns the index of a kernel from its full name, from its name in the source such as `f<float>`, or from the first identifier of
    /// its mangled name.
    pub(super) fn kernel(&self, name: &str) -> Option<usize> {
        let expression: String = name.split_whitespace().collect();
        let name = self.instances.iter().find(|(known, _)| *known == expression).map_or(name, |(_, mangled)| mangled);
        let mangled = format!("_Z{}{name}", name.len());
        let exact = self.kernels.iter().position(|kernel| kernel.name == name);
        exact.or_else(|| {
            let mut found = self.kernels.iter().enumerate().filter(|(_, kernel)| kernel.name.starts_with(&mangled));
            let first = found.next()?.0;
            found.next().is_none().then_some(first)
        })
    }

    /// Returns the kernel with a name; `asked` is the file that names it, for messages.
    pub(super) fn find_kernel(&self, asked: &Path, name: &str) -> Result<&KernelText, ProgramError> {
        let known = || self.kernels.iter().map(|kernel| kernel.name.as_str());
        let unknown = || {
            let what = format!("the listing has no kernel `{name}`");
            ProgramError::new(asked, 0, what).expected(listed(known())).help(suggest(name, known(), ""))
        };
        self.kernel(name).map(|index| &self.kernels[index]).ok_or_else(unknown)
    }
}

fn number(text: &str) -> Option<usize> {
    text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| usize::from_str_radix(hex, 16).ok())
}

fn count(rest: &[&str], most: u32) -> Option<u32> {
    rest.first()?.parse().ok().filter(|&count| count <= most)
}

fn cluster(rest: &[&str]) -> Option<[u32; 3]> {
    let sizes: Vec<u32> = rest.iter().map(|size| size.parse().ok().filter(|size| (1..=16).contains(size))).collect::<Option<_>>()?;
    <[u32; 3]>::try_from(sizes).ok().filter(|sizes| sizes.iter().product::<u32>() <= 16)
}

fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

fn global(rest: &[&str], most: usize) -> Option<Global> {
    let [name, size, contents] = rest else { return None };
    let size = number(size).filter(|&size| size <= most)?;
    let bytes = if *contents == "zero" { vec![0; size] } else { hex_bytes(contents).filter(|bytes| bytes.len() == size)? };
    Some(Global { name: (*name).to_owned(), bytes })
}

fn address(rest: &[&str]) -> Option<(u8, usize, String)> {
    let [bank, offset, name] = rest else { return None };
    Some((bank.parse().ok()?, number(offset)?, (*name).to_owned()))
}

fn symbol(rest: &[&str]) -> Option<(String, u8, usize, usize)> {
    let [name, bank, offset, size] = rest else { return None };
    let [offset, size] = [number(offset)?, number(size)?];
    Some(((*name).to_owned(), bank.parse().ok()?, offset, size)).filter(|_| offset.max(size) <= MAX_BANK_BYTES)
}

fn bank(rest: &[&str]) -> Option<(u8, Vec<u8>)> {
    let bytes = hex_bytes(rest.get(1).copied().unwrap_or_default())?;
    Some((rest.first()?.parse().ok().filter(|&bank| bank < 18)?, bytes)).filter(|(_, bytes)| bytes.len() <= MAX_BANK_BYTES)
}

fn parameters(kernel: &mut KernelText, rest: &[&str]) -> Option<()> {
    kernel.parameter_base = number(rest.first()?)?;
    kernel.parameter_bytes = number(rest.get(1)?)?;
    for pair in &rest[2..] {
        let (offset, size) = pair.split_once(':')?;
        kernel.parameters.push((number(offset)?, number(size)?));
    }
    let end = kernel.parameter_base.checked_add(kernel.parameter_bytes).filter(|&end| end <= MAX_BANK_BYTES)?;
    let inside = |&(offset, size): &(usize, usize)| offset.checked_add(size).is_some_and(|after| after <= end - kernel.parameter_base);
    kernel.parameters.iter().all(inside).then_some(())
}

/// Parses an instruction line such as `0060: @P0 EXIT ; 000000000000094d 000fea0003800000`.
fn instruction(file: &Path, number: u32, line: &str) -> Result<TextInst, ProgramError> {
    let bad = |what: &str| {
        let expected = "PC: [@GUARD] OPCODE OPERANDS ; WORD WORD [@LINE]";
        ProgramError::new(file, number, what).found(line.chars().take(120).collect::<String>()).expected(expected)
    };
    let shape = || bad("the instruction cannot be read");
    let (pc, rest) = line.split_once(':').ok_or_else(shape)?;
    let (text, words_and_line) = rest.rsplit_once(';').ok_or_else(shape)?;
    let pc = u32::from_str_radix(pc.trim(), 16).map_err(|_| shape())?;
    let mut words = words_and_line.split_whitespace().map(|word| u64::from_str_radix(word, 16));
    let (Some(Ok(low)), Some(Ok(high))) = (words.next(), words.next()) else { return Err(shape()) };
    let source = match words_and_line.split_whitespace().nth(2).map(|word| word.strip_prefix('@').and_then(|line| line.parse().ok())) {
        None => 0,
        Some(Some(line)) => line,
        Some(None) => return Err(bad("the text after the words is not a source line")),
    };
    let mut text = text.trim();
    let mut guard = Operand {
        kind: Kind::Predicate(PT),
        negate: false,
        absolute: false,
        invert: false,
        half: Default::default(),
        byte: 0,
        column: false,
    };
    if let Some(after) = text.strip_prefix('@') {
        let (name, rest) = after.split_once(' ').ok_or_else(shape)?;
        guard = operand::parse(name)
            .filter(|guard| matches!(guard.kind, Kind::Predicate(_) | Kind::UniformPredicate(_)))
            .ok_or_else(|| bad("the guard is not a predicate"))?;
        text = rest.trim_start();
    }
    let (mnemonic, rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut operands = Vec::new();
    // A blank may separate the bank of a constant from its offset: `c[0x0] [0x168].H0_H0`.
    let rest = rest.replace("] [", "][");
    for piece in rest.split(',').flat_map(split_relative).filter(|piece| !piece.is_empty()) {
        operands.push(operand::parse(piece).ok_or_else(|| bad(&format!("the operand `{piece}` cannot be read")))?);
    }
    if mnemonic.is_empty() {
        return Err(shape());
    }
    Ok(TextInst { pc, line: number, source, guard, mnemonic: mnemonic.to_owned(), operands, words: [low, high] })
}

/// Splits operands that only a blank separates: `BRX R6 -0x130`, `RET.REL.NODEC R6 ->0x0`.
fn split_relative(piece: &str) -> impl Iterator<Item = &str> {
    piece.split_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL_LISTING: &str = "warpshard listing 1\narch sm_70\nkernel _Z4copyPf\nregisters 8\nparameters 0x160 8 0:8\ncode\n\
        0000: @!P0 IADD3 R1, R2, -0x1, RZ ; 0000000000000000 0000000000000001\n0010: EXIT ; 0 0\nend\n";

    #[test]
    fn a_listing_is_read_with_its_guards_operands_and_words() {
        let module = Module::parse(Path::new("x"), SMALL_LISTING).unwrap();
        let kernel = &module.kernels[module.kernel("copy").unwrap()];
        assert_eq!((module.arch, kernel.registers, kernel.code.len()), (70, 8, 2));
        let first = &kernel.code[0];
        assert_eq!((first.mnemonic.as_str(), first.operands.len(), first.guard.invert, first.words[1]), ("IADD3", 4, true, 1));
    }

    #[test]
    fn a_constants_bank_may_stand_apart_from_its_offset() {
        let read = |operand: &str| {
            let line = format!("0000: HADD2 R1, R2, {operand} ; 0 0");
            instruction(Path::new("x"), 1, &line).map(|inst| inst.operands)
        };
        for operand in ["c[0x0] [0x168].H0_H0", "-|c[0x0] [0x164].H1_H1|", "c[0x0] [0x160]"] {
            assert_eq!(read(operand).unwrap(), read(&operand.replace("] [", "][")).unwrap(), "{operand}");
        }
        assert!(read("c[0x0] 0x168").is_err());
    }

    #[test]
    fn damaged_listings_are_refused_with_their_line() {
        for (from, to) in [
            ("warpshard listing 1", "listing"),
            ("arch sm_70", "arch volta"),
            ("registers 8", "registers 300"),
            ("0010:", "0020:"),
            ("-0x1", "-0y1"),
            ("end\n", ""),
            ("0:8", "8:8"),
            ("@!P0", "@R3"),
        ] {
            let text = SMALL_LISTING.replace(from, to);
            assert_ne!(text, SMALL_LISTING);
            let error = Module::parse(Path::new("x"), &text).expect_err(from);
            assert!(error.to_string().starts_with("error: x:"), "{error}");
        }
    }
}
