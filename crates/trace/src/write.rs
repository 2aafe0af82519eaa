//! Writer of a kernel as an Accel-Sim trace of tracer version 4, with the address compression of the NVBit tracer.
//!
//! Reading a written kernel back gives the same programs, except for DEPBAR's immediate, which version 4 does not contain.

use std::io::{self, Write};
use std::sync::Arc;

use warpshard_base::LaneMask;
use warpshard_isa::image;
use warpshard_workload::{CtaProgram, DynInst, KernelInfo, NO_REGISTER, StaticInst, StreamReader};

/// Writes a kernel.
///
/// `code` contains its static instructions and `mnemonics` their full SASS mnemonics in the same order. `ctas` yields the programs of all
/// CTAs of `info.grid`; their streams index `code`. The opcode table of `binary_version` must contain the opcodes of the mnemonics for the
/// trace to be read back.
///
/// # Errors
/// I/O errors of `out`.
///
/// # Panics
/// `mnemonics` and `code` differ in length, or a stream contains an index outside of them.
pub fn write_kernel(
    out: &mut dyn Write,
    info: &KernelInfo,
    binary_version: u32,
    code: &[StaticInst],
    mnemonics: &[String],
    ctas: &mut dyn Iterator<Item = Arc<CtaProgram>>,
) -> io::Result<()> {
    assert_eq!(code.len(), mnemonics.len(), "one mnemonic for each static instruction of {}", info.name);
    header(out, info, binary_version, has_images(code, mnemonics))?;
    let parts: Vec<(String, String)> = code.iter().zip(mnemonics).map(|(inst, mnemonic)| line_parts(inst, mnemonic)).collect();
    for (index, cta) in ctas.enumerate() {
        let (x, y, z) = coordinates(info, index as u64);
        write!(out, "#BEGIN_TB\n\nthread block = {x},{y},{z}\n\n")?;
        for (warp, stream) in cta.warps.iter().enumerate().filter(|(_, stream)| !stream.is_empty()) {
            writeln!(out, "warp = {warp}\ninsts = {}", stream.len())?;
            let mut reader = stream.read();
            while let Some(inst) = reader.next() {
                let (before, after) = &parts[inst.index as usize];
                write!(out, "{before} {:08x} {after} ", inst.mask.0)?;
                if code[inst.index as usize].mem.is_some() {
                    addresses(out, &reader, &inst)?;
                }
                writeln!(out)?;
            }
            writeln!(out)?;
        }
        write!(out, "#END_TB\n\n")?;
    }
    Ok(())
}

/// Returns true if texture or surface instructions have addresses.
fn has_images(code: &[StaticInst], mnemonics: &[String]) -> bool {
    let name = |mnemonic: &'_ String| mnemonic.split('.').next().and_then(image).is_some();
    code.iter().zip(mnemonics).any(|(inst, mnemonic)| inst.mem.is_some() && name(mnemonic))
}

fn header(out: &mut dyn Write, info: &KernelInfo, binary_version: u32, images: bool) -> io::Result<()> {
    writeln!(out, "-kernel name = {}", info.name)?;
    writeln!(out, "-kernel id = {}", info.id)?;
    writeln!(out, "-grid dim = {}", info.grid)?;
    writeln!(out, "-block dim = {}", info.block)?;
    writeln!(out, "-shmem = {}", info.shared_bytes)?;
    writeln!(out, "-nregs = {}", info.registers)?;
    writeln!(out, "-binary version = {binary_version}")?;
    writeln!(out, "-cuda stream id = {}", info.stream.0)?;
    writeln!(out, "-shmem base_addr = {:#018x}", info.shared_base.0)?;
    writeln!(out, "-local mem base_addr = {:#018x}", info.local_base.0)?;
    writeln!(out, "-nvbit version = 1.5.5")?;
    writeln!(out, "-accelsim tracer version = 4")?;
    if !info.after.is_empty() {
        let numbers: Vec<String> = info.after.iter().map(|before| (before.index() + 1).to_string()).collect();
        writeln!(out, "-after kernels = {}", numbers.join(","))?;
    }
    if images {
        writeln!(out, "-texture addresses = 1")?;
    }
    writeln!(out, "-enable lineinfo = 0\n")?;
    writeln!(
        out,
        "#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] [mem_addresses]\n\n\n"
    )
}

/// Returns the text before and after the mask in every line of an instruction.
fn line_parts(inst: &StaticInst, mnemonic: &str) -> (String, String) {
    let destination = if inst.dst == NO_REGISTER { "0".to_string() } else { format!("1 R{}", inst.dst) };
    let sources: Vec<String> = inst.src.iter().filter(|&&r| r != NO_REGISTER).map(|r| format!(" R{r}")).collect();
    let width = inst.mem.map_or(0, |mem| mem.width);
    (format!("{:04x}", inst.pc), format!("{destination} {mnemonic} {}{} {width}", sources.len(), sources.concat()))
}

fn addresses(out: &mut dyn Write, reader: &StreamReader, inst: &DynInst) -> io::Result<()> {
    let mut lanes = [0; 32];
    let count = reader.addresses(inst, &mut lanes);
    let lanes = &lanes[..count];
    let Some(base) = lanes.first() else { return write!(out, "1 0x0 0 ") };
    let delta = |pair: &[u64]| pair[1].wrapping_sub(pair[0]) as i64;
    let mut deltas = lanes.windows(2).map(delta);
    if is_contiguous(inst.mask)
        && let Some(stride) = deltas.next()
        && deltas.all(|delta| delta == stride)
    {
        return write!(out, "1 {base:#x} {stride} ");
    }
    write!(out, "2 {base:#x} ")?;
    lanes.windows(2).try_for_each(|pair| write!(out, "{} ", delta(pair)))
}

fn is_contiguous(mask: LaneMask) -> bool {
    let low = mask.0.checked_shr(mask.0.trailing_zeros()).unwrap_or(0);
    low & low.wrapping_add(1) == 0
}

fn coordinates(info: &KernelInfo, index: u64) -> (u64, u64, u64) {
    let (x, y) = (u64::from(info.grid.x).max(1), u64::from(info.grid.y).max(1));
    (index % x, index / x % y, index / (x * y))
}
