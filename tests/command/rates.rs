//! Every rate of every report, recomputed from counters and cycles of one span.
//!
//! The test walks through the fractional numbers of `stats.json`. A number without a rule here fails the test, so that every new rate gets
//! a rule.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Results of a run: `stats.json`, `host.json` and the printed report.
struct RunReports {
    stats: Value,
    host: Value,
    text: String,
}

fn warpshard(folder: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_warpshard")).current_dir(folder).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

impl RunReports {
    fn new(folder: &Path, name: &str, options: &str) -> Self {
        let text = warpshard(folder, &["run", "--threads", "1", "--out", name].into_iter().chain(options.split(' ')).collect::<Vec<_>>());
        let json = |file: &str| serde_json::from_str(&fs::read_to_string(folder.join(name).join(file)).unwrap()).unwrap();
        Self { stats: json("stats.json"), host: json("host.json"), text }
    }

    fn number(&self, path: &str) -> f64 {
        value_at(&self.stats, path).as_f64().unwrap_or_else(|| panic!("{path} is no number"))
    }

    /// Returns the sum of a counter over the components of a kind.
    fn sum(&self, kind: &str, counter: &str) -> f64 {
        self.stats["components"][kind]["total"][counter].as_f64().unwrap_or_else(|| panic!("no {counter} of {kind}"))
    }

    /// Returns the simulated seconds in which components counted.
    fn seconds(&self) -> f64 {
        self.number("counted_until") / (self.number("core_khz") * 1e3)
    }

    /// Returns the DRAM bandwidth in bytes per second.
    fn dram_bandwidth(&self) -> f64 {
        (self.sum("dram", "reads") + self.sum("dram", "writes")) * self.number("dram_burst_bytes") / self.seconds()
    }
}

fn value_at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, name| &value[name])
}

/// Asserts equality, except for the rounding of divisions or to `decimals` digits.
fn assert_equal(found: f64, expected: f64, decimals: Option<i32>, what: &str) {
    let rounding = decimals.map_or(0.0, |decimals| 0.5001 * 10f64.powi(-decimals));
    assert!((found - expected).abs() <= rounding + expected.abs() * 1e-9, "{what}: {found}, from the counters {expected}");
}

/// Calls `visit` for each fractional number with its path and the object that contains it. Indices of lists appear as `[]` in the path.
fn visit_rates<'a>(value: &'a Value, path: &str, holder: &'a Value, visit: &mut dyn FnMut(&str, &'a Value, f64)) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, inner)| visit_rates(inner, &format!("{path}.{name}"), value, visit)),
        Value::Array(list) => list.iter().for_each(|inner| visit_rates(inner, &format!("{path}.[]"), value, visit)),
        Value::Number(number) if number.is_f64() => visit(path.trim_start_matches('.'), holder, number.as_f64().unwrap()),
        _ => {}
    }
}

/// Recomputes a rate from its path and the object `holder` that contains it; returns `None` for numbers that are not rates of counters.
fn expected_rate(run: &RunReports, path: &str, holder: &Value) -> Option<f64> {
    let of = |name: &str| holder[name].as_f64().unwrap_or_else(|| panic!("{path}: no {name} beside it"));
    let components = || run.stats["energy"]["components"].as_object().unwrap().values().map(|joules| joules.as_f64().unwrap()).sum::<f64>();
    let found = match path {
        "total.ipc" | "streams.[].ipc" => of("thread_instructions") / of("cycles"),
        "kernels.[].ipc" => of("thread_instructions") / of("cycles_active"),
        "cpu_cores.[].ipc" => of("instructions") / of("cycles"),
        "cpu_cores.[].reads_per_kilo_instruction" | "cpu_cores.[].read_latency_cycles" => return None,
        "energy.seconds" => run.seconds(),
        "energy.mean_watts" => components() / run.seconds(),
        "energy.joules" => components(),
        "energy.joules_per_thread_instruction" => components() / run.number("total.thread_instructions"),
        "dram_bytes_per_second" | "energy.volts" | "energy.at_rest_joules" | "kernels.[].event_joules" => return None,
        _ if path.starts_with("energy.components.") || path.starts_with("energy.events.") => return None,
        _ => panic!("{path} has no rule: how does it follow from counters and cycles?"),
    };
    Some(found)
}

/// Checks the numbers of a kernel's verdict.
fn check_verdict(run: &RunReports, kernel: &Value) {
    let verdict = &kernel["verdict"];
    let of = |name: &str| kernel["counters"][name].as_f64().unwrap_or_else(|| panic!("no counter {name}"));
    let number = |name: &str| value_at(verdict, name).as_f64();
    let requests = of("load_instructions") + of("store_instructions") + of("atomic_instructions");
    let four = |name: &str, expected: f64| {
        if let Some(found) = number(name) {
            assert_equal(found, expected, Some(4), name);
        }
    };
    four("lanes", of("thread_instructions") / of("warp_instructions"));
    four("sectors_per_request", of("memory_accesses") / requests);
    four("sector_use", (of("requested_bytes") / (32.0 * of("memory_accesses"))).min(1.0));
    four("conflicts", of("shared_conflict_cycles") / of("shared_instructions"));
    four("roofline.per_byte", of("flops") / (32.0 * (of("dram_reads") + of("dram_writes"))));
    let stalls = kernel["counters"].as_object().unwrap().iter();
    let stalls = stalls.filter(|(name, _)| *name == "issued" || name.starts_with("stall_")).map(|(_, value)| value.as_f64().unwrap());
    let schedulers = run.number("scheduler_cycles.total") / run.number("counted_until");
    let all = kernel["cycles_active"].as_f64().unwrap() * schedulers;
    four("launch.idle", 1.0 - stalls.sum::<f64>() / all);
    let roof = |name: &str| verdict["roofs"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()["share"].as_f64().unwrap();
    assert_equal(roof("issue"), of("warp_instructions") / all, Some(4), "issue");
    let dram = (of("dram_reads") + of("dram_writes")) * 32.0 * run.number("core_khz") * 1e3;
    assert_equal(roof("DRAM"), dram / kernel["cycles_active"].as_f64().unwrap() / run.number("dram_bytes_per_second"), Some(4), "DRAM");
    let shares: Vec<f64> = verdict["charges"].as_array().unwrap().iter().map(|charge| charge["share"].as_f64().unwrap()).collect();
    assert!(shares.iter().sum::<f64>() <= 1.0 && shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
}

fn check_stats(run: &RunReports) {
    let mut stats = run.stats.clone();
    let kernels = stats["kernels"].as_array_mut().unwrap();
    kernels.iter_mut().for_each(|kernel| {
        kernel.as_object_mut().unwrap().remove("verdict");
    });
    let mut rates = 0;
    visit_rates(&stats, "", &Value::Null, &mut |path, holder, found| {
        if let Some(expected) = expected_rate(run, path, holder) {
            assert_equal(found, expected, None, path);
            rates += 1;
        }
    });
    assert!(rates >= 2, "{rates} rates");
    run.stats["kernels"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|kernel| kernel["verdict"].is_object())
        .for_each(|kernel| check_verdict(run, kernel));
    let cores = run.stats["cpu_cores"].as_array().into_iter().flatten().enumerate();
    for (i, core) in cores {
        let of = |name: &str| run.stats["components"]["cpu"]["instances"][name][i].as_f64().unwrap();
        assert_equal(core["read_latency_cycles"].as_f64().unwrap(), of("read_cycles") / of("reads"), None, "latency of reads");
        // The rate covers the measured interval if the core completed it.
        let [reads, instructions] =
            if core["measured"] == true { ["measured_reads", "measured_instructions"] } else { ["reads", "instructions"] };
        let per_kilo = core["reads_per_kilo_instruction"].as_f64().unwrap();
        assert_equal(per_kilo, of(reads) * 1e3 / of(instructions), None, "reads per thousand instructions");
    }
    for (rate, amount) in [("warp_instructions_per_second", "warp_instructions"), ("thread_instructions_per_second", "thread_instructions")]
    {
        let expected = run.number(&format!("total.{amount}")) / run.host["simulate_seconds"].as_f64().unwrap();
        assert_equal(run.host[rate].as_f64().unwrap(), expected, None, rate);
    }
    let expected = run.number("counted_until") / run.host["simulate_seconds"].as_f64().unwrap();
    assert_equal(run.host["cycles_per_second"].as_f64().unwrap(), expected, None, "cycles per second of the host");
}

/// Returns the cells of the report line that begins with `start`.
fn report_cells(run: &RunReports, start: &str) -> Vec<String> {
    let line = run.text.lines().find(|line| line.trim_start().starts_with(start)).unwrap_or_else(|| panic!("{start} in {}", run.text));
    line.split_whitespace().map(|cell| cell.trim_end_matches(',').replace(',', "")).collect()
}

/// Converts a number with an SI prefix, such as `10.9 G`.
fn prefixed_number(number: &str, unit: &str) -> f64 {
    let scale = match unit.chars().next() {
        Some('k') => 1e3,
        Some('M') => 1e6,
        Some('G') => 1e9,
        _ => 1.0,
    };
    number.parse::<f64>().unwrap() * scale
}

/// Asserts equality to three digits, as shown in reports.
fn assert_equal_to_three_digits(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= expected.abs() * 0.0051, "{what}: {found}, from the counters {expected}");
}

fn check_text(run: &RunReports) {
    let line = run.text.lines().find(|line| line.contains("thread instructions per cycle")).unwrap();
    let shown: f64 = line.rsplit(", ").next().unwrap().split(' ').next().unwrap().replace(',', "").parse().unwrap();
    assert_equal(shown, run.number("total.thread_instructions") / run.number("total.cycles"), Some(2), "IPC of the run");
    let dram = report_cells(run, "DRAM ");
    let [bandwidth, unit, share, _] = &dram[dram.len() - 4..] else { panic!("{dram:?}") };
    assert_equal_to_three_digits(prefixed_number(bandwidth, unit), run.dram_bandwidth(), "bandwidth of DRAM");
    assert_equal(share.parse().unwrap(), 100.0 * run.dram_bandwidth() / run.number("dram_bytes_per_second"), Some(1), "share of the peak");
    if let Some(energy) = run.stats["energy"].as_object() {
        assert_equal(
            cells_with(run, "W on average")[0].parse().unwrap(),
            energy["joules"].as_f64().unwrap() / run.seconds(),
            Some(1),
            "watts",
        );
    }
    for (reason, value) in run.stats["scheduler_cycles"]["reasons"].as_object().unwrap() {
        let name = reason.trim_start_matches("stall_").replace('_', " ");
        if value.as_f64().unwrap() > 0.0 {
            let cells = report_cells(run, &format!("{name} "));
            let shown: f64 = cells[name.split(' ').count()].parse().unwrap();
            assert_equal(shown, 100.0 * value.as_f64().unwrap() / run.number("scheduler_cycles.total"), Some(1), reason);
        }
    }
    let links = run.stats["components"]["link"]["count"].as_u64().unwrap_or(0) as usize;
    for link in 0..links {
        let of = |name: &str| run.stats["components"]["link"]["instances"][name][link].as_f64().unwrap();
        let cells = report_cells(run, &format!("link {link},"));
        let bytes = cells.iter().position(|cell| cell == "bytes").unwrap();
        assert_equal_to_three_digits(
            prefixed_number(&cells[bytes + 1], &cells[bytes + 2]),
            of("bytes") / run.seconds(),
            "bandwidth of a link",
        );
        let busy = cells.iter().position(|cell| cell == "busy").unwrap();
        assert_equal(cells[busy + 1].parse().unwrap(), 100.0 * of("busy_cycles") / run.number("counted_until"), Some(1), "a busy link");
    }
}

fn cells_with(run: &RunReports, words: &str) -> Vec<String> {
    let line = run.text.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words} in {}", run.text));
    line.split_whitespace().map(str::to_owned).collect()
}

/// Reads a table of a result folder: column names and rows.
fn read_table(folder: &Path, name: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let mut rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    (rows.next().unwrap(), rows.collect())
}

fn check_tables(run: &RunReports, folder: &Path) {
    let (names, rows) = read_table(folder, "kernels.csv");
    for row in rows {
        let of = |name: &str| row[names.iter().position(|other| other == name).unwrap()].parse::<f64>().ok();
        if let (Some(ipc), Some(cycles)) = (of("ipc"), of("cycles_active")) {
            assert_equal(ipc, of("thread_instructions").unwrap() / cycles, None, "ipc of kernels.csv");
        }
    }
    if !folder.join("energy.csv").exists() {
        return;
    }
    let (_, rows) = read_table(folder, "energy.csv");
    let rows: Vec<Vec<f64>> = rows.iter().map(|row| row[1..].iter().map(|cell| cell.parse().unwrap_or(f64::NAN)).collect()).collect();
    for row in rows.iter().filter(|row| row.iter().all(|value| value.is_finite())) {
        assert_equal(row[1], row[0] / run.seconds(), None, "watts of a component");
        assert_equal(row[2], row[0] / run.number("energy.joules"), None, "share of a component");
    }
    if let Ok(true) = fs::exists(folder.join("power.csv")) {
        let (_, rows) = read_table(folder, "power.csv");
        let mut before = 0.0;
        for row in rows {
            let values: Vec<f64> = row.iter().map(|cell| cell.parse().unwrap()).collect();
            let seconds = (values[0] - before) / (run.number("core_khz") * 1e3);
            before = values[0];
            assert_equal(values[2], values[1] / seconds, None, "watts of an interval");
            assert_equal(values[3..].iter().sum(), values[2], None, "watts of all components of an interval");
        }
    }
}

fn check_page(run: &RunReports, folder: &Path, name: &str) {
    warpshard(folder, &["report", name]);
    let page = fs::read_to_string(folder.join(name).join("report.html")).unwrap();
    let note = |tile: &str| {
        let tile = page.split("<div><span>").find(|part| part.starts_with(tile)).unwrap_or_else(|| panic!("no {tile}"));
        tile.split("<span>").nth(1).unwrap().split("</span>").next().unwrap().to_owned()
    };
    let number = |text: &str| text.split(' ').next().unwrap().parse::<f64>().unwrap();
    let share = 100.0 * run.dram_bandwidth() / run.number("dram_bytes_per_second");
    if share > 0.0 {
        assert_equal(number(&note("DRAM<")), share, Some(1), "share of the peak on the page");
    }
    let value = page.split("<span>thread instructions per cycle</span><b>").nth(1).unwrap().split('<').next().unwrap();
    assert_equal(value.replace(',', "").parse().unwrap(), run.number("total.ipc"), Some(1), "IPC on the page");
    if run.stats["energy"].is_object() {
        assert_equal(number(&note("energy<")), run.number("energy.joules") / run.seconds(), Some(1), "watts on the page");
    }
}

/// Returns a value of a JSON comparison: the first run's cell in row `name` of section `title`.
fn compared_value(comparison: &Value, title: &str, name: &str) -> f64 {
    let sections = comparison["sections"].as_array().unwrap();
    let section = sections.iter().find(|section| section["title"] == title).unwrap_or_else(|| panic!("no {title} in {comparison}"));
    let row = section["rows"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    row["values"][0].as_f64().unwrap()
}

fn check_comparison(run: &RunReports, folder: &Path, name: &str) {
    let comparison: Value = serde_json::from_str(&warpshard(folder, &["compare", name, name, "--json", "-"])).unwrap();
    assert_equal(compared_value(&comparison, "Performance", "IPC"), run.number("total.ipc"), None, "IPC compared");
    assert_equal(
        compared_value(&comparison, "Performance", "seconds"),
        run.number("total.cycles") / (run.number("core_khz") * 1e3),
        None,
        "seconds",
    );
    if run.dram_bandwidth() == 0.0 {
        return;
    }
    let per_cycle = run.dram_bandwidth() * run.seconds() / run.number("counted_until");
    assert_equal(compared_value(&comparison, "DRAM", "bytes per cycle"), per_cycle, None, "bytes per cycle");
}

#[test]
fn every_rate_of_every_report_follows_from_counters_and_cycles_of_one_span() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, options) in [
        ("gpu", "--machine v100 --workload gemm_tiled --set workload.n=128 --set workload.k=32 --interval 1000"),
        // The run continues after its kernel, because CPU cores are still executing.
        (
            "chip",
            "--machine hetero-small --workload gather --set workload.cta_count=4 --set workload.rounds=1 --cpu mcf --cpu-warm 1000 --cpu-measure 30000",
        ),
        ("cut", "--machine hetero-small --workload gather --cpu mcf --max-cycles 6000 --interval 1000"),
        ("system", "--machine v100x2 --program programs/collectives/copy.toml"),
        ("sm_90", "--machine h100 --program programs/saxpy.toml --interval 2000"),
    ] {
        let run = RunReports::new(folder, name, options);
        check_stats(&run);
        check_text(&run);
        check_tables(&run, &folder.join(name));
        check_page(&run, folder, name);
        check_comparison(&run, folder, name);
    }
}

#[test]
fn a_sweep_has_the_rates_of_its_runs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let plan = "machines = [\"tiny\"]\nworkloads = [\"vecadd\"]\n[grid]\n\"workload.n\" = [4096, 8192]\n";
    fs::write(folder.join("plan.toml"), plan).unwrap();
    warpshard(folder, &["sweep", "plan.toml", "--out", "swept"]);
    let (names, rows) = read_table(&folder.join("swept"), "sweep.csv");
    assert_eq!(rows.len(), 2);
    for row in rows {
        let of = |name: &str| row[names.iter().position(|other| other == name).unwrap()].parse::<f64>().unwrap();
        assert_equal(of("ipc"), of("thread_instructions") / of("cycles"), None, "ipc of a sweep");
        let path = fs::read_dir(folder.join("swept/runs")).unwrap().map(|run| run.unwrap().path().join("stats.json"));
        let all: Vec<Value> = path.map(|path| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()).collect();
        let stats = all.iter().find(|stats| stats["total"]["cycles"].as_f64() == Some(of("cycles"))).unwrap();
        let sum = |kind: &str, name: &str| stats["components"][kind]["total"][name].as_f64().unwrap();
        assert_equal(
            of("dram_bytes"),
            (sum("dram", "reads") + sum("dram", "writes")) * stats["dram_burst_bytes"].as_f64().unwrap(),
            None,
            "bytes",
        );
        let rows = sum("dram", "row_hits") + sum("dram", "row_misses");
        assert_equal(of("dram_row_hit_rate"), sum("dram", "row_hits") / rows, None, "row hits");
        let llc = sum("llc", "read_hits") + sum("llc", "write_hits");
        assert_equal(of("llc_hit_rate"), llc / (llc + sum("llc", "pending_hits") + sum("llc", "misses")), None, "LLC hits");
        let reasons = stats["scheduler_cycles"]["reasons"].as_object().unwrap();
        for (reason, cycles) in reasons {
            let share = cycles.as_f64().unwrap() / stats["scheduler_cycles"]["total"].as_f64().unwrap();
            assert_equal(of(&format!("share_{reason}")), share, None, reason);
        }
    }
}
