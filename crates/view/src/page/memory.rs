//! The memory part of a page: caches, DRAM and networks.

use warpshard_report::text::{count, percent, si_number};

use super::super::series::{CounterSeries, ratios};
use super::data::RunData;
use super::draw::{Bar, Layer, colour, columns, lines};
use super::figure::{Figure, Part, number};
use super::time::texts;

const L1_HITS: [&str; 2] = ["sm.l1_read_hits", "sm.l1_write_hits"];
const L1_OTHERS: [&str; 6] = [
    "sm.l1_read_pending_hits",
    "sm.l1_write_pending_hits",
    "sm.l1_read_misses",
    "sm.l1_write_misses",
    "sm.l1_read_sector_misses",
    "sm.l1_write_sector_misses",
];

pub(super) fn part(data: &RunData<'_>) -> Option<Part> {
    let over_time = data.series.iter().flat_map(|series| [hit_rates(series), bandwidth(data, series), networks(series)]).flatten();
    let figures: Vec<Figure> = over_time.chain(channels(data)).collect();
    (!figures.is_empty()).then(|| Part { title: "Memory", note: String::new(), figures })
}

/// Returns a figure of lines over time with their numbers.
fn plot(series: &CounterSeries, title: &str, note: String, layers: &[Layer], share: bool, form: impl Fn(f64) -> String) -> Figure {
    let columns: Vec<_> = layers.iter().map(|layer| (layer.name.clone(), texts(&layer.values, &form))).collect();
    let figure = Figure {
        title: title.into(),
        note,
        legend: layers.iter().map(|layer| (layer.name.clone(), layer.colour.clone())).collect(),
        svg: lines(&series.ends, layers, share),
        ..Figure::default()
    };
    figure.over_time(&series.ends, &columns)
}

fn hit_rates(series: &CounterSeries) -> Option<Figure> {
    let l1 = series.sum(&L1_HITS).zip(series.sum(&[&L1_HITS[..], &L1_OTHERS].concat()));
    let llc = series.sum(&["llc.read_hits", "llc.write_hits"]).zip(series.get("llc.accesses"));
    let layers: Vec<Layer> = [
        l1.map(|(hits, all)| Layer { name: "L1".into(), colour: colour(0), values: ratios(&hits, &all) }),
        llc.map(|(hits, all)| Layer { name: "LLC".into(), colour: colour(1), values: ratios(&hits, all) }),
    ]
    .into_iter()
    .flatten()
    .collect();
    let note = "Hits as a share of all accesses; hits in lines that are still being fetched are not counted.".to_owned();
    (!layers.is_empty()).then(|| plot(series, "Cache hit rates over time", note, &layers, true, percent))
}

/// Returns the figure of bytes per simulated second.
fn bandwidth(data: &RunData<'_>, series: &CounterSeries) -> Option<Figure> {
    let burst = data.run.stats.number(&["dram_burst_bytes"])?;
    let seconds: Vec<f64> = series.lengths().iter().map(|cycles| cycles / data.hertz()).collect();
    let layer = |name: &str, counter: &str, index| {
        let bytes: Vec<f64> = series.get(counter)?.iter().map(|bursts| bursts * burst).collect();
        Some(Layer { name: name.to_owned(), colour: colour(index), values: ratios(&bytes, &seconds) })
    };
    let layers: Vec<Layer> = [layer("reads", "dram.reads", 0), layer("writes", "dram.writes", 1)].into_iter().flatten().collect();
    let peak =
        data.run.stats.number(&["dram_bytes_per_second"]).map_or_else(String::new, |peak| format!(" The peak is {}B/s.", si_number(peak)));
    let note = format!("Bytes per second, all channels together.{peak}");
    (!layers.is_empty()).then(|| plot(series, "DRAM bandwidth over time", note, &layers, false, |value| format!("{}B/s", si_number(value))))
}

/// Returns the figure of packets per cycle of each network.
fn networks(series: &CounterSeries) -> Option<Figure> {
    let lengths = series.lengths();
    let layer = |name: &str, counter: &str, index| {
        Some(Layer { name: name.to_owned(), colour: colour(index), values: ratios(series.get(counter)?, &lengths) })
    };
    let layers: Vec<Layer> =
        [layer("requests", "request_net.packets", 0), layer("replies", "reply_net.packets", 1)].into_iter().flatten().collect();
    let note = "Packets per core cycle in each direction.".to_owned();
    (!layers.is_empty()).then(|| plot(series, "Networks over time", note, &layers, false, number))
}

/// Returns the figure of the bytes of every DRAM channel.
fn channels(data: &RunData<'_>) -> Option<Figure> {
    let stats = &data.run.stats;
    let instances = |name: &str| data.instances("dram", name);
    let (ids, reads, writes, hits) = (instances("id")?, instances("reads")?, instances("writes")?, instances("row_hits")?);
    let burst = stats.number(&["dram_burst_bytes"])?;
    let time = data.counted_seconds()?;
    let peak = stats.number(&["dram_bytes_per_second"]).map(|peak| peak / reads.len() as f64);
    let rate = |i: usize| (reads[i] + writes[i]) * burst / time;
    let share = |i: usize| peak.map_or_else(String::new, |peak| percent(rate(i) / peak));
    let name = |i: usize| ids[i].to_string();
    let bar = |i: usize| Bar {
        name: format!("channel {}", name(i)),
        value: rate(i),
        label: format!("{}B/s, {} of peak", si_number(rate(i)), share(i)),
    };
    let row = |i: usize| {
        let rows = if reads[i] + writes[i] > 0.0 { percent(hits[i] / (reads[i] + writes[i])) } else { "–".to_owned() };
        vec![name(i), count(reads[i] as u64), count(writes[i] as u64), rows, format!("{}B/s", si_number(rate(i))), share(i)]
    };
    let used = (0..reads.len()).any(|i| reads[i] + writes[i] > 0.0);
    let note = if used { "Bandwidth of each channel over the whole run." } else { "No channel was used: all data came from the caches." };
    (!reads.is_empty()).then(|| Figure {
        title: "DRAM channels".into(),
        note: note.into(),
        svg: if used { columns(&(0..reads.len()).map(bar).collect::<Vec<_>>(), "var(--accent)") } else { String::new() },
        head: ["channel", "read bursts", "write bursts", "row hits", "bandwidth", "of peak"].map(str::to_owned).to_vec(),
        rows: (0..reads.len()).map(row).collect(),
        ..Figure::default()
    })
}
