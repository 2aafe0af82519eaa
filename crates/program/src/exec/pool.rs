//! The constants of a launch as rows of 32 equal lanes, as instructions read them.

use super::Kernel;
use super::lanes::Row;

/// Registers of the widest source: the rows behind the last constant that an instruction may read with it.
const WIDEST_READ: usize = 16;

/// The rows of the constants of the kernel that executes. Two rows for each constant, its low and its high word, and rows of zeros behind them.
#[derive(Debug, Default)]
pub(super) struct Pool {
    values: Vec<u64>,
    rows: Vec<Row>,
}

impl Pool {
    /// The rows for a launch; a constant that has the value of the launch before is not written again.
    pub(super) fn of(&mut self, kernel: &Kernel) -> &[Row] {
        let constants = &kernel.decoded.constants;
        if self.values.len() != constants.len() {
            self.values.clear();
            self.values.resize(constants.len(), 0);
            self.rows.clear();
            self.rows.resize(2 * constants.len() + WIDEST_READ, [0; 32]);
        }
        let known = self.values.iter_mut().zip(self.rows.as_chunks_mut::<2>().0);
        for (constant, (known, rows)) in constants.iter().zip(known) {
            // All constants lay within their banks when the kernel was decoded.
            let value = constant.value(&kernel.banks).unwrap_or_default();
            if *known != value {
                *known = value;
                *rows = [[value as u32; 32], [(value >> 32) as u32; 32]];
            }
        }
        &self.rows
    }
}
