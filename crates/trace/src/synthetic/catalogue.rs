//! The synthetic kernels with their programs, launches and copies.

use super::global::{self, Atomics};
use super::warp::{Buffer, Form, WarpPosition, WarpText};
use super::{arithmetic, shared};

/// A kernel with a generated trace.
#[derive(Clone, Copy, Debug)]
pub struct SyntheticKernel {
    /// Name of the kernel.
    pub name: &'static str,
    pub(super) program: Program,
    /// CTAs of the grid.
    pub(super) ctas: u32,
    /// Warps per CTA.
    pub(super) warps: u32,
    /// Bytes of shared memory per CTA.
    pub(super) shared_bytes: u32,
    /// Registers per thread.
    pub(super) registers: u32,
    /// Address of the first buffer.
    pub(super) base: u64,
    pub(super) copies: &'static [Copy],
}

/// A copy to the device before the launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    /// Offset from the kernel's base address.
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// The program of a synthetic kernel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Program {
    VectorAdd,
    CopyWide,
    Strided {
        words: u64,
    },
    Gather {
        form: Form,
    },
    /// A pointer chase that uses the L1, or bypasses it.
    PointerChase {
        footprint: u64,
        stride: u64,
        loads: u64,
        through_l1: bool,
    },
    Ffma {
        chains: u8,
        count: u32,
    },
    Chains {
        opcode: &'static str,
        sources: usize,
        chains: u8,
        count: u32,
    },
    BankConflicts {
        ways: u64,
    },
    MatrixProduct,
    Divergent,
    Reduction,
    Atomics(Atomics),
    LongCode {
        count: u32,
    },
}

impl Program {
    /// Returns a description of the work of a thread.
    pub(super) fn summary(self) -> String {
        match self {
            Self::VectorAdd => "sum of two vectors".into(),
            Self::CopyWide => "copy with 16 bytes per thread".into(),
            Self::Strided { words } => format!("loads with {words} words between threads"),
            Self::Gather { form: Form::List } => "dependent random loads, addresses listed".into(),
            Self::Gather { .. } => "dependent random loads, addresses as distances".into(),
            Self::PointerChase { footprint, stride, loads, through_l1 } => {
                let around = if through_l1 { "" } else { " past the L1" };
                format!("{loads} dependent loads{around}, {stride} bytes apart in {} KiB", footprint >> 10)
            }
            Self::Ffma { chains, count } => format!("{count} FFMA in {chains} chain(s)"),
            Self::Chains { opcode, chains, count, .. } => format!("{count} {opcode} in {chains} chain(s)"),
            Self::BankConflicts { ways } => format!("shared memory, {ways} thread(s) of a warp per bank"),
            Self::MatrixProduct => "tiled matrix product".into(),
            Self::Divergent => "nested branches and loops of different length".into(),
            Self::Reduction => "tree sum in shared memory".into(),
            Self::Atomics(Atomics::Shared) => "atomic additions to one word".into(),
            Self::Atomics(Atomics::PerThread { .. }) => "atomic additions to neighbouring words".into(),
            Self::Atomics(Atomics::Random { words }) => format!("atomic additions to {words} random words"),
            Self::LongCode { count } => format!("{count} instructions of straight-line code"),
        }
    }

    /// Writes the instructions of the warp at `place`.
    pub(super) fn write(self, text: &mut WarpText, place: WarpPosition) {
        match self {
            Self::VectorAdd => global::vector_add(text, place),
            Self::CopyWide => global::copy_wide(text, place),
            Self::Strided { words } => global::strided(text, place, words),
            Self::Gather { form } => global::gather(text, place, form),
            Self::PointerChase { footprint, stride, loads, through_l1 } => {
                let opcode = if through_l1 { "LDG.E.64.SYS" } else { "LDG.E.64.STRONG.GPU" };
                global::pointer_chase(text, opcode, footprint, stride, loads);
            }
            Self::Ffma { chains, count } => arithmetic::ffma(text, place, chains, count),
            Self::Chains { opcode, sources, chains, count } => arithmetic::chains(text, opcode, sources, chains, count),
            Self::BankConflicts { ways } => shared::bank_conflicts(text, place, ways),
            Self::MatrixProduct => shared::matrix_product(text, place),
            Self::Divergent => global::divergent(text, place),
            Self::Reduction => shared::reduction(text, place),
            Self::Atomics(targets) => global::atomics(text, place, targets),
            Self::LongCode { count } => arithmetic::long_code(text, count),
        }
    }
}

/// Base address of the buffers of programs on 64-bit devices.
const BASE_ADDRESS: u64 = 0x7f00_0000_0000;

/// Returns a kernel without shared memory or copies.
const fn kernel(name: &'static str, program: Program, [ctas, warps]: [u32; 2], registers: u32) -> SyntheticKernel {
    SyntheticKernel { name, program, ctas, warps, shared_bytes: 0, registers, base: BASE_ADDRESS, copies: &[] }
}

/// Returns the copies of the two inputs.
const fn inputs(bytes: u64) -> [Copy; 2] {
    [Copy { offset: Buffer::A as u64, bytes }, Copy { offset: Buffer::B as u64, bytes }]
}

const MIB: &[Copy] = &inputs(1 << 20);
const FOUR_MIB: &[Copy] = &inputs(4 << 20);
const MATRICES: &[Copy] = &inputs(shared::COLUMNS * shared::DEPTH * 4);

const fn l1_chase(loads: u64) -> Program {
    Program::PointerChase { footprint: 16 << 10, stride: 128, loads, through_l1: true }
}

const fn llc_chase(loads: u64) -> Program {
    Program::PointerChase { footprint: 8 << 10, stride: 128, loads, through_l1: false }
}

const fn dram_chase(loads: u64) -> Program {
    Program::PointerChase { footprint: 1 << 30, stride: 8320, loads, through_l1: true }
}

const fn chains(opcode: &'static str, sources: usize, chains: u8, count: u32) -> Program {
    Program::Chains { opcode, sources, chains, count }
}

const fn conflicts(name: &'static str, ways: u64) -> SyntheticKernel {
    SyntheticKernel { shared_bytes: 32 << 10, ..kernel(name, Program::BankConflicts { ways }, [160, 8], 16) }
}

/// All synthetic kernels.
pub const SYNTHETIC_KERNELS: &[SyntheticKernel] = &[
    SyntheticKernel { copies: MIB, ..kernel("vecadd_1024x256", Program::VectorAdd, [1024, 8], 12) },
    SyntheticKernel { copies: FOUR_MIB, ..kernel("vecadd_4096x256", Program::VectorAdd, [4096, 8], 12) },
    // The vector addition with its data below 4 GiB.
    SyntheticKernel { copies: MIB, base: 0, ..kernel("vecadd_low_addr", Program::VectorAdd, [1024, 8], 12) },
    kernel("copy128_1024x256", Program::CopyWide, [1024, 8], 16),
    kernel("stride2", Program::Strided { words: 2 }, [256, 8], 16),
    kernel("stride4", Program::Strided { words: 4 }, [256, 8], 16),
    kernel("stride8", Program::Strided { words: 8 }, [256, 8], 16),
    kernel("stride32", Program::Strided { words: 32 }, [256, 8], 16),
    kernel("gather_delta", Program::Gather { form: Form::Distances }, [128, 4], 16),
    kernel("gather_list", Program::Gather { form: Form::List }, [128, 4], 16),
    kernel("pchase_l1_1024", l1_chase(1024), [1, 1], 16),
    kernel("pchase_l1_2048", l1_chase(2048), [1, 1], 16),
    kernel("pchase_l2_128", llc_chase(128), [1, 1], 16),
    kernel("pchase_l2_256", llc_chase(256), [1, 1], 16),
    kernel("pchase_dram_64", dram_chase(64), [1, 1], 16),
    kernel("pchase_dram_192", dram_chase(192), [1, 1], 16),
    kernel("ffma_dep_1warp", Program::Ffma { chains: 1, count: 2048 }, [1, 1], 32),
    kernel("ffma_ind8_1warp", Program::Ffma { chains: 8, count: 2048 }, [1, 1], 32),
    kernel("ffma_dep_full", Program::Ffma { chains: 1, count: 128 }, [320, 8], 32),
    kernel("ffma_ind8_full", Program::Ffma { chains: 8, count: 128 }, [320, 8], 32),
    kernel("imad_dep_1warp", chains("IMAD", 3, 1, 2048), [1, 1], 32),
    kernel("mufu_ind8_full", chains("MUFU.RCP", 1, 8, 128), [160, 8], 64),
    kernel("dfma_ind8_full", chains("DFMA", 3, 8, 128), [160, 8], 64),
    kernel("hmma_ind8_full", chains("HMMA.884.F32.F32.STEP0", 3, 8, 128), [160, 8], 64),
    conflicts("smem_conflict1", 1),
    conflicts("smem_conflict2", 2),
    conflicts("smem_conflict8", 8),
    conflicts("smem_conflict32", 32),
    SyntheticKernel { shared_bytes: 8 << 10, copies: MATRICES, ..kernel("gemm_512x512x32", Program::MatrixProduct, [64, 8], 96) },
    kernel("divergent", Program::Divergent, [256, 8], 24),
    SyntheticKernel { shared_bytes: 1 << 10, ..kernel("reduce_512x256", Program::Reduction, [512, 8], 16) },
    kernel("atomic_same", Program::Atomics(Atomics::Shared), [64, 8], 16),
    kernel("atomic_seq", Program::Atomics(Atomics::PerThread { words: 65536 }), [256, 8], 16),
    kernel("atomic_hist", Program::Atomics(Atomics::Random { words: 256 }), [128, 8], 16),
    kernel("bigcode", Program::LongCode { count: 8192 }, [4, 4], 32),
];
