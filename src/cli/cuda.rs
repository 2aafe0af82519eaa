//! CUDA sources as programs: compiled without their host code, and launched with options instead of a launch file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use warpshard_config::input;
use warpshard_program::{COMPILER_SCRIPT, LaunchOptions, Sources, is_triton_launch_file, launch_file};
use warpshard_report::is_special;
use warpshard_run::Exit;

use super::args::{LaunchArgs, PreprocessorArgs};
use super::failure::Failure;
use super::output;

/// Maximum number of compilations of a source; after each failed compilation, declarations that NVRTC rejects are left out.
const MAX_COMPILATIONS: usize = 32;
/// NVRTC's option that compiles declarations without `__host__` or `__device__` as device code.
const UNMARKED_AS_DEVICE: &str = "--device-as-default-execution-space";

/// Returns true if the file name has the extension of a CUDA source.
pub(super) fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "cu" || extension == "cuh")
}

/// A compiled source whose listing has been written.
pub(super) struct CompiledSource {
    /// The number of kernels in the listing.
    pub(super) kernels: u64,
    /// Names of the requested kernels in the listing, by expression.
    names: BTreeMap<String, String>,
}

/// Compiles sources as one to the listing `out`. If this fails, compiles them again as a host compiler would see them: after the whole C++
/// library, with declarations without `__host__` or `__device__` as device code.
///
/// # Errors
/// Fails if a tool is missing, a file cannot be read, device code is invalid, or the listing cannot be written.
pub(super) fn compile(
    paths: &[PathBuf],
    (arch, out, python): (&str, &Path, &Path),
    preprocessor: &PreprocessorArgs,
    (kernels, options): (&[String], &[String]),
) -> Result<CompiledSource, Failure> {
    let workload = |error: &dyn std::fmt::Display| Failure::new(Exit::Workload, error);
    let packages = run(python, ["--folders".into()])?;
    let packages: Vec<PathBuf> = String::from_utf8_lossy(&packages.stdout).lines().map(PathBuf::from).collect();
    let read = || Sources::read(paths, &preprocessor.include, &packages).map_err(|error| workload(&error));
    let script = |text: &Path, made: &Path, unmarked: bool| {
        let folder = text.parent().unwrap_or(Path::new("."));
        let mut arguments: Vec<OsString> = vec![paths[0].clone().into(), arch.into(), made.into()];
        arguments.push(joined_argument("--text=", text));
        arguments.extend([folder.join("include"), folder.to_path_buf()].iter().map(|folder| joined_argument("-I", folder)));
        arguments.extend(preprocessor.include.iter().map(|folder| joined_argument("-I", folder)));
        arguments.extend(preprocessor.define.iter().map(|macro_| OsString::from(format!("-D{macro_}"))));
        arguments.extend(options.iter().map(OsString::from));
        arguments.extend(unmarked.then(|| OsString::from(UNMARKED_AS_DEVICE)));
        arguments.extend(kernels.iter().map(|name| OsString::from(format!("--kernel={name}"))));
        run(python, arguments)
    };
    let first = match compile_without_rejected(&mut read()?, out, |text, made| script(text, made, false)) {
        Ok(compiled) => return Ok(compiled),
        Err(CompileError::Messages(messages)) => messages,
        Err(CompileError::Failure(failure)) => return Err(failure),
    };
    let messages = match compile_without_rejected(&mut read()?.with_whole_library(), out, |text, made| script(text, made, true)) {
        Ok(compiled) => {
            output::warn(
                "note: declarations without __host__ or __device__ are compiled as device code, since device code uses some of them",
            );
            return Ok(compiled);
        }
        Err(CompileError::Messages(messages)) => messages,
        Err(CompileError::Failure(failure)) => return Err(failure),
    };
    let errors = |messages: &String| messages.lines().filter(|line| line.contains("): error")).count();
    let messages = if errors(&messages) < errors(&first) { messages } else { first };
    let help = "help: give missing headers with -I and macros with -D; `--python` names the interpreter whose packages are used";
    Err(workload(&format!("{} does not compile for {arch}:\n{messages}\n{help}", paths[0].display())))
}

/// Calls `compile` until it accepts the sources, and leaves out declarations that NVRTC rejects before each repetition.
fn compile_without_rejected(
    sources: &mut Sources,
    out: &Path,
    compile: impl Fn(&Path, &Path) -> Result<Output, Failure>,
) -> Result<CompiledSource, CompileError> {
    let unwritable = |what: String| CompileError::Failure(Failure::new(Exit::Output, what));
    let mut round = 0;
    loop {
        round += 1;
        let folder = tempfile::Builder::new().prefix("warpshard-").tempdir();
        let folder = folder.map_err(|error| unwritable(format!("cannot make a temporary folder: {error}")))?;
        let text = sources.write(folder.path());
        let text = text.map_err(|error| unwritable(format!("cannot write {}: {error}", folder.path().display())))?;
        match write_listing(out, |made| compile(&text, made)) {
            Ok((listing, _)) => {
                sources.notes().iter().for_each(|note| output::warn(&format!("note: {note}")));
                let instances = listing.lines().filter_map(|line| line.strip_prefix("instance ")?.split_once(' '));
                let names = instances.map(|(name, expression)| (expression.to_owned(), name.to_owned())).collect();
                let count = listing.lines().filter(|line| line.starts_with("kernel ")).count() as u64;
                return Ok(CompiledSource { kernels: count, names });
            }
            Err(CompileError::Failure(failure)) => return Err(CompileError::Failure(failure)),
            Err(CompileError::Messages(log)) => {
                if round < MAX_COMPILATIONS && sources.remove_host_code(&log) > 0 {
                    continue;
                }
                let notes = sources.notes().into_iter().chain(sources.missing_headers()).map(|note| format!("note: {note}"));
                return Err(CompileError::Messages([log].into_iter().chain(notes).collect::<Vec<_>>().join("\n")));
            }
        }
    }
}

/// The reason for a missing listing.
pub(super) enum CompileError {
    /// Messages of NVRTC, which rejects the source.
    Messages(String),
    /// Any other failure.
    Failure(Failure),
}

fn joined_argument(option: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(option);
    argument.push(path);
    argument
}

/// Runs the Python script that compiles.
///
/// # Errors
/// Fails if the interpreter cannot be started or a tool is missing.
pub(super) fn run(python: &Path, arguments: impl IntoIterator<Item = OsString>) -> Result<Output, Failure> {
    let done = Command::new(python).arg("-c").arg(COMPILER_SCRIPT).args(arguments).output().map_err(|error| {
        let what = format!("cannot start {}: {error}; name a Python 3 interpreter with --python", python.display());
        Failure::new(Exit::Usage, what)
    })?;
    if done.status.code() == Some(3) {
        return Err(Failure::new(Exit::Usage, String::from_utf8_lossy(&done.stderr).trim_end()));
    }
    Ok(done)
}

/// Compiles sources and writes a launch file of their kernel `--entry` next to the first source; returns the path of the launch file.
///
/// # Errors
/// Fails as [`compile`] does, and if the kernel or an argument is missing or unknown.
pub(super) fn compile_for_launch(paths: &[PathBuf], python: &Path, args: &LaunchArgs, arch: &str) -> Result<PathBuf, Failure> {
    // sm_90a adds warp-group matrix products to sm_90.
    let arch = if arch == "sm_90" { "sm_90a" } else { arch };
    let workload = |error: &dyn std::fmt::Display| Failure::new(Exit::Workload, error);
    // NVRTC needs the name of the kernel.
    let read = Sources::read(paths, &args.preprocessor.include, &[]).map_err(|error| workload(&error))?;
    let (kernel, entry) = read.entry(args.entry.as_deref()).map_err(|error| workload(&error))?;
    let launching = LaunchOptions {
        grid: args.grid.clone(),
        block: args.block.clone(),
        shared: args.shared.clone(),
        cooperative: args.cooperative,
        arguments: args.arg.clone(),
        fill: args.fill,
    };
    let listing = paths[0].with_extension(format!("run.{arch}.sass"));
    let file = listing.with_extension("toml");
    // Arguments are checked before the compilation, which takes long.
    launch_file(&paths[0], (kernel, &entry), (&listing, arch), &launching).map_err(|error| workload(&error))?;
    if file.exists() && !input::read_text(&file).is_ok_and(|before| is_triton_launch_file(&before)) {
        let what = format!("{} already exists, and this program did not write it; move it", file.display());
        return Err(Failure::new(Exit::Output, what));
    }
    // The option does not change the code; with it, messages contain source lines.
    let options = ["--generate-line-info".to_owned()];
    let compiled = compile(paths, (arch, &listing, python), &args.preprocessor, (std::slice::from_ref(&entry), &options))?;
    let name = compiled.names.get(&entry).map_or(entry.as_str(), String::as_str);
    let text = launch_file(&paths[0], (kernel, name), (&listing, arch), &launching).map_err(|error| workload(&error))?;
    output::file(&file, text.as_bytes())?;
    Ok(file)
}

/// Calls `make` to write a listing, which gets its final name when it is complete; returns the listing's text and the messages of the tool.
pub(super) fn write_listing(out: &Path, make: impl FnOnce(&Path) -> Result<Output, Failure>) -> Result<(String, String), CompileError> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unwritable =
        |error: std::io::Error| CompileError::Failure(Failure::new(Exit::Output, format!("cannot write {}: {error}", out.display())));
    if is_special(out) {
        return Err(unwritable(std::io::ErrorKind::InvalidInput.into()));
    }
    let made = tempfile::Builder::new().prefix(".warpshard-").suffix(".partial").tempfile_in(folder).map_err(unwritable)?;
    let done = make(made.path()).map_err(CompileError::Failure)?;
    let said = String::from_utf8_lossy(&done.stderr).trim_end().to_owned();
    if !done.status.success() {
        return Err(CompileError::Messages(said));
    }
    // The text is written again, so that the file has the permissions of an ordinary file.
    let text = fs::read(made.path()).map_err(unwritable)?;
    fs::write(made.path(), &text).map_err(unwritable)?;
    make_readable(made.path()).map_err(unwritable)?;
    made.persist(out).map_err(|error| unwritable(error.error))?;
    Ok((String::from_utf8_lossy(&text).into_owned(), said))
}

#[cfg(unix)]
fn make_readable(file: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(file, fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_: &Path) -> std::io::Result<()> {
    Ok(())
}
