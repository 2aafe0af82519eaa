//! What is in a trace: the result of a check.

use std::path::PathBuf;

use warpshard_workload::{CtaProgram, KernelInfo, OpClass};

use super::kernel::Opened;

/// The contents of a trace in numbers.
#[derive(Clone, Debug, Default)]
pub struct TraceReport {
    /// The trace's name.
    pub name: String,
    /// Host-to-device copies.
    pub copies: u64,
    /// The kernels, in launch order.
    pub kernels: Vec<KernelReport>,
    /// Things accepted though unusual, each with how often it occurred.
    pub notes: Vec<(String, u64)>,
}

/// The contents of one kernel.
#[derive(Clone, Debug)]
pub struct KernelReport {
    /// The file it was read from.
    pub file: PathBuf,
    /// What its header says, guesses included.
    pub info: KernelInfo,
    /// The binary version by its header.
    pub binary_version: u32,
    /// The name of the opcode table in use.
    pub generation: &'static str,
    /// The tracer's version, as an integer; 0 when the header does not say.
    pub tracer_version: u32,
    /// CTAs decoded.
    pub ctas: u64,
    /// Warps with at least one instruction.
    pub warps: u64,
    /// Warp instructions, those without active lanes included.
    pub warp_instructions: u64,
    /// Thread instructions: the sum of active lanes.
    pub thread_instructions: u64,
    /// Warp instructions per [`OpClass`], indexed by its discriminant.
    pub classes: [u64; OpClass::COUNT],
    /// Different instructions of the program.
    pub static_instructions: u64,
    /// Bytes of text after decompression.
    pub text_bytes: u64,
    /// Bytes in its file: of text, as the file is compressed; of a native trace, without what only its text needs.
    pub stored_bytes: u64,
    /// Bytes of the decoded streams, before equal ones share their memory.
    pub decoded_bytes: u64,
}

impl TraceReport {
    /// Warp instructions of all kernels.
    pub fn warp_instructions(&self) -> u64 {
        self.kernels.iter().map(|kernel| kernel.warp_instructions).sum()
    }

    /// Thread instructions of all kernels.
    pub fn thread_instructions(&self) -> u64 {
        self.kernels.iter().map(|kernel| kernel.thread_instructions).sum()
    }

    /// CTAs of all kernels.
    pub fn ctas(&self) -> u64 {
        self.kernels.iter().map(|kernel| kernel.ctas).sum()
    }
}

impl KernelReport {
    pub(super) fn new(opened: &Opened) -> Self {
        Self {
            file: opened.setup.file.clone(),
            stored_bytes: opened.stored,
            info: opened.info.clone(),
            binary_version: opened.header.binary_version,
            generation: opened.generation.name(),
            tracer_version: opened.header.tracer_version,
            ctas: 0,
            warps: 0,
            warp_instructions: 0,
            thread_instructions: 0,
            classes: [0; OpClass::COUNT],
            static_instructions: 0,
            text_bytes: 0,
            decoded_bytes: 0,
        }
    }

    pub(super) fn count(&mut self, program: &CtaProgram) {
        self.ctas += 1;
        for stream in &program.warps {
            self.warps += u64::from(!stream.is_empty());
            self.warp_instructions += u64::from(stream.len());
            self.decoded_bytes += stream.bytes() as u64;
            for inst in stream.read() {
                self.thread_instructions += u64::from(inst.lanes);
                self.classes[program.code[inst.index as usize].class as usize] += 1;
            }
        }
    }
}
