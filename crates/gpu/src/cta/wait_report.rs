//! Descriptions of the conditions that the grid scheduler waits for, for the deadlock report.

use warpshard_base::KernelIndex;
use warpshard_workload::Workload;

use super::dependents::Dependents;
use super::dispatch::CtaDispatcher;
use super::records::KernelRecords;
use super::streams::KernelStreams;

/// Returns one sentence per kernel that has a slot or waits for one, and one per SM that holds CTAs.
pub(super) fn describe(
    workload: &Workload,
    streams: &KernelStreams,
    dispatch: &CtaDispatcher,
    records: &KernelRecords,
    dependents: Option<&Dependents>,
) -> Vec<String> {
    let mut lines = Vec::new();
    for slot in streams.occupied_slots() {
        let record = records.record(slot.kernel);
        let mut line = format!(
            "{} of {} CTAs of {} are done, {} are bound to no SM",
            record.ended_ctas,
            slot.ctas,
            kernel_title(workload, slot.kernel),
            slot.unassigned_ctas(),
        );
        if record.started.is_none() {
            line += &format!("; none has started, the first may be bound from {} on", slot.ready_at);
        }
        let resident = dispatch.resident_ctas()[slot.kernel.index()];
        let limited = dispatch.sm_slots().iter().filter(|room| room.limit < resident && room.bound >= room.limit).count();
        if slot.unassigned_ctas() > 0 && limited > 0 {
            line += &format!("; {limited} SMs have reached the CTA limit that a controller set");
        }
        if dependents.is_some_and(|dependents| dependents.has_grid_wait(slot.kernel)) {
            line += "; it depends on the preceding launch, which has not ended or has stores in flight";
        }
        lines.push(line);
    }
    for kernel in dependents.into_iter().flat_map(Dependents::held_kernels) {
        lines.push(format!("{} ends with the launch on which it depends", kernel_title(workload, kernel)));
    }
    for kernel in streams.eligible_kernels() {
        lines.push(format!("{} waits for a slot among the kernels of the chip", kernel_title(workload, kernel)));
    }
    for (arrival, kernel) in streams.arriving_kernels() {
        lines.push(format!("{} arrives at {arrival}", kernel_title(workload, kernel)));
    }
    for (sm, room) in dispatch.sm_slots().iter().enumerate().filter(|(_, room)| room.bound > 0) {
        let (bound, started, last) = (room.bound, room.started, room.last_message_at);
        lines.push(format!("sm{sm} holds {bound} CTAs, {started} of them started; its last message arrived at {last}"));
    }
    lines
}

fn kernel_title(workload: &Workload, kernel: KernelIndex) -> String {
    let info = &workload.kernel(kernel).info;
    format!("{kernel} ({}, {})", info.name, info.stream)
}
