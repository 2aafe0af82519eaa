//! Tests of the rules of the scheme with the paper's examples, and of the decisions when a kernel arrives.

use warpshard_base::CtaIndex;
use warpshard_control::{DepartedCta, EndedCtas, KernelFacts, Peaks, Resources};
use warpshard_policy::testing::{CounterTable, Scene};

use super::cost::{PreemptionCost, own_cpi};
use super::victim::{best_set, overlapping_ctas, cost_of, cta_positions};
use super::*;
use crate::built_policy;

const BACKGROUND_KERNEL: KernelIndex = KernelIndex(0);
const TASK_KERNEL: KernelIndex = KernelIndex(1);

/// Returns a CTA with registers from `first` on that has executed `executed` instructions since cycle 0.
fn cta(number: u32, first: u32, registers: u32, executed: u64) -> CtaProgress {
    CtaProgress {
        kernel: BACKGROUND_KERNEL,
        cta: CtaIndex(number),
        registers: (first, registers),
        shared: (0, 0),
        threads: 128,
        started: Cycle(0),
        executed,
        executed_here: executed,
        wrote: false,
        leaving: false,
    }
}

fn cost(latency: f64, overhead: f64) -> PreemptionCost {
    PreemptionCost { latency, overhead }
}

#[test]
fn the_technique_has_the_least_overhead_within_the_bound_else_the_least_latency() {
    let of = |drain: PreemptionCost, switch: PreemptionCost, flush: PreemptionCost, bound: f64| {
        let costs = |technique| match technique {
            Technique::Drain => drain,
            Technique::Switch => switch,
            Technique::Flush => flush,
        };
        best_technique(costs, bound).0
    };
    let (drain, switch, flush) = (cost(3000.0, 0.0), cost(1000.0, 800.0), cost(0.0, 900.0));
    assert_eq!(of(drain, switch, flush, 3000.0), Technique::Drain, "a latency equal to the bound meets it");
    assert_eq!(of(drain, switch, flush, 2999.0), Technique::Switch);
    assert_eq!(of(drain, switch, flush, 999.0), Technique::Flush);
    // No technique meets the bound: the least latency decides, whatever the overhead.
    assert_eq!(of(drain, switch, PreemptionCost::MAX, 999.0), Technique::Switch);
    // A technique without an estimate has the highest cost.
    assert_eq!(of(PreemptionCost::MAX, cost(1000.0, f64::INFINITY), flush, 2000.0), Technique::Flush);
    assert_eq!(of(PreemptionCost::MAX, cost(5000.0, f64::INFINITY), PreemptionCost::MAX, 2000.0), Technique::Switch);
}

#[test]
fn the_victim_set_has_the_least_overhead_within_the_bound_else_the_least_latency() {
    let chosen = [cost(100.0, 50.0), cost(900.0, 0.0), cost(300.0, 20.0)].map(|cost| (Technique::Switch, cost));
    // The latency of a set is the latency of its slowest CTA; overheads add up.
    assert_eq!(cost_of(0b101, &chosen), cost(300.0, 70.0));
    let sets = [Some(0b101), Some(0b010), Some(0b100)];
    assert_eq!(best_set(&sets, &chosen, 900.0), Some(1));
    assert_eq!(best_set(&sets, &chosen, 300.0), Some(2));
    assert_eq!(best_set(&sets, &chosen, 50.0), Some(2), "no set meets the bound: of two equally fast sets, the set with less overhead");
    assert_eq!(best_set(&[Some(0b101), None, None], &chosen, 50.0), Some(0));
    assert_eq!(best_set(&[None], &chosen, 50.0), None);
}

/// Figures 3.3(b), 3.8 and 3.9: eight CTAs overlap four positions.
#[test]
fn the_papers_candidate_sets_and_their_update() {
    // Each CTA has 100 registers; a new CTA needs 225, so positions begin within CTAs 2, 4 and 6.
    let resident: Vec<CtaProgress> = (0..8).map(|i| cta(i, 100 * i, 100, 1)).collect();
    let (sm, need) = (
        Resources { registers: 900, shared_bytes: 0, threads: 1536, ctas: 8, ..Resources::default() },
        Resources { registers: 225, shared_bytes: 0, threads: 256, ctas: 1, ..Resources::default() },
    );
    let sets: Vec<u64> = cta_positions(&sm, &need).iter().map(|position| overlapping_ctas(position, &resident)).collect();
    let bits = |text: &str| text.bytes().enumerate().fold(0u64, |set, (at, bit)| set | u64::from(bit == b'1') << at);
    assert_eq!(sets, ["11100000", "00111000", "00001110", "00000011"].map(bits), "as in the figure");
    // When the second set is preempted, its CTAs are removed from the other sets.
    let updated: Vec<u64> = sets.iter().map(|set| set & !sets[1]).collect();
    assert_eq!(updated, ["11000000", "00000000", "00000110", "00000011"].map(bits), "as in the figure");
    // The choice of victims removes them too: the second set has the lowest cost; for a second new CTA the last set costs less than the
    // remaining CTAs of the other sets.
    let overhead = [9.0, 9.0, 1.0, 1.0, 1.0, 9.0, 2.0, 2.0];
    let chosen: Vec<_> = overhead.map(|overhead| (Technique::Switch, cost(10.0, overhead))).to_vec();
    let scene = VictimSearch { sm, need, resident: &resident, may_leave: 0xff, leaving: 0, chosen: &chosen, bound: 100.0 };
    let set = |text: &str| bits(text);
    assert_eq!(scene.choose_victims(1), (set("00111000"), 1));
    assert_eq!(scene.choose_victims(2), (set("00111011"), 2));
    // CTAs 2 and 6 left with the second and the last set.
    assert_eq!(scene.choose_victims(3), (set("00111111"), 3));
    assert_eq!(scene.choose_victims(5), (set("11111111"), 4), "there are four positions");
}

/// Figure 3.10: executed instructions, issue cycle and flush bit of running CTAs.
#[test]
fn the_papers_status_of_running_ctas_gives_their_costs() {
    let now = Cycle(2500);
    let status = [(486, 2000, true), (20, 2474, false), (574, 1862, true)];
    let costs = status.map(|(executed, issued, flush)| {
        let one = CtaProgress { started: Cycle(issued), wrote: !flush, ..cta(0, 0, 4096, executed) };
        let view = EstimateInput {
            cta: &one,
            now,
            statistics: KernelStatistics { instructions: Some(600.0), ended_cpi: None, running_deviation: None },
            cpi_source: CpiSource::LowerDeviation,
            bandwidth: 8.0,
            may_flush: !one.wrote,
            unknown_beyond_mean: true,
            known: None,
        };
        (own_cpi(&one, now), view.technique_cost(Technique::Drain).latency, view.technique_cost(Technique::Flush))
    });
    assert_eq!(costs[0], (Some(500.0 / 486.0), 114.0 * (500.0 / 486.0), cost(0.0, 486.0)));
    assert_eq!(costs[1], (Some(26.0 / 20.0), 580.0 * (26.0 / 20.0), PreemptionCost::MAX), "its flush bit is clear");
    assert_eq!(costs[2], (Some(638.0 / 574.0), 26.0 * (638.0 / 574.0), cost(0.0, 574.0)));
}

#[test]
fn a_candidate_set_unites_registers_and_shared_memory() {
    let mut resident = [cta(0, 0, 4096, 1), cta(1, 4096, 4096, 1)];
    resident[0].shared = (2048, 2048);
    resident[1].shared = (0, 1024);
    let sm = Resources { registers: 32768, shared_bytes: 49152, threads: 1536, ctas: 8, ..Resources::default() };
    let need = Resources { registers: 4096, shared_bytes: 2048, threads: 256, ctas: 1, ..Resources::default() };
    let all = cta_positions(&sm, &need);
    assert_eq!((all.len(), all[3]), (8, [(12288, 4096), (6144, 2048)]));
    assert_eq!([overlapping_ctas(&all[0], &resident), overlapping_ctas(&all[1], &resident), overlapping_ctas(&all[2], &resident)], [0b11, 0b11, 0]);
}

#[test]
fn the_cpi_source_has_the_lower_deviation() {
    let known = |running: Option<f64>, ended: Option<(f64, f64)>| KernelStatistics {
        instructions: Some(100.0),
        ended_cpi: ended,
        running_deviation: running,
    };
    let of = |statistics: KernelStatistics| statistics.cpi(CpiSource::LowerDeviation, Some(7.0));
    assert_eq!(of(known(Some(1.0), Some((5.0, 2.0)))), Some(7.0), "running CTAs deviate less: the CPI of the CTA");
    assert_eq!(of(known(Some(3.0), Some((5.0, 2.0)))), Some(5.0), "ended CTAs deviate less: their mean");
    assert_eq!(of(known(None, Some((5.0, 2.0)))), Some(5.0), "one running CTA has no deviation");
    assert_eq!(of(known(Some(1.0), None)), Some(7.0), "no CTA has ended");
    assert_eq!(known(Some(1.0), Some((5.0, 2.0))).cpi(CpiSource::LowerDeviation, None), Some(5.0), "the CTA has executed nothing");
    assert_eq!(known(Some(3.0), Some((5.0, 2.0))).cpi(CpiSource::Own, Some(7.0)), Some(7.0), "Chimera");
    assert_eq!(known(None, None).cpi(CpiSource::LowerDeviation, None), None);
}

#[test]
fn costs_follow_the_formulas_of_the_paper() {
    let mut one = cta(0, 0, 4096, 50);
    one.shared = (0, 2048);
    let statistics = KernelStatistics { instructions: Some(80.0), ended_cpi: Some((20.0, 1.0)), running_deviation: None };
    let view = EstimateInput {
        cta: &one,
        now: Cycle(500),
        statistics,
        cpi_source: CpiSource::LowerDeviation,
        bandwidth: 8.0,
        may_flush: true,
        unknown_beyond_mean: false,
        known: None,
    };
    assert_eq!(own_cpi(&one, Cycle(500)), Some(10.0));
    assert_eq!(view.technique_cost(Technique::Flush), cost(0.0, 50.0));
    // 18432 bytes of context at 8 bytes per cycle; 0.1 instructions per cycle, for saving and restoring.
    assert_eq!(view.technique_cost(Technique::Switch), cost(2304.0, 460.8));
    assert_eq!(view.technique_cost(Technique::Drain), cost(30.0 * 20.0, 0.0));
    assert_eq!(EstimateInput { known: Some(123.0), ..view }.technique_cost(Technique::Drain), cost(123.0, 0.0), "Oracle");
    assert_eq!(EstimateInput { may_flush: false, ..view }.technique_cost(Technique::Flush), PreemptionCost::MAX);
    // Without an ended CTA the remaining instructions are unknown; without an executed instruction the IPC is unknown.
    assert_eq!(EstimateInput { statistics: KernelStatistics::default(), ..view }.technique_cost(Technique::Drain), PreemptionCost::MAX);
    let new = cta(0, 0, 4096, 0);
    assert_eq!(EstimateInput { cta: &new, ..view }.technique_cost(Technique::Switch).overhead, f64::INFINITY);
    // A CTA with more instructions than the mean may end at any moment.
    let beyond = cta(0, 0, 4096, 90);
    assert_eq!(EstimateInput { cta: &beyond, ..view }.technique_cost(Technique::Drain), cost(0.0, 0.0));
    assert_eq!(EstimateInput { cta: &beyond, unknown_beyond_mean: true, ..view }.technique_cost(Technique::Drain), PreemptionCost::MAX, "or it has no estimate");
}

/// Returns a scene of two SMs with 400 registers each: at cycle 1000 each SM has two CTAs of 200 registers, and a kernel arrives whose CTAs
/// need 200.
fn example_scene(ranges: bool) -> Scene {
    let kernel = |name: &str, app: u16, registers: u32| KernelFacts {
        name: name.into(),
        app: AppId(app),
        ctas: 2,
        warps_per_cta: 4,
        ctas_per_sm: 2,
        needs: Resources { registers, shared_bytes: 0, threads: 128, ctas: 1, ..Resources::default() },
    };
    let mut scene = Scene {
        facts: Facts {
            sms: 2,
            warps_per_sm: 48,
            schedulers_per_sm: 2,
            sm: Resources { registers: 400, shared_bytes: 0, threads: 1536, ctas: 8, ..Resources::default() },
            ranges,
            spatial: true,
            interleaved: false,
            kernels: vec![kernel("background", 0, 200), kernel("task", 1, 200)],
            applications: vec!["a".into(), "b".into()],
            restarted: vec![false; 2],
            priorities: vec![0, 1],
            peaks: Peaks { dram_bytes: 2.0, ..Peaks::default() },
        },
        sms: CounterTable::named(&["resident_warp_cycles"]),
        ..Scene::default()
    };
    let mut ended = EndedCtas::default();
    ended.add_ended_cta(500, 500, 1000);
    // Of 500 instructions CTA 0 has executed 490 and CTA 1 has executed 10; the CTAs of the other SM have executed 200 and 300.
    let sm = |first: u32, executed: [u64; 2], ended: EndedCtas| SmProgress {
        resident: vec![cta(first, 0, 200, executed[0]), cta(first + 1, 200, 200, executed[1])],
        gone: Vec::new(),
        ended: vec![(BACKGROUND_KERNEL, ended)],
    };
    scene.ctas = vec![sm(0, [490, 10], ended), sm(2, [200, 300], EndedCtas::default())];
    scene.sms.values = vec![800, 800];
    scene
}

fn policy(text: &str) -> Box<dyn Controller> {
    built_policy("dual_kernel", text)
}

#[test]
fn on_each_sm_the_cheapest_set_is_preempted() {
    let mut scene = example_scene(true);
    let mut policy = policy("bound = 1000");
    // Ended CTAs have 2 cycles per instruction: CTA 0 ends in 20 cycles, CTA 1 in 980, CTA 2 in 600, CTA 3 in 400. All meet the bound by
    // draining, without overhead; of sets with the same overhead the fastest is chosen.
    let decided = scene.cut(&mut *policy, 1000, &[EventKind::KernelReady(TASK_KERNEL)]);
    assert_eq!(
        decided,
        "preempt_cta 2 of cta 0 for kernel 0 on sm0, preempt_cta 2 of cta 3 for kernel 0 on sm1: kernel 1 arrived: 2 victims for 1 CTAs on each SM"
    );
}

#[test]
fn latency_and_overhead_of_victims_are_recorded() {
    let mut scene = example_scene(true);
    let mut policy = policy("bound = 300");
    let decided = scene.cut(&mut *policy, 1000, &[EventKind::KernelReady(TASK_KERNEL)]);
    assert!(
        decided.contains("preempt_cta 2 of cta 0 for kernel 0 on sm0") && decided.contains("preempt_cta 1 of cta 2 for kernel 0 on sm1"),
        "{decided}"
    );
    assert_eq!(policy.alarm(), Some(Cycle(1200)));
    let gone = |cta: u32, left: u64, how| DepartedCta {
        kernel: BACKGROUND_KERNEL,
        cta: CtaIndex(cta),
        started: Cycle(0),
        left: Cycle(left),
        executed: 210,
        how,
    };
    scene.ctas[0].gone.push(gone(0, 1099, None));
    scene.ctas[1].gone.push(gone(2, 900, None));
    let signals = scene.signals(&mut *policy, 1200);
    let sm = Some(SmId(0));
    assert_eq!(signals, [(sm, "drain_estimate", 20.0), (sm, "drain_latency", 100.0), (sm, "latency", 100.0), (sm, "overhead", 0.0)]);
    scene.ctas[1].gone.push(gone(2, 1249, Some(Preemption::Flush)));
    let signals = scene.signals(&mut *policy, 1400);
    let sm = Some(SmId(1));
    // Two cuts of 1600 resident warp cycles, of 2 SMs x 48 warps x 400 cycles.
    assert_eq!(signals, [(sm, "latency", 250.0), (sm, "overhead", 210.0), (None, "utilisation", 3200.0 / 38400.0)]);
    assert_eq!(policy.alarm(), None);
}

#[test]
fn chimera_preempts_whole_sms_and_releases_them() {
    let mut scene = example_scene(false);
    let mut policy = policy("scheme = \"chimera\"\nbound = 500");
    let start = scene.cut(&mut *policy, 0, &[]);
    assert!(start.starts_with("owner 0 on sm0, cta_limit 4294967295 on sm0, owner 0 on sm1"), "{start}");
    let decided = scene.cut(&mut *policy, 1000, &[EventKind::KernelReady(TASK_KERNEL)]);
    assert!(decided.starts_with("owner 1 on sm0, cta_limit 1 on sm0, preempt 2 on sm0, preempt_cta"), "{decided}");
    assert_eq!(decided.matches("preempt_cta").count(), 4);
    // CTA 0 has a CPI of 1000 / 490, so its 10 instructions end in 21 cycles; CTA 1 has a CPI of 100, so it is flushed.
    assert!(decided.contains("preempt_cta 2 of cta 0") && decided.contains("preempt_cta 1 of cta 1"), "{decided}");
    let end = scene.cut(&mut *policy, 2000, &[EventKind::KernelEnded(TASK_KERNEL)]);
    assert!(end.starts_with("owner 0 on sm0"), "{end}");
}

#[test]
fn idempotent_kernels_are_dropped_even_after_stores() {
    let decided = |parameters: &str| {
        let mut scene = example_scene(true);
        scene.ctas.iter_mut().flat_map(|sm| &mut sm.resident).for_each(|cta| cta.wrote = true);
        scene.cut(&mut *policy(parameters), 1000, &[EventKind::KernelReady(TASK_KERNEL)])
    };
    let careful = decided("bound = 500");
    assert!(careful.contains("preempt_cta 2 of cta 0") && careful.contains("preempt_cta 2 of cta 3"), "drains the CTA that ends first: {careful}");
    assert!(decided("bound = 300\nidempotent = [\"background\"]").contains("preempt_cta 3 of cta 2"));
}

#[test]
fn a_kernel_of_the_lowest_priority_and_sms_without_ranges_cause_no_preemption() {
    assert_eq!(example_scene(true).cut(&mut *policy(""), 1000, &[EventKind::KernelReady(BACKGROUND_KERNEL)]), "");
    let text = example_scene(false).cut(&mut *policy(""), 1000, &[EventKind::KernelReady(TASK_KERNEL)]);
    assert!(text.contains("not allocated by ranges"), "{text}");
}

#[test]
fn impossible_parameters_are_refused() {
    let refused = |parameters: Parameters| DualKernel::new(parameters).unwrap_err().to_string();
    assert!(refused(Parameters { bound: 100, slack: 100, ..Parameters::default() }).contains("leave no cycle"));
    assert!(refused(Parameters { scheme: PreemptionScheme::Oracle, ..Parameters::default() }).contains("requires `known` or `watch`"));
}

#[test]
fn oracle_drains_only_ctas_that_end_within_the_bound() {
    let decided = |known: &str| {
        let mut oracle = policy(&format!("scheme = \"oracle\"\nbound = 399\nknown = {known}"));
        example_scene(true).cut(&mut *oracle, 1000, &[EventKind::KernelReady(TASK_KERNEL)])
    };
    // By the estimate CTA 0 ends in 20 cycles; CTA 1 really ends in 392.
    let one = decided("[[0, 1, 392.0], [0, 3, 400.0]]");
    assert!(one.starts_with("preempt_cta 2 of cta 1 for kernel 0 on sm0, preempt_cta 1 of cta 2 for kernel 0 on sm1:"), "{one}");
    let none = decided("[]");
    assert!(none.starts_with("preempt_cta 1 of cta 1 for kernel 0 on sm0, preempt_cta 1 of cta 2 for kernel 0 on sm1:"), "{none}");
}

#[test]
fn a_watch_records_when_ctas_end_and_decides_nothing() {
    let mut scene = example_scene(true);
    let mut policy = policy("scheme = \"oracle\"\nwatch = 300");
    assert_eq!(scene.cut(&mut *policy, 1000, &[EventKind::KernelReady(TASK_KERNEL)]), "");
    assert_eq!((policy.alarm(), policy.is_over()), (Some(Cycle(1200)), false));
    let gone = |cta: u32, left: u64, how| DepartedCta {
        kernel: BACKGROUND_KERNEL,
        cta: CtaIndex(cta),
        started: Cycle(0),
        left: Cycle(left),
        executed: 500,
        how,
    };
    // CTA 1 left before the arrival, so it does not count; CTA 2 was flushed and did not end.
    scene.ctas[0].gone = vec![gone(1, 900, None), gone(0, 1049, None)];
    scene.ctas[1].gone = vec![gone(2, 1100, Some(Preemption::Flush)), gone(3, 1150, Some(Preemption::Drain))];
    let signals = scene.signals(&mut *policy, 1200);
    let end = |sm: u16, cta: f64, cycles: f64| {
        [("end_kernel", 0.0), ("end_cta", cta), ("end_cycles", cycles)].map(|(name, value)| (Some(SmId(sm)), name, value))
    };
    assert_eq!(signals, [end(0, 0.0, 50.0), end(1, 3.0, 151.0)].concat());
    assert_eq!((policy.alarm(), policy.is_over()), (Some(Cycle(1300)), false));
    assert_eq!(scene.signals(&mut *policy, 1300), []);
    assert!(policy.is_over() && policy.alarm().is_none());
}
