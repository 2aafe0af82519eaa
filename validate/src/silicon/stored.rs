//! Stored launches of `study silicon`, for verdicts on kernels.

use std::sync::LazyLock;

use warpshard_report::verdict::{MeasuredError, Measurements};

/// Machine of the study.
const STUDY_MACHINE: &str = "h100";

/// Returns the stored launches of the study, each alone with empty caches.
pub fn measurements() -> Measurements {
    static STORED_LAUNCHES: LazyLock<Vec<MeasuredError>> =
        LazyLock::new(|| read_launches(include_str!("../../results/silicon/launches.csv")));
    Measurements { machine: STUDY_MACHINE, launches: &STORED_LAUNCHES }
}

/// Reads the launches of a stored table. Rows without an error are skipped.
fn read_launches(table: &str) -> Vec<MeasuredError> {
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let heads = rows.headers().cloned().unwrap_or_default();
    let column = |name: &str| heads.iter().position(|head| head == name);
    let (Some(comparison), Some(launch), Some(kernel), Some(class), Some(error)) =
        (column("comparison"), column("launch"), column("kernel"), column("class"), column("error %"))
    else {
        return Vec::new();
    };
    let rows = rows.records().filter_map(Result::ok).filter(|row| row.get(comparison) == Some("cold"));
    let measured = |row: csv::StringRecord| {
        Some(MeasuredError {
            launch: format!("{} {}", row.get(launch)?, row.get(kernel)?),
            class: row.get(class)?.to_owned(),
            error_percent: row.get(error)?.parse().ok()?,
        })
    };
    rows.filter_map(measured).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_launches_have_classes_and_errors() {
        let all = measurements().launches;
        let lines = include_str!("../../results/silicon/launches.csv").lines().filter(|line| line.starts_with("cold,")).count();
        assert_eq!(all.len(), lines);
        assert!(all.iter().any(|launch| launch.class == "short") && all.iter().all(|launch| launch.error_percent.is_finite()));
    }
}
