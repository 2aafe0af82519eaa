//! Parallelism-aware batch scheduling (PAR-BS, Mutlu and Moscibroda, ISCA 2008).
//!
//! When no request of the queue is marked, the oldest requests of each requester to each bank are marked, at most [`CAP`] of each: they are a batch.
//! Marked requests go first, then row hits, then those of the requester of the better rank, then the oldest. A rank is the better, the fewer
//! marked requests the requester has at the bank where it has most, then the fewer in all ("Max-Total", Section 4.2). Of each bank only the first
//! request in this order goes. A requester is a port: an SM or a CPU core.

use warpshard_base::{Cycle, PortId};
use warpshard_seam::{DramOrder, Waiting};

/// Requests of a requester to a bank that a batch takes (Marking-Cap, Section 8.3.1 of the paper, where 5 is best).
const CAP: usize = 5;

/// The marked requests by their numbers, in ascending order, and the requesters of the batch in the order of their ranks.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct ParBs {
    marked: Vec<u64>,
    ranks: Vec<PortId>,
}

impl ParBs {
    fn is_marked(&self, request: &Waiting) -> bool {
        self.marked.binary_search(&request.number).is_ok()
    }

    fn rank(&self, port: PortId) -> usize {
        self.ranks.iter().position(|ranked| *ranked == port).unwrap_or(self.ranks.len())
    }

    /// The smaller, the earlier it goes.
    fn key(&self, request: &Waiting) -> (bool, bool, usize, u64) {
        (!self.is_marked(request), !request.row_hit, self.rank(request.port), request.number)
    }

    /// A new batch, where none of `queue`, which is in the order of arrival, is marked.
    fn form_batch(&mut self, queue: &[Waiting]) {
        if queue.iter().any(|request| self.is_marked(request)) {
            return;
        }
        let alike = |a: &Waiting, b: &Waiting| a.port == b.port && a.bank == b.bank;
        let marked = (0..queue.len()).filter(|at| queue[..*at].iter().filter(|before| alike(before, &queue[*at])).count() < CAP);
        let batch: Vec<&Waiting> = marked.map(|at| &queue[at]).collect();
        let load = |port: PortId| {
            let of_port = || batch.iter().filter(move |request| request.port == port);
            let at_bank = |bank: u8| of_port().filter(|request| request.bank == bank).count();
            (of_port().map(|request| at_bank(request.bank)).max(), of_port().count(), port)
        };
        self.ranks.clear();
        self.ranks.extend(batch.iter().map(|request| request.port));
        self.ranks.sort_unstable();
        self.ranks.dedup();
        self.ranks.sort_by_cached_key(|port| load(*port));
        self.marked.clear();
        self.marked.extend(batch.iter().map(|request| request.number));
        self.marked.sort_unstable();
    }
}

impl DramOrder for ParBs {
    fn name(&self) -> &str {
        "par-bs"
    }

    fn arrived(&mut self, _: Cycle, queue: &[Waiting]) {
        self.form_batch(queue);
    }

    fn choose(&self, _: Cycle, queue: &[Waiting]) -> Option<usize> {
        let mut first: [Option<usize>; 64] = [None; 64];
        for (at, request) in queue.iter().enumerate() {
            let of_bank = &mut first[usize::from(request.bank) % 64];
            if of_bank.is_none_or(|best| self.key(request) < self.key(&queue[best])) {
                *of_bank = Some(at);
            }
        }
        first.into_iter().flatten().filter(|at| queue[*at].may_go).min_by_key(|at| self.key(&queue[*at]))
    }

    fn served(&mut self, _: Cycle, _: &Waiting, queue: &[Waiting]) {
        self.form_batch(queue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(number: u64, port: u16, bank: u8, row: u32) -> Waiting {
        Waiting { number, port: PortId(port), bank, row, row_hit: row == 1, may_go: true, ..Waiting::default() }
    }

    /// The numbers in the order in which they are served.
    fn served(mut queue: Vec<Waiting>) -> Vec<u64> {
        let mut order = ParBs::default();
        order.arrived(Cycle(0), &queue);
        let mut numbers = Vec::new();
        while let Some(at) = order.choose(Cycle(0), &queue) {
            let request = queue.remove(at);
            numbers.push(request.number);
            order.served(Cycle(0), &request, &queue);
        }
        numbers
    }

    #[test]
    fn a_batch_takes_five_of_a_requester_and_bank_and_serves_the_lighter_requester_first() {
        let mut queue: Vec<Waiting> = (0..7).map(|number| waiting(number, 0, 0, 2)).collect();
        queue.extend([waiting(7, 1, 0, 3), waiting(8, 1, 1, 3)]);
        assert_eq!(served(queue), [7, 8, 0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn row_hits_go_before_ranks_and_after_marks() {
        let mut queue: Vec<Waiting> = (0..6).map(|number| waiting(number, 0, 0, 1)).collect();
        queue.push(waiting(6, 1, 0, 2));
        // Five hits of the batch, then the marked miss, and only then the hit that no mark was left for.
        assert_eq!(served(queue), [0, 1, 2, 3, 4, 6, 5]);
    }

    #[test]
    fn a_bank_waits_for_its_first_request() {
        let mut queue = vec![waiting(0, 0, 0, 1), waiting(1, 0, 0, 2)];
        queue[0].may_go = false;
        let mut order = ParBs::default();
        order.arrived(Cycle(0), &queue);
        assert_eq!(order.choose(Cycle(0), &queue), None, "the row of the first is not closed for the second");
    }
}
