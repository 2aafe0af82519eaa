//! How the loom tests explore: every interleaving up to a bounded number of preemptions.

/// Runs `model` in every interleaving with at most three preemptions, or as many as `LOOM_MAX_PREEMPTIONS` says.
pub(crate) fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(model);
}
