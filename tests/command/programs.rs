//! Programs from the command line: a run of a program equals the run of its recorded trace, for any number of threads.

mod contradictions;
mod cubins;
mod cuda;
mod files;
mod many;
mod runtime;

use std::path::Path;
use std::process::{Command, Output};

use crate::shared::shared;

fn warpshard(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpshard")).args(arguments).output().unwrap()
}

fn program(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(format!("{name}.toml")).display().to_string()
}

fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/programs").join(name).display().to_string()
}

fn ok(arguments: &[&str]) -> String {
    let done = warpshard(arguments);
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Returns all simulation results of a run, without the fields that describe the call.
fn simulated(folder: &Path) -> String {
    let text = std::fs::read_to_string(folder.join("stats.json")).unwrap();
    let mut stats: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    for key in ["configuration", "command", "overrides", "run", "warpshard", "version", "commit"] {
        stats.remove(key);
    }
    serde_json::to_string(&stats).unwrap()
}

#[test]
fn a_run_of_a_program_equals_the_run_of_its_recorded_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for name in ["reduction", "transpose", "bfs", "textures"] {
        let file = if name == "textures" { data("textures.toml") } else { program(name) };
        let sizes: &[&str] = if name == "reduction" { &["n=3000"] } else { &[] };
        let (set, workload): (Vec<String>, Vec<String>) =
            (sizes.iter().map(|set| set.to_string()).collect(), sizes.iter().map(|set| format!("workload.{set}")).collect());
        // A trace has the name of its folder.
        let trace = path(name);
        let mut record = vec!["record", &file, "--out", &trace];
        set.iter().for_each(|set| record.extend(["--set", set]));
        ok(&record);
        for threads in ["1", "2"] {
            let (own, traced) = (path(&format!("{name}-own-{threads}")), path(&format!("{name}-traced-{threads}")));
            let mut run = vec!["run", "--machine", "tiny", "--program", &file, "--threads", threads, "--out", &own];
            workload.iter().for_each(|set| run.extend(["--set", set]));
            ok(&run);
            ok(&["run", "--machine", "tiny", "--trace", &trace, "--threads", threads, "--out", &traced]);
            let (own, traced) = (simulated(Path::new(&own)), simulated(Path::new(&traced)));
            assert!(own.len() > 1000);
            assert_eq!(own, traced, "{name}, {threads} threads");
            assert_eq!(own, simulated(&folder.path().join(format!("{name}-own-1"))), "{name}: {threads} threads");
        }
    }
}

#[test]
fn matrix_products_can_be_skipped_in_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let gemm = program("tensor/wgmma_gemm");
    let run = |out: &str, values: &str| {
        let out = path(out);
        ok(&["run", "--machine", "h100", "--program", &gemm, "--matrix-values", values, "--threads", "1", "--out", &out]);
        let mut stats: serde_json::Value = serde_json::from_str(&simulated(Path::new(&out))).unwrap();
        (stats.as_object_mut().unwrap().remove("notes").unwrap(), stats)
    };
    let ((notes, computed), (notes_without, skipped)) = (run("computed", "compute"), run("skipped", "skip"));
    assert!(computed == skipped, "the cycles depend on products");
    assert!(
        !notes.to_string().contains("--matrix-values") && notes_without.to_string().contains("--matrix-values skip"),
        "{notes_without}"
    );
    for (arguments, what, code) in [
        (&["--program", &program("tensor/wgmma_attention")][..], "wgmma_attention.sm_90a.sass:", 4),
        (&["--workload", "vecadd"], "a trace or a kernel model has none", 2),
    ] {
        let arguments = [&["run", "--machine", "h100", "--matrix-values", "skip"], arguments].concat();
        let done = warpshard(&arguments);
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(code) && text.contains(what), "{:?}: {text}", done.status.code());
    }
}

#[test]
fn programmatic_dependent_launches_run_where_the_gpu_has_them_and_are_refused_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let file = program("micro/dependent");
    let run = |file: &str, more: &[&str]| {
        warpshard(&[&["run", "--program", file, "--threads", "1", "--out", &path("out"), "--force"], more].concat())
    };
    let said = |done: &Output| [&done.stdout, &done.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    let states = ["--machine", "h100", "--set", "gpu.sm.warp_states=true"];
    let done = run(&file, &states);
    let text = said(&done);
    let notes = || std::fs::read_to_string(folder.path().join("out/stats.json")).unwrap().contains("not marked `programmatic`");
    assert!(done.status.success() && text.contains("grid dependency") && !notes(), "{text}");
    // Without `programmatic`, a note reports that the dependency instructions have no effect.
    let plain = std::fs::read_to_string(&file).unwrap().replace("programmatic = true\n", "");
    std::fs::write(path("plain.toml"), plain).unwrap();
    std::fs::copy(file.replace(".toml", ".sm_90.sass"), path("dependent.sm_90.sass")).unwrap();
    let done = run(&path("plain.toml"), &states);
    let text = said(&done);
    assert!(done.status.success() && !text.contains("grid dependency") && notes(), "{text}");
    for (more, what, code) in [
        (&["--machine", "v100"][..], "kernel `consume` is a programmatic dependent launch, which v100 does not have", 4),
        (&["--machine", "h100", "--set", "gpu.compute_capability=8.0"], "compute capability 9.0 or later", 4),
        (&["--machine", "h100", "--sample"], "remove `programmatic` to run launches one after another", 2),
    ] {
        let done = run(&file, more);
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(code) && text.contains(what), "{more:?}: {:?}: {text}", done.status.code());
    }
}

/// The clock under load follows from the table for the utilisation of the matrix units; the run equals one with this clock from the
/// beginning.
#[test]
fn a_run_uses_the_clock_of_the_machine_under_load() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let gemm = program("tensor/wgmma_gemm");
    let run = |machine: &str, clock: &str, out: &str| {
        let file = ["run", "--machine", machine, "--program", &gemm, "--matrix-values", "skip", "--threads", "1"];
        warpshard(&[&file[..], &["--clock", clock, "--out", out]].concat())
    };
    let auto = run("h100", "auto", &path("auto"));
    let note = String::from_utf8_lossy(&auto.stderr).into_owned();
    assert!(auto.status.success() && note.contains("the matrix units are used for"), "{note}");
    let clock = note.split("sustain ").nth(1).unwrap().trim().to_owned();
    assert!(clock.ends_with(" MHz") && clock != "1980 MHz", "{clock}");
    assert!(run("h100", &clock, &path("given")).status.success());
    assert!(simulated(&folder.path().join("auto")) == simulated(&folder.path().join("given")), "{clock}");
    let without = run("a100", "auto", &path("without"));
    let text = String::from_utf8_lossy(&without.stderr).into_owned();
    assert!(!without.status.success() && text.contains("clocks.tensor_load") && !folder.path().join("without").exists(), "{text}");
}

#[test]
fn exec_shows_results_and_rejects_wrong_ones() {
    let folder = tempfile::tempdir().unwrap();
    let text = ok(&["exec", &program("saxpy"), "--arch", "sm_80"]);
    for word in ["as expected", "active lanes", "sectors each", "FFMA"] {
        assert!(text.contains(word), "`{word}` is missing in\n{text}");
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    std::fs::copy(source.join("saxpy.sm_70.sass"), folder.path().join("saxpy.sm_70.sass")).unwrap();
    let wrong =
        std::fs::read_to_string(source.join("saxpy.toml")).unwrap().replace("crc32 = \"", "crc32 = \"f").replace("f53986aec", "00000000");
    let file = folder.path().join("saxpy.toml");
    std::fs::write(&file, wrong).unwrap();
    let done = warpshard(&["exec", file.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&done.stderr).contains("differs from the one expected"));
    let other = warpshard(&["exec", &program("saxpy"), "--set", "n=1000"]);
    let (told, shown) = (String::from_utf8_lossy(&other.stderr), String::from_utf8_lossy(&other.stdout));
    assert!(other.status.success() && told.contains("no result was compared") && told.contains("its default parameters"), "{told}");
    assert!(shown.contains(", not compared") && !shown.contains("as expected"), "{shown}");
    let same = warpshard(&["exec", &program("saxpy")]);
    assert!(!String::from_utf8_lossy(&same.stderr).contains("compared"), "{}", String::from_utf8_lossy(&same.stderr));
}

#[test]
fn a_failing_program_ends_exec_run_and_record_with_the_same_message() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("saxpy.toml");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    std::fs::copy(source.join("saxpy.sm_70.sass"), folder.path().join("saxpy.sm_70.sass")).unwrap();
    let text = std::fs::read_to_string(source.join("saxpy.toml")).unwrap();
    std::fs::write(&file, text.replacen("count = \"n\"", "count = \"n / 2\"", 1)).unwrap();
    let out = folder.path().join("out");
    let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    for arguments in
        [vec!["exec", file], vec!["record", file, "--out", out], vec!["run", "--machine", "tiny", "--program", file, "--out", out]]
    {
        let done = warpshard(&arguments);
        let message = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(4), "{arguments:?}: {message}");
        assert!(message.contains("`x` of 100000 bytes") && message.contains("kernel saxpy"), "{arguments:?}: {message}");
        assert!(!Path::new(out).exists(), "{arguments:?}");
    }
}

#[test]
fn a_missing_tool_is_named_with_its_package() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.cu");
    std::fs::write(&source, "__global__ void a() {}\n").unwrap();
    let source = source.to_str().unwrap();
    let done = warpshard(&["compile", source, "--python", "/nonexistent/python"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("--python"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
}

/// Traces of vecadd were recorded on a V100 and on an A100. The source, executed with the recorded addresses, reproduces every line of
/// them, except for two peculiarities of the tracers: the Volta tracer lists the destination of SHFL among the sources, and the Ampere
/// tracer ends each line with an immediate, which is 0 throughout.
#[test]
fn the_recorded_vecadd_is_reproduced_line_by_line() {
    for (name, arch, [a, b, c], instructions) in [
        ("volta", "sm_70", ["0x7f4d25700000", "0x7f4d25e00000", "0x7f4d25ec3600"], 50_077),
        ("ampere", "sm_80", ["0x7f3354c00000", "0x7f3354cc3600", "0x7f3354e00000"], 50_066),
    ] {
        let Some(reference) = shared(&format!("sass/vecadd-f64-100k-{name}/kernel-1.traceg.xz")) else { continue };
        let folder = tempfile::tempdir().unwrap();
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
        let mut text = std::fs::read_to_string(programs.join("vecadd.toml")).unwrap();
        for arch in ["sm_70", "sm_80"] {
            let listing = programs.join(format!("vecadd.{arch}.sass")).display().to_string();
            text = text.replace(&format!("\"vecadd.{arch}.sass\""), &format!("{listing:?}"));
        }
        for (buffer, address) in [("a", a), ("b", b), ("c", c)] {
            text = text.replace(&format!("\n{buffer} = {{"), &format!("\n{buffer} = {{ address = {address},"));
        }
        let file = folder.path().join("vecadd.toml");
        std::fs::write(&file, text).unwrap();
        let trace = folder.path().join("trace");
        ok(&["record", file.to_str().unwrap(), "--arch", arch, "--out", trace.to_str().unwrap()]);
        let made = std::fs::read_to_string(trace.join("kernel-1.traceg")).unwrap();
        let mut recorded = String::new();
        std::io::Read::read_to_string(&mut liblzma::read::XzDecoder::new(std::fs::File::open(reference).unwrap()), &mut recorded).unwrap();
        let lines = |text: &str, immediate: bool| -> Vec<String> {
            let body = text.lines().skip_while(|line| !line.starts_with("#BEGIN_TB")).map(str::trim_end).filter(|line| !line.is_empty());
            let instruction = |line: &str| line.len() > 4 && line[..4].bytes().all(|byte| byte.is_ascii_hexdigit());
            let one = |line: &str| match line {
                _ if line.contains("SHFL") => line[..13].to_owned(),
                _ if immediate && instruction(line) => line.strip_suffix(" 0").unwrap_or("an immediate").to_owned(),
                _ => line.to_owned(),
            };
            body.map(one).collect()
        };
        let (made, recorded) = (lines(&made, false), lines(&recorded, name == "ampere"));
        assert_eq!(recorded.iter().filter(|line| line.starts_with("warp = ")).count(), 3136);
        let counts = made.iter().filter_map(|line| line.strip_prefix("insts = ")?.parse::<u64>().ok());
        assert_eq!(counts.sum::<u64>(), instructions, "{name}");
        for (number, (made, recorded)) in made.iter().zip(&recorded).enumerate() {
            assert_eq!(made, recorded, "{name}: line {number} of the body");
        }
        assert_eq!(made.len(), recorded.len());
    }
}

#[test]
fn the_listing_follows_the_compute_capability_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let run = |machine: &str, more: &[&str]| {
        let out = folder.path().join(machine);
        let fixed =
            ["run", "--machine", machine, "--program", &program("saxpy"), "--set", "workload.n=2000", "--out", out.to_str().unwrap()];
        ok(&[&fixed[..], &["--force"], more].concat());
        let stats: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(out.join("stats.json")).unwrap()).unwrap();
        let text = |key: &str| stats[key].as_str().unwrap().to_owned();
        let summary = std::fs::read_to_string(out.join("summary.txt")).unwrap();
        assert!(
            summary.contains(&format!("code for {} on a GPU of compute capability {}", text("code"), text("compute_capability"))),
            "{summary}"
        );
        (text("code"), stats["notes"].to_string())
    };
    let foreign = |notes: &str, arch: u32| notes.contains(&format!("does not execute code for sm_{arch}"));
    let (v100, notes) = run("v100", &[]);
    assert!(v100 == "sm_70" && !notes.contains("does not execute"), "{v100}: {notes}");
    let (ampere, notes) = run("rtx3070", &[]);
    assert!(ampere == "sm_80" && !notes.contains("does not execute"), "{ampere}: {notes}");
    let (fermi, notes) = run("gtx480", &[]);
    assert!(fermi == "sm_70" && foreign(&notes, 70), "{fermi}: {notes}");
    let (asked, notes) = run("v100", &["--arch", "sm_80"]);
    assert!(asked == "sm_80" && foreign(&notes, 80), "{asked}: {notes}");
    // A machine without a compute capability takes the first listing, without a note.
    let (tiny, notes) = run("tiny", &[]);
    assert!(tiny == "sm_70" && !notes.contains("does not execute"), "{tiny}: {notes}");
    let checked = ok(&["check", "--machine", "rtx3070", &program("saxpy")]);
    assert!(checked.contains("on rtx3070: the listing for sm_80"), "{checked}");
    let checked = ok(&["check", "--machine", "gtx480", &program("saxpy")]);
    assert!(checked.contains("on gtx480: the listing for sm_70") && checked.contains("does not execute code for sm_70"), "{checked}");
}

#[test]
fn tensor_instructions_are_refused_where_the_gpu_has_no_tensor_cores() {
    let folder = tempfile::tempdir().unwrap();
    let file = program("tensor/hgemm");
    let out = folder.path().join("out");
    let refused = warpshard(&["run", "--machine", "gtx480", "--program", &file, "--out", out.to_str().unwrap()]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(4), "{told}");
    assert!(told.contains("has tensor instructions") && told.contains("compute capability 2.0") && !out.exists(), "{told}");
    let checked = warpshard(&["check", "--machine", "gtx480", &file]);
    assert_eq!(checked.status.code(), Some(4), "{}", String::from_utf8_lossy(&checked.stdout));
    let noted = warpshard(&["check", "--machine", "v100", &file]);
    assert!(
        String::from_utf8_lossy(&noted.stdout).contains("does not execute code for sm_80"),
        "{}",
        String::from_utf8_lossy(&noted.stdout)
    );
}
