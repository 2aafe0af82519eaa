//! A run with the options of `warpshard run`, step by step, for programs that embed the simulator such as the Python package.
//!
//! In: [`RunArgs`], from [`request`] or the command line. Out: [`Finished`], with everything that a result folder holds. The command goes the
//! same way, so that equal options give equal files.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use clap::Parser as _;
use warpshard_sync::{Published, StopFlag};

use warpshard_chip::host::Ranks;
use warpshard_chip::{Checkpoints, CpuApplication, CpuEnd, CpuLoad, Live, Progress, RunOptions, Scaling};
use warpshard_config::{Loaded, Machine};
use warpshard_control::Controller;
use warpshard_energy::Model;
use warpshard_report::frame::NoParquet;
use warpshard_report::picture::PictureError;
use warpshard_report::text::Style;
use warpshard_report::{ResultFile, RunFacts, csv, energy, json, summary};
use warpshard_stats::activity::{Activity, Recording};
use warpshard_stats::{HostFacts, Outcome};
use warpshard_trace::DecodeClock;
use warpshard_workload::Workload;

use super::args::{Cli, Command, Epoch, RunArgs, Until};
use super::exit::{Exit, Failure};
use super::inputs::{self, Origin, Settings};
use super::threads::{Threads, threads};
use super::{applications, checkpoint, configuration, policies, program, runfile, sampled, select};

/// Reads the options of a run; `arguments` begins with `warpshard run`.
///
/// # Errors
/// What the command line would answer, also where the command is another one.
pub fn request(arguments: &[OsString]) -> Result<RunArgs, Failure> {
    match Cli::try_parse_from(arguments).map(|cli| cli.command) {
        Ok(Command::Run(args)) => Ok(*args),
        Ok(_) => Err(Failure::new(Exit::Usage, "these are no options of `warpshard run`")),
        Err(message) => Err(Failure::new(Exit::Usage, message.render().to_string().trim_start_matches("error: ").trim_end())),
    }
}

/// A run whose machine is loaded.
#[derive(Debug)]
pub struct Opened<'a> {
    args: &'a RunArgs,
    arguments: &'a [OsString],
    settings: Settings,
    loaded: Loaded,
    threads: Threads,
    started: Instant,
}

impl<'a> Opened<'a> {
    /// Loads the machine. `arguments` is the command line as it was given, for `host.json`.
    ///
    /// # Errors
    /// All errors of the machine and of its event energies.
    pub fn new(args: &'a RunArgs, arguments: &'a [OsString]) -> Result<Self, Failure> {
        let started = Instant::now();
        let settings = Settings::of(&args.set);
        let loaded = crate::catalogue().machine(&args.machine, &settings.machine).map_err(|errors| Failure::new(Exit::Config, errors))?;
        Ok(Self { started, ..Self::with_machine(args, arguments, loaded)? })
    }

    /// Takes a machine that is loaded already, in place of the one that the options name.
    ///
    /// # Errors
    /// When its event energies cannot be read.
    pub fn with_machine(args: &'a RunArgs, arguments: &'a [OsString], loaded: Loaded) -> Result<Self, Failure> {
        let (started, settings) = (Instant::now(), Settings::of(&args.set));
        Model::of(&loaded.machine).map_err(|problem| Failure::new(Exit::Config, problem))?;
        Ok(Self { args, arguments, settings, loaded, threads: threads(args.threads), started })
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.loaded.machine
    }

    /// The machine with the origin of its values.
    pub(super) fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// What is allowed but probably not intended, and what was not done as asked for.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let of_machine = self.loaded.warnings.iter().map(|warning| format!("warning: {}", warning.to_string().trim_end()));
        of_machine.chain(self.threads.note.clone())
    }

    /// Loads the workload that the options name.
    ///
    /// # Errors
    /// When the workload, the selection of kernels or the load of the CPU cores is wrong.
    pub fn load(self) -> Result<Ready<'a>, Failure> {
        let clock = Arc::new(DecodeClock::default());
        let (workload, origin) = self.workload(&clock)?;
        self.ready(workload, origin, clock)
    }

    /// Takes a workload that exists in memory, in place of the one that the options name. Its results have no configuration, because no
    /// command would repeat them.
    ///
    /// # Errors
    /// When the load of the CPU cores is wrong.
    pub fn with_workload(self, workload: Workload) -> Result<Ready<'a>, Failure> {
        self.ready(workload, Origin::Memory, Arc::new(DecodeClock::default()))
    }

    fn ready(self, workload: Workload, origin: Origin, clock: Arc<DecodeClock>) -> Result<Ready<'a>, Failure> {
        let Self { args, arguments, loaded, threads, started, .. } = self;
        let (checkpoints, resumed) = match &origin {
            Origin::Memory if args.checkpoint_every.is_some() || args.resume.is_some() => {
                let problem = "checkpoints: a workload of the calling program cannot be found again; use a file, or a built-in model";
                return Err(Failure::new(Exit::Usage, problem));
            }
            _ => checkpoint::of(args, &loaded)?,
        };
        let cpu = cpu_load(args, &loaded.machine)?;
        let recording = recording(args, &loaded.machine)?;
        let configuration = (!matches!(origin, Origin::Memory)).then(|| configuration::of(args, arguments));
        let facts = RunFacts { configuration, ..RunFacts::of(&loaded.machine, &workload.name, args.seed) };
        let prepared = started.elapsed().as_secs_f64() - clock.seconds();
        let ready = Ready {
            args,
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

    fn workload(&self, clock: &Arc<DecodeClock>) -> Result<(Workload, Origin), Failure> {
        let (args, settings) = (self.args, &self.settings);
        if !args.app.is_empty() {
            if let Some((key, _)) = settings.model.first() {
                let problem = format!("--set workload.{key}: with --app, models keep the values of their files");
                return Err(Failure::new(Exit::Usage, problem));
            }
            let workload = applications::workload(args, &applications::named(&args.app)?, self.threads.count, clock)?;
            return Ok((workload, Origin::Applications));
        }
        let (workload, origin) = match &args.trace {
            Some(_) if !settings.model.is_empty() => {
                let key = &settings.model[0].0;
                return Err(Failure::new(
                    Exit::Usage,
                    format!("--set workload.{key}: a trace has no parameters; only kernel models have them"),
                ));
            }
            // Of a trace that is sampled most launches are never decoded.
            Some(path) if args.sampling.sample.is_some() => inputs::sampled_trace(path, self.threads.count, args.lenient, clock)?,
            Some(path) => inputs::trace(path, self.threads.count, args.lenient, clock)?,
            None if args.program.is_some() => {
                let path = args.program.as_deref().unwrap_or(Path::new(""));
                program::workload(path, args.arch, &settings.model)?
            }
            None => {
                let name = args.workload.as_deref().unwrap_or(inputs::DEFAULT_MODEL);
                inputs::model_workload(name, &inputs::model(name, args.seed, &settings.model)?)
            }
        };
        let workload = match &args.kernels {
            Some(wanted) => select::select(workload, wanted)?,
            None => workload,
        };
        Ok((workload, origin))
    }
}

/// Removes the checkpoint of a run that is complete.
///
/// # Errors
/// When the system refuses.
pub fn remove_checkpoint(args: &RunArgs) -> Result<(), Failure> {
    checkpoint::remove(args)
}

/// A run with all that it needs.
#[derive(Debug)]
pub struct Ready<'a> {
    args: &'a RunArgs,
    loaded: Loaded,
    workload: Arc<Workload>,
    origin: Origin,
    clock: Arc<DecodeClock>,
    threads: Threads,
    cpu: Option<CpuLoad>,
    recording: Option<Recording>,
    facts: RunFacts,
    /// Seconds of loading, without decoding.
    prepared: f64,
    ranks: Option<Box<dyn Ranks>>,
    checkpoints: Checkpoints,
    resumed: Option<String>,
}

impl Ready<'_> {
    /// The same, simulated together with other processes.
    #[must_use]
    pub fn in_ranks(self, ranks: Box<dyn Ranks>) -> Self {
        Self { ranks: Some(ranks), ..self }
    }

    /// The machine's name, the workload's, and what the options change, as the name of a result folder.
    pub fn folder_name(&self) -> String {
        file_name(&format!("{}-{}{}", self.facts.machine, self.facts.workload, configuration::suffix(self.args)))
    }

    /// Where the run goes on, for people; nothing for one that begins at its beginning.
    pub fn resumed(&self) -> Option<&str> {
        self.resumed.as_deref()
    }

    /// The workload and the machine, for people.
    pub fn title(&self) -> String {
        format!("{} on {}", self.facts.workload, self.facts.machine)
    }

    /// Simulates. The controllers of the options come first, then `controllers`. The run ends at the next cut when `stop` is requested, and
    /// shows how far it is in `progress`.
    ///
    /// # Errors
    /// When a controller cannot be made, machine and workload do not work together, the trace is broken, or the machine deadlocks.
    pub fn simulate(
        self,
        controllers: Vec<Box<dyn Controller>>,
        stop: StopFlag,
        progress: Option<Published<Progress>>,
    ) -> Result<Finished, Failure> {
        self.simulate_watched(controllers, stop, progress, None)
    }

    /// The same, for somebody who watches the run and may make it stand still.
    ///
    /// # Errors
    /// As [`Ready::simulate`].
    pub fn simulate_watched(
        self,
        controllers: Vec<Box<dyn Controller>>,
        stop: StopFlag,
        progress: Option<Published<Progress>>,
        live: Option<Live>,
    ) -> Result<Finished, Failure> {
        let Self { args, loaded, workload, origin, clock, threads, cpu, recording, facts, prepared, ranks, checkpoints, resumed: _ } = self;
        let mut facts = facts;
        if let Some(configuration) = facts.configuration.as_mut().filter(|_| !controllers.is_empty()) {
            let names: Vec<&str> = controllers.iter().map(|controller| controller.name()).collect();
            configuration.command += &format!(" # and controllers of the calling program: {}", names.join(", "));
            configuration.options.insert("controllers".into(), names.into());
        }
        let mut all = policies::controllers(&args.policy)?;
        all.extend(controllers);
        let options = || RunOptions {
            threads: threads.count,
            scaling: Scaling::Adaptive,
            epoch: match args.epoch {
                Epoch::Auto => None,
                Epoch::Cycles(cycles) => Some(cycles.get()),
            },
            relaxed: args.relaxed,
            max_cycles: args.max_cycles.map(std::num::NonZeroU64::get),
            interval: args.interval.map(std::num::NonZeroU64::get),
            pin: args.pin,
            ..RunOptions::default()
        };
        let decoded_before = clock.seconds();
        let warpshard_chip::RunResult { mut outcome, mut host, activity, .. } = match &args.sampling.sample {
            Some(_) if !all.is_empty() || cpu.is_some() || ranks.is_some() || live.is_some() => {
                let problem = "--sample: controllers, CPU cores, ranks and displays see a whole run; leave them or --sample out";
                return Err(Failure::new(Exit::Usage, problem));
            }
            Some(_) if checkpoints.every.is_some() || checkpoints.resume.is_some() => {
                let problem =
                    "--sample: a sampled run has no checkpoints, since it simulates several parts of the workload; leave one of both out";
                return Err(Failure::new(Exit::Usage, problem));
            }
            Some(sampling) => sampled::simulate(&loaded.machine, &workload, &sampling.options, (&stop, progress.as_ref()), options)?,
            None => {
                let options = RunOptions { cpu, controllers: all, stop, progress, ranks, recording, live, checkpoints, ..options() };
                warpshard_chip::simulate(&loaded.machine, &workload, options)?
            }
        };
        let decoded_meanwhile = clock.seconds() - decoded_before;
        if args.alone {
            applications::add_alone(&mut outcome, &loaded, args, threads.count)?;
        }
        host.startup_seconds += prepared;
        host.decode_seconds = clock.seconds();
        // All workers wait for decoding, so that on average each loses its share of the decoding time.
        host.simulate_seconds = (host.simulate_seconds - decoded_meanwhile / host.mean_workers.max(1.0)).max(0.0);
        host.peak_memory_bytes = host.peak_memory_bytes.or_else(peak_memory_bytes);
        let table = runfile::run_table(args, &origin, (threads.count, &threads.origin), workload.kernels.len(), &facts);
        Ok(Finished { run_toml: loaded.provenance.to_toml() + &table, facts, outcome, host, activity })
    }
}

/// What the trace of `--perfetto` needs of single units.
fn recording(args: &RunArgs, machine: &Machine) -> Result<Option<Recording>, Failure> {
    if args.perfetto.is_none() {
        return Ok(None);
    }
    let usage = |problem| Failure::new(Exit::Usage, problem);
    let partitions = machine.mem.map.partitions;
    Ok(Some(Recording {
        sms: args.perfetto_sms.among(machine.gpu.sms, "--perfetto-sms", "SM").map_err(usage)?,
        partitions: args.perfetto_channels.among(partitions, "--perfetto-channels", "memory partition").map_err(usage)?,
        from: args.perfetto_from,
        most: args.perfetto_events.get(),
    }))
}

/// The load of the CPU cores, from `--cpu` and the options that require it.
fn cpu_load(args: &RunArgs, machine: &Machine) -> Result<Option<CpuLoad>, Failure> {
    if args.cpu.is_empty() {
        return Ok(None);
    }
    let cores = machine.cpu.as_ref().map_or(0, |cpu| cpu.count);
    let applications = CpuApplication::all(&args.cpu, cores);
    let load = CpuLoad {
        applications: applications.map_err(|problem| Failure::new(Exit::Workload, format!("--cpu {problem}")))?,
        warm: args.cpu_warm,
        measure: args.cpu_measure.get(),
        gpu_waits: !args.gpu_first,
        end: match args.until {
            Until::Both => CpuEnd::Both,
            Until::Gpu => CpuEnd::Gpu,
            Until::Cpu => CpuEnd::Cpu,
        },
        seed: args.seed,
    };
    load.check(machine).map_err(|problem| Failure::new(Exit::Config, problem))?;
    Ok(Some(load))
}

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// What was simulated.
    pub facts: RunFacts,
    /// All results of the simulation.
    pub outcome: Outcome,
    /// What the host did.
    pub host: HostFacts,
    /// Every value of the run with its origin.
    pub run_toml: String,
    /// What was recorded of single units.
    pub activity: Activity,
}

impl Finished {
    /// The files of the result folder, and whether all plots could be drawn; the others are complete in any case.
    pub fn files(&self) -> (Vec<ResultFile>, Result<(), PictureError>) {
        let mut files = self.tables();
        let drawn = energy::pictures(&self.facts, &self.outcome).map(|pictures| files.extend(pictures));
        (files, drawn)
    }

    /// The tables of kernels and intervals as Parquet.
    ///
    /// # Errors
    /// In builds without it.
    pub fn parquet(&self) -> Result<Vec<ResultFile>, NoParquet> {
        Ok(vec![
            ResultFile::new("kernels.parquet", csv::kernels_parquet(&self.facts, &self.outcome)?),
            ResultFile::new("intervals.parquet", csv::intervals_parquet(&self.outcome.intervals)?),
        ])
    }

    /// The files of the result folder without its plots.
    pub fn tables(&self) -> Vec<ResultFile> {
        let Self { facts, outcome, host, run_toml, .. } = self;
        let mut files = vec![
            ResultFile::new("stats.json", json::stats(facts, outcome)),
            ResultFile::new("host.json", json::host(facts, outcome, host)),
            ResultFile::new("run.toml", run_toml.as_str()),
            ResultFile::new("kernels.csv", csv::kernels(facts, outcome)),
            ResultFile::new("intervals.csv", csv::intervals(&outcome.intervals)),
            ResultFile::new("summary.txt", summary(facts, outcome, host, Style::Plain)),
        ];
        if !outcome.timeline.is_empty() {
            files.push(ResultFile::new("timeline.csv", csv::timeline(&outcome.timeline)));
        }
        files.extend(energy::tables(facts, outcome));
        files
    }
}

/// `text` as the name of a file: characters with a meaning for a file system or shell become underscores.
fn file_name(text: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '=' | ',' | '@' | '+');
    text.chars().map(|c| if safe(c) { c } else { '_' }).take(120).collect()
}

/// The peak resident memory of this process, where the host reports it.
fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_workload_with_a_strange_name_gets_a_harmless_folder() {
        assert_eq!(file_name("v100-../a b<int>"), "v100-.._a_b_int_");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_memory_of_this_process_is_at_least_a_megabyte() {
        assert!(peak_memory_bytes().unwrap() > 1 << 20);
    }

    #[test]
    fn options_are_those_of_the_command_and_nothing_else() {
        let wrong = |text: &str| request(&words(text)).unwrap_err();
        assert!(wrong("warpshard run --sett a=1").message.contains("--sett"));
        assert_eq!(wrong("warpshard list").exit, Exit::Usage);
        assert_eq!(request(&words("warpshard run --seed 7")).unwrap().seed, 7);
    }

    #[test]
    fn a_workload_in_memory_has_no_command_that_would_repeat_it() {
        let arguments = words("warpshard run --machine tiny --threads 1");
        let args = request(&arguments).unwrap();
        let made = || warpshard_model::builtin("vecadd", 1, &[("n".into(), "1024".into())]).unwrap();
        let run = |ready: Ready<'_>| ready.simulate(Vec::new(), StopFlag::new(), None).unwrap();
        let given = run(Opened::new(&args, &arguments).unwrap().with_workload(made()).unwrap());
        assert!(given.facts.configuration.is_none() && given.run_toml.contains("made by the calling program"));
        let arguments = words("warpshard run --machine tiny --threads 1 --workload vecadd --set workload.n=1024");
        let args = request(&arguments).unwrap();
        let named = run(Opened::new(&args, &arguments).unwrap().load().unwrap());
        assert_eq!((given.outcome, named.facts.configuration.is_some()), (named.outcome, true));
    }
}
