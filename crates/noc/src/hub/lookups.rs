//! Lookups of page homes: the requests that this hub sends to the directory GPUs, and the replies that it sends as a directory.

use std::cmp::Reverse;

use warpshard_base::{Addr, GpuId, PortId};
use warpshard_protocol::{GpuPath, OWN_PAGE_TOKEN, PAGE_PORT};

use super::{Hub, InternalQueue, control_packet};

impl Hub {
    /// Requests the home of an address's page from the GPU with its directory entry.
    pub(super) fn look_up(&mut self, addr: Addr) {
        let inside = self.gpu_state();
        let (own, keeper) = (inside.ports.gpu, inside.spec.homes.in_turn(addr));
        if keeper == own {
            self.handle_lookup(addr, own);
            return;
        }
        let path = GpuPath { from: own, to: keeper, hop: 0, reply: false };
        self.push_own(InternalQueue::Signals, control_packet(PAGE_PORT, addr, 0, path, warpshard_protocol::NO_KERNEL));
    }

    /// Handles the request of a GPU for a directory entry of this GPU.
    pub(super) fn handle_lookup(&mut self, addr: Addr, requester: GpuId) {
        let now = self.now;
        let inside = self.gpu_state();
        let page = inside.spec.homes.page(addr);
        let (new, due) = inside.pages.handle_lookup(page, requester, now, inside.spec.fault_latency);
        inside.counters.pages_placed += u64::from(new);
        let event = Reverse((due, (self.inputs.len() + self.outputs.len() + 1) as u32));
        self.events.push(event);
    }

    /// Sends the lookup replies that are due.
    pub(super) fn send_lookup_replies(&mut self) {
        let now = self.now;
        while let Some((requester, page, home)) = self.gpu_state().pages.pop_due_reply(now) {
            let inside = self.gpu_state();
            let (own, addr) = (inside.ports.gpu, Addr(page << inside.spec.homes.page_bit));
            if requester == own {
                self.record_home(addr, home);
                continue;
            }
            let path = GpuPath { from: own, to: requester, hop: 0, reply: true };
            self.push_own(InternalQueue::Answers, control_packet(PAGE_PORT, addr, u32::from(home.0), path, warpshard_protocol::NO_KERNEL));
        }
    }

    /// Records the home of a page and releases the packets that wait for it. If this GPU is the home, the SMs are notified.
    pub(super) fn record_home(&mut self, addr: Addr, home: GpuId) {
        let inside = self.gpu_state();
        let (own, sms) = (inside.ports.gpu, inside.ports.sms);
        let page = inside.spec.homes.page(addr);
        let parked = inside.pages.record_home(page, home);
        parked.into_iter().for_each(|packet| self.push_own(InternalQueue::Resumed, packet));
        if home == own {
            for sm in 0..sms {
                let path = GpuPath { from: own, to: own, hop: 0, reply: true };
                let notice = control_packet(PortId(sm), addr, OWN_PAGE_TOKEN, path, warpshard_protocol::NO_KERNEL);
                self.push_own(InternalQueue::Notices, notice);
            }
        }
    }
}
