//! What is known before a run begins and never changes: sizes that controllers compute with.

use warpshard_base::AppId;

use super::Knob;
use crate::KnobError;

/// Amounts of what CTAs occupy on an SM, granularities applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct Resources {
    /// Threads, in whole warps.
    pub threads: u32,
    /// Warp slots.
    pub warps: u32,
    /// Bytes of shared memory.
    pub shared_bytes: u32,
    /// Registers.
    pub registers: u32,
    /// CTA slots.
    pub ctas: u32,
}

impl Resources {
    /// The larger of both amounts of each resource.
    pub fn or_more(&self, other: &Self) -> Self {
        Self {
            threads: self.threads.max(other.threads),
            warps: self.warps.max(other.warps),
            shared_bytes: self.shared_bytes.max(other.shared_bytes),
            registers: self.registers.max(other.registers),
            ctas: self.ctas.max(other.ctas),
        }
    }

    /// How many CTAs that need so much each fit into these amounts after `taken` CTAs that need `other` each; 0 where these do not fit.
    pub fn hold(&self, needs: &Self, other: &Self, taken: u32) -> u32 {
        let each = |of: fn(&Self) -> u32| match (u64::from(of(self)).checked_sub(u64::from(of(other)) * u64::from(taken)), of(needs)) {
            (Some(_), 0) => u32::MAX,
            (Some(left), one) => (left / u64::from(one)) as u32,
            (None, _) => 0,
        };
        let all = [each(|r| r.threads), each(|r| r.warps), each(|r| r.shared_bytes), each(|r| r.registers), each(|r| r.ctas)];
        all.into_iter().min().unwrap_or(0)
    }
}

/// What is known of a kernel launch before it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelFacts {
    /// The kernel's name.
    pub name: String,
    /// The application that launches it.
    pub app: AppId,
    /// CTAs of the launch.
    pub ctas: u32,
    /// Warps of a CTA.
    pub warps_per_cta: u32,
    /// CTAs that an SM holds at once when nothing else is on it, at least 1.
    pub ctas_per_sm: u32,
    /// What one CTA occupies.
    pub needs: Resources,
}

/// What the machine issues and moves at most, per core cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peaks {
    /// Warp instructions that an SM issues.
    pub issue: f64,
    /// Bytes of an access to the LLC.
    pub access_bytes: f64,
    /// Bytes that the reply network moves across its bisection.
    pub noc_bytes: f64,
    /// Bytes that all LLC slices deliver, where they hit.
    pub llc_bytes: f64,
    /// Bytes that all DRAM channels move.
    pub dram_bytes: f64,
}

/// The machine and its workload in a few numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// SMs of the machine.
    pub sms: u32,
    /// Warp slots of an SM.
    pub warps_per_sm: u32,
    /// Warp schedulers of an SM.
    pub schedulers_per_sm: u32,
    /// What CTAs can occupy on an SM.
    pub sm: Resources,
    /// Whether they take it by contiguous ranges.
    pub ranges: bool,
    /// Whether applications own SMs.
    pub spatial: bool,
    /// Whether kernels of several applications are interleaved on every SM.
    pub interleaved: bool,
    /// What it issues and moves at most.
    pub peaks: Peaks,
    /// Kernel launches, by `KernelIndex`; with those that applications launch again.
    pub kernels: Vec<KernelFacts>,
    /// The names of the applications, by `AppId`.
    pub applications: Vec<String>,
    /// Which of them are started again after their end.
    pub restarted: Vec<bool>,
    /// Their priorities.
    pub priorities: Vec<i32>,
}

impl Facts {
    /// Whether decisions on a knob have an effect where several applications share the machine.
    ///
    /// # Errors
    /// When they have none, with what to set.
    pub fn heeds(&self, knob: Knob) -> Result<(), KnobError> {
        let (what, needed) = match knob {
            Knob::Owner if !self.spatial => ("the applications that own SMs", "spatial"),
            Knob::KernelCtas if !self.interleaved => ("maxima of kernels on an SM", "interleaved"),
            _ => return Ok(()),
        };
        Err(format!("it sets {what}, which have no effect on this machine: set gpu.dispatch.sharing = \"{needed}\"").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_resource_says_how_many_fit() {
        let sm = Resources { threads: 1536, warps: 48, shared_bytes: 49_152, registers: 32_768, ctas: 8 };
        let wide = Resources { threads: 512, warps: 16, shared_bytes: 0, registers: 10_240, ctas: 1 };
        let narrow = Resources { threads: 128, warps: 4, shared_bytes: 0, registers: 4096, ctas: 1 };
        assert_eq!((sm.hold(&wide, &narrow, 0), sm.hold(&narrow, &narrow, 0)), (3, 8));
        assert_eq!(sm.hold(&narrow, &wide, 1), 5, "22528 registers are left");
        assert_eq!(sm.hold(&narrow, &wide, 4), 0, "so many do not fit at all");
    }
}
