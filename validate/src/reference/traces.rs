//! Traces of studies: recorded ones from a folder, generated ones, and ones recorded while a program executes.

use std::path::{Path, PathBuf};

use warpshard_lab::error::TaskError;
use warpshard_lab::output::StudyOutput;
use warpshard_lab::reference::References;
use warpshard_program::Program;
use warpshard_trace::SyntheticKernel;

/// A trace that is recorded while a program executes.
struct ExecutedProgram {
    /// The trace's name, without `prog-`.
    name: &'static str,
    /// Path of the launch file, relative to the root of the sources.
    file: &'static str,
    /// Parameters of the program.
    parameters: &'static [(&'static str, u64)],
}

const EXECUTED_PROGRAMS: &[ExecutedProgram] = &[
    ExecutedProgram { name: "tpacf", file: "programs/parboil/tpacf.toml", parameters: &[("sets", 40), ("points", 36)] },
    ExecutedProgram { name: "dxtc", file: "programs/sdk/dxtc.toml", parameters: &[("blocks", 96)] },
];

impl ExecutedProgram {
    /// Executes the program and writes its trace into `folder`.
    fn write_to(&self, folder: &Path) -> Result<(), TaskError> {
        let file = Path::new(self.file);
        let parameters: Vec<_> = self.parameters.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
        let program = Program::load(file, Some(70), &parameters)?;
        program.record(folder).map_err(|error| format!("cannot record {}: {error}", self.file))?;
        Ok(())
    }
}

/// Returns the folder of a trace. A recorded trace (`real-NAME`) is used if it exists; a generated trace (`gen-NAME`) or the trace of an
/// executed program (`prog-NAME`) is written into `cache` unless it exists there.
///
/// # Errors
/// Fails with a message for the user if the trace cannot be written.
pub fn trace_folder(references: &References, cache: &Path, trace: &str) -> Result<Option<PathBuf>, TaskError> {
    if let Some(executed) = trace.strip_prefix("prog-").and_then(|name| EXECUTED_PROGRAMS.iter().find(|executed| executed.name == name)) {
        let parameters: String = executed.parameters.iter().map(|(name, value)| format!("-{name}{value}")).collect();
        let folder = cache.join(format!("{trace}{parameters}"));
        if !folder.join("kernelslist.g").is_file() {
            executed.write_to(&folder)?;
        }
        return Ok(Some(folder));
    }
    let (generated, name) = match trace.strip_prefix("gen-") {
        Some(name) => (SyntheticKernel::named(name), name),
        None => (None, trace.strip_prefix("real-").unwrap_or(trace)),
    };
    let Some(kernel) = generated else {
        return Ok(references.recorded("sass").map(|sass| sass.join(name)).filter(|folder| folder.join("kernelslist.g").is_file()));
    };
    let folder = cache.join(name);
    if !folder.join("kernelslist.g").is_file() {
        kernel.write_to(&folder).map_err(|error| format!("cannot write {}: {error}", folder.display()))?;
    }
    Ok(Some(folder))
}

/// Converts the trace in `folder` to a native file in the cache and returns its path. A file newer than the folder's list is reused.
///
/// # Errors
/// Fails with a message for the user if the trace cannot be converted.
pub(crate) fn native_trace(folder: &Path, cache: &Path, trace: &str) -> Result<PathBuf, TaskError> {
    let path = cache.join("native").join(format!("{trace}.wst"));
    let changed = |path: &Path| std::fs::metadata(path).and_then(|facts| facts.modified()).ok();
    if changed(&path).is_some_and(|converted| changed(&folder.join("kernelslist.g")).is_some_and(|list| list <= converted)) {
        return Ok(path);
    }
    let unwritable = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let parent = cache.join("native");
    std::fs::create_dir_all(&parent).map_err(unwritable)?;
    let mut partial = tempfile::NamedTempFile::new_in(&parent).map_err(unwritable)?;
    warpshard_trace::to_native(folder, &mut partial, true, &warpshard_trace::TraceOptions::default(), &mut |_| true)?;
    partial.persist(&path).map_err(|error| unwritable(error.error))?;
    Ok(path)
}

/// Recorded traces that a study skips because they are missing.
#[derive(Debug, Default)]
pub(crate) struct SkippedTraces(Vec<String>);

impl SkippedTraces {
    pub(crate) fn add_missing(&mut self, trace: &str) {
        self.0.push(trace.to_owned());
    }

    /// Unwraps the result of a trace. A missing trace is added to the list, and the cause of a failure is noted in the output.
    pub(crate) fn unwrap_or_skip<T>(&mut self, trace: &str, made: Result<Option<T>, TaskError>, output: &mut StudyOutput) -> Option<T> {
        match made {
            Ok(Some(found)) => return Some(found),
            Ok(None) => self.add_missing(trace),
            Err(why) => output.note(format!("{trace}: {why}")),
        }
        None
    }

    /// Returns ` of N` if some of the N traces are missing.
    pub(crate) fn missing_suffix(&self, compared: usize) -> String {
        if self.0.is_empty() { String::new() } else { format!(" of {}", compared + self.0.len()) }
    }

    /// Notes all missing traces in the output.
    pub(crate) fn note_missing(&self, references: &References, output: &mut StudyOutput) {
        if self.0.is_empty() {
            return;
        }
        let folder = references.folder().join("sass");
        output.note(format!(
            "{} recorded trace(s) are not in {} and are left out: {}; --reference names a folder that has them",
            self.0.len(),
            folder.display(),
            self.0.join(", ")
        ));
    }
}
