//! What the reference simulator measured, and the traces that it measured.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::frontend::sass;

/// One row of the reference's results: one trace on one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceRow {
    /// The trace's name with its origin: `real-...` (recorded) or `gen-...` (written by the generator).
    pub trace: String,
    /// Cycles without launch latency.
    pub net_cycles: u64,
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Thread instructions.
    pub thread_instructions: u64,
    /// L1 accesses.
    pub l1_accesses: u64,
    /// L1 misses.
    pub l1_misses: u64,
    /// LLC accesses.
    pub llc_accesses: u64,
    /// LLC misses.
    pub llc_misses: u64,
    /// DRAM reads, in sectors.
    pub dram_reads: u64,
    /// DRAM writes, in sectors.
    pub dram_writes: u64,
    /// Seconds of host time.
    pub user_seconds: f64,
}

/// Launch latency of one kernel in the reference's configurations, `-gpgpu_kernel_launch_latency`, in core cycles.
const LAUNCH_LATENCY: u64 = 5000;

/// Reads the rows of `configuration` from `results.csv`.
///
/// Also returns the names of the traces that the reference itself could not run (a return code other than 0).
///
/// # Errors
/// When the file cannot be read, lacks a column, or holds nothing of that configuration; a message for the user.
pub fn read(results: &Path, configuration: &str) -> Result<(Vec<ReferenceRow>, Vec<String>), String> {
    let text = std::fs::read_to_string(results).map_err(|error| format!("cannot read {}: {error}", results.display()))?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| {
        header.iter().position(|h| *h == name).ok_or_else(|| format!("{}: line 1: there is no column `{name}`", results.display()))
    };
    let names = ["trace", "config", "rc", "kernels", "gpu_tot_sim_cycle", "warp_insn", "gpu_tot_sim_insn", "l1d_accesses"];
    let more = ["l2_accesses", "l2_misses", "dram_reads", "dram_writes", "user_s", "l1d_misses"];
    let columns = names.iter().chain(&more).map(|name| column(name)).collect::<Result<Vec<_>, _>>()?;
    let (mut rows, mut failed, mut others) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (number, line) in lines.enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |index: usize| cells.get(columns[index]).copied().unwrap_or_default();
        if cell(1) != configuration {
            others.insert(cell(1));
            continue;
        }
        if cell(2) != "0" {
            failed.push(cell(0).to_owned());
            continue;
        }
        let count = |index: usize| {
            let value = cell(index);
            value.parse::<u64>().map_err(|_| format!("{}: line {}: `{value}` is not a count", results.display(), number + 2))
        };
        rows.push(ReferenceRow {
            trace: cell(0).to_owned(),
            net_cycles: count(4)?.saturating_sub(LAUNCH_LATENCY * count(3)?),
            warp_instructions: count(5)?,
            thread_instructions: count(6)?,
            l1_accesses: count(7)?,
            l1_misses: count(13)?,
            llc_accesses: count(8)?,
            llc_misses: count(9)?,
            dram_reads: count(10)?,
            dram_writes: count(11)?,
            user_seconds: cell(12).parse().unwrap_or(f64::NAN),
        });
    }
    if rows.is_empty() && failed.is_empty() {
        let others: Vec<&str> = others.into_iter().collect();
        return Err(format!(
            "{}: there is nothing of the configuration `{configuration}`, only of {}; `study` takes one of them as --configuration",
            results.display(),
            others.join(", ")
        ));
    }
    Ok((rows, failed))
}

/// Traces that are others with their data below 4 GiB, which the generator cannot write, and those others.
const LOW: [(&str, &str); 1] = [("vecadd_low_addr", "gen-vecadd_1024x256")];

/// Copies a trace with all addresses of the generator's buffers, 0x7f00_0000_0000 and up, moved to 0 and up.
fn move_down(from: &Path, to: &Path) -> std::io::Result<()> {
    let partial = to.with_extension("partial");
    std::fs::create_dir_all(&partial)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let text = std::fs::read_to_string(entry.path())?;
        std::fs::write(partial.join(entry.file_name()), text.replace("0x00007f00", "0x00000000"))?;
    }
    std::fs::rename(&partial, to)
}

/// The trace in `folder` as a native file of the cache, converted unless the file is younger than the folder's list.
///
/// # Errors
/// When it cannot be converted; a message for the user.
pub(super) fn native_trace(folder: &Path, cache: &Path, trace: &str) -> Result<PathBuf, String> {
    let path = cache.join("native").join(format!("{trace}.wst"));
    let changed = |path: &Path| std::fs::metadata(path).and_then(|facts| facts.modified()).ok();
    if changed(&path).is_some_and(|converted| changed(&folder.join("kernelslist.g")).is_some_and(|list| list <= converted)) {
        return Ok(path);
    }
    let unwritable = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let parent = cache.join("native");
    std::fs::create_dir_all(&parent).map_err(unwritable)?;
    let mut partial = tempfile::NamedTempFile::new_in(&parent).map_err(unwritable)?;
    sass::to_native(folder, &mut partial, true, &sass::TraceOptions::default(), &mut |_| true).map_err(|error| error.to_string())?;
    partial.persist(&path).map_err(|error| unwritable(error.error))?;
    Ok(path)
}

/// The folder of a trace, written by the generator first where it is a generated one.
///
/// # Errors
/// When it cannot be written; a message for the user.
pub fn trace_folder(reference: &Path, cache: &Path, trace: &str) -> Result<PathBuf, String> {
    if let Some(name) = trace.strip_prefix("real-") {
        return Ok(reference.join("sass").join(name));
    }
    let name = trace.strip_prefix("gen-").unwrap_or(trace);
    let folder = cache.join(name);
    if folder.join("kernelslist.g").is_file() {
        return Ok(folder);
    }
    if let Some((_, original)) = LOW.iter().find(|(low, _)| *low == name) {
        let original = trace_folder(reference, cache, original)?;
        return move_down(&original, &folder).map_err(|error| format!("cannot write {}: {error}", folder.display())).map(|()| folder);
    }
    let generator = reference.join("sass").join("generate.py");
    let output = Command::new("python3")
        .arg(&generator)
        .arg(cache)
        .arg(name)
        .output()
        .map_err(|error| format!("cannot start python3 to run {}: {error}", generator.display()))?;
    if output.status.success() && folder.join("kernelslist.g").is_file() {
        return Ok(folder);
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let why = why.lines().last().unwrap_or("it wrote no trace");
    Err(format!("{} cannot write `{name}`: {why}", generator.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_without_results_is_refused_with_the_names_of_those_that_have_some() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("results.csv");
        let header = "trace,config,rc,kernels,gpu_tot_sim_cycle,warp_insn,gpu_tot_sim_insn,l1d_accesses,l2_accesses,l2_misses,dram_reads,\
                      dram_writes,user_s,l1d_misses";
        std::fs::write(&results, format!("{header}\ngen-a,B,0,1,6000,1,32,4,3,2,1,0,0.5,2\ngen-a,A,1,,,,,,,,,,,\n")).unwrap();
        let (rows, failed) = read(&results, "B").unwrap();
        assert_eq!((rows[0].net_cycles, rows[0].l1_misses, rows.len(), failed.len()), (1000, 2, 1, 0));
        assert_eq!(read(&results, "A").unwrap(), (Vec::new(), vec!["gen-a".to_owned()]));
        let error = read(&results, "C").unwrap_err();
        assert!(error.ends_with("nothing of the configuration `C`, only of A, B; `study` takes one of them as --configuration"), "{error}");
    }
}
