//! Our finding for every published result of Section 6.

use warpshard_lab::statistics::{harmonic_mean, mean};

use super::super::published::GpuType;
use super::super::published::{Finding, Margins, concurrency};
use super::job::JobMeasurements;
use super::pairs::{GPU_TYPES, WorkloadKind, WorkloadPair};
use super::results::{Gain, ConcurrencyResults, percent};
use super::scheme::{FIXED_LIMITS, ConcurrencyScheme, System};
use super::span::Total;
use super::tables::{figure_19_alphas, negligible_stall_mc, relative_oss};

const CM_BAL1: ConcurrencyScheme = ConcurrencyScheme::CmBal(1);

fn significance_margins() -> &'static Margins {
    &concurrency().own.margins
}

/// Returns all findings, in the order of the paper.
pub(super) fn findings(results: &ConcurrencyResults) -> Vec<Finding> {
    [managed_scheme_findings(results), findings_by_type(results), metric_findings(results), overall_findings(results), fixed_limit_findings(results), other_system_findings(results)].concat()
}

fn mean_gain(results: &ConcurrencyResults, pairs: &[&WorkloadPair], scheme: ConcurrencyScheme) -> Option<Gain> {
    results.schemes.contains(&scheme).then(|| results.mean_gain(System::Base, pairs, scheme)).flatten()
}

/// Returns the mean gain of a scheme over pairs as a headline, which is empty if the scheme was not run.
fn gain_finding(results: &ConcurrencyResults, id: &'static str, system: System, pairs: &[&WorkloadPair], scheme: ConcurrencyScheme, of: fn(Gain) -> f64) -> Finding {
    let ran = results.schemes.contains(&scheme);
    let mean = |pairs: &[&WorkloadPair]| results.mean_gain(system, pairs, scheme).map(of);
    Finding::headline(id, if ran { results.headline(system, pairs, scheme, &mean) } else { Default::default() })
}

fn worst_pair(results: &ConcurrencyResults, scheme: ConcurrencyScheme) -> Option<(f64, &'static WorkloadPair)> {
    let of = |pair| (results.gain(System::Base, pair, scheme).gpu, pair);
    results.all().into_iter().map(of).min_by(|a, b| a.0.total_cmp(&b.0))
}

fn managed_scheme_findings(results: &ConcurrencyResults) -> Vec<Finding> {
    let all = results.all();
    let gain = |scheme| mean_gain(results, &all, scheme);
    let cpu: fn(Gain) -> f64 = |gain| gain.cpu;
    let gpu: fn(Gain) -> f64 = |gain| gain.gpu;
    let headline = |id, scheme, of| gain_finding(results, id, System::Base, &all, scheme, of);
    let worst_of = |id, scheme| {
        let worst = worst_pair(results, scheme);
        Finding::number(id, worst.map(|(ratio, _)| ratio), worst.map(|(_, pair)| format!(" ({pair})")).unwrap_or_default())
    };
    let off = |pairs: &[&WorkloadPair]| harmonic_mean(pairs.iter().map(|pair| results.gpu_off(pair)));
    let bal: Vec<Gain> = (1..=4).filter_map(|level| gain(ConcurrencyScheme::CmBal(level))).collect();
    let listed = |of: fn(&Gain) -> f64| bal.iter().map(|gain| percent(of(gain))).collect::<Vec<_>>().join(" ");
    let rises = bal.windows(2).all(|pair| pair[1].cpu >= pair[0].cpu - significance_margins().clear && pair[1].gpu <= pair[0].gpu + significance_margins().clear);
    let trades = bal.first().zip(bal.last()).is_some_and(|(first, last)| last.cpu > first.cpu && last.gpu < first.gpu);
    let above: Vec<String> = all
        .iter()
        .filter(|pair| {
            let of = |scheme| results.gain(System::Base, pair, scheme).gpu;
            of(ConcurrencyScheme::CmCpu) > of(CM_BAL1) + significance_margins().clear
        })
        .map(ToString::to_string)
        .collect();
    let (dyncta, bal1) = (gain(ConcurrencyScheme::DynCta).map(cpu), gain(CM_BAL1).map(cpu));
    let half = dyncta.zip(bal1).map(|(dyncta, bal1)| dyncta - 1.0 < (bal1 - 1.0) / 2.0);
    vec![
        headline("cm-cpu-on-cpus", ConcurrencyScheme::CmCpu, cpu),
        headline("cm-cpu-on-gpu", ConcurrencyScheme::CmCpu, gpu),
        headline("cm-bal1-on-cpus", CM_BAL1, cpu),
        headline("cm-bal1-on-gpu", CM_BAL1, gpu),
        worst_of("cm-bal1-worst-gpu", CM_BAL1),
        Finding::direction("cm-bal-trades", format!("CPU {}; GPU {}", listed(|gain| gain.cpu), listed(|gain| gain.gpu)), rises && trades),
        Finding::direction("cm-bal1-over-cm-cpu", if above.is_empty() { "none".into() } else { above.join(", ") }, above.is_empty()),
        headline("dyncta-on-cpus", ConcurrencyScheme::DynCta, cpu),
        Finding::direction("dyncta-below-half", format!("{} and {}", percent_or_dash(dyncta), percent_or_dash(bal1)), half),
        worst_of("dyncta-worst-gpu", ConcurrencyScheme::DynCta),
        Finding::headline("gpu-off", results.headline(System::Base, &all, ConcurrencyScheme::All, &off)),
    ]
}

/// Returns the value of `of` for the pairs of GPU types H, M and L; `None` if it has no value for a type.
fn per_gpu_type<T>(results: &ConcurrencyResults, of: impl Fn(&[&WorkloadPair]) -> Option<T>) -> Option<[T; 3]> {
    let mut values = Vec::new();
    for gpu in GPU_TYPES {
        values.push(of(&results.pairs_of(|WorkloadKind(other, _)| other == gpu))?);
    }
    values.try_into().ok()
}

fn findings_by_type(results: &ConcurrencyResults) -> Vec<Finding> {
    let gain = |scheme| per_gpu_type(results, |pairs| mean_gain(results, pairs, scheme));
    let text = |values: Option<[f64; 3]>| match values {
        Some([h, m, l]) => format!("H {}, M {}, L {}", percent(h), percent(m), percent(l)),
        None => "-".into(),
    };
    let gpu = |scheme| gain(scheme).map(|gains| gains.map(|gain| gain.gpu));
    let (cm_cpu, four) = (gpu(ConcurrencyScheme::CmCpu), gpu(ConcurrencyScheme::Static(4)));
    let bal1_cpu = gain(CM_BAL1).map(|gains| gains.map(|gain| gain.cpu));
    let type_l = results.pairs_of(|WorkloadKind(gpu, _)| gpu == GpuType::L);
    vec![
        gain_finding(results, "dyncta-on-type-l", System::Base, &type_l, ConcurrencyScheme::DynCta, |gain| gain.gpu),
        Finding::direction(
            "cm-cpu-on-types",
            text(cm_cpu),
            cm_cpu.map(|[h, m, l]| h < 1.0 - significance_margins().clear && m < 1.0 - significance_margins().clear && l > 1.0 + significance_margins().clear),
        ),
        Finding::direction("cpu-gain-of-types", text(bal1_cpu), bal1_cpu.map(|[h, m, l]| h < m.max(l))),
        Finding::direction(
            "four-warps-on-types",
            text(four),
            four.map(|[h, m, l]| h < 1.0 - significance_margins().clear && (m - 1.0).abs() < significance_margins().little && l > 1.0 + significance_margins().clear),
        ),
    ]
}

fn metric_findings(results: &ConcurrencyResults) -> Vec<Finding> {
    let all = results.all();
    let mc = |scheme| results.mean_relative(&all, scheme, negligible_stall_mc(), |run| run.per_cycle(Total::StallMc));
    let (mc_cpu, mc_bal) = (mc(ConcurrencyScheme::CmCpu), mc(CM_BAL1));
    let per_instruction = |pair: &WorkloadPair, scheme| {
        let of = |scheme| results.run_of(pair, scheme).stall_gpu_per_instruction();
        of(scheme) / of(ConcurrencyScheme::All)
    };
    let risen = all.iter().filter(|pair| per_instruction(pair, ConcurrencyScheme::CmCpu) > 1.0).count();
    let type_l = results.pairs_of(|WorkloadKind(gpu, _)| gpu == GpuType::L);
    let fallen = type_l.iter().filter(|pair| per_instruction(pair, CM_BAL1) < 1.0).count();
    let busy = all.iter().filter(|pair| results.run_of(pair, ConcurrencyScheme::All).per_cycle(Total::StallNet) >= significance_margins().busy).count();
    let warps = |scheme| {
        let of = |pairs: &[&WorkloadPair]| mean(pairs.iter().map(|pair| results.run_of(pair, scheme).active_warps()));
        per_gpu_type(results, of)
    };
    let (cm_cpu, bal) = (warps(ConcurrencyScheme::CmCpu), warps(CM_BAL1));
    let text = |warps: Option<[f64; 3]>| warps.map_or_else(|| "-".into(), |[h, m, l]| format!("H {h:.1} M {m:.1} L {l:.1}"));
    let order = cm_cpu.zip(bal).map(|(cm, bal)| bal[0] > bal[2] && cm.iter().zip(bal).all(|(cm, bal)| *cm < bal));
    let llc = |pairs: &[&WorkloadPair]| results.mean_relative(pairs, CM_BAL1, 0.0, |run: &JobMeasurements| run.per_cycle(Total::LlcAccesses));
    [
        vec![
            Finding::direction(
                "stall-mc",
                format!("CM-CPU {} %, CM-BAL1 {} %", percent_or_dash(mc_cpu), percent_or_dash(mc_bal)),
                mc_cpu.zip(mc_bal).map(|(cpu, bal)| cpu < 1.0 - significance_margins().significant && cpu < bal && bal < 1.0 - significance_margins().clear),
            ),
            Finding::direction(
                "stall-gpu",
                format!("CM-CPU: up in {risen} of {}; CM-BAL1: down in {fallen} of {} of type L", all.len(), type_l.len()),
                (!type_l.is_empty()).then(|| 2 * risen > all.len() && 2 * fallen > type_l.len()),
            ),
            Finding::direction("stall-net", format!("{} and more in {busy} of {}", significance_margins().busy, all.len()), 2 * busy < all.len()),
            Finding::headline("llc-accesses", results.headline(System::Base, &all, CM_BAL1, &llc)),
            Finding::direction("warps-of-types", format!("CM-CPU {}; CM-BAL1 {}", text(cm_cpu), text(bal)), order),
        ],
        path_findings(results),
    ]
    .concat()
}

/// Returns the findings for PATH with L1 and H1 (Figure 13).
fn path_findings(results: &ConcurrencyResults) -> Vec<Finding> {
    let pair = |mix: &str| results.all().into_iter().find(|pair| pair.gpu == "PATH" && pair.mix == mix);
    let of = |mix, scheme| pair(mix).map(|pair| results.run_of(pair, scheme).active_warps());
    let [light, heavy] = ["L1", "H1"].map(|mix| [ConcurrencyScheme::CmCpu, CM_BAL1].map(|scheme| of(mix, scheme)));
    let text = |warps: Option<f64>| warps.map_or_else(|| "-".into(), |warps| format!("{warps:.1}"));
    let fewer = light.iter().zip(&heavy).map(|(light, heavy)| light.zip(*heavy).map(|(light, heavy)| heavy < light));
    let more = [light, heavy].map(|[cm, bal]| cm.zip(bal).map(|(cm, bal)| cm < bal));
    let warps = format!("CM-CPU L1 {}, H1 {}; CM-BAL1 L1 {}, H1 {}", text(light[0]), text(heavy[0]), text(light[1]), text(heavy[1]));
    let known: Vec<bool> = more.into_iter().flatten().collect();
    vec![
        Finding::direction("path-beside-mixes", warps.clone(), fewer.collect::<Option<Vec<_>>>().map(|fewer| !fewer.contains(&false))),
        Finding::direction("path-of-schemes", warps, (!known.is_empty()).then(|| !known.contains(&false))),
    ]
}

fn overall_findings(results: &ConcurrencyResults) -> Vec<Finding> {
    let of = |scheme, alpha| relative_oss(results, scheme, alpha).unwrap_or(f64::NAN);
    let ends =
        |scheme| format!("{} at 0, {} at 0.5, {} at 1", percent(of(scheme, 0.0)), percent(of(scheme, 0.5)), percent(of(scheme, 1.0)));
    let dynamic = results.schemes.iter().filter(|scheme| !matches!(scheme, ConcurrencyScheme::Static(_)));
    let best = dynamic.copied().max_by(|a, b| of(*a, 0.0).total_cmp(&of(*b, 0.0)));
    let near = (of(CM_BAL1, 0.5) - of(ConcurrencyScheme::CmCpu, 0.5)).abs() < significance_margins().little;
    vec![
        Finding::direction("oss-of-cm-cpu", ends(ConcurrencyScheme::CmCpu), best == Some(ConcurrencyScheme::CmCpu) && of(ConcurrencyScheme::CmCpu, 1.0) < 1.0),
        Finding::direction("oss-of-cm-bal1", ends(CM_BAL1), near && figure_19_alphas().all(|alpha| of(CM_BAL1, alpha) > 1.0)),
    ]
}

fn fixed_limit_findings(results: &ConcurrencyResults) -> Vec<Finding> {
    let all = results.all();
    let gain = |scheme| mean_gain(results, &all, scheme);
    let limits: Vec<(u32, Gain)> = FIXED_LIMITS.iter().filter_map(|warps| gain(ConcurrencyScheme::Static(*warps)).map(|gain| (*warps, gain))).collect();
    let listed =
        |of: fn(&Gain) -> f64| limits.iter().map(|(warps, gain)| format!("{warps}: {}", percent(of(gain)))).collect::<Vec<_>>().join(", ");
    let bal1 = gain(CM_BAL1);
    let beaten = bal1.map(|bal1| limits.iter().all(|(_, gain)| gain.gpu < bal1.gpu + significance_margins().clear));
    let mut few = limits.iter().filter(|(warps, _)| *warps <= 6).map(|(_, gain)| gain.cpu);
    vec![
        Finding::direction(
            "static-on-gpu",
            format!("CM-BAL1 {}; {}", bal1.map_or("-".into(), |gain| percent(gain.gpu)), listed(|gain| gain.gpu)),
            beaten.filter(|_| !limits.is_empty()),
        ),
        Finding::direction(
            "static-on-cpus",
            listed(|gain| gain.cpu),
            (!limits.is_empty()).then(|| few.all(|cpu| cpu > 1.0 + significance_margins().clear)),
        ),
    ]
}

fn other_system_findings(results: &ConcurrencyResults) -> Vec<Finding> {
    let pairs = &results.other_system_pairs;
    let gain = |system| (pairs.len() == GPU_TYPES.len()).then(|| results.mean_gain(system, pairs, CM_BAL1)).flatten();
    let tiles: Option<Vec<Gain>> = [System::Two, System::Base, System::Six].into_iter().map(gain).collect();
    let text = tiles.as_ref().map_or_else(
        || "-".into(),
        |tiles| {
            let list = |of: fn(&Gain) -> f64| tiles.iter().map(|gain| percent(of(gain))).collect::<Vec<_>>().join(" ");
            format!("2, 4, 6: CPU {}; GPU {}", list(|gain| gain.cpu), list(|gain| gain.gpu))
        },
    );
    let near = tiles.map(|tiles| {
        tiles.iter().all(|gain| (gain.cpu - tiles[1].cpu).abs() < significance_margins().little && (gain.gpu - tiles[1].gpu).abs() < significance_margins().little)
    });
    let here = if pairs.len() == GPU_TYPES.len() { &pairs[..] } else { &[] };
    let headline = |id, system, of| gain_finding(results, id, system, here, CM_BAL1, of);
    vec![
        Finding::direction("cores-per-tile", text, near),
        headline("small-on-cpus", System::Small, |gain| gain.cpu),
        headline("small-on-gpu", System::Small, |gain| gain.gpu),
        headline("partitioned-on-gpu", System::Partitioned, |gain| gain.gpu),
        headline("partitioned-on-cpus", System::Partitioned, |gain| gain.cpu),
    ]
}

fn percent_or_dash(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".into(), percent)
}
