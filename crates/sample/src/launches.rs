//! Signatures of the launches of a workload: the executed instructions and accesses of each launch, without timing.

use std::collections::hash_map::Entry;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use warpshard_base::{CtaIndex, KernelIndex, SECTORS_PER_LINE};
use warpshard_workload::{Dim3, Kernel, LaunchCounts, OpClass, Workload, count_classes, touches};

use super::long_launch::STREAMING_LLC_FILLS;

/// The code and resources of a launch, which are equal for all launches of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LaunchCode {
    /// Name of the kernel.
    pub(super) name: String,
    block: [u32; 3],
    shared_bytes: u32,
    registers: u32,
}

/// A launch with its signature.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SampledLaunch {
    pub(super) index: KernelIndex,
    pub(super) code: LaunchCode,
    /// CTAs of the grid, and CTAs of a row of the grid.
    pub(super) ctas: u32,
    pub(super) row: u32,
    /// Warp instructions of the launch; at least 1.
    pub(super) warp_instructions: u64,
    /// Sectors of the launch's accesses of device memory, summed over accesses.
    pub(super) sectors: f64,
    /// Warp instructions by opcode class.
    pub(super) classes: [f64; OpClass::COUNT],
    /// Estimated number of lines that the launch uses; `None` if not known.
    pub(super) lines: Option<f64>,
    /// Estimated number of lines that no earlier launch uses; `None` if not known.
    pub(super) new_lines: Option<f64>,
}

impl SampledLaunch {
    /// Returns the approximate number of sectors that the launch fetches into an LLC of `llc_sectors` sectors. If the launch streams
    /// through its lines, each of their sectors is fetched once, regardless of the number of accesses and of earlier launches that used it.
    pub(super) fn fetches(&self, llc_sectors: f64) -> f64 {
        let own = self.lines.map(|lines| lines * f64::from(SECTORS_PER_LINE)).filter(|own| *own >= STREAMING_LLC_FILLS * llc_sectors);
        own.map_or(self.sectors, |own| own.min(self.sectors))
    }
}

/// Returns the launches of a workload in their order.
///
/// # Errors
/// Fails if counting finds an error in a trace or program.
pub(super) fn launches(workload: &Workload) -> Result<Vec<SampledLaunch>, String> {
    let mut probed = ProbedLaunches::default();
    let one = |(index, kernel): (usize, &Kernel)| {
        let (warp_instructions, signature) = launch_counts(kernel, &mut probed)?;
        let Dim3 { x, y, z } = kernel.info.block;
        Ok(SampledLaunch {
            index: KernelIndex(index as u32),
            code: LaunchCode {
                name: kernel.info.name.clone(),
                block: [x, y, z],
                shared_bytes: kernel.info.shared_bytes,
                registers: kernel.info.registers,
            },
            ctas: kernel.info.ctas(),
            row: kernel.info.grid.x,
            warp_instructions: warp_instructions.max(1),
            sectors: signature.sectors,
            classes: signature.classes,
            lines: signature.lines,
            new_lines: signature.new_lines,
        })
    };
    workload.kernels.iter().enumerate().map(one).collect()
}

/// Sectors, instruction classes and lines of a launch.
#[derive(Clone)]
struct Signature {
    sectors: f64,
    classes: [f64; OpClass::COUNT],
    lines: Option<f64>,
    new_lines: Option<f64>,
}

/// Number of CTAs of a launch whose instructions are read if the source only knows the number of instructions.
const PROBED_CTAS: u32 = 2;
/// Number of first launches that are read among launches of one kernel with the same grid and number of instructions. If these agree, only
/// one in [`REREAD_PERIOD`] later launches is read.
const FIRST_READ_LAUNCHES: u32 = 4;
const REREAD_PERIOD: u32 = 16;

/// Lines and signatures of the launches read so far.
#[derive(Default)]
struct ProbedLaunches {
    /// Lines that the read CTAs used.
    lines: FxHashSet<u64>,
    /// Similar launches, by name, CTAs and warp instructions.
    similar_launches: FxHashMap<(String, u32, u64), SimilarLaunches>,
}

/// Launches that are probably equal.
struct SimilarLaunches {
    launches: u32,
    agree: bool,
    last: Signature,
}

fn launch_counts(kernel: &Kernel, probed: &mut ProbedLaunches) -> Result<(u64, Signature), String> {
    let ctas = kernel.info.ctas();
    let lines = &mut probed.lines;
    let counted = match kernel.source.counts() {
        Some(LaunchCounts { warp_instructions, sectors: Some(sectors), classes: Some(classes), lines, new_lines }) => {
            let [lines, new_lines] = [lines, new_lines].map(|lines| lines.map(|lines| lines as f64));
            (warp_instructions, Signature { sectors: sectors as f64, classes: classes.map(|count| count as f64), lines, new_lines })
        }
        // CTAs spread over the grid represent the others.
        Some(known) => {
            let key = (kernel.info.name.clone(), ctas, known.warp_instructions);
            if let Some(alike) = probed.similar_launches.get_mut(&key) {
                alike.launches += 1;
                if alike.agree && alike.launches > FIRST_READ_LAUNCHES && !alike.launches.is_multiple_of(REREAD_PERIOD) {
                    return Ok((known.warp_instructions, alike.last.clone()));
                }
            }
            let probes = PROBED_CTAS.min(ctas);
            let chosen: Vec<u32> = (0..probes).map(|i| ((u64::from(2 * i) + 1) * u64::from(ctas) / u64::from(2 * probes)) as u32).collect();
            let ranges: Vec<Range<u32>> = chosen.iter().map(|cta| *cta..cta + 1).collect();
            kernel.source.select_ctas(Some(&ranges));
            let (count, read) = count_ctas(kernel, chosen.into_iter(), lines);
            kernel.source.select_ctas(None);
            let factor = known.warp_instructions as f64 / count.max(1) as f64;
            let of_all = |lines: f64| lines * f64::from(ctas) / f64::from(probes);
            let signature = Signature {
                sectors: read.sectors * factor,
                classes: read.classes.map(|count| count * factor),
                lines: read.lines.map(of_all),
                new_lines: read.new_lines.map(of_all),
            };
            match probed.similar_launches.entry(key) {
                Entry::Occupied(mut alike) => {
                    let alike = alike.get_mut();
                    alike.agree &= alike.last.sectors == signature.sectors && alike.last.classes == signature.classes;
                    alike.last = signature.clone();
                }
                Entry::Vacant(first) => {
                    first.insert(SimilarLaunches { launches: 1, agree: true, last: signature.clone() });
                }
            }
            (known.warp_instructions, signature)
        }
        // Each CTA is generated once for counting, and a second time if it is simulated.
        None => count_ctas(kernel, 0..ctas, lines),
    };
    kernel.source.failure().map_or(Ok(counted), Err)
}

/// Counts the instructions, sectors and classes of these CTAs.
fn count_ctas(kernel: &Kernel, ctas: impl Iterator<Item = u32>, lines: &mut FxHashSet<u64>) -> (u64, Signature) {
    let (mut instructions, mut sectors, mut classes) = (0, 0_u64, [0; OpClass::COUNT]);
    let (mut own, before) = (FxHashSet::default(), lines.len());
    for cta in ctas {
        let program = kernel.source.cta(CtaIndex(cta));
        instructions += program.warps.iter().map(|warp| u64::from(warp.len())).sum::<u64>();
        touches(&kernel.info, &program, |touch| {
            sectors += 1;
            own.insert(touch.line);
        });
        count_classes(&program, &mut classes);
    }
    let of_own = own.len();
    lines.extend(own);
    let [of_own, new_lines] = [of_own, lines.len() - before].map(|lines| Some(lines as f64));
    (instructions, Signature { sectors: sectors as f64, classes: classes.map(|count| count as f64), lines: of_own, new_lines })
}

#[cfg(test)]
mod tests {
    use super::super::strata::tests::launch;
    use super::*;

    #[test]
    fn a_streaming_launch_fetches_its_lines_once_despite_earlier_use() {
        let launch = SampledLaunch { sectors: 9000.0, lines: Some(400.0), new_lines: Some(1.0), ..launch(1, "again", 10) };
        assert_eq!((launch.fetches(400.0), launch.fetches(401.0)), (1600.0, 9000.0));
        assert_eq!(SampledLaunch { lines: None, ..launch }.fetches(400.0), 9000.0);
    }
}
