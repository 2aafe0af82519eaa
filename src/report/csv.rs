//! `intervals.csv`, `timeline.csv` and tables of studies: a header and one row per entry, quoted according to RFC 4180.

use crate::stats::{IntervalRow, TimelineEntry};

/// The interval series; the header names the columns of the first row, each with its kind of component ("dram.reads").
/// Without rows, only the column `cycle`.
pub fn intervals(rows: &[IntervalRow]) -> String {
    let columns = rows.first().map_or(&[][..], |row| &row.counters);
    let head = columns.iter().map(|(kind, counted)| format!("{kind}.{}", counted.info.name));
    let lines = rows.iter().map(|row| {
        debug_assert_eq!(row.counters.len(), columns.len(), "interval rows differ in their columns at cycle {}", row.cycle);
        std::iter::once(row.cycle).chain(row.counters.iter().map(|(_, counted)| counted.value)).map(|value| value.to_string())
    });
    write(std::iter::once("cycle".to_owned()).chain(head), lines)
}

/// The decisions of the controllers and the values that they are based on: a row each, an empty `sm` for the whole machine.
pub fn timeline(entries: &[TimelineEntry]) -> String {
    let rows = entries.iter().map(|entry| {
        [
            entry.cycle.to_string(),
            entry.controller.clone(),
            entry.sm.map_or_else(String::new, |sm| sm.to_string()),
            entry.name.to_string(),
            entry.value.map_or_else(String::new, |value| value.to_string()),
            entry.reason.clone(),
        ]
    });
    write(["cycle", "controller", "sm", "name", "value", "reason"], rows)
}

/// A table of texts, for studies.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    write(head, rows)
}

fn write<C: AsRef<[u8]>, D: AsRef<[u8]>, R: IntoIterator<Item = D>>(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn intervals_have_a_header_and_a_row_each() {
        assert_eq!(intervals(&sample::outcome().intervals), "cycle,sm.warp_instructions,dram.reads\n1000,120,30\n2000,80,45\n");
        assert_eq!(intervals(&[]), "cycle\n");
    }

    #[test]
    fn a_decision_with_commas_and_quotes_stays_one_field() {
        let entry = |sm, name, value, reason: &str| TimelineEntry {
            cycle: 1024,
            controller: "cm-bal".into(),
            sm,
            name,
            value,
            reason: reason.into(),
        };
        let entries = [entry(None, "warp_limit", Some(8.0), "low, \"stalled\""), entry(Some(3), "diff_up", Some(1.5), "")];
        assert_eq!(
            timeline(&entries),
            "cycle,controller,sm,name,value,reason\n1024,cm-bal,,warp_limit,8,\"low, \"\"stalled\"\"\"\n1024,cm-bal,3,diff_up,1.5,\n"
        );
    }

    #[test]
    fn a_table_quotes_its_cells() {
        assert_eq!(table(&["a", "b,c"], &[vec!["1".into(), "x".into()]]), "a,\"b,c\"\n1,x\n");
    }
}
