//! The synthetic kernels with their programs, launches and copies.

use super::global::{self, AtomicTargets};
use super::warp::{AddressTextForm, KernelBuffer, WarpPosition, WarpText};
use super::{arithmetic, shared};

/// A kernel with a generated trace.
#[derive(Clone, Copy, Debug)]
pub struct SyntheticKernel {
    /// Name of the kernel.
    pub name: &'static str,
    pub(super) program: SyntheticProgram,
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
    pub(super) copies: &'static [DeviceCopy],
}

/// A copy to the device before the launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceCopy {
    /// Offset from the kernel's base address.
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// The program of a synthetic kernel.
#[derive(Clone, Copy, Debug)]
pub(super) enum SyntheticProgram {
    VectorAdd,
    CopyWide,
    Strided {
        words: u64,
    },
    Gather {
        form: AddressTextForm,
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
    Atomics(AtomicTargets),
    LongCode {
        count: u32,
    },
}

impl SyntheticProgram {
    /// Returns a description of the work of a thread.
    pub(super) fn summary(self) -> String {
        match self {
            Self::VectorAdd => "sum of two vectors".into(),
            Self::CopyWide => "copy with 16 bytes per thread".into(),
            Self::Strided { words } => format!("loads with {words} words between threads"),
            Self::Gather { form: AddressTextForm::List } => "dependent random loads, addresses listed".into(),
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
            Self::Atomics(AtomicTargets::Shared) => "atomic additions to one word".into(),
            Self::Atomics(AtomicTargets::PerThread { .. }) => "atomic additions to neighbouring words".into(),
            Self::Atomics(AtomicTargets::Random { words }) => format!("atomic additions to {words} random words"),
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
const fn kernel(name: &'static str, program: SyntheticProgram, [ctas, warps]: [u32; 2], registers: u32) -> SyntheticKernel {
    SyntheticKernel { name, program, ctas, warps, shared_bytes: 0, registers, base: BASE_ADDRESS, copies: &[] }
}

/// Returns the copies of the two inputs.
const fn inputs(bytes: u64) -> [DeviceCopy; 2] {
    [DeviceCopy { offset: KernelBuffer::A as u64, bytes }, DeviceCopy { offset: KernelBuffer::B as u64, bytes }]
}

const INPUTS_OF_1_MIB: &[DeviceCopy] = &inputs(1 << 20);
const INPUTS_OF_4_MIB: &[DeviceCopy] = &inputs(4 << 20);
const MATRIX_INPUTS: &[DeviceCopy] = &inputs(shared::COLUMNS * shared::DEPTH * 4);

const fn l1_chase(loads: u64) -> SyntheticProgram {
    SyntheticProgram::PointerChase { footprint: 16 << 10, stride: 128, loads, through_l1: true }
}

const fn llc_chase(loads: u64) -> SyntheticProgram {
    SyntheticProgram::PointerChase { footprint: 8 << 10, stride: 128, loads, through_l1: false }
}

const fn dram_chase(loads: u64) -> SyntheticProgram {
    SyntheticProgram::PointerChase { footprint: 1 << 30, stride: 8320, loads, through_l1: true }
}

const fn chains(opcode: &'static str, sources: usize, chains: u8, count: u32) -> SyntheticProgram {
    SyntheticProgram::Chains { opcode, sources, chains, count }
}

const fn conflicts(name: &'static str, ways: u64) -> SyntheticKernel {
    SyntheticKernel { shared_bytes: 32 << 10, ..kernel(name, SyntheticProgram::BankConflicts { ways }, [160, 8], 16) }
}

/// All synthetic kernels.
pub const SYNTHETIC_KERNELS: &[SyntheticKernel] = &[
    SyntheticKernel { copies: INPUTS_OF_1_MIB, ..kernel("vecadd_1024x256", SyntheticProgram::VectorAdd, [1024, 8], 12) },
    SyntheticKernel { copies: INPUTS_OF_4_MIB, ..kernel("vecadd_4096x256", SyntheticProgram::VectorAdd, [4096, 8], 12) },
    // The vector addition with its data below 4 GiB.
    SyntheticKernel { copies: INPUTS_OF_1_MIB, base: 0, ..kernel("vecadd_low_addr", SyntheticProgram::VectorAdd, [1024, 8], 12) },
    kernel("copy128_1024x256", SyntheticProgram::CopyWide, [1024, 8], 16),
    kernel("stride2", SyntheticProgram::Strided { words: 2 }, [256, 8], 16),
    kernel("stride4", SyntheticProgram::Strided { words: 4 }, [256, 8], 16),
    kernel("stride8", SyntheticProgram::Strided { words: 8 }, [256, 8], 16),
    kernel("stride32", SyntheticProgram::Strided { words: 32 }, [256, 8], 16),
    kernel("gather_delta", SyntheticProgram::Gather { form: AddressTextForm::Distances }, [128, 4], 16),
    kernel("gather_list", SyntheticProgram::Gather { form: AddressTextForm::List }, [128, 4], 16),
    kernel("pchase_l1_1024", l1_chase(1024), [1, 1], 16),
    kernel("pchase_l1_2048", l1_chase(2048), [1, 1], 16),
    kernel("pchase_l2_128", llc_chase(128), [1, 1], 16),
    kernel("pchase_l2_256", llc_chase(256), [1, 1], 16),
    kernel("pchase_dram_64", dram_chase(64), [1, 1], 16),
    kernel("pchase_dram_192", dram_chase(192), [1, 1], 16),
    kernel("ffma_dep_1warp", SyntheticProgram::Ffma { chains: 1, count: 2048 }, [1, 1], 32),
    kernel("ffma_ind8_1warp", SyntheticProgram::Ffma { chains: 8, count: 2048 }, [1, 1], 32),
    kernel("ffma_dep_full", SyntheticProgram::Ffma { chains: 1, count: 128 }, [320, 8], 32),
    kernel("ffma_ind8_full", SyntheticProgram::Ffma { chains: 8, count: 128 }, [320, 8], 32),
    kernel("imad_dep_1warp", chains("IMAD", 3, 1, 2048), [1, 1], 32),
    kernel("mufu_ind8_full", chains("MUFU.RCP", 1, 8, 128), [160, 8], 64),
    kernel("dfma_ind8_full", chains("DFMA", 3, 8, 128), [160, 8], 64),
    kernel("hmma_ind8_full", chains("HMMA.884.F32.F32.STEP0", 3, 8, 128), [160, 8], 64),
    conflicts("smem_conflict1", 1),
    conflicts("smem_conflict2", 2),
    conflicts("smem_conflict8", 8),
    conflicts("smem_conflict32", 32),
    SyntheticKernel {
        shared_bytes: 8 << 10,
        copies: MATRIX_INPUTS,
        ..kernel("gemm_512x512x32", SyntheticProgram::MatrixProduct, [64, 8], 96)
    },
    kernel("divergent", SyntheticProgram::Divergent, [256, 8], 24),
    SyntheticKernel { shared_bytes: 1 << 10, ..kernel("reduce_512x256", SyntheticProgram::Reduction, [512, 8], 16) },
    kernel("atomic_same", SyntheticProgram::Atomics(AtomicTargets::Shared), [64, 8], 16),
    kernel("atomic_seq", SyntheticProgram::Atomics(AtomicTargets::PerThread { words: 65536 }), [256, 8], 16),
    kernel("atomic_hist", SyntheticProgram::Atomics(AtomicTargets::Random { words: 256 }), [128, 8], 16),
    kernel("bigcode", SyntheticProgram::LongCode { count: 8192 }, [4, 4], 32),
];
