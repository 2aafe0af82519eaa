//! The rules that the source itself must keep: who imports whom, and what may stand where.
//!
//! Each check lists every place that breaks it, as `file:line: what, and what to do instead`.

#[path = "architecture/circles.rs"]
mod circles;
#[path = "architecture/examples.rs"]
mod examples;
#[path = "architecture/fixed.rs"]
mod fixed;
#[path = "architecture/source.rs"]
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use circles::Exempt;
use source::Source;

/// Who may import whom: a package without `warpshard-`, and the packages or parts of packages that it may name. Arrows point upwards.
const ARROWS: &[(&str, &[&str])] = &[
    ("host", &[]),
    ("state_derive", &[]),
    ("state", &["host", "state_derive"]),
    ("sync", &[]),
    ("build", &[]),
    ("configs", &[]),
    ("programs", &[]),
    ("base", &["host", "state"]),
    ("stats", &["base", "state"]),
    ("engine", &["base", "stats", "sync", "state"]),
    ("seam", &["base", "state"]),
    ("protocol", &["base", "engine", "seam", "state"]),
    ("device", &["base"]),
    ("config", &["base", "configs", "programs", "device", "protocol::AddressMap", "protocol::PartitionHash", "seam"]),
    ("workload", &["base", "config", "state"]),
    ("isa", &["workload"]),
    ("trace", &["base", "config", "isa", "workload", "state"]),
    ("model", &["base", "config", "configs", "isa", "trace", "workload", "state"]),
    ("program", &["base", "config::input", "isa", "model", "trace", "workload", "state"]),
    ("cpu_load", &["base", "config", "configs", "trace", "state"]),
    ("mem", &["base", "device", "engine", "protocol", "stats", "config", "seam", "state"]),
    ("noc", &["base", "engine", "protocol", "stats", "config", "seam", "state"]),
    ("gpu", &["base", "engine", "protocol", "stats", "config", "workload", "mem::cache", "seam", "state"]),
    ("cpu", &["base", "engine", "protocol", "stats", "config", "workload", "cpu_load", "mem::cache", "seam", "state"]),
    ("control", &["base", "protocol", "stats", "state"]),
    ("policy", &["base", "control", "stats", "state"]),
    (
        "chip",
        &[
            "base", "engine", "protocol", "stats", "config", "workload", "cpu_load", "mem", "noc", "gpu", "cpu", "control", "sync", "seam",
            "state",
        ],
    ),
    ("energy", &["base", "stats", "config", "configs"]),
    ("report", &["base", "build", "stats", "config", "energy"]),
    ("view", &["config", "report", "stats"]),
    ("sample", &["base", "config", "stats", "workload", "model", "chip", "state"]),
    ("rig", &["base", "engine", "protocol", "stats", "config", "cpu_load", "mem::dram", "noc", "cpu"]),
    (
        "run",
        &[
            "base",
            "build",
            "stats",
            "config",
            "configs",
            "workload",
            "trace",
            "model",
            "program",
            "cpu_load",
            "control",
            "policy::common",
            "policy::registry",
            "chip",
            "energy",
            "report",
            "sample",
            "sync",
            "seam",
            "state",
        ],
    ),
    ("sweep", &["build", "stats", "config", "energy", "report", "view", "run", "sync"]),
    (
        "lab",
        &[
            "base",
            "build",
            "stats",
            "config",
            "workload",
            "trace",
            "model",
            "program",
            "policy::registry",
            "chip",
            "energy",
            "report",
            "sample",
            "run",
            "sync",
        ],
    ),
    (
        "papers",
        &[
            "base", "stats", "config", "configs", "workload", "trace", "model", "program", "cpu_load", "control", "policy", "chip",
            "energy", "report", "sample", "run", "lab", "state",
        ],
    ),
    (
        "validate",
        &[
            "base",
            "build",
            "stats",
            "config",
            "configs",
            "programs",
            "workload",
            "trace",
            "model",
            "program",
            "cpu_load",
            "mem::dram",
            "noc::mesh",
            "gpu::occupancy",
            "control",
            "policy::registry",
            "chip",
            "energy",
            "report",
            "sample",
            "rig",
            "run",
            "lab",
        ],
    ),
    (
        "main",
        &[
            "host",
            "state",
            "sync",
            "build",
            "configs",
            "programs",
            "base",
            "stats",
            "device",
            "config",
            "workload",
            "isa",
            "trace",
            "model",
            "program",
            "cpu_load",
            "mem::dram",
            "noc::mesh",
            "control",
            "policy::registry",
            "chip",
            "energy",
            "report",
            "view",
            "sweep",
            "sample",
            "rig",
            "run",
            "lab",
            "papers",
            "validate",
        ],
    ),
];

/// The file that names every package for users of the library. What else lies in its package follows the table.
const FACADE: &str = "src/lib.rs";

/// Packages whose results must follow from machine, workload and seed alone, as must those of the controllers of papers.
const SIMULATED: &[&str] =
    &["base", "protocol", "device", "stats", "workload", "isa", "cpu_load", "mem", "noc", "gpu", "cpu", "rig", "control", "policy", "seam"];

/// Folders whose files are the stages of one pipeline: a stage names what the next one takes, which names what it is handed, so
/// they may import each other.
const PIPELINES: &[&str] = &["program/exec", "noc/mesh"];

/// Modules that what lies inside them may import, each with what it defines for that.
const FAMILIES: &[(&str, &str)] = &[
    ("gpu/sm", "an SM, whose stages are methods of it in files of their own"),
    ("gpu/sm/issue/sched", "what an order of warps is, which every order implements"),
    ("gpu/sm/lsu", "a load/store unit, whose stages are methods of it in files of their own"),
    ("mem/cache/prefetch", "what a prefetcher is, which every prefetcher implements"),
    ("mem/cache/replacement", "what a policy of replacement is, which every policy implements"),
    ("mem/dram/control", "a controller of DRAM, whose steps are methods of it in files of their own"),
    ("mem/dram/control/page", "what a page policy is asked, which every policy answers"),
    ("mem/dram/control/refresh", "what is asked before a refresh, which every way to close rows answers"),
    ("mem/partition", "a partition, whose parts are methods of it in files of their own"),
    ("program", "a program that is ready to execute, which is loaded, executed, recorded and summed up in files of their own"),
    ("program/load", "what loads a launch file, part by part in files of their own"),
];

/// Packages that may print.
const PRINTING: &[&str] = &["report", "main"];

/// Packages that may use `unsafe` and atomics.
const LOW: &[&str] = &["host", "state", "state_derive", "sync"];

/// No file is longer than this; most have 80 to 250 lines.
const LONGEST_FILE: usize = 700;

fn verdict(rule: &str, problems: Vec<String>) {
    assert!(problems.is_empty(), "{rule}\n  {}", problems.join("\n  "));
}

/// Whether a row of the table allows a path that begins with a package.
fn allows(allowed: &[&str], path: &str) -> bool {
    allowed.iter().any(|allowed| path.strip_prefix(allowed).is_some_and(|rest| rest.is_empty() || rest.starts_with("::")))
}

fn forbidden_arrows(source: &Source) -> Vec<String> {
    let package = source.package();
    let Some((_, allowed)) = ARROWS.iter().find(|row| row.0 == package) else {
        return vec![format!("{}:1: package `{package}` is not in the arrow table", source.path)];
    };
    let known = |target: &str| allowed.iter().any(|allowed| allowed.split("::").next() == Some(target));
    let mut problems = Vec::new();
    for path in source.paths() {
        let Some(target) = source.absolute(&path).filter(|target| target[0] != package) else { continue };
        // What only tests take is a dependency of tests; the parts of what both take are the same.
        if !allows(allowed, &target.join("::")) && (known(&target[0]) || !source.is_test(path.at)) {
            let (line, target) = (source.line_of(path.at), target.join("::"));
            problems.push(format!("{}:{line}: {package} must not import {target}; it may import {}", source.path, list(allowed)));
        }
    }
    problems
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "nothing of ours".to_owned() } else { names.join(", ") }
}

/// Every place where one of `words` stands in the code.
fn uses(source: &Source, words: &[&str], instead: &str) -> Vec<String> {
    let places = words.iter().flat_map(|word| source.words(word).map(move |at| (at, *word)));
    let in_order: BTreeSet<(usize, &str)> = places.collect();
    in_order.iter().map(|(at, word)| format!("{}:{}: `{word}`: {instead}", source.path, source.line_of(*at))).collect()
}

/// Iterations over a map or set whose order depends on hashes: found by the names that the file gives to such maps.
fn hash_iterations(source: &Source) -> Vec<String> {
    const ORDERED_BY_HASH: [&str; 7] = ["iter", "iter_mut", "keys", "values", "values_mut", "drain", "into_iter"];
    let mut problems = Vec::new();
    for kind in ["FxHashMap", "FxHashSet"] {
        for at in source.words(kind) {
            let before = source.code[..at].trim_end().trim_end_matches(['&', ' ', ':', '=']).trim_end();
            let name: String = before.chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let name: String = name.chars().rev().collect();
            if name.is_empty() || matches!(name.as_str(), "mut" | "use" | "Self") || before.ends_with("::") {
                continue;
            }
            for used in source.words(&name) {
                let rest = source.code[used + name.len()..].trim_start();
                let Some(call) = rest.strip_prefix('.').map(str::trim_start) else { continue };
                let method: String = call.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if ORDERED_BY_HASH.contains(&method.as_str()) {
                    problems.push(format!(
                        "{}:{}: `{name}.{method}()` visits a {kind} in the order of its hashes: use a BTreeMap, or sort keys kept beside it",
                        source.path,
                        source.line_of(used)
                    ));
                }
            }
        }
    }
    problems.sort();
    problems.dedup();
    problems
}

#[test]
fn packages_import_only_along_the_arrows() {
    let sources = Source::packages();
    let problems = sources.iter().filter(|source| source.path != FACADE).flat_map(forbidden_arrows).collect();
    verdict("the arrow table of tests/architecture.rs says who may import whom:", problems);
}

#[test]
fn the_arrow_table_names_the_packages_that_exist() {
    let found: BTreeSet<String> = Source::packages().iter().map(Source::package).collect();
    let table: BTreeSet<String> = ARROWS.iter().map(|row| row.0.to_owned()).collect();
    assert_eq!(found, table, "left: packages with sources, right: packages of the arrow table");
    let members: BTreeSet<String> = members().into_iter().map(|(package, _)| package).collect();
    assert_eq!(members, table, "left: packages of Cargo.toml, right: packages of the arrow table");
}

/// A manifest of this repository.
fn manifest(path: &str) -> toml::Table {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}")).parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The packages of the workspace below the program, and that of the program, each with the path of its manifest. The Python package stands above.
fn members() -> Vec<(String, String)> {
    let workspace = manifest("Cargo.toml");
    let members = workspace["workspace"]["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member.as_str().unwrap())
        .filter(|member| *member != "python");
    let named = members.map(|member| (member.rsplit('/').next().unwrap().replace('-', "_"), format!("{member}/Cargo.toml")));
    named.chain([("main".to_owned(), "Cargo.toml".to_owned())]).collect()
}

/// The packages of ours in the tables of dependencies called `kind`, those for some targets only included.
fn dependencies(manifest: &toml::Table, kind: &str) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values);
    let tables = [manifest].into_iter().chain(targets.filter_map(toml::Value::as_table)).filter_map(|table| table.get(kind)?.as_table());
    let ours =
        |name: &str| if name == "warpshard" { Some("main".to_owned()) } else { Some(name.strip_prefix("warpshard-")?.replace('-', "_")) };
    tables.flat_map(toml::Table::keys).filter_map(|name| ours(name)).collect()
}

#[test]
fn packages_depend_only_on_what_the_arrow_table_allows() {
    let mut problems = Vec::new();
    for (package, path) in members() {
        let (_, allowed) = ARROWS.iter().find(|row| row.0 == package).unwrap_or_else(|| panic!("no row `{package}`"));
        let manifest = manifest(&path);
        let allowed: BTreeSet<&str> = allowed.iter().map(|allowed| allowed.split("::").next().unwrap()).collect();
        // The program's own package names all others for users of the library.
        for kind in ["dependencies", "build-dependencies"].into_iter().filter(|_| package != "main") {
            let wrong = dependencies(&manifest, kind).into_iter().filter(|name| !allowed.contains(name.as_str()));
            problems.extend(wrong.map(|name| format!("{path}: {package} must not depend on {name}")));
        }
        if !["papers", "validate", "main"].contains(&package.as_str()) {
            let tested = dependencies(&manifest, "dev-dependencies");
            let wrong = tested.iter().filter(|name| ["papers", "validate", "main"].contains(&name.as_str()));
            problems.extend(wrong.map(|name| format!("{path}: tests of {package} must not depend on {name}: they belong in tests/")));
        }
    }
    verdict("the arrow table of tests/architecture.rs says which package may depend on which:", problems);
}

#[test]
fn the_arrows_have_no_loop() {
    // A package may import only packages that stand above it in the table.
    let above = |row: usize, name: &str| ARROWS[..row].iter().any(|earlier| earlier.0 == name);
    let wrong = ARROWS.iter().enumerate().flat_map(|(row, (package, allowed))| {
        let packages = allowed.iter().map(|name| name.split("::").next().unwrap_or_default());
        packages.filter(move |name| !above(row, name)).map(move |name| format!("{package} -> {name}"))
    });
    verdict("arrows point upwards in the table:", wrong.collect());
}

#[test]
fn no_folders_import_each_other_in_a_circle() {
    let problems = circles::of_folders(&Source::packages());
    verdict("folders that do not contain each other import each other in one direction only:", problems);
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let exempt = Exempt { pipelines: PIPELINES, families: FAMILIES };
    verdict("files import each other in one direction only:", circles::of_files(&Source::packages(), &exempt));
}

#[test]
fn what_the_check_of_circles_lets_pass_exists() {
    let sources = Source::packages();
    let modules: BTreeSet<String> = sources.iter().flat_map(|source| [source.module().join("/"), source.folder().join("/")]).collect();
    let named = PIPELINES.iter().chain(FAMILIES.iter().map(|(family, _)| family));
    verdict(
        "modules that are let pass exist:",
        named.filter(|module| !modules.contains(**module)).map(|module| (*module).to_owned()).collect(),
    );
    let idle = FAMILIES.iter().filter(|family| {
        let others: Vec<(&str, &str)> = FAMILIES.iter().filter(|other| other != family).copied().collect();
        circles::of_files(&sources, &Exempt { pipelines: PIPELINES, families: &others }).is_empty()
    });
    verdict("a module is let pass only if it stands in a circle:", idle.map(|(family, _)| (*family).to_owned()).collect());
}

/// The places where a file names one of `keys`, which are words joined by `_`, as a part of a name: whole, or joined to other words by `_` or `-`.
fn keys_named(path: &str, text: &str, keys: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    let spellings = keys.iter().flat_map(|key| [key.clone(), key.replace('_', "-"), key.to_uppercase()]).collect::<BTreeSet<String>>();
    for (line, text) in (1..).zip(text.lines()).chain([(0, path)]) {
        for key in &spellings {
            let alone = |at: usize| {
                let (before, after) = (text[..at].chars().next_back(), text[at + key.len()..].chars().next());
                !before.into_iter().chain(after).any(char::is_alphanumeric)
            };
            if text.match_indices(key.as_str()).any(|(at, _)| alone(at)) {
                problems.push(format!("{path}:{line}: `{key}` is the name of a paper, which only papers/ may know"));
            }
        }
    }
    problems
}

#[test]
fn no_package_below_the_papers_knows_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = fs::read_dir(root.join("papers/src")).unwrap().map(|entry| entry.unwrap());
    let keys: Vec<String> = folders.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(!keys.is_empty());
    let mut files = Vec::new();
    ["configs", "crates", "programs", "sync"].iter().for_each(|folder| source::collect(&root.join(folder), &mut files));
    files.sort();
    let problems =
        files.iter().flat_map(|file| keys_named(&source::relative(file), &String::from_utf8_lossy(&fs::read(file).unwrap()), &keys));
    verdict("papers/ alone knows of papers:", problems.collect());
}

#[test]
fn every_file_says_what_it_is() {
    let mut problems = Vec::new();
    for source in Source::everywhere() {
        if !source.text.starts_with("//!") {
            problems.push(format!("{}:1: begin with `//!`: purpose, inputs, outputs, invariants", source.path));
        }
    }
    verdict("every file opens with its header:", problems);
}

#[test]
fn no_file_mixes_too_many_things() {
    let lines = Source::everywhere()
        .into_iter()
        .map(|source| (source.text.lines().count(), source.path))
        .filter(|(lines, _)| *lines > LONGEST_FILE);
    let problems = lines.map(|(lines, path)| format!("{path}:{LONGEST_FILE}: {lines} lines: split it by mechanism")).collect();
    verdict("files stay short enough to read:", problems);
}

#[test]
fn unsafe_and_atomics_live_in_packages_of_their_own() {
    let everywhere = Source::everywhere();
    let sources = everywhere.iter().filter(|source| !LOW.contains(&source.package().as_str()) && !source.path.starts_with("sync/"));
    let words = ["unsafe", "UnsafeCell", "sync::atomic", "AtomicBool", "AtomicU32", "AtomicU64", "AtomicUsize"];
    let instead = "belongs in the package `sync`, behind a type with a loom test, or, without concurrency, in the package `host`";
    let problems = sources.flat_map(|source| uses(source, &words, instead)).collect();
    verdict("concurrency lives in sync:", problems);
}

#[test]
fn only_report_and_the_program_print() {
    let macros = ["println!", "eprintln!", "print!", "eprint!", "dbg!"];
    let silent = Source::packages().into_iter().filter(|source| !PRINTING.contains(&source.package().as_str()));
    let problems = silent.flat_map(|source| uses(&source, &macros, "only report and the program print; give the text to them")).collect();
    verdict("packages other than report and the program's own are silent:", problems);
}

/// Whether results of simulation are made in a file: in a package of models, or by a controller of a paper.
fn simulated(source: &Source) -> bool {
    let module = source.module();
    SIMULATED.contains(&module[0].as_str()) || module[0] == "papers" && module.get(2).is_some_and(|folder| folder == "control")
}

#[test]
fn nothing_simulated_depends_on_hash_order() {
    let mut problems = Vec::new();
    for source in Source::packages() {
        if simulated(&source) || ["engine", "chip"].contains(&source.package().as_str()) {
            problems.extend(hash_iterations(&source));
            let is_test = |line: usize| source.text.lines().take(line).any(|line| line.trim() == "#[cfg(test)]");
            let random = uses(&source, &["HashMap", "HashSet"], "hashes differ from run to run: use FxHashMap, BTreeMap or an array");
            let outside_tests = random.into_iter().filter(|problem| {
                let line = problem.split(':').nth(1).and_then(|line| line.parse().ok());
                !line.is_some_and(is_test)
            });
            problems.extend(outside_tests);
        }
    }
    verdict("results follow from machine, workload and seed alone:", problems);
}

#[test]
fn nothing_simulated_reads_the_host() {
    let words = ["Instant", "SystemTime", "available_parallelism", "thread_local", "RandomState", "lazy_static", "env"];
    let problems = Source::packages()
        .into_iter()
        .filter(simulated)
        .flat_map(|source| uses(&source, &words, "the host must not show in results"))
        .collect();
    verdict("models know no host:", problems);
}

#[test]
fn nothing_is_left_for_later() {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
    let mut problems = Vec::new();
    for source in Source::everywhere() {
        for (i, line) in source.text.lines().enumerate() {
            let mut tell = |what: &str| problems.push(format!("{}:{}: {what}", source.path, i + 1));
            let word = |mark: &str| line.split(|c: char| !c.is_alphanumeric()).any(|word| word == mark);
            if let Some(mark) = marks.iter().find(|mark| word(mark)) {
                tell(&format!("{mark}: do it, or write an entry for people to read"));
            }
        }
        for (i, line) in source.code.lines().enumerate() {
            let mut tell = |what: &str| problems.push(format!("{}:{}: {what}", source.path, i + 1));
            if line.contains("#[ignore") {
                tell("an ignored test proves nothing: make it pass or remove it");
            }
            if line.contains("allow(") && ["dead_code", "unused", "clippy::"].iter().any(|lint| line.contains(lint)) {
                tell("a silenced lint: mend the code, or `#[expect(.., reason)]`");
            }
        }
    }
    verdict("what is merged is finished:", problems);
}

mod the_checks_themselves {
    use super::*;

    fn arrows(path: &str, text: &str) -> Vec<String> {
        forbidden_arrows(&Source::new(path, text))
    }

    #[test]
    fn find_forbidden_imports_in_every_spelling() {
        let crossing = "crates/gpu/src/x.rs:2: gpu must not import noc::Crossbar;";
        for text in [
            "\nuse warpshard_noc::Crossbar;",
            "\nuse {warpshard_base::Cycle, warpshard_noc::Crossbar};",
            "\nuse ::warpshard_noc::{Crossbar as Bar};",
            "\nfn f(_: warpshard_noc::Crossbar) {}",
            "\nmod inner { use warpshard_noc::Crossbar; }",
            "\npub(crate) use warpshard_noc::{Crossbar};",
        ] {
            let found = arrows("crates/gpu/src/x.rs", text);
            assert!(found.len() == 1 && found[0].starts_with(crossing), "{text}: {found:?}");
        }
        assert_eq!(arrows("crates/mem/src/lib.rs", "use warpshard_sync::Board;").len(), 1);
        assert_eq!(arrows("crates/cpu-load/src/lib.rs", "use warpshard_papers as papers;").len(), 1);
        let unknown = "crates/attic/src/lib.rs:1: package `attic` is not in the arrow table";
        assert_eq!(arrows("crates/attic/src/lib.rs", ""), [unknown]);
    }

    #[test]
    fn allow_what_the_table_allows() {
        for text in [
            "use warpshard_mem::cache::{Cache, Tags};",
            "use crate::cta::Grid;",
            "use super::occupancy;",
            "// warpshard_noc::Crossbar\nconst A: &str = \"warpshard_noc::Crossbar\";",
            "pub(crate) struct A; pub(in crate::gpu) struct B;",
            "#[cfg(test)]\nmod tests { use warpshard_model::Model; }",
        ] {
            assert_eq!(arrows("crates/gpu/src/x.rs", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn take_a_part_of_a_package_for_that_part_only() {
        assert_eq!(arrows("crates/gpu/src/x.rs", "use warpshard_mem::{cache::Cache, llc::Slice};").len(), 1);
        assert_eq!(arrows("crates/gpu/src/x.rs", "use warpshard_mem::{self};").len(), 1);
        assert_eq!(arrows("crates/gpu/src/x.rs", "use warpshard_mem;").len(), 1);
        assert_eq!(arrows("crates/gpu/src/x.rs", "use warpshard_mem::cached;").len(), 1);
        assert_eq!(arrows("crates/gpu/src/x.rs", "#[cfg(test)]\nmod tests { use warpshard_mem::llc::Slice; }").len(), 1);
    }

    fn sources(files: &[(&str, &str)]) -> Vec<Source> {
        files.iter().map(|(path, text)| Source::new(path, text)).collect()
    }

    fn circles_of_files(files: &[(&str, &str)]) -> Vec<String> {
        let exempt = Exempt { pipelines: &["mem/stages"], families: &[("mem/policies", "an example")] };
        circles::of_files(&sources(files), &exempt)
    }

    #[test]
    fn find_a_circle_of_folders_across_files() {
        let mut files = vec![
            ("crates/mem/src/llc/slice.rs", "use super::super::cache::tags::Tags;"),
            ("crates/mem/src/llc/mod.rs", "mod slice;"),
            ("crates/mem/src/cache/tags.rs", "use crate::dram::Channel;"),
            ("crates/mem/src/dram/mod.rs", "use warpshard_base::Cycle;"),
            ("crates/base/src/lib.rs", ""),
        ];
        assert_eq!(circles::of_folders(&sources(&files)), [""; 0]);
        files.push(("crates/mem/src/dram/due.rs", "use super::super::cache::tags::Tags;"));
        let circle = ["crates/mem/src/cache/tags.rs:1: mem::dram::Channel", "crates/mem/src/dram/due.rs:1: mem::cache::tags::Tags"];
        assert_eq!(circles::of_folders(&sources(&files)), circle);
        // A folder and one inside it may name each other.
        let inside = [
            ("crates/mem/src/lib.rs", "pub use cache::tags::Tags; use cache::tags::Line;"),
            ("crates/mem/src/cache/tags.rs", "use super::super::Unit;"),
        ];
        assert_eq!(circles::of_folders(&sources(&inside)), [""; 0]);
    }

    #[test]
    fn find_a_circle_of_files_unless_they_are_one_pipeline() {
        let found = |folder: &str, ports: &str| {
            let path = |name: &str| format!("crates/mem/src/{folder}/{name}.rs");
            circles_of_files(&[
                (&path("mod"), "mod tags; mod queue; use tags::Tags;"),
                (&path("tags"), "use super::queue::Queue;"),
                (&path("queue"), "use super::ports::Port;"),
                (&path("ports"), ports),
            ])
        };
        assert_eq!(found("llc", ""), [""; 0]);
        let circle = "mem/llc/ports <-> mem/llc/queue:\n    crates/mem/src/llc/ports.rs:1: mem::llc::queue::Queue\n    \
                      crates/mem/src/llc/queue.rs:1: mem::llc::ports::Port";
        assert_eq!(found("llc", "use crate::llc::queue::Queue;"), [circle]);
        assert_eq!(found("llc", "fn f() { super::queue::f() }"), [circle.replace("::Queue", "::f")]);
        assert_eq!(found("stages", "use super::queue::Queue;"), [""; 0]);
        // What only tests import does not count.
        for test in [
            "#[cfg(test)]\nmod tests {\n use super::super::queue::Queue;\n}",
            "#[cfg(test)]\nuse super::queue::Queue;",
            "#[cfg(test)]\nfn made() { super::queue::made() }",
        ] {
            assert_eq!(found("llc", test), [""; 0], "{test}");
        }
        assert_eq!(found("llc", "#[cfg(test)]\nuse super::A;\nuse super::queue::Queue;").len(), 1);
    }

    #[test]
    fn find_a_circle_of_a_module_and_one_inside_it() {
        let found =
            |parent: &str, child: &str| circles_of_files(&[("crates/mem/src/llc/mod.rs", parent), ("crates/mem/src/llc/tags.rs", child)]);
        for parent in ["use tags::Tags;", "use self::tags::Tags;", "fn f() { tags::f() }", "use crate::llc::{tags::{Tags}};"] {
            for child in ["use super::Unit;", "fn f(_: super::Unit) {}", "use super::*;", "use crate::llc::Unit;"] {
                assert_eq!(found(&format!("mod tags; {parent} struct Unit;"), child).len(), 1, "{parent} {child}");
            }
        }
        // One direction is no circle: a module may pass on what lies inside it.
        assert_eq!(found("mod tags; pub use tags::Tags; struct Unit;", "use super::Unit;"), [""; 0]);
        assert_eq!(found("mod tags; use tags::Tags;", "pub(in super::super) struct Tags;"), [""; 0]);
        let family = [("crates/mem/src/policies/mod.rs", "use tags::Tags;"), ("crates/mem/src/policies/tags.rs", "use super::Unit;")];
        assert_eq!(circles_of_files(&family), [""; 0]);
    }

    #[test]
    fn follow_names_to_the_file_that_defines_them() {
        let found = |parent: &str, child: &str, unit: &str| {
            circles_of_files(&[
                ("crates/mem/src/llc/mod.rs", &format!("mod tags; mod unit; use tags::Tags; {parent}")),
                ("crates/mem/src/llc/tags.rs", child),
                ("crates/mem/src/llc/unit.rs", unit),
            ])
        };
        for parent in ["pub use unit::Unit;", "use unit::Unit;", "pub(crate) use unit::{Inner as Unit};"] {
            assert_eq!(found(parent, "use super::Unit;", ""), [""; 0], "{parent}");
            assert_eq!(found(parent, "fn f() { super::Unit::new() }", "use super::tags::Tags;").len(), 1, "{parent}");
        }
        assert_eq!(found("use super::other::Unit; use std::fmt;", "use super::{Unit, fmt};", ""), [""; 0]);
        // A module that a file took by its name is one.
        assert_eq!(found("", "use super::unit; fn f() { unit::f() }", "use super::tags; fn f(_: tags::Tags) {}").len(), 1);
    }

    #[test]
    fn find_the_papers_names_in_whatever_they_are_joined_to() {
        let keys = ["hetero".to_owned(), "wa_sched".to_owned()];
        let found = |text: &str| keys_named("crates/x/y.md", text, &keys).len();
        for text in ["hetero", "`hetero`-chip", "gddr5-hetero", "is_hetero()", "wa-sched", "wa_sched/bfs", "A_HETERO", "warps\nhetero"] {
            assert_eq!(found(text), 1, "{text}");
        }
        for text in ["heterogeneous", "wa sched", "hetero6", "Hetero", "wa_scheduler"] {
            assert_eq!(found(text), 0, "{text}");
        }
        assert_eq!(keys_named("crates/x/hetero.rs", "", &keys).len(), 1);
    }

    #[test]
    fn see_code_but_neither_comments_nor_literals() {
        let text = "/* unsafe /* unsafe */ */ let a = 'u'; let b = r#\"unsafe \" \"#; let c = \"\\\"unsafe\"; fn f<'a>() { unsafe {} }";
        let found = uses(&Source::new("crates/base/src/x.rs", text), &["unsafe"], "no");
        assert_eq!(found, ["crates/base/src/x.rs:1: `unsafe`: no"]);
        assert_eq!(uses(&Source::new("src/lib.rs", "#![forbid(unsafe_code)]"), &["unsafe"], "no"), [""; 0]);
    }

    #[test]
    fn find_iteration_over_hashes() {
        let text = "struct A { seen: FxHashMap<u32, u32> }\nfn f(a: &A) { a.seen.get(&1); for x in a.seen.keys() {} }";
        let found = hash_iterations(&Source::new("crates/gpu/src/x.rs", text));
        assert!(found.len() == 1 && found[0].starts_with("crates/gpu/src/x.rs:2: `seen.keys()`"), "{found:?}");
        assert_eq!(hash_iterations(&Source::new("crates/gpu/src/x.rs", "let a: FxHashMap<u32, u32>; a.get(&1); b.keys();")), [""; 0]);
    }
}
