//! The verdicts on the longest kernels of a page.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use warpshard_report::verdict::Verdict;

use super::super::RunFolder;

/// Maximum number of kernels with a verdict: the longest launch of each name.
const MAX_SHOWN_KERNELS: usize = 8;

/// A formatted verdict.
#[derive(Debug, Serialize)]
pub(super) struct FormattedVerdict {
    /// The kernel and its limiter.
    head: String,
    /// The other lines, each with its subject and text.
    lines: Vec<(String, String)>,
}

/// Returns the verdicts on the longest kernels, one per kernel name.
pub(super) fn all(run: &RunFolder) -> Vec<FormattedVerdict> {
    let mut longest: BTreeMap<&str, (u64, &Value)> = BTreeMap::new();
    for kernel in run.stats.kernels().iter().filter(|kernel| kernel.get("verdict").is_some()) {
        let (Some(name), Some(cycles)) = (kernel["name"].as_str(), kernel["cycles_active"].as_u64()) else { continue };
        let entry = longest.entry(name).or_insert((cycles, kernel));
        if cycles > entry.0 {
            *entry = (cycles, kernel);
        }
    }
    let mut longest: Vec<(&str, (u64, &Value))> = longest.into_iter().collect();
    longest.sort_by_key(|(_, (cycles, _))| std::cmp::Reverse(*cycles));
    longest.into_iter().take(MAX_SHOWN_KERNELS).filter_map(|(name, (_, kernel))| formatted_verdict(name, kernel)).collect()
}

fn formatted_verdict(name: &str, kernel: &Value) -> Option<FormattedVerdict> {
    let verdict: Verdict = serde_json::from_value(kernel.get("verdict")?.clone()).ok()?;
    let mut lines = verdict.lines(name).into_iter().map(|line| line.trim().to_owned());
    let head = lines.next()?;
    // The subject of a line is one word, except `% of peak`.
    let split = |line: String| match line.strip_prefix("% of peak") {
        Some(rest) => ("% of peak".to_owned(), rest.trim().to_owned()),
        None => line.split_once(' ').map_or((line.clone(), String::new()), |(head, rest)| (head.to_owned(), rest.trim().to_owned())),
    };
    Some(FormattedVerdict { head, lines: lines.map(split).collect() })
}
