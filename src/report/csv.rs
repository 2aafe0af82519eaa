//! `intervals.csv` and `timeline.csv`: a header and one row per entry, quoted as RFC 4180 says.

use std::fmt::Write as _;

use crate::stats::{IntervalRow, TimelineEntry};

/// The interval series; the header names the columns of the first row, each with its kind of component ("dram.reads").
/// Without rows, only the column `cycle`.
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

/// The decisions of the controllers and the numbers that they rest on: a row each, an empty `sm` for the whole machine.
pub fn timeline(entries: &[TimelineEntry]) -> String {
    let mut text = String::from("cycle,controller,sm,name,value,reason\n");
    for entry in entries {
        let sm = entry.sm.map_or_else(String::new, |sm| sm.to_string());
        let value = entry.value.map_or_else(String::new, |value| value.to_string());
        let _ = writeln!(text, "{},{},{sm},{},{value},{}", entry.cycle, field(&entry.controller), entry.name, field(&entry.reason));
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
