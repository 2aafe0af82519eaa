//! Kernel management: Liang and Li, "Efficient Kernel Management on GPUs", ACM TECS 16(4), 2017.

pub mod control;
pub mod study;

use warpshard_configs::{File, embedded};
use warpshard_lab::request::{Study, StudyOption};
use warpshard_policy::registry::{Policy, parsed};

use super::Paper;
use control::KernelMgmt;

/// The registration of this paper: files, policies and studies.
pub const PAPER: Paper = Paper { key: "kernel_mgmt", title: "Kernel management", files: FILES, policies: POLICIES, studies: STUDIES };

/// The machine models of the paper.
const FILES: &[&[File]] = &[
    embedded!(Machine, "machines/", ["fermi15"]),
];

/// The controllers of the paper.
const POLICIES: &[Policy] = &[
    Policy {
        name: KernelMgmt::NAME,
        help: "sets the CTAs per SM of concurrent kernels, and the CTAs that bypass the L1 (Liang and Li, TECS 2017)",
        parameters: KernelMgmt::PARAMETERS,
        build: |table| Ok(Box::new(KernelMgmt::new(parsed(KernelMgmt::NAME, table)?)?)),
    },
];

/// The studies of the paper.
const STUDIES: &[Study] = &[
    Study {
        name: "kernel-mgmt",
        summary: "kernels that share every SM under kernel management, compared with the paper",
        machine: "fermi15",
        accepted_options: &[StudyOption::Set, StudyOption::Length, StudyOption::Pairs, StudyOption::Configuration],
        rejection_reason: "its kernels and machine are those of the paper",
        swept_keys: &["gpu.dispatch.sharing"],
        run: study::study,
    },
];
