//! The sampling of a run: as JSON, and in sentences for the summary.

use serde_json::{Map, Value, json};

use warpshard_stats::{Estimate, ResultBasis, SamplingData};

use super::text::{count, percent};

/// Returns the part `sampled` of `stats.json`.
pub(super) fn json(sampled: &SamplingData) -> Value {
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
        "in_parts": sampled.in_parts,
        "warmed": sampled.warmed,
        "rounds": sampled.rounds,
        "warp_instructions": sampled.warp_instructions,
        "simulated_warp_instructions": sampled.simulated_warp_instructions,
        "unwarmed_difference": sampled.warming,
        "fraction": sampled.fraction(),
        "estimates": estimates,
        "strata": strata.collect::<Vec<_>>(),
        "kernels": sampled.kernels.iter().map(|basis: &ResultBasis| basis.name()).collect::<Vec<_>>(),
    })
}

/// Describes the sampling in sentences; the last sentence contains the widths of the confidence intervals.
pub(super) fn sampling_sentences(sampled: &SamplingData) -> Vec<String> {
    let cut = match sampled.in_parts {
        0 => String::new(),
        launches => format!(", {} of them in parts", count(launches.into())),
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
        .map(|width| format!("the interval of net_cycles is wider ({}) than requested ({})", percent(width), percent(sampled.wanted)));
    [Some(what), Some(widths), missed].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{csv, json as stats, sample, summary, text::Style};
    use warpshard_stats::{EndedBy, HostFacts, Outcome};

    fn outcome() -> Outcome {
        let estimate = |name, value, half_width| Estimate { name, value, half_width };
        let sampled = SamplingData {
            confidence: 0.95,
            wanted: 0.02,
            seed: 7,
            launches: 40,
            measured: 5,
            in_parts: 1,
            warmed: 4,
            rounds: 2,
            warp_instructions: 1000,
            simulated_warp_instructions: 150,
            warming: 0.01,
            estimates: vec![estimate("net_cycles", 200.0, 5.0), estimate("dram_bursts", 0.0, 0.0)],
            strata: Vec::new(),
            kernels: vec![ResultBasis::InParts, ResultBasis::Estimated],
        };
        Outcome { ended_by: EndedBy::Sampled, sampled: Some(sampled), ..sample::outcome() }
    }

    #[test]
    fn a_sampled_run_is_marked_in_every_file() {
        let (facts, outcome) = (sample::facts(), outcome());
        let value: Value = serde_json::from_str(&stats::stats(&facts, &outcome)).unwrap();
        assert_eq!(value["ended_by"], "sampled");
        assert_eq!(value["sampled"]["fraction"], 0.15);
        assert_eq!(value["sampled"]["estimates"]["net_cycles"]["low"], 195.0);
        assert_eq!(value["sampled"]["estimates"]["dram_bursts"]["relative_half_width"], Value::Null);
        let table = csv::kernels(&facts, &outcome);
        let ends: Vec<&str> = table.lines().map(|line| line.rsplit(',').next().unwrap()).collect();
        assert_eq!(ends, ["sampled", "in parts", "estimated"]);
        let text = summary(&facts, &outcome, &HostFacts::default(), Style::Plain);
        assert!(text.lines().next().unwrap().contains("estimates"), "{text}");
        assert!(text.contains("5 of 40 launches measured, 1 of them in parts, 4 to warm caches"), "{text}");
        let whole = csv::kernels(&facts, &Outcome { sampled: None, ..outcome });
        assert!(whole.lines().next().unwrap().split(',').all(|name| name != "sampled"), "{whole}");
    }

    #[test]
    fn a_wide_interval_is_reported() {
        let words = sampling_sentences(outcome().sampled.as_ref().unwrap());
        assert_eq!(words.len(), 3);
        assert!(words[2].contains("wider (2.5 %) than requested (2.0 %)"), "{words:?}");
    }
}
