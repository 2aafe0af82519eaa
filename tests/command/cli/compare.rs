//! `warpshard compare` on result folders of runs.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{code, stderr, stdout, warpshard};

fn run(out: &Path, more: &[&str]) -> String {
    let out = out.to_str().unwrap();
    let options =
        ["run", "--machine", "tiny", "--workload", "vecadd", "--set", "workload.n=2048", "--threads", "1", "--force", "--out", out];
    let output = warpshard(&[&options, more].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    out.to_owned()
}

#[test]
fn runs_of_two_machines_are_compared_in_text_page_and_json() {
    let root = tempfile::tempdir().unwrap();
    let base = run(&root.path().join("base"), &[]);
    let again = run(&root.path().join("again"), &["--epoch", "7"]);
    let fewer = run(&root.path().join("fewer"), &["--set", "gpu.sms=1"]);

    let equal = warpshard(&["compare", &base, &again, "--fail-above", "0%"]);
    assert_eq!((code(&equal), stderr(&equal).as_str()), (0, ""), "{}", stdout(&equal));
    assert!(stdout(&equal).contains("the same machine, workload and options"), "{}", stdout(&equal));

    let (page, json) = (root.path().join("page.html"), root.path().join("all.json"));
    let files = ["--html", page.to_str().unwrap(), "--json", json.to_str().unwrap()];
    let differs = warpshard(&[&["compare", &base, &fewer, "--fail-above", "1%"][..], &files].concat());
    assert_eq!(code(&differs), 1, "{}", stderr(&differs));
    assert!(stderr(&differs).contains("changed by more than 1 %") && stderr(&differs).contains("cycles: +"), "{}", stderr(&differs));
    assert!(stdout(&differs).lines().any(|line| line.split_whitespace().eq(["gpu.sms", "4", "1"])), "{}", stdout(&differs));
    let found: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(found["configuration"][0]["key"], "gpu.sms");
    assert!(fs::read_to_string(page).unwrap().contains("<code>gpu.sms</code>"));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 5, "no temporary files are left");

    let printed = warpshard(&["compare", &base, &fewer, "--json", "-"]);
    assert_eq!(serde_json::from_str::<Value>(&stdout(&printed)).unwrap(), found);
}

#[test]
fn invalid_results_and_unwritable_outputs_are_errors() {
    let root = tempfile::tempdir().unwrap();
    let base = run(&root.path().join("base"), &[]);
    let empty = warpshard(&["compare", &base, root.path().to_str().unwrap()]);
    assert_eq!(code(&empty), 2);
    assert!(stderr(&empty).contains("is not a result folder: it has no stats.json"), "{}", stderr(&empty));
    assert_eq!(code(&warpshard(&["compare", &base])), 2, "one run is not enough");
    let nowhere = warpshard(&["compare", &base, &base, "--html", "/nowhere/page.html"]);
    assert_eq!((code(&nowhere), stdout(&nowhere).as_str()), (6, ""));
    assert!(stderr(&nowhere).contains("cannot write /nowhere/page.html"), "{}", stderr(&nowhere));
}

#[test]
fn a_run_is_compared_with_a_profile_of_nsight_compute() {
    let root = tempfile::tempdir().unwrap();
    let base = run(&root.path().join("base"), &[]);
    let profile = |name: &str, text: &str| {
        let path = root.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let stats: Value = serde_json::from_str(&fs::read_to_string(format!("{base}/stats.json")).unwrap()).unwrap();
    let (name, instructions) = (stats["kernels"][0]["name"].as_str().unwrap(), stats["kernels"][0]["warp_instructions"].as_u64().unwrap());
    let text = format!(
        "==PROF== Connected\n\"ID\",\"Kernel Name\",\"smsp__inst_executed.sum\",\"dram__bytes_read.sum\"\n\"\",\"\",\"inst\",\"Kbyte\"\n\
         \"0\",\"{name}(float *)\",\"{}\",\"1.5\"\n",
        2 * instructions
    );
    let ncu = profile("ncu.csv", &text);
    let shown = warpshard(&["compare", &base, &ncu]);
    assert_eq!(code(&shown), 0, "{}", stderr(&shown));
    let row = |metric: &str| stdout(&shown).lines().find(|line| line.contains(metric)).unwrap_or_default().to_owned();
    assert!(row("smsp__inst_executed.sum").contains("-50.0 %"), "{}", stdout(&shown));
    assert!(row("dram__bytes_read.sum").contains("1,500"), "{}", stdout(&shown));
    let json = warpshard(&["compare", &base, &ncu, "--json", "-"]);
    let found: Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert_eq!(found["launches"][0]["number"], 0);
    let other = profile("other.csv", &text.replace(name, "another"));
    let broken = profile("broken.csv", "1,2,3\n");
    for (arguments, expected) in [
        (vec!["compare", &base, &other], "no launch matches a launch of the run; the profile begins with `another(float *)`"),
        (vec!["compare", &base, &broken], "there is no column `Kernel Name`, only 1, 2, 3; expected the output of `ncu --csv --page raw`"),
        (vec!["compare", &base, "/nowhere/ncu.csv"], "cannot read /nowhere/ncu.csv"),
        (vec!["compare", &base, &ncu, "--where", "program=x"], "there is no column `program` for --where program=x"),
        (vec!["compare", &base, &base, "--where", "program=x"], "no .csv file is given"),
        (vec!["compare", &base, &ncu, "--fail-above", "1%"], "--fail-above and --html compare runs"),
    ] {
        let output = warpshard(&arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_machine_is_calibrated_from_measurements_and_runs() {
    let root = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = root.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let out = root.path().join("mine.toml");
    let out = out.to_str().unwrap();
    let micro = file("micro.json", r#"{"name": "a GPU", "device": {"sms": 3}, "chase_shared": {"1": 33}}"#);
    let made = warpshard(&["calibrate", &micro, "--machine", "tiny", "--out", out]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    assert!(stdout(&made).contains("2 values of 22 derived"), "{}", stdout(&made));
    let text = fs::read_to_string(out).unwrap();
    assert!(text.contains("extends = \"tiny\"") && text.contains("sms = 3 # micro:device.sms, 3"), "{text}");
    let checked = warpshard(&["check", out]);
    assert_eq!(code(&checked), 0, "{}", stderr(&checked));
    let exists = warpshard(&["calibrate", &micro, "--machine", "tiny", "--out", out]);
    assert_eq!(code(&exists), 6, "{}", stderr(&exists));
    assert!(stderr(&exists).contains("exists; name another file with --out"), "{}", stderr(&exists));
    let none = root.path().join("none.toml");
    for (text, machine, expected) in [
        ("{", "tiny", "expected the JSON that programs/tools/measure.py writes"),
        (r#"{"device": {"sms": 0}}"#, "tiny", "`device.sms` is 0; expected a number above 0"),
        (r#"{"device": {"sms": 5}}"#, "tyni", "unknown machine"),
    ] {
        let output = warpshard(&["calibrate", &file("wrong.json", text), "--machine", machine, "--out", none.to_str().unwrap()]);
        assert_ne!(code(&output), 0);
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert!(!none.exists());
    }
}

#[test]
fn a_run_becomes_a_page_that_the_next_run_replaces() {
    let root = tempfile::tempdir().unwrap();
    let out = run(&root.path().join("out"), &["--interval", "200", "--policy", "static_limit:ctas=1"]);
    let written = warpshard(&["report", &out]);
    assert_eq!(code(&written), 0, "{}", stderr(&written));
    let page = root.path().join("out/report.html");
    assert_eq!(stdout(&written).trim_end(), page.to_str().unwrap());
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains("<h1>vecadd on tiny</h1>") && text.contains("IPC over time") && text.contains("static_limit: cta_limit"));
    run(&root.path().join("out"), &[]);
    assert!(!page.exists(), "a page of the earlier run must not stay");
    let elsewhere = root.path().join("page.html");
    assert_eq!(code(&warpshard(&["report", &out, "--html", elsewhere.to_str().unwrap()])), 0);
    assert!(fs::read_to_string(elsewhere).unwrap().contains("add --interval N"));
    assert_eq!(code(&warpshard(&["report", root.path().to_str().unwrap()])), 2);
    let trace = root.path().join("run.pftrace");
    let written = warpshard(&["report", &out, "--perfetto", trace.to_str().unwrap()]);
    assert_eq!((code(&written), stdout(&written).trim_end()), (0, trace.to_str().unwrap()), "{}", stderr(&written));
    assert!(fs::metadata(trace).unwrap().len() > 100 && !page.exists());
}

#[test]
fn completions_and_man_pages_cover_every_command() {
    let root = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let completions = warpshard(&["completions", shell]);
        assert_eq!(code(&completions), 0);
        for word in ["compare", "sweep", "fail-above"] {
            assert!(stdout(&completions).contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(code(&warpshard(&["completions", "tcsh"])), 2);
    let pages = root.path().join("man");
    let written = warpshard(&["man", "--out", pages.to_str().unwrap()]);
    assert_eq!(code(&written), 0, "{}", stderr(&written));
    for name in ["warpshard.1", "warpshard-run.1", "warpshard-sweep-submit.1"] {
        assert!(fs::read_to_string(pages.join(name)).unwrap().contains(".TH"), "{name}");
    }
}
