//! What the grid scheduler asks for: copies, and signals to other GPUs.

use std::cmp::Reverse;

use warpshard_base::{Addr, SectorMask};
use warpshard_protocol::{Outbox, Path, Payload, SIGNAL_PORT, Signal};

use super::copy::Then;
use super::{Hub, Own, READS_AHEAD, control};

impl Hub {
    /// Does what the grid scheduler asked for by now.
    pub(super) fn take_orders(&mut self) {
        let now = self.now;
        let gpu = self.inside().ports.gpu;
        while let Some((_, order)) = self.inside().orders.pop_front_if(|(at, _)| *at <= now) {
            match order {
                Payload::StartCopy(kernel) => {
                    let job = self.inside().spec.copies.get(&kernel).copied();
                    self.inside().copy.start(job.unwrap_or_else(|| panic!("{gpu}, {now}: {kernel} is no copy")));
                    self.read_ahead();
                }
                Payload::Ended(Signal { kernel, to }) => {
                    let path = Path { from: gpu, to, hop: 0, reply: false };
                    self.push_own(Own::Signals, control(SIGNAL_PORT, Addr(0), 0, path, kernel));
                }
                other => panic!("{gpu}, {now}: the grid scheduler sent {other:?}"),
            }
        }
        if let Some((at, _)) = self.inside().orders.front() {
            let event = Reverse((*at, (self.inputs.len() + self.outputs.len()) as u32));
            self.events.push(event);
        }
    }

    /// Keeps reads of the copy engine waiting.
    pub(super) fn read_ahead(&mut self) {
        let reads = self.own(Own::Reads);
        while self.inputs[reads].queue.len() < READS_AHEAD
            && let Some(read) = self.inside().copy.read()
        {
            self.push_own(Own::Reads, read);
        }
    }

    /// A line, or a part of one, was read or written for the copy engine.
    pub(super) fn copy_answer(&mut self, token: u32, sectors: SectorMask, out: &mut Outbox) {
        let now = self.now;
        let inside = self.inside();
        let then = inside.copy.answer(token, sectors);
        match then {
            Then::Wait => {}
            Then::Write(write) => self.push_write(write),
            Then::Line | Then::Copy(_) => {
                inside.counters.copied_lines += 1;
                if let Then::Copy(kernel) = then {
                    inside.counters.copies += 1;
                    out.send(inside.ports.to_grid, now, Payload::CopyDone(kernel));
                }
                self.read_ahead();
            }
        }
    }
}
