//! Runs with more launches than 16 bits can number.

use std::sync::Arc;

use warpshard::base::KernelIndex;
use warpshard::chip::{RunOptions, simulate};
use warpshard::workload::{Command, Workload};

use crate::common::{built_in, machine};

/// Returns a workload of `count` equal kernels that launches the given ones.
fn launching_workload(count: usize, launched: &[u32]) -> Arc<Workload> {
    let one = built_in("gather", &[("cta_count", "4"), ("table", "4096"), ("rounds", "2")]);
    let commands = launched.iter().map(|kernel| Command::Launch(KernelIndex(*kernel))).collect();
    Arc::new(Workload { commands, kernels: vec![one.kernels[0].clone(); count], ..(*one).clone() })
}

#[test]
fn launches_beyond_65535_are_simulated_and_counted_like_the_first() {
    let machine = machine("tiny", &[]);
    let numbers = [0, 1, 65_535, 65_536, 70_000];
    let run = |workload, threads| simulate(&machine, &workload, RunOptions { threads, ..RunOptions::default() }).unwrap().outcome;
    let few = run(launching_workload(5, &[0, 1, 2, 3, 4]), 1);
    for threads in [1, 2] {
        let many = run(launching_workload(70_001, &numbers), threads);
        assert_eq!(many.components, few.components, "{threads} threads");
        assert_eq!(many.kernels.iter().filter(|kernel| kernel.ended.is_some()).count(), numbers.len());
        for (first, number) in few.kernels.iter().zip(numbers) {
            let kernel = &many.kernels[number as usize];
            assert_eq!(kernel.index, KernelIndex(number));
            assert_eq!((kernel.launched, kernel.started, kernel.ended), (first.launched, first.started, first.ended), "kernel {number}");
            assert_eq!(kernel.counters, first.counters, "kernel {number}");
            assert!(kernel.counters.get("llc_accesses").is_some_and(|accesses| accesses > 0), "kernel {number}");
        }
    }
}
