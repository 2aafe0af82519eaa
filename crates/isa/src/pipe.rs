//! Which pipe of a sub-core since Volta executes an opcode. Rates: `throughput_ops_per_cycle_per_sm` of our measurement of an H100
//! (`validate/reference/h100/micro.json`); opcodes of one rate and one kind share a pipe.

use warpshard_workload::{Beside, Control, FenceScope, OpClass, Pipe};

/// The pipe that executes an instruction, from its mnemonic with modifiers and its resource class.
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

/// `control` with what a mnemonic with its modifiers adds to it.
pub fn control(control: Control, mnemonic: &str, class: OpClass) -> Control {
    let scope = if mnemonic.contains(".CTA") {
        FenceScope::Cta
    } else if mnemonic.contains(".SYS") {
        FenceScope::System
    } else {
        FenceScope::Gpu
    };
    let beside = match mnemonic.split('.').next().unwrap_or_default() {
        "LDGSTS" => Beside::Copy { past_l1: mnemonic.contains(".BYPASS") },
        "LDGDEPBAR" => Beside::CopyGroup,
        "DEPBAR" => Beside::CopyWait,
        "SYNCS" | "ARRIVES" => Beside::Barrier,
        "UTMALDG" | "UTMASTG" | "UTMAREDG" | "UTMAPF" | "UBLKCP" | "UBLKRED" | "UBLKPF" => Beside::Bulk,
        "UTMACMDFLUSH" => Beside::BulkGroup,
        "UCGABAR_ARV" => Beside::ClusterArrive,
        "UCGABAR_WAIT" => Beside::ClusterWait,
        "PREEXIT" => Beside::LaunchDependents,
        "ACQBULK" => Beside::GridWait,
        _ => Beside::Nothing,
    };
    // Without control words one counter counts all groups of copies.
    let counters = if beside == Beside::CopyGroup && !control.is_known() { Control::counters(Some(0), None) } else { control.counters };
    Control { counters, pipe: pipe(mnemonic, class), scope, beside, ..control }
}
