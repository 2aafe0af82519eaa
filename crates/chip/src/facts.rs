//! Facts about a machine and its workload for controllers.

use warpshard_base::SECTOR_BYTES;
use warpshard_config::Machine;
use warpshard_config::machine::{Allocation, Crossbar, Sharing, Sm};
use warpshard_control::{Facts, KernelFacts, Peaks, Resources};
use warpshard_gpu::occupancy::{CtaNeeds, occupancy, resident_ctas};
use warpshard_stats::Launch;
use warpshard_workload::{Kernel, Workload};

/// Returns the facts of `machine` with `workload`. A kernel that does not fit, which a run rejects, is listed with one CTA per SM. In a
/// system with several kinds of GPUs, facts about SMs are those of GPU 0.
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
        peaks: peak_rates(machine),
        kernels: workload.kernels.iter().map(kernel).collect(),
        applications: workload.applications().into_iter().map(|app| app.name).collect(),
        restarted: workload.applications().into_iter().map(|app| !app.again.is_empty()).collect(),
        priorities: workload.applications().into_iter().map(|app| app.priority).collect(),
    }
}

/// Returns the launch parameters of each kernel of `workload` on `machine`, in order.
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

/// Checks that the facts about SMs and grid schedulers hold for all GPUs.
///
/// # Errors
/// The kind of GPU that differs; a message for the user.
pub(super) fn check_uniform_gpus(machine: &Machine) -> Result<(), String> {
    let told = |kind: &Machine| {
        let (sm, dispatch) = (&kind.gpu.sm, &kind.gpu.dispatch);
        (resources(sm), sm.schedulers, sm.issue_width, sm.allocation, dispatch.sharing, kind.clocks.core)
    };
    match machine.each_kind().find(|kind| told(kind) != told(machine)) {
        Some(kind) => Err(format!(
            "the GPUs of kind `{}` have SMs, a sharing or a core clock unlike those of GPU 0, but controllers support one kind of SM only; use \
             equal SMs on all GPUs (their number and the memory may differ), or run without controllers",
            kind.name
        )),
        None => Ok(()),
    }
}

/// Returns the peak rates of the machine per core cycle of GPU 0.
fn peak_rates(machine: &Machine) -> Peaks {
    let (mem, sm) = (&machine.mem, &machine.gpu.sm);
    let per_core = |clock: warpshard_base::Frequency| clock.0 as f64 / machine.clocks.core.0 as f64;
    let access_bytes = if mem.llc.sectored { SECTOR_BYTES as f64 } else { f64::from(mem.llc.line_bytes) };
    let noc = |gpu: &Machine| {
        let slices = f64::from(gpu.mem.map.partitions * gpu.mem.map.slices_per_partition);
        let bytes = match (&gpu.noc.mesh, gpu.noc.crossbar) {
            // Channels in both directions between the two halves of the longer side.
            (Some(mesh), _) => f64::from(2 * mesh.columns.min(mesh.rows) * mesh.channel_bytes),
            (None, Crossbar::Vc) => slices.min(f64::from(gpu.gpu.sms)) * f64::from(gpu.noc.vc.channel_bytes),
            // A crossbar without virtual channels moves one packet per port and cycle, regardless of the packet's size.
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
    fn peak_rates_match_the_data_sheet() {
        let machine = Machine::load("m2090", &[]).unwrap().machine;
        let peaks = peak_rates(&machine);
        // m2090 has two schedulers, lines of 128 bytes, 12 slices with channels of 32 bytes at the core clock, and 177.6 GB/s at 650 MHz.
        assert_eq!((peaks.issue, peaks.access_bytes, peaks.noc_bytes, peaks.llc_bytes), (2.0, 128.0, 384.0, 384.0));
        assert!((peaks.dram_bytes * 0.65 - 177.6).abs() < 0.1, "{peaks:?}");
        let mut mesh = machine;
        mesh.noc.mesh = Some(Mesh { columns: 6, rows: 5, channel_bytes: 32, ..Mesh::default() });
        // The bisection cuts the shorter side, in both directions, at a network clock equal to the core clock.
        assert_eq!(peak_rates(&mesh).noc_bytes, 320.0);
    }
}
