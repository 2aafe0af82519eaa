//! Names from the input cannot control the terminal, and JSON and CSV reproduce them unchanged.

use warpshard::report::text::controls_terminal;

use super::*;

/// Returns a name with every terminal control character that fits on a line of a file.
fn hostile_name() -> String {
    let all = ('\0'..='\u{ffff}').filter(|&c| controls_terminal(c) && !matches!(c, '\n' | '\r' | '\0'));
    format!("k{}]0;title\u{7}k\u{1b}[2Jk\u{9b}31mk", all.collect::<String>())
}

/// Returns the control characters that a file system accepts in a name of at most 255 bytes.
fn file_name() -> String {
    ('\u{1}'..='\u{9f}').filter(|&c| c.is_control()).collect()
}

fn assert_harmless(arguments: &[&str], output: &Output) {
    for text in [stdout(output), stderr(output)] {
        let bad: Vec<char> = text.chars().filter(|&c| controls_terminal(c) && !matches!(c, '\n' | '\t')).collect();
        assert!(bad.is_empty(), "{arguments:?} prints {bad:?} in {text:?}");
    }
}

/// Runs a command and asserts that its output is harmless.
fn run_harmless(arguments: &[&str]) -> Output {
    let output = warpshard(arguments);
    assert_harmless(arguments, &output);
    output
}

/// Writes a trace into `folder`; both its kernel and its folder have hostile names.
#[cfg(unix)]
fn write_trace(folder: &Path) -> std::path::PathBuf {
    let trace = folder.join(file_name());
    let written = run_harmless(&["trace", "vecadd", "--set", "workload.n=512", "--out", trace.to_str().unwrap()]);
    assert_eq!(code(&written), 0, "{}", stderr(&written));
    let file = trace.join("kernel-1.traceg");
    let text = std::fs::read_to_string(&file).unwrap();
    let named = |line: &str| if line.starts_with("-kernel name") { format!("-kernel name = {}", hostile_name()) } else { line.to_owned() };
    std::fs::write(&file, text.lines().map(named).collect::<Vec<_>>().join("\n") + "\n").unwrap();
    trace
}

#[cfg(unix)]
#[test]
fn names_of_kernels_and_files_reach_the_terminal_escaped_and_the_results_unchanged() {
    let folder = scratch();
    let trace = write_trace(folder.path());
    let list = trace.join("kernelslist.g");
    let (trace, list) = (trace.to_str().unwrap(), list.to_str().unwrap());
    let out = folder.path().join(file_name() + "out");
    let out = out.to_str().unwrap();
    let run = ["run", "--machine", "tiny", "--trace", list, "--out", out];
    let output = run_harmless(&run);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("\\u{1b}"), "{}", stdout(&output));
    let stats_text = read(Path::new(out), "stats.json");
    assert!(!stats_text.contains(|c| controls_terminal(c) && c != '\n'), "{stats_text:?}");
    let stats = stats(Path::new(out));
    assert_eq!(stats["kernels"][0]["name"], hostile_name());
    assert_eq!(stats["configuration"]["trace"], list);
    assert!(!read(Path::new(out), "summary.txt").contains(|c| controls_terminal(c) && c != '\n'));
    read(Path::new(out), "run.toml").parse::<toml::Table>().unwrap();

    for arguments in [
        &["check", list][..],
        &["trace", list],
        &["phases", list],
        &["phases", list, "--json"],
        &["run", "--machine", "tiny", "--trace", list, "--kernels", "none\u{1b}[2J"],
        &["convert", trace, &format!("{out}.wst")],
        &["convert", trace, &format!("{out}.wst")],
        &["run", "--machine", "tiny", "--trace", &format!("{out}.wst"), "--force", "--out", out],
        &["timeline", out],
    ] {
        run_harmless(arguments);
    }
    let phases: Value = serde_json::from_str(&stdout(&warpshard(&["phases", list, "--json"]))).unwrap();
    assert_eq!(phases[0]["kernel"], hostile_name());
}

#[test]
fn errors_in_hostile_input_are_escaped() {
    let folder = scratch();
    let hostile_name = hostile_name();
    let toml = toml::Value::from(hostile_name.as_str()).to_string();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let raw = hostile_name.replace(['"', '\\'], "");
    let machines = [
        file("name.toml", format!("extends = \"tiny\"\nname = {toml}\nsummary = {toml}\n")),
        file("key.toml", format!("extends = \"tiny\"\n[gpu]\n{toml} = 3\nsms = {toml}\n")),
        file("raw.toml", format!("extends = \"tiny\"\n# {raw}\n[gpu]\nsms = \"{raw}\"\n")),
        file("extends.toml", format!("extends = {toml}\n")),
    ];
    let workload = file("model.toml", format!("summary = {toml}\nname = {toml}\n[[kernel]]\nname = {toml}\n"));
    let trace = file("kernel-1.traceg", format!("-kernel name = {raw}\n-grid dim = {raw}\n{raw}\n"));
    let list = file("kernelslist.g", format!("{raw}\n"));
    let timeline = folder.path().join("timeline");
    std::fs::create_dir(&timeline).unwrap();
    let row = format!("cycle,controller,sm,name,value,reason\n1,\"{raw}\",,\"{raw}\",1,\"{raw}\"\n2,\"{raw}\",3,\"{raw}\",,\"{raw}\"\n");
    std::fs::write(timeline.join("timeline.csv"), row).unwrap();
    let quick = ["run", "--workload", "vecadd", "--set", "workload.n=64", "--out"];
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    for (i, machine) in machines.iter().enumerate() {
        run_harmless(&["check", machine]);
        run_harmless(&["show", "machine", machine]);
        let output = run_harmless(&[&quick[..], &[out, "--force", "--machine", machine]].concat());
        assert_eq!(code(&output), if i == 0 { 0 } else { 3 }, "{}", stderr(&output));
    }
    for arguments in [
        &["check", &workload, &trace, &list, &raw][..],
        &["run", "--workload", &workload],
        &["run", "--trace", &trace],
        &["run", "--trace", &list],
        &["run", "--workload", &raw],
        &["run", "--machine", &raw],
        &["run", "--trace", &raw],
        &["run", "--set", &format!("{raw}=3")],
        &["run", "--set", &format!("gpu.sms={raw}")],
        &["run", "--set", &format!("workload.{raw}=3")],
        &["run", "--policy", &raw],
        &["run", "--policy", &format!("static_limit:{raw}=3")],
        &["run", "--policy", &format!("static_limit:ctas={raw}")],
        &["run", "--kernels", &format!("({raw}")],
        &["run", "--machine", "hetero-small", "--cpu", &raw],
        &["run", &raw],
        &[&raw],
        &["run", "--epoch", &raw],
        &["show", "workload", &raw],
        &["timeline", timeline.to_str().unwrap()],
        &["timeline", &raw],
        &["cpu", "--profile", &raw, "--memory", "ideal"],
        &["cpu", "--trace", &trace, "--memory", "ideal"],
        &["cpu", "--profile", "mcf", "--memory", &raw],
        &["dram", "--standard", &raw],
        &["noc", "--topology", &raw],
        &["import", "--gpgpusim", &list, "--trace-config", &trace, "--out", out],
        &["study", &raw],
    ] {
        let output = run_harmless(arguments);
        assert!(code(&output) != 70, "{arguments:?}: {}", stderr(&output));
    }
}
