//! Constant facts about a machine and its workload, known before a run: sizes that controllers use.

use warpshard_base::AppId;

use super::Knob;
use crate::KnobError;

/// Amounts of SM resources that CTAs occupy, rounded up to granularities.
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
    /// Returns the larger of both amounts of each resource.
    pub fn elementwise_max(&self, other: &Self) -> Self {
        Self {
            threads: self.threads.max(other.threads),
            warps: self.warps.max(other.warps),
            shared_bytes: self.shared_bytes.max(other.shared_bytes),
            registers: self.registers.max(other.registers),
            ctas: self.ctas.max(other.ctas),
        }
    }

    /// Returns the number of CTAs with the resources `needs` that fit after `taken` CTAs with the resources `other`; 0 if the latter do not
    /// fit.
    pub fn fitting_ctas(&self, needs: &Self, other: &Self, taken: u32) -> u32 {
        let each = |of: fn(&Self) -> u32| match (u64::from(of(self)).checked_sub(u64::from(of(other)) * u64::from(taken)), of(needs)) {
            (Some(_), 0) => u32::MAX,
            (Some(left), one) => (left / u64::from(one)) as u32,
            (None, _) => 0,
        };
        let all = [each(|r| r.threads), each(|r| r.warps), each(|r| r.shared_bytes), each(|r| r.registers), each(|r| r.ctas)];
        all.into_iter().min().unwrap_or(0)
    }
}

/// Facts about a kernel launch, known before it runs.
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
    /// Maximum number of CTAs of the kernel on an otherwise empty SM, at least 1.
    pub ctas_per_sm: u32,
    /// The resources of one CTA.
    pub needs: Resources,
}

/// Peak rates of the machine per core cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peaks {
    /// Warp instructions that an SM issues per core cycle.
    pub issue: f64,
    /// Bytes of an access to the LLC.
    pub access_bytes: f64,
    /// Bytes per core cycle across the bisection of the reply network.
    pub noc_bytes: f64,
    /// Bytes per core cycle that all LLC slices deliver on hits.
    pub llc_bytes: f64,
    /// Bytes per core cycle that all DRAM channels transfer.
    pub dram_bytes: f64,
}

/// Facts about the machine and its workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Number of SMs.
    pub sms: u32,
    /// Warp slots of an SM.
    pub warps_per_sm: u32,
    /// Warp schedulers of an SM.
    pub schedulers_per_sm: u32,
    /// The resources of an SM that CTAs can occupy.
    pub sm: Resources,
    /// `true` if CTAs occupy resources as contiguous ranges.
    pub ranges: bool,
    /// `true` if applications own SMs (spatial sharing).
    pub spatial: bool,
    /// `true` if kernels of several applications are interleaved on every SM.
    pub interleaved: bool,
    /// Peak rates of the machine.
    pub peaks: Peaks,
    /// Kernel launches by `KernelIndex`, including repeated launches of applications.
    pub kernels: Vec<KernelFacts>,
    /// The names of the applications, by `AppId`.
    pub applications: Vec<String>,
    /// For each application, `true` if it is restarted after its end.
    pub restarted: Vec<bool>,
    /// The priorities of the applications.
    pub priorities: Vec<i32>,
}

impl Facts {
    /// Checks that decisions on a knob have an effect if several applications share the machine.
    ///
    /// # Errors
    /// The knob has no effect; the message names the setting that it needs.
    pub fn check_effect(&self, knob: Knob) -> Result<(), KnobError> {
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
    fn the_scarcest_resource_limits_the_ctas() {
        let sm = Resources { threads: 1536, warps: 48, shared_bytes: 49_152, registers: 32_768, ctas: 8 };
        let wide = Resources { threads: 512, warps: 16, shared_bytes: 0, registers: 10_240, ctas: 1 };
        let narrow = Resources { threads: 128, warps: 4, shared_bytes: 0, registers: 4096, ctas: 1 };
        assert_eq!((sm.fitting_ctas(&wide, &narrow, 0), sm.fitting_ctas(&narrow, &narrow, 0)), (3, 8));
        assert_eq!(sm.fitting_ctas(&narrow, &wide, 1), 5, "22528 registers are left");
        assert_eq!(sm.fitting_ctas(&narrow, &wide, 4), 0, "so many do not fit at all");
    }
}
