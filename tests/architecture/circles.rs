//! Imports within a package, and the import cycles between files and between folders.
//!
//! Imported names are resolved to their definitions: `super::X` is an arrow to the parent if the parent defines `X`, and to `sibling` if
//! the parent has `use sibling::X`. Imports in tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{CodePath, Source};

/// Path of a node: a package, and modules or folders in it.
type Node = Vec<String>;

/// Imports between nodes; each arrow has one source line that causes it.
type Arrows = BTreeMap<Node, BTreeMap<Node, String>>;

/// Exemptions from the checks.
pub(crate) struct Exemptions<'a> {
    /// Folders whose files may import each other.
    pub(crate) pipelines: &'a [&'a str],
    /// Modules that their submodules may import.
    pub(crate) parent_modules: &'a [(&'a str, &'a str)],
}

/// Files by module, with their imports.
struct Tree<'a> {
    files: BTreeMap<Node, File<'a>>,
}

struct File<'a> {
    source: &'a Source,
    paths: Vec<CodePath>,
    /// Paths of the names that the file imports or re-exports.
    names: BTreeMap<String, Vec<String>>,
}

impl<'a> Tree<'a> {
    fn new(sources: &'a [Source]) -> Self {
        let for_tests: BTreeSet<Node> =
            sources.iter().flat_map(|source| source.test_modules().map(|name| [source.module(), vec![name.to_owned()]].concat())).collect();
        let in_tests = |source: &Source| {
            let module = source.module();
            source.is_test_file() || (1..=module.len()).any(|end| for_tests.contains(&module[..end]))
        };
        let mut files = BTreeMap::new();
        for source in sources.iter().filter(|source| !in_tests(source)) {
            let paths = source.paths().into_iter().filter(|path| !source.is_test(path.at)).collect();
            files.insert(source.module(), File { source, paths, names: BTreeMap::new() });
        }
        let mut tree = Self { files };
        let names: BTreeMap<Node, BTreeMap<String, Vec<String>>> =
            tree.files.iter().map(|(module, file)| (module.clone(), tree.imported_names(module, file))).collect();
        for (module, names) in names {
            tree.files.get_mut(&module).expect("names are those of the files").names = names;
        }
        tree
    }

    /// Returns the names that a file imports, with their paths.
    fn imported_names(&self, module: &[String], file: &File<'_>) -> BTreeMap<String, Vec<String>> {
        // A path that begins with a small letter and names none of our modules belongs to a foreign package. Items of the file itself begin
        // with a capital.
        let foreign = |path: &CodePath| path.segments[0].starts_with(char::is_lowercase).then(|| vec![String::new()]);
        let absolute = |path: &CodePath| self.absolute_path(module, file, path).or_else(|| foreign(path));
        let local_name = file.paths.iter().filter_map(|path| Some((path.local_name.clone()?, absolute(path)?)));
        local_name.filter(|(name, path)| [module, std::slice::from_ref(name)].concat() != *path).collect()
    }

    /// Resolves a path to one that begins with its package. The path may start at a root, at a submodule of the file, or at an imported
    /// name.
    fn absolute_path(&self, module: &[String], file: &File<'_>, path: &CodePath) -> Option<Vec<String>> {
        file.source.absolute_path(path).or_else(|| {
            let inside = [module, &path.segments].concat();
            let taken = || file.names.get(&path.segments[0]).map(|taken| [taken, &path.segments[1..]].concat());
            if self.files.contains_key(&inside[..=module.len()]) { Some(inside) } else { taken().filter(|_| path.local_name.is_none()) }
        })
    }

    /// Returns the file that defines the item of a path.
    fn defining_file(&self, path: &[String], steps: u32) -> Option<Node> {
        let end = (1..=path.len()).rev().find(|end| self.files.contains_key(&path[..*end]))?;
        let taken = path.get(end).and_then(|name| self.files[&path[..end]].names.get(name));
        match taken.filter(|taken| steps > 0 && **taken != path[..=end]) {
            Some(taken) => self.defining_file(&[taken, &path[end + 1..]].concat(), steps - 1),
            None => Some(path[..end].to_vec()),
        }
    }

    /// Returns the arrows between nodes; `node` maps a file to its node. Re-exporting an item of a submodule is not an import.
    fn arrows(&self, node: impl Fn(&Source) -> Node) -> Arrows {
        let mut arrows = Arrows::new();
        for (module, file) in &self.files {
            for path in &file.paths {
                let Some(absolute) = self.absolute_path(module, file, path) else { continue };
                let Some(definer) = self.defining_file(&absolute, 8) else { continue };
                let (from, to) = (node(file.source), node(self.files[&definer].source));
                if from != to && !(path.exported && definer.starts_with(module)) {
                    let place = format!("{}:{}: {}", file.source.path, file.source.line_of(path.at), absolute.join("::"));
                    arrows.entry(from).or_default().entry(to).or_insert(place);
                }
            }
        }
        arrows
    }
}

/// Returns the cycles among `arrows`: nodes that import each other, directly or indirectly, and the source lines of the arrows between
/// them.
fn find_cycles(arrows: &Arrows) -> Vec<(Vec<Node>, Vec<String>)> {
    let mut reach: BTreeMap<&Node, BTreeSet<&Node>> = BTreeMap::new();
    for from in arrows.keys() {
        let (seen, mut open) = (reach.entry(from).or_default(), vec![from]);
        while let Some(node) = open.pop() {
            open.extend(arrows.get(node).into_iter().flat_map(BTreeMap::keys).filter(|to| seen.insert(to)));
        }
    }
    let mut found = Vec::new();
    for (from, seen) in &reach {
        let members: Vec<Node> = seen.iter().copied().filter(|to| reach.get(to).is_some_and(|back| back.contains(from))).cloned().collect();
        if members.first() == Some(from) {
            let inside = members.iter().flat_map(|member| &arrows[member]).filter(|(to, _)| members.contains(to));
            let places = inside.map(|(_, place)| place.clone()).collect();
            found.push((members, places));
        }
    }
    found
}

/// Returns `true` if `node` is inside the module or folder `outer`.
fn is_inside(node: &[String], outer: &str) -> bool {
    node.join("/").strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the source lines of import cycles between folders that do not contain each other.
pub(crate) fn folder_cycles(sources: &[Source]) -> Vec<String> {
    let mut arrows = Tree::new(sources).arrows(Source::folder);
    for (from, targets) in &mut arrows {
        targets.retain(|to, _| !from.starts_with(to) && !to.starts_with(from));
    }
    find_cycles(&arrows).into_iter().flat_map(|(_, places)| places).collect()
}

/// Describes the import cycles between files, each with the source lines of its arrows.
pub(crate) fn file_cycles(sources: &[Source], exempt: &Exemptions<'_>) -> Vec<String> {
    let mut arrows = Tree::new(sources).arrows(Source::module);
    for (from, targets) in &mut arrows {
        targets.retain(|to, _| !exempt.parent_modules.iter().any(|(family, _)| to.join("/") == *family && is_inside(from, family)));
    }
    let one_pipeline = |members: &[Node]| exempt.pipelines.iter().any(|folder| members.iter().all(|member| is_inside(member, folder)));
    let found = find_cycles(&arrows).into_iter().filter(|(members, _)| !one_pipeline(members));
    let names = |members: &[Node]| members.iter().map(|member| member.join("/")).collect::<Vec<_>>().join(" <-> ");
    found.map(|(members, places)| format!("{}:\n    {}", names(&members), places.join("\n    "))).collect()
}
