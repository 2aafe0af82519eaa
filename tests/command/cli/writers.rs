//! Processes that write into one folder at the same time, and leftover files of killed processes.

use super::*;

/// Starts a run of many minutes into `out` and waits until it has reserved its folder.
fn start_long_run(out: &Path) -> Child {
    let mut child = endless_run(out);
    let parent = if out.exists() { out } else { out.parent().unwrap() };
    let reserved = || names(parent).iter().any(|name| name.ends_with(".lock"));
    for _ in 0..1000 {
        if reserved() {
            return child;
        }
        assert_eq!(child.try_wait().unwrap(), None, "the run must still be under way");
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{:?}", names(parent));
}

fn kill_run(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_folder_reserved_by_a_run_is_refused_to_other_runs() {
    let folder = scratch();
    let (new, existing) = (folder.path().join("new"), folder.path().join("existing"));
    assert_eq!(code(&small_run(&existing, &[])), 0);
    let before = read(&existing, "stats.json");
    for out in [&new, &existing] {
        let child = start_long_run(out);
        let second = small_run(out, &[]);
        assert_eq!(code(&second), 6, "{}", stderr(&second));
        let expected = format!("{} is in use by another run (process {})", out.display(), child.id());
        assert!(stderr(&second).contains(&expected), "{}", stderr(&second));
        assert_eq!(stdout(&second), "");
        kill_run(child);
    }
    assert_eq!(read(&existing, "stats.json"), before);
    assert!(!new.exists());
    // Locks of killed runs do not block other runs, and the next run removes them.
    for out in [&new, &existing] {
        assert_eq!(code(&small_run(out, &[])), 0);
        assert_eq!(names(out), [".warpshard-files", "host.json", "intervals.csv", "kernels.csv", "run.toml", "stats.json", "summary.txt"]);
    }
    assert_eq!(names(folder.path()), ["existing", "new"]);
}

#[test]
fn parallel_runs_into_one_folder_leave_the_files_of_one_run() {
    let folder = scratch();
    for (round, out) in ["new", "new", "other"].map(|name| folder.path().join(name)).iter().enumerate() {
        let start = |n: u32| {
            let n = format!("workload.n={}", 512 * (n + 1));
            let run = [
                "run",
                "--machine",
                "tiny",
                "--workload",
                "vecadd",
                "--set",
                &n,
                "--threads",
                "1",
                "--force",
                "--out",
                out.to_str().unwrap(),
            ];
            command(&run).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let runs: Vec<Child> = (0..6).map(start).collect();
        let outputs: Vec<Output> = runs.into_iter().map(|run| run.wait_with_output().unwrap()).collect();
        assert!(outputs.iter().any(|output| code(output) == 0), "round {round}");
        for output in &outputs {
            let refused = code(output) == 6 && stderr(output).contains("in use by another run");
            assert!(code(output) == 0 || refused, "round {round}: {} {}", code(output), stderr(output));
        }
        let stats = stats(out);
        let n = stats["configuration"]["overrides"][0].as_str().unwrap().strip_prefix("workload.n=").unwrap().to_owned();
        assert!(read(out, "run.toml").lines().any(|line| line.starts_with(&format!("n = {n} "))), "{n} in {}", read(out, "run.toml"));
        let host: Value = serde_json::from_str(&read(out, "host.json")).unwrap();
        assert!(host["arguments"].as_array().unwrap().contains(&format!("workload.n={n}").into()), "{n} in {host}");
        let cycles = warpshard::report::text::count(stats["total"]["cycles"].as_u64().unwrap());
        assert!(read(out, "summary.txt").contains(&format!("{cycles} core cycles")), "{}", read(out, "summary.txt"));
        assert_eq!(names(out), [".warpshard-files", "host.json", "intervals.csv", "kernels.csv", "run.toml", "stats.json", "summary.txt"]);
    }
    assert_eq!(names(folder.path()), ["new", "other"]);
}

#[test]
fn leftovers_of_killed_runs_are_removed_and_files_of_live_runs_are_kept() {
    let folder = scratch();
    let (alive, next) = (folder.path().join("alive"), folder.path().join("next"));
    let child = start_long_run(&alive);
    // Leftovers of a process that was killed during a write: a partial folder, and a lock without a live owner.
    let partial = folder.path().join(".warpshard-1-0.partial");
    std::fs::create_dir(&partial).unwrap();
    std::fs::write(partial.join("stats.json"), "{").unwrap();
    std::fs::write(folder.path().join(".warpshard-1-0.lock"), "1").unwrap();
    assert_eq!(code(&small_run(&next, &[])), 0);
    assert!(!partial.exists());
    assert_eq!(code(&small_run(&alive, &[])), 6, "the live run has lost its lock: {:?}", names(folder.path()));
    kill_run(child);
    assert_eq!(code(&small_run(&next, &[])), 0);
    assert_eq!(names(folder.path()), ["next"]);
}

#[cfg(unix)]
#[test]
fn a_killed_conversion_leaves_nothing_after_the_next_one() {
    let folder = scratch();
    let trace = folder.path().join("t");
    assert_eq!(code(&warpshard(&["trace", "gemm_tiled", "--set", "workload.n=256", "--out", trace.to_str().unwrap()])), 0);
    let convert = |out: &str| command(&["convert", trace.to_str().unwrap(), folder.path().join(out).to_str().unwrap()]);
    let mut child = convert("a.wst").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !names(folder.path()).iter().any(|name| name.ends_with(".partial")) {
        assert!(child.try_wait().unwrap().is_none(), "it was faster than this test");
        std::thread::yield_now();
    }
    kill_run(child);
    assert!(names(folder.path()).iter().any(|name| name.ends_with(".partial")));
    let output = convert("b.wst").output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(names(folder.path()), ["b.wst", "t"]);
}

#[test]
fn the_folder_of_another_experiment_is_refused_with_the_differences() {
    let folder = scratch();
    let out = folder.path().join("out");
    assert_eq!(code(&small_run(&out, &[])), 0);
    let before = read(&out, "stats.json");
    // The same experiment on another number of threads runs again.
    assert_eq!(code(&small_run(&out, &["--threads", "2"])), 0);
    for (more, expected) in [
        (&["--seed", "2"][..], "run.seed is 1 in the folder and 2 in this run"),
        (&["--set", "gpu.sms=2"], "gpu.sms is 4 in the folder and 2 in this run"),
        (&["--max-cycles", "100"], "run.max_cycles is not set in the folder and 100 in this run"),
    ] {
        let other = small_run(&out, more);
        assert_eq!(code(&other), 6, "{}", stderr(&other));
        let told = stderr(&other);
        assert!(told.contains("the results of another experiment") && told.contains(expected) && told.contains("--force"), "{told}");
        assert_eq!((read(&out, "stats.json"), stdout(&other).as_str()), (before.clone(), ""), "it is refused before the run");
    }
    assert_eq!(code(&small_run(&out, &["--seed", "2", "--force"])), 0);
    assert_eq!(stats(&out)["seed"], 2);
}
