//! Page and refresh policies that are trait objects: when the controller asks them, and what it does with the replies.

use warpshard_base::Cycle;
use warpshard_seam::{BoxedPagePolicy, BoxedRefresh, Column, Due, Keep, MOST_OWED};

use super::Controller;
use super::queue::Entry;

/// A page policy, and the cycle in which the open row of each bank is closed unless a request needs it; `u64::MAX` for none.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Paging {
    pub(super) policy: BoxedPagePolicy,
    close_at: Box<[u64]>,
}

impl Paging {
    pub(super) fn new(policy: BoxedPagePolicy, banks: u32) -> Self {
        Self { policy, close_at: vec![u64::MAX; banks as usize].into() }
    }

    pub(super) fn opened(&mut self, bank: usize, row: u32) {
        self.close_at[bank] = u64::MAX;
        self.policy.0.opened(bank as u8, row);
    }
}

/// When refreshes go out.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Refreshing(pub(super) BoxedRefresh);

impl Controller {
    /// Whether the page policy closes the row that gets a column command.
    pub(super) fn closes_by_policy(&mut self, now: u64, bank: usize, entry: &Entry, wanted: bool) -> bool {
        // A row that a request has opened stays open until that request was served.
        let kept = self.active >> bank & 1 != 0;
        let columns = self.columns[bank] + 1;
        let Some(paging) = &mut self.paging else { return false };
        let access = &entry.access;
        let (row, write, port, kernel) = (access.row, access.write, access.port, access.kernel);
        let command = Column { now: Cycle(now), bank: bank as u8, row, columns, write, wanted, port, kernel };
        let keep = paging.policy.0.column(&command);
        paging.close_at[bank] = if let Keep::For(cycles) = keep { now.saturating_add(cycles.max(1)) } else { u64::MAX };
        keep == Keep::Close && !kept
    }

    /// Closes a row whose time has passed without a request, the first one that the timing allows; lowers `next` to the cycle that may allow another.
    pub(super) fn close_idle(&mut self, now: u64, next: &mut u64) -> bool {
        let Some(paging) = &self.paging else { return false };
        let (mut left, mut idle) = (self.open & !self.active & !self.reads.hits & !self.writes.hits & !self.owed, 0);
        while left != 0 {
            let bank = left.trailing_zeros() as usize;
            left &= left - 1;
            if paging.close_at[bank] <= now {
                idle |= 1 << bank;
            } else {
                *next = (*next).min(paging.close_at[bank]);
            }
        }
        self.pick_close(now, idle, next)
    }

    /// The pseudo channel whose refresh begins or has begun, where one does.
    pub(super) fn refresh_to_do(&self, now: u64, next: &mut u64) -> Option<u32> {
        let &first = self.refreshing.front()?;
        let Some(Refreshing(policy)) = self.refresh_policy.as_deref() else { return Some(first) };
        let starts = |&pseudo_channel: &u32| {
            let due = self.due(now, pseudo_channel);
            due.owed >= MOST_OWED || policy.0.starts(&due)
        };
        let found = (0..self.pseudo_channels).filter(|part| self.refreshing.contains(part)).find(starts);
        if found.is_none() {
            *next = (*next).min(now + 1);
        }
        found
    }

    /// A refresh of a pseudo channel went out.
    pub(super) fn refresh_done(&mut self, now: u64, pseudo_channel: u32) {
        let at = self.refreshing.iter().position(|part| *part == pseudo_channel);
        at.map(|at| self.refreshing.remove(at));
        if self.refresh_policy.is_some() {
            let due = self.due(now, pseudo_channel);
            if let Some(Refreshing(policy)) = self.refresh_policy.as_deref_mut() {
                policy.0.refreshed(&due);
            }
        }
    }

    fn due(&self, now: u64, pseudo_channel: u32) -> Due {
        let banks = self.banks_of(pseudo_channel);
        Due {
            now: Cycle(now),
            pseudo_channel,
            owed: self.refreshing.iter().filter(|part| **part == pseudo_channel).count() as u32,
            reads: self.reads.len(),
            writes: self.writes.len(),
            open: self.open & banks,
            requested: (self.reads.banks | self.writes.banks | self.active) & banks,
        }
    }
}
