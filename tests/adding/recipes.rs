//! Recipes for the rows of docs/adding.md, one example each.

use crate::Change::{self, After, CopyOf, New, Replace};

/// An example for a row.
pub(crate) struct Recipe {
    /// First cell of the row.
    pub(crate) row: &'static str,
    /// Replacement of the placeholder `x`.
    pub(crate) name: &'static str,
    /// Replacements of the row's other placeholders.
    pub(crate) names: &'static [(&'static str, &'static str)],
    /// Changes by file. A file may be changed more than once.
    pub(crate) changes: &'static [(&'static str, Change)],
}

/// Inserted row of a list of policies.
const POLICY: &str = r#"    Policy {
        name: OneCta::NAME,
        help: "one CTA per SM",
        parameters: OneCta::PARAMETERS,
        build: |table| Ok(Box::new(OneCta::new(parsed(OneCta::NAME, table)?)?)),
    },"#;

/// Inserted row of a list of studies.
const STUDY: &str = r#"    Study {
        name: "half",
        summary: "half the SMs, compared with a paper",
        machine: "v100",
        accepted_options: &[StudyOption::Machine, StudyOption::Set],
        rejection_reason: "it runs one kernel model",
        swept_keys: &["gpu.sms"],
        run: half::study,
    },"#;

/// A paper with a machine, a controller and a study.
pub(crate) const TOY: &[(&str, Change)] = &[
    ("papers/src/toy/mod.rs", New(include_str!("toy/mod.rs"))),
    ("papers/src/toy/machines/toy.toml", New(include_str!("toy/toy-machine.toml"))),
    ("papers/src/toy/published/toy.toml", New(include_str!("toy/toy-published.toml"))),
    ("papers/src/toy/toy.md", New("# A toy\n\nOne CTA per SM on a machine of two SMs.\n")),
    ("papers/src/lib.rs", After("    kernel_mgmt,", "    toy,")),
];

pub(crate) const RECIPES: &[Recipe] = &[
    Recipe {
        row: "warp scheduler",
        name: "fewest",
        names: &[],
        changes: &[
            ("crates/gpu/src/sm/issue/sched/fewest.rs", New(include_str!("fewest.rs"))),
            ("crates/gpu/src/sm/issue/sched/mod.rs", Replace("mod gto;", "mod fewest;\nmod gto;")),
            ("crates/gpu/src/sm/issue/sched/mod.rs", After("Oldest => oldest::Oldest,", "    Fewest => fewest::Fewest,")),
            (
                "crates/config/src/choices.rs",
                After("Oldest = \"oldest\"", "        Fewest = \"fewest\": \"the slot with the fewest issues first\","),
            ),
        ],
    },
    Recipe {
        row: "set index of a cache",
        name: "",
        names: &[],
        changes: &[
            (
                "crates/config/src/choices.rs",
                After("Linear = \"linear\": \"low bits", "        Fold = \"fold\": \"low bits, exclusive or with the next bits up\","),
            ),
            (
                "crates/mem/src/cache/index.rs",
                After("SetIndex::Linear => low,", "        SetIndex::Fold => low ^ (line >> bits) & (u64::from(sets) - 1),"),
            ),
            ("crates/config/src/check/caches.rs", After("SetIndex::Linear => None,", "        SetIndex::Fold => None,")),
        ],
    },
    Recipe {
        row: "crossbar",
        name: "rotating",
        names: &[],
        changes: &[
            ("crates/noc/src/rotating.rs", New(include_str!("rotating.rs"))),
            ("crates/noc/src/lib.rs", After("mod queues;", "mod rotating;")),
            ("crates/noc/src/lib.rs", After("    output_queued::OutputQueued,", "    rotating::Rotating,")),
            (
                "crates/config/src/choices.rs",
                After("OutputQueued = \"output_queued\": ", "        Rotating = \"rotating\": \"inputs take turns at the outputs\","),
            ),
        ],
    },
    Recipe {
        row: "replacement policy of a cache",
        name: "lifo",
        names: &[],
        changes: &[
            ("crates/mem/src/cache/replacement/lifo.rs", New(include_str!("lifo.rs"))),
            ("crates/mem/src/cache/replacement/mod.rs", After("mod fifo;", "mod lifo;")),
            ("crates/mem/src/cache/replacement/mod.rs", After("    Fifo: fifo::Fifo,", "    Lifo: lifo::Lifo,")),
            (
                "crates/config/src/choices.rs",
                After("Fifo = \"fifo\": \"first in", "        Lifo = \"lifo\": \"the line that was placed last\","),
            ),
        ],
    },
    Recipe {
        row: "prefetcher of an L1",
        name: "pair",
        names: &[],
        changes: &[
            ("crates/mem/src/cache/prefetch/pair.rs", New(include_str!("pair.rs"))),
            ("crates/mem/src/cache/prefetch/mod.rs", After("mod next_line;", "mod pair;")),
            ("crates/mem/src/cache/prefetch/mod.rs", After("    NextLine: next_line::NextLine,", "    Pair: pair::Pair,")),
            (
                "crates/config/src/choices.rs",
                After("NextLine = \"next-line\": ", "        Pair = \"pair\": \"the other line of an aligned pair\","),
            ),
        ],
    },
    Recipe {
        row: "write policy of a cache",
        name: "",
        names: &[],
        changes: &[
            (
                "crates/config/src/choices.rs",
                After("NoAllocate = \"no-allocate\": ", "        Stall = \"stall\": \"waits for a line, then bypasses the cache\","),
            ),
            (
                "crates/mem/src/cache/write.rs",
                After(
                    "        WriteMiss::NoAllocate => ",
                    "        WriteMiss::Stall => MissEffect { needs_line: true, action: MissAction::Send },",
                ),
            ),
        ],
    },
    Recipe {
        row: "order of DRAM requests",
        name: "bank_fcfs",
        names: &[],
        changes: &[
            ("crates/mem/src/dram/order/bank_fcfs.rs", New(include_str!("bank_fcfs.rs"))),
            ("crates/mem/src/dram/order/mod.rs", Replace("mod fcfs;", "mod bank_fcfs;\nmod fcfs;")),
            (
                "crates/mem/src/dram/order/mod.rs",
                After("DramScheduler::Fcfs => fcfs::ONLY_OLDEST", "        DramScheduler::BankFcfs => bank_fcfs::ONLY_OLDEST,"),
            ),
            (
                "crates/mem/src/dram/order/mod.rs",
                After("DramScheduler::Fcfs => fcfs::serves_hit", "        DramScheduler::BankFcfs => bank_fcfs::serves_hit(hit),"),
            ),
            (
                "crates/config/src/choices.rs",
                After("Fcfs = \"fcfs\": ", "        BankFcfs = \"bank-fcfs\": \"first come, first served in each bank\","),
            ),
        ],
    },
    Recipe {
        row: "page policy of DRAM",
        name: "always",
        names: &[],
        changes: &[
            ("crates/mem/src/dram/control/page/always.rs", New(include_str!("always.rs"))),
            ("crates/mem/src/dram/control/page/mod.rs", Replace("mod closed;", "mod always;\nmod closed;")),
            (
                "crates/mem/src/dram/control/page/mod.rs",
                After("DramPage::Open => open::closes", "        DramPage::Always => always::closes(row),"),
            ),
            (
                "crates/config/src/choices.rs",
                After("Closed = \"closed\": \"the last queued", "        Always = \"always\": \"every column command closes it\","),
            ),
        ],
    },
    Recipe {
        row: "way to close rows for a refresh of DRAM",
        name: "in_order",
        names: &[],
        changes: &[
            ("crates/mem/src/dram/control/refresh/in_order.rs", New(include_str!("in_order.rs"))),
            ("crates/mem/src/dram/control/refresh/mod.rs", Replace("mod each_bank;", "mod each_bank;\nmod in_order;")),
            (
                "crates/mem/src/dram/control/refresh/mod.rs",
                Replace("    EachBank,\n", "    EachBank,\n    /// Bank by bank, in their order.\n    InOrder,\n"),
            ),
            (
                "crates/mem/src/dram/control/refresh/mod.rs",
                After("RefreshClose::EachBank => each_bank::next", "        RefreshClose::InOrder => in_order::next(rows),"),
            ),
        ],
    },
    Recipe { row: "paper", name: "toy", names: &[("<key>", "toy"), ("<machine>", "toy"), ("<study>", "toy")], changes: TOY },
    Recipe {
        row: "controller (policy)",
        name: "one_cta",
        names: &[],
        changes: &[
            ("crates/policy/src/common/one_cta.rs", New(include_str!("one_cta.rs"))),
            ("crates/policy/src/common/mod.rs", After("mod halve_on_kernel_end;", "mod one_cta;")),
            ("crates/policy/src/common/mod.rs", After("pub use halve_on_kernel_end", "pub use one_cta::OneCta;")),
            ("crates/policy/src/registry.rs", After("use warpshard_control::Controller;", "use super::common::OneCta;")),
            ("crates/policy/src/registry.rs", After("const COMMON_POLICIES", POLICY)),
        ],
    },
    Recipe {
        row: "controller of a paper",
        name: "one_cta",
        names: &[("<key>", "hetero")],
        changes: &[
            (
                "papers/src/hetero/control/one_cta.rs",
                CopyOf("crates/policy/src/common/one_cta.rs", "crate::registry", "warpshard_policy::registry"),
            ),
            ("papers/src/hetero/control/mod.rs", After("mod level;", "pub mod one_cta;")),
            ("papers/src/hetero/mod.rs", After("use control::{CmBal, CmCpu};", "use control::one_cta::OneCta;")),
            ("papers/src/hetero/mod.rs", After("const POLICIES", POLICY)),
        ],
    },
    Recipe {
        row: "DRAM standard",
        name: "ddr4_half",
        names: &[],
        changes: &[
            ("crates/device/src/standard/ddr4_half.rs", New(include_str!("ddr4_half.rs"))),
            ("crates/device/src/standard/mod.rs", After("mod ddr4;", "mod ddr4_half;")),
            ("crates/device/src/standard/mod.rs", After("&ddr4::DDR4_2400R,", "    &ddr4_half::DDR4_HALF,")),
        ],
    },
    Recipe {
        row: "counter",
        name: "",
        names: &[("<unit>", "crates/gpu/src/cta")],
        changes: &[(
            "crates/gpu/src/cta/counters.rs",
            After("kernels_ended:", "        kernels_waiting: \"kernels\", \"Kernels that found no place.\";"),
        )],
    },
    Recipe {
        row: "study of a paper",
        name: "half",
        names: &[("<key>", "hetero")],
        changes: &[
            ("papers/src/hetero/study/half.rs", New(include_str!("half.rs"))),
            ("papers/src/hetero/study/mod.rs", After("pub mod concurrency;", "pub mod half;")),
            ("papers/src/hetero/mod.rs", After("const STUDIES", STUDY)),
            ("papers/src/hetero/mod.rs", Replace("run: half::study", "run: study::half::study")),
            ("papers/src/hetero/published/half.toml", New(include_str!("half.toml"))),
        ],
    },
    Recipe {
        row: "comparison with a simulator or with hardware",
        name: "half",
        names: &[],
        changes: &[
            ("validate/src/half.rs", New(include_str!("half.rs"))),
            ("validate/src/lib.rs", After("pub mod dram;", "mod half;")),
            ("validate/src/lib.rs", After("pub const STUDIES", STUDY)),
            ("validate/published/half.toml", New(include_str!("half.toml"))),
        ],
    },
    Recipe {
        row: "machine",
        name: "v100-half",
        names: &[],
        changes: &[
            ("configs/machines/v100-half.toml", New("extends = \"v100\"\nsummary = \"half a V100\"\n[gpu]\nsms = 40 # half of 80\n")),
            ("configs/src/lib.rs", After("\"rtx2060\",", "            \"v100-half\",")),
        ],
    },
    Recipe {
        row: "machine of a paper",
        name: "hetero-half",
        names: &[("<key>", "hetero")],
        changes: &[
            (
                "papers/src/hetero/machines/hetero-half.toml",
                New("extends = \"hetero\"\nsummary = \"half the SMs\"\n[gpu]\nsms = 14 # half of 28\n"),
            ),
            ("papers/src/hetero/mod.rs", Replace("\"hetero-small\"", "\"hetero-small\", \"hetero-half\"")),
        ],
    },
    Recipe {
        row: "key of a machine",
        name: "",
        names: &[("<table>", "gpu")],
        changes: &[
            ("crates/config/src/machine.rs", After("pub share_sm: bool,", "    /// Grids that wait.\n    pub waiting: u32,")),
            (
                "crates/config/src/keys/gpu.rs",
                After(
                    "pub(super) const KEYS",
                    "    key!(\"gpu.dispatch.waiting\", Kind::Count(0, 64), \"Grids that wait.\", |m| m.gpu.dispatch.waiting).default(\"8\"),",
                ),
            ),
        ],
    },
    Recipe {
        row: "kernel model",
        name: "vecsub",
        names: &[],
        changes: &[
            ("configs/workloads/vecsub.toml", CopyOf("configs/workloads/vecadd.toml", "name = \"vecadd\"", "name = \"vecsub\"")),
            ("configs/src/lib.rs", Replace("\"vecadd\"]", "\"vecadd\", \"vecsub\"]")),
        ],
    },
    Recipe {
        row: "kernel model of a paper",
        name: "vecsub",
        names: &[("<key>", "hetero")],
        changes: &[
            ("papers/src/hetero/models/vecsub.toml", CopyOf("configs/workloads/vecadd.toml", "name = \"vecadd\"", "name = \"vecsub\"")),
            ("papers/src/hetero/mod.rs", Replace("\"sssp\"", "\"sssp\", \"vecsub\"")),
        ],
    },
    Recipe {
        row: "CPU profile",
        name: "idle",
        names: &[],
        changes: &[
            ("configs/workloads/cpu/idle.toml", CopyOf("configs/workloads/cpu/mcf.toml", "mcf", "idle")),
            ("configs/src/lib.rs", After("\"hmmer\",", "            \"idle\",")),
        ],
    },
    Recipe {
        row: "CPU mix",
        name: "H3",
        names: &[],
        changes: &[
            ("configs/workloads/cpu/mixes/H3.toml", CopyOf("configs/workloads/cpu/mixes/H1.toml", "\"H1\"", "\"H3\"")),
            ("configs/src/lib.rs", Replace("\"H2\"]", "\"H2\", \"H3\"]")),
        ],
    },
    Recipe {
        row: "set of event energies",
        name: "volta-7nm",
        names: &[],
        changes: &[
            ("configs/energy/volta-7nm.toml", CopyOf("configs/energy/volta-12nm.toml", "12", "7")),
            ("configs/src/lib.rs", Replace("\"volta-12nm\"]", "\"volta-12nm\", \"volta-7nm\"]")),
        ],
    },
    Recipe {
        row: "energy event",
        name: "",
        names: &[],
        changes: &[
            (
                "crates/energy/src/event.rs",
                After("Constant(", "        Wait(\"barrier_wait\", Component::FrontEnd): \"A warp waits at a barrier.\","),
            ),
            (
                "crates/energy/src/event.rs",
                After("term(\"sm\", \"constant_accesses\"", "    term(\"sm\", \"barrier_waits\", Event::Wait),"),
            ),
            ("crates/energy/src/model.rs", After("Event::Constant =>", "            Event::Wait => dynamic(set.instruction.wait_pj),")),
            ("crates/energy/src/set.rs", After("        fetch_pj,", "        /// A wait at a barrier.\n        wait_pj,")),
            ("configs/energy/fermi-40nm.toml", After("fetch_pj", "wait_pj = 1.0 # example")),
            ("configs/energy/volta-12nm.toml", After("fetch_pj", "wait_pj = 0.3 # example")),
        ],
    },
    Recipe {
        row: "knob",
        name: "",
        names: &[("<unit>", "crates/gpu/src/cta")],
        changes: &[
            (
                "crates/control/src/knob.rs",
                After("CtaLimit(\"cta_limit\")", "        Ahead(\"ahead\"): \"Most CTAs of an SM that are bound ahead.\","),
            ),
            (
                "crates/control/src/decision.rs",
                After(
                    "pub enum Decision",
                    "    /// At most `limit` CTAs are bound to an SM ahead.\n    Ahead {\n        /// The SM.\n        sm: Option<SmId>,\n        /// CTAs.\n        limit: u32,\n    },",
                ),
            ),
            (
                "crates/control/src/decision.rs",
                Replace("Self::Preempt { sm, .. } => *sm", "Self::Preempt { sm, .. } | Self::Ahead { sm, .. } => *sm"),
            ),
            (
                "crates/control/src/decision.rs",
                After("Self::Power { state, .. } => *state", "            Self::Ahead { limit, .. } => *limit,"),
            ),
            (
                "crates/control/src/decision.rs",
                After("Self::Power { .. } => Knob::Power", "            Self::Ahead { .. } => Knob::Ahead,"),
            ),
            (
                "crates/chip/src/apply.rs",
                After(
                    "match *decision {",
                    "            Decision::Ahead { limit, .. } => vec![to_grid(GridDecision::Ahead { sm, limit })],",
                ),
            ),
            (
                "crates/gpu/src/cta/mod.rs",
                After(
                    "pub enum GridDecision",
                    "    /// At most `limit` CTAs are bound to `sm` ahead.\n    Ahead {\n        /// The SM.\n        sm: SmId,\n        /// CTAs.\n        limit: u32,\n    },",
                ),
            ),
            (
                "crates/gpu/src/cta/mod.rs",
                After(
                    "GridDecision::Release => (self",
                    "            GridDecision::Ahead { sm, limit } => self.dispatch.set_limit(sm, limit, &self.streams, at),",
                ),
            ),
        ],
    },
    Recipe {
        row: "event",
        name: "",
        names: &[("<unit>", "crates/gpu/src/cta")],
        changes: &[
            ("crates/protocol/src/lib.rs", After("KernelStarted(KernelIndex),", "    /// A CTA started.\n    CtaStarted(SmId),")),
            (
                "crates/gpu/src/cta/mod.rs",
                After("self.counters.ctas_started += 1;", "                out.event(now, EventKind::CtaStarted(sm));"),
            ),
            ("crates/control/src/trigger.rs", After("pub enum EventSelector", "    /// A CTA started.\n    CtaStarted,")),
            (
                "crates/control/src/trigger.rs",
                After("match (self, event) {", "            (Self::CtaStarted, EventKind::CtaStarted(_)) => true,"),
            ),
        ],
    },
    Recipe {
        row: "field of CPU traces",
        name: "",
        names: &[],
        changes: &[
            (
                "crates/cpu-load/src/trace_line.rs",
                After(
                    "pub(super) read: Addr,",
                    "    /// Whether the read's address needs the data of the read before.\n    pub(super) chained: bool,",
                ),
            ),
            (
                "crates/cpu-load/src/trace_line.rs",
                Replace(
                    "    let writeback = fields.next();\n",
                    "    let mut writeback = fields.next();\n    let chained = writeback == Some(b\"+\");\n    if chained {\n        writeback = fields.next();\n    }\n",
                ),
            ),
            (
                "crates/cpu-load/src/trace_line.rs",
                Replace("Ok(TraceLine { bubbles, read, writeback })", "Ok(TraceLine { bubbles, read, chained, writeback })"),
            ),
            (
                "crates/cpu-load/src/trace.rs",
                Replace(
                    "let TraceLine { bubbles, read, writeback } = self.next_line();",
                    "let TraceLine { bubbles, read, chained, writeback } = self.next_line();",
                ),
            ),
            ("crates/cpu-load/src/trace.rs", Replace("dependent: self.dependent }", "dependent: self.dependent || chained }")),
            (
                "crates/cpu-load/src/trace.rs",
                Replace("read: warpshard_base::Addr(0), writeback: None", "read: warpshard_base::Addr(0), chained: false, writeback: None"),
            ),
        ],
    },
    Recipe {
        row: "finding of a study",
        name: "",
        names: &[("<key>", "hetero"), ("<study>", "half"), ("<file>", "half")],
        changes: &[
            (
                "papers/src/hetero/published/half.toml",
                Replace(
                    "[[value]]",
                    "[[value]]\nfigure = \"energy\"\nsource = \"Table 2\"\nkind = \"number\"\nvalue = 1.5\nband = \"tenth\"\nof = \"energy\"\n\n[[value]]",
                ),
            ),
            ("papers/src/hetero/study/half.rs", Replace("Some(2.0)", "Some(if value.of == \"energy\" { 1.5 } else { 2.0 })")),
        ],
    },
];
