//! Results of other simulators and of hardware, and the traces behind the results.
//!
//! The results are built in from `validate/reference`, so that every study runs without a checkout. Files of a `--reference` folder
//! override the built-in ones; the folder also holds the recorded traces, which are not built in.

mod accel_sim;
mod traces;

use warpshard_base::named;
use warpshard_lab::error::TaskError;
use warpshard_lab::reference::{References, Table};

pub use accel_sim::{AccelSimResults, ReferenceRow, accel_sim_results};
pub use traces::trace_folder;
pub(crate) use traces::{SkippedTraces, native_trace};

/// Expands to the name and text of a built-in table.
macro_rules! table {
    ($name:literal) => {
        (concat!("built-in ", $name), include_str!(concat!("../../reference/", $name)))
    };
}

named! {
    /// Measured results, one table each.
    pub enum MeasuredTable {
        /// Path of the file in a reference folder.
        path: &'static str = 0,
        /// Name and text of the built-in table; its first lines name the source.
        built_in: (&'static str, &'static str) = 1;
        AccelSim("accel-sim/results.csv", table!("accel-sim.csv")): "Accel-Sim on GPU traces.",
        Ramulator2("dram/ramulator2.csv", table!("ramulator2.csv")): "Ramulator 2, one DRAM channel.",
        DramSim3("dram/dramsim3.csv", table!("dramsim3.csv")): "DRAMsim3, one DRAM channel.",
        BookSim2("noc/latency_vs_load.csv", table!("booksim2.csv")): "BookSim 2, one network.",
        Ramulator1("cpu-traces/ramulator1_ipc.csv", table!("ramulator1.csv")): "Ramulator 1, one CPU core on CPU traces.",
        BoardCounters("power/hw_perf.csv", table!("gv100-counters.csv")): "A profiler's counters on a Quadro GV100.",
        BoardPower("power/hw_power_validation_volta.csv", table!("gv100-power.csv")): "Board power of a Quadro GV100.",
        LaunchCounters("h100/counters.csv", table!("h100/counters.csv")): "Nsight's counters of launches of the suite on an H100, each from empty caches.",
        ModernCounters("h100/modern.csv", table!("h100/modern.csv")): "Nsight's counters of kernels of Triton on an H100, each from empty caches.",
        LaunchCycles("h100/cycles.csv", table!("h100/cycles.csv")): "Nsight's cycles of launches of the suite on an H100, in sequence.",
        BoardCycles("v100/qv100-cycles.csv", table!("gv100-cycles.csv")): "Cycles of whole applications on a Quadro GV100.",
    }
}

impl MeasuredTable {
    /// Reads the table from `references` and requires these columns.
    ///
    /// # Errors
    /// Fails with a message for the user if the table cannot be read or lacks a column.
    pub(crate) fn table(self, references: &References, columns: &[&str]) -> Result<Table, TaskError> {
        references.table(self.path(), self.built_in(), columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_a_folder_override_the_built_in_ones() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("power")).unwrap();
        std::fs::write(folder.path().join(MeasuredTable::BoardPower.path()), "kernel,watts\nx,1\n").unwrap();
        let references = References::in_folder(folder.path()).unwrap();
        let rows = |measured: MeasuredTable| measured.table(&references, &[]).unwrap().rows().count();
        assert_eq!(rows(MeasuredTable::BoardPower), 1);
        assert_eq!(rows(MeasuredTable::Ramulator2), MeasuredTable::Ramulator2.table(&References::default(), &[]).unwrap().rows().count());
        let absent = References::in_folder(&folder.path().join("absent")).unwrap_err().to_string();
        assert!(absent.contains("there is no folder") && absent.contains("--reference"), "{absent}");
    }

    #[test]
    fn every_built_in_table_names_its_source() {
        for measured in MeasuredTable::ALL {
            let (name, text) = measured.built_in();
            assert!(text.starts_with("# Measured "), "{name}");
            assert!(Table::parse(name, text, &[]).unwrap().rows().count() > 10, "{name}");
        }
    }
}
