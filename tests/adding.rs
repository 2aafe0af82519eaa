//! Tests that apply the recipes of docs/adding.md to a copy of the tree, which must then build.
//!
//! A recipe may change exactly the files in its row of the table: a changed file that is missing in the row, or a file in the row that is
//! not changed, fails the first test. All recipes are applied to one copy, which tests/nightly.sh also builds (`WARPSHARD_ADDING=build`: a
//! `cargo check` of the whole workspace). A paper is applied to a separate tree, whose program must list and run the paper's items; only
//! the packages that depend on the papers are rebuilt.
//!
//! Both trees are in the target folder and stay there. A file is written only if it differs, so that cargo rebuilds just the changed files.

mod adding {
    pub(crate) mod recipes;
}

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use adding::recipes::{RECIPES, Recipe, TOY};

/// A change that a recipe makes to a file.
pub(crate) enum Change {
    /// Creates a file with this text.
    New(&'static str),
    /// Creates a file as a copy of another file, with the first text replaced by the second.
    CopyOf(&'static str, &'static str, &'static str),
    /// Inserts the second text after the first line that contains the first text.
    After(&'static str, &'static str),
    /// Replaces the first occurrence of the first text by the second.
    Replace(&'static str, &'static str),
}

/// Returns the rows of the table of docs/adding.md: name of the recipe and changed files.
fn document_rows() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(repository_root().join("docs/adding.md")).unwrap();
    let table = text.lines().skip_while(|line| !line.starts_with("| to add | files |")).skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let mut cells = line.trim_matches('|').splitn(2, '|');
        let name = cells.next().unwrap().trim().to_owned();
        // Every second piece between backquotes is quoted; quoted pieces with a slash are paths.
        let quoted = cells.next().unwrap().split('`').skip(1).step_by(2);
        (name, quoted.filter(|path| path.contains('/')).map(str::to_owned).collect())
    };
    table.map(row).collect()
}

fn repository_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns a path of the table with the table's placeholders replaced by the recipe's names.
fn with_recipe_names(path: &str, recipe: &Recipe) -> String {
    let path = recipe.names.iter().fold(path.to_owned(), |path, (placeholder, name)| path.replace(placeholder, name));
    path.replace("/x.", &format!("/{}.", recipe.name))
}

#[test]
fn every_recipe_changes_exactly_the_files_that_its_row_names() {
    let rows = document_rows();
    assert!(rows.len() > 15, "the table of docs/adding.md was not found");
    for recipe in RECIPES {
        let (_, files) = rows.iter().find(|(name, _)| name == recipe.row).unwrap_or_else(|| panic!("no row `{}`", recipe.row));
        let named: BTreeSet<String> = files.iter().map(|path| with_recipe_names(path, recipe)).collect();
        let changed: BTreeSet<String> = recipe.changes.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(named, changed, "row `{}` of docs/adding.md names the left files, its recipe changes the right ones", recipe.row);
    }
}

#[test]
fn every_file_that_a_document_names_exists() {
    let mut documents = vec![repository_root().join("README.md"), repository_root().join("ARCHITECTURE.md")];
    let papers =
        fs::read_dir(repository_root().join("papers/src")).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    for folder in papers.chain([repository_root().join("docs")]) {
        documents.extend(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    }
    for document in documents.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let text = fs::read_to_string(document).unwrap();
        let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        let folders =
            ["configs/machines/", "configs/workloads/", "crates/", "docs/", "papers/", "programs/", "src/", "sync/", "tests/", "validate/"];
        let file = |path: &&str| folders.iter().any(|folder| path.starts_with(folder));
        for path in quoted.filter(file).filter(|path| !path.contains(['<', '*', ' ', '{', ':']) && !path.contains("/x")) {
            assert!(repository_root().join(path).exists(), "{} names `{path}`, which does not exist", document.display());
        }
    }
}

#[test]
fn every_file_that_the_table_names_exists() {
    for (row, files) in document_rows() {
        for path in files.iter().filter(|path| !path.contains("/x.") && !path.contains('<') && !path.contains("/x/")) {
            assert!(repository_root().join(path).exists(), "row `{row}` of docs/adding.md names `{path}`, which does not exist");
        }
    }
}

/// Returns the names of the packages of the workspace.
fn packages() -> Vec<String> {
    let name = |member: &str| {
        let manifest: toml::Table = fs::read_to_string(repository_root().join(member).join("Cargo.toml")).unwrap().parse().unwrap();
        manifest["package"]["name"].as_str().unwrap().to_owned()
    };
    let manifest: toml::Table = fs::read_to_string(repository_root().join("Cargo.toml")).unwrap().parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap().iter().map(|member| name(member.as_str().unwrap()));
    members.chain([name(".")]).collect()
}

/// Returns the target folder. This test runs as target/PROFILE/deps/adding-..., so dependencies are shared with the builds of this tree.
fn target_folder() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

/// Runs cargo in a tree and expects success.
fn run_cargo(tree: &Path, arguments: &[String]) {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", target_folder())
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    assert!(output.status.success(), "{} does not build:\n{}", tree.display(), String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_recipe_can_be_applied_to_one_copy_of_the_tree() {
    let copy = target_folder().join("adding/all");
    let mut tree = Tree::default();
    for part in [
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "src",
        "crates",
        "sync",
        "configs",
        "programs",
        "papers",
        "python/Cargo.toml",
        "python/src",
        "validate",
        "benches",
        "docs",
    ] {
        tree.add_files(part);
    }
    for recipe in RECIPES {
        for (path, change) in recipe.changes {
            tree.apply_change(path, change, recipe.row);
        }
    }
    tree.write_to(&copy);
    if std::env::var("WARPSHARD_ADDING").is_ok_and(|value| value == "build") {
        check_copy(&copy);
    }
}

/// Runs `cargo check` on a copy of the workspace.
fn check_copy(copy: &Path) {
    let mut arguments: Vec<String> = ["check", "--quiet", "--offline", "--lib", "--bins"].map(str::to_owned).into();
    // A package of the copy has the same path in its workspace as the original, so cargo would confuse the two. Another profile makes it a
    // different package.
    arguments.extend(packages().iter().flat_map(|name| ["--config".to_owned(), format!("profile.dev.package.{name}.codegen-units=3")]));
    run_cargo(copy, &arguments);
}

/// Returns a copy of the workspace with a toy paper, a program that includes it, and tests/embedding as members; builds both programs once.
fn tree_with_paper() -> &'static Path {
    static TREE_COPY: OnceLock<PathBuf> = OnceLock::new();
    TREE_COPY.get_or_init(build_with_paper)
}

fn build_with_paper() -> PathBuf {
    let copy = target_folder().join("adding/paper");
    let mut tree = Tree::default();
    tree.add_files("Cargo.toml");
    tree.add_files("papers");
    for (path, change) in TOY {
        tree.apply_change(path, change, "paper");
    }
    // A separate program with another name is built, because the main binary would overwrite this tree's.
    tree.apply_change("Cargo.toml", &Change::Replace("members = [", "members = [\n    \"program\",\n    \"tests/embedding\","), "paper");
    tree.0.insert("program/Cargo.toml".to_owned(), program_manifest().into_bytes());
    // As a member, tests/embedding reuses this tree's build of the library. A program outside of the workspace (tests/embedding.sh) would
    // rebuild it.
    tree.add_files("tests/embedding/Cargo.toml");
    tree.add_files("tests/embedding/src");
    tree.apply_change("tests/embedding/Cargo.toml", &Change::Replace("[workspace]\n", ""), "embedding");
    tree.apply_change(
        "program/src/main.rs",
        &Change::New("fn main() -> std::process::ExitCode {\n    warpshard::cli::main()\n}\n"),
        "paper",
    );
    tree.write_to(&copy);
    // All other parts are links to this tree, so that cargo reuses their build.
    for part in ["README.md", "src", "crates", "sync", "configs", "programs", "python", "validate", "benches", "docs"] {
        let link = copy.join(part);
        if !link.exists() {
            std::os::unix::fs::symlink(repository_root().join(part), link).unwrap();
        }
    }
    fs::copy(repository_root().join("Cargo.lock"), copy.join("Cargo.lock")).unwrap();
    let packages = ["--package", "warpshard-with-toy", "--package", "warpshard-embedding"];
    let mut arguments: Vec<String> = ["build", "--quiet", "--offline"].into_iter().chain(packages).map(str::to_owned).collect();
    // Another profile makes `warpshard-papers` a different package, as in `check_copy`; its dependents then differ, too.
    for setting in ["opt-level=0", "codegen-units=3"] {
        arguments.extend(["--config".to_owned(), format!("profile.dev.package.warpshard-papers.{setting}")]);
    }
    run_cargo(&copy, &arguments);
    copy
}

#[test]
fn an_embedding_program_runs_with_its_policies() {
    let copy = tree_with_paper();
    let output = Command::new(target_folder().join("debug/warpshard-embedding")).current_dir(copy).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("CTAs handed out"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_program_lists_and_runs_the_items_of_a_new_paper() {
    let copy = tree_with_paper();
    let run = |arguments: &[&str]| {
        let output = Command::new(target_folder().join("debug/warpshard-with-toy")).args(arguments).current_dir(copy).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        text
    };
    for (list, name, help) in [
        ("machines", "toy", "the machine of a toy paper"),
        ("policies", "toy_one_cta", "one CTA per SM, of a toy paper"),
        ("studies", "toy", "one CTA per SM, compared with a toy paper"),
    ] {
        let text = run(&["list", list]);
        let row = text.lines().find(|line| line.split_whitespace().next() == Some(name));
        assert!(row.is_some_and(|row| row.contains(help)), "{list}:\n{text}");
    }
    let results = copy.join("results");
    let _ = fs::remove_dir_all(&results);
    let text = run(&["study", "toy", "--out", results.to_str().unwrap()]);
    assert!(text.contains("slowdown") && text.contains("Table 1"), "{text}");
    assert!(results.join("index.html").is_file());
}

/// Returns the manifest of a program with the features of this build, so that cargo also reuses the packages that have features.
fn program_manifest() -> String {
    let features = [("mpi", cfg!(feature = "mpi")), ("parquet", cfg!(feature = "parquet")), ("monitor", cfg!(feature = "monitor"))];
    let features: Vec<&str> = features.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    format!(
        "[package]\nname = \"warpshard-with-toy\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nwarpshard = {{ path = \"..\", default-features = false, features = {features:?} }}\n"
    )
}

/// Files of a tree, by path from its root.
#[derive(Default)]
struct Tree(BTreeMap<String, Vec<u8>>);

impl Tree {
    /// Adds a file of the repository, or all files of a folder.
    fn add_files(&mut self, part: &str) {
        let from = repository_root().join(part);
        if from.is_dir() {
            for entry in fs::read_dir(from).unwrap() {
                self.add_files(&format!("{part}/{}", entry.unwrap().file_name().to_str().unwrap()));
            }
        } else {
            self.0.insert(part.to_owned(), fs::read(from).unwrap());
        }
    }

    /// Returns the text of a file.
    fn file_text(&self, path: &str, row: &str) -> String {
        let file = self.0.get(path).unwrap_or_else(|| panic!("recipe `{row}`: there is no {path}"));
        String::from_utf8(file.clone()).unwrap()
    }

    fn apply_change(&mut self, path: &str, change: &Change, row: &str) {
        let text = match change {
            Change::New(text) => (*text).to_owned(),
            Change::CopyOf(from, old, new) => {
                let text = self.file_text(from, row);
                assert!(text.contains(old), "recipe `{row}`: {from} has no `{old}`");
                text.replacen(old, new, 1)
            }
            Change::Replace(old, new) => {
                let text = self.file_text(path, row);
                assert!(text.contains(old), "recipe `{row}`: {path} has no `{old}`");
                text.replacen(old, new, 1)
            }
            Change::After(anchor, added) => {
                let text = self.file_text(path, row);
                let at = text.find(anchor).unwrap_or_else(|| panic!("recipe `{row}`: {path} has no `{anchor}`"));
                let end = at + text[at..].find('\n').unwrap() + 1;
                format!("{}{added}\n{}", &text[..end], &text[end..])
            }
        };
        let new = matches!(change, Change::New(_) | Change::CopyOf(..));
        assert_ne!(new, self.0.contains_key(path), "recipe `{row}`: {path} is {}", if new { "not new" } else { "not there" });
        self.0.insert(path.to_owned(), text.into_bytes());
    }

    /// Writes the files to a folder. Unchanged files keep their time stamps, and other files of the folder are removed.
    fn write_to(&self, folder: &Path) {
        for (path, text) in &self.0 {
            let file = folder.join(path);
            if fs::read(&file).is_ok_and(|there| there == *text) {
                continue;
            }
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
        }
        let parts: BTreeSet<&str> = self.0.keys().filter_map(|path| path.split_once('/')).map(|(part, _)| part).collect();
        parts.iter().for_each(|part| self.remove_others(folder, part));
    }

    fn remove_others(&self, folder: &Path, part: &str) {
        for entry in fs::read_dir(folder.join(part)).unwrap() {
            let path = format!("{part}/{}", entry.unwrap().file_name().to_str().unwrap());
            if folder.join(&path).is_dir() {
                self.remove_others(folder, &path);
            } else if !self.0.contains_key(&path) {
                fs::remove_file(folder.join(path)).unwrap();
            }
        }
    }
}
