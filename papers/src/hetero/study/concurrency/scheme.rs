//! What is compared: the schemes that limit the GPU's concurrency, and the systems that they are tried on.

use std::fmt;

use serde::Serialize;

use warpshard_lab::error::TaskError;
use warpshard_control::Controller;

use super::super::published::concurrency;
use super::super::setup::Split;

/// How the GPU's concurrency is managed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum Scheme {
    /// All 48 warps, greedy then oldest: the baseline.
    All,
    /// DYNCTA.
    DynCta,
    /// CCWS, which throttles warps in the SM by lost locality.
    Ccws,
    /// CM-CPU.
    CmCpu,
    /// CM-BAL1 to CM-BAL4.
    CmBal(u32),
    /// A fixed limit of warps (SWL).
    Static(u32),
}

impl Scheme {
    /// Its controller.
    ///
    /// # Errors
    /// When the policy refuses its parameters; a message for the user.
    pub(super) fn controllers(self) -> Result<Vec<Box<dyn Controller>>, TaskError> {
        self.policy().map(|text| Ok(crate::catalogue().controller(&text)?)).into_iter().collect()
    }

    /// Its policy with parameters, if it has one.
    fn policy(self) -> Option<String> {
        match self {
            Self::All | Self::Ccws => None,
            Self::DynCta => Some(concurrency().own.policies.dyncta.clone()),
            Self::CmCpu => Some("cm_cpu".into()),
            // Signals of single SMs are not shown, and long runs would store millions of them.
            Self::CmBal(level) => Some(format!("cm_bal:level={level},record=[]")),
            Self::Static(warps) => Some(format!("static_limit:warps={warps}")),
        }
    }

    /// Settings of the machine that it needs.
    pub(super) fn overrides(self) -> Vec<(&'static str, String)> {
        match self {
            Self::Ccws => vec![("gpu.sm.ccws.enabled", "true".to_owned())],
            _ => Vec::new(),
        }
    }

    /// What a result depends on besides the machine.
    pub(super) fn key(self) -> String {
        format!("{self} {:?}", self.policy())
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("48 warps"),
            Self::DynCta => f.write_str("DYNCTA"),
            Self::Ccws => f.write_str("CCWS"),
            Self::CmCpu => f.write_str("CM-CPU"),
            Self::CmBal(level) => write!(f, "CM-BAL{level}"),
            Self::Static(1) => f.write_str("1 warp"),
            Self::Static(warps) => write!(f, "{warps} warps"),
        }
    }
}

/// The fixed limits that Figure 20 compares with; 48 is the baseline.
pub(super) const LIMITS: [u32; 4] = [4, 6, 16, 24];

/// All schemes in the order in which they are shown, the baseline first.
pub(super) fn schemes() -> Vec<Scheme> {
    let bal = (1..=4).map(Scheme::CmBal);
    [Scheme::All, Scheme::DynCta, Scheme::Ccws, Scheme::CmCpu].into_iter().chain(bal).chain(LIMITS.map(Scheme::Static)).collect()
}

/// The schemes that are tried on other systems than the baseline's.
pub(super) const ELSEWHERE: [Scheme; 3] = [Scheme::All, Scheme::CmCpu, Scheme::CmBal(1)];

/// A chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum System {
    /// Table I: 4 GPU cores per tile.
    Base,
    /// 2 GPU cores per tile.
    Two,
    /// 6 GPU cores per tile.
    Six,
    /// The small system of Section 6.4.
    Small,
    /// Networks of their own for GPU and CPU cores: 3 of 4 virtual channels and 24 of 32 bytes for the GPU.
    Partitioned,
}

/// The systems of Section 6.4.
pub(super) const SYSTEMS: [System; 4] = [System::Two, System::Six, System::Small, System::Partitioned];

impl System {
    /// The built-in machine.
    pub(super) fn machine(self) -> &'static str {
        match self {
            Self::Base | Self::Partitioned => "hetero",
            Self::Two => "hetero-2",
            Self::Six => "hetero-6",
            Self::Small => "hetero-small",
        }
    }

    /// Settings of it.
    pub(super) fn overrides(self) -> Vec<(&'static str, String)> {
        match self {
            Self::Partitioned => Split::network(1).overrides().into(),
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Base => "4 GPU cores per tile",
            Self::Two => "2 GPU cores per tile",
            Self::Six => "6 GPU cores per tile",
            Self::Small => "small system",
            Self::Partitioned => "partitioned network",
        })
    }
}
