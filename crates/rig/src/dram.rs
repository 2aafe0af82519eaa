//! A DRAM channel alone under open-loop load.
//!
//! Request k is generated in the first cycle at or after k times the interval and enters an unbounded queue. In every cycle, before the
//! controller's tick, requests move from the head of this queue into the controller until one is not accepted. The first requests warm up
//! the channel; figures cover the time from the completion of the last warm-up request to the last completion.

use hdrhistogram::Histogram;

use warpshard_base::Cycle;
use warpshard_mem::dram::control::{BankCounters, ControlCounters, Controller, ControllerPolicy, IssuedCommand};
use warpshard_mem::dram::standard::Standard;
use warpshard_stats::Counters as _;

use super::pattern::{AccessPattern, AccessStream};

/// Parameters of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DramOptions {
    /// DRAM device.
    pub standard: &'static Standard,
    /// Policy of the controller.
    pub policy: ControllerPolicy,
    /// Pattern of the accesses.
    pub pattern: AccessPattern,
    /// Fraction of writes among the requests.
    pub writes: f64,
    /// Generated requests as a fraction of the data buses' capacity.
    pub load: f64,
    /// Number of requests, of which one in eleven is for warm-up.
    pub requests: u64,
}

/// The results of a run, after its warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct DramOutcome {
    /// Number of completed requests.
    pub measured: u64,
    /// Cycles of the measurement.
    pub cycles: u64,
    /// Requests per cycle as a fraction of the data buses' capacity.
    pub achieved: f64,
    /// Number of completed reads.
    pub reads: u64,
    /// Sum of read latencies from entering the controller to the last data, in cycles.
    pub controller_latency: u64,
    /// Sum of read latencies from generation to the last data, in cycles.
    pub total_latency: u64,
    /// Histogram of read latencies from entering the controller, in cycles.
    pub latencies: Histogram<u64>,
    /// Counters of the controller.
    pub counters: ControlCounters,
    /// Counters of the controller for each bank, including the warm-up.
    pub banks: Vec<BankCounters>,
    /// Maximum length of the queue of generated requests in front of the controller.
    pub backlog: u64,
}

impl DramOutcome {
    /// Returns the mean read latency from entering the controller, in cycles; 0 without reads.
    pub fn mean_controller_latency(&self) -> f64 {
        self.controller_latency as f64 / self.reads.max(1) as f64
    }

    /// Returns the mean read latency from generation, in cycles; 0 without reads.
    pub fn mean_total_latency(&self) -> f64 {
        self.total_latency as f64 / self.reads.max(1) as f64
    }

    /// Returns the fraction of requests to an open row.
    pub fn row_hit_rate(&self) -> f64 {
        let c = &self.counters;
        c.row_hits as f64 / (c.row_hits + c.row_misses + c.row_conflicts).max(1) as f64
    }
}

/// Simulates one load.
pub fn run(options: &DramOptions) -> DramOutcome {
    let mut controller = Controller::new(options.standard, options.policy);
    drive_controller(options, &mut controller)
}

/// Simulates one load and records every command.
pub fn run_traced(options: &DramOptions) -> (DramOutcome, Vec<IssuedCommand>) {
    let mut controller = Controller::new(options.standard, options.policy);
    controller.record();
    let outcome = drive_controller(options, &mut controller);
    (outcome, controller.take_trace())
}

fn drive_controller(options: &DramOptions, controller: &mut Controller) -> DramOutcome {
    let peak = options.standard.peak_per_clock();
    let interval = 1.0 / (options.load * peak);
    let generated = |k: u64| {
        let exact = k as f64 * interval;
        let whole = exact as u64;
        whole + u64::from((whole as f64) < exact)
    };
    let mut stream = AccessStream::new(options.pattern, options.standard.organisation, options.writes);
    let (total, warm) = (options.requests, options.requests / 11);
    // Generation cycles of the requests inside the controller, indexed by request number.
    let mut generation_cycles = vec![0u64; (total as usize).next_power_of_two().min(1 << 16)];
    let place = |token: u32, generation_cycles: &[u64]| token as usize & (generation_cycles.len() - 1);
    let (mut head, mut taken, mut finished, mut clock, mut start) = (stream.next(), 0u64, 0u64, 0u64, 0u64);
    let mut before = ControlCounters::default();
    let latencies = Histogram::new_with_max(1 << 40, 3).unwrap_or_else(|e| panic!("the bounds of the histogram are wrong: {e}"));
    let mut outcome = DramOutcome {
        measured: 0,
        cycles: 0,
        achieved: 0.0,
        reads: 0,
        controller_latency: 0,
        total_latency: 0,
        latencies,
        counters: before.clone(),
        banks: Vec::new(),
        backlog: 0,
    };
    while finished < total {
        let mut refused = false;
        while taken < total && generated(taken) <= clock {
            refused = !controller.push(Cycle(clock), head);
            if refused {
                break;
            }
            let at = place(head.token, &generation_cycles);
            generation_cycles[at] = generated(taken);
            taken += 1;
            head = stream.next();
        }
        if refused {
            // Number of requests generated so far, from a division by the interval.
            let all = ((clock as f64 / interval) as u64 + 1).min(total);
            outcome.backlog = outcome.backlog.max(all - taken);
        }
        controller.tick(Cycle(clock + 1));
        while let Some(done) = controller.pop_done() {
            finished += 1;
            if finished <= warm {
                if finished == warm {
                    start = clock;
                    before = controller.counters().clone();
                }
                continue;
            }
            if !done.access.write {
                let latency = done.at.0 - done.arrived.0;
                outcome.reads += 1;
                outcome.controller_latency += latency;
                outcome.total_latency += clock - generation_cycles[place(done.access.token, &generation_cycles)];
                outcome.latencies.saturating_record(latency);
            }
        }
        if finished == total {
            break;
        }
        let mut next = controller.next_event().0.saturating_sub(1);
        if !refused && taken < total {
            next = next.min(generated(taken));
        }
        assert!(next < u64::MAX - 1, "the DRAM rig waits for nothing in cycle {clock} with {finished} of {total} requests done");
        let next = next.max(clock + 1);
        if refused {
            controller.count_full(head.write, next - clock);
        }
        clock = next;
    }
    outcome.measured = total - warm;
    outcome.cycles = (clock - start).max(1);
    outcome.achieved = outcome.measured as f64 / outcome.cycles as f64 / peak;
    outcome.counters = controller.counters().since(&before);
    outcome.banks = controller.bank_counters().to_vec();
    outcome
}
