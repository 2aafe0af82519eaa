//! Machines made of several texts: `extends`, the command line, and the reported origin of each value.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;

use warpshard::base::Frequency;
use warpshard::config::{Machine, Override};

fn parse_overrides(texts: &[&str]) -> Vec<Override> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// Returns the errors of loading `path`, without the folder's name.
fn load_errors(folder: &Path, path: &Path) -> String {
    let errors = warpshard::catalogue().machine(path.to_str().unwrap(), &[]).unwrap_err().to_string();
    errors.replace(&format!("{}/", folder.canonicalize().unwrap().display()), "").replace(&format!("{}/", folder.display()), "")
}

#[test]
fn the_command_line_overrides_the_file_and_the_file_its_base() {
    let text = "extends = \"v100\"\n[gpu]\nsms = 40\n[clocks]\ncore = \"1628 MHz\"\n";
    let loaded = Machine::from_text_among(
        warpshard::catalogue().files(),
        "mine.toml",
        text,
        &parse_overrides(&["gpu.sms=8", "gpu.sms=12", "gpu.sm.order=gto"]),
    )
    .unwrap();
    let v100 = warpshard::catalogue().machine("v100", &[]).unwrap().machine;
    let mut expected = v100.clone();
    expected.name = "mine".to_owned();
    expected.gpu.sms = 12;
    expected.gpu.sm.order = warpshard::config::machine::WarpOrder::Gto;
    expected.clocks.core = Frequency::mhz(1628);
    assert_eq!(loaded.machine, expected);

    let toml = loaded.provenance.to_toml();
    let line = |start: &str| {
        let line = toml.lines().find(|line| line.starts_with(start)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("sms"), "sms = 12 # --set gpu.sms=12");
    assert_eq!(line("core"), "core = \"1628 MHz\" # mine.toml:5");
    assert_eq!(line("decision_latency"), "decision_latency = 0 # default");
    assert!(line("warps").starts_with("warps = 64 # v100 (built in):"));
}

#[test]
fn a_chain_of_files_is_resolved_relative_to_each_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("half.toml"), "extends = \"v100\"\nname = \"half a V100\"\ngpu.sms = 40\n").unwrap();
    let path = folder.path().join("sub/fast.toml");
    fs::write(&path, "extends = \"../half.toml\"\nclocks.core = \"1.4 GHz\"\n").unwrap();
    let machine = warpshard::catalogue().machine(path.to_str().unwrap(), &[]).unwrap().machine;
    assert_eq!((machine.gpu.sms, machine.clocks.core, machine.gpu.sm.warps), (40, Frequency::mhz(1400), 64));
    assert_eq!(machine.name, "fast", "a name is not inherited");
}

#[test]
fn a_cycle_of_files_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (name, base) in [("a", "b"), ("b", "c"), ("c", "a")] {
        fs::write(folder.path().join(format!("{name}.toml")), format!("extends = \"{base}.toml\"\n")).unwrap();
    }
    assert_snapshot!(load_errors(folder.path(), &folder.path().join("a.toml")), @r#"
    error: `extends` forms a cycle: a.toml -> b.toml -> c.toml -> a.toml
      --> c.toml:1:11
       | extends = "a.toml"
       |           ^^^^^^^^
    "#);
}

#[test]
fn an_unknown_machine_lists_the_available_ones() {
    assert_snapshot!(warpshard::catalogue().machine("v10", &[]).unwrap_err(), @r#"
    error: unknown machine "v10"
       = help: did you mean "v100"?
       = help: built-in machines: v100, v100-hw, rtx2060, rtx3070, p100, k20x, gtx480, m2090, tiny, v100x2, dgx1-v100, chiplet2, v100-p100, h100, a100, rtx3080, fermi24, fermi15-preempt, hetero, hetero-2, hetero-6, hetero-small, fermi15, m2090-v31, fermi32, k20x-l1; a file is given by a path with a `/` or ending in `.toml`
    "#);
    assert_snapshot!(warpshard::catalogue().machine("no/such.toml", &[]).unwrap_err(), @"error: cannot read the machine file `no/such.toml`: there is no such file");
}

#[test]
fn a_file_that_is_not_text_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    fs::write(&path, [0xff, 0xfe, 0]).unwrap();
    assert_snapshot!(load_errors(folder.path(), &path), @"error: cannot read the machine file `a.toml`: it is not text");
}

#[test]
fn a_setting_without_a_value_is_refused() {
    assert_snapshot!("gpu.sms".parse::<Override>().unwrap_err(), @r"
    error: `gpu.sms` is not a setting
      --> the command line
       | --set gpu.sms
       |       ^^^^^^^
       = help: write KEY=VALUE, such as --set gpu.sms=56
    ");
}

#[test]
fn settings_work_with_and_without_quotes() {
    for setting in ["clocks.core=1628 MHz", "clocks.core=\"1628 MHz\"", "clocks.core = 1.628 GHz"] {
        let machine = warpshard::catalogue().machine("v100", &parse_overrides(&[setting])).unwrap().machine;
        assert_eq!(machine.clocks.core, Frequency::mhz(1628), "{setting}");
    }
    let machine = warpshard::catalogue()
        .machine("v100", &parse_overrides(&["gpu.sm.l1.cache.present=false", "mem.rop_latency=10 cycles"]))
        .unwrap()
        .machine;
    assert_eq!((machine.gpu.sm.l1.cache, machine.mem.rop_latency), (None, 10));
}

#[test]
fn a_disabled_part_is_none_and_an_enabled_part_inherits_its_keys() {
    let text = "extends = \"v100\"\n[gpu.sm.fetch.icache]\nperfect = false\n[gpu.sm.l1.unified]\nadaptive = false\n";
    let sm = Machine::from_text_among(warpshard::catalogue().files(), "mine.toml", text, &[]).unwrap().machine.gpu.sm;
    let icache = sm.fetch.icache.unwrap();
    assert_eq!((icache.sets, icache.ways, icache.line_bytes), (64, 16, 128));
    assert_eq!((sm.fetch.ccache, sm.l1.unified), (None, None));
}

#[test]
fn short_credit_loops_and_short_launch_latencies_cause_warnings() {
    let loaded =
        warpshard::catalogue().machine("v100", &parse_overrides(&["noc.output_queue=64", "gpu.dispatch.launch_latency=10"])).unwrap();
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_snapshot!(warnings.join("\n"), @r"
    `gpu.dispatch.launch_latency` is 10 cycles, less than 80: twice `gpu.dispatch.latency`; kernels start as early as messages allow
      --> the command line
       | --set gpu.dispatch.launch_latency=10
       |                                   ^^
       = help: the notification of a kernel's end and the first CTA of the next kernel cross the dispatch links within the launch latency
       = note: `gpu.dispatch.latency` = 40 comes from v100 (built in):23

    `noc.output_queue` holds 64 packets for a credit round trip of 164 noc cycles: at most 39 % of a packet per cycle
      --> the command line
       | --set noc.output_queue=64
       |                        ^^
       = help: 167 slots or more sustain one packet per cycle
       = note: `noc.link_latency` = 1 comes from v100 (built in):131
       = note: `mem.rop_latency` = 160 comes from v100 (built in):135
    ");
}
