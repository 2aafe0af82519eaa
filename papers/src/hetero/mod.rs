//! CPU+GPU concurrency: Kayiran et al., "Managing GPU Concurrency in Heterogeneous Architectures", MICRO 2014.

pub mod control;
pub mod study;

use warpshard_configs::{File, embedded};
use warpshard_lab::request::{Study, StudyOption};
use warpshard_policy::registry::{Policy, parsed};

use super::Paper;
use control::{CmBal, CmCpu};

/// The paper's entry in [`PAPERS`](super::PAPERS).
pub const PAPER: Paper = Paper { key: "hetero", title: "CPU+GPU concurrency", files: FILES, policies: POLICIES, studies: STUDIES };

/// Machines and kernel models of the paper.
const FILES: &[&[File]] = &[
    embedded!(Machine, "machines/", ["hetero", "hetero-2", "hetero-6", "hetero-small"]),
    embedded!(Model, "models/", "hetero/", ["bfs", "blk", "bp", "hot", "iix", "mm", "mst", "mum", "path", "pvc", "pvr", "sp", "sssp"]),
];

/// Controllers of the paper.
const POLICIES: &[Policy] = &[
    Policy {
        name: CmBal::NAME,
        help: "a warp limit per SM from the memory side's congestion and the SM's own stalls (hetero, Section 4.2)",
        parameters: CmBal::PARAMETERS,
        build: |table| Ok(Box::new(CmBal::new(parsed(CmBal::NAME, table)?)?)),
    },
    Policy {
        name: CmCpu::NAME,
        help: "one warp limit for all SMs from the memory side's congestion (hetero, Section 4.1)",
        parameters: CmCpu::PARAMETERS,
        build: |table| Ok(Box::new(CmCpu::new(parsed(CmCpu::NAME, table)?)?)),
    },
];

/// Studies of the paper.
const STUDIES: &[Study] = &[
    Study {
        name: "hetero",
        summary: "CM-CPU, CM-BAL, DYNCTA, CCWS and static warp limits with CPU applications, compared with the paper",
        machine: "hetero",
        accepted_options: &[
            StudyOption::Set,
            StudyOption::Length,
            StudyOption::Longest,
            StudyOption::Scale,
            StudyOption::Pairs,
            StudyOption::Configuration,
        ],
        rejection_reason: "its chips and schemes are those of the paper; --set changes values of all chips",
        swept_keys: &["noc.mesh.cpu_vcs", "noc.mesh.cpu_channel_bytes", "mem.map.cpu_partitions", "gpu.sm.ccws.enabled"],
        run: study::concurrency::study,
    },
    Study {
        name: "hetero-directions",
        summary: "interference, warp limits and partitions of the CPU+GPU chip, compared with the paper",
        machine: "hetero",
        accepted_options: &[StudyOption::Machine, StudyOption::Set, StudyOption::Windows, StudyOption::Longest],
        rejection_reason: "it sweeps the static warp limits and partitions of the paper's figures",
        swept_keys: &["noc.mesh.cpu_vcs", "noc.mesh.cpu_channel_bytes", "mem.map.cpu_partitions"],
        run: study::study,
    },
];
