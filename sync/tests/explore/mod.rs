//! How the loom tests explore: every interleaving up to a bounded number of preemptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `model` in every interleaving with at most two preemptions, or as many as `LOOM_MAX_PREEMPTIONS` says.
///
/// Fails if loom found nothing to interleave, since such a model proves nothing. The count is a real atomic, which loom
/// does not see and so does not explore.
pub(crate) fn explore(model: impl Fn() + Sync + Send + 'static) {
    let runs = Arc::new(AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(2);
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
