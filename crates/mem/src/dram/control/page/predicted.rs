//! Access-based prediction (ABP; Awasthi, Nellans, Balasubramonian and Davis, "Prediction Based DRAM Row-Buffer Management in the Many-Core Era",
//! PACT 2011): a row is closed after as many column commands as it had when it was open last.
//!
//! A bank opens a row: what the row before it had is learned. Where that is the same row, it was closed too early, and one more is learned. A row of
//! which nothing is known stays open. Each bank knows [`ROWS`] rows, by the low bits of their numbers.

use warpshard_seam::{Column, Keep, PagePolicy};

/// Rows that each bank knows: 2048 sets of four in the paper, shared by all banks of a channel of 64 banks at most.
const ROWS: usize = 128;

#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct Known {
    row: u32,
    columns: u32,
}

#[derive(Clone, Debug, warpshard_state::State)]
struct Bank {
    known: Box<[Known]>,
    /// The row opened last, and its column commands; whether the prediction closed it.
    row: u32,
    columns: u32,
    closed: bool,
}

/// The prediction of a channel, by bank.
#[derive(Clone, Debug, warpshard_state::State)]
pub(in crate::dram) struct Predicted(Box<[Bank]>);

impl Predicted {
    pub(in crate::dram) fn new(banks: u32) -> Self {
        let bank = Bank { known: vec![Known::default(); ROWS].into(), row: 0, columns: 0, closed: false };
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
            bank.known[bank.row as usize % ROWS] = Known { row: bank.row, columns: bank.columns + u32::from(early) };
        }
        (bank.row, bank.columns, bank.closed) = (row, 0, false);
    }

    fn column(&mut self, command: &Column) -> Keep {
        let bank = &mut self.0[usize::from(command.bank)];
        bank.columns = command.columns;
        let known = bank.known[command.row as usize % ROWS];
        bank.closed = !command.wanted && known.row == command.row && known.columns > 0 && command.columns >= known.columns;
        if bank.closed { Keep::Close } else { Keep::Open }
    }
}
