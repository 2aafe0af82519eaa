//! The interval series: a compressed row of counters for each interval.
//!
//! Rows are appended during the run and can be read in order any number of times. A compressed row takes tens of bytes instead of
//! kilobytes, so that a run may have millions of rows. Blocks have a fixed number of rows, so that equal rows give equal series.

use std::sync::Arc;

use warpshard_state::{Reader, State, StateError, Writer};

use super::numbers::{MAX_NUMBER_BYTES, append_number, decode_number};
use super::{CounterInfo, CounterValue};

/// Rows of a compressed block.
const BLOCK_ROWS: usize = 512;
/// Compression level of zstd; higher levels take longer and gain little.
const ZSTD_LEVEL: i32 = 1;
/// A column: a kind of component and a counter, which is summed over all components of the kind.
pub type IntervalColumn = (&'static str, &'static CounterInfo);

/// A row of the interval series: the counts of the whole chip in one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalRow {
    /// Core cycle at which the interval ended.
    pub cycle: u64,
    /// The columns, which are the same in every row: a kind of component, and a counter summed over all components of the kind.
    pub counters: Vec<(&'static str, CounterValue)>,
}

/// The interval series of a run; empty if none was requested.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalSeries {
    /// The columns of all rows.
    columns: Arc<[IntervalColumn]>,
    /// Compressed blocks of [`BLOCK_ROWS`] rows.
    blocks: Vec<Arc<[u8]>>,
    /// The encoded rows after the last block.
    open: Vec<u8>,
    rows: usize,
    /// Core cycle of the last row.
    last: u64,
}

impl IntervalSeries {
    /// Appends a row.
    ///
    /// # Panics
    /// If the row and the first row differ in their number of columns.
    pub fn push(&mut self, cycle: u64, counters: impl Iterator<Item = (&'static str, CounterValue)>) {
        let before = self.last;
        append_number(&mut self.open, cycle.wrapping_sub(before));
        if self.rows == 0 {
            let mut columns = Vec::new();
            for (kind, counted) in counters {
                columns.push((kind, counted.info));
                append_number(&mut self.open, counted.value);
            }
            self.columns = columns.into();
        } else {
            let mut count = 0;
            for (_, counted) in counters {
                count += 1;
                append_number(&mut self.open, counted.value);
            }
            assert_eq!(count, self.columns.len(), "interval rows differ in their columns at cycle {cycle}");
        }
        self.last = cycle;
        self.rows += 1;
        if self.rows.is_multiple_of(BLOCK_ROWS) {
            self.blocks.push(pack(&self.open).into());
            self.open.clear();
        }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the core cycle at which the last interval ended.
    pub fn last_cycle(&self) -> Option<u64> {
        (self.rows > 0).then_some(self.last)
    }

    /// Returns the columns of all rows; empty without rows.
    pub fn columns(&self) -> &[IntervalColumn] {
        &self.columns
    }

    /// Returns the bytes of memory that the series takes.
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.len()).sum::<usize>() + self.open.len()
    }

    /// Returns all rows in order.
    pub fn iter(&self) -> impl Iterator<Item = IntervalRow> + use<'_> {
        let mut values = self.values();
        std::iter::from_fn(move || {
            let (cycle, values) = values.next_row()?;
            let counters =
                self.columns.iter().zip(values).map(|((kind, info), value)| (*kind, CounterValue { info, value: *value })).collect();
            Some(IntervalRow { cycle, counters })
        })
    }

    /// Returns a reader of all rows in order, without the names of counters.
    pub fn values(&self) -> IntervalValues<'_> {
        IntervalValues { series: self, block: Vec::new(), at: 0, row: 0, cycle: 0, values: vec![0; self.columns.len()] }
    }

    /// Loads a saved series with the given columns.
    ///
    /// # Errors
    /// Fails if the saved rows are damaged or have another number of columns.
    pub fn read_with(columns: Vec<IntervalColumn>, from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (saved, rows, last, blocks, open) = <(usize, usize, u64, Vec<Vec<u8>>, Vec<u8>)>::read(from)?;
        if rows > 0 && saved != columns.len() {
            return Err(StateError::new(format!("a saved interval has {saved} counters, the machine {}", columns.len())));
        }
        let columns = if rows > 0 { columns.into() } else { Arc::default() };
        let series = Self { columns, blocks: blocks.into_iter().map(Into::into).collect(), open, rows, last };
        let damaged = || StateError::new("the saved intervals are damaged");
        if series.blocks.len() != rows / BLOCK_ROWS {
            return Err(damaged());
        }
        let mut values = series.values();
        let (mut whole, mut cycle) = (0, 0);
        while let Some((at, _)) = values.next_row() {
            (whole, cycle) = (whole + 1, at);
        }
        let all_read = if rows.is_multiple_of(BLOCK_ROWS) { series.open.is_empty() } else { values.at == values.block.len() };
        if whole == rows && cycle == last && all_read { Ok(series) } else { Err(damaged()) }
    }
}

/// Saves a series for [`IntervalSeries::read_with`].
impl IntervalSeries {
    /// Saves the rows.
    pub fn save(&self, to: &mut Writer) {
        let Self { columns, blocks, open, rows, last } = self;
        columns.len().save(to);
        rows.save(to);
        last.save(to);
        to.length(blocks.len());
        for block in blocks {
            block.to_vec().save(to);
        }
        open.save(to);
    }
}

impl FromIterator<IntervalRow> for IntervalSeries {
    fn from_iter<I: IntoIterator<Item = IntervalRow>>(rows: I) -> Self {
        let mut series = Self::default();
        rows.into_iter().for_each(|row| series.push(row.cycle, row.counters.into_iter()));
        series
    }
}

/// Reads the rows of a series one after another.
#[derive(Debug)]
pub struct IntervalValues<'a> {
    series: &'a IntervalSeries,
    /// The decompressed block, and the position of the next row in it.
    block: Vec<u8>,
    at: usize,
    row: usize,
    cycle: u64,
    values: Vec<u64>,
}

impl IntervalValues<'_> {
    /// Returns the next row: the cycle at which its interval ended, and the values of the columns.
    pub fn next_row(&mut self) -> Option<(u64, &[u64])> {
        if self.row == self.series.rows {
            return None;
        }
        if self.row.is_multiple_of(BLOCK_ROWS) {
            let most = BLOCK_ROWS * (self.values.len() + 1) * MAX_NUMBER_BYTES;
            self.block = match self.series.blocks.get(self.row / BLOCK_ROWS) {
                Some(packed) => zstd::bulk::decompress(packed, most).ok()?,
                None => self.series.open.clone(),
            };
            self.at = 0;
        }
        self.cycle = self.cycle.wrapping_add(decode_number(&self.block, &mut self.at)?);
        for value in &mut self.values {
            *value = decode_number(&self.block, &mut self.at)?;
        }
        self.row += 1;
        Some((self.cycle, &self.values))
    }
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, ZSTD_LEVEL).expect("memory takes every byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    static HITS_INFO: CounterInfo = CounterInfo { name: "hits", unit: "accesses", help: "Hits." };
    static READS_INFO: CounterInfo = CounterInfo { name: "reads", unit: "bursts", help: "Reads." };

    fn row(i: u64) -> IntervalRow {
        let value = |info, value| CounterValue { info, value };
        let large = if i % 97 == 3 { u64::MAX - i } else { i % 13 };
        IntervalRow { cycle: 1000 * (i + 1), counters: vec![("sm", value(&HITS_INFO, large)), ("dram", value(&READS_INFO, i << (i % 40)))] }
    }

    fn series(rows: u64) -> IntervalSeries {
        (0..rows).map(row).collect()
    }

    #[test]
    fn rows_are_read_back_as_they_were_written_any_number_of_times() {
        for count in [0, 1, 511, 512, 513, 2000] {
            let series = series(count);
            let expected: Vec<IntervalRow> = (0..count).map(row).collect();
            assert_eq!((series.len() as u64, series.is_empty()), (count, count == 0));
            assert_eq!(series.last_cycle(), expected.last().map(|row| row.cycle));
            for _ in 0..2 {
                assert_eq!(series.iter().collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn a_saved_series_continues_identically() {
        for saved in [0, 1, 512, 700] {
            let mut to = Writer::default();
            series(saved).save(&mut to);
            let bytes = to.finish();
            let mut from = Reader::new(&bytes);
            let mut read = IntervalSeries::read_with(vec![("sm", &HITS_INFO), ("dram", &READS_INFO)], &mut from).unwrap();
            from.finish().unwrap();
            (saved..1500).map(row).for_each(|row| read.push(row.cycle, row.counters.into_iter()));
            assert_eq!(read, series(1500), "{saved}");
        }
    }

    #[test]
    fn damaged_rows_are_an_error_without_a_panic() {
        let mut to = Writer::default();
        series(700).save(&mut to);
        let bytes = to.finish();
        let read = |bytes: &[u8]| IntervalSeries::read_with(vec![("sm", &HITS_INFO), ("dram", &READS_INFO)], &mut Reader::new(bytes));
        let one = IntervalSeries::read_with(vec![("sm", &HITS_INFO)], &mut Reader::new(&bytes)).unwrap_err();
        assert!(one.to_string().contains("2 counters, the machine 1"), "{one}");
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 0x55;
            if let Ok(series) = read(&other) {
                assert_eq!(series.iter().count(), series.len(), "byte {at}");
            }
        }
        assert!((0..bytes.len()).all(|length| read(&bytes[..length]).is_err()));
    }

    #[test]
    fn a_row_takes_some_ten_bytes() {
        let many: IntervalSeries = (0..10_000).map(|i| IntervalRow { cycle: 1000 * (i + 1), ..row(i % 7) }).collect();
        assert!(many.bytes() < 10_000 * 16, "{} bytes", many.bytes());
    }
}
