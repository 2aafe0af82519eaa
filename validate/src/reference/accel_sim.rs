//! Results of Accel-Sim on the recorded and generated traces.

use std::collections::BTreeSet;

use warpshard_lab::error::TaskError;
use warpshard_lab::reference::{References, Table};

use super::MeasuredTable;

/// One row of the reference's results: one trace on one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceRow {
    /// Name of the trace with its origin: `real-...` (recorded) or `gen-...` (generated).
    pub trace: String,
    /// Core cycles without launch latency.
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
    /// Host time in seconds.
    pub user_seconds: f64,
}

/// Launch latency per kernel in the reference's configurations (`-gpgpu_kernel_launch_latency`), in core cycles.
const LAUNCH_LATENCY: u64 = 5000;

/// Results of the reference on one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct AccelSimResults {
    /// Traces with their results.
    pub rows: Vec<ReferenceRow>,
    /// Traces that the reference failed to run: return code other than 0.
    pub failed: Vec<String>,
}

const RESULT_COLUMNS: [&str; 14] = [
    "trace",
    "config",
    "rc",
    "kernels",
    "gpu_tot_sim_cycle",
    "gpu_tot_sim_insn",
    "warp_insn",
    "l1d_accesses",
    "l1d_misses",
    "l2_accesses",
    "l2_misses",
    "dram_reads",
    "dram_writes",
    "user_s",
];

/// Reads Accel-Sim's results on a configuration, given by Accel-Sim's name.
///
/// # Errors
/// Fails with a message for the user if the table cannot be read, lacks a column, or has no rows of the configuration.
pub fn accel_sim_results(references: &References, configuration: &str) -> Result<AccelSimResults, TaskError> {
    rows_of(&MeasuredTable::AccelSim.table(references, &RESULT_COLUMNS)?, configuration)
}

fn rows_of(table: &Table, configuration: &str) -> Result<AccelSimResults, TaskError> {
    let (mut rows, mut failed, mut others) = (Vec::new(), Vec::new(), BTreeSet::new());
    for row in table.rows() {
        if row.text("config") != configuration {
            others.insert(row.text("config"));
            continue;
        }
        if row.text("rc") != "0" {
            failed.push(row.text("trace").to_owned());
            continue;
        }
        let count = |column: &str| row.number::<u64>(column);
        rows.push(ReferenceRow {
            trace: row.text("trace").to_owned(),
            net_cycles: count("gpu_tot_sim_cycle")?.saturating_sub(LAUNCH_LATENCY * count("kernels")?),
            warp_instructions: count("warp_insn")?,
            thread_instructions: count("gpu_tot_sim_insn")?,
            l1_accesses: count("l1d_accesses")?,
            l1_misses: count("l1d_misses")?,
            llc_accesses: count("l2_accesses")?,
            llc_misses: count("l2_misses")?,
            dram_reads: count("dram_reads")?,
            dram_writes: count("dram_writes")?,
            user_seconds: row.number("user_s")?,
        });
    }
    if rows.is_empty() && failed.is_empty() {
        let others: Vec<&str> = others.into_iter().collect();
        return Err(format!(
            "{}: there are no rows of configuration `{configuration}`, only of {}; select one of them with --configuration",
            table.name(),
            others.join(", ")
        )
        .into());
    }
    Ok(AccelSimResults { rows, failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_without_results_lists_the_available_ones() {
        let text = format!("{}\ngen-a,B,0,1,6000,32,1,4,2,3,2,1,0,0.5\ngen-a,A,1,,,,,,,,,,,\n", RESULT_COLUMNS.join(","));
        let table = Table::parse("results.csv", &text, &RESULT_COLUMNS).unwrap();
        let AccelSimResults { rows, failed } = rows_of(&table, "B").unwrap();
        assert_eq!((rows[0].net_cycles, rows[0].l1_misses, rows.len(), failed.len()), (1000, 2, 1, 0));
        assert_eq!(rows_of(&table, "A").unwrap(), AccelSimResults { rows: Vec::new(), failed: vec!["gen-a".to_owned()] });
        let error = rows_of(&table, "C").unwrap_err().to_string();
        assert!(error.ends_with("no rows of configuration `C`, only of A, B; select one of them with --configuration"), "{error}");
    }
}
