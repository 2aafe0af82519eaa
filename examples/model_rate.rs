//! The rate at which the built-in kernel models generate instructions, on one thread.
#![expect(clippy::print_stdout, reason = "the numbers are what the example is for")]

use std::time::Instant;

use warpshard::base::CtaIndex;
use warpshard::model::{ModelError, builtin_names};

/// Passes over each model. The fastest pass counts, since other load on the host can only slow a pass down.
const PASSES: u32 = 10;

fn main() -> Result<(), ModelError> {
    for (name, _) in builtin_names(warpshard::catalogue().files()) {
        let workload = warpshard::catalogue().model(name, 1, &[])?.workload();
        let (mut instructions, mut bytes, mut best) = (0u64, 0u64, f64::INFINITY);
        for _ in 0..PASSES {
            (instructions, bytes) = (0, 0);
            let start = Instant::now();
            for kernel in &workload.kernels {
                for cta in 0..kernel.info.ctas() {
                    for warp in &kernel.source.cta(CtaIndex(cta)).warps {
                        instructions += u64::from(warp.len());
                        bytes += warp.bytes() as u64;
                    }
                }
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        let rate = instructions as f64 / best / 1e6;
        println!("{name:12} {instructions:9} warp instructions {bytes:10} bytes {rate:8.1} M/s");
    }
    Ok(())
}
