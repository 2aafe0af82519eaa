//! `run --app A --app B`: several applications on one GPU, and each application alone.
//!
//! An application is a recorded trace, a program or a kernel model, by name or file. The prefixes `trace:`, `program:` and `model:` select
//! its kind; the suffix `,priority=N` sets its priority, and `,at=N` the core cycle of its arrival. `@FILE` is a mix: a TOML file that
//! lists applications.

use std::fmt::Write as _;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use warpshard_base::{Cycle, GpuId};
use warpshard_build::SOURCES_DIGEST;
use warpshard_chip::RunOptions;
use warpshard_config::{Loaded, Machine, input};
use warpshard_report::store::load_or_compute;
use warpshard_stats::{Outcome, StandaloneResult};
use warpshard_trace::DecodeClock;
use warpshard_workload::{MixedApplication, Workload, mix};

use super::request::{Request, WorkloadSource};
use super::{Catalogue, Error, files, inputs};

/// The latest arrival of an application, in core cycles: about a quarter of an hour of simulated GPU time. Until the arrival the idle GPU
/// is simulated, with the refreshes of its DRAM.
const LATEST_ARRIVAL: u64 = 1_000_000_000_000;

/// The kind of an application's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ApplicationSource {
    Trace,
    Program,
    Model,
}

/// An application as named on the command line or in a mix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedApplication {
    source: ApplicationSource,
    name: String,
    priority: i32,
    /// Earliest core cycle in which the application starts.
    arrival_cycle: u64,
    /// The GPU of a system that runs the application.
    gpu: Option<GpuId>,
}

/// The contents of a mix file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MixFile {
    /// The applications, in their order.
    applications: Vec<MixEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MixEntry {
    /// The application in the syntax of `--app`; paths are relative to the mix.
    workload: String,
    #[serde(default)]
    priority: i32,
    #[serde(default)]
    at: u64,
    gpu: Option<u8>,
}

/// Resolves the applications that `--app` names, including the applications of mixes.
///
/// # Errors
/// Fails if a mix cannot be read or a name is invalid.
pub(crate) fn resolve_applications(catalogue: &Catalogue, names: &[String]) -> Result<Vec<NamedApplication>, Error> {
    let mut all = Vec::new();
    for name in names {
        match name.strip_prefix('@') {
            Some(file) => all.extend(applications_of_file(catalogue, Path::new(file))?),
            None => all.push(parse_application(catalogue, name, None)?),
        }
    }
    Ok(all)
}

fn applications_of_file(catalogue: &Catalogue, path: &Path) -> Result<Vec<NamedApplication>, Error> {
    let fail = |problem: String| Error::MixFile { file: path.to_owned(), problem };
    let text = input::read_text(path).map_err(|error| fail(format!("the mix cannot be read: {error}")))?;
    let mix: MixFile = toml::from_str(&text).map_err(|error| fail(format!("the mix is wrong: {error}")))?;
    if mix.applications.is_empty() {
        return Err(fail("the mix lists no application; expected [[applications]] tables with the key `workload`".into()));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let entry = |(number, entry): (usize, &MixEntry)| {
        let at = check_arrival(entry.at).map_err(|problem| fail(format!("application {number} ({}): {problem}", entry.workload)))?;
        let named = parse_application(catalogue, &entry.workload, Some(folder))?;
        Ok(NamedApplication { priority: entry.priority, arrival_cycle: at, gpu: entry.gpu.map(GpuId).or(named.gpu), ..named })
    };
    mix.applications.iter().enumerate().map(entry).collect()
}

/// Checks that an arrival is not after the latest arrival.
fn check_arrival(at: u64) -> Result<u64, String> {
    let late = || format!("at = {at} is after the latest arrival; expected at most {LATEST_ARRIVAL} core cycles");
    (at <= LATEST_ARRIVAL).then_some(at).ok_or_else(late)
}

/// Reads `[SOURCE:]NAME[,priority=N][,at=N][,gpu=N]`, with the settings in any order; paths are relative to `folder`.
fn parse_application(catalogue: &Catalogue, text: &str, folder: Option<&Path>) -> Result<NamedApplication, Error> {
    let usage = |what: String| Error::Usage(format!("--app {text}: {what}"));
    let (mut name, mut priority, mut at, mut gpu) = (text, 0, 0, None);
    while let Some((before, setting)) = name.rsplit_once(',') {
        let Some((key, number)) = setting.split_once('=').filter(|(key, _)| ["priority", "at", "gpu"].contains(key)) else { break };
        let wrong = |what: &str| usage(format!("{number:?} is no {what}; expected a whole number"));
        match key {
            "priority" => priority = number.parse().map_err(|_| wrong("priority"))?,
            "at" => at = check_arrival(number.parse().map_err(|_| wrong("core cycle"))?).map_err(usage)?,
            _ => gpu = Some(GpuId(number.parse().map_err(|_| wrong("GPU"))?)),
        }
        name = before;
    }
    let prefixed = [("trace:", ApplicationSource::Trace), ("program:", ApplicationSource::Program), ("model:", ApplicationSource::Model)];
    let explicit = prefixed.iter().find_map(|(prefix, source)| Some((*source, name.strip_prefix(prefix)?)));
    let (source, name) = explicit.unwrap_or_else(|| (guess_source(catalogue, name, folder), name));
    if name.is_empty() {
        return Err(usage("names no application; expected a trace, a launch file or a kernel model".into()));
    }
    let name = match folder {
        Some(folder) if source != ApplicationSource::Model || name.ends_with(".toml") => folder.join(name).display().to_string(),
        _ => name.to_owned(),
    };
    Ok(NamedApplication { source, name, priority, arrival_cycle: at, gpu })
}

/// Guesses the kind of source: a TOML file with launches is a program, another TOML file or a built-in name is a model, and any other path
/// is a trace.
fn guess_source(catalogue: &Catalogue, name: &str, folder: Option<&Path>) -> ApplicationSource {
    let path = folder.map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
    if name.ends_with(".toml") {
        let launches = input::read_text(&path).is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with("[[launches]]")));
        return if launches { ApplicationSource::Program } else { ApplicationSource::Model };
    }
    if inputs::is_trace(catalogue, name) || path.exists() { ApplicationSource::Trace } else { ApplicationSource::Model }
}

impl NamedApplication {
    fn load(
        &self,
        catalogue: &Catalogue,
        machine: &Machine,
        request: &Request,
        threads: usize,
        clock: &Arc<DecodeClock>,
    ) -> Result<Workload, Error> {
        let path = Path::new(&self.name);
        let loaded = match self.source {
            ApplicationSource::Trace => inputs::trace(path, threads, request.lenient, clock)?,
            ApplicationSource::Program => inputs::program(
                path,
                None,
                self.gpu.map_or(machine, |gpu| machine.of_gpu(u32::from(gpu.0))),
                &[],
                request.workload_options(threads),
            )?,
            ApplicationSource::Model => inputs::model_workload(&self.name, &inputs::model(catalogue, &self.name, request.seed, &[])?),
        };
        Ok(loaded.0)
    }

    /// Returns the files from which the application is read.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        match self.source {
            ApplicationSource::Trace => files::trace_files(Path::new(&self.name)),
            ApplicationSource::Program => files::program_files(Path::new(&self.name)),
            ApplicationSource::Model => files::model_files(&self.name),
        }
    }

    /// Describes the inputs of the application's run: the names, lengths and checksums of its files, and the seed.
    fn content(&self, seed: u64) -> String {
        let mut text = format!("{:?} {} seed {seed}\n", self.source, self.name);
        for file in self.files() {
            let sum = std::fs::read(&file).map_or(0, |bytes| crc32fast::hash(&bytes));
            let length = file.metadata().map_or(0, |facts| facts.len());
            let _ = writeln!(text, "{} {length} {sum:08x}", file.display());
        }
        text
    }
}

/// Returns the combined workload of all applications. Each application restarts when it ends, until all have ended once, unless `once` is
/// set.
///
/// # Errors
/// Fails if an application is invalid, or all applications together exceed the limits of a workload.
pub(crate) fn workload(
    catalogue: &Catalogue,
    (machine, request): (&Machine, &Request),
    (apps, once): (&[NamedApplication], bool),
    threads: usize,
    clock: &Arc<DecodeClock>,
) -> Result<Workload, Error> {
    let part = |app: &NamedApplication| {
        Ok(MixedApplication { workload: app.load(catalogue, machine, request, threads, clock)?, priority: app.priority })
    };
    let parts = apps.iter().map(part).collect::<Result<_, Error>>()?;
    let mut workload = mix(parts, !once)?;
    for (app, named) in workload.applications.iter_mut().zip(apps).filter(|(_, named)| named.arrival_cycle > 0) {
        app.arrivals = vec![Cycle(named.arrival_cycle)];
    }
    workload.applications.iter_mut().zip(apps).for_each(|(app, named)| app.gpu = named.gpu);
    Ok(workload)
}

/// The folder of stored results of applications that ran alone.
const ALONE_FOLDER: &str = "results/alone";

/// Runs each application alone, or loads a stored result of the same run, and adds the results to `outcome`, if the request asks for it.
///
/// # Errors
/// Fails if a run fails.
pub(crate) fn add_alone(
    catalogue: &Catalogue,
    outcome: &mut Outcome,
    loaded: &Loaded,
    request: &Request,
    threads: usize,
) -> Result<(), Error> {
    let Some(WorkloadSource::Applications { apps, alone: true, .. }) = &request.workload else { return Ok(()) };
    let (apps, machine) = (resolve_applications(catalogue, apps)?, loaded.provenance.to_toml());
    let limit = request.max_cycles.map(NonZeroU64::get);
    for (app, stats) in apps.iter().zip(&mut outcome.applications) {
        let key = format!("alone\n{machine}\n{}\nlimit {limit:?}", app.content(request.seed));
        let run = || simulate_alone(catalogue, app, &loaded.machine, request, threads, limit);
        stats.alone = Some(load_or_compute(Some(Path::new(ALONE_FOLDER)), SOURCES_DIGEST, &key, run)?);
    }
    Ok(())
}

fn simulate_alone(
    catalogue: &Catalogue,
    app: &NamedApplication,
    machine: &Machine,
    request: &Request,
    threads: usize,
    max_cycles: Option<u64>,
) -> Result<StandaloneResult, Error> {
    let workload = app.load(catalogue, machine, request, threads, &Arc::default())?;
    let options = RunOptions { threads, max_cycles, ..RunOptions::default() };
    let outcome = warpshard_chip::simulate(machine, &Arc::new(workload), options)?.outcome;
    let launched = outcome.kernels.iter().filter_map(|kernel| kernel.launched).min().unwrap_or(0);
    let warp_instructions = warpshard_report::metrics::WorkTotals::of_run(&outcome).warp_instructions;
    Ok(StandaloneResult { cycles: outcome.cycles - launched, warp_instructions })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_application_follows_from_its_prefix_or_name() {
        let core = Catalogue::core();
        let read = |text: &str| {
            parse_application(core, text, None).map(|named| (named.source, named.name, named.priority)).map_err(|error| error.to_string())
        };
        assert_eq!(read("stream"), Ok((ApplicationSource::Model, "stream".into(), 0)));
        assert_eq!(read("divergent,priority=-2"), Ok((ApplicationSource::Model, "divergent".into(), -2)));
        assert_eq!(read("programs/saxpy.toml"), Ok((ApplicationSource::Program, "programs/saxpy.toml".into(), 0)));
        assert_eq!(read("trace:a,priority=3"), Ok((ApplicationSource::Trace, "a".into(), 3)));
        assert_eq!(read("some/kernelslist.g"), Ok((ApplicationSource::Trace, "some/kernelslist.g".into(), 0)));
        let late = parse_application(core, "stream,priority=1,at=5000", None).unwrap();
        assert_eq!((late.priority, late.arrival_cycle), (1, 5000));
        for late in [LATEST_ARRIVAL + 1, 1 << 62, u64::MAX] {
            let told = read(&format!("stream,at={late}")).unwrap_err();
            assert!(told.contains(&format!("at = {late} is after the latest arrival")) && told.contains("at most 1000000000000"), "{told}");
        }
        assert!(read("stream,at=soon").unwrap_err().contains("\"soon\" is no core cycle"));
        assert!(read("stream,priority=high").unwrap_err().contains("\"high\" is no priority"));
        assert!(read("trace:").unwrap_err().contains("names no application"));
    }

    #[test]
    fn paths_in_a_mix_are_relative_to_the_mix() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mix.toml");
        std::fs::write(&file, "[[applications]]\nworkload = \"stream\"\n[[applications]]\nworkload = \"trace:t\"\npriority = 2\n").unwrap();
        let apps = resolve_applications(Catalogue::core(), &[format!("@{}", file.display())]).unwrap();
        assert_eq!((apps[0].name.as_str(), apps[0].priority), ("stream", 0));
        assert_eq!((Path::new(&apps[1].name), apps[1].priority), (folder.path().join("t").as_path(), 2));
        std::fs::write(&file, "[[applications]]\nworkload = \"stream\"\nat = 4611686018427387904\n").unwrap();
        let late = resolve_applications(Catalogue::core(), &[format!("@{}", file.display())]).unwrap_err().to_string();
        assert!(late.contains("mix.toml: application 0 (stream): at = 4611686018427387904 is after"), "{late}");
        std::fs::write(&file, "applications = []").unwrap();
        assert!(
            resolve_applications(Catalogue::core(), &[format!("@{}", file.display())])
                .unwrap_err()
                .to_string()
                .contains("lists no application")
        );
    }
}
