//! What controllers know of a machine and its workload before a run.

use warpshard_base::SECTOR_BYTES;
use warpshard_config::Machine;
use warpshard_config::machine::{Allocation, Crossbar, Sharing, Sm};
use warpshard_control::{Facts, KernelFacts, Peaks, Resources};
use warpshard_gpu::occupancy::{CtaNeeds, occupancy, resident_ctas};
use warpshard_stats::Launch;
use warpshard_workload::{Kernel, Workload};

/// The facts of `machine` running `workload`. Of a kernel that does not fit, which a run refuses, an SM is said to hold one CTA. Where GPUs
/// are of several kinds, what is said of an SM is that of GPU 0's.
pub fn facts(machine: &Machine, workload: &Workload) -> Facts {
    let sm = &machine.gpu.sm;
    let needs = |sm: &Sm, kernel: &Kernel| {
        let CtaNeeds { threads, warps, shared_bytes, registers } = CtaNeeds::of(sm, &kernel.info);
        Resources { threads, warps, shared_bytes, registers, ctas: 1 }
    };
    let kernel = |kernel: &Kernel| {
        let sm = &machine.of_gpu(u32::from(kernel.info.on_gpu().0)).gpu.sm;
        KernelFacts {
            name: kernel.info.name.clone(),
            app: kernel.info.app,
            ctas: kernel.info.ctas(),
            warps_per_cta: kernel.info.warps_per_cta(),
            ctas_per_sm: resident_ctas(sm, &kernel.info).unwrap_or(1),
            needs: needs(sm, kernel),
        }
    };
    Facts {
        sms: machine.each_gpu().map(|gpu| gpu.gpu.sms).sum(),
        warps_per_sm: sm.warps,
        schedulers_per_sm: sm.schedulers,
        sm: resources(sm),
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

/// What each kernel of `workload` is launched with on `machine`, in their order.
pub fn launches(machine: &Machine, workload: &Workload) -> Vec<Launch> {
    let one = |kernel: &Kernel| {
        let info = &kernel.info;
        let sm = &machine.of_gpu(u32::from(info.on_gpu().0)).gpu.sm;
        Launch {
            threads: info.threads_per_cta(),
            registers: info.registers,
            shared_bytes: info.shared_bytes,
            limited_by: occupancy(sm, info).map_or("", |fit| fit.limited_by.name()),
        }
    };
    workload.kernels.iter().map(one).collect()
}

fn resources(sm: &Sm) -> Resources {
    Resources { threads: sm.max_threads, warps: sm.warps, shared_bytes: sm.shared_bytes, registers: sm.registers, ctas: sm.max_ctas }
}

/// Whether what controllers are told of an SM and of the grid scheduler is true of all GPUs.
///
/// # Errors
/// The kind that differs; a message for the user.
pub(super) fn suits_controllers(machine: &Machine) -> Result<(), String> {
    let told = |kind: &Machine| {
        let (sm, dispatch) = (&kind.gpu.sm, &kind.gpu.dispatch);
        (resources(sm), sm.schedulers, sm.issue_width, sm.allocation, dispatch.sharing, kind.clocks.core)
    };
    match machine.each_kind().find(|kind| told(kind) != told(machine)) {
        Some(kind) => Err(format!(
            "the GPUs of kind `{}` have SMs, a sharing or a core clock unlike those of GPU 0, and controllers are told of one kind of SM; give \
             all GPUs the same, which may still differ in the number of SMs and in their memory, or run without controllers",
            kind.name
        )),
        None => Ok(()),
    }
}

/// What the machine issues and moves at most, per core cycle of GPU 0.
fn peaks(machine: &Machine) -> Peaks {
    let (mem, sm) = (&machine.mem, &machine.gpu.sm);
    let per_core = |clock: warpshard_base::Frequency| clock.0 as f64 / machine.clocks.core.0 as f64;
    let access_bytes = if mem.llc.sectored { SECTOR_BYTES as f64 } else { f64::from(mem.llc.line_bytes) };
    let noc = |gpu: &Machine| {
        let slices = f64::from(gpu.mem.map.partitions * gpu.mem.map.slices_per_partition);
        let bytes = match (&gpu.noc.mesh, gpu.noc.crossbar) {
            // Channels in both directions between the halves of the longer side.
            (Some(mesh), _) => f64::from(2 * mesh.columns.min(mesh.rows) * mesh.channel_bytes),
            (None, Crossbar::Vc) => slices.min(f64::from(gpu.gpu.sms)) * f64::from(gpu.noc.vc.channel_bytes),
            // A packet per port and cycle, whatever its size.
            (None, _) => slices.min(f64::from(gpu.gpu.sms)) * access_bytes,
        };
        bytes * per_core(gpu.clocks.noc)
    };
    let llc = |gpu: &Machine| {
        let slices = f64::from(gpu.mem.map.partitions * gpu.mem.map.slices_per_partition);
        slices * f64::from(gpu.mem.llc.port_bytes) * per_core(gpu.clocks.llc)
    };
    let dram = |gpu: &Machine| {
        let (burst_bytes, bursts) = gpu.mem.dram.burst();
        f64::from(gpu.mem.map.partitions) * burst_bytes as f64 * bursts * per_core(gpu.clocks.dram)
    };
    let sum = |of: &dyn Fn(&Machine) -> f64| machine.each_gpu().map(of).sum();
    Peaks {
        issue: f64::from(sm.schedulers * sm.issue_width),
        access_bytes,
        noc_bytes: sum(&noc),
        llc_bytes: sum(&llc),
        dram_bytes: sum(&dram),
    }
}

#[cfg(test)]
mod tests {
    use warpshard_config::machine::Mesh;

    use super::*;

    #[test]
    fn peaks_are_those_of_the_data_sheet() {
        let machine = Machine::load("m2090", &[]).unwrap().machine;
        let peaks = peaks(&machine);
        // Two schedulers; lines of 128 bytes; 12 slices and channels of 32 bytes at the core's clock; 177.6 GB/s at 650 MHz.
        assert_eq!((peaks.issue, peaks.access_bytes, peaks.noc_bytes, peaks.llc_bytes), (2.0, 128.0, 384.0, 384.0));
        assert!((peaks.dram_bytes * 0.65 - 177.6).abs() < 0.1, "{peaks:?}");
        let mut mesh = machine;
        mesh.noc.mesh = Some(Mesh { columns: 6, rows: 5, channel_bytes: 32, ..Mesh::default() });
        // The bisection of the shorter side, both ways, at a clock of the network that is the core's.
        assert_eq!(super::peaks(&mesh).noc_bytes, 320.0);
    }
}
