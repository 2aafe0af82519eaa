//! Spelling suggestions: the known word most similar to a mistyped word.

/// Returns the candidate most similar to `word`, if one is similar enough.
pub(super) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    best_match(candidates.map(|candidate| (strsim::normalized_damerau_levenshtein(word, candidate), candidate)), 0.5)
}

/// Returns the dotted key most similar to `key`: by its full path, or by its last part if only the table is wrong or missing.
pub(super) fn nearest_key<'a>(key: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let last = |path: &'a str| path.rsplit('.').next().unwrap_or(path);
    let word = key.rsplit('.').next().unwrap_or(key);
    let scored = candidates.map(|candidate| {
        let whole = strsim::normalized_damerau_levenshtein(key, candidate);
        let part = strsim::normalized_damerau_levenshtein(word, last(candidate));
        // The last part carries most of the meaning; the full path decides between candidates with an equal last part.
        (0.7 * part + 0.3 * whole, candidate)
    });
    best_match(scored, 0.5)
}

fn best_match<'a>(scored: impl Iterator<Item = (f64, &'a str)>, least: f64) -> Option<&'a str> {
    let mut best: Option<(f64, &str)> = None;
    for (score, candidate) in scored {
        if score >= least && best.is_none_or(|(so_far, _)| score > so_far) {
            best = Some((score, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 4] = ["gpu.sms", "gpu.sm.warps", "gpu.sm.l1.latency", "gpu.dispatch.latency"];

    #[test]
    fn a_mistyped_key_is_corrected() {
        assert_eq!(nearest_key("gpu.smss", KEYS.into_iter()), Some("gpu.sms"));
        assert_eq!(nearest_key("gpu.warps", KEYS.into_iter()), Some("gpu.sm.warps"));
        assert_eq!(nearest_key("gpu.l1.latency", KEYS.into_iter()), Some("gpu.sm.l1.latency"));
    }

    #[test]
    fn nothing_is_suggested_for_nonsense() {
        assert_eq!(nearest_key("colour", KEYS.into_iter()), None);
        assert_eq!(nearest("zzzz", ["v100", "m2090"].into_iter()), None);
    }
}
