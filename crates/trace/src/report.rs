//! Contents of a trace: the result of a check.

use std::path::PathBuf;

use warpshard_workload::{CtaProgram, KernelInfo, OpClass};

use super::kernel::OpenedKernel;

/// A summary of a trace's contents.
#[derive(Clone, Debug, Default)]
pub struct TraceReport {
    /// Name of the trace.
    pub name: String,
    /// Host-to-device copies.
    pub copies: u64,
    /// The kernels, in launch order.
    pub kernels: Vec<KernelReport>,
    /// Descriptions of unusual but accepted input, each with its number of occurrences.
    pub notes: Vec<(String, u64)>,
}

/// A summary of one kernel's contents.
#[derive(Clone, Debug)]
pub struct KernelReport {
    /// File that contains the kernel.
    pub file: PathBuf,
    /// Launch parameters from the kernel's header, guesses included.
    pub info: KernelInfo,
    /// Binary version according to the kernel's header.
    pub binary_version: u32,
    /// Name of the opcode table's generation.
    pub generation: &'static str,
    /// Major version of the tracer; 0 if the header does not contain it.
    pub tracer_version: u32,
    /// CTAs decoded.
    pub ctas: u64,
    /// Warps with at least one instruction.
    pub warps: u64,
    /// Warp instructions, including those without active lanes.
    pub warp_instructions: u64,
    /// Thread instructions: the sum of active lanes.
    pub thread_instructions: u64,
    /// Warp instructions per [`OpClass`], indexed by its discriminant.
    pub classes: [u64; OpClass::COUNT],
    /// Static instructions of the program.
    pub static_instructions: u64,
    /// Bytes of text after decompression.
    pub text_bytes: u64,
    /// Bytes of the kernel in its file: compressed bytes of a text file; for a native trace, bytes without the data that only its text
    /// needs.
    pub stored_bytes: u64,
    /// Bytes of the decoded streams before equal streams share memory.
    pub decoded_bytes: u64,
}

impl TraceReport {
    /// Returns the warp instructions of all kernels.
    pub fn warp_instructions(&self) -> u64 {
        self.kernels.iter().map(|kernel| kernel.warp_instructions).sum()
    }

    /// Returns the thread instructions of all kernels.
    pub fn thread_instructions(&self) -> u64 {
        self.kernels.iter().map(|kernel| kernel.thread_instructions).sum()
    }

    /// Returns the CTAs of all kernels.
    pub fn ctas(&self) -> u64 {
        self.kernels.iter().map(|kernel| kernel.ctas).sum()
    }
}

impl KernelReport {
    pub(super) fn new(opened: &OpenedKernel) -> Self {
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
