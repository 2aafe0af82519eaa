//! Keys of the memory side of an SM: shared memory, the load/store unit and the L1 data cache.

use super::super::choices::Words;
use super::super::machine::{Cache, Machine, Prefetch, SystemLoads, UnifiedL1};
use super::super::value::ValueKind;
use super::cache::cache_keys;
use super::declaration::{Field, Key, key};

pub(super) const KEYS: &[Key] = &[
    key!("gpu.sm.shared.banks", ValueKind::Count(1, 1024), "Number of banks, each four bytes wide.", |m| m.gpu.sm.shared.banks).option("-gpgpu_shmem_num_banks"),
    key!("gpu.sm.shared.latency", ValueKind::Cycles("core", 1, 4096), "Cycles from access to data, without bank conflicts.", |m| m.gpu.sm.shared.latency)
        .option("-gpgpu_smem_latency"),
    key!("gpu.sm.shared.atomic_latency", ValueKind::Cycles("core", 0, 4096), "Additional cycles of a shared-memory atomic that returns a value.", |m| m
        .gpu
        .sm
        .shared
        .atomic_latency)
    .default("0")
    .quiet(),
    key!(
        "gpu.sm.lsu.sector_requests",
        ValueKind::Flag,
        "True if the coalescer makes requests of one sector each (Maxwell and later), false if it makes requests of a line with a sector mask (Fermi).",
        |m| m.gpu.sm.lsu.sector_requests
    )
    .option("-gpgpu_coalesce_arch, 40 and above"),
    key!("gpu.sm.lsu.response_queue", ValueKind::Count(1, 16384), "Capacity of the reply queue between the network and the L1.", |m| m
        .gpu
        .sm
        .lsu
        .response_queue)
    .option("-gpgpu_n_ldst_response_buffer_size"),
    key!("gpu.sm.lsu.ejection_queue", ValueKind::Count(1, 16384), "Capacity of the packet queue between the network and the SM.", |m| m
        .gpu
        .sm
        .lsu
        .ejection_queue)
    .option("-gpgpu_n_cluster_ejection_buffer_size"),
    key!(
        "gpu.sm.lsu.lines_past_l1",
        ValueKind::Flag,
        "True if a read that bypasses the L1 requests all its sectors of a line in one request, false if it requests them one by one.",
        |m| m.gpu.sm.lsu.lines_past_l1
    )
    .default("false")
    .quiet(),
    key!(
        "gpu.sm.lsu.replies",
        ValueKind::Count(1, 8),
        "Replies that leave the network and are accepted per core cycle; the L1 fills one sector.",
        |m| m.gpu.sm.lsu.replies
    )
    .default("1")
    .quiet(),
    key!(
        "gpu.sm.lsu.return_bytes",
        ValueKind::Count(0, 4096),
        "Bytes of loaded values written to the registers of a scheduler's warps per core cycle, a whole register of a warp at a time, \
         shared memory excluded; 0 for no limit.",
        |m| m.gpu.sm.lsu.return_bytes
    )
    .default("0"),
    key!(
        "gpu.sm.lsu.merged_loads",
        ValueKind::Count(0, 8192),
        "Maximum number of in-flight sectors, requested past the L1, that another load of the SM may join instead of sending a request. A request serves at most two loads; 0 for none.",
        |m| m.gpu.sm.lsu.merged_loads
    )
    .default("0"),
    key!(
        "gpu.sm.lsu.combined_stores",
        ValueKind::Count(0, 1024),
        "Lines with partially written sectors that can wait behind the L1 for stores to the rest; a completely written sector does not wait. 0 for none.",
        |m| m.gpu.sm.lsu.combined_stores
    )
    .default("0"),
    key!("gpu.sm.lsu.combine_wait", ValueKind::Cycles("core", 1, 4096), "Cycles for which a partially written line waits, unless another line needs its entry.", |m| m
        .gpu
        .sm
        .lsu
        .combine_wait)
    .default("32"),
    key!("gpu.sm.l1.banks", ValueKind::Count(1, 64), "Number of banks, interleaved by sector.", |m| m.gpu.sm.l1.banks).option("-gpgpu_l1_banks"),
    key!("gpu.sm.l1.latency", ValueKind::Cycles("core", 1, 4096), "Cycles from access to data on a hit.", |m| m.gpu.sm.l1.latency)
        .option("-gpgpu_l1_latency"),
    key!(
        "gpu.sm.l1.write_ratio",
        ValueKind::Percent,
        "Share of lines that may be dirty or partially written before writes evict instead of allocating.",
        |m| m.gpu.sm.l1.write_ratio
    )
    .default("\"0 %\"")
    .option("-gpgpu_l1_cache_write_ratio"),
    key!("gpu.sm.l1.flush_at_kernel", ValueKind::Flag, "True if the L1 is invalidated when a kernel starts.", |m| m.gpu.sm.l1.flush_at_kernel)
        .option("-gpgpu_flush_l1_cache"),
    key!("gpu.sm.l1.system_loads", ValueKind::Choice(SystemLoads::WORDS), "Cache level that serves loads of system scope (`.STRONG.SYS`).", |m| m
        .gpu
        .sm
        .l1
        .system_loads)
    .default("\"cached\""),
    key!(
        "gpu.sm.l1.data_latency",
        ValueKind::Cycles("core", 0, 4096),
        "Cycles from the tag lookup, after which a miss leaves, to the data of a load that hits.",
        |m| m.gpu.sm.l1.data_latency
    )
    .default("0")
    .quiet(),
    key!(
        "gpu.sm.l1.fills",
        ValueKind::Count(1, 8),
        "Sectors that the L1 fills per core cycle, from the replies accepted by `gpu.sm.lsu.replies`.",
        |m| m.gpu.sm.l1.fills
    )
    .default("1")
    .quiet(),
    key!(
        "gpu.sm.l1.answers",
        ValueKind::Count(1, 8),
        "Sectors that the L1 returns per core cycle to loads that missed; hits are not included.",
        |m| m.gpu.sm.l1.answers
    )
    .default("1")
    .quiet(),
    key!(
        "gpu.sm.l1.line_requests",
        ValueKind::Flag,
        "True if the missing sectors of a line leave as one request, false if they leave one per core cycle.",
        |m| m.gpu.sm.l1.line_requests
    )
    .default("false")
    .quiet(),
    key!("gpu.sm.l1.prefetch", ValueKind::Choice(Prefetch::WORDS), "Prefetching policy.", |m| m.gpu.sm.l1.prefetch)
        .default("\"none\""),
    key!("gpu.sm.l1.prefetch_distance", ValueKind::Count(1, 256), "Prefetch distance in lines, strides or misses.", |m| m
        .gpu
        .sm
        .l1
        .prefetch_distance)
    .when("gpu.sm.l1.prefetch", true)
    .refused("the L1 has no prefetcher; `gpu.sm.l1.prefetch` selects one")
    .default("1"),
    key!("gpu.sm.l1.prefetch_degree", ValueKind::Count(1, 64), "Sectors that a load prefetches with `ghb` or `own`; other prefetchers fetch one per access.", |m| m
        .gpu
        .sm
        .l1
        .prefetch_degree)
    .when("gpu.sm.l1.prefetch", true)
    .refused("the L1 has no prefetcher; `gpu.sm.l1.prefetch` selects one")
    .default("1"),
    Key::new(
        "gpu.sm.l1.cache.present",
        ValueKind::Flag,
        "True if the SM has an L1; otherwise, the other keys of the table are not read.",
        |m, value| m.gpu.sm.l1.cache = bool::of(value).then(Cache::default),
    )
    .default("true")
    .option("-gpgpu_gmem_skip_L1D"),
];

cache_keys!(L1_CACHE_KEYS, "gpu.sm.l1.cache.", "-gpgpu_cache:dl1, ", |m| m.gpu.sm.l1.cache.get_or_insert_default(), .when("gpu.sm.l1.cache.present", true));

pub(super) const UNIFIED_KEYS: &[Key] = &[
    Key::new(
        "gpu.sm.l1.unified.adaptive",
        ValueKind::Flag,
        "True if L1 and shared memory divide one memory according to the needs of a kernel; otherwise, the L1's geometry is fixed.",
        |m, value| m.gpu.sm.l1.unified = bool::of(value).then(Box::default),
    )
    .default("false")
    .option("-gpgpu_adaptive_cache_config"),
    key!("gpu.sm.l1.unified.total_bytes", ValueKind::Bytes(1, 1 << 24), "Size of the unified memory.", |m| unified(m).total_bytes)
        .when("gpu.sm.l1.unified.adaptive", true)
        .option("-gpgpu_unified_l1d_size"),
    key!("gpu.sm.l1.unified.shared_options", ValueKind::Sizes, "Possible sizes of shared memory, ascending.", |m| unified(m).shared_options)
        .when("gpu.sm.l1.unified.adaptive", true)
        .option("-gpgpu_shmem_option"),
    key!(
        "gpu.sm.l1.unified.headroom",
        ValueKind::Count(1, 64),
        "Multiple of the shared memory of the CTAs that fit an SM for which the chosen size must suffice, for kernels that use shared memory.",
        |m| unified(m).headroom
    )
    .when("gpu.sm.l1.unified.adaptive", true)
    .default("1"),
    key!("gpu.sm.l1.unified.headroom_limit", ValueKind::Bytes(0, 1 << 24), "Maximum size that is chosen for headroom.", |m| unified(m)
        .headroom_limit)
    .when("gpu.sm.l1.unified.adaptive", true)
    .default("\"0 B\""),
    key!(
        "gpu.sm.l1.unified.least_per_cta",
        ValueKind::Bytes(0, 1 << 24),
        "Minimum shared memory per CTA that fits an SM, even if the CTA needs less.",
        |m| unified(m).least_per_cta
    )
    .when("gpu.sm.l1.unified.adaptive", true)
    .default("\"0 B\""),
    key!("gpu.sm.l1.unified.least_limit", ValueKind::Bytes(0, 1 << 24), "Maximum size that is chosen for `least_per_cta`.", |m| unified(m)
        .least_limit)
    .when("gpu.sm.l1.unified.adaptive", true)
    .default("\"0 B\""),
];

fn unified(machine: &mut Machine) -> &mut UnifiedL1 {
    machine.gpu.sm.l1.unified.get_or_insert_default()
}
