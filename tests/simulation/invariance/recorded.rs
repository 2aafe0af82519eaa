//! Recordings of single units do not change results, and are the same for every number of threads and every epoch length. The numbers of
//! recorded bulk copies, barriers and products match the counters.

use warpshard::chip::{RunOptions, RunResult, simulate};
use warpshard::stats::activity::{AsyncEventKind, RecordingSelection, WarpActivity, WarpReason};

use super::files::files;
use crate::common::{SimulationCase, WARP_GROUP_TILES, machine, program};

fn run_recorded(case: &SimulationCase, threads: usize, epoch: Option<u64>) -> RunResult {
    let sms = 0..case.machine.gpu.sms as u16;
    let recording = Some(RecordingSelection { sms: sms.collect(), partitions: vec![0], from: 0, most: usize::MAX });
    simulate(&case.machine, &case.workload, RunOptions { threads, epoch, recording, ..RunOptions::default() }).unwrap()
}

#[test]
fn recorded_copies_phases_and_products_match_the_counters() {
    for path in ["programs/tensor/wgmma_gemm.toml", "programs/tensor/wgmma_gemm_pairs.toml", "programs/tensor/wgmma_attention.toml"] {
        // Only the recording enables the states of warps here.
        let settings: Vec<_> = WARP_GROUP_TILES.iter().copied().filter(|(key, _)| *key != "gpu.sm.warp_states").collect();
        let case = SimulationCase { name: path.into(), machine: machine("tiny", &settings), workload: program(path), policy: None };
        let base = simulate(&case.machine, &case.workload, RunOptions::default()).unwrap();
        let one = run_recorded(&case, 1, None);
        assert_eq!(files(&case, &one).stats, files(&case, &base).stats, "{path}: stats.json with a recording");
        for (threads, epoch) in [(3, None), (2, Some(7))] {
            assert_eq!(run_recorded(&case, threads, epoch).activity, one.activity, "{path}: {threads} threads, epochs of {epoch:?}");
        }

        let (mut begun, mut ended, mut waits, mut phases, mut multiplied) = (0, 0, 0, 0, 0);
        let mut warps = 0;
        for event in one.activity.sms.iter().flat_map(|sm| &sm.async_events.events) {
            match event.what {
                AsyncEventKind::CopyBegins { .. } => begun += 1,
                AsyncEventKind::CopyEnds { .. } => ended += 1,
                AsyncEventKind::WaitBegins { .. } | AsyncEventKind::StoresWaitBegins { .. } => waits += 1,
                AsyncEventKind::WaitEnds { .. } => waits -= 1,
                AsyncEventKind::PhaseEnds { .. } => phases += 1,
                AsyncEventKind::Product { group, begins, ends } => {
                    warps = warps.max(group.count_ones());
                    multiplied += ends - begins;
                }
                AsyncEventKind::BarrierBegins { .. } => {}
            }
        }
        assert!(begun > 0 && phases > 0 && warps == 4, "{path}: {begun} copies, {phases} phases, products of {warps} warps");
        assert_eq!((ended, waits), (begun, 0), "{path}: every copy and every wait ends");
        let counted: serde_json::Value = serde_json::from_str(&files(&case, &base).stats).unwrap();
        assert_eq!(counted["components"]["sm"]["total"]["group_product_cycles"], multiplied, "{path}: cycles of the matrix units");
        let states = one.activity.sms.iter().flat_map(|sm| &sm.warps.events).filter_map(|change| change.state);
        let mut reasons: Vec<WarpReason> = Vec::new();
        for state in states {
            let WarpActivity::Reason(reason) = state else { panic!("{path}: {state:?} on a core with control words") };
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        assert!(reasons.len() >= 5 && reasons.contains(&WarpReason::Gmma), "{path}: {reasons:?}");
    }
}
