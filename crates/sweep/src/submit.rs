//! Scripts that submit slices of a plan to a batch system. The tasks use a copy of the plan in the result folder, so that all slices have
//! the same runs.

use std::path::{Path, PathBuf};

use warpshard_report::text::shell_word;

/// Maximum tasks of an array: Slurm's default limit.
const MAX_SLICES: usize = 1000;

/// Default number of runs per slice: a task costs the batch system about a second.
const RUNS_PER_SLICE: usize = 10;

/// A sweep to submit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmittedSweep {
    /// Name of the plan.
    pub name: String,
    /// Path of the program, valid on all hosts.
    pub program: PathBuf,
    /// Working directory of the call, to which paths in the plan are relative.
    pub folder: PathBuf,
    /// Path of the plan, valid on all hosts.
    pub plan: PathBuf,
    /// Path of the result folder.
    pub out: PathBuf,
    /// Number of slices.
    pub slices: usize,
    /// Cores per task.
    pub cpus: usize,
    /// Maximum number of concurrent tasks.
    pub at_once: Option<usize>,
    /// True if the table is also collected as Parquet.
    pub parquet: bool,
    /// Further options of the batch system's command.
    pub options: Vec<String>,
}

/// Returns the given number of slices, or the default for a plan with `runs` runs.
pub fn slices(runs: usize, given: Option<usize>) -> usize {
    given.unwrap_or_else(|| runs.div_ceil(RUNS_PER_SLICE).min(MAX_SLICES)).clamp(1, runs.max(1))
}

fn shell_path(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

impl SubmittedSweep {
    /// Returns the part of the command that all scripts share.
    fn sweep(&self) -> String {
        format!("{} sweep {} --out {}", shell_path(&self.program), shell_path(&self.plan), shell_path(&self.out))
    }

    /// Returns the command that collects the table.
    fn collect(&self) -> String {
        format!("{} --collect{}", self.sweep(), if self.parquet { " --parquet" } else { "" })
    }

    /// Returns the array job for Slurm, with a task per slice. A task whose node fails is requeued and does not repeat stored runs.
    pub fn slurm_array(&self) -> String {
        let most = self.at_once.map_or_else(String::new, |most| format!("%{most}"));
        let head = [
            format!("--job-name={}", self.name),
            format!("--array=1-{}{most}", self.slices),
            format!("--ntasks=1 --cpus-per-task={}", self.cpus),
            "--requeue --open-mode=append".to_owned(),
            format!("--output={}", quoted(&self.out.join("slurm/slice-%a.log"))),
        ];
        let command = format!("exec {} --jobs {} --slice \"$SLURM_ARRAY_TASK_ID/{}\"", self.sweep(), self.cpus, self.slices);
        self.slurm_script(&head, &command)
    }

    /// Returns the Slurm job that collects the table when all tasks have ended.
    pub fn slurm_collect(&self) -> String {
        let head = [
            format!("--job-name={}-collect", self.name),
            "--ntasks=1 --cpus-per-task=1 --requeue".to_owned(),
            format!("--output={}", quoted(&self.out.join("slurm/collect.log"))),
        ];
        self.slurm_script(&head, &format!("exec {}", self.collect()))
    }

    fn slurm_script(&self, head: &[String], command: &str) -> String {
        let head: String = head.iter().map(|line| format!("#SBATCH {line}\n")).collect();
        format!("#!/bin/bash\n{head}cd {} || exit\n{command}\n", shell_path(&self.folder))
    }

    /// Returns the script that submits an array to HyperQueue, waits for it and collects the table.
    pub fn hyperqueue(&self) -> String {
        let log = shell_path(&self.out.join("hyperqueue/slice-%{TASK_ID}.log"));
        let task = format!("exec {} --jobs {} --slice \"$HQ_TASK_ID/{}\"", self.sweep(), self.cpus, self.slices);
        let options: String = self.options.iter().map(|option| format!(" {}", shell_word(option))).collect();
        format!(
            "#!/bin/bash\ncd {} || exit\nhq submit --wait --name {} --array 1-{} --cpus {} --stdout {log} --stderr {log}{options} -- \\\n    bash -c {}\n\
             exec {}\n",
            shell_path(&self.folder),
            shell_word(&self.name),
            self.slices,
            self.cpus,
            shell_word(&task),
            self.collect(),
        )
    }
}

/// Quotes a path as the value of an option in a `#SBATCH` line, which no shell parses.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    if text.contains(char::is_whitespace) { format!("\"{text}\"") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> SubmittedSweep {
        SubmittedSweep {
            name: "sms".into(),
            program: "/opt/warpshard".into(),
            folder: "/home/a b".into(),
            plan: "/home/a b/out/plan.toml".into(),
            out: "/home/a b/out".into(),
            slices: 8,
            cpus: 2,
            at_once: Some(4),
            parquet: false,
            options: vec!["--time-limit=1h".into()],
        }
    }

    #[test]
    fn slices_have_ten_runs_and_are_never_more_than_runs() {
        assert_eq!([1, 10, 11, 100, 10_000, 1_000_000].map(|runs| slices(runs, None)), [1, 1, 2, 10, 1000, 1000]);
        assert_eq!((slices(100, Some(7)), slices(3, Some(7)), slices(0, None)), (7, 3, 1));
    }

    #[test]
    fn an_array_job_runs_a_slice_per_task_in_the_folder_of_the_call() {
        let script = job().slurm_array();
        for part in [
            "#!/bin/bash\n#SBATCH --job-name=sms\n#SBATCH --array=1-8%4\n",
            "#SBATCH --output=\"/home/a b/out/slurm/slice-%a.log\"\n",
            "cd '/home/a b' || exit\n",
            "exec /opt/warpshard sweep '/home/a b/out/plan.toml' --out '/home/a b/out' --jobs 2 --slice \"$SLURM_ARRAY_TASK_ID/8\"\n",
        ] {
            assert!(script.contains(part), "{part} is missing in {script}");
        }
        assert!(job().slurm_collect().ends_with("sweep '/home/a b/out/plan.toml' --out '/home/a b/out' --collect\n"));
    }

    #[test]
    fn hyperqueue_waits_and_collects() {
        let script = job().hyperqueue();
        assert!(script.contains("hq submit --wait --name sms --array 1-8 --cpus 2 "), "{script}");
        assert!(
            script.contains("--time-limit=1h -- \\\n    bash -c 'exec /opt/warpshard sweep '\\''/home/a b/out/plan.toml'\\''"),
            "{script}"
        );
        assert!(script.contains("--slice \"$HQ_TASK_ID/8\"'\nexec /opt/warpshard sweep"), "{script}");
    }
}
