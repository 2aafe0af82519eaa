//! Tests of the whole policy on hand-made observations of one SM.

use warpshard_base::{AppId, KernelIndex, SmId};
use warpshard_control::{Controller, EventKind, KernelFacts, Peaks};
use warpshard_policy::testing::{CounterTable, Scene};

use crate::built_policy;
use super::categories::tests::{TABLE_II_SM, kernel_profile};

const SM_COLUMNS: [&str; 12] = [
    "issued_sp",
    "issued_int",
    "issued_alu",
    "issued_branch",
    "memory_accesses",
    "shared_instructions",
    "shared_conflict_cycles",
    "stall_scoreboard_memory",
    "stall_scoreboard_alu",
    "stall_memory_pipeline",
    "stall_memory_collectors",
    "stall_pipeline",
];
const APPLICATION_COLUMNS: [&str; 9] = [
    "issued_sp",
    "issued_int",
    "issued_alu",
    "issued_branch",
    "memory_accesses",
    "shared_instructions",
    "shared_conflict_cycles",
    "ctas_begun",
    "ctas",
];

/// A machine of one SM and `apps` applications, each with one kernel; six CTAs of a kernel fit the SM.
struct TestScene {
    scene: Scene,
    policy: Box<dyn Controller>,
    cycle: u64,
    apps: usize,
}

impl TestScene {
    fn new(apps: usize, parameters: &str) -> Self {
        let mut scene = Scene { sms: CounterTable::named(&SM_COLUMNS), sm_applications: CounterTable::named(&APPLICATION_COLUMNS), ..Scene::default() };
        let one = kernel_profile(256, 16, 0, 6, 6);
        let of = |app| KernelFacts { app: AppId(app), ctas: 1000, ctas_per_sm: 6, needs: one.needs, ..KernelFacts::default() };
        scene.facts.kernels = (0..apps as u16).map(of).collect();
        scene.facts.applications = (0..apps).map(|app| format!("app{app}")).collect();
        scene.facts.sm = TABLE_II_SM;
        scene.facts.peaks = Peaks { issue: 2.0, ..Peaks::default() };
        Self { scene, policy: built_policy("kernel_mgmt", parameters), cycle: 0, apps }
    }

    fn start_policy(&mut self) -> String {
        self.scene.sms.values = vec![0; SM_COLUMNS.len()];
        self.scene.sm_applications.values = vec![0; APPLICATION_COLUMNS.len() * self.apps];
        self.scene.cut(&mut *self.policy, 0, &[])
    }

    /// Advances 100 cycles with these instructions of the SP pipelines, LD/ST accesses and stalls; `ctas` has the started and ended CTAs
    /// per application.
    fn cut(&mut self, [sp, ldst, stalls]: [u64; 3], ctas: &[[u64; 2]], events: &[EventKind]) -> String {
        self.cycle += 100;
        self.scene.sms.values = vec![sp, 0, 0, 0, ldst, 0, 0, stalls, 0, 0, 0, 0];
        // The first application prefers the SP pipelines.
        let share = |app: usize| if app == 0 { [sp, 1] } else { [1, ldst] };
        let row = |(app, [begun, ended]): (usize, &[u64; 2])| {
            let [sp, ldst] = share(app);
            [sp, 0, 0, 0, ldst, 0, 0, *begun, *ended]
        };
        self.scene.sm_applications.values = ctas.iter().enumerate().flat_map(row).collect();
        self.scene.cut(&mut *self.policy, self.cycle, events)
    }

    /// Runs a sampling period in one cut, in which every ended CTA is replaced.
    fn run_period(&mut self, counts: [u64; 3], ctas: [u64; 2]) -> String {
        self.cut(counts, &ctas.map(|ctas| [ctas, ctas]), &[])
    }
}

#[test]
fn the_first_numbers_are_those_of_algorithm_1_on_every_sm() {
    let mut scene = TestScene::new(2, "opt = [6, 1]");
    assert_eq!(
        scene.start_policy(),
        "kernel_ctas 5 for kernel 0 on every SM: static TLP modulation; bypass 0 for kernel 0 on every SM: nothing bypasses yet; \
         kernel_ctas 1 for kernel 1 on every SM: static TLP modulation; bypass 0 for kernel 1 on every SM: nothing bypasses yet"
    );
}

#[test]
fn a_period_moves_a_cta_to_the_kernel_that_prefers_the_critical_pipeline() {
    let mut scene = TestScene::new(2, "opt = [3, 3]\nbypass = false");
    scene.start_policy();
    assert_eq!(scene.cut([50, 50, 0], &[[3, 0], [3, 0]], &[]), "", "six CTAs are resident: the first period begins");
    assert_eq!(scene.run_period([50, 50, 0], [3, 3]), "", "the first period is the history");
    assert_eq!(
        scene.run_period([40, 55, 0], [3, 3]),
        "kernel_ctas 4 for kernel 0 on sm0: SP is critical; kernel_ctas 2 for kernel 1 on sm0: SP is critical"
    );
    // The SM reaches the new numbers of CTAs.
    assert_eq!(scene.cut([40, 50, 0], &[[1, 0], [0, 1]], &[]), "");
    assert_eq!(scene.run_period([60, 60, 0], [4, 2]), "", "both pipelines are used more");
    assert_eq!(
        scene.run_period([60, 20, 0], [4, 2]),
        "kernel_ctas 3 for kernel 0 on sm0: LD/ST is critical; kernel_ctas 3 for kernel 1 on sm0: LD/ST is critical"
    );
}

#[test]
fn within_opt_a_kernel_gets_no_more_ctas_than_its_optimum() {
    let mut scene = TestScene::new(2, "opt = [3, 3]\nbypass = false\nwithin_opt = true");
    scene.start_policy();
    scene.cut([50, 50, 0], &[[3, 0], [3, 0]], &[]);
    scene.run_period([50, 50, 0], [3, 3]);
    assert_eq!(scene.run_period([40, 55, 0], [3, 3]), "", "SP is critical, and the kernel that prefers it has three CTAs");
}

#[test]
fn bypassing_is_learned_with_constant_numbers_of_ctas() {
    let mut scene = TestScene::new(2, "opt = [3, 3]\ndynamic = false");
    scene.start_policy();
    scene.cut([50, 50, 0], &[[3, 0], [3, 0]], &[]);
    assert_eq!(scene.run_period([50, 50, 100], [3, 3]), "bypass 1 for kernel 0 on sm0: stalls of sampling periods");
    assert_eq!(scene.cut([50, 50, 0], &[[1, 1], [0, 0]], &[]), "", "the CTA with the bit has started: a period begins");
    assert_eq!(
        scene.run_period([50, 50, 90], [3, 3]),
        "bypass 0 for kernel 0 on sm0: stalls of sampling periods; bypass 1 for kernel 1 on sm0: stalls of sampling periods"
    );
    assert_eq!(scene.cut([50, 50, 0], &[[3, 3], [1, 1]], &[]), "", "the old CTA has ended, the new CTA has started");
    assert_eq!(scene.run_period([50, 50, 80], [3, 3]), "bypass 2 for kernel 1 on sm0: stalls of sampling periods");
    assert_eq!(scene.cut([50, 50, 0], &[[0, 0], [1, 1]], &[]), "");
    assert_eq!(scene.run_period([50, 50, 85], [3, 3]), "bypass 1 for kernel 1 on sm0: stalls of sampling periods");
    assert_eq!(scene.cut([50, 50, 0], &[[3, 3], [3, 3]], &[]), "");
    assert_eq!(scene.run_period([50, 50, 10], [3, 3]), "", "the learning is done");
}

#[test]
fn learning_begins_after_a_period_that_changed_nothing() {
    let mut scene = TestScene::new(2, "opt = [3, 3]");
    scene.start_policy();
    scene.cut([50, 50, 0], &[[3, 0], [3, 0]], &[]);
    assert_eq!(scene.run_period([50, 50, 100], [3, 3]), "");
    assert_eq!(scene.run_period([60, 60, 100], [3, 3]), "", "both pipelines are used more: learning begins with the next period");
    assert_eq!(scene.run_period([10, 60, 100], [3, 3]), "bypass 1 for kernel 0 on sm0: stalls of sampling periods");
}

#[test]
fn the_remaining_kernel_gets_all_ctas() {
    let mut scene = TestScene::new(2, "opt = [3, 3]");
    scene.start_policy();
    let decided = scene.cut([50, 50, 0], &[[3, 0], [3, 0]], &[EventKind::KernelDispatched(KernelIndex(1))]);
    assert_eq!(
        decided,
        "kernel_ctas 6 for kernel 0 on every SM: the other kernel has no CTAs left; bypass 0 for kernel 0 on every SM: no other kernel uses the L1"
    );
    assert_eq!(scene.policy.triggers().len(), 2);
    scene.cut([50, 50, 0], &[[0, 0], [0, 0]], &[EventKind::ApplicationEnded(AppId(0))]);
    assert!(scene.policy.triggers().is_empty());
}

#[test]
fn two_kernels_of_a_pool_run_and_the_next_replaces_a_dispatched_one() {
    let mut scene = TestScene::new(4, "opt = [6, 1, 6, 6]\npreference = [0.5, 0.4, 0.3, 2.0]\nbypass = false");
    let decided = scene.start_policy();
    assert!(decided.starts_with("kernel_ctas 0 for kernel 0 on every SM: waits in the pool; kernel_ctas 0 for kernel 2"), "{decided}");
    assert!(decided.contains("kernel_ctas 1 for kernel 1 on every SM: static") && decided.contains("kernel_ctas 5 for kernel 3"), "{decided}");
    let decided = scene.cut([50, 50, 0], &[[0, 0], [1, 0], [0, 0], [5, 0]], &[EventKind::KernelDispatched(KernelIndex(3))]);
    assert!(decided.starts_with("kernel_ctas 5 for kernel 0") && decided.contains("kernel_ctas 1 for kernel 1"), "{decided}");
}

#[test]
fn fixed_numbers_are_applied() {
    let mut scene = TestScene::new(2, "ctas = [4, 2]\ndynamic = false\nbypass = false");
    assert_eq!(
        scene.start_policy(),
        "kernel_ctas 4 for kernel 0 on every SM: fixed numbers; kernel_ctas 2 for kernel 1 on every SM: fixed numbers"
    );
    assert_eq!(scene.policy.triggers().len(), 2, "no sampling");
}

#[test]
fn a_single_application_and_wrong_counts_are_not_managed() {
    assert_eq!(TestScene::new(1, "opt = [3, 3]").start_policy(), "one application has the GPU: there is nothing to manage");
    assert_eq!(TestScene::new(3, "opt = [3, 3]").start_policy(), "numbers are given for 2 applications, but there are 3: nothing is set");
}

#[test]
fn signals_have_the_utilisations_of_a_period() {
    let mut scene = TestScene::new(2, "opt = [3, 3]");
    scene.start_policy();
    scene.cut([50, 50, 0], &[[3, 0], [3, 0]], &[]);
    scene.scene.sms.values = vec![50, 0, 0, 0, 25, 0, 0, 7, 0, 2, 0, 0];
    scene.scene.sm_applications.values = [[0, 0, 0, 0, 0, 0, 0, 3, 3]; 2].concat();
    let signals = scene.scene.signals(&mut *scene.policy, 200);
    let sm = Some(SmId(0));
    assert_eq!(signals, [(sm, "sp", 0.25), (sm, "ldst", 0.25), (sm, "stalls", 9.0)]);
}

#[test]
fn wrong_parameters_are_refused() {
    for (parameters, why) in [
        ("dynamic=true", "neither `opt` nor `ctas` is given"),
        ("opt=[1,2],ctas=[1,2]", "leave one of them out"),
        ("opt=[1]", "`opt` = [1]"),
        ("opt=[1,0]", "`opt` = [1, 0]"),
        ("ctas=[0,0]", "`ctas` = [0, 0]"),
        ("opt=[1,2],preference=[1.0]", "`preference` = [1.0]"),
        ("opt=[1,2],preference=[1.0,0.0]", "`preference` = [1.0, 0.0]"),
    ] {
        let error = crate::catalogue().controller(&format!("kernel_mgmt:{parameters}")).err().expect("it is refused").to_string();
        assert!(error.contains(why), "{error}");
    }
}
