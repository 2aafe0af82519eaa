//! Kernel models: what they generate, and what they say about bad input.

use warpshard::base::{CtaIndex, LaneMask};
use warpshard::frontend::model::{Model, builtin, builtin_model, builtin_names};
use warpshard::frontend::{Cursor, KernelInfo, Workload};

/// One executed instruction: mnemonic, active lanes, addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Executed {
    mnemonic: String,
    mask: LaneMask,
    addresses: Vec<u64>,
}

fn set(pairs: &[(&str, i64)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_string())).collect()
}

/// What every warp of a CTA executes.
fn executed(model: &Model, kernel: usize, cta: u32) -> Vec<Vec<Executed>> {
    let kernel = &model.kernels[kernel];
    let program = kernel.kernel.source.cta(CtaIndex(cta));
    assert_eq!(kernel.kernel.source.failure(), None);
    let warp = |stream: &warpshard::frontend::WarpStream| {
        let (mut cursor, mut out, mut found) = (Cursor::default(), [0; 32], Vec::new());
        while let Some(inst) = stream.next(&mut cursor) {
            let lanes = stream.addresses(&inst, &mut out);
            let mnemonic = kernel.mnemonics[inst.index as usize].clone();
            found.push(Executed { mnemonic, mask: inst.mask, addresses: out[..lanes].to_vec() });
        }
        found
    };
    program.warps.iter().map(warp).collect()
}

#[test]
fn vecadd_executes_fourteen_instructions_per_warp_at_exact_addresses() {
    let model = builtin_model("vecadd", 1, &set(&[("n", 1000), ("threads_per_cta", 96)])).unwrap();
    let info: &KernelInfo = &model.kernels[0].kernel.info;
    assert_eq!((info.ctas(), info.warps_per_cta()), (11, 3));
    let warps = executed(&model, 0, 2);
    assert!(warps.iter().all(|warp| warp.len() == 14));
    let loads: Vec<&Executed> = warps[1].iter().filter(|inst| inst.mnemonic == "LDG.E.SYS").collect();
    let first = 2 * 96 + 32;
    let expected = |base: u64| (0..32).map(|lane| base + 4 * (first + lane)).collect::<Vec<_>>();
    assert_eq!(loads[0].addresses, expected(0x7f00_0000_0000));
    assert_eq!(loads[1].addresses, expected(0x7f00_0020_0000));
    // Element 1000 and later do not exist: 992..1024 is the second warp of CTA 10, and its last 24 lanes leave early.
    let last = executed(&model, 0, 10);
    assert_eq!(last[1][4].mask, LaneMask(0xffff_ff00));
    assert_eq!(last[1][13].mask, LaneMask(0xff));
    assert_eq!(last[1][12].addresses.last(), Some(&(0x7f00_0040_0000 + 4 * 999)));
    assert_eq!(last[2].len(), 5);
}

#[test]
fn every_builtin_loads_and_generates_its_first_middle_and_last_cta() {
    assert!(builtin_names().count() >= 1);
    for (name, summary) in builtin_names() {
        let model = builtin_model(name, 1, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((model.name.as_str(), model.summary.as_str()), (name, summary));
        let workload: Workload = builtin(name, 1, &[]).unwrap();
        for kernel in &workload.kernels {
            let ctas = kernel.info.ctas();
            for cta in [0, ctas / 2, ctas - 1] {
                let program = kernel.source.cta(CtaIndex(cta));
                assert_eq!(program.warps.len(), kernel.info.warps_per_cta() as usize);
                assert!(program.warps.iter().all(|warp| !warp.is_empty()));
            }
            assert_eq!(kernel.source.failure(), None);
        }
    }
}
