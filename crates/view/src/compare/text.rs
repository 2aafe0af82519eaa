//! A comparison as text, for terminals of at least 60 columns.

use std::cmp::Ordering;

use warpshard_report::text::{
    Align, Style, Table, UNKNOWN, clip, count, count_with_noun, format_known, joules, percent, printable, seconds as seconds_of, si_number,
    wrap,
};

use super::{ComparedRun, Comparison, KernelRow, Quantity, Reason, Row};

/// Maximum number of kernels that are listed; the other kernels are counted.
const MAX_KERNELS: usize = 20;

/// Maximum number of counters that are shown by default.
const MAX_COUNTERS: usize = 12;

/// Maximum columns of a comparison.
const MAX_COLUMNS: usize = 80;

/// Columns of a kernel's name in front of its limiters.
const NAME_COLUMNS: usize = 30;

/// Formats a value according to its quantity.
pub(super) fn value(quantity: Quantity, value: Option<f64>) -> String {
    format_known(value, |value| match quantity {
        Quantity::Amount if value >= 0.0 && value.fract() == 0.0 => count(value as u64),
        Quantity::Amount | Quantity::Ratio => format!("{value:.3}"),
        Quantity::Joules => joules(value),
        Quantity::Seconds => seconds_of(value),
        Quantity::Bytes => format!("{}B", si_number(value)),
        Quantity::Share => percent(value),
    })
}

/// Truncates `text` to `width` columns at its front, since the end of a path is its most specific part.
fn clip_front(text: &str, width: usize) -> String {
    let excess = text.chars().count().saturating_sub(width);
    if excess == 0 { text.to_owned() } else { std::iter::once('…').chain(text.chars().skip(excess + 1)).collect() }
}

/// Formats a change: "+1.2 %", "-0.5 points", or "=" for equal values.
pub(super) fn change(row: &Row, run: usize) -> String {
    match (row.changes[run], row.quantity) {
        (Some(0.0), _) => "=".to_owned(),
        (Some(change), Quantity::Share) => format!("{:+.1} points", change * 100.0),
        (Some(change), _) if change.abs() < 0.000_5 => format!("{:+.3} %", change * 100.0),
        (Some(change), _) if change.abs() < 10.0 => format!("{:+.1} %", change * 100.0),
        (Some(change), _) => format!("x{:.0}", change + 1.0),
        (None, _) if row.values[run] == row.values[0] => "=".to_owned(),
        (None, _) => UNKNOWN.to_owned(),
    }
}

/// Formats the counters of a kernel with the largest changes, with their changes in every run.
pub(super) fn moved_stalls(reason: &Reason) -> String {
    let one = |row: &Row| {
        let changes: Vec<String> = (1..row.values.len()).map(|run| change(row, run)).collect();
        format!("{} {}", row.name, changes.join(" / "))
    };
    reason.moved.iter().map(one).collect::<Vec<_>>().join(", ")
}

impl Comparison {
    /// Formats the comparison as text. Rows whose values are equal in all runs are omitted unless `all` is true.
    pub fn text(&self, all: bool, style: Style) -> String {
        let style = style.at_most(MAX_COLUMNS);
        let mut text = self.heads(style);
        for warning in &self.warnings {
            text += &(style.warning(&wrap(&format!("  ! {warning}"), 4, style.width())) + "\n");
        }
        text += &self.speed_ups(style);
        text += &self.explanations(style);
        text += &self.differences(style);
        for section in &self.sections {
            let rows: Vec<&Row> = section.rows.iter().filter(|row| all || !row.is_equal()).collect();
            text += &self.section(section.title, &rows, section.rows.len(), style);
        }
        text += &self.by_kernel(all, style);
        let counters: Vec<&Row> = self.counters.iter().filter(|row| all || !row.is_equal()).collect();
        let shown = if all { counters.len() } else { counters.len().min(MAX_COUNTERS) };
        if shown > 0 {
            let title = if all {
                "Counters".to_owned()
            } else {
                format!("Counters: the largest changes of {}", count_with_noun(counters.len() as u64, "counter"))
            };
            text += &self.section(&title, &counters[..shown], self.counters.len(), style);
        }
        text
    }

    fn heads(&self, style: Style) -> String {
        let mut text = String::new();
        for run in &self.runs {
            let line = format!("{}  {}", style.title(&run.label), clip_front(&printable(&run.folder), style.width().saturating_sub(4)));
            let what = format!("   {} on {}, {}", run.workload, run.machine, run.ended_by);
            text += &format!("{line}\n{}\n", style.faint(&clip(&printable(&what), style.width())));
        }
        text
    }

    /// Formats the speed-up of each run over the first, in simulated seconds.
    fn speed_ups(&self, style: Style) -> String {
        let seconds = self.sections.iter().flat_map(|section| &section.rows).find(|row| row.name == "seconds");
        let Some((row, Some(base))) = seconds.and_then(|row| Some((row, *row.values.first()?))) else { return String::new() };
        let mut text = String::new();
        for (run, value) in self.runs.iter().zip(&row.values).skip(1) {
            let Some(value) = value.filter(|value| *value > 0.0 && base > 0.0) else { continue };
            let (label, first) = (&run.label, &self.runs[0].label);
            let how = match value.total_cmp(&base) {
                Ordering::Less => format!("{label} is {:.2} times as fast as {first}", base / value),
                Ordering::Equal => format!("{label} is as fast as {first}"),
                Ordering::Greater => format!("{label} takes {:.2} times as long as {first}", value / base),
            };
            let line = format!("  {how}: {} against {}", seconds_of(value), seconds_of(base));
            text += &(clip(&line, style.width()) + "\n");
        }
        text
    }

    /// Formats the limiter of a kernel in every run.
    pub(super) fn limiters(&self, reason: &Reason) -> String {
        let one = |(run, limiter): (&ComparedRun, &Option<(String, f64)>)| match limiter {
            Some((name, share)) => format!("{} {name} {:.0} %", run.label, share * 100.0),
            None => format!("{} no verdict", run.label),
        };
        self.runs.iter().zip(&reason.limiters).map(one).collect::<Vec<_>>().join(", ")
    }

    /// Formats the limiters of the kernels that differ most, and the counters with the largest changes.
    fn explanations(&self, style: Style) -> String {
        if self.reasons.is_empty() {
            return String::new();
        }
        let mut text = format!("\n{}\n", style.title("Why"));
        for reason in &self.reasons {
            let name = clip(&printable(&reason.kernel), NAME_COLUMNS);
            text += &(wrap(&format!("  {name}: {}", self.limiters(reason)), 4, style.width()) + "\n");
            text += &(style.faint(&wrap(&format!("    {}", moved_stalls(reason)), 6, style.width())) + "\n");
        }
        text
    }

    fn differences(&self, style: Style) -> String {
        let title = format!("\n{}\n", style.title("Configuration"));
        if self.configuration.is_empty() {
            return title + "  the same machine, workload and options\n";
        }
        let mut table = self.table("key", false);
        for difference in &self.configuration {
            let values = difference.values.iter().map(|value| value.clone().unwrap_or_else(|| UNKNOWN.to_owned()));
            table.row(std::iter::once(difference.key.clone()).chain(values).collect());
        }
        title + &table.render(style)
    }

    /// Returns an empty table with a column for names, a column for the values of each run, and optionally a column for its changes.
    fn table(&self, name: &str, changes: bool) -> Table {
        let mut columns = vec![(name, Align::Left)];
        for (i, run) in self.runs.iter().enumerate() {
            columns.push((run.label.as_str(), Align::Right));
            if changes && i > 0 {
                columns.push(("change", Align::Right));
            }
        }
        Table::new(&columns)
    }

    fn cells(row: &Row) -> impl Iterator<Item = String> {
        row.values.iter().enumerate().flat_map(move |(i, &number)| {
            let change = (i > 0).then(|| change(row, i));
            std::iter::once(value(row.quantity, number)).chain(change)
        })
    }

    fn section(&self, title: &str, rows: &[&Row], of: usize, style: Style) -> String {
        let title = format!("\n{}\n", style.title(title));
        if rows.is_empty() {
            return title + &format!("  all {} are the same\n", count_with_noun(of as u64, "number"));
        }
        let mut table = self.table("", true);
        for row in rows {
            table.row(std::iter::once(row.name.clone()).chain(Self::cells(row)).collect());
        }
        title + &table.render(style)
    }

    fn by_kernel(&self, all: bool, style: Style) -> String {
        let rows: Vec<&KernelRow> = self.kernels.iter().filter(|kernel| all || kernel.rows.iter().any(|row| !row.is_equal())).collect();
        let title = format!("\n{}\n", style.title("Cycles by kernel"));
        match (self.kernels.len(), rows.len()) {
            (0, _) => return String::new(),
            (of, 0) => return title + &format!("  {} with the same results\n", count_with_noun(of as u64, "kernel")),
            _ => {}
        }
        let mut table = self.table("kernel", true);
        let shown = if all { rows.len() } else { rows.len().min(MAX_KERNELS) };
        for kernel in &rows[..shown] {
            table.row(std::iter::once(kernel.name.clone()).chain(Self::cells(kernel.cycles())).collect());
        }
        let hidden = rows.len() - shown;
        let more =
            if hidden > 0 { format!("  and {} more; --all shows them\n", count_with_noun(hidden as u64, "kernel")) } else { String::new() };
        title + &table.render(style) + &more
    }
}
