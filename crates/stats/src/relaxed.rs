//! The deviation of a relaxed run: the number of late messages and their lateness.
//!
//! Inputs: the lateness of single messages. Outputs: count, sum, maximum and a histogram. Invariant: sums of parts do not depend on their
//! order, so that the workers' parts have the same total for every number of threads.

/// Number of classes of lateness: class i holds 2^i to 2^(i+1) - 1 core cycles; the last class also holds all larger values.
pub const LATENESS_CLASSES: usize = 12;

/// Messages that arrived after their due time, which only a relaxed run allows. All times are core cycles, rounded up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, warpshard_state::State)]
pub struct LateMessages {
    /// Number of late messages.
    pub count: u64,
    /// Total lateness in core cycles.
    pub cycles: u64,
    /// Maximum lateness in core cycles.
    pub worst: u64,
    /// Number of late messages by class of lateness; see [`LATENESS_CLASSES`].
    pub classes: [u64; LATENESS_CLASSES],
}

impl LateMessages {
    /// Counts a message that arrived `cycles` cycles late, at least 1.
    pub fn note(&mut self, cycles: u64) {
        debug_assert!(cycles > 0, "a message that arrived in time is not late");
        self.count += 1;
        self.cycles += cycles;
        self.worst = self.worst.max(cycles);
        self.classes[(cycles.max(1).ilog2() as usize).min(LATENESS_CLASSES - 1)] += 1;
    }

    /// Adds the late messages of another worker.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.cycles += other.cycles;
        self.worst = self.worst.max(other.worst);
        self.classes.iter_mut().zip(other.classes).for_each(|(sum, part)| *sum += part);
    }
}

/// The deviations that make a run's results approximate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelaxedDeviations {
    /// Core cycles of an epoch.
    pub epoch_cycles: u64,
    /// Maximum epoch length, in core cycles, of an exact run.
    pub lookahead_cycles: u64,
    /// Total number of sent messages.
    pub messages: u64,
    /// Messages that arrived late.
    pub late: LateMessages,
}

impl RelaxedDeviations {
    /// Returns the share of late messages; `None` without messages.
    pub fn late_share(&self) -> Option<f64> {
        (self.messages > 0).then(|| self.late.count as f64 / self.messages as f64)
    }

    /// Returns the mean lateness of the late messages in core cycles; `None` if no message was late.
    pub fn mean_lateness(&self) -> Option<f64> {
        (self.late.count > 0).then(|| self.late.cycles as f64 / self.late.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_parts_do_not_depend_on_the_division() {
        let lateness = [1, 2, 3, 4, 40, 5000, 1 << 40];
        let sum = |chunks: usize| {
            let mut all = LateMessages::default();
            for chunk in lateness.chunks(chunks) {
                let mut part = LateMessages::default();
                chunk.iter().for_each(|&cycles| part.note(cycles));
                all.add(&part);
            }
            all
        };
        let whole = sum(lateness.len());
        assert_eq!(sum(1), whole);
        assert_eq!(sum(3), whole);
        assert_eq!((whole.count, whole.worst, whole.classes.iter().sum::<u64>()), (7, 1 << 40, 7));
        assert_eq!(whole.classes[..6], [1, 2, 1, 0, 0, 1]);
        assert_eq!(whole.classes[LATENESS_CLASSES - 1], 2);
    }
}
