//! What other simulators and hardware measured, and the traces that they measured.
//!
//! The figures are built in, from `configs/reference`, so that every study runs wherever the program does. A folder that is
//! named with `--reference` takes their place, file by file, and holds the recorded traces, which are not built in.

mod accel_sim;
mod table;
mod traces;

use std::path::{Path, PathBuf};

use crate::base::named;

pub use accel_sim::{AccelSimResults, ReferenceRow};
pub(super) use table::Table;
pub(super) use traces::{LeftOut, native_trace};

/// A built-in table: its name and text.
macro_rules! table {
    ($name:literal) => {
        (concat!("built-in ", $name), include_str!(concat!("../../../configs/reference/", $name)))
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
        BoardCycles("v100/qv100-cycles.csv", table!("gv100-cycles.csv")): "Cycles of whole applications on such a board.",
    }
}

/// Where figures and recorded traces come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct References {
    folder: PathBuf,
    /// Whether tables of the folder take the place of the built-in ones.
    replaces: bool,
}

impl Default for References {
    /// The built-in figures, and the recorded traces that are there.
    fn default() -> Self {
        let folder = std::env::var_os(Self::VARIABLE).filter(|folder| !folder.is_empty());
        Self { folder: folder.map_or_else(|| Self::FOLDER.into(), PathBuf::from), replaces: false }
    }
}

impl References {
    /// The environment variable that names another folder of recorded traces than [`References::FOLDER`].
    pub const VARIABLE: &'static str = "WARPSHARD_REFERENCE";
    /// The folder of recorded traces where nothing else is named.
    pub const FOLDER: &'static str = "../shared/reference";

    /// A folder whose tables take the place of the built-in ones, as far as it has them, with its recorded traces.
    ///
    /// # Errors
    /// When there is no such folder; a message for the user.
    pub fn in_folder(folder: &Path) -> Result<Self, String> {
        if folder.is_dir() {
            return Ok(Self { folder: folder.to_owned(), replaces: true });
        }
        let why = format!("--reference: there is no folder `{}`", folder.display());
        Err(format!("{why}; without the option, the built-in figures and generated traces are used"))
    }

    /// A file or folder of the references, such as a recorded trace, if it is there.
    pub fn recorded(&self, path: &str) -> Option<PathBuf> {
        Some(self.folder.join(path)).filter(|path| path.exists())
    }

    /// The folder of recorded traces, whether or not it is there.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A table with at least these columns.
    ///
    /// # Errors
    /// When the table cannot be read or lacks a column; a message for the user.
    pub(super) fn table(&self, measured: Measured, columns: &[&str]) -> Result<Table, String> {
        let path = self.folder.join(measured.path());
        if self.replaces && path.exists() {
            let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            return Table::parse(&path.display().to_string(), &text, columns);
        }
        let (name, text) = measured.built_in();
        Table::parse(name, text, columns)
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
        let rows = |measured| references.table(measured, &[]).unwrap().rows().count();
        assert_eq!(rows(Measured::BoardPower), 1);
        assert_eq!(rows(Measured::Ramulator2), References::default().table(Measured::Ramulator2, &[]).unwrap().rows().count());
        let absent = References::in_folder(&folder.path().join("absent")).unwrap_err();
        assert!(absent.contains("there is no folder") && absent.contains("--reference"), "{absent}");
    }

    #[test]
    fn every_built_in_table_names_its_source() {
        for measured in Measured::ALL {
            let (name, text) = measured.built_in();
            assert!(text.starts_with("# Measured "), "{name}");
            assert!(Table::parse(name, text, &[]).unwrap().rows().count() >= 20, "{name}");
        }
    }
}
