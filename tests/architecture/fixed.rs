//! List of the fields that checkpoints leave out, each with the reason. If such a field depended on more than the configuration, a resumed
//! run would differ from the run that was stopped.

use super::source::Source;

/// A file and some of its fields, in source order.
type FieldsOfFile = (&'static str, &'static [&'static str]);

/// Unsaved fields by reason: the file, then its fields in source order.
const UNSAVED_FIELDS: &[(&str, &[FieldsOfFile])] = &[
    (
        "the machine's configuration, and tables derived from it",
        &[
            ("crates/cpu/src/caches.rs", &["spec"]),
            ("crates/cpu/src/core.rs", &["spec"]),
            ("crates/cpu/src/net.rs", &["map"]),
            ("crates/gpu/src/cta/clusters.rs", &["gpcs"]),
            ("crates/gpu/src/cta/dispatch.rs", &["order", "positions"]),
            ("crates/gpu/src/sm/control/mod.rs", &["spec"]),
            ("crates/gpu/src/sm/control/products.rs", &["spec"]),
            ("crates/gpu/src/sm/core/mod.rs", &["spec", "ends_before_stores"]),
            ("crates/gpu/src/sm/lsu/async_units/bulk.rs", &["spec"]),
            ("crates/gpu/src/sm/starts.rs", &["intervals"]),
            ("crates/mem/src/cache/data.rs", &["spec"]),
            ("crates/mem/src/cache/tag_lines.rs", &["allocate"]),
            ("crates/mem/src/dram/command_channel.rs", &["map", "mapping"]),
            ("crates/mem/src/dram/control/mod.rs", &["bus", "timing"]),
            ("crates/mem/src/dram/control/policy.rs", &["order", "page", "refresh_banks"]),
            ("crates/mem/src/dram/scheduler.rs", &["policy"]),
            ("crates/mem/src/llc/slice_prefetcher.rs", &["map"]),
            ("crates/mem/src/llc/coalescer.rs", &["spec", "groups"]),
            ("crates/mem/src/llc/halves.rs", &["halves"]),
            ("crates/mem/src/llc/sets.rs", &["map", "cache"]),
            ("crates/mem/src/partition/mod.rs", &["map", "warms"]),
            ("crates/mem/src/slice_port.rs", &["local"]),
            ("crates/noc/src/fifo.rs", &["arbiter"]),
            ("crates/noc/src/hub/mod.rs", &["homes", "map"]),
            ("crates/noc/src/peers.rs", &["spec"]),
            ("crates/protocol/src/map.rs", &["map", "homes"]),
        ],
    ),
    (
        "the workload, and data computed from it before the run",
        &[
            ("crates/gpu/src/cta/mod.rs", &["workload"]),
            ("crates/gpu/src/sm/mod.rs", &["workload"]),
            ("crates/gpu/src/sm/phases.rs", &["kernels"]),
        ],
    ),
    (
        "state of a CTA during its functional execution, which ends before any cut",
        &[("crates/program/src/exec/cta.rs", &["ctas", "shared", "pool", "shadow"])],
    ),
    (
        "parameters of a controller or of a run",
        &[
            ("crates/program/src/exec/cta.rs", &["skips_products"]),
            ("crates/chip/src/cpu_load.rs", &["end"]),
            ("crates/policy/src/common/alternate.rs", &["parameters"]),
            ("crates/policy/src/common/dyncta.rs", &["parameters"]),
            ("crates/policy/src/common/instruction_limit.rs", &["limit"]),
            ("crates/policy/src/common/probe.rs", &["parameters"]),
            ("crates/policy/src/common/static_limit.rs", &["parameters"]),
            ("papers/src/cd_search/control/mod.rs", &["parameters"]),
            ("papers/src/dual_kernel/control/mod.rs", &["parameters", "known"]),
            ("papers/src/kernel_mgmt/control/mod.rs", &["parameters"]),
            ("crates/policy/src/sharing/smc.rs", &["parameters"]),
            ("crates/policy/src/sharing/smk.rs", &["name", "compares", "parameters"]),
            ("papers/src/wa_sched/control/cores/mod.rs", &["parameters"]),
            ("papers/src/hetero/study/concurrency/span.rs", &["goals"]),
        ],
    ),
    (
        "scratch space that each call refills",
        &[
            ("crates/gpu/src/cta/dispatch.rs", &["candidates", "positions"]),
            ("crates/mem/src/cache/prefetch/mod.rs", &["wanted"]),
            ("crates/mem/src/dram/control/queue_order.rs", &["shown", "places"]),
            ("crates/noc/src/fifo.rs", &["arbiter_requests"]),
        ],
    ),
    ("columns of a table whose values are saved", &[("crates/chip/src/snapshot.rs", &["schema"])]),
    ("a recording of commands, which is off in runs with checkpoints", &[("crates/mem/src/dram/control/mod.rs", &["command"])]),
];

/// Returns the names of the fields of a file that have `#[state(fixed)]`.
fn fixed_fields(source: &Source) -> Vec<String> {
    let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
    let name = |line: &str| {
        let field = line.rsplit_once("pub").map_or(line, |(_, rest)| rest.rsplit_once(") ").map_or(rest, |(_, rest)| rest));
        let (name, _) = field.split_once(": ")?;
        name.trim().chars().all(|c| c.is_ascii_lowercase() || c == '_').then(|| name.trim().to_owned())
    };
    let marked = lines.iter().enumerate().filter(|(_, line)| line.starts_with("#[state(fixed)]"));
    marked.filter_map(|(number, _)| lines[number + 1..].iter().find_map(|line| name(line))).collect()
}

#[test]
fn files_with_fields_that_checkpoints_leave_out_exist() {
    for (path, _) in UNSAVED_FIELDS.iter().flat_map(|(_, files)| *files) {
        assert!(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path).is_file(), "tests/architecture/fixed.rs lists {path}");
    }
}

#[test]
fn fields_that_checkpoints_leave_out_are_listed_with_their_reasons() {
    for source in Source::package_sources().into_iter().filter(|source| !source.is_test_file()) {
        let mut found = fixed_fields(&source);
        let files = UNSAVED_FIELDS.iter().flat_map(|(_, files)| *files).filter(|(path, _)| *path == source.path);
        let mut listed: Vec<String> = files.flat_map(|(_, fields)| fields.iter().map(|field| (*field).to_owned())).collect();
        found.sort();
        listed.sort();
        assert_eq!(
            found, listed,
            "{}: fields with #[state(fixed)], and those that tests/architecture/fixed.rs lists; a field that changes while a run goes on must be \
             saved, and one that does not belongs in the list under its reason",
            source.path
        );
    }
}
