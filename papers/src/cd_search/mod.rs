//! CD-search: Zhao, Wang and Eeckhout, "Classification-Driven Search for Effective SM Partitioning in Multitasking GPUs", ICS 2018.

pub mod control;
pub mod study;

use warpshard_configs::{File, embedded};
use warpshard_lab::request::{Study, StudyOption};
use warpshard_policy::registry::{Policy, parsed};

use super::Paper;
use control::CdSearch;

/// The registration of this paper: files, policies and studies.
pub const PAPER: Paper = Paper { key: "cd_search", title: "CD-search", files: FILES, policies: POLICIES, studies: STUDIES };

/// The machine models of the paper.
const FILES: &[&[File]] = &[
    embedded!(Machine, "machines/", ["fermi24"]),
];

/// The controllers of the paper.
const POLICIES: &[Policy] = &[
    Policy {
        name: CdSearch::NAME,
        help: "partitions the SMs among applications by classification and search (Zhao et al., ICS 2018)",
        parameters: CdSearch::PARAMETERS,
        build: |table| Ok(Box::new(CdSearch::new(parsed(CdSearch::NAME, table)?)?)),
    },
];

/// The studies of the paper.
const STUDIES: &[Study] = &[
    Study {
        name: "cd-search",
        summary: "applications that share the SMs, evenly and by CD-search, compared with the paper",
        machine: "fermi24",
        accepted_options: &[StudyOption::Set, StudyOption::Length, StudyOption::Pairs, StudyOption::Configuration],
        rejection_reason: "its applications and machine are those of the paper",
        swept_keys: &[],
        run: study::study,
    },
];
