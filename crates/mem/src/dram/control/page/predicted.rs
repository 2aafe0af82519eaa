//! Access-based prediction (ABP; Awasthi, Nellans, Balasubramonian and Davis, "Prediction Based DRAM Row-Buffer Management in the Many-Core
//! Era", PACT 2011): a row is closed after as many column commands as it had when it was last open.
//!
//! When a bank opens a row, the number of column commands of the previous row is stored. If it is the same row, it was closed too early,
//! and one more is stored. A row without a stored number stays open. Each bank stores [`ROWS_PER_BANK`] rows, indexed by the low bits of
//! their numbers.

use warpshard_seam::{Column, PagePolicy, RowAction};

/// Rows that each bank stores. The paper has 2048 sets of four, shared by all banks of a channel of at most 64 banks.
const ROWS_PER_BANK: usize = 128;

#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct RowHistory {
    row: u32,
    columns: u32,
}

#[derive(Clone, Debug, warpshard_state::State)]
struct BankPrediction {
    row_histories: Box<[RowHistory]>,
    /// The row that was opened last, its column commands, and whether the prediction closed it.
    row: u32,
    columns: u32,
    closed: bool,
}

/// The predictor of a channel, by bank.
#[derive(Clone, Debug, warpshard_state::State)]
pub(in crate::dram) struct Predicted(Box<[BankPrediction]>);

impl Predicted {
    pub(in crate::dram) fn new(banks: u32) -> Self {
        let bank = BankPrediction { row_histories: vec![RowHistory::default(); ROWS_PER_BANK].into(), row: 0, columns: 0, closed: false };
        Self(vec![bank; banks as usize].into())
    }
}

impl PagePolicy for Predicted {
    fn name(&self) -> &str {
        "predicted"
    }

    fn opened(&mut self, bank: u8, row: u32) {
        let bank = &mut self.0[usize::from(bank)];
        if bank.columns > 0 {
            let early = bank.closed && bank.row == row;
            bank.row_histories[bank.row as usize % ROWS_PER_BANK] = RowHistory { row: bank.row, columns: bank.columns + u32::from(early) };
        }
        (bank.row, bank.columns, bank.closed) = (row, 0, false);
    }

    fn column(&mut self, command: &Column) -> RowAction {
        let bank = &mut self.0[usize::from(command.bank)];
        bank.columns = command.columns;
        let known = bank.row_histories[command.row as usize % ROWS_PER_BANK];
        bank.closed = !command.wanted && known.row == command.row && known.columns > 0 && command.columns >= known.columns;
        if bank.closed { RowAction::Close } else { RowAction::Open }
    }
}
