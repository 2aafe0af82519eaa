//! `study characterise`: each kernel of the thesis alone on its machines, ours beside the published figures.
//!
//! CTAs per core follow from what a CTA needs; phases from the instructions, with the latencies that the thesis's compiler sums
//! up. The optimum of CTAs per core is found by running with every limit: it is "the count after which increasing the number
//! of blocks resulted in less than 2 % performance improvement" (4.3.3.2), read of any increase and not of one CTA more. A
//! kernel is MEM when the most CTAs are more than 2 % slower than the best count, C-strong when the optimum is the most, else
//! C-weak. It is of type A when 31 of 32 cores give 98 % of the performance (4.4).

use std::path::PathBuf;

use rayon::prelude::*;

use crate::chip::occupancies;
use crate::config::Machine;
use crate::frontend::model::builtin_model;
use crate::frontend::phases::{Latencies, LongOps, Phases};

use super::kernels::{as_published, of_table_4_2};
use super::published::{Class, CoreType, CtaCells, Kernel, PhaseCells, published};
use super::steady::Job;
use crate::report::bars::{Bars, Group};
use crate::report::plot::{Form, Plot, Series};
use crate::study::output::PlotNames;
use crate::study::{StudyError, StudyOutput};

/// Gain of one more CTA, or loss against the best count, that matters (4.3.3.2).
const STEP: f64 = 0.02;
/// How far phase counts and lengths may be off.
const PHASE_TOLERANCE: f64 = 0.15;
/// A grid of fewer waves is run to its end, since the last would distort a stretch of it.
const WAVES: u32 = 16;
/// The machine of Tables 3.2 and 3.3.
pub(super) const FERMI: &str = "m2090";
/// The machine of Fermi's columns of Table 4.2.
pub(super) const FERMI_31: &str = "m2090-v31";
/// The machine of Kepler's columns of Table 4.2.
pub(super) const KEPLER: &str = "k20x-l1";
/// The machine of Table 4.4.
const MANY: &str = "fermi32";

/// What is run, and how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// Core cycles of a run behind the launch.
    pub cycles: u64,
    /// Only kernels whose name contains this.
    pub only: Option<String>,
    /// Where the rates of runs are kept, so that an interrupted study resumes; nowhere when not given.
    pub cache: Option<PathBuf>,
}

impl Options {
    /// Core cycles of a quick study.
    pub const QUICK: u64 = 60_000;
    /// Core cycles of a full study.
    pub const FULL: u64 = 300_000;
}

/// One comparison.
struct Cell {
    kernel: String,
    machine: &'static str,
    what: &'static str,
    ours: String,
    published: String,
    verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Holds,
    Misses,
    /// The publication contradicts itself.
    Contradicted,
    /// Nothing is published to compare it with.
    Shown,
    /// The kernel was fitted to this very cell.
    Fitted {
        holds: bool,
    },
}

impl Verdict {
    fn holds(self) -> Option<bool> {
        match self {
            Self::Holds => Some(true),
            Self::Misses => Some(false),
            Self::Fitted { holds } => Some(holds),
            Self::Contradicted | Self::Shown => None,
        }
    }
}

/// Runs the study.
///
/// # Errors
/// When `only` names no kernel, or a kernel or machine does not run.
pub fn run(options: &Options) -> Result<StudyOutput, StudyError> {
    let published = published();
    let wanted = |kernel: &&Kernel| options.only.as_ref().is_none_or(|only| kernel.name.contains(only.as_str()));
    let kernels: Vec<&Kernel> = published.kernel.iter().filter(wanted).collect();
    if kernels.is_empty() {
        return Err(StudyError::Input("no kernel of the thesis has such a name".into()));
    }
    let found: Vec<(Vec<Cell>, Vec<Curve>)> =
        kernels.par_iter().map(|kernel| characterise(kernel, options)).collect::<Result<_, String>>().map_err(StudyError::Input)?;
    let (cells, curves): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let (cells, curves): (Vec<Cell>, Vec<Curve>) = (cells.into_iter().flatten().collect(), curves.into_iter().flatten().collect());
    let title = format!("kernels of the thesis, each alone, beside {}; runs of {} cycles", published.source, options.cycles);
    let mut output = StudyOutput::new("characterise", title);
    output.columns(&["kernel", "machine", "quantity", "ours", "published", "kind", "verdict"]);
    for cell in &cells {
        let kind = match cell.what {
            CURVE => "measured",
            "class" | "cores" => "direction",
            _ => "number",
        };
        let verdict = match cell.verdict {
            Verdict::Holds => "holds",
            Verdict::Misses => "misses",
            Verdict::Contradicted => "contradicted by the text",
            Verdict::Shown => "-",
            Verdict::Fitted { holds: true } => "holds (fitted)",
            Verdict::Fitted { holds: false } => "misses (fitted)",
        };
        let row = [&cell.kernel, cell.machine, cell.what, &cell.ours, &cell.published, kind, verdict];
        output.row(row.iter().map(|cell| (*cell).to_owned()).collect());
    }
    let share = |output: &mut StudyOutput, name: &str, chosen: &[&str]| {
        let judged: Vec<bool> = cells.iter().filter(|cell| chosen.contains(&cell.what)).filter_map(|cell| cell.verdict.holds()).collect();
        if !judged.is_empty() {
            output.figure(name, 100.0 * judged.iter().filter(|&&holds| holds).count() as f64 / judged.len() as f64);
        }
    };
    share(&mut output, "CTAs per core equal, %", &["CTAs per core"]);
    share(&mut output, "class equal, %", &["class"]);
    share(&mut output, "optimum within 1, %", &["optimum"]);
    share(&mut output, "phase counts and lengths within 15 %, %", PHASES);
    share(&mut output, "type A or B equal, %", &["cores"]);
    pictures(&mut output, &curves);
    for cell in cells.iter().filter(|cell| cell.verdict.holds() == Some(false)) {
        output.note(format!("miss: {} on {}: {} is {}, published {}", cell.kernel, cell.machine, cell.what, cell.ours, cell.published));
    }
    Ok(output)
}

/// Warp instructions per core cycle of the machine with one CTA per core, two, and so on.
const CURVE: &str = "IPC by CTAs";
/// The quantities of phases.
const PHASES: &[&str] = &["phases", "longest phase", "shortest phase"];

/// A kernel on a machine: its rates with one CTA per core, two, and so on, beside what is published.
struct Curve {
    kernel: String,
    machine: &'static str,
    rates: Vec<f64>,
    published: CtaCells,
}

/// Plots of the curves, by machine and published class, in the manner of Figure 4.1, and of the optima.
fn pictures(output: &mut StudyOutput, curves: &[Curve]) {
    for (machine, optima, by_class) in PICTURES {
        let of = || curves.iter().filter(move |curve| curve.machine == machine);
        for (class, names) in by_class {
            let relative = |curve: &Curve| {
                let best = curve.rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
                (1u32..).zip(&curve.rates).map(|(ctas, rate)| (f64::from(ctas), rate / best)).collect()
            };
            let series = of().filter(|curve| curve.published.class == class);
            let series: Vec<Series> = series.map(|curve| Series { name: curve.kernel.clone(), points: relative(curve) }).collect();
            if !series.is_empty() {
                let title = format!("Kernels published as {} ({machine})", class.name());
                output.plot(names, Plot { title, x: "CTAs per core".into(), y: "IPC over the best".into(), form: Form::Lines, series });
            }
        }
        let group = |curve: &Curve| Group {
            name: curve.kernel.clone(),
            values: vec![curve.rates.len() as f64, f64::from(curve.published.opt), f64::from(optimum(&curve.rates))],
        };
        let groups: Vec<Group> = of().map(group).collect();
        if !groups.is_empty() {
            let series = ["all", "published optimum", "our optimum"].map(String::from).into();
            output.bars(optima, Bars { title: format!("CTAs per core ({machine})"), y: "CTAs".into(), series, groups, line: None });
        }
    }
}

/// The files of the pictures of a machine: that of the optima, and one per published class.
type Pictures = (&'static str, PlotNames, [(Class, PlotNames); 3]);

const PICTURES: [Pictures; 2] = [
    (
        FERMI_31,
        ["optima-m2090.svg", "optima-m2090.png"],
        [
            (Class::Strong, ["m2090-c-strong.svg", "m2090-c-strong.png"]),
            (Class::Weak, ["m2090-c-weak.svg", "m2090-c-weak.png"]),
            (Class::Mem, ["m2090-mem.svg", "m2090-mem.png"]),
        ],
    ),
    (
        KEPLER,
        ["optima-k20x.svg", "optima-k20x.png"],
        [
            (Class::Strong, ["k20x-c-strong.svg", "k20x-c-strong.png"]),
            (Class::Weak, ["k20x-c-weak.svg", "k20x-c-weak.png"]),
            (Class::Mem, ["k20x-mem.svg", "k20x-mem.png"]),
        ],
    ),
];

fn characterise(kernel: &Kernel, options: &Options) -> Result<(Vec<Cell>, Vec<Curve>), String> {
    let (mut cells, mut curves) = (Vec::new(), Vec::new());
    if let Some(published) = &kernel.phases {
        phases(kernel, published, &mut cells)?;
    }
    for (machine, published) in [(FERMI_31, &kernel.m2090), (KEPLER, &kernel.k20x)] {
        if let Some(published) = published {
            curves.push(ctas(kernel, machine, published, options, &mut cells)?);
        }
    }
    if let Some(published) = kernel.cores {
        cells.push(cores(kernel, published, options)?);
    }
    Ok((cells, curves))
}

/// The model of a kernel.
pub(super) fn workload(kernel: &Kernel) -> String {
    format!("wa_sched/{}", kernel.name)
}

/// The most CTAs on an SM, and whether the grid has so few waves of them that it is run to its end.
pub(super) fn occupancy(kernel: &Kernel, machine: &str, parameters: &[(String, String)]) -> Result<(u32, bool), String> {
    let machine = Machine::load(machine, &[]).map_err(|errors| errors.to_string())?.machine;
    let model = builtin_model(&workload(kernel), 1, parameters).map_err(|error| error.to_string())?;
    let most = occupancies(&machine, &model.workload())?[0];
    Ok((most, model.kernels[0].kernel.info.ctas() <= WAVES * most * machine.gpu.sms))
}

fn phases(kernel: &Kernel, published: &PhaseCells, cells: &mut Vec<Cell>) -> Result<(), String> {
    let model = builtin_model(&workload(kernel), 1, &[]).map_err(|error| error.to_string())?;
    let found = Phases::of_kernel(&model.kernels[0].kernel, &Latencies::COMPILER, LongOps::All);
    let table = format!("Table {}", published.table);
    let mut add = |what: &'static str, cell: &str, ours: u32, theirs: u32, tolerance: f64| {
        let holds = f64::from(ours.abs_diff(theirs)) <= tolerance * f64::from(theirs);
        let fitted = model.fitted_to.iter().any(|fitted| fitted.starts_with(&table) && fitted.contains(what));
        let verdict = match (published.contradicted.iter().any(|contradicted| contradicted == cell), fitted) {
            (true, _) => Verdict::Contradicted,
            (false, true) => Verdict::Fitted { holds },
            (false, false) if holds => Verdict::Holds,
            (false, false) => Verdict::Misses,
        };
        let name = kernel.name.clone();
        cells.push(Cell { kernel: name, machine: FERMI, what, ours: ours.to_string(), published: theirs.to_string(), verdict });
    };
    add("CTAs per core", "ctas", occupancy(kernel, FERMI, &[])?.0, published.ctas, 0.0);
    add("phases", "total", found.list().len() as u32, published.total, PHASE_TOLERANCE);
    add("longest phase", "longest", found.longest().into(), published.longest, PHASE_TOLERANCE);
    add("shortest phase", "shortest", found.shortest().into(), published.shortest, PHASE_TOLERANCE);
    Ok(())
}

fn ctas(kernel: &Kernel, machine: &'static str, published: &CtaCells, options: &Options, cells: &mut Vec<Cell>) -> Result<Curve, String> {
    let parameters = of_table_4_2(kernel);
    let (most, whole) = occupancy(kernel, machine, &parameters)?;
    let run = |limit| Job { parameters: parameters.clone(), ..job(kernel, machine, "gpu.sm.max_ctas", limit, options, whole) };
    let rates = (1..=most).into_par_iter().map(|limit| run(limit).rate(options.cache.as_deref())).collect::<Result<Vec<f64>, String>>()?;
    let model = builtin_model(&workload(kernel), 1, &[]).map_err(|error| error.to_string())?;
    let column = if machine == FERMI_31 { "M2090" } else { "K20X" };
    let fitted = |word: &str| {
        model.fitted_to.iter().any(|fitted| fitted.starts_with("Table 4.2") && [word, column].iter().all(|w| fitted.contains(w)))
    };
    let verdict = |holds: bool, fitted: bool| match (fitted, holds) {
        (true, holds) => Verdict::Fitted { holds },
        (false, true) => Verdict::Holds,
        (false, false) => Verdict::Misses,
    };
    let best = optimum(&rates);
    let class = class(&rates);
    let curve = rates.iter().map(|rate| format!("{rate:.2}")).collect::<Vec<_>>().join(" ");
    let mut add = |what, ours: String, published: String, verdict| {
        cells.push(Cell { kernel: kernel.name.clone(), machine, what, ours, published, verdict });
    };
    add("CTAs per core", most.to_string(), published.max.to_string(), verdict(most == published.max, fitted("Max")));
    add(CURVE, curve, "-".into(), Verdict::Shown);
    add("optimum", best.to_string(), published.opt.to_string(), verdict(best.abs_diff(published.opt) <= 1, fitted("Opt")));
    // A kernel whose optimum is the most CTAs is C-strong by definition (4.3.1.2).
    let contradicted = published.opt == published.max && published.class != Class::Strong;
    let verdict = if contradicted { Verdict::Contradicted } else { verdict(class == published.class, fitted("Type")) };
    add("class", class.name().into(), published.class.name().into(), verdict);
    Ok(Curve { kernel: kernel.name.clone(), machine, rates, published: *published })
}

fn cores(kernel: &Kernel, published: CoreType, options: &Options) -> Result<Cell, String> {
    // Table 4.4's grids are long, so a stretch of the run is compared even where the model's is shorter; a longer one than for CTAs, since
    // one core of 32 is 3 %, and rates of some kernels go up and down by as much with the rows of their grids.
    let cycles = Some(options.cycles * 5 / 2);
    let [all, less] =
        [32, 31].map(|sms| Job { cycles, ..job(kernel, MANY, "gpu.sms", sms, options, false) }.rate(options.cache.as_deref()));
    let share = less? / all?.max(f64::MIN_POSITIVE);
    let found = if share >= 1.0 - STEP { CoreType::A } else { CoreType::B };
    let verdict = if found == published { Verdict::Holds } else { Verdict::Misses };
    let ours = format!("{found:?} ({:.1} % with 31)", 100.0 * share);
    Ok(Cell { kernel: kernel.name.clone(), machine: MANY, what: "cores", ours, published: format!("{published:?}"), verdict })
}

/// A run of `kernel` with one key of the machine set, to the end of the grid when `whole`.
pub(super) fn job(kernel: &Kernel, machine: &'static str, key: &str, value: u32, options: &Options, whole: bool) -> Job {
    let settings = vec![(key.to_owned(), value.to_string())];
    Job { machine, settings, workload: workload(kernel), parameters: as_published(kernel), cycles: (!whole).then_some(options.cycles) }
}

/// The count after which no increase gives 2 %, be it of one CTA or of several; `rates` begins with one CTA.
///
/// A curve may lie flat between two counts and rise again: what it gains behind that would be lost to an optimum that is taken from
/// the step alone.
pub(in crate::study) fn optimum(rates: &[f64]) -> u32 {
    let enough = |(i, rate): (usize, &f64)| rates[i..].iter().all(|more| *more < rate * (1.0 + STEP));
    1 + rates.iter().enumerate().position(enough).unwrap_or(0) as u32
}

/// The count after which one CTA more gives less than 2 %: the other reading of [`optimum`], shown beside it.
pub(super) fn optimum_by_steps(rates: &[f64]) -> u32 {
    1 + rates.windows(2).take_while(|pair| pair[1] >= pair[0] * (1.0 + STEP)).count() as u32
}

/// The class of a kernel with these rates.
pub(super) fn class(rates: &[f64]) -> Class {
    let best = rates.iter().copied().fold(0.0, f64::max);
    match rates.last() {
        Some(&last) if last < best * (1.0 - STEP) => Class::Mem,
        _ if optimum(rates) as usize == rates.len() => Class::Strong,
        _ => Class::Weak,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_optimum_is_the_count_after_which_no_increase_gives_2_percent() {
        assert_eq!(optimum(&[1.0, 1.5, 1.9, 1.93, 1.935]), 3);
        assert_eq!(optimum(&[1.0, 1.5, 1.9, 1.93, 2.5]), 5, "a flat step is not the end");
        assert_eq!(optimum(&[1.0, 1.5, 1.9, 1.93, 1.95]), 4, "two steps of less than 2 % are one of more");
        assert_eq!(optimum(&[1.0, 1.5, 1.4, 1.2]), 2);
        assert_eq!(optimum(&[1.0, 1.1, 1.2]), 3);
        assert_eq!(optimum(&[1.0]), 1);
        assert_eq!(optimum(&[0.0, 0.0]), 1, "nothing ran");
    }

    #[test]
    fn the_optimum_by_steps_is_the_count_after_which_one_more_gives_less_than_2_percent() {
        assert_eq!(optimum_by_steps(&[1.0, 1.5, 1.9, 1.93, 2.5]), 3);
        assert_eq!(optimum_by_steps(&[1.0, 1.1, 1.2]), 3);
    }

    #[test]
    fn classes_follow_from_the_end_of_the_curve() {
        assert_eq!(class(&[1.0, 1.5, 1.9]), Class::Strong);
        assert_eq!(class(&[1.0, 1.5, 1.51]), Class::Weak);
        assert_eq!(class(&[1.0, 1.5, 1.4]), Class::Mem);
    }

    #[test]
    fn a_study_gives_the_same_bytes_with_one_thread_and_with_two() {
        let files = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let options = Options { cycles: 2000, only: Some("hotspot".into()), cache: None };
            pool.install(|| run(&options).unwrap().files().unwrap())
        };
        let one = files(1);
        let names: Vec<&str> = one.iter().map(|file| file.name.as_str()).collect();
        assert!(["table.csv", "index.html", "optima-m2090.png", "k20x-c-strong.svg"].iter().all(|name| names.contains(name)), "{names:?}");
        assert!(one == files(2));
    }

    #[test]
    fn what_needs_no_run_is_compared_with_the_thesis() {
        let published = published();
        let kernel = published.kernel.iter().find(|kernel| kernel.name == "lud").unwrap();
        let mut cells = Vec::new();
        phases(kernel, kernel.phases.as_ref().unwrap(), &mut cells).unwrap();
        assert!(cells.iter().all(|cell| cell.verdict.holds() == Some(true)));
        assert_eq!(cells.len(), 4);
    }
}
