//! All atomics, locks and cells of this crate: the standard library's, or loom's under `cfg(loom)`.
//!
//! Inputs: none. Outputs: one set of names with one interface, so that every type of this crate is written once and can run on real threads
//! or be explored by the model checker. Invariant: no other module names `std::sync` atomics or `std::cell::UnsafeCell`.

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicUsize},
    sync::{Arc, Condvar, Mutex, MutexGuard},
};
pub(crate) use std::sync::atomic::Ordering;

#[cfg(loom)]
pub(crate) use self::modelled::{AtomicU64, Stopwatch};

#[cfg(not(loom))]
pub(crate) use self::real::{Stopwatch, UnsafeCell};
#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize},
    sync::{Arc, Condvar, Mutex, MutexGuard},
};

use std::sync::PoisonError;

/// Locks `mutex` and ignores lock poisoning, because every lock of this crate guards plain fields that are written in one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits on `condition` and releases `guard` while waiting; ignores lock poisoning for the same reason as [`lock`].
pub(crate) fn wait_on<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

#[cfg(not(loom))]
mod real {
    //! The standard library's cell with loom's interface, and the standard library's clock.

    use std::time::{Duration, Instant};

    /// Measures time from its start.
    #[derive(Debug)]
    pub(crate) struct Stopwatch(Instant);

    impl Stopwatch {
        #[inline]
        pub(crate) fn start() -> Self {
            Self(Instant::now())
        }

        #[inline]
        pub(crate) fn elapsed(&self) -> Duration {
            self.0.elapsed()
        }
    }

    /// A cell whose accesses are closures, so that loom's version can observe the start of each access.
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        pub(crate) fn into_inner(self) -> T {
            self.0.into_inner()
        }

        #[inline(always)]
        pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
            write(self.0.get())
        }
    }
}

#[cfg(loom)]
mod modelled {
    //! loom's atomic word, with every access made visible to loom's search, and a clock for models, in which no time passes.
    //!
    //! To find possible reorderings, loom 0.7 compares an access only with the last access to the same atomic. If a thread loads a word and
    //! then changes it, its own load hides the conflict of the change with another thread's earlier load, and loom never tries the other
    //! order. So each access here first touches a companion word with a relaxed read-modify-write. These accesses conflict pairwise, so
    //! loom tries all their orders; because they are relaxed, they order nothing.

    use std::time::Duration;

    use loom::sync::atomic::{self, AtomicUsize};

    use super::Ordering;

    /// A clock on which every timeout has expired at the first read, so that a model polls once.
    #[derive(Debug)]
    pub(crate) struct Stopwatch;

    impl Stopwatch {
        pub(crate) fn start() -> Self {
            Self
        }

        pub(crate) fn elapsed(&self) -> Duration {
            Duration::MAX
        }
    }

    /// A word whose accesses all count as conflicts.
    #[derive(Debug)]
    pub(crate) struct AtomicU64 {
        companion: AtomicUsize,
        word: atomic::AtomicU64,
    }

    impl AtomicU64 {
        pub(crate) fn new(value: u64) -> Self {
            Self { companion: AtomicUsize::new(0), word: atomic::AtomicU64::new(value) }
        }

        pub(crate) fn load(&self, order: Ordering) -> u64 {
            self.touched().load(order)
        }

        pub(crate) fn store(&self, value: u64, order: Ordering) {
            self.touched().store(value, order);
        }

        pub(crate) fn swap(&self, value: u64, order: Ordering) -> u64 {
            self.touched().swap(value, order)
        }

        pub(crate) fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
            self.touched().fetch_add(value, order)
        }

        pub(crate) fn fetch_sub(&self, value: u64, order: Ordering) -> u64 {
            self.touched().fetch_sub(value, order)
        }

        pub(crate) fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
            self.touched().fetch_or(value, order)
        }

        pub(crate) fn compare_exchange(&self, old: u64, new: u64, won: Ordering, lost: Ordering) -> Result<u64, u64> {
            self.touched().compare_exchange(old, new, won, lost)
        }

        fn touched(&self) -> &atomic::AtomicU64 {
            self.companion.fetch_add(1, Ordering::Relaxed);
            &self.word
        }
    }
}
