//! Orders of the grid scheduler: copies, and signals to other GPUs.

use std::cmp::Reverse;

use warpshard_base::{Addr, SectorMask};
use warpshard_protocol::{GpuPath, KernelEndSignal, Outbox, Payload, SIGNAL_PORT};

use super::copy::CopyAction;
use super::{Hub, InternalQueue, MAX_QUEUED_READS, control_packet};

impl Hub {
    /// Executes the orders of the grid scheduler that have arrived by now.
    pub(super) fn execute_orders(&mut self) {
        let now = self.now;
        let gpu = self.gpu_state().ports.gpu;
        while let Some((_, order)) = self.gpu_state().orders.pop_front_if(|(at, _)| *at <= now) {
            match order {
                Payload::StartCopy(kernel) => {
                    let job = self.gpu_state().spec.copies.get(&kernel).copied();
                    self.gpu_state().copy.start(job.unwrap_or_else(|| panic!("{gpu}, {now}: {kernel} is not a copy")));
                    self.read_ahead();
                }
                Payload::Ended(KernelEndSignal { kernel, to }) => {
                    let path = GpuPath { from: gpu, to, hop: 0, reply: false };
                    self.push_own(InternalQueue::Signals, control_packet(SIGNAL_PORT, Addr(0), 0, path, kernel));
                }
                other => panic!("{gpu}, {now}: the grid scheduler sent {other:?}"),
            }
        }
        if let Some((at, _)) = self.gpu_state().orders.front() {
            let event = Reverse((*at, (self.inputs.len() + self.outputs.len()) as u32));
            self.events.push(event);
        }
    }

    /// Refills the queue of the copy engine's reads.
    pub(super) fn read_ahead(&mut self) {
        let reads = self.internal_input(InternalQueue::Reads);
        while self.inputs[reads].queue.len() < MAX_QUEUED_READS
            && let Some(read) = self.gpu_state().copy.next_read()
        {
            self.push_own(InternalQueue::Reads, read);
        }
    }

    /// Handles a reply to the copy engine for all or some sectors of a line.
    pub(super) fn handle_copy_reply(&mut self, token: u32, sectors: SectorMask, out: &mut Outbox) {
        let now = self.now;
        let inside = self.gpu_state();
        let then = inside.copy.record_reply(token, sectors);
        match then {
            CopyAction::Wait => {}
            CopyAction::Write(write) => self.push_write(write),
            CopyAction::Line | CopyAction::Copy(_) => {
                inside.counters.copied_lines += 1;
                if let CopyAction::Copy(kernel) = then {
                    inside.counters.copies += 1;
                    out.send(inside.ports.to_grid, now, Payload::CopyDone(kernel));
                }
                self.read_ahead();
            }
        }
    }
}
