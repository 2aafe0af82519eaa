//! The report of a run as text, for `summary.txt` and for the terminal.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use warpshard_stats::{CounterValue, EndedBy, HostFacts, KernelStats, Outcome, RelaxedDeviations};

use super::energy;
use super::facts::RunFacts;
use super::metrics::{self, Occupancy, Totals, WorkTotals};
use super::nsight;
use super::system;
use super::text::{
    Align, Style, Table, UNKNOWN, bar, clip, count, count_with_noun, demangled, format_known, joules, percent, printable, seconds,
    si_number, wrap,
};
use super::verdict::VerdictBuilder;

/// Maximum number of kernels in the report; the longest kernels are shown.
const MAX_KERNELS: usize = 20;

/// Maximum number of kernels with a verdict in the report; `stats.json` has all verdicts.
const MAX_VERDICTS: usize = 5;

/// Formats the whole report, which ends in a newline.
pub fn summary(facts: &RunFacts, outcome: &Outcome, host: &HostFacts, style: Style) -> String {
    let totals = Totals::of(&outcome.components);
    let mut text = headline(facts, outcome, style);
    for section in [
        applications(facts, outcome, style),
        kernels(outcome, style),
        cpu_cores(outcome, style),
        scheduler_cycles(&totals, style),
        memory(facts, outcome, &totals, style),
        power(facts, outcome, style),
        gpus(facts, outcome, style),
        host_lines(outcome, host, style),
        notes(outcome, style),
        verdicts(facts, outcome, style),
    ] {
        if !section.is_empty() {
            text.push('\n');
            text.push_str(&section);
        }
    }
    text
}

fn section(title: &str, style: Style) -> String {
    let rule = "─".repeat(style.width().saturating_sub(title.chars().count() + 1));
    format!("{} {}\n", style.title(title), style.faint(&rule))
}

/// Formats the GPUs and links of a system.
fn gpus(facts: &RunFacts, outcome: &Outcome, style: Style) -> String {
    let lines = system::lines(outcome, facts.core_clock.0);
    if lines.is_empty() {
        return String::new();
    }
    lines.iter().fold(section("GPUs and links", style), |text, each| text + &line(each, style))
}

/// Formats an indented paragraph.
fn line(text: &str, style: Style) -> String {
    wrap(&format!("  {text}"), 4, style.width()) + "\n"
}

/// Formats an indented paragraph of secondary information.
fn aside(text: &str, style: Style) -> String {
    style.faint(line(text, style).trim_end()) + "\n"
}

fn headline(facts: &RunFacts, outcome: &Outcome, style: Style) -> String {
    let ended = match outcome.ended_by {
        EndedBy::Completed => "completed".to_owned(),
        EndedBy::MaxCycles => style.warning("stopped at --max-cycles"),
        EndedBy::MaxInstructions => style.warning("stopped at --max-instructions"),
        EndedBy::Controller => style.warning("stopped by a controller"),
        EndedBy::Sampled => style.warning("sampled: all numbers are estimates"),
        EndedBy::Interrupted => style.warning("interrupted; results are complete up to this cycle"),
    };
    let work = WorkTotals::of_run(outcome);
    let title = style.title(&printable(&format!("{} on {}", facts.workload, facts.machine)));
    let mut text = format!("{title}  {ended}\n");
    if let Some(relaxed) = &outcome.relaxed {
        text.push_str(&format!("{}\n", style.warning(line(&format!("! {}", relaxed_words(relaxed)), style).trim_end())));
    }
    if let Some(sampled) = &outcome.sampled {
        for words in super::sampled::sampling_sentences(sampled) {
            text.push_str(&format!("{}\n", style.warning(line(&format!("! {words}"), style).trim_end())));
        }
    }
    let cycles = format!(
        "{} core cycles ({} at {}), {} without launch latency",
        count(outcome.cycles),
        seconds(facts.seconds(outcome.cycles)),
        facts.core_clock,
        count(metrics::net_cycles(outcome)),
    );
    let instructions = format!(
        "{} warp instructions, {} thread instructions, {} thread instructions per cycle",
        count(work.warp_instructions),
        count(work.thread_instructions),
        format_known(work.ipc(), |ipc| format!("{ipc:.2}")),
    );
    let code = if facts.code.is_empty() {
        String::new()
    } else {
        line(&format!("code for {} on a GPU of compute capability {}", printable(&facts.code), printable(&facts.capability)), style)
    };
    text + &line(&cycles, style) + &line(&instructions, style) + &code
}

/// Describes the lateness of messages of a relaxed run in a sentence.
pub fn relaxed_words(relaxed: &RelaxedDeviations) -> String {
    let late = match (relaxed.late_share(), relaxed.mean_lateness()) {
        (Some(share), Some(mean)) => format!(
            "{} of {} messages were late, by {mean:.1} cycles on average and {} at most",
            percent(share),
            count(relaxed.messages),
            count(relaxed.late.worst)
        ),
        _ => "no message was late".to_owned(),
    };
    let approximate = if relaxed.late.count == 0 { "still exact" } else { "approximate" };
    format!(
        "relaxed run, {approximate}: epochs of {} cycles with a lookahead of {}; {late}",
        count(relaxed.epoch_cycles),
        count(relaxed.lookahead_cycles)
    )
}

fn applications(facts: &RunFacts, outcome: &Outcome, style: Style) -> String {
    let rows = super::applications::rows(facts, outcome, style);
    rows.map_or_else(String::new, |(table, figures)| section("Applications", style) + &table + &line(&figures, style))
}

fn kernels(outcome: &Outcome, style: Style) -> String {
    if outcome.kernels.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("id", Align::Right),
        ("name", Align::Left),
        ("stream", Align::Right),
        ("CTAs", Align::Right),
        ("per SM", Align::Right),
        ("start", Align::Right),
        ("cycles", Align::Right),
        ("warp instr.", Align::Right),
        ("IPC", Align::Right),
    ]);
    let mut shown: Vec<usize> = (0..outcome.kernels.len()).collect();
    shown.sort_by_key(|&i| std::cmp::Reverse(WorkTotals::of_kernel(&outcome.kernels[i], outcome).cycles));
    shown.truncate(MAX_KERNELS);
    shown.sort_unstable();
    for &i in &shown {
        let kernel = &outcome.kernels[i];
        let work = WorkTotals::of_kernel(kernel, outcome);
        let all_done = kernel.ctas_done == kernel.ctas;
        table.row(vec![
            kernel.id.to_string(),
            demangled(&kernel.name).into_owned(),
            kernel.stream.0.to_string(),
            if all_done { count(kernel.ctas.into()) } else { format!("{}/{}", count(kernel.ctas_done.into()), count(kernel.ctas.into())) },
            kernel.ctas_per_sm.to_string(),
            format_known(kernel.started, count),
            if kernel.started.is_some() { count(work.cycles) } else { UNKNOWN.to_owned() },
            count(work.warp_instructions),
            format_known(work.ipc(), |ipc| format!("{ipc:.2}")),
        ]);
    }
    let mut text = section("Kernels", style) + &table.render(style);
    let hidden = outcome.kernels.len() - shown.len();
    if hidden > 0 {
        text.push_str(&aside(&format!("the longest {MAX_KERNELS}; {hidden} more are in stats.json"), style));
    }
    text
}

fn cpu_cores(outcome: &Outcome, style: Style) -> String {
    let cores = metrics::cpu_cores(outcome);
    if cores.is_empty() {
        return String::new();
    }
    let heads = ["instr.", "cycles", "IPC", "reads per 1000", "read latency"].map(|head| (head, Align::Right));
    let mut table = Table::new(&[&[("core", Align::Right), ("application", Align::Left)][..], &heads].concat());
    for (number, core) in cores.iter().enumerate() {
        let unfinished = if core.measured { "" } else { " (not measured)" };
        table.row(vec![
            number.to_string(),
            format!("{}{unfinished}", core.application),
            count(core.instructions),
            count(core.cycles),
            format_known(core.ipc(), |ipc| format!("{ipc:.3}")),
            format_known(core.reads_per_kilo(), |reads| format!("{reads:.1}")),
            format_known(core.read_latency, |latency| format!("{latency:.0}")),
        ]);
    }
    section("CPU cores", style) + &table.render(style)
}

fn scheduler_cycles(totals: &Totals, style: Style) -> String {
    let mut text = shares("Scheduler cycles by reason", &metrics::scheduler_cycles(totals), "stall_", style);
    if text.is_empty() {
        return text;
    }
    if let Some(Occupancy { active, warps }) = metrics::occupancy(totals) {
        let occupancy = format!("SMs had resident CTAs in {} of their cycles, with {warps:.1} warps on average", percent(active));
        text.push_str(&aside(&occupancy, style));
    }
    text + &shares("Warp cycles by state, as in Nsight Compute", &metrics::warp_cycles(totals), nsight::WARP_COUNTER_PREFIX, style)
}

/// Formats a section with the share of each counter in the sum of all; empty if the sum is zero. Names are shown without `prefix`.
fn shares(title: &str, reasons: &[CounterValue], prefix: &str, style: Style) -> String {
    let all: u64 = reasons.iter().map(|c| c.value).sum();
    if all == 0 {
        return String::new();
    }
    let name = |name: &str| name.trim_start_matches(prefix).replace('_', " ");
    let widest = reasons.iter().filter(|c| c.value > 0).map(|c| name(c.info.name).chars().count()).max().unwrap_or(0).min(36);
    let room = style.width() - widest - 14;
    let mut text = section(&format!("{title} ({} in total)", count(all)), style);
    for reason in reasons.iter().filter(|c| c.value > 0) {
        let share = reason.value as f64 / all as f64;
        let label = clip(&name(reason.info.name), widest);
        let drawn = bar(share, room);
        // Even the smallest nonzero share has a visible bar.
        let drawn = if drawn.is_empty() { "▏" } else { &drawn };
        text.push_str(&format!("  {label:<widest$}  {:>7}  {}\n", percent(share), style.bar(drawn)));
    }
    text
}

fn memory(facts: &RunFacts, outcome: &Outcome, totals: &Totals, style: Style) -> String {
    let levels = metrics::memory_levels(outcome, totals, facts.dram_burst_bytes);
    if levels.is_empty() {
        return String::new();
    }
    let elapsed = metrics::counted_seconds(facts, outcome);
    let heads = ["accesses", "writes", "hit", "pending", "miss", "moved", "bandwidth", "of peak"].map(|head| (head, Align::Right));
    let mut table = Table::new(&[&[("level", Align::Left)][..], &heads].concat());
    for level in &levels {
        let share = |part: Option<u64>| format_known(part.and_then(|part| level.share(part)), percent);
        let bandwidth = level.bytes.and_then(|bytes| metrics::per_second(bytes as f64, elapsed));
        let peak = bandwidth.filter(|_| facts.dram_bytes_per_second > 0.0).map(|b| b / facts.dram_bytes_per_second);
        table.row(vec![
            level.name.to_owned(),
            count(level.accesses),
            format_known(level.writes, count),
            share(Some(level.hits)),
            share(level.pending),
            share(Some(level.misses)),
            format_known(level.bytes, |bytes| format!("{}B", si_number(bytes as f64))),
            format_known(bandwidth, |bandwidth| format!("{}B/s", si_number(bandwidth))),
            format_known(peak, percent),
        ]);
    }
    let meaning = "pending: the line is being fetched; DRAM: accesses are bursts, hits are row-buffer hits";
    section("Memory", style) + &table.render(style) + &aside(meaning, style)
}

/// Formats mean power and energy, and the components with the largest shares.
fn power(facts: &RunFacts, outcome: &Outcome, style: Style) -> String {
    let (Some(model), Some(energy)) = (&facts.energy, energy::breakdown(facts, outcome)) else { return String::new() };
    let instructions = WorkTotals::of_run(outcome).thread_instructions;
    let each =
        if instructions > 0 { format!(", {} per thread instruction", joules(energy.total() / instructions as f64)) } else { String::new() };
    let mut largest: Vec<_> = energy.components().collect();
    largest.sort_by(|a, b| b.1.total_cmp(&a.1));
    let share = |joules: f64| if energy.total() > 0.0 { joules / energy.total() } else { 0.0 };
    let parts: Vec<String> = largest
        .iter()
        .take(5)
        .filter(|part| part.1 > 0.0)
        .map(|(name, spent)| format!("{} {}", name.replace('_', " "), percent(share(*spent))))
        .collect();
    let mut text = section("Energy", style);
    let total = format!(
        "{:.1} W on average, {} in total{each}; {} of it static",
        energy.mean_watts(),
        joules(energy.total()),
        percent(share(energy.at_rest())),
    );
    text.push_str(&line(&total, style));
    text.push_str(&line(&parts.join(", "), style));
    let source = format!("event energies {} at {:.3} V; all components are in energy.csv", printable(&model.name), model.volts);
    text + &aside(&source, style)
}

fn host_lines(outcome: &Outcome, host: &HostFacts, style: Style) -> String {
    let work = WorkTotals::of_run(outcome);
    let speed =
        |amount: u64| format_known(metrics::per_second(amount as f64, host.simulate_seconds), |rate| si_number(rate).trim_end().to_owned());
    let mut lines = vec![
        format!(
            "{} warp instructions/s, {} core cycles/s on {}",
            speed(work.warp_instructions),
            speed(outcome.counted_until),
            count_with_noun(host.threads as u64, "thread"),
        ),
        format!(
            "simulation {}, decoding {}, start-up {}{}",
            seconds(host.simulate_seconds),
            seconds(host.decode_seconds),
            seconds(host.startup_seconds),
            host.peak_memory_bytes.map_or_else(String::new, |bytes| format!(", peak memory {}B", si_number(bytes as f64))),
        ),
        format!(
            "lookahead {} cycles{}",
            host.lookahead_cycles,
            if host.limiting_link.is_empty() { String::new() } else { format!(", limited by {}", host.limiting_link) }
        ),
        format!(
            "{} epochs of at most {} cycles{}, {} messages",
            count(host.epochs),
            host.epoch_cycles,
            if host.halves { ", halves of the machine in turn" } else { "" },
            count(host.messages)
        ),
    ];
    if host.mean_workers + 0.05 < f64::from(host.threads) {
        lines.insert(1, format!("{:.1} of {} workers active on average: more were not faster", host.mean_workers, host.threads));
    }
    if let Some(ranks) = &host.ranks {
        let each = ranks.seconds / ranks.exchanges.max(1) as f64;
        let (exchanges, bytes) = (count(ranks.exchanges), si_number(ranks.bytes as f64));
        lines.push(format!("rank 0 of {}: {exchanges} exchanges of {}, {bytes}B sent", ranks.count, seconds(each)));
    }
    if let Some(balance) = metrics::worker_balance(host) {
        lines.push(format!(
            "workers busy {}, waiting {}, busiest / mean {:.2}",
            percent(balance.busy),
            percent(balance.wait),
            balance.imbalance
        ));
    }
    let slowest = host.network_share.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((name, share)) = slowest.filter(|(_, share)| *share > 0.0) {
        let bound = format!("so that the speed-up is at most {:.1}", 1.0 / share);
        lines.push(format!("largest network shard {name}: {} of the work, {bound}", percent(*share)));
    }
    section("Host", style) + &lines.iter().map(|text| line(text, style)).collect::<String>()
}

/// Formats the verdicts of the longest kernels, one per kernel name.
fn verdicts(facts: &RunFacts, outcome: &Outcome, style: Style) -> String {
    let mut longest: Vec<(u64, &KernelStats)> = Vec::new();
    let mut of_name: FxHashMap<&str, usize> = FxHashMap::default();
    for kernel in outcome.kernels.iter().filter(|kernel| kernel.started.is_some()) {
        let cycles = WorkTotals::of_kernel(kernel, outcome).cycles;
        match of_name.entry(&kernel.name) {
            Entry::Vacant(entry) => {
                entry.insert(longest.len());
                longest.push((cycles, kernel));
            }
            Entry::Occupied(entry) if longest[*entry.get()].0 < cycles => longest[*entry.get()] = (cycles, kernel),
            Entry::Occupied(_) => {}
        }
    }
    let names = longest.len();
    longest.sort_by_key(|(cycles, _)| std::cmp::Reverse(*cycles));
    let judge = VerdictBuilder::new(facts, outcome);
    let shown = longest.iter().take(MAX_VERDICTS).filter_map(|(_, kernel)| Some((kernel, judge.verdict(kernel)?)));
    let lines: Vec<String> = shown.flat_map(|(kernel, verdict)| verdict.lines(&kernel.name)).collect();
    if lines.is_empty() {
        return String::new();
    }
    let mut text = section("What limits the kernels", style);
    lines.iter().for_each(|line| text.push_str(&format!("{}\n", clip(line, style.width()))));
    if names > MAX_VERDICTS {
        text.push_str(&aside(&format!("the longest {MAX_VERDICTS} names; all launches are in stats.json"), style));
    }
    text
}

fn notes(outcome: &Outcome, style: Style) -> String {
    if outcome.notes.is_empty() {
        return String::new();
    }
    let mut text = section("Notes", style);
    for (note, times) in &outcome.notes {
        let often = if *times > 1 { format!(" ({} times)", count(*times)) } else { String::new() };
        text.push_str(&line(&format!("! {}{often}", printable(note)), style).replacen('!', &style.warning("!"), 1));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use crate::text::DEFAULT_COLUMNS;

    fn plain(outcome: &Outcome, host: &HostFacts) -> String {
        summary(&sample::facts(), outcome, host, Style::Plain)
    }

    #[test]
    fn the_report_looks_like_this() {
        insta::assert_snapshot!(plain(&sample::outcome(), &sample::host()));
    }

    #[test]
    fn no_line_of_the_numbers_is_wider_than_the_page() {
        let text = plain(&sample::outcome(), &sample::host());
        assert!(text.lines().all(|line| line.chars().count() <= DEFAULT_COLUMNS), "{text}");
    }

    #[test]
    fn every_rate_covers_the_time_of_its_counters() {
        use warpshard_stats::{ApplicationStats, ComponentStats, CounterInfo, CounterValue, GpuStats, SystemStats};
        // The last kernel ends after 18,000 cycles of 1 ns, and CPU cores keep the run going up to 72,000.
        let (mut outcome, facts) = (sample::outcome(), sample::facts());
        outcome.counted_until = 72_000;
        let counted = |name, value| CounterValue { info: name, value };
        let [bytes, packets, busy, stalls] = [
            &CounterInfo { name: "bytes", unit: "bytes", help: "" },
            &CounterInfo { name: "packets", unit: "packets", help: "" },
            &CounterInfo { name: "busy_cycles", unit: "cycles", help: "" },
            &CounterInfo { name: "credit_stalls", unit: "cycles", help: "" },
        ];
        let link = vec![counted(bytes, 144_000), counted(packets, 1), counted(busy, 36_000), counted(stalls, 0)];
        outcome.components.push(ComponentStats { kind: "link", id: 0, counters: link });
        outcome.system = Some(SystemStats { gpus: vec![GpuStats::default()], links: vec!["a -> b".into()], kernel_gpus: Vec::new() });
        let app = ApplicationStats {
            name: "app".into(),
            kernels: 1,
            launched: Some(0),
            ended: Some(18_000),
            executions: 1,
            warp_instructions: 1_200,
            thread_instructions: 36_000,
            later_warp_instructions: 0,
            alone: None,
        };
        outcome.applications = vec![app];
        let text = summary(&facts, &outcome, &sample::host(), Style::Plain);
        let cells = |start: &str| -> Vec<String> {
            let line = text.lines().find(|line| line.trim_start().starts_with(start)).unwrap_or_else(|| panic!("{start} in {text}"));
            line.split_whitespace().map(str::to_owned).collect()
        };
        // 910 bursts of 32 bytes in 72 us are 404 MB/s, 1.3 % of the peak of 32 GB/s.
        let dram = cells("DRAM ");
        assert_eq!(dram[dram.len() - 4..], ["404", "MB/s", "1.3", "%"], "{dram:?}");
        // 144,000 bytes in 72 us, half of the time.
        let link = cells("link 0").join(" ");
        assert!(link.contains("144000 bytes, 2.00 GB/s, busy 50.0 %"), "{link}");
        // Kernel IPC is relative to the kernels' cycles, and every table counts thread instructions.
        assert!(text.contains("36,000 thread instructions, 2.00 thread instructions per cycle"), "{text}");
        assert_eq!(cells("0  app")[6], "2.00", "{text}");
        assert_eq!(cells("1  saxpy").last().unwrap(), "5.25");
        // 72,000 cycles in 2 seconds of the host.
        assert!(text.contains("36.0 k core cycles/s"), "{text}");
        let host: serde_json::Value = serde_json::from_str(&crate::json::host(&facts, &outcome, &sample::host())).unwrap();
        assert_eq!(host["cycles_per_second"], 36_000.0);
        let stats: serde_json::Value = serde_json::from_str(&crate::json::stats(&facts, &outcome)).unwrap();
        assert_eq!((stats["total"]["ipc"].as_f64(), stats["counted_until"].as_u64()), (Some(2.0), Some(72_000)));
    }

    #[test]
    fn a_relaxed_run_is_marked_below_its_title() {
        let mut outcome = sample::outcome();
        let mut relaxed = RelaxedDeviations { epoch_cycles: 320, lookahead_cycles: 40, messages: 1000, late: Default::default() };
        outcome.relaxed = Some(relaxed);
        let text = plain(&outcome, &sample::host());
        assert!(text.lines().nth(1).unwrap().contains("relaxed run, still exact"), "{text}");
        relaxed.late.note(10);
        relaxed.late.note(21);
        outcome.relaxed = Some(relaxed);
        let text = plain(&outcome, &sample::host());
        assert!(text.lines().nth(1).unwrap().contains("relaxed run, approximate"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("0.2 % of 1,000 messages were late, by 15.5 cycles on average and 21 at most"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= DEFAULT_COLUMNS), "{text}");
    }

    #[test]
    fn a_run_without_cycles_has_a_report() {
        let mut outcome = sample::outcome();
        outcome.cycles = 0;
        outcome.kernels.clear();
        outcome.components.clear();
        outcome.notes.clear();
        let text = plain(&outcome, &HostFacts::default());
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        assert!(!text.contains("Kernels") && !text.contains("Memory") && !text.contains("Notes"), "{text}");
    }

    #[test]
    fn the_longest_kernels_are_shown_in_launch_order() {
        let mut outcome = sample::outcome();
        let kernel = outcome.kernels[0].clone();
        outcome.kernels = (0..30u64)
            .map(|i| {
                let mut kernel = kernel.clone();
                kernel.id = 7100 + i;
                kernel.started = Some(0);
                kernel.ended = Some(if i < 5 { 1 } else { 50 + i });
                kernel
            })
            .collect();
        let text = plain(&outcome, &sample::host());
        assert!(text.contains("10 more are in stats.json"), "{text}");
        assert!(!text.contains(" 7100 ") && !text.contains(" 7109 ") && text.contains(" 7110 ") && text.contains(" 7129 "), "{text}");
    }

    #[test]
    fn a_kernel_cut_short_shows_how_many_of_its_ctas_are_done() {
        let mut outcome = sample::outcome();
        outcome.ended_by = EndedBy::Interrupted;
        outcome.kernels[1].ctas_done = 12;
        outcome.kernels[1].ended = None;
        let text = plain(&outcome, &sample::host());
        assert!(text.contains("12/64") && text.contains("interrupted"), "{text}");
    }

    #[test]
    fn a_narrow_terminal_gets_the_whole_report_in_its_columns() {
        let columns = 60;
        let text = summary(&sample::facts(), &sample::outcome(), &sample::host(), Style::Terminal { colour: false, columns });
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
        let missing: Vec<_> = words(&plain(&sample::outcome(), &sample::host())).difference(&words(&text)).cloned().collect();
        // Tables cut long names to the available columns.
        let cut = |word: &String| word.contains(['─', '█', '<', '>', ',', '*', '…']) || word.chars().any(|c| "▏▎▍▌▋▊▉".contains(c));
        assert!(missing.iter().all(cut), "{missing:?} is missing in {text}");
    }

    #[test]
    fn names_cannot_control_the_terminal() {
        let hostile = "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{202e}\r\n\t";
        let (mut facts, mut outcome) = (sample::facts(), sample::outcome());
        facts.machine = hostile.into();
        facts.workload = hostile.into();
        outcome.kernels[0].name = hostile.into();
        outcome.notes.push((hostile.into(), 1));
        for style in [Style::Plain, Style::Terminal { colour: true, columns: 60 }] {
            let text = summary(&facts, &outcome, &sample::host(), style);
            let rest = Style::STYLE_SEQUENCES.iter().fold(text, |text, sequence| text.replace(sequence, ""));
            assert!(!rest.contains(|c| c != '\n' && crate::text::controls_terminal(c)), "{rest:?}");
        }
    }

    #[test]
    fn colours_change_nothing_but_escape_sequences() {
        let (outcome, host) = (sample::outcome(), sample::host());
        let coloured = summary(&sample::facts(), &outcome, &host, Style::Terminal { colour: true, columns: DEFAULT_COLUMNS });
        let stripped = regex::Regex::new("\u{1b}\\[[0-9]*m").unwrap().replace_all(&coloured, "").into_owned();
        assert_eq!(stripped, plain(&outcome, &host));
        assert_ne!(coloured, stripped);
    }
}
