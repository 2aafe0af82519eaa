//! Dual kernel: Shieh, "Enabling Fast Preemption via Dual-Kernel Support on GPUs", 2016.

pub mod control;
pub mod study;

use warpshard_configs::{File, embedded};
use warpshard_lab::request::{Study, StudyOption};
use warpshard_policy::registry::{Policy, parsed};

use super::Paper;
use control::{CtaTimes, DualKernel};

/// The registration of this paper: files, policies and studies.
pub const PAPER: Paper = Paper { key: "dual_kernel", title: "Dual kernel", files: FILES, policies: POLICIES, studies: STUDIES };

/// The machine models of the paper.
const FILES: &[&[File]] = &[
    embedded!(Machine, "machines/", ["fermi15-preempt"]),
];

/// The controllers of the paper.
const POLICIES: &[Policy] = &[
    Policy {
        name: CtaTimes::NAME,
        help: "records in the timeline the cycles and instructions of every CTA that ends",
        parameters: &[],
        build: |table| Ok(Box::new(CtaTimes::new(parsed(CtaTimes::NAME, table)?))),
    },
    Policy {
        name: DualKernel::NAME,
        help: "preempts CTAs for an arriving kernel of higher priority, each by draining, switching or flushing (Shieh, 2016)",
        parameters: DualKernel::PARAMETERS,
        build: |table| Ok(Box::new(DualKernel::new(parsed(DualKernel::NAME, table)?)?)),
    },
];

/// The studies of the paper.
const STUDIES: &[Study] = &[
    Study {
        name: "dual-kernel",
        summary: "preemption of single CTAs by an arriving task, and Chimera, compared with the thesis",
        machine: "fermi15-preempt",
        accepted_options: &[StudyOption::Set, StudyOption::Length, StudyOption::Pairs, StudyOption::Configuration],
        rejection_reason: "its benchmarks, schemes and machine are those of the thesis",
        swept_keys: &["gpu.dispatch.sharing", "gpu.dispatch.share_sm", "gpu.dispatch.switch"],
        run: study::study,
    },
];
