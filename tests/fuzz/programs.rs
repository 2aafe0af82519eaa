//! Fuzz targets for listings of programs and launch files.

use std::path::{Path, PathBuf};

use warpshard::base::CtaIndex;
use warpshard::program::Program;

/// Parts of instructions.
pub(crate) const INSTRUCTION_TEXTS: &[&str] = &[
    "LDG.E.128.SYS R4, [R2+0x10]",
    "STS [R3], R255",
    "HMMA.16816.F32 R8, R12, R16, c[0x0][0x160]",
    "LDGSTS.E.128 [R3], [R2.64], P0",
    "LDSM.16.MT88.4 R8, [R2]",
    "BAR.SYNC 0x1, 0x20",
    "BSYNC B3",
    "WARPSYNC R4",
    "BRX R4 -0x10",
    "UR62",
    "R254",
    "RZ",
    "-0x80000000",
    "0xffffffffffffffff",
    "desc[UR4][R2.64]",
    "TEX.SCR.B.LL R6, R4, R4, R8, 2D, 0xb",
    "TLD4.SCR.G R6, R4, R0, R5, 0x0, 0x58, 2D",
    "SUST.D.BA.2D.128.IGN [R4], R0, 0x0, 0x58",
    "CALL.ABS.NOINC R8",
    "CALL.REL.NOINC R8 ->0x0",
    "SR_TID.X",
    "->0x10",
    "@!P3",
];

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/programs")
}

/// Returns the contents of the files in `programs` whose names end with `end`.
fn program_files(end: &str) -> Vec<String> {
    let entries = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.to_string_lossy().ends_with(end)).collect();
    files.sort();
    files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

pub(crate) fn listings() -> Vec<Vec<u8>> {
    let more = ["tensor.sm_80", "textures.sm_70", "textures.sm_90", "calls.sm_80"];
    let more = more.map(|name| std::fs::read(data().join(format!("{name}.sass"))).unwrap());
    program_files(".sass").into_iter().map(String::into_bytes).chain(more).collect()
}

/// Executes the first kernel of a listing, with a small buffer for every pointer.
pub(crate) fn listing(folder: &Path, input: &[u8]) {
    let text = String::from_utf8_lossy(input).into_owned();
    let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().to_owned();
    let arguments: Vec<&str> =
        line("parameters ").split(' ').skip(2).map(|pair| if pair.ends_with(":8") { "\"&b\"" } else { "3" }).collect();
    let launch = format!(
        "modules = {{ {:?} = \"fuzz.sass\" }}\nlimit = 2000\n[buffers]\nb = {{ type = \"u32\", count = 4096 }}\n\
         [textures]\nt = {{ buffer = \"b\", size = [8, 8, 4] }}\n\
         [[launches]]\nkernel = {:?}\ngrid = [2]\nblock = [64]\narguments = [{}]\n",
        line("arch "),
        line("kernel "),
        arguments.join(", ")
    );
    let path = folder.join("fuzz.sass");
    std::fs::write(&path, input).unwrap();
    if let Ok(report) = Program::check_listing(&path) {
        assert!(report.kernels > 0);
    }
    let file = folder.join("listing.toml");
    std::fs::write(&file, launch).unwrap();
    match Program::load(&file, None, &[]).and_then(|program| program.check(true)) {
        Ok(done) => assert!(done.kernels.len() == 1),
        Err(error) => assert!(error.to_string().starts_with("error: ")),
    }
}

/// Returns the launch files, with large numbers reduced and the full paths of their listings.
pub(crate) fn launches() -> Vec<Vec<u8>> {
    let folder = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(name).display().to_string();
    let listings = [folder("programs"), folder("tests/data/programs")];
    let small = |line: &str| match line.starts_with("modules") {
        true => line.replace("= \"", &format!("= \"{}/", listings[usize::from(line.contains("textures") || line.contains("calls"))])),
        false => regex::Regex::new("[0-9]{3,}").unwrap().replace_all(line, "64").into_owned(),
    };
    let one = |text: String| text.lines().filter(|line| !line.starts_with("crc32")).map(|line| small(line) + "\n").collect::<String>();
    let more = ["textures", "calls"].map(|name| std::fs::read_to_string(data().join(format!("{name}.toml"))).unwrap());
    program_files(".toml").into_iter().chain(more).map(|text| one(text).into_bytes()).collect()
}

/// Reads a launch file and executes a CTA. Inputs with large numbers are skipped, because large buffers are not an error.
pub(crate) fn launch(folder: &Path, input: &[u8]) {
    let text = String::from_utf8_lossy(input).into_owned();
    let large = |line: &str| !line.starts_with("modules") && regex::Regex::new("[0-9]{3,}").unwrap().is_match(line);
    if text.lines().any(large) {
        return;
    }
    let file = folder.join("launch.toml");
    std::fs::write(&file, input).unwrap();
    match Program::load(&file, None, &[]) {
        Ok(program) => match program.workload() {
            Ok(workload) => {
                let kernel = workload.kernels.first().map(|kernel| kernel.source.cta(CtaIndex(0)));
                assert!(kernel.is_none_or(|cta| !cta.warps.is_empty()));
            }
            Err(error) => assert!(error.to_string().starts_with("error: ")),
        },
        Err(error) => assert!(error.to_string().starts_with("error: ")),
    }
}
