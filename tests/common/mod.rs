//! Workloads and machines shared by the tests of the whole simulator.

pub(crate) mod options;
mod shared;
pub(crate) mod systems;

use std::path::Path;
use std::sync::Arc;

use warpshard::config::{Machine, Override};
use warpshard::control::Controller;
use warpshard::workload::{MixedApplication, Workload, mix};

pub(crate) use shared::shared;

/// Returns `true` if tests with a short form run at full length: `WARPSHARD_AT_LENGTH=1`, as in tests/nightly.sh.
pub(crate) fn at_length() -> bool {
    std::env::var("WARPSHARD_AT_LENGTH").is_ok_and(|value| value == "1")
}

/// A workload on a machine, optionally with a controller.
pub(crate) struct SimulationCase {
    pub(crate) name: String,
    pub(crate) machine: Machine,
    pub(crate) workload: Arc<Workload>,
    pub(crate) policy: Option<(&'static str, &'static str)>,
}

impl SimulationCase {
    pub(crate) fn controllers(&self) -> Vec<Box<dyn Controller>> {
        let make = |(name, table): &(&str, &str)| {
            let policy = warpshard::catalogue().policies().find(name).unwrap();
            (policy.build)(toml::from_str(table).unwrap()).unwrap()
        };
        self.policy.iter().map(make).collect()
    }
}

pub(crate) fn machine(name: &str, overrides: &[(&str, &str)]) -> Machine {
    let overrides: Vec<Override> = overrides.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    warpshard::catalogue().machine(name, &overrides).unwrap_or_else(|error| panic!("{error}")).machine
}

pub(crate) fn built_in(name: &str, parameters: &[(&str, &str)]) -> Arc<Workload> {
    let parameters: Vec<(String, String)> = parameters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Arc::new(warpshard::catalogue().model(name, 1, &parameters).unwrap_or_else(|error| panic!("{error}")).workload())
}

pub(crate) fn trace(folder: &Path) -> Arc<Workload> {
    Arc::new(warpshard::trace::load(folder, &warpshard::trace::TraceOptions::default()).unwrap_or_else(|error| panic!("{error}")))
}

/// Overrides that give the test machine an output-queued crossbar.
pub(crate) const OUTPUT_QUEUED_CROSSBAR: &[(&str, &str)] = &[("noc.crossbar", "output_queued")];
/// Overrides for cores that read dependences from control words, or from registers for code without control words.
pub(crate) const CONTROL_WORDS_CORE: &[(&str, &str)] =
    &[("gpu.sm.style", "control-words"), ("gpu.sm.order", "gty"), ("gpu.sm.warp_states", "true")];
/// Overrides of [`CONTROL_WORDS_CORE`], with enough shared memory for the tiles of warp-group products.
pub(crate) const WARP_GROUP_TILES: &[(&str, &str)] = &[
    ("gpu.sm.style", "control-words"),
    ("gpu.sm.warp_states", "true"),
    ("gpu.sm.order", "gty"),
    ("gpu.sm.shared_bytes", "96 KiB"),
    ("gpu.sm.l1.unified.adaptive", "false"),
    ("gpu.sm.lsu.replies", "3"),
];
/// Overrides of [`CONTROL_WORDS_CORE`], with several kernels per SM and a launch latency that a kernel can hide.
pub(crate) const DEPENDENT_LAUNCHES: &[(&str, &str)] = &[
    ("gpu.sm.style", "control-words"),
    ("gpu.sm.order", "gty"),
    ("gpu.sm.warp_states", "true"),
    ("gpu.dispatch.share_sm", "true"),
    ("gpu.dispatch.launch_latency", "300"),
];
/// Overrides for a `vc` crossbar that carries a sector and its header in two flits.
pub(crate) const VC_CROSSBAR: &[(&str, &str)] =
    &[("noc.crossbar", "vc"), ("noc.vc.vcs", "3"), ("noc.vc.buffers", "4"), ("noc.vc.channel_bytes", "20 B")];

/// Overrides for CCWS with a small total score, of which each lost line adds much, and an L1 of eight lines.
pub(crate) const SMALL_CCWS: &[(&str, &str)] = &[
    ("gpu.sm.ccws.enabled", "true"),
    ("gpu.sm.ccws.base_score", "5"),
    ("gpu.sm.ccws.k_throttle", "20"),
    ("gpu.sm.l1.cache.sets", "2"),
    ("gpu.sm.l1.cache.ways", "4"),
    ("gpu.sm.l1.unified.adaptive", "false"),
    ("gpu.sm.order", "gto"),
];

/// Overrides for a texture cache of six lines, which fills up quickly.
pub(crate) const SMALL_TEXTURE_CACHE: &[(&str, &str)] = &[
    ("gpu.sm.texture.present", "true"),
    ("gpu.sm.texture.sets", "2"),
    ("gpu.sm.texture.ways", "3"),
    ("gpu.sm.texture.fragments", "6"),
    ("gpu.sm.texture.requests", "2"),
    ("gpu.sm.texture.reorder", "4"),
    ("gpu.sm.texture.results", "1"),
];

/// Returns two recorded traces, three models, a pair of them and three machines, with and without a controller that acts on events; the
/// machine `tiny` has crossbars of every kind.
pub(crate) fn cases() -> Vec<SimulationCase> {
    let case = |name: &str, machine: &Machine, workload: &Arc<Workload>, policy| SimulationCase {
        name: format!("{name} on {}", machine.name),
        machine: machine.clone(),
        workload: Arc::clone(workload),
        policy,
    };
    let (tiny, fermi, v100) = (machine("tiny", &[]), machine("gtx480", &[]), machine("v100", &[]));
    let alternate = Some(("alternate", "low = 1\nhigh = 3\nctas = 4"));
    let gemm = built_in("gemm_tiled", &[("n", "256"), ("k", "32")]);
    let gather = built_in("gather", &[("cta_count", "48"), ("table", "65536"), ("rounds", "3")]);
    let reduce = built_in("reduce", &[("cta_count", "64")]);
    let commands = [("mem.dram.controller", "standard"), ("gpu.dispatch.launch_latency", "3000")];
    let hbm2 = machine("v100", &commands);
    let random = built_in("gather", &[("cta_count", "160"), ("table", "4194304"), ("rounds", "2")]);
    let mut all = vec![
        case("gemm_tiled", &tiny, &gemm, None),
        case("gather", &fermi, &gather, None),
        case("reduce", &v100, &reduce, None),
        case("reduce", &tiny, &reduce, alternate),
        case("gather over commands and refreshes", &hbm2, &random, None),
        SimulationCase {
            name: "gather through queues per output".into(),
            ..case("gather", &machine("tiny", OUTPUT_QUEUED_CROSSBAR), &gather, None)
        },
        SimulationCase { name: "gather through virtual channels".into(), ..case("gather", &machine("tiny", VC_CROSSBAR), &gather, None) },
        SimulationCase {
            name: "reduce on cores with control words".into(),
            ..case("reduce", &machine("tiny", CONTROL_WORDS_CORE), &reduce, alternate)
        },
        case(
            "products of warp groups and bulk copies",
            &machine("tiny", WARP_GROUP_TILES),
            &program("programs/tensor/wgmma_gemm.toml"),
            None,
        ),
        case("clusters that share copies", &machine("tiny", WARP_GROUP_TILES), &program("programs/tensor/wgmma_gemm_pairs.toml"), None),
        case("attention by warp groups", &machine("tiny", WARP_GROUP_TILES), &program("programs/tensor/wgmma_attention.toml"), None),
        case("many CTAs", &tiny, &built_in("reduce", &[("cta_count", "300")]), Some(("perf_sat", "period = 0.25"))),
        case("gather", &tiny, &gather, Some(("dyncta", "period = 512"))),
        case("phases", &machine("gtx480", &[("gpu.sms", "3"), ("gpu.sm.order", "two-level-phase")]), &reduce, None),
        case("gated", &tiny, &built_in("reduce", &[("cta_count", "400")]), Some(("onac", "waves = 1"))),
        case(
            "lost locality",
            &machine("tiny", SMALL_CCWS),
            &built_in("gather", &[("cta_count", "16"), ("table", "1024"), ("rounds", "3")]),
            None,
        ),
        case(
            "textures",
            &machine("tiny", SMALL_TEXTURE_CACHE),
            &built_in("wa_sched/cvt_k2", &[("cta_count", "32"), ("across", "4")]),
            None,
        ),
        case(
            "programmatic dependent launches",
            &machine("tiny", DEPENDENT_LAUNCHES),
            &program_with("programs/micro/dependent.toml", &[("rounds", "40")]),
            None,
        ),
    ];
    let interleaved = machine("tiny", &[("gpu.dispatch.sharing", "interleaved"), ("gpu.dispatch.max_kernels", "2")]);
    let pair =
        [&gather, &built_in("reduce", &[("cta_count", "200")])].map(|one| MixedApplication { workload: (**one).clone(), priority: 0 });
    let pair = Arc::new(mix(pair.into(), false).unwrap());
    all.push(case("two that bypass the L1", &interleaved, &pair, Some(("kernel_mgmt", "opt = [1, 2]\ndynamic = false"))));
    all.push(case("two by a measured division", &interleaved, &pair, Some(("maestro", "warm = 300\nsample = 400"))));
    if let Some(sass) = shared("sass") {
        all.push(case("vecadd", &v100, &trace(&sass.join("vectoradd-100-pascal")), None));
        all.push(case("pow", &tiny, &trace(&sass.join("pytorch-pow-f32-hdrfix")), alternate));
        all.push(case("bfs", &fermi, &bfs_head(&sass), None));
    }
    all
}

/// Loads a program with its default parameters.
pub(crate) fn program(path: &str) -> Arc<Workload> {
    program_with(path, &[])
}

/// Loads a program with some parameters set.
pub(crate) fn program_with(path: &str, parameters: &[(&str, &str)]) -> Arc<Workload> {
    let parameters: Vec<(String, String)> = parameters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Arc::new(warpshard::program::Program::load(Path::new(path), None, &parameters).unwrap().workload().unwrap())
}

/// Returns the first kernels of the recorded breadth-first search.
fn bfs_head(sass: &Path) -> Arc<Workload> {
    let mut workload = Arc::unwrap_or_clone(trace(&sass.join("bfs-rodinia-3.1-4096")));
    let wanted = 4;
    let mut launches = 0;
    workload.commands.retain(|command| {
        let launch = matches!(command, warpshard::workload::Command::Launch(_));
        launches += usize::from(launch);
        !launch || launches <= wanted
    });
    workload.kernels.truncate(wanted);
    Arc::new(workload)
}
