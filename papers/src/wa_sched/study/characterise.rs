//! `study characterise`: each kernel of the thesis alone on its machines, compared with the published tables.
//!
//! CTAs per core follow from the resources of a CTA; phases from the instructions and the latencies that the thesis's compiler
//! adds up. The optimum of CTAs per core is found by running with every limit: it is "the count after which increasing the number
//! of blocks resulted in less than 2 % performance improvement" (4.3.3.2), where an increase may be of several CTAs. A
//! kernel is MEM if the maximum of CTAs is more than 2 % slower than the best count, C-strong if the optimum is the maximum, and
//! otherwise C-weak. It is of type A if 31 of 32 cores give 98 % of the performance (4.4).

use rayon::prelude::*;

use warpshard_lab::error::TaskError;
use warpshard_workload::phases::{Latencies, LongOps, Phases};
use warpshard_report::bars::{BarGroup, Bars};
use warpshard_report::plot::{PlotForm, Plot, Series};
use warpshard_lab::job::{Job, Run};
use warpshard_lab::output::StudyOutput;
use warpshard_lab::request::Request;
use warpshard_lab::statistics::{mean, percent_over};
use warpshard_lab::verdict::{Aggregate, RunEnd, Headline, Verdict};

use super::{CtaClass, CoreType, CtaCells, KernelGrid, ThesisKernel, PhaseCells, StudyError, Thesis, kernel_library, optimal_ctas};

/// A row of the table: one quantity of a kernel, ours and published.
struct QuantityRow {
    kernel: String,
    machine: &'static str,
    quantity: &'static str,
    ours: String,
    published: String,
    band: String,
    kind: &'static str,
    /// The verdict; `None` if the thesis publishes no value.
    verdict: Option<Verdict>,
    /// `true` if the model was fitted to this value.
    fitted: bool,
    /// `true` if the trivial guess holds; `None` without a guess.
    trivial: Option<bool>,
    ended: RunEnd,
    /// The result with the user's policy and warp order.
    candidate: String,
}

impl QuantityRow {
    fn new(kernel: &ThesisKernel, machine: &'static str, quantity: &'static str, ours: String) -> Self {
        Self {
            kernel: kernel.name.clone(),
            machine,
            quantity,
            ours,
            published: "-".into(),
            band: "-".into(),
            kind: "-",
            verdict: None,
            fitted: false,
            trivial: None,
            ended: RunEnd::Whole,
            candidate: "-".into(),
        }
    }

    fn with_number(self, ours: u32, published: u32, band: &str) -> Self {
        let claim = kernel_library().band(band).around(published.into());
        let verdict = Some(claim.grade(Some(ours.into())));
        Self { published: claim.published(), band: claim.band(), kind: claim.kind(), verdict, ..self }
    }

    fn with_class(self, published: &str) -> Self {
        let verdict = Some(Verdict::of(self.ours.starts_with(published)));
        Self { published: published.into(), band: "equal".into(), kind: "class", verdict, ..self }
    }

    fn with_contradiction(self, contradicted: bool) -> Self {
        Self { verdict: if contradicted { Some(Verdict::Contradicted) } else { self.verdict }, ..self }
    }

    fn figure_holds(&self) -> Option<bool> {
        self.verdict.filter(|verdict| *verdict != Verdict::Contradicted).map(|verdict| verdict == Verdict::Holds)
    }

    fn cells(&self) -> Vec<String> {
        let fitted = if self.fitted { " (fitted)" } else { "" };
        let verdict = self.verdict.map_or_else(|| "-".into(), |verdict| format!("{}{fitted}", verdict.name()));
        let run = if self.ended == RunEnd::Cut { "cut" } else { "whole" };
        let Self { kernel, machine, quantity, ours, published, band, kind, .. } = self;
        [kernel.as_str(), machine, quantity, ours, published, band, kind, &verdict, run].map(String::from).into()
    }
}

const TABLE_COLUMNS: [&str; 9] = ["kernel", "machine", "quantity", "ours", "published", "band", "kind", "verdict", "run"];

/// A kernel on a machine of Table 4.2, run with every CTA limit.
struct CtaSweep {
    kernel: &'static ThesisKernel,
    machine: &'static str,
    column: &'static str,
    published: CtaCells,
    grid: KernelGrid,
    /// A job per CTA limit, and one more with the user's policy and warp order.
    jobs: Vec<Job>,
    runs: Vec<Run>,
}

impl CtaSweep {
    fn new(
        thesis: &Thesis<'_>,
        kernel: &'static ThesisKernel,
        machine: &'static str,
        column: &'static str,
        published: CtaCells,
    ) -> Result<Self, TaskError> {
        let job = thesis.kernel_job(kernel, machine, &kernel.table_4_2);
        let grid = KernelGrid::from_job(&job)?;
        let job = job.cycles((!grid.whole).then_some(thesis.cycles));
        let limits = (1..=grid.most).map(|limit| job.clone().set("gpu.sm.max_ctas", limit));
        let candidate = thesis.candidate.iter().map(|candidate| candidate.apply(&job.clone().set("gpu.sm.max_ctas", grid.most)));
        let jobs = limits.chain(candidate).collect();
        Ok(Self { kernel, machine, column, published, grid, jobs, runs: Vec::new() })
    }

    fn rate(&self, i: usize) -> f64 {
        self.runs[i].steady_rate(self.jobs[i].cycles)
    }

    fn rates(&self) -> Vec<f64> {
        (0..self.grid.most as usize).map(|i| self.rate(i)).collect()
    }

    fn cells(&self) -> [QuantityRow; 4] {
        let Self { kernel, machine, column, published, grid, .. } = self;
        let (rates, step) = (self.rates(), kernel_library().own.parameters.step);
        let (best, class) = (optimal_ctas(&rates, step), CtaClass::from_rates(&rates, step));
        let all = grid.most as usize;
        let candidate = (self.runs.len() > all).then(|| {
            let rate = self.rate(all);
            format!("{rate:.2} ({:+.1} %)", percent_over(rate, rates[all - 1]))
        });
        let curve = rates.iter().map(|rate| format!("{rate:.2}")).collect::<Vec<_>>().join(" ");
        let ended = if self.runs.iter().all(|run| run.ended) { RunEnd::Whole } else { RunEnd::Cut };
        let new = |quantity, ours| QuantityRow { ended, ..QuantityRow::new(kernel, machine, quantity, ours) };
        let fitted = |word: &str| grid.is_fitted_to("Table 4.2", &[word, column]);
        let near = |count: u32| kernel_library().band("optimum").around(published.opt.into()).grade(Some(count.into())) == Verdict::Holds;
        // A kernel whose optimum is the maximum of CTAs is C-strong by definition (4.3.1.2).
        let contradicted = published.opt == published.max && published.class != CtaClass::Strong;
        let most = QuantityRow::new(kernel, machine, "CTAs per core", grid.most.to_string()).with_number(grid.most, published.max, "ctas");
        [
            QuantityRow { fitted: fitted("Max"), ..most },
            QuantityRow { candidate: candidate.unwrap_or_else(|| "-".into()), ..new(IPC_CURVE, curve) },
            QuantityRow {
                fitted: fitted("Opt"),
                trivial: Some(near(grid.most)),
                ..new("optimum", best.to_string()).with_number(best, published.opt, "optimum")
            },
            QuantityRow {
                fitted: fitted("Type"),
                trivial: Some(published.class == CtaClass::Strong),
                ..new("class", class.name().into()).with_class(published.class.name()).with_contradiction(contradicted)
            },
        ]
    }
}

/// Quantity of the rows with the machine's warp instructions per core cycle, for 1 CTA per core and up.
const IPC_CURVE: &str = "IPC by CTAs";
/// Quantities of the rows about phases.
const PHASE_QUANTITIES: [&str; 3] = ["phases", "longest phase", "shortest phase"];

/// Runs the study.
///
/// # Errors
/// Fails if `--only` names no kernel, or a kernel or machine cannot be run.
pub(crate) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    run(&Thesis::new(request))
}

fn run(thesis: &Thesis<'_>) -> Result<StudyOutput, StudyError> {
    let kernels = thesis.kernels("the thesis", |_| true)?;
    let columns: Vec<_> =
        kernels.iter().flat_map(|kernel| kernel.machine_columns().map(|(machine, column, cells)| (*kernel, machine, column, cells))).collect();
    let sweeps = columns.par_iter().map(|(kernel, machine, column, cells)| CtaSweep::new(thesis, kernel, machine, column, *cells));
    let mut sweeps: Vec<CtaSweep> = sweeps.collect::<Result<_, _>>().map_err(StudyError::input)?;
    let of_cores: Vec<(&ThesisKernel, CoreType)> = kernels.iter().filter_map(|kernel| Some((*kernel, kernel.cores?))).collect();
    let jobs: Vec<Job> = sweeps
        .iter()
        .flat_map(|sweep| sweep.jobs.iter().cloned())
        .chain(of_cores.iter().flat_map(|(kernel, _)| cores_jobs(thesis, kernel)))
        .collect();
    let mut runs = thesis.lab.run_tasks(&jobs).map_err(StudyError::input)?.into_iter();
    for sweep in &mut sweeps {
        sweep.runs = runs.by_ref().take(sweep.jobs.len()).collect();
    }
    let mut cells = Vec::new();
    for kernel in &kernels {
        if let Some(published) = &kernel.phases {
            cells.extend(phase_rows(thesis, kernel, published).map_err(StudyError::input)?);
        }
        cells.extend(sweeps.iter().filter(|sweep| sweep.kernel.name == kernel.name).flat_map(CtaSweep::cells));
        if let Some(published) = kernel.cores {
            let found: Vec<(Job, Run)> = cores_jobs(thesis, kernel).into_iter().zip(runs.by_ref()).collect();
            cells.push(core_rows(kernel, published, &found).map_err(StudyError::input)?);
        }
    }
    Ok(report(thesis, &cells, &sweeps))
}

fn report(thesis: &Thesis<'_>, cells: &[QuantityRow], sweeps: &[CtaSweep]) -> StudyOutput {
    let title = format!("kernels of the thesis, each alone, compared with {}; runs of {} cycles", kernel_library().source, thesis.cycles);
    let mut output = StudyOutput::new("characterise", title);
    let candidate = thesis.candidate_name();
    output.columns(&TABLE_COLUMNS.into_iter().chain(candidate.as_deref()).collect::<Vec<_>>());
    for cell in cells {
        output.row(cell.cells().into_iter().chain(candidate.iter().map(|_| cell.candidate.clone())).collect());
        cell.verdict.into_iter().for_each(|verdict| output.count_verdict(verdict));
    }
    let mut share = |name: &str, quantities: &[&str], guess: Option<&str>| {
        let graded: Vec<&QuantityRow> = cells.iter().filter(|cell| quantities.contains(&cell.quantity) && cell.figure_holds().is_some()).collect();
        let percent = |holds: bool| 100.0 * f64::from(u8::from(holds));
        let trivial = mean(graded.iter().filter_map(|cell| cell.trivial).map(percent));
        let by = Aggregate {
            of: &|cells: &[&QuantityRow]| mean(cells.iter().filter_map(|cell| cell.figure_holds()).map(percent)),
            fitted: &|cell| cell.fitted,
            ended: &|cell| cell.ended,
            trivial: guess.zip(trivial),
        };
        if !graded.is_empty() {
            output.headline(name, &Headline::new(&graded, &by));
        }
    };
    share("CTAs per core equal, %", &["CTAs per core"], None);
    share("class equal, %", &["class"], Some("all CTAs: C-strong"));
    share("optimum within 1, %", &["optimum"], Some("all CTAs"));
    share("phase counts and lengths within 15 %, %", &PHASE_QUANTITIES, None);
    share("type A or B equal, %", &["cores"], Some("all of type A"));
    add_plots(&mut output, sweeps);
    for cell in cells.iter().filter(|cell| cell.figure_holds() == Some(false)) {
        output.note(format!("miss: {} on {}: {} is {}, published {}", cell.kernel, cell.machine, cell.quantity, cell.ours, cell.published));
    }
    output
}

fn phase_rows(thesis: &Thesis<'_>, kernel: &ThesisKernel, published: &PhaseCells) -> Result<[QuantityRow; 4], TaskError> {
    let machine = kernel_library().own.machines.phases.as_str();
    let grid = KernelGrid::from_job(&Job { parameters: Vec::new(), ..thesis.kernel_job(kernel, machine, &kernel.table_4_2) })?;
    let model = crate::catalogue().model(&kernel.model_name(), 1, &[])?;
    let found = Phases::of_kernel(&model.kernels[0].kernel, &Latencies::COMPILER_PASS, LongOps::All);
    let table = format!("Table {}", published.table);
    let cell = |quantity: &'static str, key: &str, ours: u32, theirs: u32, band| {
        let contradicted = published.contradicted.iter().any(|contradicted| contradicted == key);
        let cell = QuantityRow::new(kernel, machine, quantity, ours.to_string()).with_number(ours, theirs, band).with_contradiction(contradicted);
        QuantityRow { fitted: grid.is_fitted_to(&table, &[quantity]), ..cell }
    };
    Ok([
        cell("CTAs per core", "ctas", grid.most, published.ctas, "ctas"),
        cell(PHASE_QUANTITIES[0], "total", found.list().len() as u32, published.total, "phases"),
        cell(PHASE_QUANTITIES[1], "longest", found.longest().into(), published.longest, "phases"),
        cell(PHASE_QUANTITIES[2], "shortest", found.shortest().into(), published.shortest, "phases"),
    ])
}

/// Returns the jobs of a kernel with 32 and with 31 cores, both cut at the same cycle: the grids of Table 4.4 are long, while the
/// model's grid may be shorter.
fn cores_jobs(thesis: &Thesis<'_>, kernel: &ThesisKernel) -> [Job; 2] {
    let own = &kernel_library().own;
    let cycles = Some((thesis.cycles as f64 * own.parameters.longer) as u64);
    [32, 31].map(|sms| thesis.kernel_job(kernel, &own.machines.cores, &Default::default()).set("gpu.sms", sms).cycles(cycles))
}

fn core_rows(kernel: &ThesisKernel, published: CoreType, found: &[(Job, Run)]) -> Result<QuantityRow, TaskError> {
    let own = &kernel_library().own;
    let rate = |(job, run): &(Job, Run)| run.steady_rate(job.cycles);
    let [all, less] = [&found[0], &found[1]];
    let share = rate(less) / rate(all).max(f64::MIN_POSITIVE);
    let of_type = if share >= 1.0 - own.parameters.step { CoreType::A } else { CoreType::B };
    let ours = format!("{of_type:?} ({:.1} % with 31)", 100.0 * share);
    let cell = QuantityRow::new(kernel, &own.machines.cores, "cores", ours).with_class(&format!("{published:?}"));
    let fitted = KernelGrid::from_job(&all.0)?.is_fitted_to("Table 4.4", &[]);
    Ok(QuantityRow { fitted, trivial: Some(published == CoreType::A), ended: all.1.run_end(), ..cell })
}

/// Plots the curves by machine and published class, in the manner of Figure 4.1, and the optima.
fn add_plots(output: &mut StudyOutput, sweeps: &[CtaSweep]) {
    for (column, optima, by_class) in PLOT_FILES {
        let of = || sweeps.iter().filter(move |sweep| sweep.column == column);
        for (class, name) in CtaClass::ALL.into_iter().zip(by_class) {
            let relative = |sweep: &CtaSweep| {
                let rates = sweep.rates();
                let best = rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
                (1u32..).zip(&rates).map(|(ctas, rate)| (f64::from(ctas), rate / best)).collect()
            };
            let series = of().filter(|sweep| sweep.published.class == class);
            let series: Vec<Series> = series.map(|sweep| Series { name: sweep.kernel.name.clone(), points: relative(sweep) }).collect();
            if !series.is_empty() {
                let title = format!("Kernels published as {} ({column})", class.name());
                output.plot(name, Plot { title, x: "CTAs per core".into(), y: "IPC over the best".into(), form: PlotForm::Lines, series });
            }
        }
        let best = |sweep: &CtaSweep| optimal_ctas(&sweep.rates(), kernel_library().own.parameters.step);
        let group = |sweep: &CtaSweep| BarGroup {
            name: sweep.kernel.name.clone(),
            values: [sweep.grid.most, sweep.published.opt, best(sweep)].map(f64::from).into(),
        };
        let groups: Vec<BarGroup> = of().map(group).collect();
        if !groups.is_empty() {
            let series = ["all", "published optimum", "our optimum"].map(String::from).into();
            output.bars(optima, Bars { title: format!("CTAs per core ({column})"), y: "CTAs".into(), series, groups, line: None });
        }
    }
}

/// The plot files of each machine: one for the optima, and one per published class.
const PLOT_FILES: [(&str, &str, [&str; 3]); 2] = [
    (
        "M2090",
        "optima-m2090.svg",
        ["m2090-c-strong.svg", "m2090-c-weak.svg", "m2090-mem.svg"],
    ),
    (
        "K20X",
        "optima-k20x.svg",
        ["k20x-c-strong.svg", "k20x-c-weak.svg", "k20x-mem.svg"],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn request_for(only: &str, cycles: u64) -> (Request, u64) {
        (Request { only: Some(only.into()), ..Request::default() }, cycles)
    }

    fn short_study(request: &Request, cycles: u64) -> StudyOutput {
        let thesis = Thesis { cycles, ..Thesis::new(request) };
        run(&thesis).unwrap()
    }

    #[test]
    fn a_study_gives_the_same_bytes_with_one_thread_and_with_two() {
        let (request, cycles) = request_for("hotspot", 2000);
        let files = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| short_study(&request, cycles).files().unwrap())
        };
        let one = files(1);
        let names: Vec<&str> = one.iter().map(|file| file.name.as_str()).collect();
        assert!(["table.csv", "index.html", "optima-m2090.svg", "k20x-c-strong.svg"].iter().all(|name| names.contains(name)), "{names:?}");
        assert!(one == files(2));
    }

    #[test]
    fn a_policy_of_the_user_is_a_column_and_cut_runs_are_marked() {
        let (request, cycles) = request_for("hotspot", 2000);
        let request = Request { policy: vec!["static_limit:ctas=1".into()], ..request };
        let output = short_study(&request, cycles);
        let with: Vec<&str> = output.column("static_limit:ctas=1").unwrap().into_iter().filter(|cell| *cell != "-").collect();
        assert!(with.len() == 2 && with.iter().all(|cell| cell.contains("(-")), "{with:?}");
        let runs = output.column("run").unwrap();
        assert!(runs.contains(&"cut") && runs.contains(&"whole"), "{runs:?}");
        assert!(output.compared().1.iter().any(|row| row.last().is_some_and(|runs| runs.contains("cut"))));
    }

    #[test]
    fn cells_without_runs_are_compared_with_the_thesis() {
        let request = Request::default();
        let kernel = kernel_library().own.kernel_named("lud").unwrap();
        let cells = phase_rows(&Thesis::new(&request), kernel, kernel.phases.as_ref().unwrap()).unwrap();
        assert!(cells.iter().all(|cell| cell.figure_holds() == Some(true) && cell.fitted));
    }
}
