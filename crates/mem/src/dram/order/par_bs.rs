//! Parallelism-aware batch scheduling (PAR-BS, Mutlu and Moscibroda, ISCA 2008).
//!
//! When no request of the queue is marked, the oldest requests of each requester to each bank are marked, at most [`MARKING_CAP`] each:
//! they form a batch. Marked requests have priority, then row hits, then requests of the requester with the better rank, then the oldest. A
//! requester ranks higher if its largest number of marked requests at any bank is smaller and, among equals, if its total is smaller
//! ("Max-Total", Section 4.2). At each bank only the first request in this order is served. A requester is a port: an SM or a CPU core.

use warpshard_base::{Cycle, PortId};
use warpshard_seam::{DramOrder, QueuedRequest};

/// Requests of a requester to a bank in a batch (Marking-Cap; 5 is best in Section 8.3.1 of the paper).
const MARKING_CAP: usize = 5;

/// The numbers of the marked requests, ascending, and the requesters of the batch in the order of their ranks.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct ParBs {
    marked_requests: Vec<u64>,
    ranks: Vec<PortId>,
}

impl ParBs {
    fn is_marked(&self, request: &QueuedRequest) -> bool {
        self.marked_requests.binary_search(&request.number).is_ok()
    }

    fn rank(&self, port: PortId) -> usize {
        self.ranks.iter().position(|ranked| *ranked == port).unwrap_or(self.ranks.len())
    }

    /// Returns the priority key of a request; smaller keys are served first.
    fn key(&self, request: &QueuedRequest) -> (bool, bool, usize, u64) {
        (!self.is_marked(request), !request.row_hit, self.rank(request.port), request.number)
    }

    /// Forms a new batch from `queue`, which is in the order of arrival and has no marked request.
    fn form_batch(&mut self, queue: &[QueuedRequest]) {
        if queue.iter().any(|request| self.is_marked(request)) {
            return;
        }
        let alike = |a: &QueuedRequest, b: &QueuedRequest| a.port == b.port && a.bank == b.bank;
        let marked = (0..queue.len()).filter(|at| queue[..*at].iter().filter(|before| alike(before, &queue[*at])).count() < MARKING_CAP);
        let batch: Vec<&QueuedRequest> = marked.map(|at| &queue[at]).collect();
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
        self.marked_requests.clear();
        self.marked_requests.extend(batch.iter().map(|request| request.number));
        self.marked_requests.sort_unstable();
    }
}

impl DramOrder for ParBs {
    fn name(&self) -> &str {
        "par-bs"
    }

    fn arrived(&mut self, _: Cycle, queue: &[QueuedRequest]) {
        self.form_batch(queue);
    }

    fn choose(&self, _: Cycle, queue: &[QueuedRequest]) -> Option<usize> {
        let mut first: [Option<usize>; 64] = [None; 64];
        for (at, request) in queue.iter().enumerate() {
            let of_bank = &mut first[usize::from(request.bank) % 64];
            if of_bank.is_none_or(|best| self.key(request) < self.key(&queue[best])) {
                *of_bank = Some(at);
            }
        }
        first.into_iter().flatten().filter(|at| queue[*at].can_issue).min_by_key(|at| self.key(&queue[*at]))
    }

    fn served(&mut self, _: Cycle, _: &QueuedRequest, queue: &[QueuedRequest]) {
        self.form_batch(queue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(number: u64, port: u16, bank: u8, row: u32) -> QueuedRequest {
        QueuedRequest { number, port: PortId(port), bank, row, row_hit: row == 1, can_issue: true, ..QueuedRequest::default() }
    }

    /// Returns the numbers of requests in the order in which they are served.
    fn served(mut queue: Vec<QueuedRequest>) -> Vec<u64> {
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
        let mut queue: Vec<QueuedRequest> = (0..7).map(|number| waiting(number, 0, 0, 2)).collect();
        queue.extend([waiting(7, 1, 0, 3), waiting(8, 1, 1, 3)]);
        assert_eq!(served(queue), [7, 8, 0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn row_hits_precede_ranks_and_follow_marks() {
        let mut queue: Vec<QueuedRequest> = (0..6).map(|number| waiting(number, 0, 0, 1)).collect();
        queue.push(waiting(6, 1, 0, 2));
        // Five hits of the batch are served, then the marked miss, and only then the hit that was not marked because of the cap.
        assert_eq!(served(queue), [0, 1, 2, 3, 4, 6, 5]);
    }

    #[test]
    fn a_bank_waits_for_its_first_request() {
        let mut queue = vec![waiting(0, 0, 0, 1), waiting(1, 0, 0, 2)];
        queue[0].can_issue = false;
        let mut order = ParBs::default();
        order.arrived(Cycle(0), &queue);
        assert_eq!(order.choose(Cycle(0), &queue), None, "the row of the first is not closed for the second");
    }
}
