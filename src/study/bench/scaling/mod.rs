//! `bench --scaling`: how fast a machine would be simulated on many workers and ranks, from the recorded cost of each unit in each epoch.

mod replay;

use std::sync::Arc;

use crate::chip::host::{LONG, barrier_nanos};
use crate::chip::{RunOptions, RunResult, simulate};
use crate::config::Machine;
use crate::frontend::Workload;

use super::super::compare::median;
use super::super::{StudyError, StudyOutput};
use super::sizes;

use replay::{Host, Link, Recorded};

/// Numbers of workers that are foretold.
const WORKERS: [usize; 10] = [1, 2, 4, 8, 16, 32, 48, 64, 128, 256];
/// Numbers of ranks of one thread.
const RANKS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Nanoseconds to fetch the state of a unit, 24 KB, from another core's cache at 10 GB/s.
const STEAL_NS: f64 = 2400.0;
/// Nanoseconds of the host to send one more packet.
const SEND_NS: f64 = 1000.0;
/// Nanoseconds to write and to read a message: some 25 bytes each.
const MESSAGE_NS: f64 = 100.0;
/// The kernels that are recorded, of those of `bench --sizes`.
const CASES: [&str; 3] = ["compute", "divergent", "memory"];

/// What the replay is told about hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingOptions {
    /// Numbers of threads that are also measured.
    pub threads: Vec<usize>,
    /// Recordings of each case, of which the shortest times count, and measurements for each number of threads, of which the median counts.
    pub runs: usize,
    /// Microseconds between two ranks.
    pub latency_us: f64,
    /// Nanoseconds of a barrier for each worker; measured where not given.
    pub barrier_ns: Option<f64>,
}

/// Records each case, replays it on many workers and ranks, and measures it on some.
///
/// # Errors
/// When the machine cannot be built or does not run.
pub(super) fn run(machine: &str, overrides: &[(String, String)], options: &ScalingOptions) -> Result<StudyOutput, StudyError> {
    let machine = sizes::load(machine, overrides, &[])?;
    let barrier_ns = options.barrier_ns.unwrap_or_else(barrier_nanos);
    let host = Host { barrier_ns, steal_ns: STEAL_NS };
    let title = format!("speed-up of {} over one thread, foretold from recorded runs and measured", machine.name);
    let mut output = StudyOutput::new("bench-scaling", title);
    output.columns(&[
        "case",
        "way",
        "count",
        "speed-up",
        "measured",
        "longest unit allows",
        "even division allows",
        "barrier %",
        "exchange %",
    ]);
    output.figure("nanoseconds of a barrier for each worker", barrier_ns);
    for name in CASES {
        let case = Case { name, workload: Arc::new(sizes::workload(name, machine.gpu.sms).map_err(StudyError::Input)?), machine: &machine };
        case.foretell(host, options, &mut output)?;
    }
    output.note(format!(
        "ranks: {} us between two of them, {SEND_NS} ns per further packet, {MESSAGE_NS} ns per message; a unit taken from another worker costs {STEAL_NS} ns more",
        options.latency_us
    ));
    Ok(output)
}

struct Case<'a> {
    name: &'static str,
    workload: Arc<Workload>,
    machine: &'a Machine,
}

/// A recorded run with what the replay reads of its units.
struct Tape {
    result: RunResult,
    shard_of: Vec<u32>,
    kind_of: Vec<&'static str>,
    long_of: Vec<bool>,
    traffic: Vec<(usize, usize, u64)>,
}

impl Tape {
    fn recorded(&self) -> Option<Recorded<'_>> {
        let epochs = &self.result.costs.as_ref()?.recorded.epochs;
        Some(Recorded { epochs, shard_of: &self.shard_of, kind_of: &self.kind_of, long_of: &self.long_of, traffic: &self.traffic })
    }

    fn name(&self, unit: Option<usize>) -> &str {
        let units = self.result.costs.as_ref().map(|recording| &recording.units);
        units.zip(unit).map_or("-", |(units, unit)| units[unit].name.as_str())
    }
}

impl Case<'_> {
    fn run(&self, options: RunOptions) -> Result<RunResult, StudyError> {
        simulate(self.machine, &self.workload, options).map_err(|error| StudyError::Input(error.to_string()))
    }

    /// Records the run in the epochs that `epoch` asks for, several times: every run is the same, so the shortest time of each unit and epoch
    /// is the one that nothing else on the host disturbed.
    fn record(&self, epoch: Option<u64>, runs: usize) -> Result<Tape, StudyError> {
        let once = || self.run(RunOptions { record: true, epoch, ..RunOptions::default() });
        let mut result = once()?;
        for _ in 1..runs {
            if let (Some(all), Some(more)) = (&mut result.costs, once()?.costs) {
                all.recorded.shorten(&more.recorded);
            }
        }
        let Some(recording) = &result.costs else { return Err(StudyError::Nothing("nothing was recorded".into())) };
        let (shard_of, kind_of) = recording.units.iter().map(|unit| (unit.shard, unit.kind)).unzip();
        let long_of = recording.units.iter().map(|unit| unit.cost >= LONG).collect();
        let traffic = recording.recorded.traffic.iter().map(|(from, to, count)| (from.index(), to.index(), *count)).collect();
        Ok(Tape { shard_of, kind_of, long_of, traffic, result })
    }

    /// Whether so many workers step the machine in two halves.
    fn in_halves(&self, threads: usize) -> Result<bool, StudyError> {
        Ok(self.run(RunOptions { threads, max_cycles: Some(1), ..RunOptions::default() })?.host.halves)
    }

    fn foretell(&self, host: Host, options: &ScalingOptions, output: &mut StudyOutput) -> Result<(), StudyError> {
        let halves = self.record(None, options.runs)?;
        let lookahead = halves.result.host.lookahead_cycles;
        let whole = self.record(Some(lookahead), options.runs)?;
        let (Some(in_halves), Some(together)) = (halves.recorded(), whole.recorded()) else {
            return Err(StudyError::Nothing("nothing was recorded".into()));
        };
        let one = in_halves.on_one();
        let measured = self.measure(options)?;
        let (critical, unit) = together.critical(|_| true);
        let (network, net) = together.critical(|kind| kind == "network");
        let mut still_halves = true;
        for workers in WORKERS {
            still_halves &= workers <= 8 && self.in_halves(workers)?;
            let recorded = if still_halves { &in_halves } else { &together };
            let (replayed, longest) = (recorded.on_workers(workers, host), recorded.critical(|_| true).0);
            let found = measured.iter().find(|(threads, _)| *threads == workers).map(|(_, speed_up)| *speed_up);
            self.row(output, "workers", workers, one, &replayed, longest, found);
            if let Some(found) = found.filter(|_| workers > 1) {
                let off = 100.0 * (one / replayed.total / found - 1.0);
                output.figure(&format!("{}: foretold against measured speed-up of {workers} threads, %", self.name), off);
            }
        }
        let link = Link { latency_ns: options.latency_us * 1e3, send_ns: SEND_NS, message_ns: MESSAGE_NS };
        for ranks in RANKS {
            let (replayed, crossing) = together.on_ranks(ranks, link);
            self.row(output, "ranks", ranks, one, &replayed, critical, None);
            if ranks == 2 {
                output.figure(&format!("{}: share of messages between two ranks, %", self.name), 100.0 * crossing);
            }
        }
        let epochs = together.epochs.len().max(1) as f64;
        output.figure(
            &format!("{}: microseconds of an epoch of {lookahead} cycles on one thread", self.name),
            together.on_one() / epochs / 1e3,
        );
        output
            .figure(&format!("{}: speed-up that the longest unit of each epoch allows ({})", self.name, whole.name(unit)), one / critical);
        output.figure(&format!("{}: speed-up that the networks allow ({})", self.name, whole.name(net)), one / network);
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the cells of a row")]
    fn row(
        &self,
        output: &mut StudyOutput,
        way: &str,
        count: usize,
        one: f64,
        replayed: &replay::Replayed,
        critical: f64,
        measured: Option<f64>,
    ) {
        let percent = |part: f64| format!("{:.1}", 100.0 * part / replayed.total);
        output.row(vec![
            self.name.to_owned(),
            way.to_owned(),
            count.to_string(),
            format!("{:.2}", one / replayed.total),
            measured.map_or_else(|| "-".to_owned(), |measured| format!("{measured:.2}")),
            format!("{:.1}", one / critical),
            format!("{:.1}", one / (replayed.even + replayed.serial)),
            percent(replayed.barrier),
            percent(replayed.exchange),
        ]);
    }

    /// Measured speed-ups over one thread: medians of interleaved runs.
    fn measure(&self, options: &ScalingOptions) -> Result<Vec<(usize, f64)>, StudyError> {
        let mut seconds: Vec<Vec<f64>> = vec![Vec::new(); options.threads.len()];
        for _ in 0..options.runs.max(1) {
            for (of_count, &threads) in seconds.iter_mut().zip(&options.threads) {
                of_count.push(self.run(RunOptions { threads, ..RunOptions::default() })?.host.simulate_seconds);
            }
        }
        let medians: Vec<f64> = seconds.iter().map(|of_count| median(of_count).unwrap_or(f64::NAN)).collect();
        let one = options.threads.iter().position(|&threads| threads == 1).map(|at| medians[at]);
        let Some(one) = one else { return Ok(Vec::new()) };
        Ok(options.threads.iter().copied().zip(medians.iter().map(|seconds| one / seconds)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_machine_is_recorded_replayed_and_measured() {
        let options = ScalingOptions { threads: vec![1, 2], runs: 1, latency_us: 10.0, barrier_ns: Some(500.0) };
        let output = run("tiny", &[], &options).unwrap();
        let rows = CASES.len() * (WORKERS.len() + RANKS.len());
        let speed_ups: Vec<f64> = output.column("speed-up").unwrap().iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(speed_ups.len(), rows);
        let allowed: Vec<f64> = output.column("longest unit allows").unwrap().iter().map(|text| text.parse().unwrap()).collect();
        assert!(speed_ups.iter().zip(&allowed).all(|(speed_up, most)| *speed_up > 0.0 && *speed_up <= most * 1.1 + 0.1));
        assert!(barrier_nanos() > 0.0);
    }
}
