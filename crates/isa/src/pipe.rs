//! Assignment of opcodes to the pipes of a sub-core since Volta. The rates are `throughput_ops_per_cycle_per_sm` of the project's H100
//! measurement (`validate/reference/h100/micro.json`); opcodes with the same rate and kind share a pipe.

use warpshard_workload::{AsyncOp, Control, FenceScope, OpClass, Pipe};

/// Returns the pipe that executes an instruction, from its mnemonic with modifiers and its resource class.
pub fn pipe(mnemonic: &str, class: OpClass) -> Pipe {
    let name = mnemonic.split('.').next().unwrap_or_default();
    let has = |part: &str| mnemonic.split('.').skip(1).any(|other| other == part);
    match name {
        "HFMA2" if has("MMA") => Pipe::Half,
        "IMAD" if has("HI") || has("WIDE") => Pipe::Wide,
        "IMAD" | "IDP" | "IMUL" | "IDP4A" => Pipe::Heavy,
        "FFMA" | "FADD" | "FMUL" | "FSWZADD" => Pipe::Fma,
        "HFMA2" | "HADD2" | "HMUL2" => Pipe::Heavy,
        "MUFU" | "POPC" | "FLO" | "BREV" | "F2I" | "I2F" | "F2F" | "FRND" | "FCHK" => Pipe::Xu,
        "SHFL" => Pipe::Shuffle,
        "MATCH" => Pipe::Match,
        "REDUX" => Pipe::Redux,
        "LDC" => Pipe::Constant,
        "S2R" | "S2UR" | "R2UR" => Pipe::System,
        "BSYNC" => Pipe::Converge,
        "CALL" | "RET" => Pipe::Call,
        _ => match class {
            OpClass::Dp => Pipe::Dp,
            OpClass::Sfu => Pipe::Xu,
            OpClass::Tensor => Pipe::Tensor,
            OpClass::Branch => Pipe::Branch,
            OpClass::Exit => Pipe::Exit,
            OpClass::Uniform => Pipe::Uniform,
            _ => Pipe::Alu,
        },
    }
}

/// Returns `control` with the pipe, scope and side effects that a mnemonic with its modifiers implies.
pub fn control(control: Control, mnemonic: &str, class: OpClass) -> Control {
    let scope = if mnemonic.contains(".CTA") {
        FenceScope::Cta
    } else if mnemonic.contains(".SYS") {
        FenceScope::System
    } else {
        FenceScope::Gpu
    };
    let async_op = match mnemonic.split('.').next().unwrap_or_default() {
        "LDGSTS" => AsyncOp::Copy { past_l1: mnemonic.contains(".BYPASS") },
        "LDGDEPBAR" => AsyncOp::CopyGroup,
        "DEPBAR" => AsyncOp::CopyWait,
        "SYNCS" | "ARRIVES" => AsyncOp::Barrier,
        "UTMALDG" | "UTMASTG" | "UTMAREDG" | "UTMAPF" | "UBLKCP" | "UBLKRED" | "UBLKPF" => AsyncOp::Bulk,
        "UTMACMDFLUSH" => AsyncOp::BulkGroup,
        "UCGABAR_ARV" => AsyncOp::ClusterArrive,
        "UCGABAR_WAIT" => AsyncOp::ClusterWait,
        "PREEXIT" => AsyncOp::LaunchDependents,
        "ACQBULK" => AsyncOp::GridWait,
        _ => AsyncOp::Nothing,
    };
    // Without control words a single counter counts all copy groups.
    let counters = if async_op == AsyncOp::CopyGroup && !control.is_known() { Control::counters(Some(0), None) } else { control.counters };
    Control { counters, pipe: pipe(mnemonic, class), scope, async_op, ..control }
}
