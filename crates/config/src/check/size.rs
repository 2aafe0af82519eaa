//! Checks of the size of a machine: identifiers have 16 bits, and the memory of the host is limited.

use warpshard_base::LINE_BYTES;

use super::super::machine::{Cache, CoreStyle, GpuKind, Machine, Sm};
use super::super::routes::Routes;
use super::checker::Checker;

/// Maximum number of lines of a cache: lines have 16-bit identifiers.
const MAX_CACHE_LINES: u64 = 65_534;
/// Maximum number of links: links have 16-bit identifiers.
const MAX_LINKS: u64 = 65_535;
/// Maximum number of instructions between the issue stage and the execution units of an SM.
const MAX_ISSUED_INSTRUCTIONS: u32 = 256;
/// Maximum number of entries of all tables and queues of a chip. An entry takes 16 to 64 bytes of host memory.
const MAX_ENTRIES: u64 = 1 << 24;

/// Checks the size of one GPU.
pub(super) fn check_gpu(machine: &Machine, checker: &mut Checker<'_>) {
    check_cache_lines(machine, checker);
    check_issued_instructions(&machine.gpu.sm, checker);
}

/// Checks the total size of all GPUs.
pub(super) fn check_all_gpus(machine: &Machine, checker: &mut Checker<'_>) {
    check_links(machine, checker);
    check_entries(machine, checker);
}

fn check_cache_lines(machine: &Machine, checker: &mut Checker<'_>) {
    let mut cache = |table: &str, cache: &Cache| {
        let lines = u64::from(cache.sets) * u64::from(cache.ways);
        checker.require(
            lines <= MAX_CACHE_LINES,
            &[&format!("{table}.ways"), &format!("{table}.sets")],
            || format!("`{table}` has {} sets of {} ways, {lines} lines, expected at most {MAX_CACHE_LINES}", cache.sets, cache.ways),
            || "lines are numbered with 16 bits; divide a larger cache into slices or banks".to_owned(),
        );
    };
    if let Some(l1) = &machine.gpu.sm.l1.cache {
        cache("gpu.sm.l1.cache", l1);
    }
    cache("mem.llc", &machine.mem.llc);
    if let Some(caches) = machine.cpu.as_ref().and_then(|cpu| cpu.spec.caches) {
        cache("cpu.l1", &caches.l1);
        cache("cpu.l2", &caches.l2);
    }
    if let (Some(unified), Some(_)) = (&machine.gpu.sm.l1.unified, &machine.gpu.sm.l1.cache) {
        let lines = u64::from(unified.total_bytes) / LINE_BYTES;
        checker.require(
            lines <= MAX_CACHE_LINES,
            &["gpu.sm.l1.unified.total_bytes"],
            || format!("`gpu.sm.l1.unified.total_bytes` has {lines} lines, expected at most {MAX_CACHE_LINES}"),
            || "lines are numbered with 16 bits".to_owned(),
        );
    }
}

/// Checks the number of issued_instructions instructions: each operand collector and each pipeline register before and after it holds one.
fn check_issued_instructions(sm: &Sm, checker: &mut Checker<'_>) {
    let units = &sm.units;
    let kinds = [units.sp, units.int, units.sfu, units.dp, units.tensor, units.branch, units.texture, units.uniform];
    let registers: u32 = match sm.style {
        CoreStyle::SubCores | CoreStyle::ControlWords => {
            kinds.iter().filter(|count| **count > 0).map(|_| sm.schedulers).sum::<u32>() + sm.schedulers
        }
        CoreStyle::Shared => kinds.iter().sum::<u32>() + 1,
    };
    let count = 2 * registers + sm.operands.collectors.max(sm.schedulers);
    checker.require(
        count <= MAX_ISSUED_INSTRUCTIONS,
        &["gpu.sm.operands.collectors", "gpu.sm.units.sp", "gpu.sm.style"],
        || format!("the registers and operand collectors of an SM hold {count} instructions, expected at most {MAX_ISSUED_INSTRUCTIONS}"),
        || "the number is twice the execution units of all kinds plus the collectors; reduce some of them".to_owned(),
    );
}

fn check_links(machine: &Machine, checker: &mut Checker<'_>) {
    let [sms, cpus, partitions] =
        [machine.gpu.sms, machine.cpu.as_ref().map_or(0, |cpu| cpu.count), machine.mem.map.partitions].map(u64::from);
    let slices = partitions * u64::from(machine.mem.map.slices_per_partition);
    // A hub adds ports at both networks and links to and from the grid scheduler. A link between nodes counts twice: once for packets, once
    // for credits.
    let system = machine.system.as_ref();
    let ports = 2 * system.map_or(0, |system| u64::from(system.hub.ports));
    let lanes = system.and_then(|system| Routes::of(system).ok()).map_or(0, |routes| routes.lanes.len() as u64);
    let gpus = u64::from(machine.gpus());
    let of_gpu = |gpu: &Machine| {
        let [sms, partitions] = [gpu.gpu.sms, gpu.mem.map.partitions].map(u64::from);
        4 * (sms + cpus + partitions * u64::from(gpu.mem.map.slices_per_partition) + ports) + 2 * sms + partitions + 2
    };
    let links = machine.each_gpu().map(of_gpu).sum::<u64>() + 2 * lanes;
    checker.require(
        links <= MAX_LINKS,
        &["gpu.sms", "mem.map.partitions", "mem.map.slices_per_partition"],
        || {
            let each = if gpus > 1 { format!("{gpus} GPUs of ") } else { String::new() };
            format!("{each}{sms} SMs, {cpus} CPU cores and {slices} LLC slices have {links} links, expected at most {MAX_LINKS}")
        },
        || "links are numbered with 16 bits; reduce the SMs or the slices".to_owned(),
    );
}

/// A table or queue: its key, its entries, and the number of instances per chip.
type Storage = (&'static str, u64, u64);

fn check_entries(machine: &Machine, checker: &mut Checker<'_>) {
    let parts: Vec<Storage> =
        storage_parts(machine).into_iter().filter(|(key, ..)| checker.settings.iter().any(|s| s.key.path == *key)).collect();
    let kinds = &machine.kinds[..];
    let gpus = u64::from(machine.gpus()) - kinds.iter().map(|kind| kind.gpus.len() as u64).sum::<u64>();
    let total = |part: &Storage| part.1.saturating_mul(part.2).saturating_mul(gpus);
    let of_kinds = |kinds: &[GpuKind]| -> u64 {
        let of_kind =
            |kind: &GpuKind| storage_parts(&kind.machine).iter().map(|part| part.1.saturating_mul(part.2)).fold(0, u64::saturating_add);
        kinds.iter().map(|kind| of_kind(kind).saturating_mul(kind.gpus.len() as u64)).fold(0, u64::saturating_add)
    };
    let all = parts.iter().map(total).fold(of_kinds(kinds), u64::saturating_add);
    let Some(largest) = parts.iter().max_by_key(|part| total(part)) else { return };
    checker.require(
        all <= MAX_ENTRIES,
        &[largest.0],
        || format!("the tables and queues of the chip have {all} entries, expected at most {MAX_ENTRIES}"),
        || format!("the largest part is `{1}` with {0} entries, of which the chip has {2} instances", largest.1, largest.0, largest.2),
    );
}

fn storage_parts(machine: &Machine) -> Vec<Storage> {
    let Machine { gpu, mem, noc, .. } = machine;
    let sm = &gpu.sm;
    let sms = u64::from(gpu.sms);
    let cpus = machine.cpu.as_ref().map_or(0, |cpu| u64::from(cpu.count));
    let partitions = u64::from(mem.map.partitions);
    let slices = partitions * u64::from(mem.map.slices_per_partition);
    let mut parts: Vec<Storage> = Vec::new();
    let mut add = |times: u64, list: &[(&'static str, u32)]| {
        parts.extend(list.iter().map(|&(key, entries)| (key, u64::from(entries), times)));
    };
    let lines = |cache: &Cache| cache.sets.saturating_mul(cache.ways);
    // Storage that every SM has: registers, event wheels, loads in flight.
    add(
        sms,
        &[("gpu.sms", 2048), ("gpu.sm.lsu.response_queue", sm.lsu.response_queue), ("gpu.sm.lsu.ejection_queue", sm.lsu.ejection_queue)],
    );
    add(sms, &[("gpu.sm.l1.latency", sm.l1.latency), ("gpu.sm.shared.latency", sm.shared.latency)]);
    if let Some(l1) = &sm.l1.cache {
        let unified = sm.l1.unified.as_ref().map_or(0, |unified| unified.total_bytes / LINE_BYTES as u32);
        add(sms, &[("gpu.sm.l1.cache.ways", lines(l1).max(unified)), ("gpu.sm.l1.cache.mshrs", l1.mshrs)]);
        add(sms, &[("gpu.sm.l1.cache.miss_queue", l1.miss_queue)]);
    }
    for (key, cache) in [("gpu.sm.fetch.icache.sets", sm.fetch.icache), ("gpu.sm.fetch.ccache.sets", sm.fetch.ccache)] {
        add(sms, &[(key, cache.map_or(0, |cache| cache.sets.saturating_mul(cache.ways)))]);
    }
    if let Some(texture) = &sm.texture {
        add(sms, &[("gpu.sm.texture.sets", texture.sets.saturating_mul(texture.ways)), ("gpu.sm.texture.fragments", texture.fragments)]);
        add(sms, &[("gpu.sm.texture.requests", texture.requests), ("gpu.sm.texture.reorder", texture.reorder)]);
        add(sms, &[("gpu.sm.texture.results", texture.results)]);
    }
    if let Some(ccws) = &sm.ccws {
        add(sms, &[("gpu.sm.ccws.victim_tags", ccws.victim_tags.saturating_mul(sm.warps))]);
    }
    add(slices, &[("mem.llc.ways", lines(&mem.llc)), ("mem.llc.mshrs", mem.llc.mshrs), ("mem.llc.miss_queue", mem.llc.miss_queue)]);
    let queues = &mem.queues;
    add(slices, &[("mem.queues.in_queue", queues.in_queue), ("mem.queues.to_dram", queues.to_dram)]);
    add(slices, &[("mem.queues.from_dram", queues.from_dram), ("mem.queues.out_queue", queues.out_queue)]);
    add(partitions, &[("mem.map.partitions", 2048), ("mem.dram.queue", mem.dram.queue), ("mem.dram.return_queue", mem.dram.return_queue)]);
    if let Some(control) = &mem.dram.control {
        add(partitions, &[("mem.dram.read_queue", control.read_queue), ("mem.dram.write_queue", control.write_queue)]);
    }
    add(sms + cpus, &[("noc.input_queue", noc.input_queue)]);
    add(slices, &[("noc.output_queue", noc.output_queue)]);
    add(2 * (sms + cpus).max(slices), &[("noc.vc.buffers", noc.vc.vcs.saturating_mul(noc.vc.buffers))]);
    if let Some(mesh) = &noc.mesh {
        // Two subnets of routers with up to eight ports; the number of virtual channels is rounded up to a power of two.
        let ports = 2 * 8 * u64::from(mesh.columns) * u64::from(mesh.rows);
        add(ports, &[("noc.mesh.buffers", mesh.vcs.next_power_of_two().saturating_mul(mesh.buffers))]);
    }
    if let Some(cpu) = &machine.cpu {
        add(cpus, &[("cpu.window", cpu.spec.window)]);
        if let Some(caches) = &cpu.spec.caches {
            for (cache, [ways, mshrs, queue]) in [
                (&caches.l1, ["cpu.l1.ways", "cpu.l1.mshrs", "cpu.l1.miss_queue"]),
                (&caches.l2, ["cpu.l2.ways", "cpu.l2.mshrs", "cpu.l2.miss_queue"]),
            ] {
                add(cpus, &[(ways, lines(cache)), (mshrs, cache.mshrs), (queue, cache.miss_queue)]);
            }
        }
    }
    parts
}
