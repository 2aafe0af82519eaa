//! The measured span of a run (Section 5): a controller that sets no knob, counts, and ends the run.
//!
//! In: the chip's counters at multiples of [`STEP_CYCLES`] core cycles. Out: the counts, sent once at the end of the run. The span begins
//! when the slowest CPU core is warm and the GPU application has started. All CPU cores are measured over the same cycles, from there
//! until the slowest core has retired its count. The GPU application is measured until it has issued its count, has ended once, or has
//! done enough for a shortened run. Both keep running after their own measurement, so each is always measured with the other; the run
//! ends when both are measured.

use crossbeam_channel::Sender;
use serde::{Deserialize, Serialize};

use warpshard_base::KernelIndex;
use warpshard_control::{Controller, DecisionSet, EventKind, EventSelector, KnobSet, Observation, STALL_GPU, ObservationTable, Trigger};

/// Core cycles between two checks; equal to the interval of the compared controllers, so that both use the same cuts.
pub(super) const STEP_CYCLES: u64 = 1024;

/// The counts at which the measurement ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpanGoals {
    /// Instructions that every CPU core retires before the span begins.
    pub(super) warm: u64,
    /// Instructions of the slowest CPU core at which the CPU measurement ends, counted from the start of the run.
    pub(super) cpu: u64,
    /// Warp instructions in the span at which the GPU measurement ends.
    pub(super) gpu: u64,
    /// A number of warp instructions and a number of core cycles: the GPU measurement also ends when both are reached.
    pub(super) gpu_enough: (u64, u64),
    /// The last launch of the GPU application's first pass; `None` without a GPU application.
    pub(super) pass: Option<KernelIndex>,
    /// Core cycles after which the span is cut; `None` never cuts it.
    pub(super) longest: Option<u64>,
}

/// Counts of a CPU core over the span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CpuCoreCounts {
    /// Instructions retired.
    pub(super) instructions: u64,
    /// Cycles of the CPU clock.
    pub(super) cycles: u64,
    /// Reads sent to the network, which are the core's L2 misses.
    pub(super) reads: u64,
}

/// Counts over a span.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SpanCounts {
    /// Core cycle at which the span began.
    pub(super) start: u64,
    /// Core cycles of the span.
    pub(super) cycles: u64,
    /// Counts of the CPU cores, until the slowest core reached its goal.
    pub(super) cores: Vec<CpuCoreCounts>,
    /// `true` if the slowest CPU core reached its goal.
    pub(super) cpu_through: bool,
    /// Warp instructions until the GPU application reached its goal or ended.
    pub(super) gpu_issued: u64,
    /// Core cycles until the GPU application reached its goal or ended.
    pub(super) gpu_cycles: u64,
    /// `true` if the GPU application reached its goal or ended.
    pub(super) gpu_through: bool,
    /// Totals over the span, in the order of [`Total`].
    pub(super) totals: [u64; Total::TOTALS_COUNT],
}

/// Totals over all SMs, partitions or CPU cores and the whole span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Total {
    /// Warp instructions issued by all SMs.
    Issued,
    /// Scheduler cycles with resident warps but without an issue: the `stall_gpu` of all SMs.
    StallGpu,
    /// Partition cycles in which a full queue refused a request.
    StallMc,
    /// Partition cycles in which the reply network refused a reply.
    StallNet,
    /// Accesses to the LLC.
    LlcAccesses,
    /// LLC accesses whose line was neither present nor already requested.
    LlcMisses,
    /// DRAM cycles in which data moved.
    DramBusy,
    /// Outstanding reads of the CPU cores, summed over CPU cycles.
    ReadCycles,
    /// Reads sent by the CPU cores.
    Reads,
    /// Resident warps, summed over SMs and core cycles.
    WarpCycles,
}

impl Total {
    const TOTALS_COUNT: usize = 10;
}

impl SpanCounts {
    /// Returns a total over the span.
    pub(super) fn total(&self, total: Total) -> u64 {
        self.totals[total as usize]
    }
}

/// The controller that measures the span of a run.
#[derive(Debug, warpshard_state::State)]
#[state(fixed)]
pub(super) struct Span {
    goals: SpanGoals,
    result: Sender<SpanCounts>,
    counts: SpanCounts,
    /// Instructions of each CPU core since the start of the run.
    retired_instructions: Vec<u64>,
    has_begun: bool,
    is_over: bool,
}

impl Span {
    /// Creates a controller that sends its counts to `result`.
    pub(super) fn new(goals: SpanGoals, result: Sender<SpanCounts>) -> Self {
        Self { goals, result, counts: SpanCounts::default(), retired_instructions: Vec::new(), has_begun: false, is_over: false }
    }

    fn slowest_retired(&self) -> u64 {
        self.retired_instructions.iter().copied().min().unwrap_or(u64::MAX)
    }

    fn add_counts(&mut self, seen: &Observation<'_>) {
        let Observation { sms, partitions, cpus, .. } = seen;
        let counts = &mut self.counts;
        counts.cycles += seen.interval;
        let of = |table: &ObservationTable<'_>, name: &str| table.column(name).map_or(0, |column| table.sum(column));
        let mut add = |total: Total, value: u64| counts.totals[total as usize] += value;
        add(Total::Issued, of(sms, "issued"));
        add(Total::StallGpu, STALL_GPU.iter().map(|name| of(sms, name)).sum());
        add(Total::StallMc, of(partitions, "stall_mc"));
        add(Total::StallNet, of(partitions, "stall_net"));
        add(Total::LlcAccesses, of(partitions, "accesses"));
        add(Total::LlcMisses, of(partitions, "misses"));
        add(Total::DramBusy, of(partitions, "data_cycles"));
        add(Total::ReadCycles, of(cpus, "read_cycles"));
        add(Total::Reads, of(cpus, "reads"));
        add(Total::WarpCycles, of(sms, "resident_warp_cycles"));
        if !counts.gpu_through {
            counts.gpu_issued += of(sms, "issued");
            counts.gpu_cycles += seen.interval;
        }
        if !counts.cpu_through {
            let columns = ["instructions", "cycles", "reads"].map(|name| cpus.column(name));
            counts.cores.resize(cpus.rows().len(), CpuCoreCounts::default());
            for (core, row) in counts.cores.iter_mut().zip(cpus.rows()) {
                let [instructions, cycles, reads] = columns.map(|column| column.map_or(0, |column| row[column]));
                core.instructions += instructions;
                core.cycles += cycles;
                core.reads += reads;
            }
        }
    }

    /// Checks the goals; ends the run when both sides are measured or the span is cut.
    fn check_goals(&mut self, seen: &Observation<'_>) {
        let slowest = self.slowest_retired();
        let SpanGoals { cpu, gpu, gpu_enough, pass, longest, .. } = self.goals;
        let counts = &mut self.counts;
        let passed = seen.events.iter().any(|event| Some(event.kind) == pass.map(EventKind::KernelEnded));
        let enough = counts.gpu_issued >= gpu_enough.0 && counts.gpu_cycles >= gpu_enough.1;
        counts.gpu_through |= pass.is_none() || passed || counts.gpu_issued >= gpu || enough;
        counts.cpu_through |= slowest >= cpu;
        self.is_over = (counts.gpu_through && counts.cpu_through) || longest.is_some_and(|longest| counts.cycles >= longest);
        if self.is_over {
            // The receiver outlives the run, so sending cannot fail.
            let _ = self.result.send(counts.clone());
        }
    }
}

impl Controller for Span {
    fn name(&self) -> &str {
        "span"
    }

    fn triggers(&self) -> Vec<Trigger> {
        let passed = self.goals.pass.map(|pass| Trigger::On(EventSelector::KernelEnded(Some(pass))));
        [Trigger::Every(STEP_CYCLES)].into_iter().chain(passed).collect()
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[])
    }

    /// The counts are sent through a channel, which a checkpoint cannot hold.
    fn can_be_saved(&self) -> bool {
        false
    }

    fn observe(&mut self, seen: &Observation<'_>, _out: &mut DecisionSet) {
        let instructions = seen.cpus.column("instructions");
        self.retired_instructions.resize(seen.cpus.rows().len(), 0);
        for (retired, row) in self.retired_instructions.iter_mut().zip(seen.cpus.rows()) {
            *retired += instructions.map_or(0, |column| row[column]);
        }
        if self.has_begun {
            self.add_counts(seen);
            self.check_goals(seen);
        } else {
            let issued = seen.sms.column("issued").map_or(0, |column| seen.sms.sum(column));
            self.has_begun = self.slowest_retired() >= self.goals.warm && (self.goals.pass.is_none() || issued > 0);
            self.counts.start = seen.cycle.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_base::Cycle;
    use warpshard_control::{Facts, ObservedEvent};
    use warpshard_stats::CounterInfo;

    const PASS_ENDED: EventKind = EventKind::KernelEnded(KernelIndex(1));

    const fn counter_info(name: &'static str) -> CounterInfo {
        CounterInfo { name, unit: "", help: "" }
    }

    static SM_COUNTERS: [CounterInfo; 3] = [counter_info("issued"), counter_info("stall_barrier"), counter_info("stall_no_warps")];
    static PARTITION_COUNTERS: [CounterInfo; 3] = [counter_info("stall_mc"), counter_info("stall_net"), counter_info("accesses")];
    static CPU_COUNTERS: [CounterInfo; 3] = [counter_info("instructions"), counter_info("cycles"), counter_info("reads")];

    fn example_goals() -> SpanGoals {
        SpanGoals { warm: 100, cpu: 1000, gpu: 5000, gpu_enough: (5000, 0), pass: Some(KernelIndex(1)), longest: None }
    }

    /// A test bench: a span over CPU cores and one SM.
    struct TestBench {
        span: Span,
        result: crossbeam_channel::Receiver<SpanCounts>,
        cycle: u64,
    }

    impl TestBench {
        fn new(goals: SpanGoals) -> Self {
            let (send, result) = crossbeam_channel::unbounded();
            Self { span: Span::new(goals, send), result, cycle: 0 }
        }

        /// Advances one step with the given instructions retired per CPU core and issued by the SM; returns `true` if the run is over.
        fn advance_cut(&mut self, retired: &[u64], issued: u64, events: &[EventKind]) -> bool {
            self.cycle += STEP_CYCLES;
            let cpus: Vec<u64> = retired.iter().zip([2, 4]).flat_map(|(retired, reads)| [*retired, 1463, reads]).collect();
            let events: Vec<ObservedEvent> = events.iter().map(|&kind| ObservedEvent { cycle: Cycle(self.cycle), kind }).collect();
            let (sms, partitions, cores) = (SM_COUNTERS.each_ref(), PARTITION_COUNTERS.each_ref(), CPU_COUNTERS.each_ref());
            let issued = [issued, 7, 900];
            let seen = Observation {
                cycle: Cycle(self.cycle),
                interval: STEP_CYCLES,
                facts: &Facts::default(),
                sms: ObservationTable::new(&sms, &issued),
                partitions: ObservationTable::new(&partitions, &[3, 1, 20]),
                grid: ObservationTable::new(&[], &[]),
                cpus: ObservationTable::new(&cores, &cpus),
                hubs: ObservationTable::new(&[], &[]),
                applications: ObservationTable::new(&[], &[]),
                sm_applications: ObservationTable::new(&[], &[]),
                ctas: &[],
                events: &events,
            };
            let mut out = DecisionSet::new(self.span.knobs());
            self.span.observe(&seen, &mut out);
            assert!(out.decisions().is_empty());
            self.span.is_over()
        }
    }

    #[test]
    fn the_span_begins_with_warm_cores_and_a_running_kernel_and_ends_with_the_later_goal() {
        let mut bench = TestBench::new(example_goals());
        assert!(!bench.advance_cut(&[500, 50], 0, &[]), "the slower core is cold");
        assert!(!bench.advance_cut(&[500, 60], 0, &[]), "the kernel has not begun");
        assert!(!bench.advance_cut(&[500, 10], 90, &[]), "the span begins here");
        assert!(!bench.advance_cut(&[500, 400], 4000, &[]));
        assert!(!bench.advance_cut(&[500, 400], 400, &[]));
        assert!(!bench.advance_cut(&[500, 100], 500, &[]), "the slower core has 1020 now, the kernel 4900");
        assert!(bench.advance_cut(&[500, 100], 600, &[]));
        let counts = bench.result.try_recv().unwrap();
        assert_eq!((counts.start, counts.cycles, counts.gpu_issued, counts.gpu_cycles), (3 * STEP_CYCLES, 4 * STEP_CYCLES, 5500, 4 * STEP_CYCLES));
        let core = |instructions, reads| CpuCoreCounts { instructions, cycles: 3 * 1463, reads };
        assert_eq!(counts.cores, [core(1500, 6), core(900, 12)], "both until the slower one was through");
        let totals = [Total::StallGpu, Total::StallMc, Total::StallNet, Total::LlcAccesses].map(|total| counts.total(total));
        assert_eq!(totals, [28, 12, 4, 80], "idle schedulers are not stalled");
    }

    #[test]
    fn an_application_that_is_through_once_has_been_measured() {
        let mut bench = TestBench::new(example_goals());
        bench.advance_cut(&[100, 100], 1, &[]);
        assert!(!bench.advance_cut(&[100, 100], 300, &[PASS_ENDED]));
        assert!(bench.advance_cut(&[900, 900], 300, &[]));
        let counts = bench.result.try_recv().unwrap();
        assert_eq!((counts.gpu_issued, counts.gpu_cycles, counts.gpu_through, counts.total(Total::Issued)), (300, STEP_CYCLES, true, 600));
    }

    #[test]
    fn a_shortened_run_ends_with_fewer_instructions_but_not_before_its_time() {
        let ends = |issued: u64| {
            let mut bench = TestBench::new(SpanGoals { gpu_enough: (600, 3 * STEP_CYCLES), ..example_goals() });
            bench.advance_cut(&[100, 100], 1, &[]);
            [(); 4].map(|()| bench.advance_cut(&[900, 900], issued, &[]))
        };
        assert_eq!(ends(250), [false, false, true, true], "enough instructions after three steps");
        assert_eq!(ends(150), [false, false, false, true], "after three steps there are 450");
        assert_eq!(ends(3000), [false, true, true, true], "the whole count comes first");
    }

    #[test]
    fn a_span_that_takes_too_long_ends_and_shows_what_was_not_reached() {
        let mut bench = TestBench::new(SpanGoals { longest: Some(2 * STEP_CYCLES), pass: None, ..example_goals() });
        assert!(!bench.advance_cut(&[100, 100], 0, &[]));
        assert!(!bench.advance_cut(&[10, 10], 0, &[]));
        assert!(bench.advance_cut(&[10, 10], 0, &[]));
        let counts = bench.result.try_recv().unwrap();
        assert_eq!((counts.cpu_through, counts.gpu_through, counts.cores[1].instructions), (false, true, 20));
    }

    #[test]
    fn without_cpu_cores_the_kernel_alone_is_measured() {
        let mut bench = TestBench::new(example_goals());
        assert_eq!([0, 5, 4999, 1].map(|issued| bench.advance_cut(&[], issued, &[])), [false, false, false, true]);
        assert_eq!(bench.result.try_recv().unwrap().cores, []);
    }
}
