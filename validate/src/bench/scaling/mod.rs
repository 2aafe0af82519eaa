//! `bench --scaling`: how fast a machine would be simulated on many workers and ranks, from the recorded cost of each unit in each epoch.

mod contention;
mod overlap;
mod replay;

use std::sync::Arc;

use warpshard_chip::host::{HostTimes, LONG, RecordedEpoch, Recording, barrier_nanos};
use warpshard_chip::{RunOptions, RunResult, simulate};
use warpshard_config::Machine;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::statistics::median;
use warpshard_stats::HostFacts;
use warpshard_workload::Workload;

use super::sizes;
use contention::Contention;
use replay::{Host, Link, Recorded};

/// Numbers of workers that are foretold.
const WORKERS: [usize; 10] = [1, 2, 4, 8, 16, 32, 48, 64, 128, 256];
/// The most for which it is replayed what halves that overlap would gain.
const MOST_OVERLAPPED: usize = 64;
/// Numbers of ranks of one thread.
const RANKS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Nanoseconds to fetch the state of a unit, 24 KB, from another core's cache at 10 GB/s, where it is not measured.
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
    /// Numbers of threads that are recorded, to see what they cost each other, and measured; one thread always is.
    pub threads: Vec<usize>,
    /// Recordings, and measurements, for each number of threads; medians count.
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
    run_with(machine, overrides, options, sizes::PER_SM)
}

/// [`run`] with another number of CTAs per SM.
fn run_with(machine: &str, overrides: &[(String, String)], options: &ScalingOptions, per_sm: u32) -> Result<StudyOutput, StudyError> {
    let machine = sizes::load(machine, overrides, &[])?;
    let title = format!("speed-up of {} over one thread, foretold from recorded runs and measured", machine.name);
    let mut output = StudyOutput::new("bench-scaling", title);
    output.columns(&[
        "case",
        "way",
        "count",
        "speed-up",
        "measured",
        "undisturbed",
        "longest unit allows",
        "even division allows",
        "overlapped",
        "barrier %",
        "exchange %",
    ]);
    for name in CASES {
        let case = Case {
            name,
            workload: Arc::new(sizes::workload(name, machine.gpu.sms, per_sm).map_err(StudyError::input)?),
            machine: &machine,
        };
        case.foretell(options, &mut output)?;
    }
    output.note(format!(
        "ranks: {} us between two of them, {SEND_NS} ns per further packet, {MESSAGE_NS} ns per message; without enough units that were taken from \
         another worker one is assumed to cost {STEAL_NS} ns more",
        options.latency_us
    ));
    output.note("overlapped: the speed-up if an epoch of one half of the machine waited for the other half's epoch before alone; the engine does not do this".to_owned());
    output.note("measured: medians of interleaved runs; undisturbed: sums over epochs of the median of each, which a pause in less than half of the runs does not change".to_owned());
    Ok(output)
}

struct Case<'a> {
    name: &'static str,
    workload: Arc<Workload>,
    machine: &'a Machine,
}

/// A run recorded on one worker, with what the replay reads of its units, and what several workers cost each other in it.
struct Tape {
    result: RunResult,
    shard_of: Vec<u32>,
    kind_of: Vec<&'static str>,
    long_of: Vec<bool>,
    traffic: Vec<(usize, usize, u64)>,
    /// By number of workers, ascending.
    contention: Vec<(usize, Contention)>,
}

/// Seconds of runs on a number of threads.
struct Measured {
    threads: usize,
    /// The median over runs.
    seconds: f64,
    /// The sum over epochs of the median of each.
    undisturbed: f64,
    /// Where that goes.
    shares: Shares,
    /// Waits of a worker that slept, of all its waits at the barrier.
    sleeps: f64,
}

/// Shares of the time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Shares {
    /// Stepping units, in the mean over workers.
    stepping: f64,
    /// Delivering messages and handing them on, likewise.
    exchanging: f64,
    /// Waiting for the busiest worker, likewise.
    waiting: f64,
    /// Coordinator and barrier.
    rest: f64,
}

impl Shares {
    /// Of a recorded run on so many workers.
    fn of(recording: &Recording, workers: usize) -> Self {
        let sum = |part: fn(&RecordedEpoch) -> f64| recording.epochs.iter().map(part).sum::<f64>();
        let took = sum(|epoch| f64::from(epoch.took)).max(1.0);
        let of_workers = |nanos: f64| nanos / workers as f64 / took;
        let (stepping, exchanging) =
            (of_workers(sum(|epoch| f64::from(epoch.stepping))), of_workers(sum(|epoch| f64::from(epoch.exchanging))));
        let rest = sum(|epoch| f64::from(epoch.rest)) / took;
        Self { stepping, exchanging, waiting: 1.0 - stepping - exchanging - rest, rest }
    }
}

/// What was recorded and measured of a case.
struct Records {
    /// With the halves of the machine in turn, and with all units in every epoch.
    in_halves: Tape,
    together: Tape,
    /// The first is that of one thread.
    measured: Vec<Measured>,
    barrier_ns: f64,
}

/// What a row of the table compares a replay with: nanoseconds, but for speed-ups that were measured.
struct Bounds {
    critical: f64,
    overlapped: Option<f64>,
    /// Of whole runs and of undisturbed epochs.
    measured: Option<(f64, f64)>,
}

impl Measured {
    fn of(threads: usize, runs: Vec<RunResult>) -> Self {
        let seconds: Vec<f64> = runs.iter().map(|run| run.host.simulate_seconds).collect();
        let took = |recording: &Recording| recording.epochs.iter().map(|epoch| f64::from(epoch.took)).sum::<f64>() / 1e9;
        let slept = |run: &RunResult| run.host.workers.iter().map(|worker| worker.sleeps as f64).sum::<f64>();
        let waits = |run: &RunResult| (run.host.epochs as f64 * run.host.threads as f64).max(1.0);
        let sleeps: Vec<f64> = runs.iter().map(|run| slept(run) / waits(run)).collect();
        let medians = Recording::medians(&recordings(runs));
        Self {
            threads,
            seconds: median(&seconds).unwrap_or(f64::NAN),
            undisturbed: medians.as_ref().map_or(f64::NAN, took),
            shares: medians.map(|medians| Shares::of(&medians, threads)).unwrap_or_default(),
            sleeps: median(&sleeps).unwrap_or(f64::NAN),
        }
    }
}

fn recordings(runs: Vec<RunResult>) -> Vec<Recording> {
    runs.into_iter().filter_map(|run| run.costs).map(|costs| costs.recorded).collect()
}

impl Tape {
    /// Of runs on each of `counts` workers, the first of which is one.
    fn of(counts: &[usize], runs: Vec<Vec<RunResult>>) -> Result<Self, StudyError> {
        let nothing = || StudyError::Nothing("nothing was recorded".into());
        let mut runs = runs.into_iter();
        let mut of_one = runs.next().unwrap_or_default();
        let mut result = of_one.pop().ok_or_else(nothing)?;
        let recording = result.costs.as_mut().ok_or_else(nothing)?;
        let mut all = recordings(of_one);
        all.push(recording.recorded.clone());
        recording.recorded = Recording::medians(&all).ok_or_else(nothing)?;
        let (shard_of, kind_of): (_, Vec<_>) = recording.units.iter().map(|unit| (unit.shard, unit.kind)).unzip();
        let long_of = recording.units.iter().map(|unit| unit.cost >= LONG).collect();
        let traffic = recording.recorded.traffic.iter().map(|(from, to, count)| (from.index(), to.index(), *count)).collect();
        let halves = result.host.halves;
        let alike = counts[1..].iter().zip(runs).filter(|(_, runs)| runs.iter().all(|run| run.host.halves == halves));
        let found = |(count, runs): (&usize, Vec<RunResult>)| {
            Contention::of(&recording.recorded, &recordings(runs), *count, &kind_of).map(|contention| (*count, contention))
        };
        let contention = alike.filter_map(found).collect();
        Ok(Self { contention, shard_of, kind_of, long_of, traffic, result })
    }

    fn epochs(&self) -> &[RecordedEpoch] {
        self.result.costs.as_ref().map_or(&[], |costs| &costs.recorded.epochs)
    }

    /// What `workers` workers cost each other: what as many do, or the next fewer that were recorded, or the next more.
    fn contention(&self, workers: usize) -> Option<&(usize, Contention)> {
        let known = self.contention.iter().rfind(|(count, _)| *count <= workers).or(self.contention.first());
        known.filter(|_| workers > 1)
    }

    /// The host of so many workers, of which each beyond those that were recorded makes a barrier `each` nanoseconds longer.
    fn host(&self, workers: usize, each: f64) -> Host {
        let known = self.contention(workers);
        let (count, recorded) = known.map_or((0, 0.0), |(count, contention)| (*count, contention.barrier_ns));
        let steal_ns = known.and_then(|(_, contention)| contention.taken_ns).unwrap_or(STEAL_NS);
        Host { barrier_ns: (recorded + each * (workers as f64 - count as f64)).max(0.0), steal_ns }
    }

    /// The epochs with the times that they have on `workers` workers.
    fn on(&self, workers: usize) -> Vec<RecordedEpoch> {
        let known = self.contention(workers);
        known.map_or_else(|| self.epochs().to_vec(), |(_, contention)| contention.applied(self.epochs(), &self.kind_of, workers))
    }

    fn recorded<'a>(&'a self, epochs: &'a [RecordedEpoch]) -> Recorded<'a> {
        Recorded { epochs, shard_of: &self.shard_of, kind_of: &self.kind_of, long_of: &self.long_of, traffic: &self.traffic }
    }

    fn name(&self, unit: Option<usize>) -> &str {
        let units = self.result.costs.as_ref().map(|recording| &recording.units);
        units.zip(unit).map_or("-", |(units, unit)| units[unit].name.as_str())
    }
}

impl Case<'_> {
    fn run(&self, options: RunOptions) -> Result<RunResult, StudyError> {
        simulate(self.machine, &self.workload, options).map_err(StudyError::input)
    }

    /// Records and measures the run, each several times, on one thread and on each number of `options.threads`: with the halves of the machine
    /// in turn, with all units in every epoch of `lookahead` cycles, and measured. All of them take turns, since what the host does otherwise, and
    /// which of its cores it gives, changes with time.
    fn record(&self, lookahead: u64, options: &ScalingOptions) -> Result<Records, StudyError> {
        let mut counts = vec![1];
        counts.extend(options.threads.iter().copied().filter(|count| *count > 1));
        counts.sort_unstable();
        counts.dedup();
        let mut rounds: [Vec<Vec<RunResult>>; 3] = std::array::from_fn(|_| counts.iter().map(|_| Vec::new()).collect());
        let mut barriers = Vec::new();
        for _ in 0..options.runs.max(1) {
            barriers.push(options.barrier_ns.unwrap_or_else(barrier_nanos));
            let ways = [(HostTimes::Units, None), (HostTimes::Units, Some(lookahead)), (HostTimes::Epochs, None)];
            for ((record, epoch), of_counts) in ways.into_iter().zip(&mut rounds) {
                for (runs, &threads) in of_counts.iter_mut().zip(&counts) {
                    runs.push(self.run(RunOptions { record, epoch, threads, ..RunOptions::default() })?);
                }
            }
        }
        let [in_halves, together, measured] = rounds;
        let measured = counts.iter().zip(measured).map(|(threads, runs)| Measured::of(*threads, runs)).collect();
        Ok(Records {
            in_halves: Tape::of(&counts, in_halves)?,
            together: Tape::of(&counts, together)?,
            measured,
            barrier_ns: median(&barriers).unwrap_or(f64::NAN),
        })
    }

    /// How so many workers step the machine.
    fn facts(&self, threads: usize) -> Result<HostFacts, StudyError> {
        Ok(self.run(RunOptions { threads, max_cycles: Some(1), ..RunOptions::default() })?.host)
    }

    fn foretell(&self, options: &ScalingOptions, output: &mut StudyOutput) -> Result<(), StudyError> {
        let lookahead = self.facts(1)?.lookahead_cycles;
        let Records { in_halves, together, measured, barrier_ns } = self.record(lookahead, options)?;
        output.figure(&format!("{}: nanoseconds of a barrier for each worker", self.name), barrier_ns);
        let one = in_halves.recorded(in_halves.epochs()).on_one();
        let mut still_halves = true;
        for workers in WORKERS {
            still_halves &= workers <= 8 && self.facts(workers)?.halves;
            let tape = if still_halves { &in_halves } else { &together };
            let epochs = tape.on(workers);
            let recorded = tape.recorded(&epochs);
            let host = tape.host(workers, barrier_ns);
            let host = options.barrier_ns.map_or(host, |each| Host { barrier_ns: each * workers as f64, ..host });
            let replayed = recorded.on_workers(workers, host);
            // Not where halves take turns.
            let overlapped = (!still_halves && workers <= MOST_OVERLAPPED).then(|| recorded.overlapped(workers, host));
            let found = measured.iter().find(|found| found.threads == workers).zip(measured.first());
            let found = found.map(|(found, alone)| (alone.seconds / found.seconds, alone.undisturbed / found.undisturbed));
            let bounds = Bounds { critical: recorded.critical(|_| true).0, overlapped, measured: found };
            self.row(output, "workers", workers, one, &replayed, bounds);
            if let Some((whole, undisturbed)) = found.filter(|_| workers > 1) {
                let off = |speed_up: f64| 100.0 * (one / replayed.total / speed_up - 1.0);
                output.figure(&format!("{}: foretold against measured speed-up of {workers} threads, %", self.name), off(whole));
                output.figure(&format!("{}: foretold against undisturbed speed-up of {workers} threads, %", self.name), off(undisturbed));
            }
        }
        let link = Link { latency_ns: options.latency_us * 1e3, send_ns: SEND_NS, message_ns: MESSAGE_NS };
        let recorded = together.recorded(together.epochs());
        let (critical, unit) = recorded.critical(|_| true);
        let (network, net) = recorded.critical(|kind| kind == "network");
        for ranks in RANKS {
            let (replayed, crossing) = recorded.on_ranks(ranks, link);
            self.row(output, "ranks", ranks, one, &replayed, Bounds { critical, overlapped: None, measured: None });
            if ranks == 2 {
                output.figure(&format!("{}: share of messages between two ranks, %", self.name), 100.0 * crossing);
            }
        }
        for found in &measured {
            let Shares { stepping, exchanging, waiting, rest } = found.shares;
            let parts = [
                ("stepping", stepping),
                ("messages", exchanging),
                ("waiting for the busiest worker", waiting),
                ("coordinator and barrier", rest),
                ("waits that slept, of all", found.sleeps),
            ];
            for (part, share) in parts {
                output.figure(&format!("{}: {} threads measured: {part}, %", self.name, found.threads), 100.0 * share);
            }
        }
        self.bounds(&in_halves, "in two halves", output);
        self.bounds(&together, "all in every epoch", output);
        let epochs = together.epochs().len().max(1) as f64;
        output.figure(
            &format!("{}: microseconds of an epoch of {lookahead} cycles on one thread", self.name),
            recorded.on_one() / epochs / 1e3,
        );
        let longest = format!("{}: speed-up that the longest unit of each epoch allows ({})", self.name, together.name(unit));
        output.figure(&longest, one / critical);
        output.figure(&format!("{}: speed-up that the networks allow ({})", self.name, together.name(net)), one / network);
        Ok(())
    }

    /// What workers cost each other.
    fn bounds(&self, tape: &Tape, way: &str, output: &mut StudyOutput) {
        for (workers, contention) in &tape.contention {
            let about = |what: &str| format!("{}, {way}, {workers} workers: {what}", self.name);
            for (kind, factor) in &contention.steps {
                output.figure(&about(&format!("time of a step of kind {kind} relative to one worker")), *factor);
            }
            output.figure(&about("nanoseconds more for a message from another worker"), contention.message_ns);
            output.figure(&about("nanoseconds of barrier and coordinator"), contention.barrier_ns);
            if let Some(nanos) = contention.taken_ns {
                output.figure(&about("nanoseconds more for a unit that another worker takes"), nanos);
            }
        }
    }

    fn row(&self, output: &mut StudyOutput, way: &str, count: usize, one: f64, replayed: &replay::Replayed, bounds: Bounds) {
        let Bounds { critical, overlapped, measured } = bounds;
        let percent = |part: f64| format!("{:.1}", 100.0 * part / replayed.total);
        let known = |speed_up: Option<f64>| speed_up.map_or_else(|| "-".to_owned(), |speed_up| format!("{speed_up:.2}"));
        output.row(vec![
            self.name.to_owned(),
            way.to_owned(),
            count.to_string(),
            format!("{:.2}", one / replayed.total),
            known(measured.map(|(whole, _)| whole)),
            known(measured.map(|(_, undisturbed)| undisturbed)),
            format!("{:.1}", one / critical),
            format!("{:.1}", one / (replayed.even + replayed.serial)),
            known(overlapped.map(|overlapped| one / overlapped)),
            percent(replayed.barrier),
            percent(replayed.exchange),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_machine_is_recorded_replayed_and_measured() {
        let options = ScalingOptions { threads: vec![1, 2], runs: 1, latency_us: 10.0, barrier_ns: Some(500.0) };
        // One SM with one CTA takes as many code paths as a whole machine does, and a fraction of the time.
        let overrides = [("gpu.sms".to_owned(), "1".to_owned())];
        let output = run_with("tiny", &overrides, &options, 1).unwrap();
        let rows = CASES.len() * (WORKERS.len() + RANKS.len());
        let speed_ups: Vec<f64> = output.column("speed-up").unwrap().iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(speed_ups.len(), rows);
        let allowed: Vec<f64> = output.column("longest unit allows").unwrap().iter().map(|text| text.parse().unwrap()).collect();
        assert!(speed_ups.iter().zip(&allowed).all(|(speed_up, most)| *speed_up > 0.0 && *speed_up <= most * 1.1 + 0.1));
        assert!(barrier_nanos() > 0.0);
    }
}
