//! Comparisons of two synthetic runs.

use serde_json::{Value, json};

use warpshard_report::text::Style;

use super::*;
use crate::Stats;

/// Returns a run of two kernels, of which the second takes `cycles`.
fn run(cycles: u64, hits: u64, configuration: &str) -> RunFolder {
    let kernel = |name: &str, cycles: u64| json!({ "name": name, "cycles": cycles, "thread_instructions": 64_000, "counters": { "l1_read_hits": hits, "l1_read_misses": 100 - hits } });
    let stats = json!({
        "schema_version": 1, "version": "0.1.0", "commit": "abc", "machine": "tiny", "workload": "two", "ended_by": "completed",
        "total": {
            "cycles": 1000 + cycles, "net_cycles": 1000 + cycles, "ipc": 128_000.0 / (1000 + cycles) as f64, "thread_instructions": 128_000,
            "counters": {
                "l1_read_hits": 2 * hits, "l1_write_hits": 0, "l1_read_pending_hits": 0, "l1_write_pending_hits": 0,
                "l1_read_misses": 200 - 2 * hits, "l1_write_misses": 0, "l1_read_sector_misses": 0, "l1_write_sector_misses": 0,
            },
        },
        "kernels": [kernel("first", 1000), kernel("second<int>", cycles)],
        "scheduler_cycles": { "total": 4000, "reasons": { "issued": 1000, "stall_barrier": 3000 } },
        "components": { "sm": { "count": 1, "total": { "issued": 1000, "cycles": 1000 + cycles } } },
    });
    RunFolder { path: format!("results/{cycles}").into(), stats: Stats(stats), configuration: toml::from_str(configuration).unwrap() }
}

fn pair() -> [RunFolder; 2] {
    [
        run(1000, 40, "[gpu]\nsms = 80\n[run]\nthreads = 1\nseed = 1\n"),
        run(1100, 50, "[gpu]\nsms = 56\n[run]\nthreads = 8\nseed = 1\npolicies = [\"a\"]\n"),
    ]
}

fn row<'a>(comparison: &'a Comparison, section: &str, name: &str) -> &'a Row {
    let section = comparison.sections.iter().find(|found| found.title == section).unwrap();
    section.rows.iter().find(|row| row.name == name).unwrap()
}

#[test]
fn only_settings_that_affect_results_are_differences() {
    let differences = Comparison::of(&pair()).configuration;
    let found: Vec<(&str, Vec<Option<&str>>)> =
        differences.iter().map(|one| (one.key.as_str(), one.values.iter().map(|value| value.as_deref()).collect())).collect();
    assert_eq!(found, [("gpu.sms", vec![Some("80"), Some("56")]), ("run.policies", vec![None, Some("[\"a\"]")])]);
}

#[test]
fn amounts_change_by_ratios_and_shares_by_differences() {
    let comparison = Comparison::of(&pair());
    let cycles = row(&comparison, "Performance", "cycles");
    assert_eq!((cycles.values.as_slice(), cycles.changes.as_slice()), (&[Some(2000.0), Some(2100.0)][..], &[Some(0.0), Some(0.05)][..]));
    let hits = row(&comparison, "Caches", "L1 hit rate");
    assert!((hits.changes[1].unwrap() - 0.1).abs() < 1e-12, "{hits:?}");
    assert_eq!(row(&comparison, "Scheduler cycles", "issued").values, [Some(0.25), Some(0.25)]);
    assert!(comparison.sections.iter().all(|section| !["DRAM", "Energy"].contains(&section.title)), "no run has them");
}

#[test]
fn missing_values_precede_the_largest_changes() {
    let mut runs = pair();
    runs[1].stats.0["components"]["sm"]["total"]["packets"] = 7.into();
    let comparison = Comparison::of(&runs);
    let names: Vec<&str> = comparison.counters.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names[..2], ["sm.packets", "kernel.l1_read_hits"], "{names:?}");
    let kernels: Vec<(&str, f64)> = comparison.kernels.iter().map(|kernel| (kernel.name.as_str(), kernel.largest_difference())).collect();
    assert_eq!(kernels, [("second<int>", 100.0), ("first", 0.0)]);
}

#[test]
fn only_headline_numbers_beyond_the_limit_are_listed() {
    let comparison = Comparison::of(&pair());
    let found = |limit: &str| comparison.exceeding(limit.parse().unwrap()).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(found("10%"), [""; 0]);
    assert_eq!(found("6%"), ["cycles of kernel second<int>: +10.00 % in B"]);
    assert_eq!(found("0%"), ["cycles: +5.00 % in B", "IPC: -4.76 % in B", "cycles of kernel second<int>: +10.00 % in B"]);
    let mut runs = pair();
    runs[1].stats.0["kernels"] = json!([]);
    let missing = Comparison::of(&runs).exceeding("50%".parse().unwrap());
    let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
    assert_eq!(missing, ["cycles of kernel first: in only one of A and B", "cycles of kernel second<int>: in only one of A and B"]);
    for wrong in ["1", "-1%", "nan%", "%", "a lot"] {
        assert!(wrong.parse::<Limit>().unwrap_err().to_string().contains("1% or 0.5%"), "{wrong}");
    }
}

#[test]
fn equal_runs_have_no_differences() {
    let runs = [run(1000, 40, ""), run(1000, 40, "")];
    let comparison = Comparison::of(&runs);
    assert_eq!(comparison.exceeding("0%".parse().unwrap()), []);
    let text = comparison.text(false, Style::Plain);
    assert!(text.contains("the same machine, workload and options") && text.contains("2 kernels with the same results"), "{text}");
    assert!(!text.contains("stall_barrier") && comparison.text(true, Style::Plain).contains("stall_barrier"));
}

#[test]
fn incomparable_runs_have_warnings() {
    let mut runs = pair();
    runs[0].stats.0["ended_by"] = "max_cycles".into();
    runs[1].stats.0["relaxed"] = json!({ "late_messages": 3, "epoch_cycles": 80 });
    runs[1].stats.0["commit"] = "def".into();
    let comparison = Comparison::of(&runs);
    assert_eq!(comparison.warnings.len(), 3);
    assert!(comparison.warnings[0].starts_with("A was cut off (max cycles)"), "{:?}", comparison.warnings);
    assert_eq!(comparison.configuration.last().unwrap().key, "run.relaxed_epoch");
}

#[test]
fn a_sampled_run_has_a_warning_with_its_interval() {
    let mut runs = pair();
    runs[1].stats.0["ended_by"] = "sampled".into();
    runs[1].stats.0["sampled"] = json!({ "estimates": { "cycles": { "relative_half_width": 0.0125 } } });
    let warnings = Comparison::of(&runs).warnings;
    assert!(warnings.len() == 1 && warnings[0].starts_with("B is a sampled run") && warnings[0].contains("1.25 %"), "{warnings:?}");
}

#[test]
fn the_text_fits_narrow_terminals() {
    let runs = [pair(), pair()].concat();
    let narrow = Style::Terminal { colour: false, columns: 60 };
    let text = Comparison::of(&runs).text(true, narrow);
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    assert!(text.contains("+10.0 %") && text.contains("+10.0 points"), "{text}");
}

#[test]
fn the_page_escapes_names_and_the_json_is_complete() {
    let mut runs = pair();
    runs[0].stats.0["workload"] = "<script>alert(1)</script>".into();
    let comparison = Comparison::of(&runs);
    let page = comparison.page();
    assert!(page.contains("second&lt;int&gt;") && !page.contains("<script>"), "{page}");
    assert!(page.contains(r#"<td class="more">+10.0 %</td>"#), "{page}");
    let json = comparison.json();
    assert_eq!(json["kernels"][0]["rows"][0]["values"], json!([1000.0, 1100.0]));
    assert_eq!(json["sections"][0]["rows"][0]["quantity"], Value::from("amount"));
}

#[test]
fn runs_beyond_the_letters_have_numbers() {
    assert_eq!([0, 25, 26].map(label), ["A", "Z", "#27"]);
}

#[test]
fn bytes_per_cycle_cover_the_time_in_which_channels_counted() {
    let mut pair = pair();
    for (run, counted) in pair.iter_mut().zip([2000, 8000]) {
        run.stats.0["counted_until"] = counted.into();
        run.stats.0["dram_burst_bytes"] = 32.into();
        run.stats.0["components"]["dram"] = json!({ "total": { "reads": 500, "writes": 0, "row_hits": 400, "row_misses": 100 } });
    }
    assert_eq!(row(&Comparison::of(&pair), "DRAM", "bytes per cycle").values, [Some(8.0), Some(2.0)]);
}
