//! Options of the commands that take programs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use warpshard_run::{ArchitectureError, architecture};

use super::shared::key_value;

/// Options of `compile`.
#[derive(Args, Debug)]
pub(crate) struct CompileArgs {
    /// CUDA C (.cu), whose host code is ignored, or a cubin. Several sources are compiled as one.
    #[arg(value_name = "FILE", required = true)]
    pub sources: Vec<PathBuf>,
    /// Target architecture: sm_70, sm_75, sm_80, sm_86, sm_90, or sm_90a with warp-group matrix products.
    #[arg(long, value_name = "sm_70", value_parser = target, default_value = "sm_70")]
    pub arch: String,
    /// Listing to write [default: the source's name with the architecture and .sass].
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// For a cubin that Triton made: the JSON file that describes the launch of its kernel (docs/programs.md). The command also writes a
    /// launch file next to the listing, and --arch defaults to the architecture in the JSON file.
    #[arg(long, value_name = "FILE")]
    pub meta: Option<PathBuf>,
    /// Python interpreter with the packages NVRTC and nvdisasm.
    #[arg(long, value_name = "FILE", default_value = "python3")]
    pub python: PathBuf,
    /// An instance of a kernel template, such as `reduce<float, 256>`. Repeatable.
    #[arg(long, alias = "entry", value_name = "NAME")]
    pub kernel: Vec<String>,
    /// Include folders and macro definitions.
    #[command(flatten)]
    pub preprocessor: PreprocessorArgs,
    /// Options for NVRTC, after `--`.
    #[arg(last = true, value_name = "OPTION")]
    pub options: Vec<String>,
}

/// Parses a target architecture; a name that ends with `a` has architecture-specific instructions.
fn target(text: &str) -> Result<String, ArchitectureError> {
    architecture(text.strip_suffix('a').unwrap_or(text)).map(|_| text.to_owned())
}

/// Options of the preprocessor.
#[derive(Args, Debug)]
pub(crate) struct PreprocessorArgs {
    /// An include folder of a CUDA source. Repeatable.
    #[arg(short = 'I', long = "include", value_name = "DIR", help_heading = "CUDA sources")]
    pub include: Vec<PathBuf>,
    /// Define a macro of a CUDA source. Repeatable.
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]", help_heading = "CUDA sources")]
    pub define: Vec<String>,
}

/// Options of the commands that accept a CUDA source instead of a launch file.
#[derive(Args, Debug)]
pub(crate) struct LaunchArgs {
    /// Kernel of a CUDA source, such as `saxpy` or `reduce<float, 256>` [default: its only kernel].
    #[arg(long, value_name = "NAME", help_heading = "CUDA sources")]
    pub entry: Option<String>,
    /// Grid size in CTAs, one to three dimensions; integers or formulas of the arguments.
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', default_value = "1", help_heading = "CUDA sources")]
    pub grid: Vec<String>,
    /// Block size in threads, one to three dimensions.
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', default_value = "256", help_heading = "CUDA sources")]
    pub block: Vec<String>,
    /// Dynamic shared memory of a CTA in bytes.
    #[arg(long, value_name = "BYTES", help_heading = "CUDA sources")]
    pub shared: Option<String>,
    /// Launch cooperatively: CTAs may synchronize across the grid.
    #[arg(long, help_heading = "CUDA sources")]
    pub cooperative: bool,
    /// An argument, named after the parameter: a number, a formula, a buffer such as f32[n]:uniform, or a list for a struct. Repeatable.
    /// Contents of a buffer, after the colon: uniform, uniform=0..1, normal, integer=0..9, sequence, zero, constant=1, file=NAME,
    /// formula=FORMULA. An integer whose name is no parameter of the kernel can be used in formulas; the address of a buffer whose name is
    /// no parameter can be used in a list: x=f32[64] and p=[&x,64].
    #[arg(long, value_name = "NAME=VALUE", value_parser = key_value, help_heading = "CUDA sources")]
    pub arg: Vec<(String, String)>,
    /// Choose the arguments that --arg does not give: N for integers, 1.0 for floating-point numbers, and buffers of N^3 elements (at most
    /// 4 Mi), which are random, or zero if their type is unknown.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536), help_heading = "CUDA sources")]
    pub fill: Option<u32>,
    /// Include folders and macro definitions.
    #[command(flatten)]
    pub preprocessor: PreprocessorArgs,
}

/// Options of the commands that accept a cubin instead of a launch file.
#[derive(Args, Debug)]
pub(crate) struct CubinArgs {
    /// JSON file that describes the launch of a Triton kernel, for a program that is a cubin made by Triton (docs/programs.md). The listing
    /// and the launch file are written next to the cubin.
    #[arg(long, value_name = "FILE", help_heading = "Cubins")]
    pub meta: Option<PathBuf>,
    /// Python interpreter with the packages NVRTC and nvdisasm.
    #[arg(long, value_name = "FILE", default_value = "python3", help_heading = "Cubins")]
    pub python: PathBuf,
}

/// Options that select the program of a run.
#[derive(Args, Debug)]
pub(crate) struct CodeArgs {
    /// Program: a launch file whose kernels are executed as machine code (docs/programs.md).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workload", "trace"], help_heading = "Simulation")]
    pub program: Option<PathBuf>,
    /// Launch options of a cubin.
    #[command(flatten)]
    pub cubin: CubinArgs,
    /// Compute the values of matrix products, or skip them. Without values a run has the same cycles and takes less time; an address, a
    /// branch or a barrier that depends on a product is then an error.
    #[arg(long, value_enum, value_name = "compute|skip", default_value = "compute", help_heading = "Simulation")]
    pub matrix_values: MatrixValues,
}

/// Modes of `--matrix-values`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MatrixValues {
    Compute,
    Skip,
}

/// Options of `exec`.
#[derive(Args, Debug)]
pub(crate) struct ExecArgs {
    /// Launch file, CUDA source (.cu), or with --meta a cubin. Further CUDA sources are compiled with the first.
    #[arg(value_name = "FILE", required = true)]
    pub program: Vec<PathBuf>,
    /// Launch options of a cubin.
    #[command(flatten)]
    pub cubin: CubinArgs,
    /// Launch options of a kernel in a CUDA source.
    #[command(flatten)]
    pub launch: LaunchArgs,
    /// Architecture of the listing to execute [default: the first].
    #[arg(long, value_name = "sm_70", value_parser = architecture)]
    pub arch: Option<u32>,
    /// Override a parameter of the launch file. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Maximum rows of the instruction mix of a kernel.
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub mix: usize,
    /// Do not count sectors and bank conflicts, which takes time.
    #[arg(long)]
    pub fast: bool,
    /// Detect races between warps on shared memory, and reads of uninitialized shared and local memory.
    #[arg(long)]
    pub check: bool,
}

/// Options of `record`.
#[derive(Args, Debug)]
pub(crate) struct RecordArgs {
    /// Launch file of the program.
    #[arg(value_name = "FILE")]
    pub program: PathBuf,
    /// Folder of the trace to create.
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Architecture of the listing to execute [default: the first].
    #[arg(long, value_name = "sm_70", value_parser = architecture)]
    pub arch: Option<u32>,
    /// Override a parameter of the launch file. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Replace an existing trace.
    #[arg(long)]
    pub force: bool,
}
