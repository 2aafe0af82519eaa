//! Who imports whom within a package, and the circles among them: between files, and between folders.
//!
//! Names that a module takes from elsewhere are followed to where they are defined: `super::X` is an arrow to the parent where the parent defines
//! `X`, and to `sibling` where the parent says `use sibling::X`. What only tests import does not count.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Named, Source};

/// A package and modules or folders in it.
type Node = Vec<String>;

/// Who imports whom, each arrow with a place that makes it.
type Arrows = BTreeMap<Node, BTreeMap<Node, String>>;

/// What the checks let pass.
pub(crate) struct Exempt<'a> {
    /// Folders whose files may import each other.
    pub(crate) pipelines: &'a [&'a str],
    /// Modules that what lies inside them may import.
    pub(crate) families: &'a [(&'a str, &'a str)],
}

/// Files with what each takes from others.
struct Tree<'a> {
    files: BTreeMap<Node, File<'a>>,
}

struct File<'a> {
    source: &'a Source,
    paths: Vec<Named>,
    /// The paths of the names that it takes from elsewhere, and passes on.
    names: BTreeMap<String, Vec<String>>,
}

impl<'a> Tree<'a> {
    fn new(sources: &'a [Source]) -> Self {
        let for_tests: BTreeSet<Node> =
            sources.iter().flat_map(|source| source.test_modules().map(|name| [source.module(), vec![name.to_owned()]].concat())).collect();
        let in_tests = |source: &Source| {
            let module = source.module();
            source.is_of_tests() || (1..=module.len()).any(|end| for_tests.contains(&module[..end]))
        };
        let mut files = BTreeMap::new();
        for source in sources.iter().filter(|source| !in_tests(source)) {
            let paths = source.paths().into_iter().filter(|path| !source.is_test(path.at)).collect();
            files.insert(source.module(), File { source, paths, names: BTreeMap::new() });
        }
        let mut tree = Self { files };
        let names: BTreeMap<Node, BTreeMap<String, Vec<String>>> =
            tree.files.iter().map(|(module, file)| (module.clone(), tree.names(module, file))).collect();
        for (module, names) in names {
            tree.files.get_mut(&module).expect("names are those of the files").names = names;
        }
        tree
    }

    /// The names that a file takes from elsewhere.
    fn names(&self, module: &[String], file: &File<'_>) -> BTreeMap<String, Vec<String>> {
        // What begins with a small letter and is no module of ours is a package of others; an item of the file itself begins with a capital.
        let foreign = |path: &Named| path.segments[0].starts_with(char::is_lowercase).then(|| vec![String::new()]);
        let absolute = |path: &Named| self.absolute(module, file, path).or_else(|| foreign(path));
        let called = file.paths.iter().filter_map(|path| Some((path.called.clone()?, absolute(path)?)));
        called.filter(|(name, path)| [module, std::slice::from_ref(name)].concat() != *path).collect()
    }

    /// A path from its package on: one that starts at a root, at a module inside the file's, or at a name that the file took from elsewhere.
    fn absolute(&self, module: &[String], file: &File<'_>, path: &Named) -> Option<Vec<String>> {
        file.source.absolute(path).or_else(|| {
            let inside = [module, &path.segments].concat();
            let taken = || file.names.get(&path.segments[0]).map(|taken| [taken, &path.segments[1..]].concat());
            if self.files.contains_key(&inside[..=module.len()]) { Some(inside) } else { taken().filter(|_| path.called.is_none()) }
        })
    }

    /// The file that defines what a path names.
    fn definer(&self, path: &[String], steps: u32) -> Option<Node> {
        let end = (1..=path.len()).rev().find(|end| self.files.contains_key(&path[..*end]))?;
        let taken = path.get(end).and_then(|name| self.files[&path[..end]].names.get(name));
        match taken.filter(|taken| steps > 0 && **taken != path[..=end]) {
            Some(taken) => self.definer(&[taken, &path[end + 1..]].concat(), steps - 1),
            None => Some(path[..end].to_vec()),
        }
    }

    /// The arrows between nodes, `node` being the one of a file. A module that passes on what lies inside it does not import that.
    fn arrows(&self, node: impl Fn(&Source) -> Node) -> Arrows {
        let mut arrows = Arrows::new();
        for (module, file) in &self.files {
            for path in &file.paths {
                let Some(absolute) = self.absolute(module, file, path) else { continue };
                let Some(definer) = self.definer(&absolute, 8) else { continue };
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

/// The circles among `arrows`: who imports each other, directly or through others, and the places of the arrows between them.
fn circles(arrows: &Arrows) -> Vec<(Vec<Node>, Vec<String>)> {
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

/// Whether `node` lies inside the module or folder `outer`.
fn inside(node: &[String], outer: &str) -> bool {
    node.join("/").strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

/// Circles of folders that do not contain each other: the places of their arrows.
pub(crate) fn of_folders(sources: &[Source]) -> Vec<String> {
    let mut arrows = Tree::new(sources).arrows(Source::folder);
    for (from, targets) in &mut arrows {
        targets.retain(|to, _| !from.starts_with(to) && !to.starts_with(from));
    }
    circles(&arrows).into_iter().flat_map(|(_, places)| places).collect()
}

/// Circles of files, each with the places of its arrows.
pub(crate) fn of_files(sources: &[Source], exempt: &Exempt<'_>) -> Vec<String> {
    let mut arrows = Tree::new(sources).arrows(Source::module);
    for (from, targets) in &mut arrows {
        targets.retain(|to, _| !exempt.families.iter().any(|(family, _)| to.join("/") == *family && inside(from, family)));
    }
    let one_pipeline = |members: &[Node]| exempt.pipelines.iter().any(|folder| members.iter().all(|member| inside(member, folder)));
    let found = circles(&arrows).into_iter().filter(|(members, _)| !one_pipeline(members));
    let names = |members: &[Node]| members.iter().map(|member| member.join("/")).collect::<Vec<_>>().join(" <-> ");
    found.map(|(members, places)| format!("{}:\n    {}", names(&members), places.join("\n    "))).collect()
}
