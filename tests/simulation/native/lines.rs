//! Information in native files about the memory that their kernels use.

use std::collections::BTreeSet;
use std::path::Path;

use warpshard::base::CtaIndex;
use warpshard::program::Program;
use warpshard::trace::{TraceOptions, load};
use warpshard::workload::{OpClass, UsedLines, Workload, count_classes, touches};

use super::common::{to_native_file, to_text_files, workload_instructions};

/// Returns the program, and its native trace decoded at load time and on demand.
fn native_traces(scratch: &Path, file: &str, set: &[(&str, &str)]) -> (Workload, [Workload; 2]) {
    let set: Vec<(String, String)> = set.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let program = Program::load(&Path::new("programs").join(file), Some(70), &set).unwrap();
    let text = scratch.join("text");
    program.record(&text).unwrap();
    let native = scratch.join("native.wst");
    to_native_file(&text, &native, true);
    let read = |eager_bytes| load(&native, &TraceOptions { eager_bytes, ..TraceOptions::default() }).unwrap();
    (program.workload().unwrap(), [read(128 << 20), read(0)])
}

#[test]
fn a_native_file_stores_the_facts_of_its_ctas() {
    let scratch = tempfile::tempdir().unwrap();
    let (program, traces) = native_traces(scratch.path(), "rodinia/gaussian.toml", &[("n", "24")]);
    for trace in traces {
        let mut before = BTreeSet::new();
        for (of_program, kernel) in program.kernels.iter().zip(&trace.kernels) {
            let (mut sectors, mut classes) = (0, [0; OpClass::COUNT]);
            let (mut all, mut lines) = (UsedLines::new(1 << 20), BTreeSet::new());
            for cta in 0..kernel.info.ctas() {
                let program = kernel.source.cta(CtaIndex(cta));
                touches(&kernel.info, &program, |touch| {
                    sectors += 1;
                    lines.insert(touch.line);
                    all.touch(touch);
                });
                count_classes(&program, &mut classes);
            }
            let counts = kernel.source.counts().unwrap();
            let new_lines = lines.difference(&before).count() as u64;
            assert_eq!((counts.sectors, counts.classes, counts.new_lines), (Some(sectors), Some(classes), Some(new_lines)));
            assert_eq!(counts.lines, Some(lines.len() as u64));
            let executed = of_program.source.counts().unwrap();
            assert_eq!((counts.warp_instructions, counts.sectors), (executed.warp_instructions, executed.sectors));
            let all = all.last();
            assert_eq!(all.len(), lines.len());
            assert_eq!(kernel.source.used_lines(3).as_deref(), Some(&all[all.len().saturating_sub(3)..]));
            assert_eq!(kernel.source.used_lines(usize::MAX), Some(all));
            before.extend(lines);
        }
        assert!(before.len() > 10);
    }
}

#[test]
fn a_file_of_version_1_is_read_without_line_facts() {
    let old = Path::new("tests/simulation/native/version-1.wst");
    let scratch = tempfile::tempdir().unwrap();
    let (text, new) = (scratch.path().join("t"), scratch.path().join("new.wst"));
    to_text_files(old, &text, false);
    to_native_file(&text, &new, true);
    let read = |path| load(path, &TraceOptions::default()).unwrap();
    let (old, new) = (read(old), read(&new));
    assert_eq!(workload_instructions(&old), workload_instructions(&new));
    assert!(new.kernels[0].source.used_lines(9).is_none(), "nothing of one launch can be skipped");
    let facts = |workload: &Workload| {
        let source = &workload.kernels[0].source;
        (source.counts().unwrap().warp_instructions, source.counts().unwrap().new_lines)
    };
    assert_eq!((facts(&old), facts(&new)), ((3, None), (3, Some(2))));
}
