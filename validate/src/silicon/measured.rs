//! Measured launches and the sizes of their programs.

use std::collections::BTreeMap;

use serde::Deserialize;

use warpshard_lab::error::TaskError;
use warpshard_lab::reference::{References, Row, Table};

use crate::reference::MeasuredTable;

/// The built-in sizes; `h100/sizes.toml` of a reference folder overrides them.
const BUILT_IN_SIZES: &str = include_str!("../../reference/h100/sizes.toml");
/// Name of the set of default sizes in the launch files.
pub(super) const DEFAULT_SIZES_NAME: &str = "file";
/// Prefix of Nsight's stall metrics, in warp cycles per issue-active cycle; the reason and `STALL_SUFFIX` follow.
const STALL_PREFIX: &str = "smsp__average_warps_issue_stalled_";
const STALL_SUFFIX: &str = "_per_issue_active.ratio";

/// Measurements of a launch that ran alone, with empty caches.
#[derive(Clone, Debug)]
pub(super) struct ColdLaunch {
    pub(super) program: String,
    pub(super) set: String,
    pub(super) launch: u64,
    pub(super) kernel: String,
    /// Clock of the SMs in hertz.
    pub(super) clock: f64,
    /// Cycles from the start of the first CTA to the end of the last CTA.
    pub(super) active: u64,
    /// Warp instructions.
    pub(super) instructions: u64,
    /// Sectors that the SMs requested from the LLC.
    pub(super) llc_sectors: u64,
    /// Bytes that DRAM read and wrote.
    pub(super) dram_bytes: u64,
    /// Mean resident warps of an active sub-core.
    pub(super) warps: f64,
    /// Utilisation in percent of the peak: DRAM data buses (`dram`), issue cycles (`issue`), tensor pipe (`tensor`).
    pub(super) dram: f64,
    pub(super) issue: f64,
    pub(super) tensor: f64,
    /// Bytes of an SM's memory that are configured as shared memory.
    pub(super) shared_bytes: u64,
    /// Stalled warps per issue-active cycle, by Nsight's name of the reason.
    pub(super) stalls: BTreeMap<String, f64>,
}

/// Measurements of a launch in a sequence.
#[derive(Clone, Debug)]
pub(super) struct SequenceLaunch {
    pub(super) program: String,
    pub(super) set: String,
    pub(super) launch: u64,
    pub(super) kernel: String,
    /// Cycles from the launch's begin to its end, including the launch overhead.
    pub(super) elapsed: u64,
    /// Nanoseconds from the launch's begin to its end.
    pub(super) nanoseconds: f64,
}

/// All measured launches and the sizes.
#[derive(Debug)]
pub(super) struct SiliconRows {
    pub(super) cold: Vec<ColdLaunch>,
    pub(super) sequence: Vec<SequenceLaunch>,
    sizes: MeasuredSizes,
}

#[derive(Debug, Deserialize)]
struct MeasuredSizes(BTreeMap<String, BTreeMap<String, BTreeMap<String, i64>>>);

impl SiliconRows {
    /// Reads the tables of `references`.
    ///
    /// # Errors
    /// Fails if a table cannot be read or lacks a column.
    pub(super) fn read(references: &References) -> Result<Self, TaskError> {
        let columns = ["program", "set", "launch", "kernel", "sm__cycles_active.max", "smsp__inst_executed.sum"];
        let mut all = Vec::new();
        for measured in [MeasuredTable::LaunchCounters, MeasuredTable::ModernCounters] {
            let table = measured.table(references, &columns)?;
            for row in table.rows() {
                all.push(cold_launch(&table, row)?);
            }
        }
        let columns = ["program", "set", "launch", "kernel", "gpc__cycles_elapsed.max", "gpu__time_duration.sum"];
        let table = MeasuredTable::LaunchCycles.table(references, &columns)?;
        let sequence = table.rows().map(sequence_launch).collect::<Result<_, _>>()?;
        let text = references.text("h100/sizes.toml", BUILT_IN_SIZES)?;
        let sizes = toml::from_str(&text).map_err(|error| format!("h100/sizes.toml: {error}"))?;
        Ok(Self { cold: all, sequence, sizes })
    }

    /// Returns the parameters that give a program the sizes of a set; `None` if the set has no sizes for the program.
    pub(super) fn size_parameters(&self, program: &str, set: &str) -> Option<Vec<(String, String)>> {
        if set == DEFAULT_SIZES_NAME {
            return Some(Vec::new());
        }
        let sizes = self.sizes.0.get(set)?.get(program)?;
        Some(sizes.iter().map(|(key, value)| (key.clone(), value.to_string())).collect())
    }
}

fn cold_launch(table: &Table, row: Row<'_>) -> Result<ColdLaunch, TaskError> {
    let count = |column: &str| row.number::<f64>(column).map(|number| number as u64);
    let mut stalls = BTreeMap::new();
    for column in table.columns() {
        if let Some(reason) = column.strip_prefix(STALL_PREFIX).and_then(|rest| rest.strip_suffix(STALL_SUFFIX)) {
            stalls.insert(reason.to_owned(), row.number(column)?);
        }
    }
    Ok(ColdLaunch {
        program: row.text("program").to_owned(),
        set: row.text("set").to_owned(),
        launch: row.number("launch")?,
        kernel: row.text("kernel").to_owned(),
        clock: row.number("sm__cycles_elapsed.avg.per_second")?,
        active: count("sm__cycles_active.max")?,
        instructions: count("smsp__inst_executed.sum")?,
        llc_sectors: count("lts__t_sectors_srcunit_tex.sum")?,
        dram_bytes: count("dram__bytes_read.sum")? + count("dram__bytes_write.sum")?,
        warps: row.number("smsp__warps_active.avg.per_cycle_active")?,
        dram: row.number("dram__throughput.avg.pct_of_peak_sustained_elapsed")?,
        issue: row.number("smsp__issue_active.avg.pct_of_peak_sustained_active")?,
        tensor: row.number("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active")?,
        shared_bytes: count("launch__shared_mem_config_size")?,
        stalls,
    })
}

fn sequence_launch(row: Row<'_>) -> Result<SequenceLaunch, TaskError> {
    Ok(SequenceLaunch {
        program: row.text("program").to_owned(),
        set: row.text("set").to_owned(),
        launch: row.number("launch")?,
        kernel: row.text("kernel").to_owned(),
        elapsed: row.number::<f64>("gpc__cycles_elapsed.max")? as u64,
        nanoseconds: row.number("gpu__time_duration.sum")?,
    })
}
