//! What a GPU can do at most: the roofs that a verdict measures a kernel against.

use warpshard_base::SECTOR_BYTES;
use warpshard_config::Machine;
use warpshard_config::machine::{CoreStyle, Dram, Sm};

/// A kind of execution units of all SMs.
#[derive(Clone, Debug, PartialEq)]
pub struct PipeRoof {
    /// Its name.
    pub name: &'static str,
    /// The classes of instructions that it executes: the name of the counter of issued ones, and the core cycles that one of them takes of the
    /// units of an SM together.
    pub classes: Vec<(&'static str, f64)>,
}

/// The roofs of a GPU. Rates are per core cycle, over the GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Roofs {
    /// SMs.
    pub sms: u32,
    /// Warp schedulers of an SM.
    pub schedulers: u32,
    /// Warp slots of an SM.
    pub warps: u32,
    /// Bytes of shared memory of an SM.
    pub shared_bytes: u32,
    /// Registers of an SM.
    pub registers: u32,
    /// Warp instructions that an SM issues.
    pub issue: f64,
    /// Execution units by kind.
    pub pipes: Vec<PipeRoof>,
    /// Accesses to the L1, of an SM.
    pub l1: f64,
    /// Whether an access to the L1 is of one sector.
    pub sectors: bool,
    /// Packets that the network takes and delivers.
    pub network: f64,
    /// LLC slices.
    pub slices: u32,
    /// Sectors that the LLC's slices read in a cycle, if requests are for whole lines. Requests for single sectors reach `1 / mem.llc.read_sectors` of it.
    pub llc: f64,
    /// Extra time of a write, and of a write of a part of a sector beyond that, in reads of a sector.
    pub llc_writes: (f64, f64),
    /// Bytes of DRAM.
    pub dram: f64,
    /// Rows of DRAM that are opened; `None` for channels that follow the commands of a device.
    pub rows: Option<f64>,
    /// Floating-point operations in single precision: a fused multiply-add of every lane.
    pub flops: f64,
    /// Floating-point operations of the matrix units in products of warp groups with 16-bit elements; 0 for GPUs without such products.
    pub product_flops: f64,
}

/// Floating-point operations for each column of a warp group's product: 64 rows x 16 elements of k x (a multiplication and an addition).
const OF_COLUMN: f64 = 64.0 * 16.0 * 2.0;

impl Roofs {
    /// The roofs of one GPU.
    pub fn of(gpu: &Machine) -> Self {
        let (sm, clocks, map) = (&gpu.gpu.sm, &gpu.clocks, &gpu.mem.map);
        let per_core = |khz: u64| khz as f64 / (clocks.core.0.max(1)) as f64;
        let (sms, slices) = (gpu.gpu.sms, map.partitions * map.slices_per_partition);
        let width = gpu.mem.llc.read_sectors;
        let (burst_bytes, bursts_per_clock) = gpu.mem.dram.burst();
        // A port takes a flit per cycle. A packet of a crossbar without virtual channels counts as one, whatever it carries.
        let (channel, header, partners) = match &gpu.noc.mesh {
            Some(mesh) => (mesh.channel_bytes, mesh.header_bytes, map.partitions),
            None => (gpu.noc.vc.channel_bytes, gpu.noc.vc.header_bytes, slices),
        };
        let flits = if channel == 0 { 1 } else { (SECTOR_BYTES as u32 + header).div_ceil(channel) };
        let pipes = pipes(sm);
        let fused = pipes.iter().flat_map(|pipe| &pipe.classes).find(|class| class.0 == "issued_sp").map_or(0.0, |class| 1.0 / class.1);
        Self {
            sms,
            schedulers: sm.schedulers,
            warps: sm.warps,
            shared_bytes: sm.shared_bytes,
            registers: sm.registers,
            issue: f64::from(sm.schedulers * sm.issue_width),
            pipes,
            l1: f64::from(if sm.l1.cache.is_some() { sm.l1.banks.max(1) } else { 1 }),
            sectors: sm.lsu.sector_requests,
            network: f64::from(sms.min(partners)) / f64::from(flits) * per_core(clocks.noc.0),
            slices,
            llc: f64::from(slices * width) * per_core(clocks.llc.0),
            llc_writes: (f64::from(gpu.mem.llc.write_cycles.max(1) * width - 1), f64::from(gpu.mem.llc.merge_cycles * width)),
            dram: f64::from(map.partitions) * burst_bytes as f64 * bursts_per_clock * per_core(clocks.dram.0),
            rows: rows(&gpu.mem.dram).map(|each| f64::from(map.partitions) * each * per_core(clocks.dram.0)),
            flops: f64::from(sms) * fused * 32.0 * 2.0,
            product_flops: match sm.style {
                CoreStyle::ControlWords => f64::from(sms) * f64::from(sm.control.products.columns) * OF_COLUMN,
                CoreStyle::SubCores | CoreStyle::Shared => 0.0,
            },
        }
    }
}

/// Rows that a channel opens in a cycle of its clock: as many as its banks can, or its activations may follow each other.
fn rows(dram: &Dram) -> Option<f64> {
    let timing = &dram.timing;
    let rate = |cycles: u32, of: u32| f64::from(of) / f64::from(cycles.max(1));
    dram.control.is_none().then(|| rate(timing.tRC, dram.banks).min(rate(timing.tRRD, 1)))
}

/// The units of an SM. A class whose own units a machine lacks runs on others, as `gpu.sm.units` describes.
fn pipes(sm: &Sm) -> Vec<PipeRoof> {
    let units = &sm.units;
    let int = if units.int > 0 { ("INT", units.int) } else { ("SP", units.sp) };
    let or = |name, count: u32, other| if count > 0 { (name, count) } else { other };
    let sfu = or("SFU", units.sfu, int);
    let classes = [
        ("issued_sp", or("SP", units.sp, int)),
        ("issued_int", int),
        ("issued_alu", int),
        ("issued_sfu", sfu),
        ("issued_dp", or("DP", units.dp, sfu)),
        ("issued_tensor", or("tensor", units.tensor, int)),
        ("issued_branch", or("branch", units.branch, int)),
        ("issued_texture", or("texture", units.texture, int)),
        ("issued_uniform", or("uniform", units.uniform, int)),
    ];
    // The pipes of a core with control words, in the order of the classes.
    let by_pipe = [0usize, 4, 4, 6, 5, 10, 11, 4, 12];
    let mut pipes: Vec<PipeRoof> = Vec::new();
    for (class, (counter, (name, count))) in classes.into_iter().enumerate() {
        let cycles = match sm.style {
            CoreStyle::ControlWords => f64::from(sm.control.pipes[by_pipe[class]].initiation.max(1)) / f64::from(sm.schedulers.max(1)),
            CoreStyle::SubCores | CoreStyle::Shared => f64::from(sm.timing[class].initiation.max(1)) / f64::from(count.max(1)),
        };
        match pipes.iter_mut().find(|pipe| pipe.name == name) {
            Some(pipe) => pipe.classes.push((counter, cycles)),
            None => pipes.push(PipeRoof { name, classes: vec![(counter, cycles)] }),
        }
    }
    pipes
}
