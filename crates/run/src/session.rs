//! The steps of a run: [`OpenedRun`] has a machine, [`LoadedRun`] also has a workload, and [`FinishedRun`] has the contents of a result folder.

use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Instant;

use warpshard_chip::host::Ranks;
use warpshard_chip::{Checkpoints, CpuApplication, CpuEnd, CpuLoad, Live, Progress, RunOptions, RunResult, Scaling};
use warpshard_config::{Loaded, Machine};
use warpshard_control::Controller;
use warpshard_energy::Model;
use warpshard_policy::common::InstructionLimit;
use warpshard_report::frame::NoParquet;
use warpshard_report::metrics::THREAD_INSTRUCTIONS;
use warpshard_report::picture::PictureError;
use warpshard_report::text::Style;
use warpshard_report::{ResultFile, RunFacts, Target, csv, energy, json, summary};
use warpshard_stats::activity::{Activity, RecordingSelection};
use warpshard_stats::{EndedBy, HostFacts, Outcome};
use warpshard_sync::{Published, StopFlag};
use warpshard_trace::DecodeClock;
use warpshard_workload::Workload;

use super::configuration::{configuration_of, suffix};
use super::inputs::{self, Settings, WorkloadOrigin};
use super::request::{DEFAULT_MODEL, Request, RunCondition, WorkloadSource};
use super::run_toml::run_table;
use super::select::{select, select_matching, skip_launches};
use super::threads::{ThreadCount, usable_threads};
use super::{Catalogue, Error, applications, checkpoint, fits, sampled};

/// Simulates a request, with names of `catalogue`.
///
/// ```
/// use warpshard_run::{Catalogue, Request, WorkloadSource, simulate};
///
/// let request = Request { machine: "tiny".into(), workload: Some(WorkloadSource::Model("vecadd".into())), ..Request::default() };
/// let finished = simulate(Catalogue::core(), &request)?;
/// assert!(finished.outcome.cycles > 0);
/// # Ok::<(), warpshard_run::Error>(())
/// ```
///
/// # Errors
/// Fails if any part of the request is invalid, or the simulation fails.
pub fn simulate(catalogue: &Catalogue, request: &Request) -> Result<FinishedRun, Error> {
    OpenedRun::new(catalogue, request)?.load()?.simulate(Vec::new(), StopFlag::new(), None)
}

/// A run with a loaded machine.
#[derive(Debug)]
pub struct OpenedRun<'a> {
    catalogue: &'a Catalogue,
    request: &'a Request,
    arguments: Vec<String>,
    settings: Settings,
    loaded: Loaded,
    threads: ThreadCount,
    started: Instant,
}

impl<'a> OpenedRun<'a> {
    /// Loads the machine.
    ///
    /// # Errors
    /// All errors of the machine and of its event energies.
    pub fn new(catalogue: &'a Catalogue, request: &'a Request) -> Result<Self, Error> {
        let started = Instant::now();
        request.check()?;
        let loaded = catalogue.machine(&request.machine, &Settings::of(&request.set).machine)?;
        Ok(Self { started, ..Self::with_machine(catalogue, request, loaded)? })
    }

    /// Uses a loaded machine instead of the machine that the request names.
    ///
    /// # Errors
    /// Fails if the machine's event energies cannot be read.
    pub fn with_machine(catalogue: &'a Catalogue, request: &'a Request, loaded: Loaded) -> Result<Self, Error> {
        let (started, settings) = (Instant::now(), Settings::of(&request.set));
        request.check()?;
        Model::of(&loaded.machine)?;
        Ok(Self { catalogue, request, arguments: Vec::new(), settings, loaded, threads: usable_threads(request.threads), started })
    }

    /// Records the given command line, including the name of the program, for `host.json`.
    #[must_use]
    pub fn with_arguments(self, arguments: Vec<String>) -> Self {
        Self { arguments, ..self }
    }

    /// Returns the machine.
    pub fn machine(&self) -> &Machine {
        &self.loaded.machine
    }

    /// Returns the machine with the origin of its values.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Returns warnings about valid settings that are probably not intended, and notes about settings that were not applied as requested.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let of_machine = self.loaded.warnings.iter().map(|warning| format!("warning: {}", warning.to_string().trim_end()));
        of_machine.chain(self.threads.note.clone())
    }

    /// Loads the workload that the request names.
    ///
    /// # Errors
    /// Fails if the workload, the selection of kernels or the load of the CPU cores is invalid.
    pub fn load(self) -> Result<LoadedRun<'a>, Error> {
        let clock = Arc::new(DecodeClock::default());
        let (mut workload, origin) = self.workload(&clock)?;
        workload.notes.extend(fits::workload_notes(self.machine(), &workload)?);
        self.ready(workload, origin, clock)
    }

    /// Uses a workload in memory instead of the workload that the request names. Its results contain no configuration, because no command
    /// would repeat them.
    ///
    /// # Errors
    /// Fails if the load of the CPU cores is invalid.
    pub fn with_workload(self, workload: Workload) -> Result<LoadedRun<'a>, Error> {
        self.ready(workload, WorkloadOrigin::Memory, Arc::new(DecodeClock::default()))
    }

    fn ready(self, workload: Workload, origin: WorkloadOrigin, clock: Arc<DecodeClock>) -> Result<LoadedRun<'a>, Error> {
        let Self { catalogue, request, arguments, loaded, threads, started, .. } = self;
        let (checkpoints, resumed) = match &origin {
            WorkloadOrigin::Memory if request.checkpoint_every.is_some() || request.resume.is_some() => {
                let problem = "checkpoints: a workload of the calling program cannot be loaded again; use a file, or a built-in model";
                return Err(Error::Usage(problem.into()));
            }
            _ => checkpoint::of(catalogue, request, &loaded)?,
        };
        let cpu = cpu_load(request, &loaded.machine)?;
        let recording = recording(request, &loaded.machine)?;
        let configuration = (!matches!(origin, WorkloadOrigin::Memory)).then(|| configuration_of(request, &arguments));
        let facts = RunFacts {
            configuration,
            code: fits::architectures(&workload),
            launches: warpshard_chip::launches(&loaded.machine, &workload),
            measurements: catalogue.measurements(),
            ..RunFacts::of(&loaded.machine, &workload.name, request.seed)
        };
        let prepared = started.elapsed().as_secs_f64() - clock.seconds();
        let ready = LoadedRun {
            catalogue,
            request,
            loaded,
            workload: Arc::new(workload),
            origin,
            clock,
            threads,
            cpu,
            recording,
            facts,
            prepared,
            ranks: None,
            checkpoints,
            resumed,
        };
        Ok(ready)
    }

    fn workload(&self, clock: &Arc<DecodeClock>) -> Result<(Workload, WorkloadOrigin), Error> {
        let (catalogue, request, settings) = (self.catalogue, self.request, &self.settings);
        let without_parameters = |why: &str| match settings.model.first() {
            Some((key, _)) => Err(Error::Usage(format!("--set workload.{key}: {why}"))),
            None => Ok(()),
        };
        let (workload, origin) = match &request.workload {
            Some(WorkloadSource::Applications { apps, once, .. }) => {
                without_parameters("with --app, models keep the values of their files")?;
                let apps = applications::resolve_applications(catalogue, apps)?;
                let workload = applications::workload(catalogue, (self.machine(), request), (&apps, *once), self.threads.count, clock)?;
                return Ok((workload, WorkloadOrigin::Applications));
            }
            Some(WorkloadSource::Trace(path)) => {
                without_parameters("a trace has no parameters; only kernel models have them")?;
                // Most launches of a sampled trace are never decoded.
                let load = if request.sample.is_some() { inputs::sampled_trace } else { inputs::trace };
                load(path, self.threads.count, request.lenient, clock)?
            }
            Some(WorkloadSource::Program { file, arch }) => {
                inputs::program(file, *arch, &self.loaded.machine, &settings.model, request.workload_options(self.threads.count))?
            }
            model => {
                let name = if let Some(WorkloadSource::Model(name)) = model { name } else { DEFAULT_MODEL };
                inputs::model_workload(name, &inputs::model(catalogue, name, request.seed, &settings.model)?)
            }
        };
        let workload = match &request.kernels {
            Some(wanted) => select(workload, wanted)?,
            None => workload,
        };
        let workload = match &request.only {
            Some(pattern) => select_matching(workload, pattern)?,
            None => workload,
        };
        let workload = if request.skip > 0 { skip_launches(workload, request.skip)? } else { workload };
        Ok((workload, origin))
    }
}

/// A run with a machine and a workload, ready to be simulated.
#[derive(Debug)]
pub struct LoadedRun<'a> {
    catalogue: &'a Catalogue,
    request: &'a Request,
    loaded: Loaded,
    workload: Arc<Workload>,
    origin: WorkloadOrigin,
    clock: Arc<DecodeClock>,
    threads: ThreadCount,
    cpu: Option<CpuLoad>,
    recording: Option<RecordingSelection>,
    facts: RunFacts,
    /// Seconds spent loading, without decoding.
    prepared: f64,
    ranks: Option<Box<dyn Ranks>>,
    checkpoints: Checkpoints,
    resumed: Option<String>,
}

impl LoadedRun<'_> {
    /// Returns this run, to be simulated together with other processes.
    #[must_use]
    pub fn in_ranks(self, ranks: Box<dyn Ranks>) -> Self {
        Self { ranks: Some(ranks), ..self }
    }

    /// Returns the name of a result folder: the machine's name, the workload's name and the changed options.
    pub fn folder_name(&self) -> String {
        file_name(&format!("{}-{}{}", self.facts.machine, self.facts.workload, suffix(self.request)))
    }

    /// Returns `run.toml`: every value of the run with its origin.
    pub fn run_toml(&self) -> String {
        let (threads, kernels) = ((self.threads.count, self.threads.origin.as_str()), self.workload.kernels.len());
        self.loaded.provenance.to_toml() + &run_table(self.request, &self.origin, threads, kernels, &self.facts)
    }

    /// Returns a message for the user about the cycle from which the run resumes; `None` for a new run.
    pub fn resumed(&self) -> Option<&str> {
        self.resumed.as_deref()
    }

    /// Returns a readable title: the workload and the machine.
    pub fn title(&self) -> String {
        format!("{} on {}", self.facts.workload, self.facts.machine)
    }

    /// Simulates the run. The controllers of the request come first, then `controllers`. The run ends at the next cut after a request
    /// through `stop`, and publishes its progress in `progress`.
    ///
    /// # Errors
    /// Fails if a controller cannot be created, the workload does not fit the machine, the trace is corrupt, or the machine deadlocks.
    pub fn simulate(
        self,
        controllers: Vec<Box<dyn Controller>>,
        stop: StopFlag,
        progress: Option<Published<Progress>>,
    ) -> Result<FinishedRun, Error> {
        self.simulate_watched(controllers, stop, progress, None)
    }

    /// Simulates the run like [`LoadedRun::simulate`], with a `live` view that may pause it.
    ///
    /// # Errors
    /// See [`LoadedRun::simulate`].
    pub fn simulate_watched(
        self,
        controllers: Vec<Box<dyn Controller>>,
        stop: StopFlag,
        progress: Option<Published<Progress>>,
        live: Option<Live>,
    ) -> Result<FinishedRun, Error> {
        let run_toml = self.run_toml();
        let Self {
            catalogue,
            request,
            loaded,
            workload,
            origin: _,
            clock,
            threads,
            cpu,
            recording,
            facts,
            prepared,
            ranks,
            checkpoints,
            resumed: _,
        } = self;
        let mut facts = facts;
        if let Some(configuration) = facts.configuration.as_mut().filter(|_| !controllers.is_empty()) {
            let names: Vec<&str> = controllers.iter().map(|controller| controller.name()).collect();
            configuration.command += &format!(" # and controllers of the calling program: {}", names.join(", "));
            configuration.options.insert("controllers".into(), names.into());
        }
        let mut all = controllers_of(catalogue, &request.policies)?;
        all.extend(controllers);
        let limit = request.max_instructions.map(NonZeroU64::get);
        all.extend(limit.map(|limit| Box::new(InstructionLimit::new(limit)) as Box<dyn Controller>));
        let options = || RunOptions {
            threads: threads.count,
            scaling: Scaling::Adaptive,
            epoch: request.epoch.map(NonZeroU64::get),
            relaxed: request.relaxed,
            max_cycles: request.max_cycles.map(NonZeroU64::get),
            interval: request.interval.map(NonZeroU64::get),
            pin: request.pin,
            ..RunOptions::default()
        };
        let decoded_before = clock.seconds();
        let RunResult { mut outcome, mut host, activity, .. } = match &request.sample {
            Some(_) if !all.is_empty() || cpu.is_some() || ranks.is_some() || live.is_some() => {
                let problem = "--sample: controllers, CPU cores, ranks and displays need a complete run; omit them or --sample";
                return Err(Error::Usage(problem.into()));
            }
            Some(_) if checkpoints.every.is_some() || checkpoints.resume.is_some() => {
                let problem =
                    "--sample: a sampled run has no checkpoints, since it simulates several parts of the workload; omit one of the options";
                return Err(Error::Usage(problem.into()));
            }
            Some(text) => {
                let aims = text.parse().map_err(|problem| Error::Usage(format!("--sample {text}: {problem}")))?;
                sampled::simulate(&loaded.machine, &workload, &aims, (&stop, progress.as_ref()), options)?
            }
            None => {
                let options = RunOptions { cpu, controllers: all, stop, progress, ranks, recording, live, checkpoints, ..options() };
                warpshard_chip::simulate(&loaded.machine, &workload, options)?
            }
        };
        let decoded_meanwhile = clock.seconds() - decoded_before;
        let issued: u64 = outcome.kernels.iter().filter_map(|kernel| kernel.counters.get(THREAD_INSTRUCTIONS)).sum();
        if outcome.ended_by == EndedBy::Controller && limit.is_some_and(|limit| issued >= limit) {
            outcome.ended_by = EndedBy::MaxInstructions;
        }
        applications::add_alone(catalogue, &mut outcome, &loaded, request, threads.count)?;
        host.startup_seconds += prepared;
        host.decode_seconds = clock.seconds();
        // All workers wait for decoding, so that on average each worker loses its share of the decoding time.
        host.simulate_seconds = (host.simulate_seconds - decoded_meanwhile / host.mean_workers.max(1.0)).max(0.0);
        host.peak_memory_bytes = host.peak_memory_bytes.or_else(peak_memory_bytes);
        Ok(FinishedRun { run_toml, facts, outcome: Arc::new(outcome), host, activity })
    }
}

/// Creates the requested controllers, each given as `NAME` or `NAME:KEY=VALUE,KEY=VALUE`.
///
/// # Errors
/// Fails if a policy or a parameter is unknown, or a value is invalid.
pub fn controllers_of(catalogue: &Catalogue, asked: &[String]) -> Result<Vec<Box<dyn Controller>>, Error> {
    let controller = |text: &String| catalogue.controller(text).map_err(|source| Error::Policy { text: text.clone(), source });
    asked.iter().map(controller).collect()
}

/// Returns the selection of the units and events that are recorded.
fn recording(request: &Request, machine: &Machine) -> Result<Option<RecordingSelection>, Error> {
    let Some(record) = &request.record else { return Ok(None) };
    let partitions = machine.mem.map.partitions;
    Ok(Some(RecordingSelection {
        sms: record.sms.resolve(machine.gpu.sms, "--perfetto-sms", "SM")?,
        partitions: record.partitions.resolve(partitions, "--perfetto-channels", "memory partition")?,
        from: record.from,
        most: record.most.get(),
    }))
}

/// Returns the load of the CPU cores.
fn cpu_load(request: &Request, machine: &Machine) -> Result<Option<CpuLoad>, Error> {
    let cpu = &request.cpu;
    if cpu.applications.is_empty() {
        return Ok(None);
    }
    let cores = machine.cpu.as_ref().map_or(0, |cpu| cpu.count);
    let load = CpuLoad {
        applications: CpuApplication::all(&cpu.applications, cores).map_err(Error::Cpu)?,
        warm: cpu.warm,
        measure: cpu.measure.get(),
        gpu_waits: !cpu.gpu_first,
        end: match cpu.until {
            RunCondition::Both => CpuEnd::Both,
            RunCondition::Gpu => CpuEnd::Gpu,
            RunCondition::Cpu => CpuEnd::Cpu,
        },
        seed: request.seed,
    };
    load.check(machine).map_err(Error::CpuLoad)?;
    Ok(Some(load))
}

/// The results of a run that has ended.
#[derive(Debug)]
pub struct FinishedRun {
    /// Description of the run's inputs.
    pub facts: RunFacts,
    /// All results of the simulation.
    pub outcome: Arc<Outcome>,
    /// Host statistics of the run.
    pub host: HostFacts,
    /// Every value of the run with its origin.
    pub run_toml: String,
    /// Recorded activity of single units.
    pub activity: Activity,
}

impl FinishedRun {
    /// Returns the files of the result folder, and an error if a plot could not be drawn; the other files are complete in any case.
    pub fn files(&self) -> (Vec<ResultFile>, Result<(), PictureError>) {
        let mut files = self.tables();
        let drawn = energy::pictures(&self.facts, &self.outcome).map(|pictures| files.extend(pictures));
        (files, drawn)
    }

    /// Returns the tables of kernels and intervals as Parquet.
    ///
    /// # Errors
    /// In builds without Parquet support.
    pub fn parquet(&self) -> Result<Vec<ResultFile>, NoParquet> {
        Ok(vec![
            ResultFile::new("kernels.parquet", csv::kernels_parquet(&self.facts, &self.outcome)?),
            csv::intervals_parquet(&self.outcome.intervals)?,
        ])
    }

    /// Returns a result file whose contents `writing` writes.
    fn written(&self, name: &str, writing: fn(&RunFacts, &Outcome, Target<'_>) -> io::Result<()>) -> ResultFile {
        let (facts, outcome) = (self.facts.clone(), Arc::clone(&self.outcome));
        ResultFile::streamed(name, move |to| writing(&facts, &outcome, to))
    }

    /// Returns the files of the result folder without its plots.
    pub fn tables(&self) -> Vec<ResultFile> {
        let Self { facts, outcome, host, run_toml, .. } = self;
        let mut files = vec![
            self.written("stats.json", json::write_stats),
            ResultFile::new("host.json", json::host(facts, outcome, host)),
            ResultFile::new("run.toml", run_toml.as_str()),
            self.written("kernels.csv", csv::write_kernels),
            ResultFile::streamed("intervals.csv", {
                let series = outcome.intervals.clone();
                move |to| csv::write_intervals(&series, to)
            }),
            ResultFile::new("summary.txt", summary(facts, outcome, host, Style::Plain)),
        ];
        if !outcome.timeline.is_empty() {
            files.push(ResultFile::new("timeline.csv", csv::timeline(&outcome.timeline)));
        }
        files.extend(energy::tables(facts, outcome));
        files
    }
}

/// Returns `text` as the name of a file: characters with a meaning for a file system or shell become underscores.
fn file_name(text: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '=' | ',' | '@' | '+');
    text.chars().map(|c| if safe(c) { c } else { '_' }).take(120).collect()
}

/// Returns the peak resident memory of this process in bytes, if the host reports it.
fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_with_an_unusual_name_gets_a_safe_folder_name() {
        assert_eq!(file_name("v100-../a b<int>"), "v100-.._a_b_int_");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_memory_of_this_process_is_at_least_a_megabyte() {
        assert!(peak_memory_bytes().unwrap() > 1 << 20);
    }

    #[test]
    fn a_workload_in_memory_has_no_command_that_would_repeat_it() {
        let core = Catalogue::core();
        let plain = Request { machine: "tiny".into(), threads: std::num::NonZeroU32::new(1), ..Request::default() };
        let made = || core.model("vecadd", 1, &[("n".into(), "1024".into())]).unwrap().workload();
        let run = |ready: LoadedRun<'_>| ready.simulate(Vec::new(), StopFlag::new(), None).unwrap();
        let given = run(OpenedRun::new(core, &plain).unwrap().with_workload(made()).unwrap());
        assert!(given.facts.configuration.is_none() && given.run_toml.contains("made by the calling program"));
        let workload = Some(WorkloadSource::Model("vecadd".into()));
        let request = Request { workload, set: vec![("workload.n".into(), "1024".into())], ..plain };
        let named = run(OpenedRun::new(core, &request).unwrap().load().unwrap());
        assert_eq!((given.outcome, named.facts.configuration.is_some()), (named.outcome, true));
    }

    #[test]
    fn errors_name_the_option() {
        let message = |text: &str| controllers_of(Catalogue::core(), &[text.to_owned()]).err().expect("it is refused").to_string();
        assert!(message("static_limt:ctas=1").contains("did you mean `static_limit`"));
        assert_eq!(message("static_limit:ctas"), "--policy static_limit:ctas: `ctas` is not of the form KEY=VALUE");
        assert!(message("static_limit:ctas=many").starts_with("--policy static_limit:ctas=many: policy `static_limit`: "));
    }
}
