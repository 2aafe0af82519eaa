//! `warpshard compile`, `exec` and `record`: commands for programs without timing.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use warpshard_config::input;
use warpshard_program::{
    Difference, Execution, KernelSummary, OutputSummary, Program, is_triton_launch_file, triton_architecture, triton_launch_file,
};
use warpshard_report::text::{count, count_with_noun, percent, printable, printable_lines, si_number};
use warpshard_run::Exit;

use super::args::{CompileArgs, CubinArgs, ExecArgs, LaunchArgs, RecordArgs};
use super::cuda::{self, CompileError};
use super::failure::Failure;
use super::output;

/// Compiles CUDA C to a listing.
///
/// # Errors
/// Fails if a tool is missing, the source is invalid, or the listing cannot be written.
pub(super) fn compile(args: &CompileArgs) -> Result<Exit, Failure> {
    let arch = match &args.meta {
        Some(meta) => format!("sm_{}", triton_architecture(meta).map_err(|error| Failure::new(Exit::Workload, error))?),
        None => args.arch.clone(),
    };
    let first = &args.sources[0];
    let out = args.out.clone().unwrap_or_else(|| first.with_extension(format!("{arch}.sass")));
    let kernels = if cuda::is_source(first) {
        cuda::compile(&args.sources, (&arch, &out, &args.python), &args.preprocessor, (&args.kernel, &args.options))?.kernels
    } else if let [source] = args.sources.as_slice() {
        listing(source, &arch, &out, &args.python, &args.options)?
    } else {
        return Err(Failure::new(
            Exit::Usage,
            format!("{} is not a CUDA source (.cu); only CUDA sources can be given together", first.display()),
        ));
    };
    let made = args.meta.as_ref().map(|meta| launch_file(meta, &out)).transpose()?;
    let with = made.map_or_else(String::new, |file| format!(", and its launch file {}", file.display()));
    output::print(&format!("{} written: {} for {arch}{with}\n", out.display(), count_with_noun(kernels, "kernel"))).map(|()| Exit::Ok)
}

/// Returns the launch file of a program: the given file, or a new file next to a CUDA source or, with `--meta`, next to a cubin. `arch` is
/// the target architecture of CUDA sources.
///
/// # Errors
/// Fails if a tool is missing, the source, the cubin or its JSON file is invalid, or an output cannot be written.
pub(super) fn prepare_launch(
    programs: &[PathBuf],
    cubin: &CubinArgs,
    launch: &LaunchArgs,
    arch: impl FnOnce() -> Result<String, Failure>,
) -> Result<PathBuf, Failure> {
    let first = &programs[0];
    if cuda::is_source(first) {
        return cuda::compile_for_launch(programs, &cubin.python, launch, &arch()?);
    }
    if let Some(second) = programs.get(1) {
        return Err(Failure::new(
            Exit::Usage,
            format!("{} and {}: only CUDA sources (.cu) can be given together", first.display(), second.display()),
        ));
    }
    if launch.entry.is_some() || launch.fill.is_some() || !launch.arg.is_empty() {
        let what = format!("--entry, --arg and --fill are options of CUDA sources (.cu), but {} is not one", first.display());
        return Err(Failure::new(Exit::Usage, what));
    }
    let Some(meta) = &cubin.meta else {
        if first.extension().is_some_and(|end| end == "cubin") {
            let what = format!(
                "{} is a cubin; name the JSON file that describes its launch with --meta (docs/programs.md, Kernels of Triton)",
                first.display()
            );
            return Err(Failure::new(Exit::Usage, what));
        }
        return Ok(first.clone());
    };
    let arch = triton_architecture(meta).map_err(|error| Failure::new(Exit::Workload, error))?;
    let out = first.with_extension(format!("sm_{arch}.sass"));
    listing(first, &format!("sm_{arch}"), &out, &cubin.python, &[])?;
    launch_file(meta, &out)
}

/// Writes the launch file of a kernel that Triton compiled next to its listing.
fn launch_file(meta: &Path, listing: &Path) -> Result<PathBuf, Failure> {
    let text = triton_launch_file(meta, listing).map_err(|error| Failure::new(Exit::Workload, error))?;
    let file = listing.with_extension("toml");
    if file.exists() && !input::read_text(&file).is_ok_and(|before| is_triton_launch_file(&before)) {
        let what = format!(
            "{} already exists, and this program did not write it; move it, or choose another name with compile --out",
            file.display()
        );
        return Err(Failure::new(Exit::Output, what));
    }
    output::file(&file, text.as_bytes())?;
    Ok(file)
}

/// Writes the listing of a cubin; returns the number of its kernels.
fn listing(source: &Path, arch: &str, out: &Path, python: &Path, options: &[String]) -> Result<u64, Failure> {
    if !source.is_file() {
        return Err(Failure::new(Exit::Workload, format!("{} is no file", source.display())));
    }
    let arguments = |made: &Path| {
        let first: [OsString; 3] = [source.into(), arch.into(), made.into()];
        first.into_iter().chain(options.iter().map(OsString::from))
    };
    match cuda::write_listing(out, |made| cuda::run(python, arguments(made))) {
        Ok((text, said)) => {
            if !said.is_empty() {
                output::warn(&said);
            }
            Ok(text.lines().filter(|line| line.starts_with("kernel ")).count() as u64)
        }
        Err(CompileError::Failure(failure)) => Err(failure),
        Err(CompileError::Messages(said)) => {
            Err(Failure::new(Exit::Workload, format!("{} does not compile for {arch}:\n{said}", source.display())))
        }
    }
}

fn load(path: &Path, arch: Option<u32>, set: &[(String, String)]) -> Result<Arc<Program>, Failure> {
    Program::load(path, arch, set).map_err(|error| Failure::new(Exit::Workload, error))
}

/// Executes a program and prints its instructions, accesses and outputs.
///
/// # Errors
/// Fails if the program is invalid or its execution stops with an error.
pub(super) fn exec(args: &ExecArgs) -> Result<Exit, Failure> {
    let arch = || Ok(args.arch.map_or_else(|| "sm_90".to_owned(), |arch| format!("sm_{arch}")));
    let launched = prepare_launch(&args.program, &args.cubin, &args.launch, arch)?;
    let program = load(&launched, args.arch, &args.set)?;
    let started = Instant::now();
    let done = if args.check { program.check(!args.fast) } else { program.execute(!args.fast) };
    let done = done.map_err(|error| Failure::new(Exit::Workload, error))?;
    let seconds = started.elapsed().as_secs_f64();
    for (warning, times) in &done.warnings {
        output::warn(&format!("warning: {} ({} times)", printable(warning), count(*times)));
    }
    output::print(&report(&program, &done, args, seconds))?;
    if !done.outputs.iter().any(|output| is_compared(output, args)) {
        let why = if done.outputs.is_empty() {
            "the launch file lists no outputs"
        } else if done.outputs.iter().any(|output| output.expected.is_some()) {
            "the CRC-32s in the launch file are for its default parameters, which --set overrides"
        } else {
            "the launch file has no expected CRC-32 or contents"
        };
        output::warn(&format!("warning: {}: no result was compared: {why}", args.program[0].display()));
    }
    if args.set.is_empty() && !done.matches_expected() {
        return Err(Failure::new(Exit::Workload, format!("{}: a result differs from the one expected", args.program[0].display())));
    }
    Ok(Exit::Ok)
}

/// Returns true if an output was compared with an expectation. An expected CRC-32 holds only for the parameters of the launch file; with
/// overridden parameters, only an equal CRC-32 counts as a comparison.
fn is_compared(output: &OutputSummary, args: &ExecArgs) -> bool {
    output.compared || output.expected.is_some_and(|expected| args.set.is_empty() || expected == output.crc32)
}

fn report(program: &Program, done: &Execution, args: &ExecArgs, seconds: f64) -> String {
    let mut text = printable_lines(&done.printed, &[]).into_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let total = done.warp_instructions();
    let _ = writeln!(
        text,
        "{} for sm_{}: {} in {seconds:.2} s, {} per second",
        printable(&program.name),
        program.arch,
        count_with_noun(total, "warp instruction"),
        si_number(total as f64 / seconds.max(1e-9)),
    );
    for kernel in &done.kernels {
        kernel_report(&mut text, kernel, args);
    }
    let _ = writeln!(text);
    for output in &done.outputs {
        let verdict = match output.expected {
            Some(expected) if expected == output.crc32 => ", as expected".to_owned(),
            Some(expected) if args.set.is_empty() => format!(", expected {expected:08x}"),
            _ if output.compared && output.difference.is_none() => ", contents as expected".to_owned(),
            _ if output.compared => String::new(),
            _ => ", not compared".to_owned(),
        };
        let _ = writeln!(text, "{}: crc32 {:08x}{verdict}", printable(&output.buffer), output.crc32);
        if let Some(Difference { elements, first, values: [found, wanted], largest }) = &output.difference {
            let elements = count_with_noun(*elements, "element");
            let _ = writeln!(
                text,
                "  differs from what is expected: {elements}, element {first} is {found} instead of {wanted}; at most by {largest:e}"
            );
        }
        if !output.first.is_empty() {
            let _ = writeln!(text, "  {}", output.first.join(" "));
        }
    }
    text
}

fn kernel_report(text: &mut String, kernel: &KernelSummary, args: &ExecArgs) {
    let share = |part: u64, whole: u64| percent(part as f64 / whole.max(1) as f64);
    let _ = writeln!(text, "\n{}: {}", printable(&kernel.name), count_with_noun(kernel.launches, "launch"));
    let active = share(kernel.thread_instructions, 32 * kernel.warp_instructions);
    let _ = writeln!(text, "  {:<34} {:>14}", "warp instructions", count(kernel.warp_instructions));
    let _ = writeln!(text, "  {:<34} {:>14}", "active lanes", active);
    if !args.fast {
        for (name, unit, (accesses, parts)) in [("device memory", "sectors", kernel.global), ("shared memory", "passes", kernel.shared)] {
            if accesses > 0 {
                let per = parts as f64 / accesses as f64;
                let _ = writeln!(text, "  {:<34} {:>14}  {per:.2} {unit} each", format!("accesses of {name}"), count(accesses));
            }
        }
    }
    for (name, executions) in kernel.mix.iter().take(args.mix) {
        let _ = writeln!(text, "    {name:<32} {:>14}  {}", count(*executions), share(*executions, kernel.warp_instructions));
    }
}

/// Writes a program's trace.
///
/// # Errors
/// Fails if the program is invalid, its execution stops with an error, or the trace cannot be written.
pub(super) fn record(args: &RecordArgs) -> Result<Exit, Failure> {
    let program = load(&args.program, args.arch, &args.set)?;
    let out = &args.out;
    let unwritable = |error: std::io::Error| Failure::new(Exit::Output, format!("cannot write {}: {error}", out.display()));
    if out.exists() && !args.force {
        return Err(Failure::new(
            Exit::Output,
            format!("{} already exists; choose another name, or pass --force to replace it", out.display()),
        ));
    }
    // This execution finds errors of the program before any output is written.
    program.execute(false).map_err(|error| Failure::new(Exit::Workload, error))?;
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(unwritable)?;
    let folder = tempfile::Builder::new().prefix(".warpshard-").suffix(".partial").tempdir_in(parent).map_err(unwritable)?;
    let made = folder.path().join("trace");
    program.record(&made).map_err(unwritable)?;
    if out.exists() {
        fs::remove_dir_all(out).map_err(unwritable)?;
    }
    fs::rename(&made, out).map_err(unwritable)?;
    output::print(&format!("{} written\n", out.join("kernelslist.g").display())).map(|()| Exit::Ok)
}
