//! Programmatic dependent launches of `programs/micro/dependent.toml`: overlap, time saved, and unchanged results.

use std::path::Path;
use std::sync::Arc;

use warpshard::chip::{RunOptions, RunResult, simulate};
use warpshard::program::Program;
use warpshard::stats::KernelStats;
use warpshard::stats::activity::{RecordingSelection, WarpActivity, WarpReason};
use warpshard::workload::Workload;

use super::common::systems::system;
use super::common::{CONTROL_WORDS_CORE, machine};

/// Overrides for kernels that share SMs, with a long launch latency.
const SHARED_SM_KEYS: [(&str, &str); 2] = [("gpu.dispatch.share_sm", "true"), ("gpu.dispatch.launch_latency", "600")];

/// Loads the program with few enough CTAs that all three launches fit the machine at the same time.
fn load(path: &Path, rounds: u32) -> Arc<Program> {
    let settings = [("rounds".to_owned(), rounds.to_string()), ("ctas".to_owned(), "5".to_owned())];
    Program::load(path, None, &settings).unwrap_or_else(|error| panic!("{error}"))
}

/// Loads the program with or without `programmatic` in its launches.
fn load_dependent(rounds: u32, marked: bool) -> Arc<Program> {
    let path = Path::new("programs/micro/dependent.toml");
    if marked {
        return load(path, rounds);
    }
    load_edited(rounds, "programmatic = true\n", "")
}

/// Loads the program with `from` replaced by `to` in its launch file.
fn load_edited(rounds: u32, from: &str, to: &str) -> Arc<Program> {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string("programs/micro/dependent.toml").unwrap().replace(from, to);
    std::fs::write(folder.path().join("dependent.toml"), text).unwrap();
    std::fs::copy("programs/micro/dependent.sm_90.sass", folder.path().join("dependent.sm_90.sass")).unwrap();
    load(&folder.path().join("dependent.toml"), rounds)
}

fn run_with(workload: Arc<Workload>, settings: &[(&str, &str)], options: RunOptions) -> RunResult {
    let settings: Vec<_> = CONTROL_WORDS_CORE.iter().chain(&SHARED_SM_KEYS).chain(settings).copied().collect();
    simulate(&machine("tiny", &settings), &workload, options).unwrap_or_else(|error| panic!("{error}"))
}

fn run(workload: Arc<Workload>) -> RunResult {
    run_with(workload, &[], RunOptions::default())
}

fn kernel_stats(rounds: u32, marked: bool) -> Vec<KernelStats> {
    run(Arc::new(load_dependent(rounds, marked).workload().unwrap())).outcome.kernels
}

/// Returns the cycles of a kernel's launch, start and end.
fn kernel_lifetime(kernel: &KernelStats) -> [u64; 3] {
    [kernel.launched, kernel.started, kernel.ended].map(|cycle| cycle.unwrap())
}

/// Returns the warp cycles of a kernel at `griddepcontrol.wait`.
fn wait_cycles(kernel: &KernelStats) -> u64 {
    counter_value(kernel, "warp_grid_dependency")
}

fn counter_value(kernel: &KernelStats, name: &str) -> u64 {
    kernel.counters.iter().find(|counted| counted.info.name == name).unwrap().value
}

#[test]
fn dependents_run_during_the_previous_launch_and_wait_for_its_end() {
    // The first kernel takes many launch latencies.
    let (plain, marked) = (kernel_stats(1000, false), kernel_stats(1000, true));
    let ([_, first, end], [launched, started, done]) = (kernel_lifetime(&marked[0]), kernel_lifetime(&marked[1]));
    assert_eq!(kernel_lifetime(&marked[0])[1], kernel_lifetime(&plain[0])[1], "the first one starts as ever");
    assert!(launched < first + 600 && started < launched + 700, "all CTAs trigger soon: {first}, {launched}, {started}");
    assert!(started < end && done > end && done < end + 600, "after the wait little is left: {started} to {done}, and {end}");
    let after = kernel_lifetime(&marked[2]);
    assert!(after[2] > done && after[2] < done + 600, "{after:?} and {done}");
    // With `programmatic`, three kernels overlap, and the second and third take half as long as the first. Without it, they run one after
    // the other with two launch latencies in between.
    let (whole, alone) =
        (kernel_lifetime(&plain[2])[2] - kernel_lifetime(&plain[0])[1], kernel_lifetime(&plain[0])[2] - kernel_lifetime(&plain[0])[1]);
    let shared = after[2] - kernel_lifetime(&marked[0])[1];
    assert!(whole > 19 * alone / 10 + 2 * 600, "{whole} and {alone}");
    assert!(shared < alone + 2 * 600, "{shared} and {alone}");
    assert!(wait_cycles(&marked[1]) > 0 && wait_cycles(&marked[2]) > 0, "they wait");
    assert_eq!([&marked[0], &plain[0], &plain[1], &plain[2]].map(wait_cycles), [0; 4], "nothing waits where nothing is marked");
    assert!(marked[1].launch_latency_cycles == 0 && plain[1].launch_latency_cycles >= 600, "the launch latency is hidden");
}

#[test]
fn a_short_launch_hides_as_much_of_the_launch_latency_as_it_takes() {
    let (plain, marked) = (kernel_stats(10, false), kernel_stats(10, true));
    let [plain, marked] = [plain, marked].map(|kernels| (kernel_lifetime(&kernels[0]), kernel_lifetime(&kernels[1])));
    assert_eq!(plain.0, marked.0);
    assert!(marked.1[1] > marked.0[2], "the first one has ended when the second one starts");
    // Both kernels start one launch latency after the event that they wait for: the end of the first kernel, or its last trigger.
    assert_eq!(plain.1[1] - marked.1[1], plain.1[0] - marked.1[0]);
    assert!(plain.1[1] > marked.1[1] && plain.1[1] - marked.1[1] < plain.0[2] - plain.0[1], "{plain:?} and {marked:?}");
}

/// The warps of the second kernel wait until the slow last store of the first kernel is performed.
#[test]
fn a_wait_lasts_until_the_last_store_of_the_previous_launch() {
    let marked = Arc::new(load_dependent(40, true).workload().unwrap());
    // With a long ROP latency, stores are acknowledged long after the warps have ended.
    for (rop, least) in [("0", 0), ("900", 900)] {
        let recording = Some(RecordingSelection { sms: (0..4).collect(), partitions: Vec::new(), from: 0, most: usize::MAX });
        let settings = [("mem.rop_latency", rop), ("gpu.dispatch.launch_latency", "20")];
        let result = run_with(Arc::clone(&marked), &settings, RunOptions { recording, ..RunOptions::default() });
        let end = kernel_lifetime(&result.outcome.kernels[0])[2];
        let changes = result.activity.sms.iter().flat_map(|sm| sm.warps.events.iter().map(move |change| ((sm.sm, change.warp), change)));
        let mut waits: Vec<(u64, u64)> = Vec::new();
        let mut open = std::collections::BTreeMap::new();
        for (warp, change) in changes {
            if let Some(from) = open.remove(&warp) {
                waits.push((from, change.at));
            }
            if change.state == Some(WarpActivity::Reason(WarpReason::GridDependency)) {
                open.insert(warp, change.at);
            }
        }
        let first = waits.iter().filter(|(from, _)| *from < end).map(|(_, until)| *until).min().unwrap();
        assert!(open.is_empty() && first > end + least, "rop {rop}: waits {waits:?}, and the launch before ends in {end}");
        assert!(first < end + least + 400, "rop {rop}: waits end in {first}, and the launch before in {end}");
    }
}

#[test]
fn overlapping_dependents_compute_the_values_of_sequential_launches() {
    let outputs = |marked| {
        let done = load_dependent(50, marked).execute(false).unwrap();
        done.outputs.iter().map(|output| output.bytes.clone()).collect::<Vec<_>>()
    };
    assert_eq!(outputs(true), outputs(false));
    let counts = |marked| kernel_stats(50, marked).iter().map(|kernel| counter_value(kernel, "warp_instructions")).collect::<Vec<_>>();
    assert_eq!(counts(true), counts(false));
}

/// Launches on the second GPU of a system overlap as on a single GPU.
#[test]
fn dependents_overlap_on_another_gpu_of_a_system() {
    let settings: Vec<_> = CONTROL_WORDS_CORE.iter().chain(&SHARED_SM_KEYS).copied().collect();
    let machine = system("2", &settings);
    let run = |threads| {
        let workload = Arc::new(load_edited(200, "[[launches]]\n", "[[launches]]\ngpu = 1\n").workload().unwrap());
        simulate(&machine, &workload, RunOptions { threads, ..RunOptions::default() }).unwrap().outcome
    };
    let one = run(1);
    let lives: Vec<[u64; 3]> = one.kernels.iter().map(kernel_lifetime).collect();
    assert!(lives[1][1] < lives[0][2] && lives[2][1] < lives[1][2], "{lives:?}");
    assert!(lives[0][2] < lives[1][2] && lives[1][2] < lives[2][2], "{lives:?}");
    assert_eq!(run(3), one);
}

/// In an unmarked launch, the dependency instructions only take issue time.
#[test]
fn an_unmarked_launch_ignores_triggers_and_waits() {
    use warpshard::workload::{AsyncOp, CtaProgram, CtaSource, Kernel, StaticInst};

    /// Source that removes the effect of the two dependency instructions.
    #[derive(Debug)]
    struct WithoutDependencies(Arc<dyn CtaSource>);

    impl CtaSource for WithoutDependencies {
        fn cta(&self, index: warpshard::base::CtaIndex) -> Arc<CtaProgram> {
            let program = self.0.cta(index);
            let without = |inst: &StaticInst| {
                let mut inst = *inst;
                if matches!(inst.control.async_op, AsyncOp::LaunchDependents | AsyncOp::GridWait) {
                    inst.control.async_op = AsyncOp::Nothing;
                }
                inst
            };
            Arc::new(CtaProgram { code: program.code.iter().map(without).collect(), ..(*program).clone() })
        }

        fn save(&self, to: &mut warpshard::state::Writer) {
            self.0.save(to);
        }

        fn load(&self, from: &mut warpshard::state::Reader<'_>) -> Result<(), warpshard::state::StateError> {
            self.0.load(from)
        }
    }

    let unmarked = load_dependent(200, false).workload().unwrap();
    let kernels = unmarked
        .kernels
        .iter()
        .map(|kernel| Kernel { source: Arc::new(WithoutDependencies(Arc::clone(&kernel.source))), ..kernel.clone() });
    let plain = Workload { kernels: kernels.collect(), ..load_dependent(200, false).workload().unwrap() };
    let [unmarked, plain] = [unmarked, plain].map(|workload| run(Arc::new(workload)).outcome);
    assert_eq!(unmarked.kernels, plain.kernels);
    assert_eq!(unmarked.components, plain.components);
}
