//! A kernel model on several GPUs.

use warpshard_base::{GpuId, KernelIndex};
use warpshard_workload::{Command, Workload, for_gpus};

fn workload() -> Workload {
    warpshard_model::builtin("stream", 1, &[]).unwrap()
}

#[test]
fn a_spread_kernel_has_each_cta_once_and_ends_as_a_whole() {
    let once = workload();
    let spread = for_gpus(&once, &[4, 4, 4], true).unwrap();
    assert_eq!(spread.kernels.len(), 3 * once.kernels.len());
    for (i, kernel) in once.kernels.iter().enumerate() {
        let parts = &spread.kernels[3 * i..3 * i + 3];
        assert_eq!(parts.iter().map(|part| part.info.ctas()).sum::<u32>(), kernel.info.ctas());
        assert_eq!(parts.iter().map(|part| part.info.on_gpu().0).collect::<Vec<_>>(), [0, 1, 2]);
        let before: Vec<KernelIndex> = (0..3).filter(|_| i > 0).map(|part| KernelIndex((3 * (i - 1) + part) as u32)).collect();
        assert!(parts.iter().all(|part| part.info.after == before), "{:?}", parts[0].info.after);
    }
}

#[test]
fn ctas_are_divided_as_sms_are() {
    let once = workload();
    let ctas: Vec<u32> = for_gpus(&once, &[10, 0, 30], true).unwrap().kernels.iter().map(|kernel| kernel.info.ctas()).collect();
    let all = once.kernels[0].info.ctas();
    assert_eq!(ctas[..2], [all / 4, all - all / 4]);
}

#[test]
fn programmatic_dependent_launches_stay_on_their_gpu_and_are_not_spread() {
    let mut marked = workload();
    marked.kernels = vec![marked.kernels[0].clone(); 2];
    marked.commands = vec![Command::Launch(KernelIndex(0)), Command::Launch(KernelIndex(1))];
    marked.kernels[1].info.programmatic = Some(KernelIndex(0));
    let whole = for_gpus(&marked, &[4, 4], false).unwrap();
    assert_eq!(whole.kernels[1].info.programmatic, Some(KernelIndex(0)));
    let error = for_gpus(&marked, &[4, 4], true).unwrap_err().to_string();
    assert!(error.contains("is a programmatic dependent launch, which cannot be spread over the GPUs"), "{error}");
}

#[test]
fn missing_gpus_are_rejected() {
    let mut named = workload();
    named.kernels[0].info.gpu = Some(GpuId(2));
    let error = for_gpus(&named, &[4, 4], false).unwrap_err().to_string();
    assert!(error.ends_with("runs on gpu2, but the machine has 2 GPUs, counted from 0"), "{error}");
    assert!(for_gpus(&named, &[4], false).unwrap_err().to_string().ends_with("one GPU, gpu0"));
    assert_eq!(for_gpus(&named, &[4, 4, 2], false).unwrap().kernels[0].info.on_gpu(), GpuId(2));
}
