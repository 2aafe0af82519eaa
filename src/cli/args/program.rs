//! Options of the commands about programs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use warpshard_run::{ArchitectureError, architecture};

use super::shared::key_value;

/// Options of `compile`.
#[derive(Args, Debug)]
pub(crate) struct CompileArgs {
    /// CUDA C (.cu), whose host code is left out, or a cubin. Several sources are compiled as one.
    #[arg(value_name = "FILE", required = true)]
    pub sources: Vec<PathBuf>,
    /// The architecture to compile for: sm_70, sm_75, sm_80, sm_86, sm_90, or sm_90a with products of warp groups.
    #[arg(long, value_name = "sm_70", value_parser = target, default_value = "sm_70")]
    pub arch: String,
    /// Where the listing goes [default: the source's name with the architecture and .sass].
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Of a cubin that Triton made: the JSON file that says how its kernel is launched (docs/programs.md). Makes the listing and a launch file
    /// beside it, and --arch is that of the file.
    #[arg(long, value_name = "FILE")]
    pub meta: Option<PathBuf>,
    /// The Python interpreter in whose environment NVRTC and nvdisasm are installed.
    #[arg(long, value_name = "FILE", default_value = "python3")]
    pub python: PathBuf,
    /// An instance of a kernel that is a template, such as `reduce<float, 256>`; may be given several times.
    #[arg(long, alias = "entry", value_name = "NAME")]
    pub kernel: Vec<String>,
    /// Folders of headers and definitions of macros.
    #[command(flatten)]
    pub preprocessor: PreprocessorArgs,
    /// Options for NVRTC, after `--`.
    #[arg(last = true, value_name = "OPTION")]
    pub options: Vec<String>,
}

/// An architecture to compile for, of which one that ends with `a` has instructions of its own.
fn target(text: &str) -> Result<String, ArchitectureError> {
    architecture(text.strip_suffix('a').unwrap_or(text)).map(|_| text.to_owned())
}

/// Options of the preprocessor.
#[derive(Args, Debug)]
pub(crate) struct PreprocessorArgs {
    /// A folder of headers of a CUDA source; repeatable.
    #[arg(short = 'I', long = "include", value_name = "DIR", help_heading = "CUDA sources")]
    pub include: Vec<PathBuf>,
    /// Define a macro of a CUDA source; repeatable.
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]", help_heading = "CUDA sources")]
    pub define: Vec<String>,
}

/// Options of the commands that take a CUDA source in place of a launch file.
#[derive(Args, Debug)]
pub(crate) struct LaunchArgs {
    /// The kernel of a CUDA source, such as `saxpy` or `reduce<float, 256>`; without this its only kernel.
    #[arg(long, value_name = "NAME", help_heading = "CUDA sources")]
    pub entry: Option<String>,
    /// CTAs in one to three dimensions; integers or formulas of the arguments.
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', default_value = "1", help_heading = "CUDA sources")]
    pub grid: Vec<String>,
    /// Threads of a CTA in one to three dimensions.
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', default_value = "256", help_heading = "CUDA sources")]
    pub block: Vec<String>,
    /// Dynamic shared memory of a CTA, in bytes.
    #[arg(long, value_name = "BYTES", help_heading = "CUDA sources")]
    pub shared: Option<String>,
    /// Launch cooperatively: CTAs may wait for each other.
    #[arg(long, help_heading = "CUDA sources")]
    pub cooperative: bool,
    /// An argument by the parameter's name: a number, a formula, a buffer such as f32[n]:uniform, or a list for a struct; repeatable. After the
    /// colon: uniform, uniform=0..1, normal, integer=0..9, sequence, zero, constant=1, file=NAME, formula=FORMULA. An integer of another name is a
    /// parameter of formulas, a buffer of another name one whose address a list has: x=f32[64] and p=[&x,64].
    #[arg(long, value_name = "NAME=VALUE", value_parser = key_value, help_heading = "CUDA sources")]
    pub arg: Vec<(String, String)>,
    /// Choose the arguments that --arg does not give: integers of N, numbers of 1.0, buffers of N^3 elements (at most 4 Mi), which are random, or
    /// zero where the type is unknown.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536), help_heading = "CUDA sources")]
    pub fill: Option<u32>,
    /// Folders of headers and definitions of macros.
    #[command(flatten)]
    pub preprocessor: PreprocessorArgs,
}

/// Options of the commands that take a cubin in place of a launch file.
#[derive(Args, Debug)]
pub(crate) struct CubinArgs {
    /// The program is a cubin that Triton made, and this JSON file says how its kernel is launched (docs/programs.md). Its listing and launch
    /// file are made beside the cubin.
    #[arg(long, value_name = "FILE", help_heading = "Cubins")]
    pub meta: Option<PathBuf>,
    /// The Python interpreter in whose environment NVRTC and nvdisasm are installed.
    #[arg(long, value_name = "FILE", default_value = "python3", help_heading = "Cubins")]
    pub python: PathBuf,
}

/// The program of a run.
#[derive(Args, Debug)]
pub(crate) struct CodeArgs {
    /// Program: a launch file whose kernels are executed as machine code (docs/programs.md).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workload", "trace"], help_heading = "Simulation")]
    pub program: Option<PathBuf>,
    /// How a cubin is launched.
    #[command(flatten)]
    pub cubin: CubinArgs,
    /// Compute the values of matrix products, or skip them: a run without them has the same cycles and takes less time. It is an error if an address, a
    /// branch or a barrier depends on a product.
    #[arg(long, value_enum, value_name = "compute|skip", default_value = "compute", help_heading = "Simulation")]
    pub matrix_values: MatrixValues,
}

/// Whether matrix products are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MatrixValues {
    Compute,
    Skip,
}

/// Options of `exec`.
#[derive(Args, Debug)]
pub(crate) struct ExecArgs {
    /// The launch file, a CUDA source (.cu), or with --meta a cubin. Further CUDA sources are compiled with the first.
    #[arg(value_name = "FILE", required = true)]
    pub program: Vec<PathBuf>,
    /// How the cubin is launched.
    #[command(flatten)]
    pub cubin: CubinArgs,
    /// How a kernel of a CUDA source is launched.
    #[command(flatten)]
    pub launch: LaunchArgs,
    /// The architecture whose listing is executed [default: the first].
    #[arg(long, value_name = "sm_70", value_parser = architecture)]
    pub arch: Option<u32>,
    /// Change a parameter of the launch file; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Rows of the instruction mix to show for each kernel.
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub mix: usize,
    /// Leave out sectors and bank conflicts, whose counting takes time.
    #[arg(long)]
    pub fast: bool,
    /// Look for races of warps on shared memory, and for reads of shared and local memory that nothing has written.
    #[arg(long)]
    pub check: bool,
}

/// Options of `record`.
#[derive(Args, Debug)]
pub(crate) struct RecordArgs {
    /// The launch file.
    #[arg(value_name = "FILE")]
    pub program: PathBuf,
    /// The folder to make.
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// The architecture whose listing is executed [default: the first].
    #[arg(long, value_name = "sm_70", value_parser = architecture)]
    pub arch: Option<u32>,
    /// Change a parameter of the launch file; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Replace a trace that is there already.
    #[arg(long)]
    pub force: bool,
}
