//! Two roles on two threads, with either role on the thread that loom runs first.

use loom::thread;

/// Runs `here` and `there` concurrently: `there` on a thread of its own, or `here` when `swapped`.
///
/// loom 0.7 looks for a conflict with the last access to an atomic only. A thread that loads an atomic and then stores to
/// it hides, behind its own load, the conflict of its store with another thread's earlier load; it does see the conflict
/// of a load with an earlier store of another thread. So every model is explored with the roles both ways round.
pub(crate) fn pair<A, B>(swapped: bool, here: impl FnOnce() -> A + Send + 'static, there: impl FnOnce() -> B + Send + 'static) -> (A, B)
where
    A: Send + 'static,
    B: Send + 'static,
{
    if swapped {
        let other = thread::spawn(here);
        let b = there();
        (other.join().expect("the other role does not panic"), b)
    } else {
        let other = thread::spawn(there);
        let a = here();
        (a, other.join().expect("the other role does not panic"))
    }
}
