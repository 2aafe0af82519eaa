//! The recipes of docs/adding.md are applied to a copy of the tree, which must then build.
//!
//! A recipe may change exactly the files that its row of the table names: one that the row does not name, or
//! that it names without need, fails the first test. All recipes are applied to one copy, which costs one `cargo check` of the library.

mod adding {
    pub(crate) mod recipes;
}

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use adding::recipes::{RECIPES, Recipe};

/// A change that a recipe makes to a file.
pub(crate) enum Change {
    /// The file is new.
    New(&'static str),
    /// The file is new and begins as a copy of another, in which the first text is replaced by the second.
    CopyOf(&'static str, &'static str, &'static str),
    /// A text is inserted after the first line that contains another.
    After(&'static str, &'static str),
    /// The first occurrence of a text is replaced by another.
    Replace(&'static str, &'static str),
}

/// The rows of the table of docs/adding.md: what is added, and which files that changes.
fn rows() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(root().join("docs/adding.md")).unwrap();
    let table = text.lines().skip_while(|line| !line.starts_with("| to add | files |")).skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let mut cells = line.trim_matches('|').splitn(2, '|');
        let name = cells.next().unwrap().trim().to_owned();
        // Every second piece between backquotes is quoted; paths are those that name a folder.
        let quoted = cells.next().unwrap().split('`').skip(1).step_by(2);
        (name, quoted.filter(|path| path.contains('/')).map(str::to_owned).collect())
    };
    table.map(row).collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A path of the table with the recipe's own names in place of the table's.
fn filled(path: &str, recipe: &Recipe) -> String {
    let path = recipe.names.iter().fold(path.to_owned(), |path, (placeholder, name)| path.replace(placeholder, name));
    path.replace("/x.", &format!("/{}.", recipe.name))
}

#[test]
fn every_recipe_changes_exactly_the_files_that_its_row_names() {
    let rows = rows();
    assert!(rows.len() > 15, "the table of docs/adding.md was not found");
    for recipe in RECIPES {
        let (_, files) = rows.iter().find(|(name, _)| name == recipe.row).unwrap_or_else(|| panic!("no row `{}`", recipe.row));
        let named: BTreeSet<String> = files.iter().map(|path| filled(path, recipe)).collect();
        let changed: BTreeSet<String> = recipe.changes.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(named, changed, "row `{}` of docs/adding.md names the left files, its recipe changes the right ones", recipe.row);
    }
}

#[test]
fn every_file_that_a_document_names_exists() {
    let mut documents = vec![root().join("README.md"), root().join("ARCHITECTURE.md")];
    documents.extend(fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    for document in documents.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let text = fs::read_to_string(document).unwrap();
        let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        let file = |path: &&str| ["src/", "host/", "sync/", "tests/", "docs/"].iter().any(|folder| path.starts_with(folder));
        for path in quoted.filter(file).filter(|path| !path.contains(['<', '*', ' ', '{', ':']) && !path.contains("/x")) {
            assert!(root().join(path).exists(), "{} names `{path}`, which does not exist", document.display());
        }
    }
}

#[test]
fn every_file_that_the_table_names_exists() {
    for (row, files) in rows() {
        for path in files.iter().filter(|path| !path.contains("/x.") && !path.contains('<') && !path.contains("/x/")) {
            assert!(root().join(path).exists(), "row `{row}` of docs/adding.md names `{path}`, which does not exist");
        }
    }
}

#[test]
fn a_copy_of_the_tree_builds_with_every_recipe_applied() {
    let test = std::env::current_exe().unwrap();
    // target/PROFILE/deps/adding-...: dependencies are shared with the builds of this tree.
    let target = test.ancestors().nth(3).unwrap();
    let copy = target.join("adding/tree");
    if copy.exists() {
        fs::remove_dir_all(&copy).unwrap();
    }
    for part in
        ["Cargo.toml", "Cargo.lock", "README.md", "build.rs", "src", "host", "state", "state-derive", "sync", "configs", "benches", "docs"]
    {
        copy_all(&root().join(part), &copy.join(part));
    }
    for recipe in RECIPES {
        for (path, change) in recipe.changes {
            apply(&copy, path, change, recipe.row);
        }
    }
    let output = Command::new(env!("CARGO"))
        .args(["check", "--quiet", "--offline", "--lib", "--bins"])
        // A derive macro is built for a check, too. With another profile it is another file than this tree's, which would be built anew with all that
        // uses it.
        .args(["--config", "profile.dev.package.warpshard-state-derive.codegen-units=1"])
        .current_dir(&copy)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .unwrap();
    assert!(output.status.success(), "the copy in {} does not build:\n{}", copy.display(), String::from_utf8_lossy(&output.stderr));
    fs::remove_dir_all(&copy).unwrap();
}

fn apply(copy: &Path, path: &str, change: &Change, row: &str) {
    let file = copy.join(path);
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("recipe `{row}`: {}: {error}", path.display()));
    let text = match change {
        Change::New(text) => (*text).to_owned(),
        Change::CopyOf(from, old, new) => {
            let text = read(&copy.join(from));
            assert!(text.contains(old), "recipe `{row}`: {from} has no `{old}`");
            text.replacen(old, new, 1)
        }
        Change::Replace(old, new) => {
            let text = read(&file);
            assert!(text.contains(old), "recipe `{row}`: {path} has no `{old}`");
            text.replacen(old, new, 1)
        }
        Change::After(anchor, added) => {
            let text = read(&file);
            let at = text.find(anchor).unwrap_or_else(|| panic!("recipe `{row}`: {path} has no `{anchor}`"));
            let end = at + text[at..].find('\n').unwrap() + 1;
            format!("{}{added}\n{}", &text[..end], &text[end..])
        }
    };
    let new = matches!(change, Change::New(_) | Change::CopyOf(..));
    assert_ne!(new, file.exists(), "recipe `{row}`: {path} is {}", if new { "not new" } else { "not there" });
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
}

fn copy_all(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            copy_all(&from.join(&name), &to.join(&name));
        }
    } else {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
}
