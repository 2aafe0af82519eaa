//! `warpshard convert`: converts text traces to the native format and back.
//!
//! Output is written to a temporary folder next to its destination and renamed at the end, so that an incomplete output never appears.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use warpshard_report::text::{count, count_with_noun, si_number};
use warpshard_report::{Scratch, is_special};
use warpshard_run::Exit;
use warpshard_sync::StopFlag;
use warpshard_trace::{Conversion, ConvertError, ConvertProgress, TraceOptions, native_facts, to_native, to_text, trace_is_native};

use super::args::{Compression, ConvertArgs, TraceFormat};
use super::failure::Failure;
use super::{interrupt, output};

/// Converts a trace.
///
/// # Errors
/// Fails if options conflict with the input, the input is invalid, or the output exists or cannot be written.
pub(super) fn convert(args: &ConvertArgs) -> Result<Exit, Failure> {
    let input = args.input.display();
    let to_text = trace_is_native(&args.input);
    match (args.to, to_text) {
        (Some(TraceFormat::Native), true) => return Err(Failure::new(Exit::Usage, format!("--to native: {input} is already native"))),
        (Some(TraceFormat::Text), false) => return Err(Failure::new(Exit::Usage, format!("--to text: {input} is not a native trace"))),
        _ => {}
    }
    if to_text && args.compress == Some(Compression::Zstd) {
        let what = "--compress zstd: text files keep their original compression; only --compress none is possible";
        return Err(Failure::new(Exit::Usage, what));
    }
    let stop = StopFlag::new();
    let asked = stop.clone();
    interrupt::install_repeated(move || asked.request());
    let watch = ConversionProgress::start(stop);
    let done = if to_text { text(args, &watch)? } else { native(args, &watch)? };
    drop(watch);
    output::print(&report(&done, &args.output)).map(|()| Exit::Ok)
}

/// Formats the result of a conversion in two lines.
fn report(done: &Conversion, out: &Path) -> String {
    let per = |bytes: u64| bytes as f64 / done.warp_instructions.max(1) as f64;
    format!(
        "wrote {}: {}, {}\ntext: {} bytes ({:.2} per warp instruction); native: {} bytes ({:.2}, of which simulation reads {:.2})\n",
        out.display(),
        count_with_noun(done.kernels as u64, "kernel"),
        count_with_noun(done.warp_instructions, "warp instruction"),
        count(done.text_bytes),
        per(done.text_bytes),
        count(done.native_bytes),
        per(done.native_bytes),
        per(done.program_bytes),
    )
}

/// Writes the native file.
fn native(args: &ConvertArgs, watch: &ConversionProgress) -> Result<Conversion, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let options = TraceOptions { threads, lenient: args.lenient, ..TraceOptions::default() };
    let compress = args.compress != Some(Compression::None);
    native_file(&args.input, &args.output, compress, args.force, &options, &mut |progress| watch.update(progress))
}

/// Writes the text trace at `input` as the native file `output`, which appears only when it is complete.
///
/// # Errors
/// Fails as [`convert`] does.
pub(super) fn native_file(
    input: &Path,
    output: &Path,
    compress: bool,
    force: bool,
    options: &TraceOptions,
    watch: &mut dyn FnMut(ConvertProgress) -> bool,
) -> Result<Conversion, Failure> {
    let unwritable = |error: io::Error| cannot_write(output, &error);
    refuse_existing(output, force)?;
    let parent = parent(output)?;
    let scratch = Scratch::new(&parent).map_err(unwritable)?;
    let partial = scratch.path().join("trace");
    let mut out = BufWriter::with_capacity(1 << 18, File::create_new(&partial).map_err(unwritable)?);
    let done = to_native(input, &mut out, compress, options, watch).map_err(|error| failure(error, output))?;
    out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all()).map_err(unwritable)?;
    if force {
        fs::rename(&partial, output).map_err(unwritable)?;
    } else {
        // Unlike a rename, a hard link never replaces a file that was created meanwhile; some file systems have no hard links.
        fs::hard_link(&partial, output)
            .or_else(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Err(error),
                _ => fs::rename(&partial, output),
            })
            .map_err(unwritable)?;
    }
    Ok(done)
}

/// Writes the text folder, or the file of a single kernel.
fn text(args: &ConvertArgs, watch: &ConversionProgress) -> Result<Conversion, Failure> {
    let out = &args.output;
    let unwritable = |error: io::Error| cannot_write(out, &error);
    refuse_existing(out, args.force)?;
    let parent = parent(out)?;
    let facts = native_facts(&args.input).map_err(|error| Failure::new(Exit::Workload, error))?;
    let mut folder = Scratch::new(&parent).map_err(unwritable)?;
    let target = if facts.single { folder.path().join("kernel") } else { folder.path().to_path_buf() };
    let compress = args.compress != Some(Compression::None);
    let done = to_text(&args.input, &target, out, compress, &mut |progress| watch.update(progress));
    let done = done.map_err(|error| failure(error, out))?;
    if facts.single {
        fs::rename(&target, out).map_err(unwritable)?;
    } else if out.is_dir() {
        replace(folder.path(), out).map_err(unwritable)?;
    } else {
        folder.rename(out).map_err(unwritable)?;
    }
    Ok(done)
}

/// Moves the files of a folder into another folder, where they replace files with the same names.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            replace(&entry.path(), &target)?;
        } else {
            fs::rename(entry.path(), target)?;
        }
    }
    Ok(())
}

fn refuse_existing(out: &Path, force: bool) -> Result<(), Failure> {
    if is_special(out) {
        return Err(Failure::new(Exit::Output, format!("{} is a device or a pipe; choose the name of a file", out.display())));
    }
    let empty = out.is_dir() && fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
    if force || empty || !out.exists() {
        return Ok(());
    }
    Err(Failure::new(Exit::Output, format!("{} already exists; choose another name, or replace it with --force", out.display())))
}

/// Returns the parent folder of `out` and creates it if it does not exist.
fn parent(out: &Path) -> Result<PathBuf, Failure> {
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(|error| cannot_write(out, &error))?;
    Ok(parent.to_path_buf())
}

fn cannot_write(out: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Output, format!("cannot write {}: {error}", out.display()))
}

fn failure(error: ConvertError, out: &Path) -> Failure {
    match error {
        ConvertError::Trace(error) => Failure::new(Exit::Workload, error),
        ConvertError::Output(error) => cannot_write(out, &error),
        ConvertError::Stopped => Failure::new(Exit::Interrupted, format!("interrupted; {} was not written", out.display())),
        ConvertError::Internal(_) => Failure::new(Exit::Internal, error),
    }
}

/// Progress of a conversion, shown on a terminal only, with its interrupt flag.
struct ConversionProgress {
    stop: StopFlag,
    bar: ProgressBar,
}

impl ConversionProgress {
    fn start(stop: StopFlag) -> Self {
        let visible = io::stderr().is_terminal();
        let bar =
            ProgressBar::with_draw_target(None, if visible { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() });
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed}  {wide_msg}") {
            bar.set_style(style);
        }
        Self { stop, bar }
    }

    fn update(&self, progress: ConvertProgress) -> bool {
        if !self.bar.is_hidden() {
            let kernel = (progress.kernels_done + 1).min(progress.kernels);
            self.bar.set_message(format!("kernel {kernel} of {}  {}B of text", progress.kernels, si_number(progress.text_bytes as f64)));
            self.bar.tick();
        }
        !self.stop.requested()
    }
}

impl Drop for ConversionProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        let _ = io::stderr().flush();
    }
}
