//! What each row of docs/adding.md means, carried out for one example.

use crate::Change::{self, After, CopyOf, New, Replace};

/// The example of a row.
pub(crate) struct Recipe {
    /// The first cell of its row.
    pub(crate) row: &'static str,
    /// What stands for `x`.
    pub(crate) name: &'static str,
    /// What stands for other placeholders of the row.
    pub(crate) names: &'static [(&'static str, &'static str)],
    /// The changes. A file may be changed more than once.
    pub(crate) changes: &'static [(&'static str, Change)],
}

pub(crate) const RECIPES: &[Recipe] = &[
    Recipe {
        row: "warp scheduler",
        name: "fewest",
        names: &[],
        changes: &[
            ("src/gpu/sm/issue/sched/fewest.rs", New(include_str!("fewest.rs"))),
            ("src/gpu/sm/issue/sched/mod.rs", After("//! reduce the set to the warps", "\nmod fewest;")),
            ("src/gpu/sm/issue/sched/mod.rs", After("Oldest => oldest::Oldest,", "    Fewest => fewest::Fewest,")),
            (
                "src/config/choices.rs",
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
                "src/config/choices.rs",
                After("Linear = \"linear\": \"low bits", "        Fold = \"fold\": \"low bits, exclusive or with the next bits up\","),
            ),
            (
                "src/mem/cache/index.rs",
                After("SetIndex::Linear => low,", "        SetIndex::Fold => low ^ (line >> bits) & (u64::from(sets) - 1),"),
            ),
            ("src/config/check/caches.rs", After("SetIndex::Linear => None,", "        SetIndex::Fold => None,")),
        ],
    },
    Recipe {
        row: "crossbar",
        name: "rotating",
        names: &[],
        changes: &[
            ("src/noc/rotating.rs", New(include_str!("rotating.rs"))),
            ("src/noc/mod.rs", After("mod queues;", "mod rotating;")),
            ("src/noc/mod.rs", After("    output_queued::OutputQueued,", "    rotating::Rotating,")),
            (
                "src/config/choices.rs",
                After("OutputQueued = \"output_queued\": ", "        Rotating = \"rotating\": \"inputs take turns at the outputs\","),
            ),
        ],
    },
    Recipe {
        row: "replacement policy of a cache",
        name: "lifo",
        names: &[],
        changes: &[
            ("src/mem/cache/replacement/lifo.rs", New(include_str!("lifo.rs"))),
            ("src/mem/cache/replacement/mod.rs", After("mod fifo;", "mod lifo;")),
            ("src/mem/cache/replacement/mod.rs", After("    Fifo: fifo::Fifo,", "    Lifo: lifo::Lifo,")),
            ("src/config/choices.rs", After("Fifo = \"fifo\": \"the line", "        Lifo = \"lifo\": \"the line that was placed last\",")),
        ],
    },
    Recipe {
        row: "prefetcher of an L1",
        name: "pair",
        names: &[],
        changes: &[
            ("src/mem/cache/prefetch/pair.rs", New(include_str!("pair.rs"))),
            ("src/mem/cache/prefetch/mod.rs", After("mod next_line;", "mod pair;")),
            ("src/mem/cache/prefetch/mod.rs", After("    NextLine: next_line::NextLine,", "    Pair: pair::Pair,")),
            (
                "src/config/choices.rs",
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
                "src/config/choices.rs",
                After("NoAllocate = \"no-allocate\": ", "        Stall = \"stall\": \"waits for a line, then bypasses the cache\","),
            ),
            (
                "src/mem/cache/write.rs",
                After(
                    "        WriteMiss::NoAllocate => ",
                    "        WriteMiss::Stall => OnMiss { needs_line: true, action: Action::Send },",
                ),
            ),
        ],
    },
    Recipe {
        row: "order of DRAM requests",
        name: "bank_fcfs",
        names: &[],
        changes: &[
            ("src/mem/dram/order/bank_fcfs.rs", New(include_str!("bank_fcfs.rs"))),
            ("src/mem/dram/order/mod.rs", Replace("mod fcfs;", "mod bank_fcfs;\nmod fcfs;")),
            (
                "src/mem/dram/order/mod.rs",
                After("DramScheduler::Fcfs => fcfs::ONLY_OLDEST", "        DramScheduler::BankFcfs => bank_fcfs::ONLY_OLDEST,"),
            ),
            (
                "src/mem/dram/order/mod.rs",
                After("DramScheduler::Fcfs => fcfs::serves_hit", "        DramScheduler::BankFcfs => bank_fcfs::serves_hit(hit),"),
            ),
            (
                "src/config/choices.rs",
                After("Fcfs = \"fcfs\": ", "        BankFcfs = \"bank-fcfs\": \"first come, first served in each bank\","),
            ),
        ],
    },
    Recipe {
        row: "page policy of DRAM",
        name: "always",
        names: &[],
        changes: &[
            ("src/mem/dram/control/page/always.rs", New(include_str!("always.rs"))),
            ("src/mem/dram/control/page/mod.rs", After("//! row of its bank is requested", "\nmod always;")),
            (
                "src/mem/dram/control/page/mod.rs",
                After("DramPage::Open => open::closes", "        DramPage::Always => always::closes(row),"),
            ),
            (
                "src/config/choices.rs",
                After("Closed = \"closed\": \"the last queued", "        Always = \"always\": \"every column command closes it\","),
            ),
        ],
    },
    Recipe {
        row: "way to close rows for a refresh of DRAM",
        name: "in_order",
        names: &[],
        changes: &[
            ("src/mem/dram/control/refresh/in_order.rs", New(include_str!("in_order.rs"))),
            ("src/mem/dram/control/refresh/mod.rs", Replace("mod each_bank;", "mod each_bank;\nmod in_order;")),
            (
                "src/mem/dram/control/refresh/mod.rs",
                Replace("    EachBank,\n", "    EachBank,\n    /// Bank by bank, in their order.\n    InOrder,\n"),
            ),
            (
                "src/mem/dram/control/refresh/mod.rs",
                After("RefreshClose::EachBank => each_bank::next", "        RefreshClose::InOrder => in_order::next(rows),"),
            ),
        ],
    },
    Recipe {
        row: "controller (policy)",
        name: "one_cta",
        names: &[("<key>", "common")],
        changes: &[
            ("src/policy/common/one_cta.rs", New(include_str!("one_cta.rs"))),
            ("src/policy/common/mod.rs", After("mod halve_on_kernel_end;", "mod one_cta;")),
            ("src/policy/common/mod.rs", After("pub use halve_on_kernel_end", "pub use one_cta::OneCta;")),
            ("src/policy/registry.rs", After("use super::wa_sched::", "use super::common::OneCta;")),
            (
                "src/policy/registry.rs",
                After(
                    "pub const POLICIES",
                    r#"    Policy {
        name: OneCta::NAME,
        help: "one CTA per SM",
        parameters: OneCta::PARAMETERS,
        build: |table| Ok(Box::new(OneCta::new(parsed(OneCta::NAME, table)?)?)),
    },"#,
                ),
            ),
        ],
    },
    Recipe {
        row: "DRAM standard",
        name: "ddr4_half",
        names: &[],
        changes: &[
            ("src/device/standard/ddr4_half.rs", New(include_str!("ddr4_half.rs"))),
            ("src/device/standard/mod.rs", After("mod ddr4;", "mod ddr4_half;")),
            ("src/device/standard/mod.rs", After("&ddr4::DDR4_2400R,", "    &ddr4_half::DDR4_HALF,")),
        ],
    },
    Recipe {
        row: "counter",
        name: "",
        names: &[("<unit>", "gpu/cta")],
        changes: &[(
            "src/gpu/cta/counters.rs",
            After("kernels_ended:", "        kernels_waiting: \"kernels\", \"Kernels that found no place.\";"),
        )],
    },
    Recipe {
        row: "study",
        name: "half",
        names: &[],
        changes: &[
            ("src/study/half.rs", New(include_str!("half.rs"))),
            ("src/study/mod.rs", After("pub mod dram;", "mod half;")),
            (
                "src/study/mod.rs",
                After(
                    "pub const STUDIES",
                    r#"    Study {
        name: "half",
        summary: "half the SMs, compared with a paper",
        machine: "v100",
        takes: &[Machine, Set],
        otherwise: "it runs one kernel model",
        sweeps: &["gpu.sms"],
        run: half::study,
    },"#,
                ),
            ),
            ("configs/published/half.toml", New(include_str!("half.toml"))),
        ],
    },
    Recipe {
        row: "machine",
        name: "v100-half",
        names: &[],
        changes: &[
            ("configs/machines/v100-half.toml", New("extends = \"v100\"\nsummary = \"half a V100\"\n[gpu]\nsms = 40 # half of 80\n")),
            (
                "src/config/load.rs",
                After("(\"rtx2060\", ", "    (\"v100-half\", include_str!(\"../../configs/machines/v100-half.toml\")),"),
            ),
        ],
    },
    Recipe {
        row: "key of a machine",
        name: "",
        names: &[("<table>", "gpu")],
        changes: &[
            ("src/config/machine.rs", After("pub share_sm: bool,", "    /// Grids that wait.\n    pub waiting: u32,")),
            (
                "src/config/keys/gpu.rs",
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
            ("src/frontend/model/builtin.rs", After("\"vecadd\": ", "    \"vecsub\": \"Difference of two vectors\",")),
        ],
    },
    Recipe {
        row: "CPU profile",
        name: "idle",
        names: &[],
        changes: &[
            ("configs/workloads/cpu/idle.toml", CopyOf("configs/workloads/cpu/mcf.toml", "mcf", "idle")),
            ("src/frontend/cpu/profiles.rs", After("\"hmmer\",", "    \"idle\",")),
        ],
    },
    Recipe {
        row: "CPU mix",
        name: "H3",
        names: &[],
        changes: &[
            ("configs/workloads/cpu/mixes/H3.toml", CopyOf("configs/workloads/cpu/mixes/H1.toml", "\"H1\"", "\"H3\"")),
            ("src/frontend/cpu/mix.rs", After("\"H2\",", "    \"H3\",")),
        ],
    },
    Recipe {
        row: "set of event energies",
        name: "volta-7nm",
        names: &[],
        changes: &[
            ("configs/energy/volta-7nm.toml", CopyOf("configs/energy/volta-12nm.toml", "12", "7")),
            (
                "src/energy/set.rs",
                After("(\"volta-12nm\", ", "    (\"volta-7nm\", include_str!(\"../../configs/energy/volta-7nm.toml\")),"),
            ),
        ],
    },
    Recipe {
        row: "energy event",
        name: "",
        names: &[],
        changes: &[
            (
                "src/energy/event.rs",
                After("Constant(", "        Wait(\"barrier_wait\", Component::FrontEnd): \"A warp waits at a barrier.\","),
            ),
            ("src/energy/event.rs", After("term(\"sm\", \"constant_accesses\"", "    term(\"sm\", \"barrier_waits\", Event::Wait),")),
            ("src/energy/model.rs", After("Event::Constant =>", "            Event::Wait => dynamic(set.instruction.wait_pj),")),
            ("src/energy/set.rs", After("        fetch_pj,", "        /// A wait at a barrier.\n        wait_pj,")),
            ("configs/energy/fermi-40nm.toml", After("fetch_pj", "wait_pj = 1.0 # example")),
            ("configs/energy/volta-12nm.toml", After("fetch_pj", "wait_pj = 0.3 # example")),
        ],
    },
    Recipe {
        row: "knob",
        name: "",
        names: &[("<unit>", "gpu/cta")],
        changes: &[
            (
                "src/control/knob.rs",
                After("CtaLimit(\"cta_limit\")", "        Ahead(\"ahead\"): \"Most CTAs of an SM that are bound ahead.\","),
            ),
            (
                "src/control/decision.rs",
                After(
                    "pub enum Decision",
                    "    /// At most `limit` CTAs are bound to an SM ahead.\n    Ahead {\n        /// The SM.\n        sm: Option<SmId>,\n        /// CTAs.\n        limit: u32,\n    },",
                ),
            ),
            (
                "src/control/decision.rs",
                Replace("Self::Preempt { sm, .. } => *sm", "Self::Preempt { sm, .. } | Self::Ahead { sm, .. } => *sm"),
            ),
            ("src/control/decision.rs", After("Self::Power { state, .. } => *state", "            Self::Ahead { limit, .. } => *limit,")),
            ("src/control/decision.rs", After("Self::Power { .. } => Knob::Power", "            Self::Ahead { .. } => Knob::Ahead,")),
            (
                "src/chip/apply.rs",
                After(
                    "match *decision {",
                    "            Decision::Ahead { limit, .. } => vec![to_grid(GridDecision::Ahead { sm, limit })],",
                ),
            ),
            (
                "src/gpu/cta/mod.rs",
                After(
                    "pub enum GridDecision",
                    "    /// At most `limit` CTAs are bound to `sm` ahead.\n    Ahead {\n        /// The SM.\n        sm: SmId,\n        /// CTAs.\n        limit: u32,\n    },",
                ),
            ),
            (
                "src/gpu/cta/mod.rs",
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
        names: &[("<unit>", "gpu/cta")],
        changes: &[
            ("src/protocol/mod.rs", After("KernelStarted(KernelIndex),", "    /// A CTA started.\n    CtaStarted(SmId),")),
            ("src/gpu/cta/mod.rs", After("self.counters.ctas_started += 1;", "                out.event(now, EventKind::CtaStarted(sm));")),
            ("src/control/trigger.rs", After("pub enum EventSelector", "    /// A CTA started.\n    CtaStarted,")),
            ("src/control/trigger.rs", After("match (self, event) {", "            (Self::CtaStarted, EventKind::CtaStarted(_)) => true,")),
        ],
    },
    Recipe {
        row: "field of CPU traces",
        name: "",
        names: &[],
        changes: &[
            (
                "src/frontend/cpu/trace_line.rs",
                After(
                    "pub(super) read: Addr,",
                    "    /// Whether the read's address needs the data of the read before.\n    pub(super) chained: bool,",
                ),
            ),
            (
                "src/frontend/cpu/trace_line.rs",
                Replace(
                    "    let writeback = fields.next();\n",
                    "    let mut writeback = fields.next();\n    let chained = writeback == Some(b\"+\");\n    if chained {\n        writeback = fields.next();\n    }\n",
                ),
            ),
            (
                "src/frontend/cpu/trace_line.rs",
                Replace("Ok(Line { bubbles, read, writeback })", "Ok(Line { bubbles, read, chained, writeback })"),
            ),
            (
                "src/frontend/cpu/trace.rs",
                Replace(
                    "let Line { bubbles, read, writeback } = self.line();",
                    "let Line { bubbles, read, chained, writeback } = self.line();",
                ),
            ),
            ("src/frontend/cpu/trace.rs", Replace("dependent: self.dependent }", "dependent: self.dependent || chained }")),
            (
                "src/frontend/cpu/trace.rs",
                Replace("read: crate::base::Addr(0), writeback: None", "read: crate::base::Addr(0), chained: false, writeback: None"),
            ),
        ],
    },
    Recipe {
        row: "finding of a study",
        name: "",
        names: &[("<study>", "half")],
        changes: &[
            (
                "configs/published/half.toml",
                Replace(
                    "[[value]]",
                    "[[value]]\nfigure = \"energy\"\nsource = \"Table 2\"\nkind = \"number\"\nvalue = 1.5\nband = \"tenth\"\nof = \"energy\"\n\n[[value]]",
                ),
            ),
            ("src/study/half.rs", Replace("Some(2.0)", "Some(if value.of == \"energy\" { 1.5 } else { 2.0 })")),
        ],
    },
];
