//! The search for the number of SMs that a memory-intensive application needs (Sections 4.2 and 4.3).
//!
//! In: the application's IPC at a number of active SMs. Out: the next number to sample, or the final number.

/// The next step of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchStep {
    /// A sample with this number of SMs.
    Try(u32),
    /// The end of the search: this number of SMs suffices.
    Found(u32),
}

/// The order in which numbers of SMs are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) enum SearchMode {
    /// Performance mode: each sample has `n` SMs fewer, until the IPC drops.
    Fewer(u32),
    /// Power mode: the first sample has one SM, the second the number estimated from its IPC, and each further sample one SM more, until
    /// the IPC is reached.
    More,
}

/// The search of one application.
#[derive(Clone, Copy, Debug, PartialEq, warpshard_state::State)]
pub(super) struct SmCountSearch {
    mode: SearchMode,
    /// SMs of the application in the even partition.
    even_share: u32,
    /// IPC of the application in the even partition.
    reference_ipc: f64,
    /// The lowest IPC that the search accepts.
    ipc_floor: f64,
    /// The fewest SMs that reached `ipc_floor` so far.
    kept_sms: u32,
    /// SMs of the current sample.
    tried_sms: u32,
}

impl SmCountSearch {
    /// Starts a search among 1 to `share` SMs; it accepts an IPC that is at most the fraction `loss` below `reference`.
    pub(super) fn new(mode: SearchMode, share: u32, reference: f64, loss: f64) -> (Self, SearchStep) {
        let mut search = Self { mode, even_share: share, reference_ipc: reference, ipc_floor: (1.0 - loss) * reference, kept_sms: share, tried_sms: share };
        let first = match mode {
            SearchMode::Fewer(_) => search.sample_fewer(),
            SearchMode::More if share == 1 => SearchStep::Found(1),
            SearchMode::More => search.sample_with(1),
        };
        (search, first)
    }

    fn sample_with(&mut self, sms: u32) -> SearchStep {
        self.tried_sms = sms;
        SearchStep::Try(sms)
    }

    fn sample_fewer(&mut self) -> SearchStep {
        match self.mode {
            SearchMode::Fewer(step) if self.tried_sms > step => self.sample_with(self.tried_sms - step),
            SearchMode::Fewer(_) | SearchMode::More => SearchStep::Found(self.kept_sms),
        }
    }

    /// Takes the IPC of the current sample; returns the next step.
    pub(super) fn record_ipc(&mut self, ipc: f64) -> SearchStep {
        let reached = ipc >= self.ipc_floor;
        match self.mode {
            SearchMode::Fewer(_) if reached => {
                self.kept_sms = self.tried_sms;
                self.sample_fewer()
            }
            SearchMode::Fewer(_) => SearchStep::Found(self.kept_sms),
            SearchMode::More if reached => SearchStep::Found(self.tried_sms),
            SearchMode::More => {
                // "Based on the performance ratio for 12 SMs versus 1 SM": the estimate assumes that the IPC is linear in SMs.
                let estimate = if self.tried_sms == 1 { (self.reference_ipc / ipc.max(f64::MIN_POSITIVE)).ceil() } else { 0.0 };
                let next = (estimate.min(f64::from(self.even_share)) as u32).max(self.tried_sms + 1);
                if next >= self.even_share { SearchStep::Found(self.even_share) } else { self.sample_with(next) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search; returns the sampled numbers of SMs and the final number. `ipc` returns the IPC at a number of SMs.
    fn run_search(mode: SearchMode, share: u32, ipc: impl Fn(u32) -> f64) -> (Vec<u32>, u32) {
        let (mut search, mut next) = SmCountSearch::new(mode, share, ipc(share), 0.05);
        let mut tried = Vec::new();
        loop {
            match next {
                SearchStep::Found(found) => return (tried, found),
                SearchStep::Try(sms) => {
                    tried.push(sms);
                    next = search.record_ipc(ipc(sms));
                }
            }
        }
    }

    /// Returns an IPC curve that is linear up to `knee` SMs and flat from there.
    fn saturating_ipc(knee: u32) -> impl Fn(u32) -> f64 {
        move |sms| 10.0 * f64::from(sms.min(knee))
    }

    #[test]
    fn performance_mode_removes_two_sms_while_the_ipc_stays() {
        assert_eq!(run_search(SearchMode::Fewer(2), 12, saturating_ipc(5)), (vec![10, 8, 6, 4], 6));
        assert_eq!(run_search(SearchMode::Fewer(2), 12, saturating_ipc(12)), (vec![10], 12));
        assert_eq!(run_search(SearchMode::Fewer(2), 12, saturating_ipc(1)), (vec![10, 8, 6, 4, 2], 2), "the application keeps an SM");
        assert_eq!(run_search(SearchMode::Fewer(2), 2, saturating_ipc(1)), (vec![], 2));
    }

    #[test]
    fn performance_mode_allows_a_total_loss_of_five_percent() {
        let falling = |sms: u32| 100.0 - 2.0 * f64::from(12 - sms);
        assert_eq!(run_search(SearchMode::Fewer(2), 12, falling), (vec![10, 8], 10));
    }

    #[test]
    fn power_mode_jumps_to_the_estimate_of_one_sm() {
        // The IPC is 40 with four or more SMs and 10 with one, so four suffice.
        assert_eq!(run_search(SearchMode::More, 12, saturating_ipc(4)), (vec![1, 4], 4));
        assert_eq!(run_search(SearchMode::More, 12, |_| 7.0), (vec![1], 1));
    }

    #[test]
    fn power_mode_resumes_one_at_a_time_after_the_estimate() {
        let slow = |sms: u32| [0.0, 10.0, 18.0, 25.0, 31.0, 36.0, 39.0, 40.0, 40.0][sms.min(8) as usize];
        assert_eq!(run_search(SearchMode::More, 12, slow), (vec![1, 4, 5, 6], 6));
        assert_eq!(run_search(SearchMode::More, 12, f64::from), (vec![1], 12), "the estimate is the whole share");
        assert_eq!(run_search(SearchMode::More, 12, |sms| if sms == 1 { 0.0 } else { 5.0 }), (vec![1], 12), "an IPC of 0 gives no estimate");
        assert_eq!(run_search(SearchMode::More, 1, f64::from), (vec![], 1));
    }
}
