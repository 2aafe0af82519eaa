//! Page and refresh policies that are trait objects: the calls of the controller, and the effects of their results.

use warpshard_base::Cycle;
use warpshard_seam::{BoxedPagePolicy, BoxedRefresh, Column, DueRefreshes, MAX_OWED_REFRESHES, RowAction};

use super::Controller;
use super::queue::QueueEntry;

/// A page policy, and the cycle in which the open row of each bank is closed unless a request needs it; `u64::MAX` for never.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct PageTimers {
    pub(super) policy: BoxedPagePolicy,
    close_at: Box<[u64]>,
}

impl PageTimers {
    pub(super) fn new(policy: BoxedPagePolicy, banks: u32) -> Self {
        Self { policy, close_at: vec![u64::MAX; banks as usize].into() }
    }

    pub(super) fn schedule_close(&mut self, bank: usize, row: u32) {
        self.close_at[bank] = u64::MAX;
        self.policy.0.opened(bank as u8, row);
    }
}

/// A refresh policy that decides when refreshes are issued.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct RefreshPolicyState(pub(super) BoxedRefresh);

impl Controller {
    /// Returns true if the page policy closes the row of a column command.
    pub(super) fn closes_by_policy(&mut self, now: u64, bank: usize, entry: &QueueEntry, wanted: bool) -> bool {
        // A row that was opened for a request stays open until the request is served.
        let kept = self.active >> bank & 1 != 0;
        let columns = self.columns[bank] + 1;
        let Some(paging) = &mut self.paging else { return false };
        let access = &entry.access;
        let (row, write, port, kernel) = (access.row, access.write, access.port, access.kernel);
        let command = Column { now: Cycle(now), bank: bank as u8, row, columns, write, wanted, port, kernel };
        let keep = paging.policy.0.column(&command);
        paging.close_at[bank] = if let RowAction::For(cycles) = keep { now.saturating_add(cycles.max(1)) } else { u64::MAX };
        keep == RowAction::Close && !kept
    }

    /// Closes the first row whose time has passed without a request and whose precharge is allowed; lowers `next` to the cycle that may
    /// allow another precharge.
    pub(super) fn close_idle(&mut self, now: u64, next: &mut u64) -> bool {
        let Some(paging) = &self.paging else { return false };
        let (mut left, mut idle) = (self.open & !self.active & !self.reads.hits & !self.writes.hits & !self.owed_refreshes, 0);
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

    /// Returns the pseudo channel whose refresh begins or has begun, if any.
    pub(super) fn refresh_to_do(&self, now: u64, next: &mut u64) -> Option<u32> {
        let &first = self.refreshing.front()?;
        let Some(RefreshPolicyState(policy)) = self.refresh_policy.as_deref() else { return Some(first) };
        let starts = |&pseudo_channel: &u32| {
            let due = self.due_refreshes(now, pseudo_channel);
            due.owed >= MAX_OWED_REFRESHES || policy.0.starts(&due)
        };
        let found = (0..self.pseudo_channels).filter(|part| self.refreshing.contains(part)).find(starts);
        if found.is_none() {
            *next = (*next).min(now + 1);
        }
        found
    }

    /// Records that a refresh of a pseudo channel was issued.
    pub(super) fn refresh_done(&mut self, now: u64, pseudo_channel: u32) {
        let at = self.refreshing.iter().position(|part| *part == pseudo_channel);
        at.map(|at| self.refreshing.remove(at));
        if self.refresh_policy.is_some() {
            let due = self.due_refreshes(now, pseudo_channel);
            if let Some(RefreshPolicyState(policy)) = self.refresh_policy.as_deref_mut() {
                policy.0.refreshed(&due);
            }
        }
    }

    fn due_refreshes(&self, now: u64, pseudo_channel: u32) -> DueRefreshes {
        let banks = self.banks_of(pseudo_channel);
        DueRefreshes {
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
