//! The progress of the CTAs of an SM, as controllers see it at a cut.
//!
//! It is gathered at cuts only, as plain numbers, and only if a controller requests it.

use warpshard_base::{CtaIndex, Cycle, KernelIndex};

use super::Preemption;

/// A CTA that is resident on an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CtaProgress {
    /// The kernel launch.
    pub kernel: KernelIndex,
    /// The CTA of the kernel.
    pub cta: CtaIndex,
    /// The first register of the CTA and the number of its registers. The first is 0 unless the SM allocates registers by ranges.
    pub registers: (u32, u32),
    /// The first byte of shared memory of the CTA and the number of its bytes. The first is 0 unless the SM allocates shared memory by
    /// ranges.
    pub shared: (u32, u32),
    /// The threads of the CTA, in whole warps.
    pub threads: u32,
    /// The cycle in which the CTA started on this SM.
    pub started: Cycle,
    /// Warp instructions that the CTA has executed, including those on previous SMs.
    pub executed: u64,
    /// Warp instructions that the CTA has executed since it started on this SM.
    pub executed_here: u64,
    /// True if the CTA has written to global memory or executed an atomic on it, so that it must not be executed again. Stores that are
    /// known not to overwrite data that the CTA has read do not count.
    pub wrote: bool,
    /// True while the CTA is being preempted.
    pub leaving: bool,
}

/// A CTA that ended on an SM or was preempted from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct DepartedCta {
    /// The kernel launch.
    pub kernel: KernelIndex,
    /// The CTA of the kernel.
    pub cta: CtaIndex,
    /// The cycle in which the CTA started on this SM.
    pub started: Cycle,
    /// The cycle in which the CTA ended or was preempted.
    pub left: Cycle,
    /// Warp instructions that the CTA had executed, including those on previous SMs.
    pub executed: u64,
    /// The kind of preemption; `None` if the CTA ended by itself.
    pub how: Option<Preemption>,
}

/// Sums over the CTAs of a kernel that ended on an SM since the start of the run. CPI is cycles per warp instruction of a CTA, in units of
/// 1/1024.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct EndedCtas {
    /// The number of CTAs.
    pub ctas: u64,
    /// The sum of their warp instructions.
    pub instructions: u64,
    /// The sum of the squares of their warp instructions.
    pub squares: u64,
    /// The sum of their CPI.
    pub cpi: u64,
    /// The sum of the squares of their CPI.
    pub cpi_squares: u64,
}

impl EndedCtas {
    /// Units of CPI per cycle per instruction.
    pub const CPI_UNITS: f64 = 1024.0;

    /// Adds a CTA that ended, with its instructions in total and its instructions and cycles on this SM.
    pub fn add_ended_cta(&mut self, instructions: u64, here: u64, cycles: u64) {
        let cpi = (cycles * Self::CPI_UNITS as u64).checked_div(here).unwrap_or(0);
        self.ctas += 1;
        self.instructions += instructions;
        self.squares = self.squares.saturating_add(instructions.saturating_mul(instructions));
        self.cpi += cpi;
        self.cpi_squares = self.cpi_squares.saturating_add(cpi.saturating_mul(cpi));
    }

    /// Adds the sums of another SM.
    pub fn add(&mut self, other: &Self) {
        self.ctas += other.ctas;
        self.instructions += other.instructions;
        self.squares = self.squares.saturating_add(other.squares);
        self.cpi += other.cpi;
        self.cpi_squares = self.cpi_squares.saturating_add(other.cpi_squares);
    }

    /// Returns the mean number of warp instructions of a CTA and its standard deviation; `None` before the first CTA ended.
    pub fn instructions(&self) -> Option<(f64, f64)> {
        moments(self.ctas, self.instructions, self.squares)
    }

    /// Returns the mean CPI of a CTA and its standard deviation, in cycles per warp instruction; `None` before the first CTA ended.
    pub fn cpi(&self) -> Option<(f64, f64)> {
        moments(self.ctas, self.cpi, self.cpi_squares).map(|(mean, deviation)| (mean / Self::CPI_UNITS, deviation / Self::CPI_UNITS))
    }
}

fn moments(count: u64, sum: u64, squares: u64) -> Option<(f64, f64)> {
    let count = (count > 0).then_some(count as f64)?;
    let mean = sum as f64 / count;
    Some((mean, (squares as f64 / count - mean * mean).max(0.0).sqrt()))
}

/// The progress of the CTAs of an SM at a cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SmProgress {
    /// Resident CTAs, by their slots.
    pub resident: Vec<CtaProgress>,
    /// The CTAs that left the SM last, in order; at most some tens of CTAs.
    pub gone: Vec<DepartedCta>,
    /// CTAs that ended, by kernel launch; launches without such CTAs are left out.
    pub ended: Vec<(KernelIndex, EndedCtas)>,
}

impl SmProgress {
    /// Appends the progress as numbers.
    pub fn encode(&self, values: &mut Vec<u64>) {
        values.extend([self.resident.len() as u64, self.gone.len() as u64, self.ended.len() as u64]);
        for cta in &self.resident {
            values.extend([
                u64::from(cta.kernel.0),
                u64::from(cta.cta.0),
                pack_pair(cta.registers),
                pack_pair(cta.shared),
                u64::from(cta.threads),
            ]);
            values.extend([cta.started.0, cta.executed, cta.executed_here, u64::from(cta.wrote), u64::from(cta.leaving)]);
        }
        for cta in &self.gone {
            let how = cta.how.map_or(0, |how| 1 + how as u64);
            values.extend([u64::from(cta.kernel.0), u64::from(cta.cta.0), cta.started.0, cta.left.0, cta.executed, how]);
        }
        for (kernel, ended) in &self.ended {
            values.extend([u64::from(kernel.0), ended.ctas, ended.instructions, ended.squares, ended.cpi, ended.cpi_squares]);
        }
    }

    /// Decodes the progress of an SM; `None` if the numbers are invalid.
    pub fn decode(values: &[u64]) -> Option<Self> {
        let (&[resident, gone, ended], mut rest) = values.split_first_chunk::<3>()?;
        let mut progress = Self::default();
        for _ in 0..resident {
            let (&[kernel, cta, registers, shared, threads, started, executed, executed_here, wrote, leaving], next) =
                rest.split_first_chunk()?;
            progress.resident.push(CtaProgress {
                kernel: KernelIndex(kernel as u32),
                cta: CtaIndex(cta as u32),
                registers: unpack_pair(registers),
                shared: unpack_pair(shared),
                threads: threads as u32,
                started: Cycle(started),
                executed,
                executed_here,
                wrote: wrote != 0,
                leaving: leaving != 0,
            });
            rest = next;
        }
        for _ in 0..gone {
            let (&[kernel, cta, started, left, executed, how], next) = rest.split_first_chunk()?;
            let techniques = [Preemption::Switch, Preemption::Flush, Preemption::Drain, Preemption::Drop];
            progress.gone.push(DepartedCta {
                kernel: KernelIndex(kernel as u32),
                cta: CtaIndex(cta as u32),
                started: Cycle(started),
                left: Cycle(left),
                executed,
                how: techniques.into_iter().find(|technique| 1 + *technique as u64 == how),
            });
            rest = next;
        }
        for _ in 0..ended {
            let (&[kernel, ctas, instructions, squares, cpi, cpi_squares], next) = rest.split_first_chunk()?;
            progress.ended.push((KernelIndex(kernel as u32), EndedCtas { ctas, instructions, squares, cpi, cpi_squares }));
            rest = next;
        }
        rest.is_empty().then_some(progress)
    }
}

fn pack_pair((first, second): (u32, u32)) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

fn unpack_pair(both: u64) -> (u32, u32) {
    ((both >> 32) as u32, both as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_progress_is_decoded() {
        let (kernel, cta) = (KernelIndex(3), CtaIndex(70_000));
        let resident = CtaProgress {
            kernel,
            cta,
            registers: (4096, 8192),
            shared: (0, 2048),
            threads: 256,
            started: Cycle(77),
            executed: 1000,
            executed_here: 400,
            wrote: true,
            leaving: false,
        };
        let gone = |how| DepartedCta { kernel, cta, started: Cycle(5), left: Cycle(50), executed: 9, how };
        let mut ended = EndedCtas::default();
        ended.add_ended_cta(100, 100, 400);
        let all = SmProgress {
            resident: vec![resident, CtaProgress { wrote: false, leaving: true, ..resident }],
            gone: vec![gone(None), gone(Some(Preemption::Switch)), gone(Some(Preemption::Flush)), gone(Some(Preemption::Drop))],
            ended: vec![(kernel, ended)],
        };
        for progress in [all, SmProgress::default()] {
            let mut values = Vec::new();
            progress.encode(&mut values);
            assert_eq!(SmProgress::decode(&values), Some(progress));
            values.push(1);
            assert_eq!(SmProgress::decode(&values), None);
        }
    }

    #[test]
    fn means_and_deviations_cover_all_ended_ctas() {
        let mut ended = EndedCtas::default();
        assert_eq!((ended.instructions(), ended.cpi()), (None, None));
        // Two CTAs of 100 and 300 instructions, with 4 and 8 cycles per instruction.
        ended.add_ended_cta(100, 100, 400);
        let mut other = EndedCtas::default();
        other.add_ended_cta(300, 150, 1200);
        ended.add(&other);
        assert_eq!(ended.instructions(), Some((200.0, 100.0)));
        assert_eq!(ended.cpi(), Some((6.0, 2.0)));
    }
}
