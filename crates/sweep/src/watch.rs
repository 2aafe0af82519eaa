//! Progress reports of a sweep.

/// An observer of a sweep's progress. The thread of a run that has ended calls it.
pub trait SweepWatch: Send {
    /// Called when the sweep begins, with the number of runs to simulate.
    fn begin(&mut self, all: usize);

    /// Called when a run ends: `ended` runs have ended, `failed` of them without a result, and `active` are running.
    fn show(&mut self, ended: usize, failed: usize, active: usize);

    /// Called when a run fails, with its name and message.
    fn report_failure(&mut self, text: &str);

    /// Called when the sweep ends.
    fn end(&mut self) {}
}
