//! Expansion of a plan into its runs.

use warpshard_run::{CpuOptions, Request, WorkloadSource};

use super::plan::{Plan, PlannedWorkload, PolicyList};

/// A run of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepRun {
    /// Number of the run, from 1.
    pub number: usize,
    /// Name of the machine.
    pub machine: String,
    /// Workload of the run.
    pub workload: PlannedWorkload,
    /// Policies of the run.
    pub policies: Vec<String>,
    /// Random seed of the run.
    pub seed: u64,
    /// The keys that differ between runs of the plan, with their values in this run.
    pub changes: Vec<(String, String)>,
    /// The request of the run.
    pub request: Request,
}

impl SweepRun {
    /// Describes the run for readers in one line, with the options of `warpshard run`.
    pub fn line(&self) -> String {
        let request = &self.request;
        let mut options = vec![format!("--machine={}", request.machine)];
        if let Some(source) = &request.workload {
            let (option, names) = source.named();
            options.extend(names.iter().map(|name| format!("--{option}={name}")));
            match source {
                WorkloadSource::Program { arch: Some(arch), .. } => options.push(format!("--arch=sm_{arch}")),
                WorkloadSource::Applications { once: true, .. } => options.push("--once".to_owned()),
                _ => {}
            }
        }
        let (cpu, default) = (&request.cpu, CpuOptions::default());
        options.extend((!cpu.applications.is_empty()).then(|| format!("--cpu={}", cpu.applications.join(","))));
        options.extend(request.set.iter().map(|(key, value)| format!("--set={key}={value}")));
        options.extend(request.policies.iter().map(|policy| format!("--policy={policy}")));
        options.push(format!("--seed={}", request.seed));
        options.extend(request.kernels.iter().map(|kernels| format!("--kernels={kernels}")));
        options.extend(request.lenient.then(|| "--lenient".to_owned()));
        options.extend(request.skip_matrix_values.then(|| "--matrix-values=skip".to_owned()));
        options.extend(request.max_cycles.map(|cycles| format!("--max-cycles={cycles}")));
        options.extend((cpu.warm != default.warm).then(|| format!("--cpu-warm={}", cpu.warm)));
        options.extend((cpu.measure != default.measure).then(|| format!("--cpu-measure={}", cpu.measure)));
        options.extend(request.interval.map(|cycles| format!("--interval={cycles}")));
        options.join(" ")
    }
}

/// A combination of changes: keys with values.
type GridPoint = Vec<(String, String)>;

impl Plan {
    /// Returns the runs in the order machine, workload, policies, points, zips, grid, seed: the seed varies fastest.
    pub fn runs(&self) -> Vec<SweepRun> {
        let changes = self.changes();
        let mut runs = Vec::new();
        for machine in &self.machines {
            for workload in &self.workloads {
                for policies in &self.policies {
                    for point in &changes {
                        for &seed in &self.seeds {
                            runs.push(self.plan_run(runs.len() + 1, machine, workload, policies, point, seed));
                        }
                    }
                }
            }
        }
        runs
    }

    /// Returns the keys that differ between runs, without duplicates.
    pub fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        for (key, _) in self.changes().into_iter().flatten().chain(self.workloads.iter().flat_map(parameters)) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// Returns all combinations of the changes.
    fn changes(&self) -> Vec<GridPoint> {
        let mut points: Vec<GridPoint> = vec![Vec::new()];
        if !self.points.is_empty() {
            points = self.points.iter().map(|point| point.0.clone()).collect();
        }
        for zip in &self.zip {
            let length = zip.0.first().map_or(1, |(_, values)| values.len());
            let step = |i: usize| zip.0.iter().map(|(key, values)| (key.clone(), values[i].clone())).collect::<GridPoint>();
            points = product(&points, &(0..length).map(step).collect::<Vec<_>>());
        }
        for (key, values) in &self.grid.0 {
            let axis: Vec<GridPoint> = values.iter().map(|value| vec![(key.clone(), value.clone())]).collect();
            points = product(&points, &axis);
        }
        points
    }

    fn plan_run(
        &self,
        number: usize,
        machine: &str,
        workload: &PlannedWorkload,
        policies: &PolicyList,
        point: &GridPoint,
        seed: u64,
    ) -> SweepRun {
        let changes: GridPoint = parameters(workload).chain(point.iter().cloned()).collect();
        let mut cpu = CpuOptions::default();
        if let Some(names) = &workload.cpu {
            cpu.applications = names.split(',').map(str::to_owned).collect();
            cpu.warm = self.run.cpu_warm.unwrap_or(cpu.warm);
            cpu.measure = self.run.cpu_measure.unwrap_or(cpu.measure);
        }
        let request = Request {
            machine: machine.to_owned(),
            workload: Some(workload.source.clone()),
            set: self.set.0.iter().chain(&changes).cloned().collect(),
            policies: policies.0.clone(),
            kernels: self.run.kernels.clone(),
            cpu,
            seed,
            lenient: self.run.lenient,
            skip_matrix_values: self.run.skip_matrix_values,
            max_cycles: self.run.max_cycles,
            interval: self.run.interval,
            ..Request::default()
        };
        let (machine, workload, policies) = (machine.to_owned(), workload.clone(), policies.0.clone());
        SweepRun { number, machine, workload, policies, seed, changes, request }
    }
}

/// Returns the parameters of a workload as keys of `--set`.
fn parameters(workload: &PlannedWorkload) -> impl Iterator<Item = (String, String)> {
    workload.set.iter().map(|(key, value)| (format!("workload.{key}"), value.clone()))
}

/// Returns the Cartesian product of points and steps.
fn product(points: &[GridPoint], steps: &[GridPoint]) -> Vec<GridPoint> {
    points.iter().flat_map(|point| steps.iter().map(|step| [point.as_slice(), step].concat())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Plan {
        Plan::parse("test", text).unwrap()
    }

    #[test]
    fn every_combination_is_a_run_and_the_seed_varies_fastest() {
        let plan = plan(
            "machines = [\"tiny\", \"v100\"]\nworkloads = [\"stream\", { model = \"vecadd\", set = { n = 64 } }]\npolicies = [\"\", [\"a\", \"b:c=1\"]]\nseeds = [1, 2]\n\
             [set]\nmem.dram.scheduler = \"fcfs\"\n[grid]\ngpu.sms = [1, 2]\n\"gpu.sm.order\" = [\"gto\", \"lrr\"]\n\
             [[zip]]\nclocks.core = [\"1 GHz\", \"2 GHz\"]\nclocks.noc = [\"1 GHz\", \"2 GHz\"]\n[run]\nmax_cycles = 500\n",
        );
        let runs = plan.runs();
        assert_eq!(runs.len(), 2 * 2 * 2 * 2 * 2 * 2 * 2);
        assert_eq!(runs.iter().map(|run| run.number).collect::<Vec<_>>(), (1..=128).collect::<Vec<_>>());
        assert_eq!(
            runs[127].line(),
            "--machine=v100 --workload=vecadd --set=mem.dram.scheduler=fcfs --set=workload.n=64 --set=clocks.core=2 GHz --set=clocks.noc=2 GHz \
             --set=gpu.sms=2 --set=gpu.sm.order=lrr --policy=a --policy=b:c=1 --seed=2 --max-cycles=500"
        );
        assert_eq!((runs[0].seed, runs[1].seed), (1, 2));
        assert_eq!(plan.keys(), ["clocks.core", "clocks.noc", "gpu.sms", "gpu.sm.order", "workload.n"]);
        assert_eq!((runs[0].request.machine.as_str(), runs[0].request.seed), ("tiny", 1));
    }

    #[test]
    fn each_point_is_a_run_with_its_keys() {
        let plan = plan("workloads = [\"a\"]\n[[points]]\ngpu.sms = 1\n[[points]]\ngpu.sms = 2\ngpu.sm.order = \"lrr\"\n");
        let changes: Vec<_> = plan.runs().into_iter().map(|run| run.changes.len()).collect();
        assert_eq!(changes, [1, 2]);
        assert_eq!(plan.keys(), ["gpu.sms", "gpu.sm.order"]);
    }

    #[test]
    fn a_plan_without_changes_is_one_run_on_the_default_machine() {
        let runs = plan("workloads = [{ program = \"p.toml\", arch = \"sm_80\" }]").runs();
        assert_eq!(runs.iter().map(SweepRun::line).collect::<Vec<_>>(), ["--machine=v100 --program=p.toml --arch=sm_80 --seed=1"]);
    }

    #[test]
    fn applications_and_cpu_cores_are_workloads_as_in_run() {
        let runs = plan(
            "workloads = [{ apps = [\"a.toml\", \"stream,priority=1\"], once = true }, { model = \"sgemm\", cpu = \"mcf,lbm\" }]\n\
             [run]\ncpu_warm = 0\ncpu_measure = 5\n",
        )
        .runs();
        assert_eq!(runs[0].line(), "--machine=v100 --app=a.toml --app=stream,priority=1 --once --seed=1");
        assert_eq!(runs[1].line(), "--machine=v100 --workload=sgemm --cpu=mcf,lbm --seed=1 --cpu-warm=0 --cpu-measure=5");
        let names: Vec<_> = runs.iter().map(|run| run.workload.name.as_str()).collect();
        assert_eq!(names, ["a.toml + stream,priority=1", "sgemm + mcf,lbm"]);
    }

    #[test]
    fn plan_errors_name_their_location() {
        for (text, expected) in [
            ("", "missing field `workloads`"),
            ("workloads = []", "`workloads` is an empty list"),
            ("workloads = [1]", "expected the name of a kernel model, or a table"),
            ("workloads = [{ }]", "expected one of `model`, `trace`, `program` and `apps`"),
            ("workloads = [{ apps = [] }]", "`apps` is an empty list"),
            ("workloads = [{ apps = [\"a\"], set = { n = 1 } }]", "applications have no parameters"),
            ("workloads = [\"a\"]\n[run]\ncpu_warm = 5", "`cpu_warm` and `cpu_measure` are for workloads with `cpu`"),
            ("workloads = [{ model = \"a\", once = true }]", "`once` is for `apps` only"),
            ("workloads = [{ trace = \"a\", model = \"b\" }]", "expected one of"),
            ("workloads = [{ trace = \"a\", set = { n = 1 } }]", "a trace has no parameters"),
            ("workloads = [{ model = \"a\", arch = \"sm_70\" }]", "`arch` is for a `program` only"),
            ("workloads = [\"a\"]\nworkload = \"b\"", "unknown field `workload`"),
            ("workloads = [\"a\"]\n[grid]\ngpu.sms = 1", "line 2"),
            ("workloads = [\"a\"]\n[grid]\ngpu.sms = 1", "`gpu.sms`: expected a list of values"),
            ("workloads = [\"a\"]\n[set]\ngpu.sms = [1]", "lists stand in [grid] or [[zip]]"),
            ("workloads = [\"a\"]\n[[zip]]\na = [1]\nb = [1, 2]", "`b` has 2 values and `a` has 1"),
            ("workloads = [\"a\"]\n[set]\na = 1\n[grid]\na = [1]", "`a` is in [set] and in [grid]"),
            ("workloads = [\"a\"]\npolicies = [3]", "expected a policy, \"\" for none"),
            ("workloads = [\"a\"]\nname = \"a/b\"", "expected letters, digits"),
            ("workloads = [\"a\"]\n[run]\nthreads = 3", "unknown field `threads`"),
        ] {
            let problem = Plan::parse("test", text).unwrap_err().to_string();
            assert!(problem.contains(expected), "{text:?}: {problem}");
        }
        let many: Vec<String> = (0..1001).map(|i| i.to_string()).collect();
        let text = format!("workloads = [\"a\"]\n[grid]\na = [{0}]\nb = [{0}]", many.join(","));
        assert!(Plan::parse("test", &text).unwrap_err().to_string().contains("more than 1000000 runs"));
    }
}
