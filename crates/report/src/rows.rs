//! CSV from a header and rows, quoted according to RFC 4180.

use std::io;

use super::folder::Target;

/// Formats a table of texts as CSV, for studies.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    write(head, rows)
}

/// Formats a header and rows as CSV.
pub(super) fn write<C: AsRef<[u8]>, D: AsRef<[u8]>, R: IntoIterator<Item = D>>(
    head: impl IntoIterator<Item = C>,
    rows: impl IntoIterator<Item = R>,
) -> String {
    let mut bytes = Vec::new();
    write_to(&mut bytes, head, rows).expect("memory takes every byte");
    String::from_utf8(bytes).expect("cells are text, and so are the separators")
}

/// Writes a header and rows as CSV to a file.
///
/// # Errors
/// Fails if the file cannot be written.
pub(super) fn write_to<C: AsRef<[u8]>, D: AsRef<[u8]>, R: IntoIterator<Item = D>>(
    to: Target<'_>,
    head: impl IntoIterator<Item = C>,
    rows: impl IntoIterator<Item = R>,
) -> io::Result<()> {
    let mut out = ::csv::WriterBuilder::new().flexible(true).from_writer(to);
    out.write_record(head)?;
    for row in rows {
        out.write_record(row)?;
    }
    out.flush()
}
