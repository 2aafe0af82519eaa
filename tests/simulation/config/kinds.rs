//! GPUs of several kinds in one machine: origins of a kind's values, and refused settings.

use std::fs;

use warpshard::base::Frequency;
use warpshard::config::{Machine, Override};

const MIXED_KINDS_MACHINE: &str = "extends = \"v100x2\"\n[gpu]\nsms = 40\n[system]\ngpus = 4\n[system.peer]\ntopology = \"pairs\"\nlinks = []\n\
                     [energy]\nset = \"none\"\n";

fn load(more: &str, settings: &[&str]) -> Result<Machine, String> {
    let settings: Vec<Override> = settings.iter().map(|text| text.parse().unwrap()).collect();
    Machine::from_text_among(warpshard::catalogue().files(), "mixed.toml", &format!("{MIXED_KINDS_MACHINE}{more}"), &settings)
        .map(|loaded| loaded.machine)
        .map_err(|errors| errors.to_string())
}

#[test]
fn a_kind_inherits_from_its_machine_or_from_the_one_it_extends() {
    let kinds = "[system.kinds.small]\ngpus = [3, 1]\ngpu.sms = 8\nclocks.core = \"566 MHz\"\n\
                 [system.kinds.pascal]\nextends = \"p100\"\ngpus = [2]\nclocks = { core = \"1300 MHz\", noc = \"1300 MHz\", llc = \"1300 MHz\" }\n";
    let machine = load(kinds, &["mem.llc.ways=8", "system.kinds.small.mem.map.partitions=8"]).unwrap();
    let (p100, small, pascal) = (warpshard::catalogue().machine("p100", &[]).unwrap().machine, machine.of_gpu(1), machine.of_gpu(2));
    assert_eq!(machine.each_gpu().map(|gpu| gpu.gpu.sms).collect::<Vec<_>>(), [40, 8, 56, 8]);
    assert_eq!((small.clocks.core, small.mem.map.partitions, small.mem.llc.ways), (Frequency::mhz(566), 8, 8));
    assert_eq!((&small.gpu.sm, small.clocks.dram), (&machine.gpu.sm, machine.clocks.dram));
    assert_eq!((&pascal.gpu, &pascal.mem, pascal.clocks.core), (&p100.gpu, &p100.mem, Frequency::mhz(1300)));
    assert_eq!((0..4).map(|gpu| machine.kind_of(gpu)).collect::<Vec<_>>(), [0, 2, 1, 2]);
    assert_eq!((pascal.name.as_str(), &pascal.energy), ("pascal", &machine.energy));
    assert_eq!(
        pascal.system.as_ref().map(|system| (system.gpus, system.hub)),
        machine.system.as_ref().map(|system| (system.gpus, system.hub))
    );
}

#[test]
fn a_machine_of_several_kinds_is_written_with_origins_and_read_back() {
    let loaded = warpshard::catalogue().machine("v100-p100", &[Override::new("system.kinds.p100.gpu.sms", "20")]).unwrap();
    let text = loaded.provenance.to_toml();
    let line = |start: &str| text[text.find("[system.kinds.p100]").unwrap()..].lines().find(|line| line.starts_with(start)).unwrap();
    assert!(line("sms").ends_with("# --set system.kinds.p100.gpu.sms=20"), "{text}");
    assert!(line("gpus").contains("v100-p100 (built in):") && line("schedulers").contains("# p100 (built in):"), "{text}");
    let again =
        Machine::from_text_among(warpshard::catalogue().files(), "again.toml", &text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(Machine { name: loaded.machine.name.clone(), ..again.machine }, loaded.machine);
}

#[test]
fn a_kind_extends_a_file_in_the_same_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("little.toml"), "extends = \"v100\"\ngpu.sms = 3\n").unwrap();
    let path = folder.path().join("mixed.toml");
    fs::write(&path, format!("{MIXED_KINDS_MACHINE}[system.kinds.little]\ngpus = [1]\nextends = \"./little.toml\"\n")).unwrap();
    assert_eq!(warpshard::catalogue().machine(path.to_str().unwrap(), &[]).unwrap().machine.of_gpu(1).gpu.sms, 3);
}

#[test]
fn invalid_kinds_are_refused_with_their_location() {
    let cases = [
        ("gpu.sms = 8", "missing key `system.kinds.x.gpus`"),
        ("gpus = 1", "`system.kinds.x.gpus` is 1, expected a list of numbers, such as [2, 3]"),
        ("gpus = [0, 1]", "`system.kinds.x.gpus` contains GPU 0"),
        ("gpus = [4]", "contains GPU 4, but the system has 4 GPUs, counted from 0"),
        ("gpus = [1, 1]", "contains GPU 1, which already belongs to `system.kinds.x`"),
        ("gpus = [1]\ngpu.smss = 8", "unknown key `gpu.smss`"),
        ("gpus = [1]\nsystem.gpus = 8", "unknown table [system.kinds.x.system]"),
        ("gpus = [1]\ncpu.count = 8", "unknown table [system.kinds.x.cpu]"),
        ("gpus = [1]\ngpu = 8", "`gpu` is a table of keys, not a value"),
        ("gpus = [1]\ngpu.sms = \"many\"", "`gpu.sms` is \"many\", expected a whole number from 1 to 4096"),
        ("gpus = [1]\nextends = \"v1000\"", "unknown machine \"v1000\""),
        ("gpus = [1]\nextends = \"fermi32\"", "packets between GPUs have one format"),
        ("gpus = [1]\nextends = \"hetero\"", "a machine with a mesh has several GPUs"),
        (
            "gpus = [1]\nclocks.core = \"1133 MHz\"\nclocks.llc = \"1117 MHz\"",
            "have no common base tick of a femtosecond or more with those of the other GPUs",
        ),
        ("gpus = [1]\nmem.llc.sets = 33", "expected a power of two"),
        ("gpus = [1, 2, 3]\ngpu.sms = 4096", "links, expected at most 65535"),
        ("gpus = [1]\n[system.kinds.y]\ngpus = [1]", "contains GPU 1, which already belongs to `system.kinds.x`"),
    ];
    for (kind, expected) in cases {
        let error = load(&format!("[system.kinds.x]\n{kind}\n"), &[]).unwrap_err();
        // An invalid value of a kind with `extends` may come from another file.
        let place = if kind.contains("extends") { "  --> " } else { "  --> mixed.toml:" };
        assert!(error.contains(expected) && error.contains(place), "{kind}: {error}");
    }
    let error = load("[system.kinds.x]\ngpus = [1]\nclocks.core = \"566 MHz\"\n", &["energy.set=volta-12nm"]).unwrap_err();
    assert!(error.contains("energy is computed with one core clock"), "{error}");
    let alone =
        Machine::from_text_among(warpshard::catalogue().files(), "alone.toml", "extends = \"v100\"\n[system.kinds.x]\ngpus = [1]\n", &[])
            .unwrap_err()
            .to_string();
    assert!(alone.contains("`system.kinds.x` is not allowed on a machine with one GPU"), "{alone}");
    let unset = load("", &["system.kinds=3"]).unwrap_err();
    assert!(unset.contains("`system.kinds` is a table of keys, not a value"), "{unset}");
}
