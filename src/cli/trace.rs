//! `warpshard trace`: writes a kernel model as an Accel-Sim trace or a native file, or shows the sizes of a trace.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use warpshard_base::CtaIndex;
use warpshard_model::ModelKernel;
use warpshard_report::Scratch;
use warpshard_report::text::count_with_noun;
use warpshard_run::Exit;
use warpshard_run::inputs::Settings;
use warpshard_trace::{TraceOptions, write_kernel};
use warpshard_workload::Command;

use super::args::TraceArgs;
use super::failure::Failure;
use super::inputs;
use super::{convert, output, trace_sizes};

/// The binary version of Volta, whose instructions kernel models use.
const BINARY_VERSION: u32 = 70;

/// Writes the trace, which appears only when it is complete, or shows the sizes of an existing trace.
///
/// # Errors
/// Fails if the model or trace is invalid, or the folder is not empty or cannot be written.
pub(super) fn trace(args: &TraceArgs) -> Result<Exit, Failure> {
    let recorded = Path::new(&args.workload);
    let recorded = recorded.exists() && recorded.extension().is_none_or(|suffix| suffix != "toml");
    match &args.out {
        None if recorded => trace_sizes::show(Path::new(&args.workload)),
        None => Err(Failure::new(Exit::Usage, "--out is missing: the folder for the trace of the kernel model, as in --out traces/vecadd")),
        Some(_) if recorded => {
            let what = format!("--out: {} is already a trace; to change its format, use `warpshard convert`", args.workload);
            Err(Failure::new(Exit::Usage, what))
        }
        Some(out) if args.native => native(args, out),
        Some(out) => {
            text(args, out)?;
            let (list, report) = (out.join("kernelslist.g"), trace_sizes::trace_report(out)?);
            let kernels = count_with_noun(report.kernels.len() as u64, "kernel");
            let sizes = trace_sizes::line(&report);
            output::print(&format!("wrote {kernels}; simulate with: warpshard run --trace {}\n{sizes}", list.display())).map(|()| Exit::Ok)
        }
    }
}

/// Writes a text trace to a temporary folder and converts it to a native file.
fn native(args: &TraceArgs, out: &Path) -> Result<Exit, Failure> {
    let failure = |error: io::Error| Failure::new(Exit::Output, format!("cannot write {}: {error}", out.display()));
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failure)?;
    let scratch = Scratch::new(parent).map_err(failure)?;
    // The name of a trace is the name of its folder.
    let stem = out.file_stem().map_or_else(|| "trace".into(), |stem| stem.to_string_lossy().into_owned());
    let folder = scratch.path().join(stem);
    text(args, &folder)?;
    convert::native_file(&folder, out, true, false, &TraceOptions::default(), &mut |_| true)?;
    let report = trace_sizes::trace_report(out)?;
    let kernels = count_with_noun(report.kernels.len() as u64, "kernel");
    let sizes = trace_sizes::line(&report);
    output::print(&format!("wrote {kernels}; simulate with: warpshard run --trace {}\n{sizes}", out.display())).map(|()| Exit::Ok)
}

/// Writes the folder of the text trace.
fn text(args: &TraceArgs, out: &Path) -> Result<(), Failure> {
    let model = inputs::model(&args.workload, args.seed, &Settings::of(&args.set).model)?;
    let failure = |error: io::Error| Failure::new(Exit::Output, format!("cannot write the trace to {}: {error}", out.display()));
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failure)?;
    // A rename would fail for a folder that is not empty, but only after the trace has been written.
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::new(Exit::Output, format!("{} is not empty; choose another folder", out.display())));
    }
    let mut folder = Scratch::new(parent).map_err(failure)?;
    for (index, kernel) in model.kernels.iter().enumerate() {
        write(&folder.path().join(file_name(index)), kernel).map_err(failure)?;
    }
    fs::write(folder.path().join("kernelslist.g"), list(&model.commands)).map_err(failure)?;
    folder.rename(out).map_err(failure)
}

fn file_name(index: usize) -> String {
    format!("kernel-{}.traceg", index + 1)
}

/// Formats copies and launches in program order.
fn list(commands: &[Command]) -> String {
    let mut text = String::new();
    for command in commands {
        let _ = match command {
            Command::CopyToDevice { addr, bytes } => writeln!(text, "MemcpyHtoD,{:#018x},{bytes}", addr.0),
            Command::Launch(kernel) => writeln!(text, "{}", file_name(kernel.index())),
        };
    }
    text
}

fn write(path: &Path, kernel: &ModelKernel) -> io::Result<()> {
    let kernel_info = &kernel.kernel.info;
    let mut ctas = (0..kernel_info.ctas()).map(|cta| kernel.kernel.source.cta(CtaIndex(cta)));
    let code = kernel.kernel.source.cta(CtaIndex(0)).code.clone();
    let mut out = BufWriter::new(File::create_new(path)?);
    write_kernel(&mut out, kernel_info, BINARY_VERSION, &code, &kernel.mnemonics, &mut ctas)?;
    out.flush()?;
    out.get_ref().sync_all()
}
