//! Rules for the source itself: allowed imports between packages, and constructs that are allowed only in certain files.
//!
//! Each check lists all violations as `file:line: violation, and the alternative`.

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

use circles::Exemptions;
use source::Source;

/// Allowed imports: each package (without `warpshard-`), and the packages or parts of packages that it may import. Arrows point upwards.
const ALLOWED_IMPORTS: &[(&str, &[&str])] = &[
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

/// The file that re-exports every package for users of the library. All other files of its package follow the table.
const FACADE_FILE: &str = "src/lib.rs";

/// Packages whose results must depend on machine, workload and seed alone. The same holds for the controllers of papers.
const MODEL_PACKAGES: &[&str] =
    &["base", "protocol", "device", "stats", "workload", "isa", "cpu_load", "mem", "noc", "gpu", "cpu", "rig", "control", "policy", "seam"];

/// Folders whose files are the stages of one pipeline. A stage and the next one name each other's types, so the files may import each
/// other.
const PIPELINE_FOLDERS: &[&str] = &["program/exec", "noc/mesh"];

/// Modules that their submodules may import, each with the reason.
const PARENT_MODULES: &[(&str, &str)] = &[
    ("gpu/sm", "an SM, whose stages are methods in separate files"),
    ("gpu/sm/issue/sched", "the trait of warp orders, which every order implements"),
    ("gpu/sm/lsu", "a load/store unit, whose stages are methods in separate files"),
    ("mem/cache/prefetch", "the trait of prefetchers, which every prefetcher implements"),
    ("mem/cache/replacement", "the trait of replacement policies, which every policy implements"),
    ("mem/dram/control", "a DRAM controller, whose steps are methods in separate files"),
    ("mem/dram/control/page", "the input of page policies, which every policy uses"),
    ("mem/dram/control/refresh", "the input of refresh policies, which every policy uses"),
    ("mem/partition", "a partition, whose parts are methods in separate files"),
    ("program", "a loaded program; loading, execution, recording and summaries are in separate files"),
    ("program/load", "the loader of launch files, whose parts are in separate files"),
];

/// Packages that may print.
const PRINTING_PACKAGES: &[&str] = &["report", "main"];

/// Packages that may use `unsafe` and atomics.
const LOW_LEVEL_PACKAGES: &[&str] = &["host", "state", "state_derive", "sync"];

/// Largest number of lines of a file; most files have 80 to 250 lines.
const MAX_FILE_LINES: usize = 700;

fn assert_no_problems(rule: &str, problems: Vec<String>) {
    assert!(problems.is_empty(), "{rule}\n  {}", problems.join("\n  "));
}

/// Returns `true` if a row of the table allows a path that begins with a package.
fn allows(allowed: &[&str], path: &str) -> bool {
    allowed.iter().any(|allowed| path.strip_prefix(allowed).is_some_and(|rest| rest.is_empty() || rest.starts_with("::")))
}

fn forbidden_arrows(source: &Source) -> Vec<String> {
    let package = source.package();
    let Some((_, allowed)) = ALLOWED_IMPORTS.iter().find(|row| row.0 == package) else {
        return vec![format!("{}:1: package `{package}` is not in the arrow table", source.path)];
    };
    let known = |target: &str| allowed.iter().any(|allowed| allowed.split("::").next() == Some(target));
    let mut problems = Vec::new();
    for path in source.paths() {
        let Some(target) = source.absolute_path(&path).filter(|target| target[0] != package) else { continue };
        // Imports in tests may use packages beyond the table (dev-dependencies), but for packages in the table the same parts are allowed.
        if !allows(allowed, &target.join("::")) && (known(&target[0]) || !source.is_test(path.at)) {
            let (line, target) = (source.line_of(path.at), target.join("::"));
            problems.push(format!("{}:{line}: {package} must not import {target}; it may import {}", source.path, list(allowed)));
        }
    }
    problems
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "no package of this project".to_owned() } else { names.join(", ") }
}

/// Lists every occurrence of one of `words` in the code.
fn word_uses(source: &Source, words: &[&str], instead: &str) -> Vec<String> {
    let places = words.iter().flat_map(|word| source.word_offsets(word).map(move |at| (at, *word)));
    let in_order: BTreeSet<(usize, &str)> = places.collect();
    in_order.iter().map(|(at, word)| format!("{}:{}: `{word}`: {instead}", source.path, source.line_of(*at))).collect()
}

/// Lists iterations over maps and sets whose order depends on hashes, found by the names of the file's hash maps.
fn find_hash_iterations(source: &Source) -> Vec<String> {
    const HASH_ORDERED_METHODS: [&str; 7] = ["iter", "iter_mut", "keys", "values", "values_mut", "drain", "into_iter"];
    let mut problems = Vec::new();
    for kind in ["FxHashMap", "FxHashSet"] {
        for at in source.word_offsets(kind) {
            let before = source.code[..at].trim_end().trim_end_matches(['&', ' ', ':', '=']).trim_end();
            let name: String = before.chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let name: String = name.chars().rev().collect();
            if name.is_empty() || matches!(name.as_str(), "mut" | "use" | "Self") || before.ends_with("::") {
                continue;
            }
            for used in source.word_offsets(&name) {
                let rest = source.code[used + name.len()..].trim_start();
                let Some(call) = rest.strip_prefix('.').map(str::trim_start) else { continue };
                let method: String = call.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if HASH_ORDERED_METHODS.contains(&method.as_str()) {
                    problems.push(format!(
                        "{}:{}: `{name}.{method}()` visits a {kind} in the order of its hashes: use a BTreeMap, or keep a sorted list of keys",
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
    let sources = Source::package_sources();
    let problems = sources.iter().filter(|source| source.path != FACADE_FILE).flat_map(forbidden_arrows).collect();
    assert_no_problems("the arrow table of tests/architecture.rs lists the allowed imports:", problems);
}

#[test]
fn the_arrow_table_names_the_packages_that_exist() {
    let found: BTreeSet<String> = Source::package_sources().iter().map(Source::package).collect();
    let table: BTreeSet<String> = ALLOWED_IMPORTS.iter().map(|row| row.0.to_owned()).collect();
    assert_eq!(found, table, "left: packages with sources, right: packages of the arrow table");
    let members: BTreeSet<String> = workspace_members().into_iter().map(|(package, _)| package).collect();
    assert_eq!(members, table, "left: packages of Cargo.toml, right: packages of the arrow table");
}

/// Reads a manifest of this repository.
fn read_manifest(path: &str) -> toml::Table {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}")).parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the program's package and the packages of the workspace below it, each with the path of its manifest. The Python package is
/// above the program and is excluded.
fn workspace_members() -> Vec<(String, String)> {
    let workspace = read_manifest("Cargo.toml");
    let members = workspace["workspace"]["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member.as_str().unwrap())
        .filter(|member| *member != "python");
    let named = members.map(|member| (member.rsplit('/').next().unwrap().replace('-', "_"), format!("{member}/Cargo.toml")));
    named.chain([("main".to_owned(), "Cargo.toml".to_owned())]).collect()
}

/// Returns the project's packages in the dependency tables called `kind`, including the tables for particular targets.
fn project_dependencies(manifest: &toml::Table, kind: &str) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values);
    let tables = [manifest].into_iter().chain(targets.filter_map(toml::Value::as_table)).filter_map(|table| table.get(kind)?.as_table());
    let ours =
        |name: &str| if name == "warpshard" { Some("main".to_owned()) } else { Some(name.strip_prefix("warpshard-")?.replace('-', "_")) };
    tables.flat_map(toml::Table::keys).filter_map(|name| ours(name)).collect()
}

#[test]
fn package_dependencies_follow_the_arrow_table() {
    let mut problems = Vec::new();
    for (package, path) in workspace_members() {
        let (_, allowed) = ALLOWED_IMPORTS.iter().find(|row| row.0 == package).unwrap_or_else(|| panic!("no row `{package}`"));
        let manifest = read_manifest(&path);
        let allowed: BTreeSet<&str> = allowed.iter().map(|allowed| allowed.split("::").next().unwrap()).collect();
        // The program's package depends on all others, to re-export them for users of the library.
        for kind in ["dependencies", "build-dependencies"].into_iter().filter(|_| package != "main") {
            let wrong = project_dependencies(&manifest, kind).into_iter().filter(|name| !allowed.contains(name.as_str()));
            problems.extend(wrong.map(|name| format!("{path}: {package} must not depend on {name}")));
        }
        if !["papers", "validate", "main"].contains(&package.as_str()) {
            let tested = project_dependencies(&manifest, "dev-dependencies");
            let wrong = tested.iter().filter(|name| ["papers", "validate", "main"].contains(&name.as_str()));
            problems.extend(wrong.map(|name| format!("{path}: tests of {package} must not depend on {name}: they belong in tests/")));
        }
    }
    assert_no_problems("the arrow table of tests/architecture.rs lists the allowed dependencies:", problems);
}

#[test]
fn the_arrow_table_has_no_cycle() {
    // A package may import only packages from earlier rows of the table.
    let above = |row: usize, name: &str| ALLOWED_IMPORTS[..row].iter().any(|earlier| earlier.0 == name);
    let wrong = ALLOWED_IMPORTS.iter().enumerate().flat_map(|(row, (package, allowed))| {
        let packages = allowed.iter().map(|name| name.split("::").next().unwrap_or_default());
        packages.filter(move |name| !above(row, name)).map(move |name| format!("{package} -> {name}"))
    });
    assert_no_problems("arrows point upwards in the table:", wrong.collect());
}

#[test]
fn folders_have_no_import_cycles() {
    let problems = circles::folder_cycles(&Source::package_sources());
    assert_no_problems("folders that do not contain each other import each other in one direction only:", problems);
}

#[test]
fn files_have_no_import_cycles() {
    let exempt = Exemptions { pipelines: PIPELINE_FOLDERS, parent_modules: PARENT_MODULES };
    assert_no_problems("files import each other in one direction only:", circles::file_cycles(&Source::package_sources(), &exempt));
}

#[test]
fn exemptions_from_the_cycle_check_exist() {
    let sources = Source::package_sources();
    let modules: BTreeSet<String> = sources.iter().flat_map(|source| [source.module().join("/"), source.folder().join("/")]).collect();
    let named = PIPELINE_FOLDERS.iter().chain(PARENT_MODULES.iter().map(|(family, _)| family));
    assert_no_problems(
        "exempted modules exist:",
        named.filter(|module| !modules.contains(**module)).map(|module| (*module).to_owned()).collect(),
    );
    let idle = PARENT_MODULES.iter().filter(|family| {
        let others: Vec<(&str, &str)> = PARENT_MODULES.iter().filter(|other| other != family).copied().collect();
        circles::file_cycles(&sources, &Exemptions { pipelines: PIPELINE_FOLDERS, parent_modules: &others }).is_empty()
    });
    assert_no_problems("a module is exempted only if it is part of a cycle:", idle.map(|(family, _)| (*family).to_owned()).collect());
}

/// Lists the lines of a file with one of `keys` as a whole name or as a part of a name joined by `_` or `-`. A key consists of words joined
/// by `_`.
fn find_paper_keys(path: &str, text: &str, keys: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    let spellings = keys.iter().flat_map(|key| [key.clone(), key.replace('_', "-"), key.to_uppercase()]).collect::<BTreeSet<String>>();
    for (line, text) in (1..).zip(text.lines()).chain([(0, path)]) {
        for key in &spellings {
            let alone = |at: usize| {
                let (before, after) = (text[..at].chars().next_back(), text[at + key.len()..].chars().next());
                !before.into_iter().chain(after).any(char::is_alphanumeric)
            };
            if text.match_indices(key.as_str()).any(|(at, _)| alone(at)) {
                problems.push(format!("{path}:{line}: `{key}` is the name of a paper, which only papers/ may use"));
            }
        }
    }
    problems
}

#[test]
fn no_package_below_the_papers_names_a_paper() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = fs::read_dir(root.join("papers/src")).unwrap().map(|entry| entry.unwrap());
    let keys: Vec<String> = folders.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(!keys.is_empty());
    let mut files = Vec::new();
    ["configs", "crates", "programs", "sync"].iter().for_each(|folder| source::collect_files(&root.join(folder), &mut files));
    files.sort();
    let problems = files
        .iter()
        .flat_map(|file| find_paper_keys(&source::relative_path(file), &String::from_utf8_lossy(&fs::read(file).unwrap()), &keys));
    assert_no_problems("only papers/ names papers:", problems.collect());
}

#[test]
fn every_file_begins_with_a_doc_comment() {
    let mut problems = Vec::new();
    for source in Source::repository_sources() {
        if !source.text.starts_with("//!") {
            problems.push(format!("{}:1: begin with `//!`: purpose, inputs, outputs, invariants", source.path));
        }
    }
    assert_no_problems("every file opens with its header:", problems);
}

#[test]
fn files_stay_below_the_length_limit() {
    let lines = Source::repository_sources()
        .into_iter()
        .map(|source| (source.text.lines().count(), source.path))
        .filter(|(lines, _)| *lines > MAX_FILE_LINES);
    let problems = lines.map(|(lines, path)| format!("{path}:{MAX_FILE_LINES}: {lines} lines: split it by mechanism")).collect();
    assert_no_problems("files stay short enough to read:", problems);
}

#[test]
fn unsafe_code_and_atomics_are_confined_to_low_level_packages() {
    let everywhere = Source::repository_sources();
    let sources =
        everywhere.iter().filter(|source| !LOW_LEVEL_PACKAGES.contains(&source.package().as_str()) && !source.path.starts_with("sync/"));
    let words = ["unsafe", "UnsafeCell", "sync::atomic", "AtomicBool", "AtomicU32", "AtomicU64", "AtomicUsize"];
    let instead = "belongs in the package `sync`, behind a type with a loom test, or, without concurrency, in the package `host`";
    let problems = sources.flat_map(|source| word_uses(source, &words, instead)).collect();
    assert_no_problems("concurrency lives in sync:", problems);
}

#[test]
fn only_report_and_the_program_print() {
    let macros = ["println!", "eprintln!", "print!", "eprint!", "dbg!"];
    let silent = Source::package_sources().into_iter().filter(|source| !PRINTING_PACKAGES.contains(&source.package().as_str()));
    let problems =
        silent.flat_map(|source| word_uses(&source, &macros, "only report and the program print; return the text to them")).collect();
    assert_no_problems("packages other than report and the program's own are silent:", problems);
}

/// Returns `true` if a file computes simulation results: a file of a model package, or a controller of a paper.
fn computes_results(source: &Source) -> bool {
    let module = source.module();
    MODEL_PACKAGES.contains(&module[0].as_str()) || module[0] == "papers" && module.get(2).is_some_and(|folder| folder == "control")
}

#[test]
fn nothing_simulated_depends_on_hash_order() {
    let mut problems = Vec::new();
    for source in Source::package_sources() {
        if computes_results(&source) || ["engine", "chip"].contains(&source.package().as_str()) {
            problems.extend(find_hash_iterations(&source));
            let is_test = |line: usize| source.text.lines().take(line).any(|line| line.trim() == "#[cfg(test)]");
            let random = word_uses(&source, &["HashMap", "HashSet"], "hashes differ from run to run: use FxHashMap, BTreeMap or an array");
            let outside_tests = random.into_iter().filter(|problem| {
                let line = problem.split(':').nth(1).and_then(|line| line.parse().ok());
                !line.is_some_and(is_test)
            });
            problems.extend(outside_tests);
        }
    }
    assert_no_problems("results follow from machine, workload and seed alone:", problems);
}

#[test]
fn nothing_simulated_reads_the_host() {
    let words = ["Instant", "SystemTime", "available_parallelism", "thread_local", "RandomState", "lazy_static", "env"];
    let problems = Source::package_sources()
        .into_iter()
        .filter(computes_results)
        .flat_map(|source| word_uses(&source, &words, "results must not depend on the host"))
        .collect();
    assert_no_problems("models do not depend on the host:", problems);
}

#[test]
fn no_todo_marker_or_ignored_test_remains() {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
    let mut problems = Vec::new();
    for source in Source::repository_sources() {
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
                tell("a silenced lint: fix the code, or `#[expect(.., reason)]`");
            }
        }
    }
    assert_no_problems("what is merged is finished:", problems);
}

mod tests_of_the_checks {
    use super::*;

    fn forbidden_arrows_of(path: &str, text: &str) -> Vec<String> {
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
            let found = forbidden_arrows_of("crates/gpu/src/x.rs", text);
            assert!(found.len() == 1 && found[0].starts_with(crossing), "{text}: {found:?}");
        }
        assert_eq!(forbidden_arrows_of("crates/mem/src/lib.rs", "use warpshard_sync::Board;").len(), 1);
        assert_eq!(forbidden_arrows_of("crates/cpu-load/src/lib.rs", "use warpshard_papers as papers;").len(), 1);
        let unknown = "crates/attic/src/lib.rs:1: package `attic` is not in the arrow table";
        assert_eq!(forbidden_arrows_of("crates/attic/src/lib.rs", ""), [unknown]);
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
            assert_eq!(forbidden_arrows_of("crates/gpu/src/x.rs", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn allow_only_the_named_part_of_a_package() {
        assert_eq!(forbidden_arrows_of("crates/gpu/src/x.rs", "use warpshard_mem::{cache::Cache, llc::Slice};").len(), 1);
        assert_eq!(forbidden_arrows_of("crates/gpu/src/x.rs", "use warpshard_mem::{self};").len(), 1);
        assert_eq!(forbidden_arrows_of("crates/gpu/src/x.rs", "use warpshard_mem;").len(), 1);
        assert_eq!(forbidden_arrows_of("crates/gpu/src/x.rs", "use warpshard_mem::cached;").len(), 1);
        assert_eq!(forbidden_arrows_of("crates/gpu/src/x.rs", "#[cfg(test)]\nmod tests { use warpshard_mem::llc::Slice; }").len(), 1);
    }

    fn test_sources(files: &[(&str, &str)]) -> Vec<Source> {
        files.iter().map(|(path, text)| Source::new(path, text)).collect()
    }

    fn cycles_of_files(files: &[(&str, &str)]) -> Vec<String> {
        let exempt = Exemptions { pipelines: &["mem/stages"], parent_modules: &[("mem/policies", "an example")] };
        circles::file_cycles(&test_sources(files), &exempt)
    }

    #[test]
    fn find_an_import_cycle_of_folders_across_files() {
        let mut files = vec![
            ("crates/mem/src/llc/slice.rs", "use super::super::cache::tags::Tags;"),
            ("crates/mem/src/llc/mod.rs", "mod slice;"),
            ("crates/mem/src/cache/tags.rs", "use crate::dram::Channel;"),
            ("crates/mem/src/dram/mod.rs", "use warpshard_base::Cycle;"),
            ("crates/base/src/lib.rs", ""),
        ];
        assert_eq!(circles::folder_cycles(&test_sources(&files)), [""; 0]);
        files.push(("crates/mem/src/dram/due.rs", "use super::super::cache::tags::Tags;"));
        let circle = ["crates/mem/src/cache/tags.rs:1: mem::dram::Channel", "crates/mem/src/dram/due.rs:1: mem::cache::tags::Tags"];
        assert_eq!(circles::folder_cycles(&test_sources(&files)), circle);
        // A folder and its subfolder may name each other.
        let inside = [
            ("crates/mem/src/lib.rs", "pub use cache::tags::Tags; use cache::tags::Line;"),
            ("crates/mem/src/cache/tags.rs", "use super::super::Unit;"),
        ];
        assert_eq!(circles::folder_cycles(&test_sources(&inside)), [""; 0]);
    }

    #[test]
    fn find_an_import_cycle_of_files_unless_they_are_one_pipeline() {
        let found = |folder: &str, ports: &str| {
            let path = |name: &str| format!("crates/mem/src/{folder}/{name}.rs");
            cycles_of_files(&[
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
        // Imports in tests do not count.
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
    fn find_an_import_cycle_of_a_module_and_its_submodule() {
        let found =
            |parent: &str, child: &str| cycles_of_files(&[("crates/mem/src/llc/mod.rs", parent), ("crates/mem/src/llc/tags.rs", child)]);
        for parent in ["use tags::Tags;", "use self::tags::Tags;", "fn f() { tags::f() }", "use crate::llc::{tags::{Tags}};"] {
            for child in ["use super::Unit;", "fn f(_: super::Unit) {}", "use super::*;", "use crate::llc::Unit;"] {
                assert_eq!(found(&format!("mod tags; {parent} struct Unit;"), child).len(), 1, "{parent} {child}");
            }
        }
        // One direction is no cycle: a module may re-export items of its submodules.
        assert_eq!(found("mod tags; pub use tags::Tags; struct Unit;", "use super::Unit;"), [""; 0]);
        assert_eq!(found("mod tags; use tags::Tags;", "pub(in super::super) struct Tags;"), [""; 0]);
        let family = [("crates/mem/src/policies/mod.rs", "use tags::Tags;"), ("crates/mem/src/policies/tags.rs", "use super::Unit;")];
        assert_eq!(cycles_of_files(&family), [""; 0]);
    }

    #[test]
    fn follow_names_to_the_file_that_defines_them() {
        let found = |parent: &str, child: &str, unit: &str| {
            cycles_of_files(&[
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
        // A path through an imported module counts as an import from that module.
        assert_eq!(found("", "use super::unit; fn f() { unit::f() }", "use super::tags; fn f(_: tags::Tags) {}").len(), 1);
    }

    #[test]
    fn find_names_of_papers_within_longer_names() {
        let keys = ["hetero".to_owned(), "wa_sched".to_owned()];
        let found = |text: &str| find_paper_keys("crates/x/y.md", text, &keys).len();
        for text in ["hetero", "`hetero`-chip", "gddr5-hetero", "is_hetero()", "wa-sched", "wa_sched/bfs", "A_HETERO", "warps\nhetero"] {
            assert_eq!(found(text), 1, "{text}");
        }
        for text in ["heterogeneous", "wa sched", "hetero6", "Hetero", "wa_scheduler"] {
            assert_eq!(found(text), 0, "{text}");
        }
        assert_eq!(find_paper_keys("crates/x/hetero.rs", "", &keys).len(), 1);
    }

    #[test]
    fn see_code_but_neither_comments_nor_literals() {
        let text = "/* unsafe /* unsafe */ */ let a = 'u'; let b = r#\"unsafe \" \"#; let c = \"\\\"unsafe\"; fn f<'a>() { unsafe {} }";
        let found = word_uses(&Source::new("crates/base/src/x.rs", text), &["unsafe"], "no");
        assert_eq!(found, ["crates/base/src/x.rs:1: `unsafe`: no"]);
        assert_eq!(word_uses(&Source::new("src/lib.rs", "#![forbid(unsafe_code)]"), &["unsafe"], "no"), [""; 0]);
    }

    #[test]
    fn find_iteration_over_hashes() {
        let text = "struct A { seen: FxHashMap<u32, u32> }\nfn f(a: &A) { a.seen.get(&1); for x in a.seen.keys() {} }";
        let found = find_hash_iterations(&Source::new("crates/gpu/src/x.rs", text));
        assert!(found.len() == 1 && found[0].starts_with("crates/gpu/src/x.rs:2: `seen.keys()`"), "{found:?}");
        assert_eq!(find_hash_iterations(&Source::new("crates/gpu/src/x.rs", "let a: FxHashMap<u32, u32>; a.get(&1); b.keys();")), [""; 0]);
    }
}
