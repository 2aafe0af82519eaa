//! Options of the commands about programs.

use std::path::PathBuf;

use clap::Args;

use warpshard_run::{ArchitectureError, architecture};

use super::shared::key_value;

/// Options of `compile`.
#[derive(Args, Debug)]
pub(crate) struct CompileArgs {
    /// CUDA C device code (.cu), or a cubin.
    #[arg(value_name = "FILE")]
    pub source: PathBuf,
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
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// Options for NVRTC, after `--`.
    #[arg(last = true, value_name = "OPTION")]
    pub options: Vec<String>,
}

/// An architecture to compile for, of which one that ends with `a` has instructions of its own.
fn target(text: &str) -> Result<String, ArchitectureError> {
    architecture(text.strip_suffix('a').unwrap_or(text)).map(|_| text.to_owned())
}

/// Options of the commands that take a cubin in place of a launch file.
#[derive(Args, Debug)]
pub(crate) struct CubinArgs {
    /// The program is a cubin that Triton made, and this JSON file says how its kernel is launched (docs/programs.md). Its listing and launch
    /// file are made beside the cubin.
    #[arg(long, value_name = "FILE", requires = "program", help_heading = "Cubins")]
    pub meta: Option<PathBuf>,
    /// The Python interpreter in whose environment nvdisasm is installed.
    #[arg(long, value_name = "FILE", default_value = "python3", requires = "meta", help_heading = "Cubins")]
    pub python: PathBuf,
}

/// Options of `exec`.
#[derive(Args, Debug)]
pub(crate) struct ExecArgs {
    /// The launch file, or with --meta a cubin.
    #[arg(value_name = "FILE")]
    pub program: PathBuf,
    /// How the cubin is launched.
    #[command(flatten)]
    pub cubin: CubinArgs,
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
