//! Constants of a launch as rows of 32 equal lanes, in the form that instructions read.

use super::Kernel;
use super::lanes::RegisterRow;

/// Registers of the widest source; an instruction may read this many rows from the last constant on.
const WIDEST_READ: usize = 16;

/// The constant rows of the executing kernel: two rows for each constant, its low and its high word, followed by rows of zeros.
#[derive(Debug, Default)]
pub(super) struct ConstantPool {
    values: Vec<u64>,
    rows: Vec<RegisterRow>,
}

impl ConstantPool {
    /// Returns the rows for a launch; constants that are unchanged since the previous launch are not written again.
    pub(super) fn of(&mut self, kernel: &Kernel) -> &[RegisterRow] {
        let constants = &kernel.decoded.constants;
        if self.values.len() != constants.len() {
            self.values.clear();
            self.values.resize(constants.len(), 0);
            self.rows.clear();
            self.rows.resize(2 * constants.len() + WIDEST_READ, [0; 32]);
        }
        let known = self.values.iter_mut().zip(self.rows.as_chunks_mut::<2>().0);
        for (constant, (known, rows)) in constants.iter().zip(known) {
            // The decoder has checked that all constants are within their banks.
            let value = constant.value(&kernel.banks).unwrap_or_default();
            if *known != value {
                *known = value;
                *rows = [[value as u32; 32], [(value >> 32) as u32; 32]];
            }
        }
        &self.rows
    }
}
