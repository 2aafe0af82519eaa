//! Exploration of loom models: every interleaving up to a bounded number of preemptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `model` in every interleaving with at most two preemptions, or with at most `LOOM_MAX_PREEMPTIONS` preemptions.
///
/// Fails if loom found nothing to interleave, since such a model proves nothing. The count is a real atomic, which loom does not see and
/// therefore does not explore.
pub(crate) fn explore(model: impl Fn() + Sync + Send + 'static) {
    explore_at_most(usize::MAX, model);
}

/// Runs `model` in every interleaving with at most `most` preemptions, regardless of `LOOM_MAX_PREEMPTIONS`; for models with too many
/// interleavings.
pub(crate) fn explore_at_most(most: usize, model: impl Fn() + Sync + Send + 'static) {
    let runs = Arc::new(AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(builder.preemption_bound.unwrap_or(2).min(most));
    builder.check({
        let runs = Arc::clone(&runs);
        move || {
            runs.fetch_add(1, Ordering::Relaxed);
            model();
        }
    });
    let runs = runs.load(Ordering::Relaxed);
    assert!(runs > 1, "loom explored {runs} interleaving");
}
