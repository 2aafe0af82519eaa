//! The rules that the source itself must keep: who imports whom, and what may stand where.
//!
//! Each check lists every place that breaks it, as `file:line: what, and what to do instead`.

#[path = "architecture/fixed.rs"]
mod fixed;
#[path = "architecture/source.rs"]
mod source;

use std::collections::{BTreeMap, BTreeSet};

use source::Source;

/// Who may import whom: a room, and the rooms or parts of rooms that it may name. `host`, `state` and `sync` are the packages of these names.
const ARROWS: &[(&str, &[&str])] = &[
    ("base", &["host", "state"]),
    ("stats", &["base", "state"]),
    ("engine", &["base", "stats", "sync", "state"]),
    ("protocol", &["base", "engine", "state"]),
    ("device", &["base"]),
    ("config", &["base", "device", "protocol::AddressMap", "protocol::PartitionHash"]),
    ("frontend", &["base", "config", "sync", "state"]),
    ("mem", &["base", "device", "engine", "protocol", "stats", "config", "state"]),
    ("noc", &["base", "engine", "protocol", "stats", "config", "state"]),
    ("gpu", &["base", "engine", "protocol", "stats", "config", "frontend", "mem::cache", "state"]),
    ("cpu", &["base", "engine", "protocol", "stats", "config", "frontend", "mem::cache", "state"]),
    ("control", &["base", "protocol", "stats", "state"]),
    ("policy", &["base", "control", "stats", "state"]),
    ("chip", &["base", "engine", "protocol", "stats", "config", "frontend", "mem", "noc", "gpu", "cpu", "control", "sync", "state"]),
    ("energy", &["base", "stats", "config"]),
    ("report", &["base", "stats", "config", "energy"]),
    ("view", &["report", "stats"]),
    ("sweep", &["config", "report", "view"]),
    ("sample", &["base", "config", "stats", "frontend", "chip", "state"]),
    ("rig", &["base", "engine", "protocol", "stats", "config", "frontend", "mem", "noc", "cpu"]),
    (
        "study",
        &[
            "base",
            "stats",
            "config",
            "frontend",
            "mem::dram",
            "noc",
            "energy",
            "control",
            "policy::registry",
            "chip",
            "report",
            "rig",
            "sample",
            "state",
        ],
    ),
    (
        "cli",
        &[
            "base",
            "config",
            "stats",
            "frontend",
            "energy",
            "mem::dram",
            "noc",
            "control",
            "policy::registry",
            "chip",
            "sample",
            "report",
            "rig",
            "study",
            "view",
            "sweep",
            "host",
            "state",
            "sync",
        ],
    ),
    ("main", &["cli"]),
];

/// Rooms whose results must follow from machine, workload and seed alone.
const SIMULATED: &[&str] = &["base", "protocol", "stats", "mem", "noc", "gpu", "cpu", "rig", "control", "policy"];

/// Folders whose files are the stages of one pipeline: a stage names what the next one takes, which names what it is handed, so
/// they may import each other.
const PIPELINES: &[&str] = &["frontend/program/exec", "noc/mesh"];

/// Rooms that may print.
const PRINTING: &[&str] = &["report", "cli", "main"];

/// No file is longer than this; most have 80 to 250 lines.
const LONGEST_FILE: usize = 700;

fn verdict(rule: &str, problems: Vec<String>) {
    assert!(problems.is_empty(), "{rule}\n  {}", problems.join("\n  "));
}

fn forbidden_arrows(source: &Source) -> Vec<String> {
    let room = source.room();
    if room == "lib" {
        return Vec::new();
    }
    let Some((_, allowed)) = ARROWS.iter().find(|row| row.0 == room) else {
        return vec![format!("{}:1: room `{room}` is not in the arrow table", source.path)];
    };
    let mut problems = Vec::new();
    let mut judge = |line: usize, path: String| {
        let target = path.split("::").next().unwrap_or_default();
        let within = |allowed: &&str| path == *allowed || path.strip_prefix(allowed).is_some_and(|rest| rest.starts_with("::"));
        if target != room && !allowed.iter().any(within) {
            problems.push(format!("{}:{line}: {room} must not import {path}; it may import {}", source.path, list(allowed)));
        }
    };
    for path in source.crate_paths() {
        judge(path.line, path.segments.join("::"));
    }
    for package in ["host", "state", "sync"] {
        for at in source.words(&format!("warpshard_{package}")) {
            judge(source.line_of(at), package.to_owned());
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
fn rooms_import_only_along_the_arrows() {
    let problems = Source::all("src").iter().flat_map(forbidden_arrows).collect();
    verdict("the arrow table of tests/architecture.rs says who may import whom:", problems);
}

#[test]
fn the_arrow_table_names_the_rooms_that_exist() {
    let rooms: BTreeSet<String> = Source::all("src").iter().map(|source| source.room().to_owned()).filter(|room| room != "lib").collect();
    let table: BTreeSet<String> = ARROWS.iter().map(|row| row.0.to_owned()).collect();
    assert_eq!(rooms, table, "left: rooms under src/, right: rooms of the arrow table");
}

/// A manifest of this repository.
fn manifest(path: &str) -> toml::Table {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{path}: {error}"))
        .parse()
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn packages_depend_only_on_what_the_arrow_table_allows() {
    let workspace = manifest("Cargo.toml");
    let members: Vec<&str> = workspace["workspace"]["members"].as_array().unwrap().iter().map(|member| member.as_str().unwrap()).collect();
    let mut problems = Vec::new();
    for room in members.iter().filter_map(|member| member.strip_prefix("src/")) {
        let (_, allowed) = ARROWS.iter().find(|row| row.0 == room).unwrap_or_else(|| panic!("no row `{room}`"));
        let manifest = manifest(&format!("src/{room}/Cargo.toml"));
        let rooms = manifest["dependencies"].as_table().unwrap().keys().filter_map(|name| name.strip_prefix("warpshard-"));
        let wrong = rooms.filter(|name| !allowed.iter().any(|allowed| allowed.split("::").next() == Some(name)));
        problems.extend(wrong.map(|name| format!("src/{room}/Cargo.toml: {room} must not depend on {name}")));
    }
    verdict("the arrow table of tests/architecture.rs says which package may depend on which:", problems);

    // The Python package is a workspace of its own, in which these are not members; with other profiles all of them would be compiled again.
    let python = manifest("python/Cargo.toml");
    let profiled: BTreeSet<&str> =
        python["profile"]["dev"]["package"].as_table().unwrap().keys().map(String::as_str).filter(|name| *name != "*").collect();
    let names: BTreeSet<String> =
        members.iter().map(|member| format!("warpshard-{}", member.trim_start_matches("src/"))).chain(["warpshard".to_owned()]).collect();
    assert_eq!(profiled, names.iter().map(String::as_str).collect(), "left: profiles of python/Cargo.toml, right: packages of Cargo.toml");
}

#[test]
fn the_arrows_have_no_loop() {
    // A room may import only rooms that stand above it in the table.
    let above = |row: usize, name: &str| matches!(name, "host" | "state" | "sync") || ARROWS[..row].iter().any(|earlier| earlier.0 == name);
    let wrong = ARROWS.iter().enumerate().flat_map(|(row, (room, allowed))| {
        let rooms = allowed.iter().map(|name| name.split("::").next().unwrap_or_default());
        rooms.filter(move |name| !above(row, name)).map(move |name| format!("{room} -> {name}"))
    });
    verdict("arrows point upwards in the table:", wrong.collect());
}

/// Who imports whom, each arrow with a place that makes it.
type Arrows = BTreeMap<String, BTreeMap<String, String>>;

/// The arrows between the folders of `sources`, or between their files. `node` names the folder or file of a path of modules; an
/// arrow between a module and one inside it does not count.
fn arrows_between(sources: &[Source], node: impl Fn(&[String]) -> Vec<String>) -> Arrows {
    let mut arrows = Arrows::new();
    for source in sources.iter().filter(|source| !source.path.contains("tests")) {
        let from = node(&source.module());
        let tests = source.code.find("#[cfg(test)]\nmod tests {").map_or(usize::MAX, |at| source.line_of(at));
        for path in source.crate_paths().into_iter().filter(|path| path.line < tests) {
            let to = node(&path.segments);
            if !from.starts_with(&to) && !to.starts_with(&from) {
                let place = format!("{}:{}: {}", source.path, path.line, path.segments.join("::"));
                arrows.entry(from.join("/")).or_default().entry(to.join("/")).or_insert(place);
            }
        }
    }
    arrows
}

/// The circles among `arrows`: who imports each other, directly or through others, and the places of the arrows between them.
fn circles(arrows: &Arrows) -> Vec<(Vec<&str>, Vec<String>)> {
    let mut reach: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for from in arrows.keys() {
        let (seen, mut open) = (reach.entry(from).or_default(), vec![from]);
        while let Some(node) = open.pop() {
            open.extend(arrows.get(node).into_iter().flat_map(BTreeMap::keys).filter(|to| seen.insert(to)));
        }
    }
    let mut found = Vec::new();
    for (from, seen) in &reach {
        let members: Vec<&str> = seen.iter().copied().filter(|to| reach.get(to).is_some_and(|back| back.contains(from))).collect();
        if members.first() == Some(from) {
            let inside = members.iter().flat_map(|member| &arrows[*member]).filter(|(to, _)| members.contains(&to.as_str()));
            let places = inside.map(|(_, place)| place.clone()).collect();
            found.push((members, places));
        }
    }
    found
}

/// The folders under `src`, and the files there, as paths of modules.
fn modules_of(sources: &[Source]) -> (BTreeSet<Vec<String>>, BTreeSet<Vec<String>>) {
    let files: BTreeSet<Vec<String>> = sources.iter().map(Source::module).collect();
    let folder = |source: &Source| source.path.split('/').skip(1).map(str::to_owned).collect::<Vec<String>>();
    let folders = sources.iter().map(folder).flat_map(|path| (0..path.len()).map(move |end| path[..end].to_vec())).collect();
    (folders, files)
}

/// The longest beginning of `path` that is among `known`.
fn longest(path: &[String], known: &BTreeSet<Vec<String>>) -> Vec<String> {
    (0..=path.len()).rev().map(|end| &path[..end]).find(|path| known.contains(*path)).unwrap_or_default().to_vec()
}

fn circles_of_folders(sources: &[Source]) -> Vec<String> {
    let (folders, _) = modules_of(sources);
    circles(&arrows_between(sources, |path| longest(path, &folders))).into_iter().flat_map(|(_, places)| places).collect()
}

fn circles_of_files(sources: &[Source]) -> Vec<String> {
    let (_, files) = modules_of(sources);
    let arrows = arrows_between(sources, |path| longest(path, &files));
    let inside = |member: &&str, folder: &str| member.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    let one_pipeline = |members: &[&str]| PIPELINES.iter().any(|folder| members.iter().all(|member| inside(member, folder)));
    let found = circles(&arrows).into_iter().filter(|(members, _)| !one_pipeline(members));
    found.map(|(members, places)| format!("{}:\n    {}", members.join(" <-> "), places.join("\n    "))).collect()
}

#[test]
fn no_folders_import_each_other_in_a_circle() {
    verdict("folders that do not contain each other import each other in one direction only:", circles_of_folders(&Source::all("src")));
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    verdict("files import each other in one direction only:", circles_of_files(&Source::all("src")));
}

#[test]
fn every_file_says_what_it_is() {
    let mut problems = Vec::new();
    for source in
        ["src", "host/src", "state/src", "state-derive/src", "sync/src", "tests", "benches"].iter().flat_map(|folder| Source::all(folder))
    {
        if !source.text.starts_with("//!") {
            problems.push(format!("{}:1: begin with `//!`: purpose, inputs, outputs, invariants", source.path));
        }
    }
    verdict("every file opens with its header:", problems);
}

#[test]
fn no_file_mixes_too_many_things() {
    let sources =
        ["src", "host/src", "state/src", "state-derive/src", "sync/src", "tests", "benches"].iter().flat_map(|folder| Source::all(folder));
    let lines = sources.map(|source| (source.text.lines().count(), source.path)).filter(|(lines, _)| *lines > LONGEST_FILE);
    let problems = lines.map(|(lines, path)| format!("{path}:{LONGEST_FILE}: {lines} lines: split it by mechanism")).collect();
    verdict("files stay short enough to read:", problems);
}

#[test]
fn unsafe_and_atomics_live_in_packages_of_their_own() {
    let sources: Vec<Source> = ["src", "tests", "benches"].iter().flat_map(|folder| Source::all(folder)).collect();
    let words = ["unsafe", "UnsafeCell", "sync::atomic", "AtomicBool", "AtomicU32", "AtomicU64", "AtomicUsize"];
    let instead = "belongs in the package `sync`, behind a type with a loom test, or, without concurrency, in the package `host`";
    let problems = sources.iter().flat_map(|source| uses(source, &words, instead)).collect();
    verdict("concurrency lives in sync:", problems);
}

#[test]
fn only_report_and_cli_print() {
    let macros = ["println!", "eprintln!", "print!", "eprint!", "dbg!"];
    let sources = Source::all("src").into_iter().chain(Source::all("sync/src"));
    let silent = sources.filter(|source| !PRINTING.contains(&source.room()));
    let problems = silent.flat_map(|source| uses(&source, &macros, "only report and cli print; give the text to them")).collect();
    verdict("rooms other than report and cli are silent:", problems);
}

#[test]
fn nothing_simulated_depends_on_hash_order() {
    let mut problems = Vec::new();
    for source in Source::all("src") {
        if SIMULATED.contains(&source.room()) || ["engine", "chip"].contains(&source.room()) {
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
    let simulated = Source::all("src").into_iter().filter(|source| SIMULATED.contains(&source.room()));
    let problems = simulated.flat_map(|source| uses(&source, &words, "the host must not show in results")).collect();
    verdict("models know no host:", problems);
}

#[test]
fn nothing_is_left_for_later() {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
    let mut problems = Vec::new();
    for source in
        ["src", "host/src", "state/src", "state-derive/src", "sync/src", "tests", "benches"].iter().flat_map(|folder| Source::all(folder))
    {
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
        let crossing = "src/gpu/x.rs:2: gpu must not import noc::Crossbar;";
        for text in [
            "\nuse crate::noc::Crossbar;",
            "\nuse crate::{base::Cycle, noc::Crossbar};",
            "\nfn f(_: crate::noc::Crossbar) {}",
            "\nuse super::super::noc::Crossbar;",
            "\nmod tests { use super::super::super::noc::Crossbar; }",
            "\nuse crate::{base::{Addr, Cycle},noc::{Crossbar}};",
        ] {
            let found = arrows("src/gpu/x.rs", text);
            assert!(found.len() == 1 && found[0].starts_with(crossing), "{text}: {found:?}");
        }
        assert_eq!(arrows("src/mem/mod.rs", "use super::noc::Crossbar;").len(), 1);
        assert_eq!(arrows("src/mem/mod.rs", "use warpshard::sync::Board;").len(), 1);
        assert_eq!(arrows("src/attic/mod.rs", ""), ["src/attic/mod.rs:1: room `attic` is not in the arrow table"]);
    }

    fn sources(files: &[(&str, &str)]) -> Vec<Source> {
        files.iter().map(|(path, text)| Source::new(path, text)).collect()
    }

    #[test]
    fn find_a_circle_of_folders_across_files() {
        let mut files = vec![
            ("src/mem/llc/slice.rs", "use super::super::cache::Tags;"),
            ("src/mem/cache/tags.rs", "use crate::mem::dram::Channel;"),
            ("src/mem/dram/mod.rs", "use crate::base::Cycle;"),
            ("src/base/mod.rs", ""),
        ];
        assert_eq!(circles_of_folders(&sources(&files)), [""; 0]);
        files.push(("src/mem/dram/due.rs", "use super::super::cache::Tags;"));
        let circle = ["src/mem/cache/tags.rs:1: mem::dram::Channel", "src/mem/dram/due.rs:1: mem::cache::Tags"];
        assert_eq!(circles_of_folders(&sources(&files)), circle);
        // A folder and one inside it may name each other.
        let inside = [("src/mem/mod.rs", "pub use super::mem::cache::Tags;"), ("src/mem/cache/tags.rs", "use super::super::Unit;")];
        assert_eq!(circles_of_folders(&sources(&inside)), [""; 0]);
    }

    #[test]
    fn find_a_circle_of_files_unless_they_are_one_pipeline() {
        let found = |folder: &str, ports: &str| {
            let file = |name: &str, text: &str| Source::new(&format!("src/{folder}/{name}.rs"), text);
            let room = folder.replace('/', "::");
            circles_of_files(&[
                file("mod", &format!("mod tags; mod queue; use crate::{room}::tags::Tags;")),
                file("tags", "use super::queue::Queue; use super::Unit;"),
                file("queue", "use super::ports::Port;"),
                file("ports", ports),
            ])
        };
        assert_eq!(found("cpu", ""), [""; 0]);
        let circle = "cpu/ports <-> cpu/queue:\n    src/cpu/ports.rs:1: cpu::queue::Queue\n    src/cpu/queue.rs:1: cpu::ports::Port";
        assert_eq!(found("cpu", "use crate::cpu::{queue::Queue, Unit};"), [circle]);
        assert_eq!(found("noc/mesh", "use super::queue::Queue;"), [""; 0]);
        // What only tests import does not count.
        assert_eq!(found("cpu", "#[cfg(test)]\nmod tests {\n use super::super::queue::Queue;\n}"), [""; 0]);
    }

    #[test]
    fn allow_what_the_table_allows() {
        for text in [
            "use crate::mem::cache::{Cache, Tags};",
            "use crate::gpu::cta::Grid;",
            "use super::occupancy;",
            "mod tests { use super::super::x; }",
            "// crate::engine\nconst A: &str = \"crate::engine\";",
            "pub(crate) struct A; pub(in crate::gpu) struct B;",
        ] {
            assert_eq!(arrows("src/gpu/x.rs", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn take_a_part_of_a_room_for_that_part_only() {
        assert_eq!(arrows("src/gpu/x.rs", "use crate::mem::{cache::Cache, llc::Slice};").len(), 1);
        assert_eq!(arrows("src/gpu/x.rs", "use crate::mem;").len(), 1);
        assert_eq!(arrows("src/gpu/x.rs", "use crate::mem::cached;").len(), 1);
    }

    #[test]
    fn see_code_but_neither_comments_nor_literals() {
        let text = "/* unsafe /* unsafe */ */ let a = 'u'; let b = r#\"unsafe \" \"#; let c = \"\\\"unsafe\"; fn f<'a>() { unsafe {} }";
        let found = uses(&Source::new("src/base/x.rs", text), &["unsafe"], "no");
        assert_eq!(found, ["src/base/x.rs:1: `unsafe`: no"]);
        assert_eq!(uses(&Source::new("src/lib.rs", "#![forbid(unsafe_code)]"), &["unsafe"], "no"), [""; 0]);
    }

    #[test]
    fn find_iteration_over_hashes() {
        let text = "struct A { seen: FxHashMap<u32, u32> }\nfn f(a: &A) { a.seen.get(&1); for x in a.seen.keys() {} }";
        let found = hash_iterations(&Source::new("src/gpu/x.rs", text));
        assert!(found.len() == 1 && found[0].starts_with("src/gpu/x.rs:2: `seen.keys()`"), "{found:?}");
        assert_eq!(hash_iterations(&Source::new("src/gpu/x.rs", "let a: FxHashMap<u32, u32>; a.get(&1); b.keys();")), [""; 0]);
    }
}
