//! Homes of pages: what this hub asks the keepers of their entries, and what it answers as a keeper.

use std::cmp::Reverse;

use warpshard_base::{Addr, GpuId, PortId};
use warpshard_protocol::{OWN_PAGE, PAGE_PORT, Path};

use super::{Hub, Own, control};

impl Hub {
    /// Asks the keeper of an address's page for its home.
    pub(super) fn look_up(&mut self, addr: Addr) {
        let inside = self.inside();
        let (own, keeper) = (inside.ports.gpu, inside.spec.homes.in_turn(addr));
        if keeper == own {
            self.ask(addr, own);
            return;
        }
        let path = Path { from: own, to: keeper, hop: 0, reply: false };
        self.push_own(Own::Signals, control(PAGE_PORT, addr, 0, path, warpshard_protocol::NO_KERNEL));
    }

    /// A GPU asks for a page of the table here.
    pub(super) fn ask(&mut self, addr: Addr, asker: GpuId) {
        let now = self.now;
        let inside = self.inside();
        let page = inside.spec.homes.page(addr);
        let (new, due) = inside.pages.ask(page, asker, now, inside.spec.fault_latency);
        inside.counters.pages_placed += u64::from(new);
        let event = Reverse((due, (self.inputs.len() + self.outputs.len() + 1) as u32));
        self.events.push(event);
    }

    /// Sends the answers that are due.
    pub(super) fn answer_lookups(&mut self) {
        let now = self.now;
        while let Some((asker, page, home)) = self.inside().pages.due(now) {
            let inside = self.inside();
            let (own, addr) = (inside.ports.gpu, Addr(page << inside.spec.homes.page_bit));
            if asker == own {
                self.learn(addr, home);
                continue;
            }
            let path = Path { from: own, to: asker, hop: 0, reply: true };
            self.push_own(Own::Answers, control(PAGE_PORT, addr, u32::from(home.0), path, warpshard_protocol::NO_KERNEL));
        }
    }

    /// The home of a page is known: its packets go on, and the SMs hear of it if it is this GPU.
    pub(super) fn learn(&mut self, addr: Addr, home: GpuId) {
        let inside = self.inside();
        let (own, sms) = (inside.ports.gpu, inside.ports.sms);
        let page = inside.spec.homes.page(addr);
        let parked = inside.pages.learn(page, home);
        parked.into_iter().for_each(|packet| self.push_own(Own::Resumed, packet));
        if home == own {
            for sm in 0..sms {
                let path = Path { from: own, to: own, hop: 0, reply: true };
                let notice = control(PortId(sm), addr, OWN_PAGE, path, warpshard_protocol::NO_KERNEL);
                self.push_own(Own::Notices, notice);
            }
        }
    }
}
