//! Workload-aware scheduling: Awatramani's thesis on warp and CTA scheduling and on core gating.

pub mod control;
pub mod study;

use warpshard_configs::{File, embedded};
use warpshard_lab::request::{Study, StudyOption};
use warpshard_policy::registry::{Policy, parsed};

use super::Paper;
use control::{CoreGating, Lcs, PerfSat, CoreSearch};

/// The reason why studies of the thesis reject `--machine`, as the end of a sentence.
const MACHINE_REFUSAL: &str = "its machines are those of the published tables; --set changes their values";

/// The paper's entry in [`PAPERS`](super::PAPERS).
pub const PAPER: Paper = Paper { key: "wa_sched", title: "Workload-aware scheduling", files: FILES, policies: POLICIES, studies: STUDIES };

/// Machines and kernel models of the thesis.
const FILES: &[&[File]] = &[
    embedded!(Machine, "machines/", ["m2090-v31", "fermi32", "k20x-l1"]),
    embedded!(Model, "models/", "wa_sched/", ["bp_k1", "bp_k2", "bt_k1", "bt_k2", "cfd", "cvsep", "cvt_k1", "cvt_k2", "dct_k1", "dct_k2", "dwt", "dxtc", "fwt", "gaussian", "heart", "hist", "hotspot", "km", "lud", "mco", "ms", "nn", "pathfinder", "srad", "srad_1", "srad_2", "srad_3", "srad_4", "srad_5", "srad_6", "tp_k1", "tp_k2"]),
];

/// Controllers of the thesis.
const POLICIES: &[Policy] = &[
    Policy {
        name: Lcs::NAME,
        help: "estimates on each SM how many CTAs suffice, from the instructions issued until its first CTA ended (Lee et al., HPCA 2014)",
        parameters: Lcs::PARAMETERS,
        build: |table| Ok(Box::new(Lcs::new(parsed(Lcs::NAME, table)?)?)),
    },
    Policy {
        name: CoreGating::ONAC_NAME,
        help: "estimates how many SMs a kernel needs and power-gates the others (thesis, Section 4.4)",
        parameters: CoreGating::PARAMETERS,
        build: |table| Ok(Box::new(CoreGating::new(CoreSearch::Onac, parsed(CoreGating::ONAC_NAME, table)?)?)),
    },
    Policy {
        name: PerfSat::NAME,
        help: "searches on each SM for the CTA count at which performance saturates (thesis, Section 4.3)",
        parameters: PerfSat::PARAMETERS,
        build: |table| Ok(Box::new(PerfSat::new(parsed(PerfSat::NAME, table)?)?)),
    },
    Policy {
        name: CoreGating::SEQ_DET_NAME,
        help: "removes one SM at a time while a kernel keeps its IPC, and power-gates them (thesis, Section 4.4)",
        parameters: CoreGating::PARAMETERS,
        build: |table| Ok(Box::new(CoreGating::new(CoreSearch::SeqDet, parsed(CoreGating::SEQ_DET_NAME, table)?)?)),
    },
];

/// Studies of the thesis.
const STUDIES: &[Study] = &[
    Study {
        name: "characterise",
        summary: "kernels of the thesis on workload-aware scheduling, compared with its tables",
        machine: "m2090",
        accepted_options: &[StudyOption::Set, StudyOption::Policy, StudyOption::Order, StudyOption::Length, StudyOption::Only],
        rejection_reason: MACHINE_REFUSAL,
        swept_keys: &["gpu.sm.max_ctas", "gpu.sms"],
        run: study::characterise::study,
    },
    Study {
        name: "onac",
        summary: "ONAC and Seq-Det, how many SMs kernels need, compared with Section 4.4 of the thesis",
        machine: "fermi32",
        accepted_options: &[
            StudyOption::Configuration,
            StudyOption::Set,
            StudyOption::Policy,
            StudyOption::Order,
            StudyOption::Length,
            StudyOption::Only,
        ],
        rejection_reason: MACHINE_REFUSAL,
        swept_keys: &["gpu.sms"],
        run: study::onac::study,
    },
    Study {
        name: "perf-sat",
        summary: "Perf-Sat on the kernels of the thesis, compared with its Section 4.3",
        machine: "m2090-v31",
        accepted_options: &[
            StudyOption::Set,
            StudyOption::Policy,
            StudyOption::Order,
            StudyOption::Length,
            StudyOption::Only,
            StudyOption::Configuration,
        ],
        rejection_reason: MACHINE_REFUSAL,
        swept_keys: &["gpu.sm.max_ctas"],
        run: study::perf_sat::study,
    },
    Study {
        name: "phase-aware",
        summary: "warp schedulers on the kernels of the thesis, compared with its Section 3.5",
        machine: "m2090",
        accepted_options: &[
            StudyOption::Set,
            StudyOption::Policy,
            StudyOption::Order,
            StudyOption::Length,
            StudyOption::Only,
            StudyOption::Configuration,
        ],
        rejection_reason: MACHINE_REFUSAL,
        swept_keys: &["gpu.sm.order"],
        run: study::phase_aware::study,
    },
    Study {
        name: "interleave",
        summary: "two kernels on the same SMs, compared with Chapter 5 of the thesis on workload-aware scheduling",
        machine: "m2090",
        accepted_options: &[StudyOption::Set],
        rejection_reason: "it runs the pairs of the published table on its machine",
        swept_keys: &[],
        run: study::interleave::study,
    },
    Study {
        name: "oracle",
        summary: "any workload with every static limit of CTAs per SM, and the best",
        machine: "v100",
        accepted_options: &[StudyOption::Machine, StudyOption::Set, StudyOption::Policy, StudyOption::Order, StudyOption::Workload, StudyOption::Cycles],
        rejection_reason: "it runs one workload of your choice",
        swept_keys: &["gpu.sm.max_ctas"],
        run: study::oracle::study,
    },
];

#[cfg(test)]
mod tests {
    use warpshard_lab::Lab;
    use warpshard_lab::request::Request;

    use super::study::{interleave, onac, phase_aware};

    #[test]
    fn stored_results_are_reproduced() {
        let results = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/wa_sched/results"));
        let sample = |cells: &[&str]| onac::first_sample(cells[0], &Request::default(), &Lab::new(None)).unwrap();
        let pair = |cells: &[&str]| interleave::recompute_row(cells[0]);
        let order = |cells: &[&str]| phase_aware::recompute_row(cells[0], cells[1]);
        warpshard_lab::stored::check_stored(results, &[("onac-quick", sample), ("interleave", pair), ("phase-aware", order)]);
    }
}
