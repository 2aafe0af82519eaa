//! Conversions and comparisons shared by the tests of the native format.

use std::io::Read;
use std::path::Path;

use warpshard::base::CtaIndex;
use warpshard::trace::{Conversion, TraceOptions, to_native, to_text};
use warpshard::workload::{KernelInfo, StaticInst, Workload};

/// Converts the text trace at `from` to a native file.
pub(crate) fn to_native_file(from: &Path, to: &Path, compress: bool) -> Conversion {
    let mut out = Vec::new();
    let done = to_native(from, &mut out, compress, &TraceOptions::default(), &mut |_| true);
    let done = done.unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    assert_eq!(done.native_bytes, out.len() as u64);
    std::fs::write(to, out).unwrap();
    done
}

/// Converts the native file `from` to text, in a folder or, for a single kernel without a list, a file.
pub(crate) fn to_text_files(from: &Path, to: &Path, compress: bool) -> Conversion {
    if to.extension().is_none() {
        std::fs::create_dir_all(to).unwrap();
    }
    to_text(from, to, to, compress, &mut |_| true).unwrap_or_else(|error| panic!("{}: {error}", from.display()))
}

/// Returns the decompressed contents of a file.
pub(crate) fn decompress_file(path: &Path) -> Vec<u8> {
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

/// An executed instruction: static instruction, index, mask, form and addresses.
pub(crate) type NativeInstruction = (StaticInst, u32, u32, u8, Vec<u64>);

/// Returns everything that an SM sees of a workload: each kernel's resources, and each warp's instructions with their addresses.
pub(crate) fn workload_instructions(workload: &Workload) -> Vec<(KernelInfo, Vec<Vec<Vec<NativeInstruction>>>)> {
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

/// Asserts that conversion to native and back keeps the simulated contents and the text of a trace.
pub(crate) fn round_trip(from: &Path, scratch: &Path) -> Conversion {
    use warpshard::trace::load;
    let name = from.display();
    let (native, again) = (scratch.join("one.wst"), scratch.join("two.wst"));
    let single = from.is_file() && from.file_name().is_some_and(|name| name.to_string_lossy().contains(".traceg"));
    let text = if single { scratch.join("text.traceg") } else { scratch.join("text") };
    let done = to_native_file(from, &native, true);
    let back = to_text_files(&native, &text, false);
    assert_eq!((back.kernels, back.text_bytes, back.warp_instructions), (done.kernels, done.text_bytes, done.warp_instructions), "{name}");
    if single {
        assert!(decompress_file(&text) == decompress_file(from), "{name}: text");
    } else {
        let list = std::fs::read(from.join("kernelslist.g")).unwrap();
        assert!(std::fs::read(text.join("kernelslist.g")).unwrap() == list, "{name}: the list");
        let list = String::from_utf8(list).unwrap();
        for listed in list.lines().filter(|line| line.starts_with("kernel")) {
            let listed = listed.trim();
            assert!(decompress_file(&text.join(listed.trim_end_matches(".xz"))) == decompress_file(&from.join(listed)), "{name}: {listed}");
        }
        to_native_file(&text, &again, true);
        assert!(std::fs::read(&again).unwrap() == std::fs::read(&native).unwrap(), "{name}: native again");
    }
    let (of_text, of_native) = (load(from, &TraceOptions::default()).unwrap(), load(&native, &TraceOptions::default()).unwrap());
    assert_eq!((of_text.name, &of_text.commands, &of_text.notes), (of_native.name, &of_native.commands, &of_native.notes), "{name}");
    done
}
