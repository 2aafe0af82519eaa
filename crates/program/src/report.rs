//! Messages for faults that stop a program.

use super::error::ProgramError;
use super::exec::{ExecFault, Kernel};
use super::isa::Space;

/// Returns the source line of an instruction as text, or an empty string if the listing does not contain it.
pub(super) fn source(kernel: &Kernel, place: usize) -> String {
    match kernel.sources.get(place) {
        Some(line) if *line > 0 => format!(", source line {line},"),
        _ => String::new(),
    }
}

/// Returns the error for a fault of a CTA, from its warp, instruction index, lane and reason.
pub(super) fn describe(kernel: &Kernel, cta: u32, (warp, place, lane, fault): (usize, usize, usize, ExecFault)) -> ProgramError {
    let (line, mnemonic) = kernel.lines.get(place).cloned().unwrap_or_default();
    let thread = 32 * warp + lane;
    let whereabouts = format!(
        "`{mnemonic}` at pc {:#06x}{} of kernel {}, CTA {cta}, warp {warp}, thread {thread}",
        16 * place,
        source(kernel, place),
        kernel.name
    );
    let error = |what: String| ProgramError::new(&kernel.file, line, what).found(whereabouts.clone());
    match fault {
        ExecFault::Outside(fault) => {
            let near = fault.nearest.map_or_else(String::new, |(name, offset, size)| {
                format!("; the closest is `{name}` of {size} bytes, in which it would be byte {offset}")
            });
            error(format!("an access outside of every buffer, at address {:#x}{near}", fault.address))
                .help("check the size of the buffer in the launch file, the arguments, and the index in the source")
        }
        ExecFault::BeyondMemory { space, address, size } => {
            let memory = if space == Space::Shared { "shared memory of the CTA" } else { "local memory of the thread" };
            let help = if space == Space::Shared {
                "check `shared` of the launch, the dynamic bytes beyond those that the kernel declares"
            } else {
                "the program's calls are nested too deeply, or it indexes a local array out of bounds"
            };
            error(format!("an access beyond the {size} bytes of the {memory}, at byte {address}")).help(help)
        }
        ExecFault::Misaligned { address, bytes } => error(format!("an access of {bytes} bytes at address {address:#x}"))
            .expected(format!("an address that is a multiple of {bytes}")),
        ExecFault::Constant { bank, offset } => error(format!("a read of constant bank {bank} at byte {offset}, beyond its end")),
        ExecFault::NoInstruction => error("a jump to an address without an instruction".into()),
        ExecFault::Race { byte, warp: other, place: at } => {
            let what =
                format!("two warps race for byte {byte} of shared memory: no barrier orders this access and the access of warp {other}");
            let (line, mnemonic) = kernel.lines.get(at).cloned().unwrap_or_default();
            let other =
                format!("`{mnemonic}` at pc {:#06x}{}, line {line}, by warp {other}", 16 * at, source(kernel, at).trim_end_matches(','));
            error(what).expected(format!("a barrier between this access and {other}")).help("add __syncthreads() between the two accesses")
        }
        ExecFault::RaceOfCtas { buffer, byte, cta: other, place: at } => {
            let what =
                format!("two CTAs race for byte {byte} of `{buffer}`: no synchronisation orders this access and the access of CTA {other}");
            let (line, mnemonic) = kernel.lines.get(at).cloned().unwrap_or_default();
            let other =
                format!("`{mnemonic}` at pc {:#06x}{}, line {line}, by CTA {other}", 16 * at, source(kernel, at).trim_end_matches(','));
            error(what).expected(format!("no access of two CTAs to the same byte, other than {other}, unless both only read or are atomic")).help(
                "CTAs of a launch execute in any order and at the same time: give each its own part, use atomics, or divide the launch in two",
            )
        }
        ExecFault::InstructionLimit(limit, waits) => {
            let last = waits.map_or_else(String::new, |(at, fault)| {
                let near = fault.nearest.map_or_else(String::new, |(name, offset, _)| format!(", byte {offset} of `{name}`"));
                format!("; its last load was at pc {:#06x} from address {:#x}{near}", 16 * at, fault.address)
            });
            error(format!("a warp has executed {limit} instructions and has not ended{last}")).help(
                "it may wait for another CTA, which only starts after this one has ended; for a long kernel raise `limit` in the launch file",
            )
        }
        ExecFault::Unsupported(what) => error(format!("not implemented: {what}")).help("docs/programs.md lists what is implemented"),
        ExecFault::Trap => error("the program has trapped".into()).help(
            "an assertion or __trap() in the source was reached; this_grid().sync() traps unless the launch has `cooperative = true`",
        ),
        ExecFault::NoBarrier { number, threads } => error(format!("barrier {number} of the CTA for {threads} threads does not exist"))
            .expected("a barrier from 0 to 15, for a multiple of 32 threads"),
        ExecFault::MissingFunction => error("a call of a function that is not part of the listing".into())
            .help("only printf, assert, malloc and free of CUDA's runtime can be called: write the source so that it is not reached"),
        ExecFault::Assertion(text) => error(format!("an assertion has failed: {text}")),
        ExecFault::Object(number, count) => error(format!("there is no texture or surface object {number}"))
            .expected(if count == 0 {
                "an object of `textures` in the launch file, which has none".into()
            } else {
                format!("1 to {count}")
            })
            .help("pass an object as `\"&name\"` of a row in `textures`"),
        ExecFault::BeyondSurface([x, y, z]) => error(format!("an access beyond a surface, at byte {x} of row {y}, layer or depth {z}"))
            .help("check the sizes of the texture in the launch file, or give the access a boundary mode in the source"),
        ExecFault::Deadlock(waiting) => {
            let one = |(warp, place, mask, wait): &(usize, usize, u32, String)| {
                format!("warp {warp}, lanes {mask:08x}, waits at pc {:#06x} for {wait}", 16 * place)
            };
            let all: Vec<String> = waiting.iter().take(8).map(one).collect();
            error("threads of a CTA wait for each other for ever".into())
                .expected(format!("every thread at the barrier; {}", all.join("; ")))
                .help("all threads of a CTA must reach the same __syncthreads()")
        }
    }
}
