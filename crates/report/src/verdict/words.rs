//! A verdict as lines of text, and its advice.

use warpshard_stats::KernelStats;

use super::terms::{Limiter, Verdict};
use crate::roofs::Roofs;
use crate::text::{clip, count, demangled, percent, printable, si_number};

/// Maximum columns of a line.
const LINE_COLUMNS: usize = 80;

/// Share of used bytes in sectors below which accesses count as uncoalesced.
const SPARSE_SECTOR_USE: f64 = 0.4;

/// Formats the verdict on a kernel in at most six lines of at most 80 columns; the first line begins with the kernel's name.
pub(super) fn lines(verdict: &Verdict, name: &str) -> Vec<String> {
    let limiters: Vec<String> = verdict.charges.iter().take(2).map(|charge| limiter_text(verdict, charge.limiter, charge.share)).collect();
    let limiters = if limiters.is_empty() { "no limiter".to_owned() } else { limiters.join(", then ") };
    let name = clip(&printable(&demangled(name)), LINE_COLUMNS.saturating_sub(limiters.chars().count() + 4).max(16));
    let whole = |share: f64| format!("{:.0}", share * 100.0);
    // Row activations are shown only if their share exceeds the share of data transfers.
    let data = verdict.used("DRAM");
    let shown = verdict.roofs.iter().filter(|one| one.name != "DRAM rows" || one.share > data);
    let mut roofs: Vec<String> = shown.map(|one| format!("{} {}", one.name.replace("network", "net"), whole(one.share))).collect();
    if let Some(line) = &verdict.roofline {
        roofs.insert(2, format!("{} {}", line.units, whole(line.of_peak)));
    }
    let peaks = |roofs: &[String]| format!("    % of peak {}", roofs.join(", "));
    if peaks(&roofs).chars().count() > LINE_COLUMNS {
        // Unused resources are left out if the line is too long.
        roofs.retain(|one| !one.ends_with(" 0"));
    }
    let launch = &verdict.launch;
    let sizes = |registers: &str| {
        let (threads, shared) = (count(launch.threads.into()), si_number(launch.shared_bytes.into()));
        let occupied = format!("{:.0} % occupied ({})", launch.occupancy * 100.0, launch.limited_by);
        format!("    launch    {threads} threads, {} {registers}, {shared}B shared; {occupied}", launch.registers)
    };
    let long = Some(sizes("registers")).filter(|line| line.chars().count() <= LINE_COLUMNS);
    let mut lines = vec![
        format!("  {name}: {limiters}"),
        peaks(&roofs),
        long.unwrap_or_else(|| sizes("regs")),
        format!("    grid      {:.2} waves{}{}", launch.waves, idle_text(verdict), requests_text(verdict)),
        format!("    change    {}", verdict.change),
    ];
    lines.extend(trust_line(verdict));
    lines.into_iter().map(|line| clip(&line, LINE_COLUMNS)).collect()
}

fn limiter_text(verdict: &Verdict, limiter: Limiter, share: f64) -> String {
    format!("{} {}", label(verdict, limiter), percent(share))
}

fn idle_text(verdict: &Verdict) -> String {
    verdict.launch.idle.map_or_else(|| ", with other kernels".to_owned(), |idle| format!(", {} idle", percent(idle)))
}

fn requests_text(verdict: &Verdict) -> String {
    let used = verdict.sector_use.map_or_else(String::new, |share| format!(" ({:.0} % used)", share * 100.0));
    verdict.sectors_per_request.map_or_else(String::new, |sectors| format!("; {sectors:.1} sectors per request{used}"))
}

/// Formats floating-point work and confidence in one line.
fn trust_line(verdict: &Verdict) -> Option<String> {
    // Without DRAM traffic the arithmetic intensity is undefined.
    let each = verdict.roofline.as_ref().and_then(|line| Some((line.per_byte?, line.ridge)));
    let flops = each.map(|(each, ridge)| format!("{} of {ridge:.0} flop/byte", si_number(each).trim_end()));
    let trust = verdict.trust.as_ref().map(|trust| match (trust.error_percent, trust.worst_percent) {
        (Some(mean), Some(worst)) => {
            format!("{} {} launches: error {mean:.0} (worst {worst:.0}) %", trust.launches, trust.class)
        }
        _ => format!("no measured launch ({}) resembles it", trust.machine),
    });
    match (flops, trust) {
        (Some(flops), Some(trust)) => Some(format!("    trust     {trust}; {flops}")),
        (None, Some(trust)) => Some(format!("    trust     {trust}")),
        (Some(flops), None) => Some(format!("    work      {flops}")),
        (None, None) => None,
    }
}

/// Returns the name of a limiter for reports.
pub(super) fn label(verdict: &Verdict, limiter: Limiter) -> String {
    match limiter {
        Limiter::Issue => "issue slots".to_owned(),
        Limiter::Pipe => format!("{} units", verdict.pipe),
        Limiter::Divergence => "idle lanes".to_owned(),
        Limiter::Dependency => "dependent arithmetic".to_owned(),
        Limiter::SharedMemory => "shared memory".to_owned(),
        Limiter::L1 => "L1".to_owned(),
        Limiter::Network => "network".to_owned(),
        Limiter::Llc => "LLC".to_owned(),
        Limiter::Dram => "DRAM".to_owned(),
        Limiter::MemoryLatency => "memory latency".to_owned(),
        Limiter::Occupancy => "few warps".to_owned(),
        Limiter::Atomics => "atomics".to_owned(),
        Limiter::Fence => "fences".to_owned(),
        Limiter::Barrier => "barriers".to_owned(),
        Limiter::Fetch => "instruction fetch".to_owned(),
        Limiter::Throttle => "a controller".to_owned(),
        Limiter::Tail => "idle SMs".to_owned(),
    }
}

/// Returns the advice in at most 66 columns.
pub(super) fn advice(verdict: &Verdict, roofs: &Roofs, kernel: &KernelStats) -> String {
    let launch = &verdict.launch;
    let sparse = verdict.sector_use.is_some_and(|share| share < SPARSE_SECTOR_USE);
    let coalesce = || {
        let used = verdict.sector_use.unwrap_or(0.0) * 100.0;
        format!("coalesce: lanes use {used:.0} % of the bytes of the sectors they touch")
    };
    let few_warps = || match launch.limited_by.as_str() {
        "grid" => format!("a larger grid: {} CTAs on {} SMs", count(kernel.ctas.into()), roofs.sms),
        "registers" => format!("fewer registers: {} a thread leave {:.0} % of the warp slots", launch.registers, launch.occupancy * 100.0),
        "shared memory" => {
            format!("less shared memory: {}B of {}B a CTA", si_number(launch.shared_bytes.into()), si_number(roofs.shared_bytes.into()))
        }
        "CTA slots" => format!("larger CTAs: {} threads each, and all CTA slots are taken", launch.threads),
        "threads" | "warps" => format!("smaller CTAs: {} threads do not fit another time", launch.threads),
        _ => "more warps per SM".to_owned(),
    };
    match verdict.limiter {
        Limiter::Issue => "fewer instructions: wider accesses, unrolling, less address work".to_owned(),
        Limiter::Pipe if verdict.pipe == "tensor" => "the matrix units are the roof: a smaller format, or less work".to_owned(),
        Limiter::Pipe => format!("fewer {} instructions, or other units that are idle", verdict.pipe),
        Limiter::Divergence => format!("{:.1} of 32 lanes work: group threads by what they do", verdict.lanes),
        Limiter::Dependency if launch.occupancy < 0.5 => format!("independent chains per thread, or {}", few_warps()),
        Limiter::Dependency => "independent chains per thread: unroll, several sums".to_owned(),
        Limiter::SharedMemory => match verdict.conflicts {
            Some(more) if more >= 0.5 => format!("pad or swizzle arrays: {:.1} cycles an access, 1 without conflicts", more + 1.0),
            _ => "wider accesses to shared memory, or more in registers".to_owned(),
        },
        Limiter::L1 | Limiter::Network | Limiter::Llc | Limiter::Dram if sparse => coalesce(),
        Limiter::L1 => "more reuse in registers or shared memory".to_owned(),
        Limiter::Llc if verdict.hottest_slice.is_some_and(|hot| hot >= 2.0) => {
            format!("spread addresses: a slice gets {:.1} times the mean", verdict.hottest_slice.unwrap_or(1.0))
        }
        Limiter::Network | Limiter::Llc => "more reuse in the SM: tiles in shared memory, smaller types".to_owned(),
        Limiter::Dram if verdict.used("DRAM rows") > verdict.used("DRAM") => {
            "open fewer rows: neighbouring CTAs on neighbouring addresses".to_owned()
        }
        Limiter::Dram => "fewer bytes: smaller types, tiles that fit the LLC, fused kernels".to_owned(),
        Limiter::MemoryLatency if sparse => coalesce(),
        Limiter::MemoryLatency => "more loads in flight: unroll, prefetch, wider loads".to_owned(),
        Limiter::Occupancy => few_warps(),
        Limiter::Atomics => "reduce in registers and shared memory first; spread addresses".to_owned(),
        Limiter::Fence => "fewer fences, or of a narrower scope".to_owned(),
        Limiter::Barrier => "fewer barriers, more CTAs per SM, or exchange within warps".to_owned(),
        Limiter::Fetch => "shorter code: less unrolling and inlining".to_owned(),
        Limiter::Throttle => "the policy of the run holds warps back".to_owned(),
        Limiter::Tail if launch.waves <= 1.0 => format!("more or smaller CTAs: {} on {} SMs", count(kernel.ctas.into()), roofs.sms),
        Limiter::Tail => format!("even CTAs: {:.2} waves, of which the last leaves SMs idle", launch.waves),
    }
}
