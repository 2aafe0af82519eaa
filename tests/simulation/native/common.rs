//! Conversions and comparisons that the tests of the native format share.

use std::io::Read;
use std::path::Path;

use warpshard::base::CtaIndex;
use warpshard::trace::{Converted, TraceOptions, to_native, to_text};
use warpshard::workload::{KernelInfo, StaticInst, Workload};

/// The text trace at `from` as a native file.
pub(crate) fn packed(from: &Path, to: &Path, compress: bool) -> Converted {
    let mut out = Vec::new();
    let done = to_native(from, &mut out, compress, &TraceOptions::default(), &mut |_| true);
    let done = done.unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    assert_eq!(done.native_bytes, out.len() as u64);
    std::fs::write(to, out).unwrap();
    done
}

/// The native file `from` as text, in a folder or, without a list, a file.
pub(crate) fn unpacked(from: &Path, to: &Path, compress: bool) -> Converted {
    if to.extension().is_none() {
        std::fs::create_dir_all(to).unwrap();
    }
    to_text(from, to, to, compress, &mut |_| true).unwrap_or_else(|error| panic!("{}: {error}", from.display()))
}

/// The contents of a file, without its compression.
pub(crate) fn plain(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("xz") => liblzma::read::XzDecoder::new_multi_decoder(file).read_to_end(&mut text),
        Some("gz") => flate2::read::MultiGzDecoder::new(file).read_to_end(&mut text),
        Some("zst") => zstd::stream::read::Decoder::new(file).unwrap().read_to_end(&mut text),
        _ => std::io::BufReader::new(file).read_to_end(&mut text),
    }
    .unwrap();
    text
}

/// One execution: the instruction, its number, the mask, form and addresses.
pub(crate) type Executed = (StaticInst, u32, u32, u8, Vec<u64>);

/// Everything an SM would see of a workload: per kernel its needs, per CTA and warp each instruction with its addresses.
pub(crate) fn executed(workload: &Workload) -> Vec<(KernelInfo, Vec<Vec<Vec<Executed>>>)> {
    let mut addresses = [0; 32];
    let mut all = Vec::new();
    for kernel in &workload.kernels {
        let mut ctas = Vec::new();
        for cta in 0..kernel.info.ctas() {
            let program = kernel.source.cta(CtaIndex(cta));
            let mut warps = Vec::new();
            for stream in &program.warps {
                let mut reader = stream.read();
                let mut warp = Vec::new();
                while let Some(inst) = reader.next() {
                    let lanes = reader.addresses(&inst, &mut addresses);
                    let code = program.code[inst.index as usize];
                    warp.push((code, inst.index, inst.mask.0, inst.form as u8, addresses[..lanes].to_vec()));
                }
                warps.push(warp);
            }
            ctas.push(warps);
        }
        assert_eq!(kernel.source.failure(), None);
        all.push((kernel.info.clone(), ctas));
    }
    all
}

/// Asserts that two traces are the same to a simulator, and that their text is the same to a reader.
pub(crate) fn round_trip(from: &Path, scratch: &Path) -> Converted {
    use warpshard::trace::load;
    let name = from.display();
    let (native, again) = (scratch.join("one.wst"), scratch.join("two.wst"));
    let single = from.is_file() && from.file_name().is_some_and(|name| name.to_string_lossy().contains(".traceg"));
    let text = if single { scratch.join("text.traceg") } else { scratch.join("text") };
    let done = packed(from, &native, true);
    let back = unpacked(&native, &text, false);
    assert_eq!((back.kernels, back.text_bytes, back.warp_instructions), (done.kernels, done.text_bytes, done.warp_instructions), "{name}");
    if single {
        assert!(plain(&text) == plain(from), "{name}: text");
    } else {
        let list = std::fs::read(from.join("kernelslist.g")).unwrap();
        assert!(std::fs::read(text.join("kernelslist.g")).unwrap() == list, "{name}: the list");
        let list = String::from_utf8(list).unwrap();
        for listed in list.lines().filter(|line| line.starts_with("kernel")) {
            let listed = listed.trim();
            assert!(plain(&text.join(listed.trim_end_matches(".xz"))) == plain(&from.join(listed)), "{name}: {listed}");
        }
        packed(&text, &again, true);
        assert!(std::fs::read(&again).unwrap() == std::fs::read(&native).unwrap(), "{name}: native again");
    }
    let (of_text, of_native) = (load(from, &TraceOptions::default()).unwrap(), load(&native, &TraceOptions::default()).unwrap());
    assert_eq!((of_text.name, &of_text.commands, &of_text.notes), (of_native.name, &of_native.commands, &of_native.notes), "{name}");
    done
}
