//! The fields that checkpoints leave out, each with the reason: a field that follows from more than the configuration would make a run that
//! goes on another one than the run that was stopped.

use super::source::Source;

/// A file, and fields in it, in their order there.
type InFile = (&'static str, &'static [&'static str]);

/// Why fields are not saved, and which: the file, then its fields in the order of the file.
const FIXED: &[(&str, &[InFile])] = &[
    (
        "the machine's configuration, and tables made of it",
        &[
            ("src/cpu/caches.rs", &["spec"]),
            ("src/cpu/core.rs", &["spec"]),
            ("src/cpu/net.rs", &["map"]),
            ("src/gpu/sm/core/mod.rs", &["spec"]),
            ("src/mem/cache/data.rs", &["spec"]),
            ("src/mem/cache/tag_lines.rs", &["allocate"]),
            ("src/mem/dram/command_channel.rs", &["map", "mapping"]),
            ("src/mem/dram/control/mod.rs", &["bus", "timing"]),
            ("src/mem/dram/control/policy.rs", &["order", "page"]),
            ("src/mem/dram/scheduler.rs", &["policy"]),
            ("src/mem/llc/sets.rs", &["map", "cache"]),
            ("src/mem/partition/mod.rs", &["map", "warms"]),
            ("src/mem/slice_port.rs", &["local"]),
            ("src/noc/fifo.rs", &["arbiter"]),
            ("src/noc/hub/mod.rs", &["homes", "map"]),
            ("src/protocol/map.rs", &["map", "homes"]),
        ],
    ),
    (
        "the workload and what was computed of it before the run",
        &[("src/gpu/cta/mod.rs", &["workload"]), ("src/gpu/sm/mod.rs", &["workload"]), ("src/gpu/sm/phases.rs", &["kernels"])],
    ),
    (
        "of a CTA while it is executed, which is over before any cut",
        &[("src/frontend/program/exec/cta.rs", &["warps", "shared", "local", "copies", "shadow"])],
    ),
    (
        "parameters of a controller or of a run",
        &[
            ("src/chip/cpu_load.rs", &["end"]),
            ("src/policy/common/alternate.rs", &["parameters"]),
            ("src/policy/common/dyncta.rs", &["parameters"]),
            ("src/policy/common/probe.rs", &["parameters"]),
            ("src/policy/common/static_limit.rs", &["parameters"]),
            ("src/policy/sharing/cd_search/mod.rs", &["parameters"]),
            ("src/policy/sharing/dual_kernel/mod.rs", &["parameters", "known"]),
            ("src/policy/sharing/kernel_mgmt/mod.rs", &["parameters"]),
            ("src/policy/sharing/smc.rs", &["parameters"]),
            ("src/policy/sharing/smk.rs", &["name", "compares", "parameters"]),
            ("src/policy/wa_sched/cores/mod.rs", &["parameters"]),
            ("src/study/hetero/concurrency/span.rs", &["goals"]),
        ],
    ),
    ("columns of a table whose values are saved", &[("src/chip/snapshot.rs", &["schema"])]),
    ("of a recording of commands, which runs with checkpoints do not make", &[("src/mem/dram/control/mod.rs", &["command"])]),
];

/// The names of the fields of a file that say `#[state(fixed)]`.
fn fixed(source: &Source) -> Vec<String> {
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
fn fields_that_checkpoints_leave_out_are_listed_with_their_reasons() {
    for source in Source::all("src") {
        let mut found = fixed(&source);
        let files = FIXED.iter().flat_map(|(_, files)| *files).filter(|(path, _)| *path == source.path);
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
