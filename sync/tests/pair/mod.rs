//! A helper that runs two roles on two threads.

use loom::thread;

/// Runs `here` on this thread and `there` on a new thread; returns both results.
pub(crate) fn pair<A, B>(here: impl FnOnce() -> A, there: impl FnOnce() -> B + Send + 'static) -> (A, B)
where
    B: Send + 'static,
{
    let other = thread::spawn(there);
    let a = here();
    (a, other.join().expect("the other role does not panic"))
}
