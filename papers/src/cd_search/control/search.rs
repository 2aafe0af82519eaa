//! How many SMs a memory-intensive application needs (Sections 4.2 and 4.3).
//!
//! In: its IPC with a number of active SMs. Out: the next number to try, or the number found.

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A sample with this number of SMs.
    Try(u32),
    /// The number that suffices.
    Found(u32),
}

/// How the number is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) enum Mode {
    /// Performance mode: so many SMs fewer per sample, while the IPC stays.
    Fewer(u32),
    /// Power mode: one SM, then the estimate from its IPC, then one SM more per sample until the IPC is reached.
    More,
}

/// The search of one application.
#[derive(Clone, Copy, Debug, PartialEq, warpshard_state::State)]
pub(super) struct Search {
    mode: Mode,
    /// Its SMs in the even partition.
    share: u32,
    /// The IPC with these.
    reference: f64,
    /// The least IPC that counts as reached.
    floor: f64,
    /// The least number that reached it.
    kept: u32,
    /// The number of the sample under way.
    tried: u32,
}

impl Search {
    /// A search among 1 to `share` SMs for an IPC that is at most `loss` of `reference` lower.
    pub(super) fn new(mode: Mode, share: u32, reference: f64, loss: f64) -> (Self, Next) {
        let mut search = Self { mode, share, reference, floor: (1.0 - loss) * reference, kept: share, tried: share };
        let first = match mode {
            Mode::Fewer(_) => search.fewer(),
            Mode::More if share == 1 => Next::Found(1),
            Mode::More => search.try_with(1),
        };
        (search, first)
    }

    fn try_with(&mut self, sms: u32) -> Next {
        self.tried = sms;
        Next::Try(sms)
    }

    fn fewer(&mut self) -> Next {
        match self.mode {
            Mode::Fewer(step) if self.tried > step => self.try_with(self.tried - step),
            Mode::Fewer(_) | Mode::More => Next::Found(self.kept),
        }
    }

    /// Takes the IPC of the sample.
    pub(super) fn measured(&mut self, ipc: f64) -> Next {
        let reached = ipc >= self.floor;
        match self.mode {
            Mode::Fewer(_) if reached => {
                self.kept = self.tried;
                self.fewer()
            }
            Mode::Fewer(_) => Next::Found(self.kept),
            Mode::More if reached => Next::Found(self.tried),
            Mode::More => {
                // "Based on the performance ratio for 12 SMs versus 1 SM": linear up to there.
                let estimate = if self.tried == 1 { (self.reference / ipc.max(f64::MIN_POSITIVE)).ceil() } else { 0.0 };
                let next = (estimate.min(f64::from(self.share)) as u32).max(self.tried + 1);
                if next >= self.share { Next::Found(self.share) } else { self.try_with(next) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that are tried, and the one found, where `ipc` is the IPC of a number.
    fn walk(mode: Mode, share: u32, ipc: impl Fn(u32) -> f64) -> (Vec<u32>, u32) {
        let (mut search, mut next) = Search::new(mode, share, ipc(share), 0.05);
        let mut tried = Vec::new();
        loop {
            match next {
                Next::Found(found) => return (tried, found),
                Next::Try(sms) => {
                    tried.push(sms);
                    next = search.measured(ipc(sms));
                }
            }
        }
    }

    /// Saturates at `knee` SMs.
    fn saturating(knee: u32) -> impl Fn(u32) -> f64 {
        move |sms| 10.0 * f64::from(sms.min(knee))
    }

    #[test]
    fn performance_mode_takes_two_away_while_the_ipc_stays() {
        assert_eq!(walk(Mode::Fewer(2), 12, saturating(5)), (vec![10, 8, 6, 4], 6));
        assert_eq!(walk(Mode::Fewer(2), 12, saturating(12)), (vec![10], 12));
        assert_eq!(walk(Mode::Fewer(2), 12, saturating(1)), (vec![10, 8, 6, 4, 2], 2), "none is left with no SM");
        assert_eq!(walk(Mode::Fewer(2), 2, saturating(1)), (vec![], 2));
    }

    #[test]
    fn performance_mode_allows_a_loss_of_five_percent_of_the_first_ipc_in_all() {
        let falling = |sms: u32| 100.0 - 2.0 * f64::from(12 - sms);
        assert_eq!(walk(Mode::Fewer(2), 12, falling), (vec![10, 8], 10));
    }

    #[test]
    fn power_mode_jumps_to_the_estimate_of_one_sm() {
        // 40 with four SMs and more, 10 with one: four suffice.
        assert_eq!(walk(Mode::More, 12, saturating(4)), (vec![1, 4], 4));
        assert_eq!(walk(Mode::More, 12, |_| 7.0), (vec![1], 1));
    }

    #[test]
    fn power_mode_resumes_one_at_a_time_after_the_estimate() {
        let slow = |sms: u32| [0.0, 10.0, 18.0, 25.0, 31.0, 36.0, 39.0, 40.0, 40.0][sms.min(8) as usize];
        assert_eq!(walk(Mode::More, 12, slow), (vec![1, 4, 5, 6], 6));
        assert_eq!(walk(Mode::More, 12, f64::from), (vec![1], 12), "the estimate is the whole share");
        assert_eq!(walk(Mode::More, 12, |sms| if sms == 1 { 0.0 } else { 5.0 }), (vec![1], 12), "one SM gave no estimate");
        assert_eq!(walk(Mode::More, 1, f64::from), (vec![], 1));
    }
}
