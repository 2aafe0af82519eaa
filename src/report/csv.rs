//! `intervals.csv` and `timeline.csv`: a header and one row per entry, quoted as RFC 4180 says.

use std::fmt::Write as _;

use crate::stats::{IntervalRow, TimelineEntry};

/// The interval series; the header names the columns of the first row, each with its kind of component ("dram.reads"). Without rows, only the column `cycle`.
pub fn intervals(rows: &[IntervalRow]) -> String {
    let mut text = String::from("cycle");
    for (kind, counted) in rows.first().map_or(&[][..], |row| &row.counters) {
        text.push(',');
        text.push_str(&field(&format!("{kind}.{}", counted.info.name)));
    }
    text.push('\n');
    for row in rows {
        debug_assert_eq!(row.counters.len(), rows[0].counters.len(), "interval rows differ in their columns at cycle {}", row.cycle);
        let _ = write!(text, "{}", row.cycle);
        for (_, counted) in &row.counters {
            let _ = write!(text, ",{}", counted.value);
        }
        text.push('\n');
    }
    text
}

/// The decisions of the controllers.
pub fn timeline(entries: &[TimelineEntry]) -> String {
    let mut text = String::from("cycle,controller,decision\n");
    for entry in entries {
        let _ = writeln!(text, "{},{},{}", entry.cycle, field(&entry.controller), field(&entry.text));
    }
    text
}

/// A table of texts, for studies.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let mut text = line(head.iter().map(|cell| field(cell)).collect());
    for row in rows {
        text.push_str(&line(row.iter().map(|cell| field(cell)).collect()));
    }
    text
}

/// A field, in quotes where it needs them.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
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
        let entry = TimelineEntry { cycle: 1024, controller: "cm-bal".into(), text: "limit 8, \"stalled\"".into() };
        assert_eq!(timeline(&[entry]), "cycle,controller,decision\n1024,cm-bal,\"limit 8, \"\"stalled\"\"\"\n");
    }

    #[test]
    fn a_table_quotes_its_cells() {
        assert_eq!(table(&["a", "b,c"], &[vec!["1".into(), "x".into()]]), "a,\"b,c\"\n1,x\n");
    }
}
