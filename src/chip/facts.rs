//! What controllers know of a machine and its workload before a run.

use crate::base::SECTOR_BYTES;
use crate::config::Machine;
use crate::config::machine::{Allocation, Crossbar, Sharing};
use crate::control::{Facts, KernelFacts, Peaks, Resources};
use crate::frontend::{Kernel, Workload};
use crate::gpu::occupancy::{CtaNeeds, resident_ctas};

/// The facts of `machine` running `workload`. Of a kernel that does not fit, which a run refuses, an SM is said to hold one CTA.
pub fn facts(machine: &Machine, workload: &Workload) -> Facts {
    let sm = &machine.gpu.sm;
    let needs = |kernel: &Kernel| {
        let CtaNeeds { threads, warps, shared_bytes, registers } = CtaNeeds::of(sm, &kernel.info);
        Resources { threads, warps, shared_bytes, registers, ctas: 1 }
    };
    let kernel = |kernel: &Kernel| KernelFacts {
        name: kernel.info.name.clone(),
        app: kernel.info.app,
        ctas: kernel.info.ctas(),
        warps_per_cta: kernel.info.warps_per_cta(),
        ctas_per_sm: resident_ctas(sm, &kernel.info).unwrap_or(1),
        needs: needs(kernel),
    };
    Facts {
        sms: machine.gpu.sms * machine.gpus(),
        warps_per_sm: machine.gpu.sm.warps,
        schedulers_per_sm: machine.gpu.sm.schedulers,
        sm: Resources {
            threads: sm.max_threads,
            warps: sm.warps,
            shared_bytes: sm.shared_bytes,
            registers: sm.registers,
            ctas: sm.max_ctas,
        },
        ranges: sm.allocation == Allocation::Ranges,
        spatial: machine.gpu.dispatch.sharing == Sharing::Spatial,
        interleaved: machine.gpu.dispatch.sharing == Sharing::Interleaved,
        peaks: peaks(machine),
        kernels: workload.kernels.iter().map(kernel).collect(),
        applications: workload.applications().into_iter().map(|app| app.name).collect(),
        restarted: workload.applications().into_iter().map(|app| !app.again.is_empty()).collect(),
        priorities: workload.applications().into_iter().map(|app| app.priority).collect(),
    }
}

/// What the machine issues and moves at most, per core cycle.
fn peaks(machine: &Machine) -> Peaks {
    let (clocks, mem, sm) = (&machine.clocks, &machine.mem, &machine.gpu.sm);
    let per_core = |clock: crate::base::Frequency| clock.0 as f64 / clocks.core.0 as f64;
    let slices = f64::from(mem.map.partitions * mem.map.slices_per_partition);
    let access_bytes = if mem.llc.sectored { SECTOR_BYTES as f64 } else { f64::from(mem.llc.line_bytes) };
    let noc = match (&machine.noc.mesh, machine.noc.crossbar) {
        // Channels in both directions between the halves of the longer side.
        (Some(mesh), _) => f64::from(2 * mesh.columns.min(mesh.rows) * mesh.channel_bytes),
        (None, Crossbar::Vc) => slices.min(f64::from(machine.gpu.sms)) * f64::from(machine.noc.vc.channel_bytes),
        // A packet per port and cycle, whatever its size.
        (None, _) => slices.min(f64::from(machine.gpu.sms)) * access_bytes,
    };
    let gpus = f64::from(machine.gpus());
    let (burst_bytes, bursts) = mem.dram.burst();
    Peaks {
        issue: f64::from(sm.schedulers * sm.issue_width),
        access_bytes,
        noc_bytes: gpus * noc * per_core(clocks.noc),
        llc_bytes: gpus * slices * f64::from(mem.llc.port_bytes) * per_core(clocks.llc),
        dram_bytes: gpus * f64::from(mem.map.partitions) * burst_bytes as f64 * bursts * per_core(clocks.dram),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_those_of_the_data_sheet() {
        let machine = Machine::load("m2090", &[]).unwrap().machine;
        let peaks = peaks(&machine);
        // Two schedulers; lines of 128 bytes; 12 slices and channels of 32 bytes at the core's clock; 177.6 GB/s at 650 MHz.
        assert_eq!((peaks.issue, peaks.access_bytes, peaks.noc_bytes, peaks.llc_bytes), (2.0, 128.0, 384.0, 384.0));
        assert!((peaks.dram_bytes * 0.65 - 177.6).abs() < 0.1, "{peaks:?}");
        let mesh = Machine::load("hetero", &[]).unwrap().machine;
        assert!(super::peaks(&mesh).noc_bytes > 0.0);
    }
}
