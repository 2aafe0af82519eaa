//! The compared schemes that limit the GPU's concurrency, and the systems on which they run.

use std::fmt;

use serde::Serialize;

use warpshard_lab::error::TaskError;
use warpshard_control::Controller;

use super::super::published::concurrency;
use super::super::setup::Split;

/// A scheme that manages the GPU's concurrency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum ConcurrencyScheme {
    /// The baseline: all 48 warps, scheduled greedy then oldest.
    All,
    /// DYNCTA, which adapts the CTA limit of each SM.
    DynCta,
    /// CCWS, which throttles warps inside the SM by lost locality.
    Ccws,
    /// CM-CPU: one warp limit for all SMs.
    CmCpu,
    /// CM-BAL1 to CM-BAL4: a warp limit per SM.
    CmBal(u32),
    /// A fixed warp limit (SWL).
    Static(u32),
}

impl ConcurrencyScheme {
    /// Creates the controller of the scheme, if it has one.
    ///
    /// # Errors
    /// Fails if the policy rejects its parameters; a message for the user.
    pub(super) fn controllers(self) -> Result<Vec<Box<dyn Controller>>, TaskError> {
        self.policy().map(|text| Ok(crate::catalogue().controller(&text)?)).into_iter().collect()
    }

    /// Returns the policy of the scheme with its parameters, if it has one.
    fn policy(self) -> Option<String> {
        match self {
            Self::All | Self::Ccws => None,
            Self::DynCta => Some(concurrency().own.policies.dyncta.clone()),
            Self::CmCpu => Some("cm_cpu".into()),
            // Signals of single SMs are not reported, and long runs would store millions of values.
            Self::CmBal(level) => Some(format!("cm_bal:level={level},record=[]")),
            Self::Static(warps) => Some(format!("static_limit:warps={warps}")),
        }
    }

    /// Returns the machine settings that the scheme needs.
    pub(super) fn overrides(self) -> Vec<(&'static str, String)> {
        match self {
            Self::Ccws => vec![("gpu.sm.ccws.enabled", "true".to_owned())],
            _ => Vec::new(),
        }
    }

    /// Returns the text that, with the machine, identifies a stored result of the scheme.
    pub(super) fn key(self) -> String {
        format!("{self} {:?}", self.policy())
    }
}

impl fmt::Display for ConcurrencyScheme {
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

/// The fixed warp limits of Figure 20; the limit 48 is the baseline.
pub(super) const FIXED_LIMITS: [u32; 4] = [4, 6, 16, 24];

/// Returns all schemes in the order of the tables, the baseline first.
pub(super) fn all_schemes() -> Vec<ConcurrencyScheme> {
    let bal = (1..=4).map(ConcurrencyScheme::CmBal);
    [ConcurrencyScheme::All, ConcurrencyScheme::DynCta, ConcurrencyScheme::Ccws, ConcurrencyScheme::CmCpu].into_iter().chain(bal).chain(FIXED_LIMITS.map(ConcurrencyScheme::Static)).collect()
}

/// The schemes that are also run on the other systems.
pub(super) const OTHER_SYSTEM_SCHEMES: [ConcurrencyScheme; 3] = [ConcurrencyScheme::All, ConcurrencyScheme::CmCpu, ConcurrencyScheme::CmBal(1)];

/// A simulated chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum System {
    /// The chip of Table I: 4 GPU cores per tile.
    Base,
    /// A chip with 2 GPU cores per tile.
    Two,
    /// A chip with 6 GPU cores per tile.
    Six,
    /// The small system of Section 6.4.
    Small,
    /// Separate networks for GPU and CPU cores: the GPU has 3 of 4 virtual channels and 24 of 32 bytes.
    Partitioned,
}

/// The other systems, of Section 6.4.
pub(super) const OTHER_SYSTEMS: [System; 4] = [System::Two, System::Six, System::Small, System::Partitioned];

impl System {
    /// Returns the name of the built-in machine.
    pub(super) fn machine(self) -> &'static str {
        match self {
            Self::Base | Self::Partitioned => "hetero",
            Self::Two => "hetero-2",
            Self::Six => "hetero-6",
            Self::Small => "hetero-small",
        }
    }

    /// Returns the machine settings that the system changes.
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
