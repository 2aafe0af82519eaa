//! Options of Accel-Sim's configurations.

/// Returns names and values of the options in a file of a configuration.
pub(crate) fn reference_options(configuration: &str, file: &str) -> Vec<(String, String)> {
    let text = include_str!("../../validate/reference/accel-sim-options.csv");
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let rows = reader.records().map(|row| row.unwrap()).filter(|row| row[0] == *configuration && row[1] == *file);
    rows.map(|row| (row[2].to_owned(), row[3].to_owned())).collect()
}
