//! What other simulators and hardware measured, and the traces that they measured.
//!
//! The figures are built in, from `validate/reference`, so that every study runs wherever the program does. A folder that is
//! named with `--reference` takes their place, file by file, and holds the recorded traces, which are not built in.

mod accel_sim;
mod traces;

use warpshard_base::named;
use warpshard_lab::error::TaskError;
use warpshard_lab::reference::{References, Table};

pub use accel_sim::{AccelSimResults, ReferenceRow, accel_sim_results};
pub use traces::trace_folder;
pub(crate) use traces::{LeftOut, native_trace};

/// A built-in table: its name and text.
macro_rules! table {
    ($name:literal) => {
        (concat!("built-in ", $name), include_str!(concat!("../../reference/", $name)))
    };
}

named! {
    /// Measured figures: a table of each.
    pub enum Measured {
        /// The file in a folder of references.
        path: &'static str = 0,
        /// The built-in table: its name and text, with the source in its first lines.
        built_in: (&'static str, &'static str) = 1;
        AccelSim("accel-sim/results.csv", table!("accel-sim.csv")): "Accel-Sim on GPU traces.",
        Ramulator2("dram/ramulator2.csv", table!("ramulator2.csv")): "Ramulator 2, one DRAM channel.",
        DramSim3("dram/dramsim3.csv", table!("dramsim3.csv")): "DRAMsim3, one DRAM channel.",
        BookSim2("noc/latency_vs_load.csv", table!("booksim2.csv")): "BookSim 2, one network.",
        Ramulator1("cpu-traces/ramulator1_ipc.csv", table!("ramulator1.csv")): "Ramulator 1, one CPU core on CPU traces.",
        BoardCounters("power/hw_perf.csv", table!("gv100-counters.csv")): "A profiler's counters on a Quadro GV100.",
        BoardPower("power/hw_power_validation_volta.csv", table!("gv100-power.csv")): "The power of that board.",
        LaunchCounters("h100/counters.csv", table!("h100/counters.csv")): "Nsight's counters of launches of the suite on an H100, each from empty caches.",
        ModernCounters("h100/modern.csv", table!("h100/modern.csv")): "Nsight's counters of kernels of Triton on an H100, each from empty caches.",
        LaunchCycles("h100/cycles.csv", table!("h100/cycles.csv")): "Nsight's cycles of launches of the suite on an H100, in sequence.",
        BoardCycles("v100/qv100-cycles.csv", table!("gv100-cycles.csv")): "Cycles of whole applications on such a board.",
    }
}

impl Measured {
    /// The table of `references` with at least these columns.
    ///
    /// # Errors
    /// When the table cannot be read or lacks a column; a message for the user.
    pub(crate) fn table(self, references: &References, columns: &[&str]) -> Result<Table, TaskError> {
        references.table(self.path(), self.built_in(), columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_s_tables_take_the_place_of_the_built_in_ones_as_far_as_it_has_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("power")).unwrap();
        std::fs::write(folder.path().join(Measured::BoardPower.path()), "kernel,watts\nx,1\n").unwrap();
        let references = References::in_folder(folder.path()).unwrap();
        let rows = |measured: Measured| measured.table(&references, &[]).unwrap().rows().count();
        assert_eq!(rows(Measured::BoardPower), 1);
        assert_eq!(rows(Measured::Ramulator2), Measured::Ramulator2.table(&References::default(), &[]).unwrap().rows().count());
        let absent = References::in_folder(&folder.path().join("absent")).unwrap_err().to_string();
        assert!(absent.contains("there is no folder") && absent.contains("--reference"), "{absent}");
    }

    #[test]
    fn every_built_in_table_names_its_source() {
        for measured in Measured::ALL {
            let (name, text) = measured.built_in();
            assert!(text.starts_with("# Measured "), "{name}");
            assert!(Table::parse(name, text, &[]).unwrap().rows().count() > 10, "{name}");
        }
    }
}
