//! The files built into the program, which therefore runs from any folder, and their lookup.
//!
//! A package with additional files (a paper has machines and kernel models) lists them with [`embedded!`]; [`Files`] combines the lists of
//! several packages. This package does not read the disk and does not interpret the files.
#![forbid(unsafe_code)]

/// The kind of thing that a file describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A machine.
    Machine,
    /// A kernel model.
    Model,
    /// A profile of a CPU application.
    CpuProfile,
    /// A mix of CPU applications.
    CpuMix,
    /// A set of event energies.
    Energy,
    /// A run.
    Run,
}

/// A file built into the program.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// The kind of the file.
    pub kind: Kind,
    /// The name of the file on the command line and in other files.
    pub name: &'static str,
    /// The TOML text of the file.
    pub text: &'static str,
}

/// Makes a list of [`File`]s of one kind in one folder, relative to the calling file: `embedded!(Machine, "machines/", ["v100", "p100"])`.
/// An optional third string is a prefix of the names: the file of `embedded!(Model, "models/", "paper/", ["bfs"])` has the name
/// `paper/bfs`.
#[macro_export]
macro_rules! embedded {
    ($kind:ident, $folder:literal, [$($name:literal),* $(,)?]) => { $crate::embedded!($kind, $folder, "", [$($name),*]) };
    ($kind:ident, $folder:literal, $prefix:literal, [$($name:literal),* $(,)?]) => {
        &[$($crate::File {
            kind: $crate::Kind::$kind,
            name: concat!($prefix, $name),
            text: include_str!(concat!($folder, $name, ".toml")),
        }),*]
    };
}

/// The files of this package, which belong to no particular paper.
pub const COMMON_FILES: &[&[File]] = &[
    embedded!(
        Machine,
        "../machines/",
        [
            "v100",
            "v100-hw",
            "rtx2060",
            "rtx3070",
            "p100",
            "k20x",
            "gtx480",
            "m2090",
            "tiny",
            "v100x2",
            "dgx1-v100",
            "chiplet2",
            "v100-p100",
            "h100",
            "a100",
            "rtx3080"
        ]
    ),
    embedded!(Model, "../workloads/", ["divergent", "gather", "gemm_tiled", "reduce", "stream", "strided", "vecadd"]),
    embedded!(
        CpuProfile,
        "../workloads/cpu/",
        [
            "applu",
            "art",
            "astar",
            "barnes",
            "bzip2",
            "cactus",
            "calculix",
            "dealII",
            "gcc",
            "Gems",
            "gobmk",
            "gromacs",
            "h264ref",
            "hmmer",
            "lbm",
            "leslie3d",
            "libquantum",
            "mcf",
            "milc",
            "namd",
            "ocean",
            "omnetpp",
            "perlbench",
            "povray",
            "sjas",
            "sjbb",
            "sjeng",
            "soplex",
            "sphinx3",
            "swim",
            "tonto",
            "tpcw",
            "wrf",
            "xalan"
        ]
    ),
    embedded!(CpuMix, "../workloads/cpu/mixes/", ["L1", "L2", "M1", "M2", "H1", "H2"]),
    embedded!(Energy, "../energy/", ["fermi-40nm", "volta-12nm"]),
    embedded!(Run, "../runs/", ["default"]),
];

/// Files of several packages.
#[derive(Clone, Debug)]
pub struct Files(Vec<&'static [File]>);

impl Files {
    /// Returns the files of this package.
    pub fn core() -> &'static Self {
        static FILES: std::sync::LazyLock<Files> = std::sync::LazyLock::new(|| Files(COMMON_FILES.to_vec()));
        &FILES
    }

    /// Returns these files and the files of `more`. If a name occurs twice, the earlier file is found.
    #[must_use]
    pub fn with(&self, more: &[&'static [File]]) -> Self {
        Self([&self.0, more].concat())
    }

    /// Returns all files of a kind, in the order of the lists.
    pub fn files_of_kind(&self, kind: Kind) -> impl Iterator<Item = &'static File> + '_ {
        self.0.iter().flat_map(|list| list.iter()).filter(move |file| file.kind == kind)
    }

    /// Returns the names of all files of a kind.
    pub fn names(&self, kind: Kind) -> impl Iterator<Item = &'static str> + '_ {
        self.files_of_kind(kind).map(|file| file.name)
    }

    /// Returns the file with the given kind and name.
    pub fn find(&self, kind: Kind, name: &str) -> Option<&'static File> {
        self.files_of_kind(kind).find(|file| file.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folders_is_listed() {
        let folders = [
            (Kind::Machine, "machines"),
            (Kind::Model, "workloads"),
            (Kind::CpuProfile, "workloads/cpu"),
            (Kind::CpuMix, "workloads/cpu/mixes"),
            (Kind::Energy, "energy"),
            (Kind::Run, "runs"),
        ];
        for (kind, folder) in folders {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut there: Vec<String> = entries.filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())).collect();
            let mut listed: Vec<String> = Files::core().names(kind).map(str::to_owned).collect();
            there.sort();
            listed.sort();
            assert_eq!(there, listed, "left: configs/{folder}, right: the list in configs/src/lib.rs");
        }
    }
}
