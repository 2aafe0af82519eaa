//! Peak rates and capacities of a GPU, with which a verdict compares a kernel.

use warpshard_base::SECTOR_BYTES;
use warpshard_config::Machine;
use warpshard_config::machine::{CoreStyle, Dram, Sm};

/// A kind of execution units, over all SMs.
#[derive(Clone, Debug, PartialEq)]
pub struct PipeRoof {
    /// Name of the execution units.
    pub name: &'static str,
    /// Instruction classes of these units: the name of the counter of issued instructions, and the core cycles for which an instruction
    /// occupies all units of an SM together.
    pub classes: Vec<(&'static str, f64)>,
}

/// Peak rates and capacities of a GPU. Rates are per core cycle and for the whole GPU unless stated otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Roofs {
    /// Number of SMs.
    pub sms: u32,
    /// Warp schedulers per SM.
    pub schedulers: u32,
    /// Warp slots per SM.
    pub warps: u32,
    /// Bytes of shared memory per SM.
    pub shared_bytes: u32,
    /// Registers per SM.
    pub registers: u32,
    /// Peak issue rate of an SM, in warp instructions.
    pub issue: f64,
    /// Execution units by kind.
    pub pipes: Vec<PipeRoof>,
    /// Peak L1 accesses of an SM.
    pub l1: f64,
    /// True if an access to the L1 covers one sector.
    pub sectors: bool,
    /// Peak packets that the network accepts and delivers.
    pub network: f64,
    /// Number of LLC slices.
    pub slices: u32,
    /// Peak sectors read from all LLC slices for requests of whole lines. Requests for single sectors reach `1 / mem.llc.read_sectors` of
    /// this rate.
    pub llc: f64,
    /// Additional slice time of a write, and further additional time of a write to a part of a sector, in units of the time of a sector
    /// read.
    pub llc_writes: (f64, f64),
    /// Peak DRAM bytes.
    pub dram: f64,
    /// Peak DRAM row activations; `None` for channels that follow the commands of a device.
    pub rows: Option<f64>,
    /// Peak single-precision floating-point operations: a fused multiply-add on every lane.
    pub flops: f64,
    /// Peak floating-point operations of warp-group matrix products with 16-bit elements; 0 for GPUs without such products.
    pub product_flops: f64,
}

/// Floating-point operations per column of a warp-group product: 64 rows x 16 elements of k x (a multiplication and an addition).
const FLOPS_PER_COLUMN: f64 = 64.0 * 16.0 * 2.0;

impl Roofs {
    /// Computes the peak rates of one GPU.
    pub fn of(gpu: &Machine) -> Self {
        let (sm, clocks, map) = (&gpu.gpu.sm, &gpu.clocks, &gpu.mem.map);
        let per_core = |khz: u64| khz as f64 / (clocks.core.0.max(1)) as f64;
        let (sms, slices) = (gpu.gpu.sms, map.partitions * map.slices_per_partition);
        let width = gpu.mem.llc.read_sectors;
        let (burst_bytes, bursts_per_clock) = gpu.mem.dram.burst();
        // A port accepts a flit per cycle. A packet of a crossbar without virtual channels counts as one flit, whatever its size.
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
                CoreStyle::ControlWords => f64::from(sms) * f64::from(sm.control.products.columns) * FLOPS_PER_COLUMN,
                CoreStyle::SubCores | CoreStyle::Shared => 0.0,
            },
        }
    }
}

/// Returns the row activations of a channel per cycle of its clock: limited by tRC of all its banks and by tRRD of the channel.
fn rows(dram: &Dram) -> Option<f64> {
    let timing = &dram.timing;
    let rate = |cycles: u32, of: u32| f64::from(of) / f64::from(cycles.max(1));
    dram.control.is_none().then(|| rate(timing.tRC, dram.banks).min(rate(timing.tRRD, 1)))
}

/// Returns the execution units of an SM. A class without dedicated units runs on other units, as `gpu.sm.units` describes.
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
    // Pipe indices of a core with control words, in the order of the classes.
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
