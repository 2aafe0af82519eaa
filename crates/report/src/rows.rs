//! Heads and rows as CSV, quoted according to RFC 4180.

/// A table of texts, for studies.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    write(head, rows)
}

/// A header and rows as CSV.
pub(super) fn write<C: AsRef<[u8]>, D: AsRef<[u8]>, R: IntoIterator<Item = D>>(
    head: impl IntoIterator<Item = C>,
    rows: impl IntoIterator<Item = R>,
) -> String {
    let mut out = ::csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    let mut written = out.write_record(head);
    for row in rows {
        written = written.and_then(|()| out.write_record(row));
    }
    written.expect("memory takes every byte");
    let bytes = out.into_inner().expect("memory takes every byte");
    String::from_utf8(bytes).expect("cells are text, and so are the separators")
}
