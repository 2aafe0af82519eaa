//! The next number of cores to sample (Section 4.4.2.2).
//!
//! In: the IPC of a sample with a number of cores. Out: the next number, or the number found. The first sample uses all
//! cores; fewer cores must reach its IPC times the threshold.
//!
//! ONAC then samples one core. Its first estimate is the number of cores at which the IPC of one core, scaled linearly, reaches the
//! threshold; each further estimate is the point where the line through the last two samples reaches the threshold. Estimates are
//! rounded up and grow by at least one, even if noise makes the line fall (the thesis does not state the rounding). An estimate of
//! all cores needs no sample. Seq-Det removes one core per sample until the IPC falls below the threshold.

/// The search for the number of cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum CoreSearch {
    /// Estimates from a line through the last two samples.
    Onac,
    /// One core fewer per sample.
    SeqDet,
}

/// The next step of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EstimatorStep {
    /// A sample with this number of cores.
    Sample(u32),
    /// The number of cores that suffices.
    Found(u32),
}

/// The state of a search.
#[derive(Clone, Copy, Debug, PartialEq, warpshard_state::State)]
pub(super) struct Estimator {
    search: CoreSearch,
    all_cores: u32,
    threshold_share: f64,
    /// The IPC to reach; `None` before the sample of all cores.
    threshold_ipc: Option<f64>,
    /// Cores and IPC of the previous sample.
    previous_sample: Option<(u32, f64)>,
}

impl Estimator {
    /// Creates a search among 1 to `all` cores for the number with `share` of the IPC of all cores.
    pub(super) fn new(search: CoreSearch, all: u32, share: f64) -> Self {
        Self { search, all_cores: all, threshold_share: share, threshold_ipc: None, previous_sample: None }
    }

    /// Records the sample of `cores` cores and returns the next step.
    pub(super) fn add_sample(&mut self, cores: u32, ipc: f64) -> EstimatorStep {
        let Some(threshold) = self.threshold_ipc else {
            self.threshold_ipc = Some(self.threshold_share * ipc);
            return match self.search {
                _ if self.all_cores == 1 => EstimatorStep::Found(1),
                CoreSearch::Onac => EstimatorStep::Sample(1),
                CoreSearch::SeqDet => EstimatorStep::Sample(self.all_cores - 1),
            };
        };
        match self.search {
            CoreSearch::SeqDet if ipc < threshold => EstimatorStep::Found(cores + 1),
            CoreSearch::SeqDet if cores == 1 => EstimatorStep::Found(1),
            CoreSearch::SeqDet => EstimatorStep::Sample(cores - 1),
            CoreSearch::Onac if ipc >= threshold => EstimatorStep::Found(cores),
            CoreSearch::Onac => {
                // The first line passes through the origin.
                let (before, below) = self.previous_sample.replace((cores, ipc)).unwrap_or((0, 0.0));
                let per_core = (ipc - below) / f64::from(cores - before);
                let next = self.crossing_cores(cores, ipc, threshold, per_core);
                if next == self.all_cores { EstimatorStep::Found(next) } else { EstimatorStep::Sample(next) }
            }
        }
    }

    /// Returns the number of cores at which a line through the sample, with slope `per_core`, reaches the threshold.
    fn crossing_cores(&self, cores: u32, ipc: f64, threshold: f64, per_core: f64) -> u32 {
        if per_core <= 0.0 {
            return cores + 1;
        }
        let further = ((threshold - ipc) / per_core).ceil().min(f64::from(self.all_cores));
        (cores + (further as u32).max(1)).min(self.all_cores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers sampled after the first sample, and the number found; `ipc` returns the IPC of a number of cores.
    fn search_sequence(search: CoreSearch, ipc: impl Fn(u32) -> f64) -> (Vec<u32>, u32) {
        let mut estimator = Estimator::new(search, 32, 0.98);
        let (mut cores, mut samples) = (32, Vec::new());
        loop {
            match estimator.add_sample(cores, ipc(cores)) {
                EstimatorStep::Found(found) => return (samples, found),
                EstimatorStep::Sample(next) => {
                    samples.push(next);
                    cores = next;
                }
            }
        }
    }

    /// Backprop's second kernel in Figures 4.8 and 4.12: at one core's IPC, 8.2 cores would suffice, but the curve flattens from 9 cores
    /// on and saturates at 12.
    fn backprop_ipc(cores: u32) -> f64 {
        match cores {
            1 => 12.0,
            9 => 92.0,
            10 => 95.6,
            11 => 97.0,
            _ => 100.0,
        }
    }

    #[test]
    fn backprop_is_estimated_at_9_10_11_and_12() {
        assert_eq!(search_sequence(CoreSearch::Onac, backprop_ipc), (vec![1, 9, 10, 11, 12], 12));
    }

    #[test]
    fn pathfinder_is_estimated_at_31_and_then_needs_all_32() {
        // Pathfinder scales almost linearly; by the IPC of one core, 31 cores reach the threshold (Figure 4.11).
        let pathfinder = |cores: u32| if cores == 1 { 1.02 } else { f64::from(cores) };
        assert_eq!(search_sequence(CoreSearch::Onac, pathfinder), (vec![1, 31], 32));
    }

    #[test]
    fn a_falling_line_adds_one_core() {
        let ipc = |cores: u32| match cores {
            32 => 100.0,
            1 => 20.0,
            5 => 15.0,
            6 => 15.0,
            _ => 99.0,
        };
        assert_eq!(search_sequence(CoreSearch::Onac, ipc), (vec![1, 5, 6, 7], 7));
        let falling = |cores: u32| if cores == 32 { 100.0 } else { 97.0 - f64::from(cores) };
        assert_eq!(search_sequence(CoreSearch::Onac, falling).1, 32);
    }

    #[test]
    fn estimates_grow_by_at_least_one() {
        let mut estimator = Estimator::new(CoreSearch::Onac, 32, 1.0);
        estimator.add_sample(32, 10.0);
        assert_eq!(estimator.add_sample(1, 2.5), EstimatorStep::Sample(4));
        assert_eq!(estimator.add_sample(4, 9.999), EstimatorStep::Sample(5));
    }

    #[test]
    fn seq_det_removes_cores_until_the_threshold_is_missed() {
        let (samples, found) = search_sequence(CoreSearch::SeqDet, |cores| f64::from(cores.min(28)));
        assert_eq!((samples.first(), samples.last(), found), (Some(&31), Some(&27), 28));
        let (samples, found) = search_sequence(CoreSearch::SeqDet, f64::from);
        assert_eq!((samples, found), (vec![31], 32), "one sample too many costs a compute-bound kernel little");
        assert_eq!(search_sequence(CoreSearch::SeqDet, |_| 1.0).1, 1);
    }
}
