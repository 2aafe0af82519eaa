//! The number of worker threads of a run.
//!
//! The default is the number of cores that this process may use. On Linux, `std::thread::available_parallelism` returns the smaller of the
//! affinity mask (`sched_getaffinity`: `taskset`, a batch system's core binding) and the CPU quota of the process's cgroup and its parents,
//! version 1 or 2 (containers), rounded down and at least one. More threads than cores are never faster, so a larger `--threads` is lowered
//! to the number of cores, with a note. Results do not depend on the number.

use std::num::{NonZero, NonZeroU32};

/// A number of threads with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadCount {
    /// Number of threads.
    pub(crate) count: usize,
    /// Origin of the number, for `run.toml`.
    pub(crate) origin: String,
    /// Note for the user about the number.
    pub(crate) note: Option<String>,
}

/// Returns the threads of a run with the option `--threads` equal to `asked`.
pub(crate) fn usable_threads(asked: Option<NonZeroU32>) -> ThreadCount {
    threads_on_cores(asked, std::thread::available_parallelism().map_or(1, NonZero::get))
}

fn threads_on_cores(asked: Option<NonZeroU32>, cores: usize) -> ThreadCount {
    match asked.map(|asked| asked.get() as usize) {
        None => ThreadCount { count: cores, origin: "default: all usable cores".into(), note: None },
        Some(asked) if asked <= cores => ThreadCount { count: asked, origin: "command line".into(), note: None },
        Some(asked) => {
            let usable = if cores == 1 { "one core".to_owned() } else { format!("{cores} cores") };
            ThreadCount {
                count: cores,
                origin: format!("command line: {asked}, lowered to the usable cores"),
                note: Some(format!(
                    "note: --threads {asked} lowered to {cores}: this process may use {usable} (CPU affinity and cgroup quota), and more \
                     threads than cores only slow a run down"
                )),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_every_usable_core_and_never_more() {
        for cores in [1, 2, 64] {
            assert_eq!(threads_on_cores(None, cores).count, cores);
            for asked in [1, 2, 3, 64, 65, u32::MAX] {
                let threads = threads_on_cores(NonZeroU32::new(asked), cores);
                assert_eq!(threads.count, cores.min(asked as usize));
                assert_eq!(threads.note.is_some(), asked as usize > cores, "--threads {asked} on {cores} cores");
            }
        }
    }

    #[test]
    fn the_note_names_the_requested_number_and_the_limit() {
        let note = threads_on_cores(NonZeroU32::new(8), 2).note.unwrap();
        assert!(note.starts_with("note: --threads 8 lowered to 2: this process may use 2 cores"), "{note}");
    }

    /// With an affinity mask of one core, the default is one thread.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_affinity_mask_limits_the_default() {
        let mask = core_affinity::get_core_ids().unwrap();
        let count = std::thread::spawn(move || {
            assert!(core_affinity::set_for_current(mask[0]));
            usable_threads(None).count
        });
        assert_eq!(count.join().unwrap(), 1);
    }
}
