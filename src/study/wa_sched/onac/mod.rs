//! `study onac`: the kernels of Table 4.4 on the machine of 32 cores, with every number of cores and under ONAC and Seq-Det,
//! beside Section 4.4 of the thesis.
//!
//! The oracle is the least number of cores with 98 % of the IPC of all, from steady stretches of runs with fixed numbers.
//! Detections are simulated in full, with some CTA waves behind; the rest of the grid is reckoned at the rate of these waves
//! and marked, and so is the run with all cores that they are compared with. Some kernels are run to their end beside.
//!
//! Kernels of an application find the LLC as the kernel before left it, full of lines that are to be written back. Ours would
//! begin with an empty one, which takes in writes that DRAM has to carry later; so searches begin behind `WARM` CTA waves.
//! What ONAC finds from an empty LLC on is shown, too.

mod detect;
mod oracle;
mod published;
mod runs;
mod show;

use rayon::prelude::*;

use crate::study::{StudyError, StudyOutput};

use super::characterise::{Options, workload};
use super::kernels::{Grid, parameters};
use super::published::{CoreType, Kernel, published as library};

use detect::{Detection, WAVES, Whole, waves_behind, whole};
use oracle::{CORES, Curve};
use published::{Entry, Scheme};
use runs::{Row, Run, Task};

/// The machine of Table 4.3.
const MACHINE: &str = "fermi32";
/// Core cycles of a run with a fixed number of cores, or with all; more where CTAs are long. Rates of some kernels go up and down
/// with the rows of their grids, SRAD's within 40 000 cycles and TP-K1's within 70 000.
const STRETCH: u64 = 150_000;
/// Core cycles of the run with all cores that performance and energy are relative to: cores that begin together read what is next to each
/// other, and drift apart over 100 000 cycles (the convolutions with textures lose 4 % of their rate by it).
const ALL_CORES: u64 = 450_000;
/// Core cycles after which a detection is given up.
const LONGEST: u64 = 16_000_000;
/// CTA waves before the first sample.
const WARM: u32 = 8;
/// Kernels for which every number of cores is run.
const SWEPT: [&str; 3] = ["bp_k2", "fwt", "tp_k1"];
/// Kernels that are run to their end in a quick study, too: some of the shortest of either type.
const TO_THE_END: [&str; 5] = ["dct_k1", "tp_k1", "nn", "bp_k2", "hotspot"];
/// Parameters that give Table 4.4's grids where the model's own is of another table. SRAD's is square: 181 x 181 is next to 32768.
const GRIDS: [(&str, &str, &str); 5] = [
    ("lud", "side", "255"),
    ("km", "cta_count", "25600"),
    ("srad", "side", "181"),
    ("fwt", "cta_count", "32768"),
    ("dxtc", "cta_count", "16384"),
];

/// Whole grids under both searches, relative to all cores.
#[derive(Clone, Debug)]
struct ToTheEnd {
    /// Performance with ONAC and Seq-Det, in percent.
    performance: [f64; 2],
    /// Energy saved by them, in percent.
    saved: [f64; 2],
}

/// A kernel.
#[derive(Clone, Debug)]
struct Point {
    entry: Entry,
    published: CoreType,
    /// CTAs of our grid.
    ctas: u32,
    fitted: bool,
    curve: Curve,
    /// Under ONAC and Seq-Det.
    detected: [Detection; 2],
    /// Under ONAC from an empty LLC on.
    cold: Detection,
    /// The whole grid with all cores.
    all: Whole,
    to_the_end: Option<ToTheEnd>,
}

impl Point {
    fn of_type(&self) -> CoreType {
        if self.curve.enough < CORES { CoreType::A } else { CoreType::B }
    }

    fn by(&self, scheme: Scheme) -> &Detection {
        &self.detected[scheme as usize]
    }

    /// The number of cores that a search ends with: all where it found none.
    fn ends_with(&self, scheme: Scheme) -> u32 {
        self.by(scheme).found.unwrap_or(CORES)
    }

    /// Performance relative to all cores, in percent.
    fn performance(&self, scheme: Scheme) -> f64 {
        performance(&self.all, &self.by(scheme).whole)
    }

    /// Energy saved relative to all cores, in percent.
    fn saved(&self, scheme: Scheme) -> f64 {
        saved(&self.all, &self.by(scheme).whole)
    }

    /// What ONAC's detection takes less than Seq-Det's, in percent.
    fn faster(&self) -> f64 {
        100.0 * (1.0 - self.by(Scheme::Onac).cycles as f64 / self.by(Scheme::SeqDet).cycles.max(1) as f64)
    }
}

/// Performance relative to all cores, in percent.
fn performance(all: &Whole, searched: &Whole) -> f64 {
    100.0 * all.cycles / searched.cycles
}

/// Energy saved relative to all cores, in percent.
fn saved(all: &Whole, searched: &Whole) -> f64 {
    100.0 * (1.0 - searched.joules / all.joules)
}

/// Runs the study; with `full` grids are simulated to their end, and nothing is extrapolated. `progress` is told what is done.
///
/// # Errors
/// When `only` names no kernel, or a kernel does not run.
pub fn run(options: &Options, full: bool, progress: &(dyn Fn(&str) + Sync)) -> Result<StudyOutput, StudyError> {
    let stated = published::read();
    let library = library();
    let wanted = |entry: &&Entry| options.only.as_ref().is_none_or(|only| entry.name.contains(only.as_str()));
    let kernels: Vec<(&Entry, &Kernel, CoreType)> = stated
        .kernel
        .iter()
        .filter(wanted)
        .filter_map(|entry| {
            let kernel = library.kernel.iter().find(|kernel| kernel.name == entry.name)?;
            Some((entry, kernel, kernel.cores?))
        })
        .collect();
    if kernels.is_empty() {
        return Err(StudyError::Input("no kernel of Table 4.4 has such a name".into()));
    }
    let points: Vec<Point> = kernels
        .par_iter()
        .map(|(entry, kernel, of)| {
            let point = point(entry, kernel, *of, options, full)?;
            progress(&format!("{}: {} cores are enough", entry.name, point.curve.enough));
            Ok(point)
        })
        .collect::<Result<_, String>>()
        .map_err(StudyError::Input)?;
    let how = if full { "whole grids".to_owned() } else { format!("detection and {WAVES} CTA waves or more, the rest extrapolated") };
    let mut output = StudyOutput::new("onac", format!("ONAC and Seq-Det on {MACHINE} beside {}: {how}", stated.source));
    show::all(&mut output, &points, &stated);
    Ok(output)
}

fn point(entry: &Entry, kernel: &Kernel, published: CoreType, options: &Options, full: bool) -> Result<Point, String> {
    let parameters = parameters(&GRIDS, kernel);
    let grid = Grid::of(kernel, MACHINE, &parameters)?;
    let (cache, instructions) = (options.cache.as_deref(), grid.instructions());
    let task = |policy: Option<(&'static str, String)>, cycles| Task {
        machine: MACHINE,
        workload: workload(kernel),
        parameters: parameters.clone(),
        policies: policy.into_iter().collect(),
        cycles,
    };
    let [stretch, of_all] = [STRETCH, ALL_CORES].map(|least| if full { None } else { grid.cycles(least) });
    let base = task(None, of_all).run(cache)?;
    let curve = Curve::of(SWEPT.contains(&kernel.name.as_str()), |cores| {
        let fixed = (cores < CORES).then(|| ("static_limit", format!("cores = {cores}")));
        // The run with all cores is longer, and begins as one of this length would.
        let of_fixed = fixed.map(|fixed| task(Some(fixed), stretch).run(cache)).transpose()?;
        let run = of_fixed.as_ref().unwrap_or(&base);
        let end = stretch.map_or(run.cycles, |stretch| run.cycles.min(stretch));
        Ok(run.stretch(if run.ended && end == run.cycles { 0 } else { end / 4 }, end))
    })?;
    let wave = grid.per_cta * f64::from(grid.most * CORES) / curve.at(CORES).map_or(1.0, Row::rate);
    let search = |scheme: Scheme, warm: u32, to_the_end: bool| {
        let stop = if to_the_end { 0 } else { waves_behind(wave) };
        let table = format!("warm = {warm}\nstop_after = {stop}");
        task(Some((scheme.policy(), table)), (!to_the_end).then_some(LONGEST)).run(cache)
    };
    let of = |run: &Run| Detection::of(run, instructions);
    let runs = [search(Scheme::Onac, WARM, full)?, search(Scheme::SeqDet, WARM, full)?];
    let cold = of(&search(Scheme::Onac, 0, full)?);
    let to_the_end = (!full && TO_THE_END.contains(&kernel.name.as_str()))
        .then(|| {
            let all = of(&task(None, None).run(cache)?).whole;
            let [onac, seq] = [of(&search(Scheme::Onac, WARM, true)?).whole, of(&search(Scheme::SeqDet, WARM, true)?).whole];
            Ok::<_, String>(ToTheEnd {
                performance: [performance(&all, &onac), performance(&all, &seq)],
                saved: [saved(&all, &onac), saved(&all, &seq)],
            })
        })
        .transpose()?;
    Ok(Point {
        entry: entry.clone(),
        published,
        ctas: grid.ctas,
        fitted: grid.is_fitted_to("Table 4.4", &[""]) || grid.is_fitted_to("Figure 4.", &[""]) || grid.is_fitted_to("4.4", &[""]),
        curve,
        detected: [of(&runs[0]), of(&runs[1])],
        cold,
        all: whole(&base, base.cycles / 4, instructions),
        to_the_end,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_as_large_as_table_4_4_says() {
        let library = library();
        for entry in published::read().kernel {
            let kernel = library.kernel.iter().find(|kernel| kernel.name == entry.name).unwrap();
            let parameters: Vec<(String, String)> = GRIDS
                .iter()
                .filter(|(name, ..)| *name == entry.name)
                .map(|(_, key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect();
            let ctas = Grid::of(kernel, MACHINE, &parameters).unwrap().ctas;
            assert!(ctas.abs_diff(entry.ctas) * 1000 <= entry.ctas, "{}: {ctas} CTAs, published {}", entry.name, entry.ctas);
        }
    }

    #[test]
    fn kernels_that_are_treated_apart_exist() {
        let published = published::read();
        let named = GRIDS.iter().map(|(name, ..)| name).chain(&SWEPT).chain(&TO_THE_END);
        for name in named {
            assert!(published.kernel.iter().any(|entry| entry.name == *name), "{name}");
        }
    }
}
