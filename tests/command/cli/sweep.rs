//! `warpshard sweep`: plans, resumption, slices, tables.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use super::{code, command, stderr, stdout, warpshard};

/// Twelve short runs.
const SWEEP_PLAN: &str = "machines = [\"tiny\"]\n\
    workloads = [{ model = \"vecadd\", set = { n = 2048 } }, { model = \"vecadd\", set = { n = 1024 } }]\n\
    policies = [\"\", \"static_limit:ctas=1\"]\n\
    [run]\ninterval = 500\n[grid]\ngpu.sms = [1, 2, 4]\n";

fn write_plan(folder: &Path, text: &str) -> String {
    let path = folder.join("plan.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn run_sweep(plan: &str, out: &Path, more: &[&str]) -> Output {
    warpshard(&[&["sweep", plan, "--out", out.to_str().unwrap()], more].concat())
}

fn read_table(out: &Path) -> String {
    fs::read_to_string(out.join("sweep.csv")).unwrap()
}

/// Returns column `name` of a table without quoted cells.
fn column_cells(table: &str, name: &str) -> Vec<String> {
    let place = table.lines().next().unwrap().split(',').position(|head| head == name).unwrap();
    table.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().to_owned()).collect()
}

#[test]
fn a_sweep_has_the_bytes_of_single_runs_and_repeats_nothing() {
    let root = tempfile::tempdir().unwrap();
    let (plan, out) = (write_plan(root.path(), SWEEP_PLAN), root.path().join("out"));
    let first = run_sweep(&plan, &out, &[]);
    assert_eq!((code(&first), stderr(&first).as_str()), (0, ""), "{}", stdout(&first));
    assert!(stdout(&first).starts_with("12 runs simulated, 0 from before\n"), "{}", stdout(&first));
    let found = read_table(&out);
    assert_eq!(column_cells(&found, "workload.n")[..7], ["2048", "2048", "2048", "2048", "2048", "2048", "1024"]);
    assert_eq!(column_cells(&found, "gpu.sms")[..4], ["1", "2", "4", "1"]);

    let alone = root.path().join("alone");
    let options = ["--machine", "tiny", "--workload", "vecadd", "--set", "workload.n=2048", "--set", "gpu.sms=2", "--interval", "500"];
    let run = warpshard(&[&["run"], &options[..], &["--policy", "static_limit:ctas=1", "--out", alone.to_str().unwrap()]].concat());
    assert_eq!(code(&run), 0, "{}", stderr(&run));
    let digest = &column_cells(&found, "digest")[4];
    for name in ["stats.json", "intervals.csv", "timeline.csv"] {
        let swept = fs::read(out.join("runs").join(digest).join(name)).unwrap();
        assert_eq!(swept, fs::read(alone.join(name)).unwrap(), "{name}");
    }

    let again = run_sweep(&plan, &out, &[]);
    assert!(stdout(&again).starts_with("0 runs simulated, 12 from before\n"), "{}", stdout(&again));
    assert_eq!(read_table(&out), found);
    let compared = warpshard(&["compare", out.join("runs").join(digest).to_str().unwrap(), alone.to_str().unwrap(), "--fail-above", "0%"]);
    assert_eq!(code(&compared), 0, "{}", stderr(&compared));
}

#[test]
fn a_sweep_that_is_killed_again_and_again_ends_with_the_same_table() {
    let root = tempfile::tempdir().unwrap();
    let (plan, whole, killed) = (write_plan(root.path(), SWEEP_PLAN), root.path().join("whole"), root.path().join("killed"));
    assert_eq!(code(&run_sweep(&plan, &whole, &[])), 0);
    for milliseconds in [1, 20, 40, 60, 80, 100, 130, 170] {
        let mut child = command(&["sweep", &plan, "--out", killed.to_str().unwrap()]).stdout(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        // The sweep may already have ended.
        let _ = child.kill();
        child.wait().unwrap();
    }
    let last = run_sweep(&plan, &killed, &[]);
    assert_eq!(code(&last), 0, "{}", stderr(&last));
    assert_eq!(read_table(&killed), read_table(&whole));
    let left: Vec<_> = fs::read_dir(&killed).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "runs, failed, sweep.csv, sweep.svg and nothing temporary: {left:?}");
}

#[test]
fn slices_are_collected_when_all_are_complete() {
    let root = tempfile::tempdir().unwrap();
    let (plan, whole, parts) = (write_plan(root.path(), SWEEP_PLAN), root.path().join("whole"), root.path().join("parts"));
    assert_eq!(code(&run_sweep(&plan, &whole, &[])), 0);
    for slice in ["1/3", "3/3"] {
        let part = run_sweep(&plan, &parts, &["--slice", slice]);
        assert_eq!(code(&part), 0, "{}", stderr(&part));
        assert!(stdout(&part).starts_with(&format!("Slice {slice}: 4 runs simulated")), "{}", stdout(&part));
    }
    let early = run_sweep(&plan, &parts, &["--collect"]);
    assert_eq!(code(&early), 1);
    assert!(stderr(&early).contains("4 runs are missing"), "{}", stderr(&early));
    assert_eq!(column_cells(&read_table(&parts), "status").iter().filter(|status| *status == "missing").count(), 4);
    let listed = run_sweep(&plan, &parts, &["--list"]);
    assert_eq!(stdout(&listed).lines().filter(|line| line.contains("  missing  ")).count(), 4, "{}", stdout(&listed));
    assert_eq!(code(&run_sweep(&plan, &parts, &["--slice", "2/3"])), 0);
    assert_eq!(code(&run_sweep(&plan, &parts, &["--collect"])), 0);
    assert_eq!(read_table(&parts), read_table(&whole));
}

#[test]
fn wrong_plans_are_errors_before_anything_is_simulated() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    for (text, expected, exit) in [
        ("workloads = [\"vecadd\"]\n[grid]\ngpu.sms = 3\n", "plan.toml: TOML parse error at line 2", 3),
        ("machines = [\"v1000\"]\nworkloads = [\"vecadd\"]\n", "unknown machine \"v1000\"", 3),
        ("workloads = [\"vecad\"]\n", "did you mean `vecadd`?", 4),
        ("workloads = [\"vecadd\"]\npolicies = [\"dyncat\"]\n", "dyncat", 2),
        ("workloads = [{ trace = \"nowhere\" }]\n", "nowhere", 4),
        ("workloads = [\"vecadd\"]\n[grid]\ngpu.sms = [1, 0]\n", "1 of 2 runs of the plan are wrong; nothing was simulated\nrun 2:", 3),
    ] {
        let wrong = run_sweep(&write_plan(root.path(), text), &out, &[]);
        assert_eq!(code(&wrong), exit, "{text}: {}", stderr(&wrong));
        assert!(stderr(&wrong).contains(expected), "{text}: {}", stderr(&wrong));
    }
    assert_eq!(fs::read_dir(out.join("runs")).unwrap().count(), 0);
    let missing = run_sweep("/nowhere/plan.toml", &out, &[]);
    assert_eq!(code(&missing), 3, "{}", stderr(&missing));
    assert_eq!(code(&warpshard(&["sweep"])), 2);
    let foreign = run_sweep(&write_plan(root.path(), SWEEP_PLAN), root.path(), &[]);
    assert_eq!(code(&foreign), 6, "{}", stderr(&foreign));
}

#[test]
fn a_run_that_fails_has_a_row_and_does_not_end_the_others() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    // CTAs of 1024 threads fit no SM of this machine.
    let text = "machines = [\"tiny\"]\nworkloads = [\"vecadd\"]\n[grid]\nworkload.n = [2048]\nworkload.threads_per_cta = [1024, 256]\n";
    let plan = write_plan(root.path(), text);
    let failed = run_sweep(&plan, &out, &[]);
    assert_eq!(code(&failed), 3, "{}", stderr(&failed));
    assert!(stdout(&failed).starts_with("1 run simulated, 0 from before, 1 failed\n"), "{}", stdout(&failed));
    assert!(stderr(&failed).contains("run 1 failed: --machine=tiny --workload=vecadd"), "{}", stderr(&failed));
    assert_eq!(read_table(&out).lines().filter(|line| line.starts_with("1,failed,")).count(), 1, "{}", read_table(&out));
    let again = run_sweep(&plan, &out, &[]);
    assert!(stdout(&again).starts_with("0 runs simulated, 1 from before, 1 failed\n"), "{}", stdout(&again));
    assert_eq!(code(&run_sweep(&plan, &out, &["--collect"])), 3);
}

#[test]
fn a_changed_input_makes_a_new_run() {
    let root = tempfile::tempdir().unwrap();
    let (trace, out) = (root.path().join("trace"), root.path().join("out"));
    assert_eq!(code(&warpshard(&["trace", "vecadd", "--set", "workload.n=1024", "--out", trace.to_str().unwrap()])), 0);
    let list = trace.join("kernelslist.g");
    let kernel = fs::read_dir(&trace).unwrap().map(|entry| entry.unwrap().path()).find(|path| *path != list).unwrap();
    let plan = write_plan(root.path(), &format!("machines = [\"tiny\"]\nworkloads = [{{ trace = {:?} }}]\n", list.to_str().unwrap()));
    for expected in ["1 run simulated, 0 from before\n", "0 runs simulated, 1 from before\n"] {
        let output = run_sweep(&plan, &out, &[]);
        assert!(stdout(&output).starts_with(expected), "{}{}", stdout(&output), stderr(&output));
    }
    let text = fs::read_to_string(&kernel).unwrap();
    fs::write(&kernel, text.replace("FADD", "FMUL")).unwrap();
    assert!(stdout(&run_sweep(&plan, &out, &[])).starts_with("1 run simulated, 0 from before\n"));
    fs::write(&kernel, text).unwrap();
    assert!(stdout(&run_sweep(&plan, &out, &[])).starts_with("0 runs simulated, 1 from before\n"), "the first result is still there");
}

#[test]
fn applications_and_cpu_cores_run_as_in_run_and_follow_their_files() {
    let root = tempfile::tempdir().unwrap();
    let (profile, out) = (root.path().join("core.toml"), root.path().join("out"));
    let model = root.path().join("own.toml");
    let vecadd = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/workloads/vecadd.toml");
    fs::copy(vecadd, &model).unwrap();
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/configs/workloads/cpu/mcf.toml"), &profile).unwrap();
    let (model, profile) = (model.to_str().unwrap(), profile.to_str().unwrap());
    let apps = format!("{{ apps = [{model:?}, \"stream\"], once = true }}");
    let cores = format!("{{ model = \"vecadd\", cpu = {profile:?} }}");
    let core_limits = ["--cpu-warm", "100", "--cpu-measure", "200"];
    for (machine, workload, keys, options, changed) in [
        ("tiny", apps, "", vec!["--app", model, "--app", "stream", "--once"], model),
        (
            "hetero-small",
            cores,
            "cpu_warm = 100\ncpu_measure = 200\n",
            [&["--workload", "vecadd", "--cpu", profile], &core_limits[..]].concat(),
            profile,
        ),
    ] {
        let text = format!("machines = [{machine:?}]\nworkloads = [{workload}]\n[run]\nmax_cycles = 3000\n{keys}");
        let plan = write_plan(root.path(), &text);
        let first = run_sweep(&plan, &out, &[]);
        assert!(stdout(&first).starts_with("1 run simulated, 0 from before\n"), "{}{}", stdout(&first), stderr(&first));
        let alone = root.path().join(machine);
        let common = ["run", "--machine", machine, "--max-cycles", "3000", "--out", alone.to_str().unwrap()];
        let run = warpshard(&[&common[..], &options[..]].concat());
        assert_eq!(code(&run), 0, "{}", stderr(&run));
        let stats = |folder: &Path| fs::read(folder.join("stats.json")).unwrap();
        let digest = &column_cells(&read_table(&out), "digest")[0];
        assert_eq!(stats(&out.join("runs").join(digest)), stats(&alone), "{machine}");

        let text = fs::read_to_string(changed).unwrap();
        fs::write(changed, format!("# Changed.\n{text}")).unwrap();
        assert!(stdout(&run_sweep(&plan, &out, &[])).starts_with("1 run simulated, 0 from before\n"), "{changed} is an input");
    }
}

#[test]
fn the_scripts_of_batch_systems_are_written_and_missing_systems_are_named() {
    let root = tempfile::tempdir().unwrap();
    let (plan, out) = (write_plan(root.path(), SWEEP_PLAN), root.path().join("out"));
    let submit = |more: &[&str]| {
        let options = ["sweep", "submit", &plan, "--out", out.to_str().unwrap(), "--slices", "4"];
        command(&[&options[..], more].concat()).env("PATH", "/nowhere").output().unwrap()
    };
    let written = submit(&["--to", "slurm", "--dry-run"]);
    assert_eq!(code(&written), 0, "{}", stderr(&written));
    assert!(stdout(&written).starts_with("12 runs in 4 slices: "), "{}", stdout(&written));
    let script = fs::read_to_string(out.join("slurm/array.sh")).unwrap();
    assert!(script.contains("--slice \"$SLURM_ARRAY_TASK_ID/4\""), "{script}");
    assert_eq!(fs::read_to_string(out.join("plan.toml")).unwrap(), SWEEP_PLAN);
    let missing = submit(&["--to", "slurm"]);
    assert_eq!(code(&missing), 2);
    assert!(stderr(&missing).contains("cannot start sbatch"), "{}", stderr(&missing));
    assert_eq!(code(&submit(&["--to", "hyperqueue", "--dry-run"])), 0);
    assert!(out.join("hyperqueue/submit.sh").is_file());
}
