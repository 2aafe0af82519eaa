//! How a sweep tells how far it is.

/// Who wants to know how far a sweep is. Called by the thread of whichever run has ended.
pub trait Watch: Send {
    /// The sweep begins, with so many runs to be simulated.
    fn begin(&mut self, all: usize);

    /// So many runs have ended, `failed` of them without a result, and `active` are running.
    fn show(&mut self, ended: usize, failed: usize, active: usize);

    /// A run failed: which, and why.
    fn say(&mut self, text: &str);

    /// The sweep ends.
    fn end(&mut self) {}
}
