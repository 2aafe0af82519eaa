//! Microbenchmarks: what they follow or add up.

use super::done::{Check, Done};

pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("l1_bw", l1),
    ("l1_lat", ring),
    ("l1_shared_bw", both),
    ("l2_bw", l2),
    ("l2_lat", ring),
    ("max_flops", flops),
    ("mem_bw", memory),
    ("mem_lat", spread),
    ("peer_lat", peer),
    ("shared_bw", shared),
    ("shared_lat", shared_ring),
];

/// 4103 steps after the first from entry 0 of a ring of 4096 end at entry 4104 % 4096.
fn ring(done: &Done) {
    assert_eq!(done.out_longs("last"), [8]);
}

/// 519 steps after the first from entry 0 of a ring of 256.
fn peer(done: &Done) {
    assert_eq!(done.out_longs("last"), [8]);
}

fn spread(done: &Done) {
    assert_eq!(done.out_longs("last"), [1; 4]);
}

fn shared_ring(done: &Done) {
    assert_eq!(done.out_longs("last"), [2048]);
}

fn l1(done: &Done) {
    let input = done.floats("in");
    let of = |thread: usize| {
        let warm: f64 = (thread..16384).step_by(1024).map(|i| input[i]).sum();
        let rounds = (0..64).flat_map(|j| (0..4).map(move |k| (thread + j * 128) % 16384 + 32 * k));
        warm + rounds.map(|i| input[i]).sum::<f64>()
    };
    done.close("out", &(0..1024).map(of).collect::<Vec<f64>>(), 1e-6);
}

fn l2(done: &Done) {
    let input = done.floats("in");
    let of = |thread: usize| {
        let warm: f64 = (thread..input.len()).step_by(4096).map(|i| input[i]).sum();
        warm + (0..64).map(|i| input[thread + 32 * i]).sum::<f64>()
    };
    done.close("out", &(0..4096).map(of).collect::<Vec<f64>>(), 1e-6);
}

fn memory(done: &Done) {
    let parts = ["a", "b", "d", "e", "f"].map(|name| done.floats(name));
    let want: Vec<f64> = (0..parts[0].len()).map(|i| parts.iter().map(|part| part[i]).sum()).collect();
    done.close("out", &want, 1e-6);
}

fn flops(done: &Done) {
    done.close("out", &(0..1024).map(|i| f64::from(i * i) * 1024.0).collect::<Vec<f64>>(), 1e-4);
}

fn shared(done: &Done) {
    let of = |thread: usize| {
        let starts = (4 * thread..12288 - 64).step_by(4096);
        starts.flat_map(|j| (0..64).flat_map(move |i| (0..4).map(move |k| (j + i + k) as f64))).sum()
    };
    done.close("out", &(0..1024).map(of).collect::<Vec<f64>>(), 1e-4);
}

fn both(done: &Done) {
    let ring = done.ints("ring");
    let of = |thread: usize| {
        let (mut here, mut there) = (thread, thread);
        (0..ring.len()).for_each(|_| there = ring[there] as usize);
        for _ in 0..256 {
            (here, there) = ((here + 1031) % 12288, ring[there] as usize);
        }
        (here + there) as i32
    };
    done.same("last", &(0..1024).map(of).collect::<Vec<i32>>());
}
