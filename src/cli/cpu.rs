//! `warpshard cpu`: simulates one CPU core with a memory.

use std::time::Instant;

use warpshard_config::cpu::CpuSpec;
use warpshard_cpu_load::{CpuProfile, CpuStream, CpuTrace, ProfileStream, builtin_profile};
use warpshard_report::text::{Align, Style, Table};
use warpshard_rig::cpu::{CpuResult, CpuRun, run};
use warpshard_run::Exit;
use warpshard_stats::Counters as _;

use super::args::CpuArgs;
use super::failure::Failure;
use super::output;

/// Default number of instructions of a profile.
const DEFAULT_INSTRUCTIONS: u64 = 5_000_000;

/// Simulates the core and prints the results.
///
/// # Errors
/// Fails if the trace or profile cannot be used, or the core cannot be simulated.
pub(super) fn cpu(args: &CpuArgs) -> Result<Exit, Failure> {
    let (stream, name, once) = stream(args)?;
    let base = if args.caches() { CpuSpec::kayiran_2014() } else { CpuSpec::ramulator() };
    let spec = CpuSpec { width: args.width.unwrap_or(base.width), window: args.window.unwrap_or(base.window), ..base };
    let instructions = args.instructions.map_or(once, std::num::NonZeroU64::get);
    let plan = CpuRun { spec, memory: args.memory, warm: args.warm, instructions, skip: true };
    let begin = Instant::now();
    let result = run(stream, &plan).map_err(|why| Failure::new(Exit::Usage, why))?;
    let speed = result.sample.counters.instructions as f64 / begin.elapsed().as_secs_f64().max(1e-9);
    if args.json {
        return output::print_json(&json(args, &name, &result, speed)).map(|()| Exit::Ok);
    }
    output::print(&text(args, &name, &result, speed)).map(|()| Exit::Ok)
}

/// Returns the stream, its name, and the default number of instructions: one pass of a trace including writebacks, or
/// [`DEFAULT_INSTRUCTIONS`].
fn stream(args: &CpuArgs) -> Result<(CpuStream, String, u64), Failure> {
    if let Some(path) = &args.trace {
        let trace = CpuTrace::open(path).map_err(|error| Failure::new(Exit::Workload, error))?;
        let stream = trace.stream(args.dependent).map_err(|error| Failure::new(Exit::Workload, error))?;
        let writebacks = if args.caches() { 0 } else { trace.writebacks() };
        return Ok((CpuStream::Trace(stream), path.display().to_string(), trace.instructions() + writebacks));
    }
    let name = args.profile.as_deref().unwrap_or_default();
    let profile = if name.ends_with(".toml") { CpuProfile::load(std::path::Path::new(name)) } else { builtin_profile(name) };
    let profile = profile.map_err(|error| Failure::new(Exit::Workload, error))?;
    let stream = ProfileStream::new(&profile, args.seed, 0);
    Ok((CpuStream::Profile(stream), profile.name, args.warm + DEFAULT_INSTRUCTIONS))
}

/// Returns the figures as name and value, in the order of the output.
fn figures(result: &CpuResult, speed: f64) -> Vec<(&'static str, f64)> {
    let counters = &result.sample.counters;
    vec![
        ("ipc", result.ipc()),
        ("cycles", result.cycles as f64),
        ("instructions", result.instructions as f64),
        ("reads", counters.reads as f64),
        ("writes", counters.writes as f64),
        ("avg_read_lat", result.read_latency),
        ("reads_per_kilo_instruction", result.mpki()),
        ("instructions_per_host_second", speed),
    ]
}

fn json(args: &CpuArgs, name: &str, result: &CpuResult, speed: f64) -> serde_json::Value {
    let mut value = serde_json::Map::new();
    value.insert("workload".into(), name.into());
    value.insert("memory".into(), args.memory.to_string().into());
    for (name, figure) in figures(result, speed) {
        let whole = figure.fract() == 0.0 && figure.abs() < 9e15;
        value.insert(name.into(), if whole && !matches!(name, "ipc" | "avg_read_lat") { (figure as u64).into() } else { figure.into() });
    }
    let mut counters = serde_json::Map::new();
    result.sample.counters.visit(&mut |info, count| {
        counters.insert(info.name.into(), count.into());
    });
    value.insert("counters".into(), counters.into());
    value.into()
}

fn text(args: &CpuArgs, name: &str, result: &CpuResult, speed: f64) -> String {
    let mut text = format!("{name} with {}\n\n", args.memory);
    let mut table = Table::new(&[("figure", Align::Left), ("value", Align::Right)]);
    for (name, value) in figures(result, speed) {
        let whole = value.fract() == 0.0 || value > 1e5;
        table.row(vec![name.to_owned(), if whole { format!("{value:.0}") } else { format!("{value:.4}") }]);
    }
    result.sample.counters.visit(&mut |info, count| table.row(vec![format!("{} [{}]", info.name, info.unit), count.to_string()]));
    text += &table.wide(Style::Plain);
    text
}
