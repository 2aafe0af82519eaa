//! Fuzz targets for files that users can alter: checkpoints, result folders, sweep plans, samples and compressed traces.

use std::io::Write as _;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::OnceLock;

use warpshard::catalogue;
use warpshard::report::text::Style;
use warpshard::run::{Request, WorkloadSource, simulate};
use warpshard::sample::SamplingOptions;
use warpshard::stats::activity::Activity;
use warpshard::sweep::{Plan, PreparedSweep};
use warpshard::view::compare::Comparison;
use warpshard::view::{RunFolder, page, perfetto};

use super::targets;

/// Bytes of a checkpoint before its JSON header.
const BYTES_BEFORE_HEADER: usize = 44;

fn short_request(folder: &Path) -> Request {
    Request {
        machine: "tiny".into(),
        workload: Some(WorkloadSource::Model("vecadd".into())),
        set: vec![("workload.n".into(), "2048".into())],
        threads: std::num::NonZeroU32::new(1),
        max_cycles: NonZeroU64::new(3000),
        interval: NonZeroU64::new(200),
        checkpoint_every: NonZeroU64::new(700),
        checkpoint_file: Some(folder.join("seed.checkpoint")),
        ..Request::default()
    }
}

/// Files of a short run: its checkpoint, and its result files by name.
type WrittenFolder = (Vec<u8>, Vec<(String, Vec<u8>)>);

fn written_folder() -> &'static WrittenFolder {
    static WRITTEN_FOLDER: OnceLock<WrittenFolder> = OnceLock::new();
    WRITTEN_FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let finished = simulate(catalogue(), &short_request(folder.path())).unwrap();
        let files = finished.files().0.iter().map(|file| (file.name.clone(), file.contents())).collect();
        (std::fs::read(folder.path().join("seed.checkpoint")).unwrap(), files)
    })
}

/// Returns a checkpoint as header and unpacked state, preceded by the header's length.
pub(crate) fn checkpoints() -> Vec<Vec<u8>> {
    let file = &written_folder().0;
    let header_bytes = u64::from_le_bytes(file[12..20].try_into().unwrap()) as usize;
    let (header, body) = file[BYTES_BEFORE_HEADER..].split_at(header_bytes);
    let state = zstd::stream::decode_all(body).unwrap();
    vec![[&(header_bytes as u32).to_le_bytes(), header, &state].concat()]
}

/// Packs header and state into a checkpoint with valid lengths and digest, and resumes from it.
pub(crate) fn checkpoint(folder: &Path, input: &[u8]) {
    let Some((length, rest)) = input.split_at_checked(4) else { return };
    let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
    let (header, state) = rest.split_at(length.min(rest.len()));
    let body = zstd::bulk::compress(state, 1).unwrap();
    // The header contains the length of the state.
    let header = match serde_json::from_slice::<serde_json::Value>(header) {
        Ok(mut header) if header.is_object() => {
            header["bytes"] = state.len().into();
            serde_json::to_vec(&header).unwrap()
        }
        _ => header.to_vec(),
    };
    let digest = twox_hash::XxHash3_128::oneshot(&[&header[..], &body].concat());
    let lengths = [header.len() as u64, body.len() as u64].map(u64::to_le_bytes);
    let forged = [&b"WSCHECKP"[..], &1u32.to_le_bytes(), &lengths[0], &lengths[1], &digest.to_le_bytes(), &header, &body].concat();
    let file = folder.join("forged.checkpoint");
    for bytes in [&forged[..], input] {
        std::fs::write(&file, bytes).unwrap();
        let request = Request { resume: Some(file.clone()), checkpoint_every: None, checkpoint_file: None, ..short_request(folder) };
        if let Err(error) = simulate(catalogue(), &request) {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains("panicked"), "{text}");
        }
    }
}

pub(crate) fn results() -> Vec<Vec<u8>> {
    let wanted = ["stats.json", "run.toml", "intervals.csv"];
    wanted.iter().map(|wanted| written_folder().1.iter().find(|(name, _)| name == wanted).unwrap().1.clone()).collect()
}

/// Replaces a file of a result folder by the input, and creates every report of the folder.
pub(crate) fn result(folder: &Path, input: &[u8]) {
    let run = folder.join("run");
    std::fs::create_dir_all(&run).unwrap();
    written_folder().1.iter().for_each(|(name, bytes)| std::fs::write(run.join(name), bytes).unwrap());
    let name = match input.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => "stats.json",
        Some(b'i' | b'c') => "intervals.csv",
        _ => "run.toml",
    };
    std::fs::write(run.join(name), input).unwrap();
    match RunFolder::read(&run) {
        Ok(read) => {
            let _ = page(&read).map_err(|error| error.to_string());
            let _ = perfetto(&read, &Activity::default()).map_err(|error| error.to_string());
            let other = RunFolder::read(&run).unwrap();
            let compared = Comparison::of(&[read, other]);
            let _ = (compared.text(true, Style::Plain), compared.page(), compared.json());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

pub(crate) fn plans() -> Vec<Vec<u8>> {
    let text = "machines = [\"tiny\", { name = \"v100\", set = { gpu.sms = 8 } }]\nworkloads = [{ model = \"vecadd\", set = { n = 2048 } }, \
                { model = \"gemm_tiled\", set = { m = 64, n = 64, k = 64 } }]\npolicies = [\"\", \"static_limit:ctas=1\"]\n[run]\nmax_cycles = 4000\n\
                [grid]\ngpu.sms = [1, 2]\ngpu.sm.order = [\"gto\", \"lrr\"]\n";
    vec![text.as_bytes().to_vec(), b"machines = [\"tiny\"]\nworkloads = [{ model = \"vecadd\" }]\n".to_vec()]
}

pub(crate) fn plan(folder: &Path, input: &[u8]) {
    match Plan::parse("fuzz.toml", &String::from_utf8_lossy(input)) {
        Ok(plan) => {
            let planned = PreparedSweep::new(catalogue(), &plan, Some(&folder.join("sweep")));
            let _ = planned.map(|planned| planned.runs().count()).map_err(|error| error.to_string());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

pub(crate) fn samples() -> Vec<Vec<u8>> {
    ["", "error=2%", "error=4%,confidence=95%,seed=7,warm=100", "least=3,inside=off,caches=on"].map(|text| text.as_bytes().to_vec()).into()
}

pub(crate) fn sample(_: &Path, input: &[u8]) {
    if let Err(error) = String::from_utf8_lossy(input).parse::<SamplingOptions>() {
        assert!(!error.to_string().is_empty());
    }
}

/// Returns a trace in each compression format, as one stream and as two concatenated streams.
pub(crate) fn compressed() -> Vec<Vec<u8>> {
    let trace = targets::traces().swap_remove(0);
    let (first, second) = trace.split_at(trace.len() / 2);
    let gz = |text: &[u8]| {
        let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        to.write_all(text).unwrap();
        to.finish().unwrap()
    };
    let xz = |text: &[u8]| {
        let mut to = liblzma::write::XzEncoder::new(Vec::new(), 1);
        to.write_all(text).unwrap();
        to.finish().unwrap()
    };
    let zst = |text: &[u8]| zstd::stream::encode_all(text, 1).unwrap();
    vec![
        gz(&trace),
        [gz(first), gz(second)].concat(),
        xz(&trace),
        [xz(first), xz(second)].concat(),
        zst(&trace),
        [zst(first), zst(second)].concat(),
    ]
}

pub(crate) fn compressed_trace(folder: &Path, input: &[u8]) {
    for suffix in ["gz", "xz", "zst"] {
        let file = folder.join(format!("kernel-1.traceg.{suffix}"));
        std::fs::write(&file, input).unwrap();
        targets::load(&file);
    }
}
