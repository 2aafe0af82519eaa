//! Tables as Parquet files, column by column: 64-bit integers, doubles and strings, all of them nullable.
//!
//! The file has one row group; pages are compressed with Snappy, which every reader supports. The file does not depend on the host or the
//! time.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::Result;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::{Type, TypePtr};

use super::cells::{Cell, ColumnKind};
use super::folder::Target;

/// Returns the bytes of a table's file.
pub(super) fn write(columns: &[(String, ColumnKind)], rows: usize, cell: impl Fn(usize, usize) -> Cell) -> Vec<u8> {
    // Only writing to a file and an invalid schema can fail.
    try_write(columns, rows, cell).expect("memory takes every byte")
}

fn try_write(columns: &[(String, ColumnKind)], rows: usize, cell: impl Fn(usize, usize) -> Cell) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema(columns)?, properties())?;
    let mut group = file.next_row_group()?;
    for (place, (_, kind)) in columns.iter().enumerate() {
        let cells = || (0..rows).map(|row| cell(row, place));
        match kind {
            ColumnKind::Count => column::<Int64Type>(&mut group, cells().map(|cell| bits(&cell)).collect())?,
            ColumnKind::Number => column::<DoubleType>(&mut group, cells().map(|cell| cell.as_number()).collect())?,
            ColumnKind::Text => {
                column::<ByteArrayType>(&mut group, cells().map(|cell| cell.as_text().map(|text| text.as_str().into())).collect())?
            }
        }
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

/// Maximum bytes of the columns that are in memory at the same time.
const MAX_BUFFER_BYTES: usize = 1 << 25;

/// Writes a table of whole numbers, a few columns at a time: `read` appends all values of each column in a range to the list of the column.
pub(super) fn write_counts(
    names: &[String],
    rows: usize,
    to: Target<'_>,
    mut read: impl FnMut(Range<usize>, &mut [Vec<u64>]),
) -> io::Result<()> {
    let columns: Vec<_> = names.iter().map(|name| (name.clone(), ColumnKind::Count)).collect();
    let mut file = SerializedFileWriter::new(to, schema(&columns)?, properties())?;
    let mut group = file.next_row_group()?;
    let present = vec![1; rows];
    let together = (MAX_BUFFER_BYTES / (8 * rows.max(1))).max(1);
    for first in (0..names.len()).step_by(together) {
        let range = first..names.len().min(first + together);
        let mut numbers = vec![Vec::with_capacity(rows); range.len()];
        read(range, &mut numbers);
        for values in numbers {
            let values: Vec<i64> = values.into_iter().map(|value| value as i64).collect();
            let Some(mut writer) = group.next_column()? else { continue };
            writer.typed::<Int64Type>().write_batch(&values, Some(&present), None)?;
            writer.close()?;
        }
    }
    group.close()?;
    file.close()?;
    Ok(())
}

fn properties() -> Arc<WriterProperties> {
    Arc::new(WriterProperties::builder().set_created_by("warpshard".into()).set_compression(Compression::SNAPPY).build())
}

fn schema(columns: &[(String, ColumnKind)]) -> Result<TypePtr> {
    let field = |(name, kind): &(String, ColumnKind)| {
        let (physical, logical) = match kind {
            ColumnKind::Count => (Physical::INT64, Some(LogicalType::integer(64, false))),
            ColumnKind::Number => (Physical::DOUBLE, None),
            ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let built = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build();
        built.map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder("table").with_fields(fields).build()?))
}

/// Writes the next column: the existing values, and a flag per row that marks an existing value.
fn column<T: DataType>(group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>, values: Vec<Option<T::T>>) -> Result<()> {
    let Some(mut writer) = group.next_column()? else { return Ok(()) };
    let present: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    writer.typed::<T>().write_batch(&values, Some(&present), None)?;
    writer.close()
}

/// Returns the bits of a whole number as a signed integer; the schema declares the column as unsigned.
fn bits(cell: &Cell) -> Option<i64> {
    cell.as_count().map(|value| value as i64)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
    use ::parquet::record::Field;

    use super::super::frame::Frame;
    use super::*;

    fn reader(bytes: &[u8]) -> SerializedFileReader<File> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        SerializedFileReader::new(file).unwrap()
    }

    #[test]
    fn a_table_is_read_back_as_it_was_with_its_types_and_its_empty_cells() {
        let columns = [("run", ColumnKind::Count), ("ipc", ColumnKind::Number), ("gpu.sm.order", ColumnKind::Text)];
        let columns = columns.map(|(name, kind)| (name.to_owned(), kind)).to_vec();
        let rows = vec![
            vec![Cell::Count(u64::MAX), Cell::Number(-0.5), Cell::text("gto, \"ä\"")],
            vec![Cell::Empty, Cell::Count(2), Cell::Empty],
            vec![Cell::Count(0), Cell::Empty, Cell::Count(7)],
        ];
        let frame = Frame::new(columns, rows);
        let bytes = frame.parquet().unwrap();
        assert_eq!(bytes, frame.parquet().unwrap());
        let reader = reader(&bytes);
        let read: Vec<Vec<Field>> =
            reader.into_iter().map(|row| row.unwrap().into_columns().into_iter().map(|(_, field)| field).collect()).collect();
        assert_eq!(read[0], [Field::ULong(u64::MAX), Field::Double(-0.5), Field::Str("gto, \"ä\"".into())]);
        assert_eq!(read[1], [Field::Null, Field::Double(2.0), Field::Null]);
        assert_eq!(read[2], [Field::ULong(0), Field::Null, Field::Str("7".into())]);
    }

    #[test]
    fn a_table_without_rows_has_its_columns() {
        let bytes = Frame::new(vec![("a".into(), ColumnKind::Count)], Vec::new()).parquet().unwrap();
        let reader = reader(&bytes);
        assert_eq!((reader.metadata().file_metadata().num_rows(), reader.metadata().file_metadata().schema().get_fields().len()), (0, 1));
    }
}
