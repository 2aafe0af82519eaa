//! How a sampled run came about: as JSON, and in words for the summary.

use serde_json::{Map, Value, json};

use crate::stats::{Basis, Estimate, Sampled};

use super::text::{count, percent};

/// The part `sampled` of `stats.json`.
pub(super) fn json(sampled: &Sampled) -> Value {
    let one = |estimate: &Estimate| {
        json!({
            "value": estimate.value,
            "low": estimate.value - estimate.half_width,
            "high": estimate.value + estimate.half_width,
            "relative_half_width": estimate.relative(),
        })
    };
    let estimates: Map<String, Value> = sampled.estimates.iter().map(|estimate| (estimate.name.to_owned(), one(estimate))).collect();
    let strata = sampled.strata.iter().map(|stratum| {
        json!({
            "kernel": stratum.kernel,
            "launches": stratum.launches,
            "measured": stratum.measured,
            "warp_instructions": stratum.warp_instructions,
            "net_cycles": stratum.cycles,
            "deviation": stratum.deviation,
        })
    });
    json!({
        "confidence": sampled.confidence,
        "wanted_error": sampled.wanted,
        "seed": sampled.seed,
        "launches": sampled.launches,
        "measured": sampled.measured,
        "cut_short": sampled.cut_short,
        "warmed": sampled.warmed,
        "rounds": sampled.rounds,
        "warp_instructions": sampled.warp_instructions,
        "simulated_warp_instructions": sampled.simulated_warp_instructions,
        "unwarmed_difference": sampled.warming,
        "fraction": sampled.fraction(),
        "estimates": estimates,
        "strata": strata.collect::<Vec<_>>(),
        "kernels": sampled.kernels.iter().map(|basis: &Basis| basis.name()).collect::<Vec<_>>(),
    })
}

/// The same in sentences, of which the last says how wide the intervals are.
pub(super) fn words(sampled: &Sampled) -> Vec<String> {
    let cut = match sampled.cut_short {
        0 => String::new(),
        launches => format!(", {} of them cut short", count(launches.into())),
    };
    let what = format!(
        "sampled run: {} of {} launches measured{cut}, {} to warm caches; {} of the warp instructions simulated",
        count(sampled.measured.into()),
        count(sampled.launches.into()),
        count(sampled.warmed.into()),
        percent(sampled.fraction()),
    );
    let widths = sampled.estimates.iter().filter_map(|estimate| Some(format!("{} {}", estimate.name, percent(estimate.relative()?))));
    let widths = format!("within, with a confidence of {}: {}", percent(sampled.confidence), widths.collect::<Vec<_>>().join(", "));
    let missed = sampled.estimate("net_cycles").and_then(Estimate::relative).filter(|width| *width > sampled.wanted);
    let missed = missed
        .map(|width| format!("the interval of net_cycles is wider ({}) than asked for ({})", percent(width), percent(sampled.wanted)));
    [Some(what), Some(widths), missed].into_iter().flatten().collect()
}
