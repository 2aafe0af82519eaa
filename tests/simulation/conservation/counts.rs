//! Comparison of counters with the observer's data: the log of messages and the streams of the workload.

use warpshard::base::{CtaIndex, SECTOR_BYTES};
use warpshard::chip::RunResult;
use warpshard::config::Machine;
use warpshard::config::machine::{CoreStyle, WriteMiss, WritePolicy};
use warpshard::gpu::sm::{StallCounters, WarpReasonCounters};
use warpshard::protocol::MemOp;
use warpshard::report::nsight::{ADDITIONAL_WARP_STATE_METRICS, WARP_STATE_METRICS};
use warpshard::stats::{CounterValue, Counters, KernelStats, Outcome};
use warpshard::workload::{OpClass, Workload};

use super::record::{CtaEventKind, HopKind, RunRecord};

fn counter_value(counters: &[CounterValue], name: &str) -> u64 {
    counters.iter().find(|counted| counted.info.name == name).unwrap_or_else(|| panic!("no counter {name}")).value
}

fn kernel_counter(kernel: &KernelStats, name: &str) -> u64 {
    kernel.counters.get(name).unwrap_or_else(|| panic!("no counter {name}"))
}

fn counter_sum(counters: &[CounterValue], names: &[&str]) -> u64 {
    names.iter().map(|name| counter_value(counters, name)).sum()
}

/// Returns a counter of a component.
pub(crate) fn of(outcome: &Outcome, kind: &str, id: u16, name: &str) -> u64 {
    let component = outcome.components.iter().find(|component| component.kind == kind && component.id == u32::from(id));
    counter_value(&component.unwrap_or_else(|| panic!("no {kind} {id}")).counters, name)
}

/// Checks that the issued instructions match the streams, kernel by kernel: warp instructions, lane instructions and barriers.
pub(crate) fn check_instructions(name: &str, workload: &Workload, outcome: &Outcome) {
    for (kernel, stats) in workload.kernels.iter().zip(&outcome.kernels) {
        let (mut warps, mut lanes, mut barriers) = (0, 0, 0);
        for cta in 0..kernel.info.ctas() {
            let program = kernel.source.cta(CtaIndex(cta));
            for stream in &program.warps {
                for inst in stream.read() {
                    warps += 1;
                    lanes += u64::from(inst.mask.count());
                    barriers += u64::from(program.code[inst.index as usize].class == OpClass::Barrier);
                }
            }
        }
        let counted = ["warp_instructions", "thread_instructions", "barrier_instructions"].map(|name| kernel_counter(stats, name));
        assert_eq!(counted, [warps, lanes, barriers], "{name}: warp, lane and barrier instructions of {}", stats.name);
        assert!(warps > 0, "{name}: {} executes nothing", stats.name);
    }
}

/// Checks that the stall reasons of an SM sum to schedulers x cycles.
pub(crate) fn check_stalls(name: &str, machine: &Machine, outcome: &Outcome) {
    for component in outcome.components.iter().filter(|component| component.kind == "sm") {
        let reasons = component.counters.iter().filter(|c| c.info.unit == "scheduler cycles").map(|c| c.value).sum::<u64>();
        let expected = u64::from(machine.gpu.sm.schedulers) * outcome.counted_until;
        assert_eq!(reasons, expected, "{name}: stall reasons of sm {}", component.id);
        if machine.gpu.sm.warp_states && machine.gpu.sm.style == CoreStyle::ControlWords {
            let states: Vec<&str> = WarpReasonCounters::INFO.iter().map(|info| info.name).collect();
            let resident = counter_value(&component.counters, "resident_warp_cycles");
            assert_eq!(counter_sum(&component.counters, &states), resident, "{name}: states of the warps of sm {}", component.id);
        }
        assert_eq!(counter_value(&component.counters, "cycles"), outcome.counted_until, "{name}: cycles of sm {}", component.id);
    }
    check_by_kernel(name, outcome);
    if machine.gpu.sm.warp_states && machine.gpu.sm.style == CoreStyle::ControlWords {
        check_by_state(name, outcome);
    }
}

/// Checks that the warp cycles of launches sum to the SMs' warp cycles for each state, and that each instruction accounts for one cycle as
/// selected.
fn check_by_state(name: &str, outcome: &Outcome) {
    for info in WarpReasonCounters::INFO {
        let kernels: u64 = outcome.kernels.iter().map(|kernel| kernel_counter(kernel, info.name)).sum();
        let sms = outcome.components.iter().filter(|component| component.kind == "sm");
        assert_eq!(kernels, sms.map(|sm| counter_value(&sm.counters, info.name)).sum::<u64>(), "{name}: {} by kernel", info.name);
    }
    for kernel in &outcome.kernels {
        let [selected, issued] = ["warp_selected", "warp_instructions"].map(|name| kernel_counter(kernel, name));
        assert_eq!(selected, issued, "{name}: {}", kernel.name);
    }
}

/// Every counter of warp cycles corresponds to a state of Nsight Compute or is listed as additional, and every Nsight state but one has a
/// counter.
#[test]
fn warp_states_have_nsights_names() {
    let counters: Vec<&str> = WarpReasonCounters::INFO.iter().map(|info| info.name).collect();
    let without: Vec<&str> = WARP_STATE_METRICS.iter().filter(|state| !counters.contains(&state.ours)).map(|state| state.nsight).collect();
    assert_eq!(without, ["sleeping"], "no warp sleeps");
    assert!(ADDITIONAL_WARP_STATE_METRICS.iter().all(|state| counters.contains(&state.ours)));
    assert_eq!(counters.len() + without.len(), WARP_STATE_METRICS.len() + ADDITIONAL_WARP_STATE_METRICS.len());
}

/// Checks that per-kernel counters sum to the counters of SMs and slices: stall reasons, requests, DRAM sectors.
fn check_by_kernel(name: &str, outcome: &Outcome) {
    let kernels = |counter| outcome.kernels.iter().map(|kernel| kernel_counter(kernel, counter)).sum::<u64>();
    let all = |kind, counter| {
        let of_kind = outcome.components.iter().filter(|component| component.kind == kind);
        of_kind.map(|component| counter_value(&component.counters, counter)).sum::<u64>()
    };
    for info in StallCounters::INFO.iter().filter(|info| info.name != "stall_no_warps") {
        assert_eq!(kernels(info.name), all("sm", info.name), "{name}: {} by kernel", info.name);
    }
    assert_eq!(kernels("llc_accesses"), all("llc", "accesses"), "{name}: LLC accesses by kernel");
    assert_eq!(kernels("llc_hits"), all("llc", "read_hits") + all("llc", "write_hits"), "{name}: LLC hits by kernel");
    assert_eq!(kernels("llc_pending_hits"), all("llc", "pending_hits"), "{name}: LLC pending hits by kernel");
    // A slice fetches sector by sector; entries left in its miss queue at the end of the run are counted per kernel only.
    assert!(kernels("dram_reads") >= all("llc", "fetches"), "{name}: sectors fetched by kernel");
    assert!(kernels("dram_writes") >= all("llc", "write_backs"), "{name}: sectors written by kernel");
}

/// Checks that the rows of the interval series sum to the totals of the components, column by column, and have the stated length.
pub(crate) fn check_intervals(name: &str, interval: u64, outcome: &Outcome) {
    let mut before = 0;
    for row in outcome.intervals.iter() {
        assert!(row.cycle - before == interval || row.cycle == outcome.counted_until, "{name}: a row from {before} to {}", row.cycle);
        before = row.cycle;
    }
    assert_eq!(before, outcome.counted_until, "{name}: the last row ends where counting ends");
    for (column, (kind, info)) in outcome.intervals.columns().iter().enumerate() {
        let rows: u64 = outcome.intervals.iter().map(|row| row.counters[column].1.value).sum();
        let of_kind = outcome.components.iter().filter(|component| component.kind == *kind);
        let total: u64 = of_kind.map(|component| counter_value(&component.counters, info.name)).sum();
        assert_eq!(rows, total, "{name}: rows of {kind} {}", info.name);
    }
}

/// Checks that the counters of SMs, networks, slices and channels match the messages on the links in a completed run.
pub(crate) fn check_traffic(name: &str, machine: &Machine, result: &RunResult, record: &RunRecord) {
    let outcome = &result.outcome;
    let packets = |way| record.hops(way).map(|hop| hop.packets.len() as u64).sum::<u64>();
    for hop in record.hops(HopKind::SmToNet) {
        let sm = hop.index;
        assert_eq!(of(outcome, "sm", sm, "packets_sent"), hop.packets.len() as u64, "{name}: requests of sm {sm}");
        let replies = record.hop(HopKind::NetToSm, sm).packets.len() as u64;
        assert_eq!(of(outcome, "sm", sm, "packets_received"), replies, "{name}: replies to sm {sm}");
        let started = record.ctas.iter().filter(|word| word.word == CtaEventKind::Started && word.sm.0 == sm).count() as u64;
        assert_eq!(of(outcome, "sm", sm, "ctas_started"), started, "{name}: CTAs started on sm {sm}");
    }
    assert_eq!(of(outcome, "request_net", 0, "packets"), packets(HopKind::SmToNet), "{name}: packets into the request network");
    assert_eq!(of(outcome, "reply_net", 0, "packets"), packets(HopKind::NetToSm), "{name}: packets out of the reply network");
    assert_eq!(of(outcome, "grid", 0, "ctas_done") * 3, record.ctas.len() as u64, "{name}: word of CTAs");
    check_slices(name, machine, outcome, record);
    check_channels(name, machine, outcome);
    kernels(name, machine, outcome, record);
}

fn check_slices(name: &str, machine: &Machine, outcome: &Outcome, record: &RunRecord) {
    assert!(machine.mem.llc.sectored, "{name}: the observer expects one reply per sector");
    for hop in record.hops(HopKind::NetToSlice) {
        let slice = hop.index;
        let asked = |wanted: &[MemOp]| {
            let of_these = hop.packets.iter().filter(|(_, packet)| wanted.contains(&packet.op));
            of_these.map(|(_, packet)| u64::from(packet.sectors().count())).sum::<u64>()
        };
        let at = |name| of(outcome, "llc", slice, name);
        assert_eq!(at("accesses"), hop.sectors(), "{name}: sectors asked of slice {slice}");
        assert_eq!(record.hop(HopKind::SliceToNet, slice).packets.len() as u64, hop.sectors(), "{name}: answers of slice {slice}");
        assert_eq!(at("atomics"), asked(&[MemOp::Atomic, MemOp::Reduction]), "{name}: atomics at slice {slice}");
        let misses = at("read_misses") + at("read_sector_misses") + at("write_misses") + at("write_sector_misses");
        assert_eq!(at("misses"), misses, "{name}: misses of slice {slice}");
        assert_eq!(misses + at("read_hits") + at("write_hits") + at("pending_hits"), hop.sectors(), "{name}: fates at slice {slice}");
        let missed = at("read_misses") + at("read_sector_misses") + at("pending_hits") + forwarded_writes(machine, &at);
        assert!(at("fetches") <= missed, "{name}: fetches of slice {slice}");
    }
}

/// Returns the writes that missed in a slice and were forwarded to DRAM, except those to lines that were already being fetched.
fn forwarded_writes(machine: &Machine, at: &impl Fn(&'static str) -> u64) -> u64 {
    if machine.mem.llc.write_miss == WriteMiss::WriteAllocate { at("write_misses") + at("write_sector_misses") } else { 0 }
}

fn check_channels(name: &str, machine: &Machine, outcome: &Outcome) {
    let (spec, queues, per_partition) = (&machine.mem.dram, &machine.mem.queues, machine.mem.map.slices_per_partition as u16);
    let (burst_bytes, _) = spec.burst();
    let bursts = SECTOR_BYTES.div_ceil(burst_bytes);
    // A command-level controller serves reads from queued writes, and merges writes to the same address.
    let at_entry = |channel: u16, name| if spec.control.is_some() { of(outcome, "dram", channel, name) } else { 0 };
    let waiting = spec.control.as_ref().map_or(spec.queue + spec.banks, |control| control.write_queue + 4);
    for channel in 0..machine.mem.map.partitions as u16 {
        let of_slices = |name| (0..per_partition).map(|i| of(outcome, "llc", channel * per_partition + i, name)).sum::<u64>();
        let (reads, writes) = (of(outcome, "dram", channel, "reads"), of(outcome, "dram", channel, "writes"));
        // Upper bound of the requests between a slice and the data bus at the end; a request may hold a line's sectors.
        let places = u64::from(per_partition) * u64::from(queues.to_dram) + u64::from(waiting + spec.return_queue + 1);
        let (read, fetched) = (reads + at_entry(channel, "forwarded"), of_slices("fetches") * bursts);
        // The run may end before the line of a forwarded write is fetched.
        let unread = if machine.mem.llc.write_miss == WriteMiss::WriteAllocate { places * bursts } else { 0 };
        assert!(read <= fetched && fetched - read <= unread, "{name}: {read} of {fetched} bursts read by channel {channel}");
        let slice_of = |i: u16| move |name: &'static str| of(outcome, "llc", channel * per_partition + i, name);
        let forwarded_writes = |i: u16| forwarded_writes(machine, &slice_of(i));
        let pending = |i: u16| if unread == 0 { 0 } else { slice_of(i)("pending_hits") };
        let written = of_slices("write_backs") + (0..per_partition).map(forwarded_writes).sum::<u64>();
        let at_most = written + (0..per_partition).map(pending).sum::<u64>();
        let writes = writes + at_entry(channel, "coalesced");
        assert!(writes <= at_most * bursts, "{name}: {writes} bursts written by channel {channel} for {at_most} sectors");
        let sectors = SECTOR_BYTES * written.saturating_sub(4 * places);
        let least = sectors.div_ceil(burst_bytes.max(SECTOR_BYTES));
        assert!(writes >= least, "{name}: {writes} bursts written by channel {channel} for {written} sectors");
        let busy = reads + writes > 0;
        assert_eq!(busy, of(outcome, "dram", channel, "activates") > 0, "{name}: rows opened by channel {channel}");
    }
}

fn kernels(name: &str, machine: &Machine, outcome: &Outcome, record: &RunRecord) {
    for kernel in &outcome.kernels {
        let requests = |wanted: &[MemOp]| {
            let all = record.hops(HopKind::SmToNet).flat_map(|hop| &hop.packets);
            all.filter(|(_, packet)| packet.kernel() == kernel.index && wanted.contains(&packet.op)).count() as u64
        };
        let c = &kernel.counters.iter().collect::<Vec<_>>();
        let read_misses = counter_sum(c, &["l1_read_misses", "l1_read_sector_misses"]);
        let reads = read_misses + counter_sum(c, &["l1_read_hits", "l1_read_pending_hits"]);
        let writes = counter_sum(c, &["l1_write_hits", "l1_write_pending_hits", "l1_write_misses", "l1_write_sector_misses"]);
        let bypasses = counter_value(c, "l1_bypasses");
        // The texture cache has no per-kernel counters; workloads that use it have one kernel.
        let textures: u64 =
            outcome.components.iter().flat_map(|c| &c.counters).filter(|c| c.info.name == "texture_misses").map(|c| c.value).sum();
        assert!(textures == 0 || outcome.kernels.len() == 1, "{name}: textures of several kernels");
        assert_eq!(counter_value(c, "memory_accesses"), reads + writes + bypasses, "{name}: fates of the accesses of {}", kernel.name);
        let read_packets = requests(&[MemOp::Read]);
        let all = requests(&[MemOp::Read, MemOp::Write, MemOp::Atomic, MemOp::Reduction]);
        assert!(requests(&[MemOp::Atomic, MemOp::Reduction]) <= bypasses, "{name}: atomics of {} past the L1", kernel.name);
        assert!(
            read_packets <= read_misses + bypasses + textures,
            "{name}: {read_packets} reads of {} for {read_misses} misses",
            kernel.name
        );
        let write_back = machine.gpu.sm.l1.cache.is_some_and(|cache| cache.write == WritePolicy::Back);
        if !write_back {
            assert_eq!(all, read_misses + writes + bypasses + textures, "{name}: requests of {}", kernel.name);
        }
        let words = |wanted| record.ctas.iter().filter(move |w| w.word == wanted && w.kernel == kernel.index).map(|w| w.at);
        assert_eq!(kernel.started, words(CtaEventKind::Started).min(), "{name}: the start of {}", kernel.name);
        assert_eq!(kernel.ended, words(CtaEventKind::Done).max(), "{name}: the end of {}", kernel.name);
        assert_eq!(counter_value(c, "ctas"), u64::from(kernel.ctas), "{name}: CTAs of {}", kernel.name);
    }
    assert_eq!(outcome.cycles, outcome.kernels.iter().filter_map(|kernel| kernel.ended).max().unwrap_or(0), "{name}: the run's end");
}
