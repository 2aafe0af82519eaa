//! `bench --scaling`: predicted speed-up of a simulation on many workers and ranks, from the recorded host time of each unit in each epoch.

mod contention;
mod overlap;
mod replay;

use std::sync::Arc;

use warpshard_chip::host::{HostTimes, LONG_UNIT_COST, RecordedEpoch, Recording, barrier_nanos};
use warpshard_chip::{RunOptions, RunResult, simulate};
use warpshard_config::Machine;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::statistics::median;
use warpshard_stats::HostFacts;
use warpshard_workload::Workload;

use super::sizes;
use contention::Contention;
use replay::{RankLink, ReplayInput, WorkerCosts};

/// Numbers of workers with a prediction.
const WORKER_COUNTS: [usize; 10] = [1, 2, 4, 8, 16, 32, 48, 64, 128, 256];
/// Most workers for which a replay with overlapping halves runs.
const MAX_OVERLAPPED_WORKERS: usize = 64;
/// Numbers of ranks, of one thread each.
const RANK_COUNTS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Default nanoseconds to fetch the state of a unit, 24 KB, from another core's cache at 10 GB/s, if it was not measured.
const STEAL_NS: f64 = 2400.0;
/// Host nanoseconds to send one more packet.
const SEND_NS: f64 = 1000.0;
/// Nanoseconds to write and to read a message of some 25 bytes.
const MESSAGE_NS: f64 = 100.0;
/// Cases of `bench --sizes` that are recorded.
const RECORDED_CASES: [&str; 3] = ["compute", "divergent", "memory"];

/// Options of `bench --scaling`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingOptions {
    /// Numbers of threads that are recorded, for contention, and measured; one thread always is.
    pub threads: Vec<usize>,
    /// Recordings and measurements per number of threads; their medians are used.
    pub runs: usize,
    /// Latency between two ranks in microseconds.
    pub latency_us: f64,
    /// Nanoseconds of a barrier per worker; measured if `None`.
    pub barrier_ns: Option<f64>,
}

/// Records each case, replays it on many workers and ranks, and measures it on a few.
///
/// # Errors
/// Fails if the machine cannot be built or does not run.
pub(super) fn run(machine: &str, overrides: &[(String, String)], options: &ScalingOptions) -> Result<StudyOutput, StudyError> {
    run_with(machine, overrides, options, sizes::CTAS_PER_SM)
}

/// Does the work of [`run`] with `per_sm` CTAs per SM.
fn run_with(machine: &str, overrides: &[(String, String)], options: &ScalingOptions, per_sm: u32) -> Result<StudyOutput, StudyError> {
    let machine = sizes::load(machine, overrides, &[])?;
    let title = format!("speed-up of {} over one thread, predicted from recorded runs and measured", machine.name);
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
    for name in RECORDED_CASES {
        let case = ScalingCase {
            name,
            workload: Arc::new(sizes::case_workload(name, machine.gpu.sms, per_sm).map_err(StudyError::input)?),
            machine: &machine,
        };
        case.predict_speed_ups(options, &mut output)?;
    }
    output.note(format!(
        "ranks: {} us latency, {SEND_NS} ns per further packet, {MESSAGE_NS} ns per message; with too few units taken from another \
         worker, a taken unit is assumed to cost {STEAL_NS} ns more",
        options.latency_us
    ));
    output.note("overlapped: the speed-up if an epoch of one half of the machine depended only on the previous epoch of the other half; the engine does not do this".to_owned());
    output.note("measured: medians of interleaved runs; undisturbed: sums over epochs of each epoch's median, which a pause in less than half of the runs does not change".to_owned());
    Ok(output)
}

struct ScalingCase<'a> {
    name: &'static str,
    workload: Arc<Workload>,
    machine: &'a Machine,
}

/// A run recorded on one worker, the units' attributes for the replay, and the contention in recordings on several workers.
struct RecordedRun {
    result: RunResult,
    shard_of: Vec<u32>,
    kind_of: Vec<&'static str>,
    long_of: Vec<bool>,
    traffic: Vec<(usize, usize, u64)>,
    /// Contention by number of workers, ascending.
    contention: Vec<(usize, Contention)>,
}

/// Host times of runs on one number of threads.
struct MeasuredRuns {
    threads: usize,
    /// Median seconds over the runs.
    seconds: f64,
    /// Seconds without disturbances by the host: the sum over epochs of each epoch's median.
    undisturbed: f64,
    /// Shares of the undisturbed time.
    shares: TimeShares,
    /// Fraction of the waits at the barrier in which a worker slept.
    sleeps: f64,
}

/// Shares of the time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct TimeShares {
    /// Share of stepping units, on average over workers.
    stepping: f64,
    /// Share of delivering and forwarding messages, on average over workers.
    exchanging: f64,
    /// Share of waiting for the busiest worker, on average over workers.
    waiting: f64,
    /// Share of the coordinator and the barrier.
    rest: f64,
}

impl TimeShares {
    /// Computes the shares of a run recorded on `workers` workers.
    fn from_recording(recording: &Recording, workers: usize) -> Self {
        let sum = |part: fn(&RecordedEpoch) -> f64| recording.epochs.iter().map(part).sum::<f64>();
        let took = sum(|epoch| f64::from(epoch.elapsed)).max(1.0);
        let of_workers = |nanos: f64| nanos / workers as f64 / took;
        let (stepping, exchanging) =
            (of_workers(sum(|epoch| f64::from(epoch.stepping))), of_workers(sum(|epoch| f64::from(epoch.exchanging))));
        let rest = sum(|epoch| f64::from(epoch.waiting)) / took;
        Self { stepping, exchanging, waiting: 1.0 - stepping - exchanging - rest, rest }
    }
}

/// Recordings and measurements of a case.
struct CaseRecords {
    /// Recordings with the halves of the machine in turn (`in_halves`) and with all units in every epoch (`together`).
    in_halves: RecordedRun,
    together: RecordedRun,
    /// Measurements by number of threads; the first has one thread.
    measured: Vec<MeasuredRuns>,
    barrier_ns: f64,
}

/// Bounds and measurements that a row of the table lists next to a replay: nanoseconds, except for the measured speed-ups.
struct SpeedUpBounds {
    critical: f64,
    overlapped: Option<f64>,
    /// Measured speed-ups of whole runs and of undisturbed epochs.
    measured: Option<(f64, f64)>,
}

impl MeasuredRuns {
    fn from_results(threads: usize, runs: Vec<RunResult>) -> Self {
        let seconds: Vec<f64> = runs.iter().map(|run| run.host.simulate_seconds).collect();
        let took = |recording: &Recording| recording.epochs.iter().map(|epoch| f64::from(epoch.elapsed)).sum::<f64>() / 1e9;
        let slept = |run: &RunResult| run.host.workers.iter().map(|worker| worker.sleeps as f64).sum::<f64>();
        let waits = |run: &RunResult| (run.host.epochs as f64 * run.host.threads as f64).max(1.0);
        let sleeps: Vec<f64> = runs.iter().map(|run| slept(run) / waits(run)).collect();
        let medians = Recording::medians(&recordings(runs));
        Self {
            threads,
            seconds: median(&seconds).unwrap_or(f64::NAN),
            undisturbed: medians.as_ref().map_or(f64::NAN, took),
            shares: medians.map(|medians| TimeShares::from_recording(&medians, threads)).unwrap_or_default(),
            sleeps: median(&sleeps).unwrap_or(f64::NAN),
        }
    }
}

fn recordings(runs: Vec<RunResult>) -> Vec<Recording> {
    runs.into_iter().filter_map(|run| run.costs).map(|costs| costs.recorded).collect()
}

impl RecordedRun {
    /// Builds a tape from the runs on each of `counts` workers; the first count is one.
    fn from_results(counts: &[usize], runs: Vec<Vec<RunResult>>) -> Result<Self, StudyError> {
        let nothing = || StudyError::Nothing("nothing was recorded".into());
        let mut runs = runs.into_iter();
        let mut of_one = runs.next().unwrap_or_default();
        let mut result = of_one.pop().ok_or_else(nothing)?;
        let recording = result.costs.as_mut().ok_or_else(nothing)?;
        let mut all = recordings(of_one);
        all.push(recording.recorded.clone());
        recording.recorded = Recording::medians(&all).ok_or_else(nothing)?;
        let (shard_of, kind_of): (_, Vec<_>) = recording.units.iter().map(|unit| (unit.shard, unit.kind)).unzip();
        let long_of = recording.units.iter().map(|unit| unit.cost >= LONG_UNIT_COST).collect();
        let traffic = recording.recorded.traffic.iter().map(|(from, to, count)| (from.index(), to.index(), *count)).collect();
        let halves = result.host.halves;
        let alike = counts[1..].iter().zip(runs).filter(|(_, runs)| runs.iter().all(|run| run.host.halves == halves));
        let found = |(count, runs): (&usize, Vec<RunResult>)| {
            Contention::compare(&recording.recorded, &recordings(runs), *count, &kind_of).map(|contention| (*count, contention))
        };
        let contention = alike.filter_map(found).collect();
        Ok(Self { contention, shard_of, kind_of, long_of, traffic, result })
    }

    fn epochs(&self) -> &[RecordedEpoch] {
        self.result.costs.as_ref().map_or(&[], |costs| &costs.recorded.epochs)
    }

    /// Returns the contention on `workers` workers: the recording with the largest count up to `workers`, or else the smallest count.
    fn contention(&self, workers: usize) -> Option<&(usize, Contention)> {
        let known = self.contention.iter().rfind(|(count, _)| *count <= workers).or(self.contention.first());
        known.filter(|_| workers > 1)
    }

    /// Returns the host with `workers` workers. Each worker beyond the recorded count adds `each` nanoseconds to a barrier.
    fn worker_costs(&self, workers: usize, each: f64) -> WorkerCosts {
        let known = self.contention(workers);
        let (count, recorded) = known.map_or((0, 0.0), |(count, contention)| (*count, contention.barrier_ns));
        let steal_ns = known.and_then(|(_, contention)| contention.taken_ns).unwrap_or(STEAL_NS);
        WorkerCosts { barrier_ns: (recorded + each * (workers as f64 - count as f64)).max(0.0), steal_ns }
    }

    /// Returns the epochs, scaled to `workers` workers.
    fn epochs_on(&self, workers: usize) -> Vec<RecordedEpoch> {
        let known = self.contention(workers);
        known.map_or_else(|| self.epochs().to_vec(), |(_, contention)| contention.scaled_epochs(self.epochs(), &self.kind_of, workers))
    }

    fn replay_input<'a>(&'a self, epochs: &'a [RecordedEpoch]) -> ReplayInput<'a> {
        ReplayInput { epochs, shard_of: &self.shard_of, kind_of: &self.kind_of, long_of: &self.long_of, traffic: &self.traffic }
    }

    fn name(&self, unit: Option<usize>) -> &str {
        let units = self.result.costs.as_ref().map(|recording| &recording.units);
        units.zip(unit).map_or("-", |(units, unit)| units[unit].name.as_str())
    }
}

impl ScalingCase<'_> {
    fn run(&self, options: RunOptions) -> Result<RunResult, StudyError> {
        simulate(self.machine, &self.workload, options).map_err(StudyError::input)
    }

    /// Records and measures the case several times on one thread and on each number of `options.threads`: recorded with the halves of the
    /// machine in turn, recorded with all units in every epoch of `lookahead` cycles, and measured. The three ways are interleaved, since
    /// the load of the host and the cores it assigns change with time.
    fn record_case(&self, lookahead: u64, options: &ScalingOptions) -> Result<CaseRecords, StudyError> {
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
        let measured = counts.iter().zip(measured).map(|(threads, runs)| MeasuredRuns::from_results(*threads, runs)).collect();
        Ok(CaseRecords {
            in_halves: RecordedRun::from_results(&counts, in_halves)?,
            together: RecordedRun::from_results(&counts, together)?,
            measured,
            barrier_ns: median(&barriers).unwrap_or(f64::NAN),
        })
    }

    /// Returns the engine's setup on `threads` workers.
    fn host_facts(&self, threads: usize) -> Result<HostFacts, StudyError> {
        Ok(self.run(RunOptions { threads, max_cycles: Some(1), ..RunOptions::default() })?.host)
    }

    fn predict_speed_ups(&self, options: &ScalingOptions, output: &mut StudyOutput) -> Result<(), StudyError> {
        let lookahead = self.host_facts(1)?.lookahead_cycles;
        let CaseRecords { in_halves, together, measured, barrier_ns } = self.record_case(lookahead, options)?;
        output.figure(&format!("{}: nanoseconds of a barrier for each worker", self.name), barrier_ns);
        let one = in_halves.replay_input(in_halves.epochs()).one_worker_ns();
        let mut still_halves = true;
        for workers in WORKER_COUNTS {
            still_halves &= workers <= 8 && self.host_facts(workers)?.halves;
            let tape = if still_halves { &in_halves } else { &together };
            let epochs = tape.epochs_on(workers);
            let recorded = tape.replay_input(&epochs);
            let host = tape.worker_costs(workers, barrier_ns);
            let host = options.barrier_ns.map_or(host, |each| WorkerCosts { barrier_ns: each * workers as f64, ..host });
            let replayed = recorded.replay_on_workers(workers, host);
            // No overlap if the halves take turns.
            let overlapped = (!still_halves && workers <= MAX_OVERLAPPED_WORKERS).then(|| recorded.overlapped_ns(workers, host));
            let found = measured.iter().find(|found| found.threads == workers).zip(measured.first());
            let found = found.map(|(found, alone)| (alone.seconds / found.seconds, alone.undisturbed / found.undisturbed));
            let bounds = SpeedUpBounds { critical: recorded.critical_path(|_| true).0, overlapped, measured: found };
            self.add_speed_up_row(output, "workers", workers, one, &replayed, bounds);
            if let Some((whole, undisturbed)) = found.filter(|_| workers > 1) {
                let off = |speed_up: f64| 100.0 * (one / replayed.total / speed_up - 1.0);
                output.figure(&format!("{}: predicted against measured speed-up of {workers} threads, %", self.name), off(whole));
                output.figure(&format!("{}: predicted against undisturbed speed-up of {workers} threads, %", self.name), off(undisturbed));
            }
        }
        let link = RankLink { latency_ns: options.latency_us * 1e3, send_ns: SEND_NS, message_ns: MESSAGE_NS };
        let recorded = together.replay_input(together.epochs());
        let (critical, unit) = recorded.critical_path(|_| true);
        let (network, net) = recorded.critical_path(|kind| kind == "network");
        for ranks in RANK_COUNTS {
            let (replayed, crossing) = recorded.replay_on_ranks(ranks, link);
            self.add_speed_up_row(output, "ranks", ranks, one, &replayed, SpeedUpBounds { critical, overlapped: None, measured: None });
            if ranks == 2 {
                output.figure(&format!("{}: share of messages between two ranks, %", self.name), 100.0 * crossing);
            }
        }
        for found in &measured {
            let TimeShares { stepping, exchanging, waiting, rest } = found.shares;
            let parts = [
                ("stepping", stepping),
                ("messages", exchanging),
                ("waiting for the busiest worker", waiting),
                ("coordinator and barrier", rest),
                ("share of waits that slept", found.sleeps),
            ];
            for (part, share) in parts {
                output.figure(&format!("{}: {} threads measured: {part}, %", self.name, found.threads), 100.0 * share);
            }
        }
        self.report_contention(&in_halves, "in two halves", output);
        self.report_contention(&together, "all in every epoch", output);
        let epochs = together.epochs().len().max(1) as f64;
        output.figure(
            &format!("{}: microseconds of an epoch of {lookahead} cycles on one thread", self.name),
            recorded.one_worker_ns() / epochs / 1e3,
        );
        let longest = format!("{}: speed-up that the longest unit of each epoch allows ({})", self.name, together.name(unit));
        output.figure(&longest, one / critical);
        output.figure(&format!("{}: speed-up that the networks allow ({})", self.name, together.name(net)), one / network);
        Ok(())
    }

    /// Reports the contention between workers.
    fn report_contention(&self, tape: &RecordedRun, way: &str, output: &mut StudyOutput) {
        for (workers, contention) in &tape.contention {
            let about = |what: &str| format!("{}, {way}, {workers} workers: {what}", self.name);
            for (kind, factor) in &contention.steps {
                output.figure(&about(&format!("time of a step of kind {kind} relative to one worker")), *factor);
            }
            output.figure(&about("extra nanoseconds per message from another worker"), contention.message_ns);
            output.figure(&about("nanoseconds of barrier and coordinator"), contention.barrier_ns);
            if let Some(nanos) = contention.taken_ns {
                output.figure(&about("extra nanoseconds per unit that another worker takes"), nanos);
            }
        }
    }

    fn add_speed_up_row(
        &self,
        output: &mut StudyOutput,
        way: &str,
        count: usize,
        one: f64,
        replayed: &replay::ReplayedTimes,
        bounds: SpeedUpBounds,
    ) {
        let SpeedUpBounds { critical, overlapped, measured } = bounds;
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
        // One SM with one CTA covers as many code paths as a whole machine, in a fraction of the time.
        let overrides = [("gpu.sms".to_owned(), "1".to_owned())];
        let output = run_with("tiny", &overrides, &options, 1).unwrap();
        let rows = RECORDED_CASES.len() * (WORKER_COUNTS.len() + RANK_COUNTS.len());
        let speed_ups: Vec<f64> = output.column("speed-up").unwrap().iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(speed_ups.len(), rows);
        let allowed: Vec<f64> = output.column("longest unit allows").unwrap().iter().map(|text| text.parse().unwrap()).collect();
        assert!(speed_ups.iter().zip(&allowed).all(|(speed_up, most)| *speed_up > 0.0 && *speed_up <= most * 1.1 + 0.1));
        assert!(barrier_nanos() > 0.0);
    }
}
