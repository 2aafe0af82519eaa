//! The program as users call it: usage, exit codes, messages, results and leftover files.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use warpshard::run::{EXIT_CODES, Exit};

mod applications;
mod compare;
mod names;
mod sweep;
mod writers;

fn warpshard(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpshard"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn wrong_usage_ends_with_2_and_a_message() {
    for (arguments, expected) in [
        (&[][..], "Usage: warpshard"),
        (&["simulate"], "unrecognized subcommand 'simulate'"),
        (&["run", "--thread", "3"], "'--threads'"),
        (&["run", "--threads", "0"], "'0'"),
        (&["run", "--epoch", "long"], "expected \"auto\" or a whole number"),
        (&["run", "--set", "gpu.sms"], "KEY=VALUE"),
        (&["run", "--trace", "a", "--workload", "b"], "cannot be used with"),
        (&["run", "--app", "stream", "--workload", "gather"], "cannot be used with"),
        (&["run", "--app", "stream", "--set", "workload.cta_count=3"], "models keep the values of their files"),
        (&["run", "--once"], "--app"),
        (&["run", "--force"], "--out"),
        (&["check"], "<FILE>"),
        (&["show", "engine", "x"], "[possible values: machine, workload]"),
    ] {
        let output = warpshard(arguments);
        assert_eq!(code(&output), 2, "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    for arguments in [&["--help"][..], &["help"], &["help", "run"], &["run", "-h"], &["--version"]] {
        let output = warpshard(arguments);
        assert_eq!((code(&output), stderr(&output).as_str()), (0, ""), "{arguments:?}");
        assert!(stdout(&output).contains("warpshard"), "{arguments:?}");
    }
}

#[test]
fn the_exit_codes_are_documented_by_the_program_itself() {
    for arguments in [&["exit-codes"][..], &["help", "exit-codes"]] {
        let text = stdout(&warpshard(arguments));
        for (exit, meaning) in EXIT_CODES {
            assert!(text.contains(&format!("{:>3}  {}", exit as u8, &meaning[..20])), "{exit:?} is missing in {text}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_ends_with_6() {
    for arguments in [&["exit-codes"][..], &["--help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command(arguments).stdout(full).output().unwrap();
        assert_eq!(code(&output), 6, "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let mut child = command(&["exit-codes"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn every_built_in_machine_and_model_is_listed_can_be_shown_and_is_valid() {
    let list = stdout(&warpshard(&["list"]));
    for (kind, names) in
        [("machine", &["v100", "m2090", "tiny"][..]), ("workload", &["gemm_tiled", "vecadd", "stream", "reduce", "gather"])]
    {
        for name in names {
            assert!(list.lines().any(|line| line.trim_start().starts_with(&format!("{name} "))), "{name} is not in {list}");
            let output = warpshard(&["show", kind, name]);
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            assert!(stdout(&output).contains(name), "{}", stdout(&output));
        }
    }
}

#[test]
fn a_mix_gives_every_cpu_core_an_application_and_stands_alone() {
    let list = stdout(&warpshard(&["list", "mixes"]));
    for mix in ["L1", "L2", "M1", "M2", "H1", "H2"] {
        assert!(list.contains(&format!("@{mix} ")), "{list}");
    }
    let folder = scratch();
    let own = folder.path().join("own.toml");
    std::fs::write(&own, "name = \"own\"\nsummary = \"two for three cores\"\napplications = [\"mcf\", \"gcc\"]\n").unwrap();
    let own = format!("@{}", own.display());
    let run = |cpu: &str| {
        let out = folder.path().join("out");
        let out = out.to_str().unwrap();
        let fixed = ["run", "--machine", "hetero-small", "--workload", "vecadd", "--set", "workload.n=2048", "--threads", "1"];
        let cpus = ["--cpu", cpu, "--cpu-warm", "100", "--cpu-measure", "200", "--out", out, "--force"];
        (warpshard(&[&fixed[..], &cpus[..]].concat()), folder.path().join("out").join("stats.json"))
    };
    for (cpu, expected) in [("@H1", ["milc", "soplex", "milc"]), (own.as_str(), ["mcf", "gcc", "mcf"])] {
        let (output, stats) = run(cpu);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let stats: Value = serde_json::from_str(&std::fs::read_to_string(stats).unwrap()).unwrap();
        let names: Vec<&str> = stats["cpu_cores"].as_array().unwrap().iter().map(|core| core["application"].as_str().unwrap()).collect();
        assert_eq!(names, expected);
    }
    for (cpu, expected) in [("@H9", "--cpu H9: there is no such mix"), ("@h1", "did you mean @H1?"), ("@H1,mcf", "give the mix alone")] {
        let output = run(cpu).0;
        assert_eq!(code(&output), Exit::Workload as i32, "{cpu}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{cpu}: {}", stderr(&output));
    }
}

#[test]
fn show_prints_a_machine_that_loads_again() {
    let folder = scratch();
    let file = folder.path().join("m.toml");
    let shown = warpshard(&["show", "machine", "tiny", "--set", "gpu.sms=3"]);
    std::fs::write(&file, &shown.stdout).unwrap();
    let output = warpshard(&["check", file.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("tiny, 3 SMs"), "{}", stdout(&output));
}

#[test]
fn a_model_written_as_a_trace_is_a_valid_trace_with_the_same_ctas() {
    let folder = scratch();
    let out = folder.path().join("t");
    let out = out.to_str().unwrap();
    let written = warpshard(&["trace", "vecadd", "--set", "workload.n=1000", "--out", out]);
    assert_eq!(code(&written), 0, "{}", stderr(&written));
    let checked = warpshard(&["check", &format!("{out}/kernelslist.g")]);
    assert!(stdout(&checked).contains("1 kernel, 4 CTAs"), "{}", stdout(&checked));
    let again = warpshard(&["trace", "vecadd", "--out", out]);
    assert_eq!(code(&again), 6, "{}", stderr(&again));
}

#[test]
fn a_trace_is_converted_both_ways_and_accepted_by_all_commands() {
    let folder = scratch();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (text, native, back) = (at("t"), at("t.wst"), at("back"));
    assert_eq!(code(&warpshard(&["trace", "vecadd", "--set", "workload.n=4096", "--out", &text])), 0);
    let done = warpshard(&["convert", &text, &native]);
    assert_eq!((code(&done), stderr(&done).as_str()), (0, ""));
    assert!(stdout(&done).contains("per warp instruction"), "{}", stdout(&done));
    for arguments in [&["check", &native][..], &["trace", &native], &["trace", &text]] {
        let output = warpshard(arguments);
        assert_eq!(code(&output), 0, "{arguments:?}: {}", stderr(&output));
        assert!(stdout(&output).contains("1 kernel"), "{arguments:?}: {}", stdout(&output));
    }
    let mut stats = Vec::new();
    for (trace, out) in [(&text, at("of-text")), (&native, at("of-native"))] {
        let run = warpshard(&["run", "--machine", "tiny", "--trace", trace, "--out", &out]);
        assert_eq!(code(&run), 0, "{}", stderr(&run));
        stats.push(simulated(Path::new(&out)));
    }
    assert!(stats[0] == stats[1]);
    assert_eq!(code(&warpshard(&["convert", &native, &back])), 0);
    for file in ["kernelslist.g", "kernel-1.traceg"] {
        assert!(read(Path::new(&back), file) == read(Path::new(&text), file), "{file}");
    }
    // `trace --native` writes a model directly to the same file.
    let direct = at("x/t.wst");
    assert_eq!(code(&warpshard(&["trace", "vecadd", "--set", "workload.n=4096", "--native", "--out", &direct])), 0);
    assert!(std::fs::read(&direct).unwrap() == std::fs::read(&native).unwrap());
    // Nothing is overwritten without `--force`, contradictory options are refused, and failed commands leave no files.
    let cut = at("cut.wst");
    std::fs::write(&cut, &std::fs::read(&native).unwrap()[..300]).unwrap();
    let entries = || std::fs::read_dir(folder.path()).unwrap().count();
    let before = entries();
    for (arguments, expected, says) in [
        (&["convert", &text, &native][..], 6, "--force"),
        (&["convert", &native, &back], 6, "--force"),
        (&["convert", &native, "new", "--to", "native"], 2, "is already native"),
        (&["convert", &text, "new", "--to", "text"], 2, "is not a native trace"),
        (&["convert", &native, "new", "--compress", "zstd"], 2, "--compress zstd"),
        (&["convert", &cut, &at("new")], 4, "the file is cut off"),
        (&["convert", &at("nowhere"), &at("new")], 4, "no such file"),
        (&["run", "--trace", &cut], 4, "the file is cut off"),
        (&["trace", &text, "--out", &at("new")], 2, "warpshard convert"),
        (&["trace", "vecadd"], 2, "--out"),
    ] {
        let output = warpshard(arguments);
        assert_eq!(code(&output), expected, "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
    }
    assert_eq!(entries(), before);
    for arguments in [["convert", &text, &native, "--force"], ["convert", &native, &back, "--force"]] {
        assert_eq!(code(&warpshard(&arguments)), 0);
    }
    assert_eq!(entries(), before);
}

#[cfg(unix)]
#[test]
fn an_interrupted_conversion_leaves_no_files() {
    use std::io::Write as _;
    let folder = scratch();
    let trace = folder.path().join("kernel-1.traceg");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&trace).unwrap());
    write!(file, "-grid dim = (60000,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n-nregs = 8\n-binary version = 70\n").unwrap();
    writeln!(file, "-accelsim tracer version = 4\n").unwrap();
    let lines: String = (0..60).map(|i| format!("{:04x} ffffffff 1 R1 IMAD 2 R1 R2 0 \n", 16 * i)).collect();
    for cta in 0..60_000 {
        write!(file, "#BEGIN_TB\n\nthread block = {cta},0,0\n\nwarp = 0\ninsts = 60\n{lines}\n#END_TB\n\n").unwrap();
    }
    file.flush().unwrap();
    let out = folder.path().join("out.wst");
    let mut child = command(&["convert", trace.to_str().unwrap(), out.to_str().unwrap()]).stderr(Stdio::piped()).spawn().unwrap();
    // The temporary file exists before the first byte is read.
    while std::fs::read_dir(folder.path()).unwrap().count() < 2 {
        assert!(child.try_wait().unwrap().is_none(), "it was faster than this test");
        std::thread::sleep(Duration::from_millis(1));
    }
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 130, "{}", stderr(&output));
    assert!(stderr(&output).contains("was not written"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn check_continues_after_an_invalid_file_and_ends_with_its_code() {
    let folder = scratch();
    let bad = folder.path().join("bad.toml");
    std::fs::write(&bad, "extends = \"tiny\"\n[gpu]\nsmms = 4\n").unwrap();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/workloads/vecadd.toml");
    let output = warpshard(&["check", bad.to_str().unwrap(), "missing/kernelslist.g", model]);
    assert_eq!(code(&output), 3);
    assert!(stdout(&output).contains("ok, a kernel model: vecadd"), "{}", stdout(&output));
    let said = stderr(&output);
    assert!(said.contains("smms") && said.contains("sms") && said.contains("missing/kernelslist.g"), "{said}");
}

#[test]
fn wrong_input_has_documented_codes_and_messages() {
    for (arguments, expected, says) in [
        (&["run", "--machine", "v1000"][..], 3, "v100"),
        (&["run", "--set", "gpu.sm=56"], 3, "gpu.sm"),
        (&["run", "--workload", "gem_tiled"], 4, "gemm_tiled"),
        (&["run", "--set", "workload.rows=3"], 4, "no such parameter"),
        (&["run", "--trace", "nowhere/kernelslist.g"], 4, "no such file"),
        (&["run", "--kernels", "7-9"], 2, "selects none of the 1 kernels"),
        (&["run", "--out", "/dev/null/x"], 6, "/dev/null"),
        (&["show", "machine", "v1000"], 3, "v100"),
        (&["show", "workload", "nothing.toml"], 4, "nothing.toml"),
        (&["trace", "vecadd", "--out", "/dev/null/x"], 6, "/dev/null"),
        (&["trace", "vecadd", "--set", "gpu.sms=3", "--out", "x"], 2, "workload.KEY"),
    ] {
        let output = warpshard(arguments);
        assert_eq!(code(&output), expected, "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).starts_with("error: "), "{arguments:?}: {}", stderr(&output));
    }
}

/// Starts a very short run into `out`, with further arguments.
fn small_run(out: &Path, more: &[&str]) -> Output {
    let run = ["run", "--machine", "tiny", "--workload", "vecadd", "--set", "workload.n=4096", "--out", out.to_str().unwrap()];
    warpshard(&[&run[..], more].concat())
}

/// Starts a run of many minutes into `out`.
fn endless_run(out: &Path) -> Child {
    let run = ["run", "--machine", "tiny", "--workload", "vecadd", "--set", "workload.n=100000000", "--force", "--out"];
    command(&[&run[..], &[out.to_str().unwrap(), "--threads", "2"]].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn stats(folder: &Path) -> Value {
    serde_json::from_str(&read(folder, "stats.json")).unwrap()
}

/// Returns the simulation results: `stats.json` without the block that describes the call.
fn simulated(folder: &Path) -> Value {
    let mut stats = stats(folder);
    assert!(stats.as_object_mut().unwrap().remove("configuration").is_some());
    stats
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_run_writes_a_complete_folder_and_prints_its_summary() {
    let folder = scratch();
    let out = folder.path().join("out");
    let output = small_run(&out, &["--interval", "500"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(names(&out), [".warpshard-files", "host.json", "intervals.csv", "kernels.csv", "run.toml", "stats.json", "summary.txt"]);
    assert!(stdout(&output).starts_with(&read(&out, "summary.txt")), "{}", stdout(&output));
    assert_eq!(stderr(&output), "", "a run in a pipe is quiet");

    let stats = stats(&out);
    let total = &stats["total"];
    assert_eq!((&stats["ended_by"], &stats["machine"], &stats["workload"]), (&"completed".into(), &"tiny".into(), &"vecadd".into()));
    let cycles = total["cycles"].as_u64().unwrap();
    assert!(cycles > 0);
    let launches: u64 = stats["kernels"].as_array().unwrap().iter().map(|k| k["launch_latency_cycles"].as_u64().unwrap()).sum();
    assert_eq!(total["net_cycles"].as_u64().unwrap(), cycles - launches);
    let ipc = total["thread_instructions"].as_f64().unwrap() / cycles as f64;
    assert!((total["ipc"].as_f64().unwrap() / ipc - 1.0).abs() < 1e-9);
    let reasons = stats["scheduler_cycles"]["reasons"].as_object().unwrap();
    assert!(reasons.contains_key("issued") && reasons.len() > 5, "{reasons:?}");

    let intervals = read(&out, "intervals.csv");
    assert!(intervals.starts_with("cycle,") && intervals.lines().count() > 1, "{intervals}");
    let host: Value = serde_json::from_str(&read(&out, "host.json")).unwrap();
    for key in ["startup_seconds", "decode_seconds", "simulate_seconds", "warp_instructions_per_second", "lookahead_cycles"] {
        assert!(host[key].is_number(), "{key} in {host}");
    }
}

#[test]
fn threads_and_epochs_do_not_change_results() {
    let folder = scratch();
    let first = folder.path().join("first");
    assert_eq!(code(&small_run(&first, &["--threads", "1", "--interval", "300"])), 0);
    for (i, options) in [&["--threads", "3"][..], &["--threads", "2", "--epoch", "1"], &["--epoch", "2"]].iter().enumerate() {
        let out = folder.path().join(i.to_string());
        let output = small_run(&out, &[options, &["--interval", "300"][..]].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        for name in ["stats.json", "intervals.csv"] {
            assert_eq!(read(&out, name), read(&first, name), "{name} with {options:?}");
        }
    }
}

#[test]
fn the_resolved_run_file_gives_the_same_machine_again() {
    let folder = scratch();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    assert_eq!(code(&small_run(&first, &["--set", "gpu.sms=3"])), 0);
    let run = read(&first, "run.toml");
    for expected in ["# --set gpu.sms=3", "# default", "[run]", "seed = 1", "[run.workload.parameters]", "n = 4096"] {
        assert!(run.contains(expected), "{expected} is missing in {run}");
    }
    let file = first.join("run.toml");
    let again = ["run", "--machine", file.to_str().unwrap(), "--workload", "vecadd", "--set", "workload.n=4096", "--out"];
    let output = warpshard(&[&again[..], &[second.to_str().unwrap()]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(simulated(&second), simulated(&first));
}

#[test]
fn an_epoch_beyond_the_lookahead_needs_relaxed() {
    let folder = scratch();
    let out = folder.path().join("out");
    let output = small_run(&out, &["--epoch", "100000"]);
    assert_eq!(code(&output), 3);
    assert!(stderr(&output).contains("lookahead"), "{}", stderr(&output));
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn without_a_folder_results_are_numbered() {
    let folder = scratch();
    for _ in 0..2 {
        let run = ["run", "--machine", "tiny", "--workload", "vecadd", "--set", "workload.n=512"];
        assert_eq!(code(&command(&run).current_dir(folder.path()).output().unwrap()), 0);
    }
    assert_eq!(names(&folder.path().join("results")), ["tiny-vecadd-n=512-1", "tiny-vecadd-n=512-2"]);
}

#[test]
fn results_name_their_configuration() {
    let folder = scratch();
    let run = ["run", "--machine", "tiny", "--workload", "vecadd", "--set", "workload.n=512", "--set", "gpu.sms=2"];
    let more = ["--policy", "static_limit:ctas=2", "--seed", "3", "--threads", "2", "--max-cycles", "900"];
    let arguments = [&run[..], &more[..]].concat();
    assert_eq!(code(&command(&arguments).current_dir(folder.path()).output().unwrap()), 0);
    let [name] = &names(&folder.path().join("results"))[..] else { panic!("{:?}", names(folder.path())) };
    assert!(name.starts_with("tiny-vecadd-static_limit-"), "{name}");
    let out = folder.path().join("results").join(name);
    let stats = stats(&out);
    let command_line = "warpshard run --machine tiny --workload vecadd --set workload.n=512 --set gpu.sms=2 \
        --policy static_limit:ctas=2 --seed 3 --max-cycles 900";
    let expected = serde_json::json!({
        "command": command_line,
        "machine": "tiny",
        "workload": "vecadd",
        "overrides": ["workload.n=512", "gpu.sms=2"],
        "policies": ["static_limit:ctas=2"],
        "seed": 3,
        "max_cycles": 900,
    });
    assert_eq!(stats["configuration"], expected);
    assert!(stats["commit"].is_string() && stats["version"].is_string());
    let host: Value = serde_json::from_str(&read(&out, "host.json")).unwrap();
    assert_eq!(host["arguments"].as_array().unwrap()[1..], arguments[..]);

    // The stored command reproduces the same bytes.
    let again: Vec<&str> = command_line.split(' ').skip(1).chain(["--out", "again"]).collect();
    assert_eq!(code(&command(&again).current_dir(folder.path()).output().unwrap()), 0);
    assert_eq!(read(&folder.path().join("again"), "stats.json"), read(&out, "stats.json"));
}

#[cfg(unix)]
#[test]
fn a_disk_that_fills_up_ends_with_6_and_leaves_no_result() {
    let folder = scratch();
    let out = folder.path().join("out");
    // Files may not grow beyond 512 bytes; ignoring the signal turns the limit into a write error.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
    let run = ["run", "--machine", "tiny", "--workload", "vecadd", "--set", "workload.n=512", "--out", out.to_str().unwrap()];
    let output =
        Command::new("sh").args(["-c", script, "sh", env!("CARGO_BIN_EXE_warpshard")]).args(run).stdin(Stdio::null()).output().unwrap();
    assert_eq!(code(&output), 6, "{}", stderr(&output));
    let lost = format!("cannot write {}", out.join("stats.json").display());
    assert!(stderr(&output).contains(&lost) && stderr(&output).contains("no results were written"), "{}", stderr(&output));
    for section in ["vecadd on tiny", "Kernels", "Memory", "Host"] {
        assert!(stdout(&output).contains(section), "{section} is missing in {}", stdout(&output));
    }
    assert!(!stdout(&output).contains("Results in"), "{}", stdout(&output));
    assert_eq!(names(folder.path()), [""; 0]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_at_the_end_still_prints_the_report() {
    // An earlier result in the folder stays unchanged.
    let folder = scratch();
    let out = folder.path().join("out");
    assert_eq!(code(&small_run(&out, &[])), 0);
    let before = read(&out, "stats.json");
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$@\" 2>&1 | cat";
    let run = ["run", "--machine", "tiny", "--workload", "vecadd", "--set", "workload.n=512", "--force", "--out", out.to_str().unwrap()];
    let output =
        Command::new("sh").args(["-c", script, "sh", env!("CARGO_BIN_EXE_warpshard")]).args(run).stdin(Stdio::null()).output().unwrap();
    assert!(stdout(&output).contains("Kernels") && stdout(&output).contains("error: cannot write"), "{}", stdout(&output));
    assert_eq!(read(&out, "stats.json"), before);
    assert_eq!(names(&out).iter().filter(|name| name.contains("partial") || name.contains("lock")).count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_that_cannot_be_printed_is_an_error_but_results_are_written() {
    let folder = scratch();
    let out = folder.path().join("out");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let run = ["run", "--machine", "tiny", "--workload", "vecadd", "--set", "workload.n=512", "--out", out.to_str().unwrap()];
    assert_eq!(command(&run).stdout(full).status().unwrap().code(), Some(6));
    assert_eq!(stats(&out)["ended_by"], "completed");
}

#[cfg(unix)]
#[test]
fn a_killed_run_leaves_no_result() {
    let folder = scratch();
    let out = folder.path().join("out");
    let mut child = endless_run(&out);
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(child.try_wait().unwrap(), None, "the run must still be under way");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!out.exists());
    for name in names(folder.path()) {
        assert!(!folder.path().join(&name).join("stats.json").exists(), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_complete_up_to_its_cycle_and_can_be_repeated() {
    let folder = scratch();
    let out = folder.path().join("out");
    let mut child = endless_run(&out);
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(child.try_wait().unwrap(), None, "the run must still be under way");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 130, "{}", stderr(&output));
    let interrupted = stats(&out);
    assert_eq!(interrupted["ended_by"], "interrupted");
    assert!(read(&out, "summary.txt").contains("interrupted"));

    let cycles = interrupted["total"]["cycles"].to_string();
    let again = folder.path().join("again");
    let run = ["run", "--machine", "tiny", "--workload", "vecadd", "--set", "workload.n=100000000"];
    let output = warpshard(&[&run[..], &["--max-cycles", &cycles, "--out", again.to_str().unwrap()]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let mut expected = simulated(&out);
    expected["ended_by"] = "max_cycles".into();
    assert_eq!(simulated(&again), expected);
}

#[test]
fn the_dram_rig_prints_its_figures_and_writes_sweeps() {
    let output = warpshard(&["dram", "--standard", "hbm2-2000", "--load", "0.1", "--requests", "22000", "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!((value["achieved_frac_of_peak"].as_f64().unwrap() - 0.1).abs() < 0.001);
    assert!((value["avg_read_lat_mc_cycles"].as_f64().unwrap() - 17.875).abs() < 0.05);
    assert!((value["avg_read_lat_total_cycles"].as_f64().unwrap() - 16.875).abs() < 0.05);
    assert!((value["row_hit_rate"].as_f64().unwrap() - 31.0 / 32.0).abs() < 0.01);
    assert!(value["requests_per_host_second"].as_f64().unwrap() > 0.0);
    assert_eq!(value["banks"].as_array().unwrap().len(), 32);

    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("sweep");
    let output = warpshard(&["dram", "--pattern", "random", "--requests", "1100", "--sweep", "--out", out.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let table = std::fs::read_to_string(out.join("table.csv")).unwrap();
    assert!(table.starts_with("load,achieved_frac_of_peak,") && table.lines().count() > 10, "{table}");
    assert!(out.join("latency.svg").is_file());
}

#[test]
fn unknown_dram_names_list_the_available_ones() {
    for (arguments, known) in [
        (["--standard", "gddr9"], "ddr4-2400r, gddr5-1600, gddr5-6000, gddr5-6g, gddr5-fermi, gddr6-14g, hbm2-2000"),
        (["--pattern", "zigzag"], "seq_bg, seq_row, random, conf1, conf4, confN, pingpong"),
        (["--writes", "1.5"], "expected a number from 0 to 1"),
        (["--refresh", "maybe"], "[possible values: on, off]"),
    ] {
        let output = warpshard(&["dram", arguments[0], arguments[1]]);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(stderr(&output).contains(known), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn phases_of_a_model_and_of_its_trace_are_the_same() {
    let folder = scratch();
    let out = folder.path().join("t");
    let small = ["--set", "workload.cta_count=2"];
    let written = command(&["trace", "wa_sched/bp_k1", "--out", out.to_str().unwrap()]).args(small).output().unwrap();
    assert_eq!(code(&written), 0, "{}", stderr(&written));
    let list = out.join("kernelslist.g");
    let phases = |workload: &str, rest: &[&str]| {
        let output = command(&["phases", workload, "--json"]).args(rest).output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
        found[0]["phases"].clone()
    };
    let model = phases("wa_sched/bp_k1", &small);
    assert!(model.as_array().is_some_and(|phases| phases.len() > 1));
    assert_eq!(phases(list.to_str().unwrap(), &[]), model);
    assert_ne!(phases("wa_sched/bp_k1", &["--machine", "tiny"]), model);
    let listing = stdout(&warpshard(&["phases", "vecadd"]));
    assert!(listing.contains("LDG.E.SYS") && listing.contains("dependence"), "{listing}");
}
