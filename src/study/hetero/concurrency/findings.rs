//! The results of Section 6 beside ours, one row each.

use super::super::published::{Figure, figures};
use super::job::Measured;
use super::pairs::{GPU_TYPES, GpuType, Kind, Pair};
use super::results::{Gain, Results, mean, percent};
use super::scheme::{LIMITS, Scheme, System};
use super::span::Total;
use super::tables::{NEGLIGIBLE, alphas, relative_oss};
use crate::study::StudyOutput;

/// Differences below this are none.
const CLEAR: f64 = 0.01;
/// What "does not affect" and "little change" allow.
const LITTLE: f64 = 0.05;

const BAL1: Scheme = Scheme::CmBal(1);

/// Ours in the matter of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// The figure.
    pub(super) id: &'static str,
    /// Ours, in words and figures.
    pub(super) ours: String,
    /// Ours as a number in percent, where one is stated.
    pub(super) value: Option<f64>,
    /// Whether a direction holds; `None` where there was nothing to see it in.
    pub(super) holds: Option<bool>,
}

impl Finding {
    fn number(id: &'static str, ratio: Option<f64>) -> Self {
        let value = ratio.filter(|ratio| ratio.is_finite()).map(|ratio| (ratio - 1.0) * 100.0);
        Self { id, ours: ratio.map_or_else(|| "-".into(), percent), value, holds: None }
    }

    fn of(id: &'static str, ours: String, holds: impl Into<Option<bool>>) -> Self {
        Self { id, ours, value: None, holds: holds.into() }
    }

    fn with(self, more: String) -> Self {
        Self { ours: format!("{}{more}", self.ours), ..self }
    }

    /// The verdict beside what is stated.
    pub(super) fn verdict(&self, stated: &Figure) -> &'static str {
        match (stated.value, self.value, self.holds) {
            (Some(value), Some(ours), _) => {
                let (low, high) = stated.within.unwrap_or((value, value));
                match () {
                    () if (low..=high).contains(&ours) => "holds",
                    () if ours * value > 0.0 => "direction holds",
                    () => "misses",
                }
            }
            (None, _, Some(true)) => "holds",
            (None, _, Some(false)) => "misses",
            _ => "not run",
        }
    }
}

const COLUMNS: [&str; 6] = ["figure", "ours", "published", "kind", "section", "verdict"];

/// Adds the comparison.
pub(super) fn add(results: &Results, output: &mut StudyOutput) {
    let findings = findings(results);
    let (mut judged, mut held) = (0u32, 0u32);
    for figure in figures() {
        let Some(finding) = findings.iter().find(|finding| finding.id == figure.id) else { continue };
        let verdict = finding.verdict(figure);
        judged += u32::from(verdict != "not run");
        held += u32::from(verdict == "holds");
        let published = figure.value.map_or_else(|| "direction".to_owned(), |value| format!("{value:+.0} %"));
        output.compare(
            &COLUMNS,
            vec![figure.text.clone(), finding.ours.clone(), published, figure.kind.clone(), figure.source.clone(), verdict.into()],
        );
    }
    output.figure("published results that could be compared", f64::from(judged));
    output.figure("published results that hold", f64::from(held));
}

/// Every finding, in the order of the paper.
pub(super) fn findings(results: &Results) -> Vec<Finding> {
    [managed(results), by_type(results), metrics(results), overall(results), fixed(results), elsewhere(results)].concat()
}

fn mean_gain(results: &Results, pairs: &[&Pair], scheme: Scheme) -> Option<Gain> {
    results.schemes.contains(&scheme).then(|| results.mean_gain(System::Base, pairs, scheme)).flatten()
}

fn worst(results: &Results, scheme: Scheme) -> Option<(f64, &'static Pair)> {
    let of = |pair| (results.gain(System::Base, pair, scheme).gpu, pair);
    results.all().into_iter().map(of).min_by(|a, b| a.0.total_cmp(&b.0))
}

fn managed(results: &Results) -> Vec<Finding> {
    let all = results.all();
    let gain = |scheme| mean_gain(results, &all, scheme);
    let (cpu, gpu) = (|gain: Gain| gain.cpu, |gain: Gain| gain.gpu);
    let worst_of = |id, scheme| match worst(results, scheme) {
        Some((ratio, pair)) => Finding::number(id, Some(ratio)).with(format!(" ({pair})")),
        None => Finding::number(id, None),
    };
    let bal: Vec<Gain> = (1..=4).filter_map(|level| gain(Scheme::CmBal(level))).collect();
    let listed = |of: fn(&Gain) -> f64| bal.iter().map(|gain| percent(of(gain))).collect::<Vec<_>>().join(" ");
    let rises = bal.windows(2).all(|pair| pair[1].cpu >= pair[0].cpu - CLEAR && pair[1].gpu <= pair[0].gpu + CLEAR);
    let trades = bal.first().zip(bal.last()).is_some_and(|(first, last)| last.cpu > first.cpu && last.gpu < first.gpu);
    let above: Vec<String> = all
        .iter()
        .filter(|pair| {
            let of = |scheme| results.gain(System::Base, pair, scheme).gpu;
            of(Scheme::CmCpu) > of(BAL1) + CLEAR
        })
        .map(ToString::to_string)
        .collect();
    let (dyncta, bal1) = (gain(Scheme::DynCta).map(cpu), gain(BAL1).map(cpu));
    let half = dyncta.zip(bal1).map(|(dyncta, bal1)| dyncta - 1.0 < (bal1 - 1.0) / 2.0);
    vec![
        Finding::number("cm-cpu-on-cpus", gain(Scheme::CmCpu).map(cpu)),
        Finding::number("cm-cpu-on-gpu", gain(Scheme::CmCpu).map(gpu)),
        Finding::number("cm-bal1-on-cpus", bal1),
        Finding::number("cm-bal1-on-gpu", gain(BAL1).map(gpu)),
        worst_of("cm-bal1-worst-gpu", BAL1),
        Finding::of("cm-bal-trades", format!("CPU {}; GPU {}", listed(|gain| gain.cpu), listed(|gain| gain.gpu)), rises && trades),
        Finding::of("cm-bal1-over-cm-cpu", if above.is_empty() { "none".into() } else { above.join(", ") }, above.is_empty()),
        Finding::number("dyncta-on-cpus", dyncta).with(if half == Some(true) { ", below half".into() } else { ", not below half".into() }),
        worst_of("dyncta-worst-gpu", Scheme::DynCta),
        Finding::number("gpu-off", super::metrics::harmonic_mean(all.iter().map(|pair| results.gpu_off(pair)))),
    ]
}

/// What `of` gives for the GPU types H, M and L, as far as there are pairs of them.
fn typed<T>(results: &Results, of: impl Fn(&[&Pair]) -> Option<T>) -> Option<[T; 3]> {
    let mut values = Vec::new();
    for gpu in GPU_TYPES {
        values.push(of(&results.pairs_of(|Kind(other, _)| other == gpu))?);
    }
    values.try_into().ok()
}

fn by_type(results: &Results) -> Vec<Finding> {
    let gain = |scheme| typed(results, |pairs| mean_gain(results, pairs, scheme));
    let text = |values: Option<[f64; 3]>| match values {
        Some([h, m, l]) => format!("H {}, M {}, L {}", percent(h), percent(m), percent(l)),
        None => "-".into(),
    };
    let gpu = |scheme| gain(scheme).map(|gains| gains.map(|gain| gain.gpu));
    let (cm_cpu, four) = (gpu(Scheme::CmCpu), gpu(Scheme::Static(4)));
    let bal1_cpu = gain(BAL1).map(|gains| gains.map(|gain| gain.cpu));
    let type_l = results.pairs_of(|Kind(gpu, _)| gpu == GpuType::L);
    vec![
        Finding::number("dyncta-on-type-l", mean_gain(results, &type_l, Scheme::DynCta).map(|gain| gain.gpu)),
        Finding::of("cm-cpu-on-types", text(cm_cpu), cm_cpu.map(|[h, m, l]| h < 1.0 - CLEAR && m < 1.0 - CLEAR && l > 1.0 + CLEAR)),
        Finding::of("cpu-gain-of-types", text(bal1_cpu), bal1_cpu.map(|[h, m, l]| h < m.max(l))),
        Finding::of(
            "four-warps-on-types",
            text(four),
            four.map(|[h, m, l]| h < 1.0 - CLEAR && (m - 1.0).abs() < LITTLE && l > 1.0 + CLEAR),
        ),
    ]
}

fn metrics(results: &Results) -> Vec<Finding> {
    let all = results.all();
    let mc = |scheme| results.mean_relative(&all, scheme, NEGLIGIBLE, |run| run.per_cycle(Total::StallMc));
    let (mc_cpu, mc_bal) = (mc(Scheme::CmCpu), mc(BAL1));
    let per_instruction = |pair: &Pair, scheme| {
        let of = |scheme| results.of(pair, scheme).stall_gpu_per_instruction();
        of(scheme) / of(Scheme::All)
    };
    let risen = all.iter().filter(|pair| per_instruction(pair, Scheme::CmCpu) > 1.0).count();
    let type_l = results.pairs_of(|Kind(gpu, _)| gpu == GpuType::L);
    let fallen = type_l.iter().filter(|pair| per_instruction(pair, BAL1) < 1.0).count();
    let busy = all.iter().filter(|pair| results.of(pair, Scheme::All).per_cycle(Total::StallNet) >= 0.25).count();
    let warps = |scheme| {
        let of = |pairs: &[&Pair]| mean(pairs.iter().map(|pair| results.of(pair, scheme).active_warps()));
        typed(results, of)
    };
    let (cm_cpu, bal) = (warps(Scheme::CmCpu), warps(BAL1));
    let text = |warps: Option<[f64; 3]>| warps.map_or_else(|| "-".into(), |[h, m, l]| format!("H {h:.1} M {m:.1} L {l:.1}"));
    let order = cm_cpu.zip(bal).map(|(cm, bal)| bal[0] > bal[2] && cm.iter().zip(bal).all(|(cm, bal)| *cm < bal));
    let llc = results.mean_relative(&all, BAL1, 0.0, |run: &Measured| run.per_cycle(Total::LlcAccesses));
    [
        vec![
            Finding::of(
                "stall-mc",
                format!("CM-CPU {} %, CM-BAL1 {} %", mc_cpu.map_or("-".into(), percent), mc_bal.map_or("-".into(), percent)),
                mc_cpu.zip(mc_bal).map(|(cpu, bal)| cpu < 0.9 && cpu < bal && bal < 1.0 - CLEAR),
            ),
            Finding::of(
                "stall-gpu",
                format!("CM-CPU: up in {risen} of {}; CM-BAL1: down in {fallen} of {} of type L", all.len(), type_l.len()),
                (!type_l.is_empty()).then(|| 2 * risen > all.len() && 2 * fallen > type_l.len()),
            ),
            Finding::of("stall-net", format!("0.25 and more in {busy} of {}", all.len()), 2 * busy < all.len()),
            Finding::number("llc-accesses", llc),
            Finding::of("warps-of-types", format!("CM-CPU {}; CM-BAL1 {}", text(cm_cpu), text(bal)), order),
        ],
        path(results),
    ]
    .concat()
}

/// PATH beside L1 and H1 (Figure 13).
fn path(results: &Results) -> Vec<Finding> {
    let pair = |mix: &str| results.all().into_iter().find(|pair| pair.gpu == "PATH" && pair.mix == mix);
    let of = |mix, scheme| pair(mix).map(|pair| results.of(pair, scheme).active_warps());
    let [light, heavy] = ["L1", "H1"].map(|mix| [Scheme::CmCpu, BAL1].map(|scheme| of(mix, scheme)));
    let text = |warps: Option<f64>| warps.map_or_else(|| "-".into(), |warps| format!("{warps:.1}"));
    let fewer = light.iter().zip(&heavy).map(|(light, heavy)| light.zip(*heavy).map(|(light, heavy)| heavy < light));
    let more = [light, heavy].map(|[cm, bal]| cm.zip(bal).map(|(cm, bal)| cm < bal));
    let beside = format!("CM-CPU L1 {}, H1 {}; CM-BAL1 L1 {}, H1 {}", text(light[0]), text(heavy[0]), text(light[1]), text(heavy[1]));
    let known: Vec<bool> = more.into_iter().flatten().collect();
    vec![
        Finding::of("path-beside-mixes", beside.clone(), fewer.collect::<Option<Vec<_>>>().map(|fewer| !fewer.contains(&false))),
        Finding::of("path-of-schemes", beside, (!known.is_empty()).then(|| !known.contains(&false))),
    ]
}

fn overall(results: &Results) -> Vec<Finding> {
    let of = |scheme, alpha| relative_oss(results, scheme, alpha).unwrap_or(f64::NAN);
    let ends =
        |scheme| format!("{} at 0, {} at 0.5, {} at 1", percent(of(scheme, 0.0)), percent(of(scheme, 0.5)), percent(of(scheme, 1.0)));
    let dynamic = results.schemes.iter().filter(|scheme| !matches!(scheme, Scheme::Static(_)));
    let best = dynamic.copied().max_by(|a, b| of(*a, 0.0).total_cmp(&of(*b, 0.0)));
    let near = (of(BAL1, 0.5) - of(Scheme::CmCpu, 0.5)).abs() < LITTLE;
    vec![
        Finding::of("oss-of-cm-cpu", ends(Scheme::CmCpu), best == Some(Scheme::CmCpu) && of(Scheme::CmCpu, 1.0) < 1.0),
        Finding::of("oss-of-cm-bal1", ends(BAL1), near && alphas().all(|alpha| of(BAL1, alpha) > 1.0)),
    ]
}

fn fixed(results: &Results) -> Vec<Finding> {
    let all = results.all();
    let gain = |scheme| mean_gain(results, &all, scheme);
    let limits: Vec<(u32, Gain)> = LIMITS.iter().filter_map(|warps| gain(Scheme::Static(*warps)).map(|gain| (*warps, gain))).collect();
    let listed =
        |of: fn(&Gain) -> f64| limits.iter().map(|(warps, gain)| format!("{warps}: {}", percent(of(gain)))).collect::<Vec<_>>().join(", ");
    let bal1 = gain(BAL1);
    let beaten = bal1.map(|bal1| limits.iter().all(|(_, gain)| gain.gpu < bal1.gpu + CLEAR));
    let few = limits.iter().filter(|(warps, _)| *warps <= 6).map(|(_, gain)| gain.cpu);
    vec![
        Finding::of(
            "static-on-gpu",
            format!("CM-BAL1 {}; {}", bal1.map_or("-".into(), |gain| percent(gain.gpu)), listed(|gain| gain.gpu)),
            beaten.filter(|_| !limits.is_empty()),
        ),
        Finding::of(
            "static-on-cpus",
            listed(|gain| gain.cpu),
            (!limits.is_empty()).then(|| few.fold(true, |all, cpu| all && cpu > 1.0 + CLEAR)),
        ),
    ]
}

fn elsewhere(results: &Results) -> Vec<Finding> {
    let pairs = &results.elsewhere;
    let gain = |system| (pairs.len() == GPU_TYPES.len()).then(|| results.mean_gain(system, pairs, BAL1)).flatten();
    let tiles: Option<Vec<Gain>> = [System::Two, System::Base, System::Six].into_iter().map(gain).collect();
    let text = tiles.as_ref().map_or_else(
        || "-".into(),
        |tiles| {
            let list = |of: fn(&Gain) -> f64| tiles.iter().map(|gain| percent(of(gain))).collect::<Vec<_>>().join(" ");
            format!("2, 4, 6: CPU {}; GPU {}", list(|gain| gain.cpu), list(|gain| gain.gpu))
        },
    );
    let near =
        tiles.map(|tiles| tiles.iter().all(|gain| (gain.cpu - tiles[1].cpu).abs() < LITTLE && (gain.gpu - tiles[1].gpu).abs() < LITTLE));
    let (small, partitioned) = (gain(System::Small), gain(System::Partitioned));
    vec![
        Finding::of("cores-per-tile", text, near),
        Finding::number("small-on-cpus", small.map(|gain| gain.cpu)),
        Finding::number("small-on-gpu", small.map(|gain| gain.gpu)),
        Finding::number("partitioned-on-gpu", partitioned.map(|gain| gain.gpu)),
        Finding::number("partitioned-on-cpus", partitioned.map(|gain| gain.cpu)),
    ]
}
