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
    ("arithmetic_latency", one_chain),
    ("arithmetic_throughput", four_chains),
    // A multiple of 128 steps through a ring of 128 ends where it began.
    ("chase_l1", |done| assert_eq!(done.out_longs("last"), [0, 0])),
    ("chase_llc", |done| assert_eq!(done.out_longs("last"), [512 * 7919 % 2048 * 128, 0])),
    ("chase_shared", |done| assert_eq!(done.out_longs("last"), [512])),
    ("chase_constant", |done| assert_eq!(done.out_longs("last"), [(2 * 16 + 512) * 16 % 256])),
    ("stream_read", nothing),
    ("stream_write", |done| assert_eq!(done.out_ints("to"), [1, 1, 2, 3].repeat(16384))),
    ("stream_copy", |done| done.same("to", &done.ints("in"))),
    ("scattered_read", nothing),
    ("width_l1", nothing),
    ("width_shared", nothing),
    ("stride_l1", nothing),
    ("stride_llc", nothing),
    ("atomic_global", atomic),
    ("atomic_shared", atomic),
    ("reduction_global", |done| assert_eq!(done.out_ints("at")[..2], [4 * 512 * 8, 0])),
    ("reduction_shared", |done| assert_eq!(done.out_ints("out"), [64; 32])),
    ("barrier", |done| assert_eq!(done.out_ints("out"), [256; 128])),
    ("fence", |done| assert_eq!(done.out_ints("to"), [63; 32])),
    ("launch", |done| assert_eq!(done.out_ints("untouched"), [7])),
    ("copy_async", nothing),
    ("bulk_load", nothing),
    ("bulk_load_divided", nothing),
    ("box_load", nothing),
    ("bulk_store", |done| assert_eq!(done.out_ints("out"), [0; 32768])),
    ("mbarrier", |done| assert_eq!(done.out_ints("untouched"), [7])),
    ("dependent", dependent),
    ("cluster_barrier", |done| assert_eq!(done.out_ints("untouched"), [7])),
    ("remote_chase", |done| assert_eq!(done.out_ints("out"), [7])),
    ("remote_reads", |done| assert_eq!(done.out_ints("out"), [7])),
    ("products_shared", no_sum),
    ("products_registers", no_sum),
    ("products_types", no_sum),
    ("batches_shared", no_sum),
    ("batches_registers", no_sum),
    ("matrix_load", nothing),
    ("mma", |done| assert_eq!(done.out("out"), [4.0 * 16.0 * 8.0 * 16.0; 128])),
    ("code", |done| assert_eq!(done.out("out"), [4.0 * (1.0 + 8.0 * 256.0); 32])),
];

/// The sum of what was read is not the number that would be stored.
fn nothing(done: &Done) {
    assert_eq!(done.out_ints("out"), [0; 32]);
}

/// The sum of the products is not the number that would be stored.
fn no_sum(done: &Done) {
    assert_eq!(done.out("out"), [0.0]);
}

/// Rounds of a generator, from a first number.
fn churned(first: u32, rounds: u32) -> u32 {
    (0..rounds).fold(first, |x, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223))
}

/// Two consumers combine what a producer made with numbers of their own.
fn dependent(done: &Done) {
    let made: Vec<u32> = done.ints("in").iter().map(|value| churned(value.cast_unsigned(), 1000)).collect();
    let want = made.iter().zip(0..).map(|(made, i)| (made ^ churned(i + 1, 500) ^ churned(i + 7, 500)).cast_signed());
    done.same("c", &want.collect::<Vec<_>>());
}

/// `steps` times the next number above one is added to each lane's first value.
fn added(lane: u32, steps: usize) -> u32 {
    let first = f32::from_bits(1_065_353_216 + lane);
    (0..steps).fold(first, |sum, _| sum.mul_add(1.0, f32::from_bits(1_065_353_217))).to_bits()
}

fn one_chain(done: &Done) {
    assert_eq!(done.out_longs("out"), (0..32).map(|lane| i64::from(added(lane, 512))).collect::<Vec<_>>());
}

fn four_chains(done: &Done) {
    assert_eq!(done.out_longs("out"), (0..1024).map(|thread| 4 * i64::from(added(thread % 32, 128))).collect::<Vec<_>>());
}

/// Each atomic adds the value that the one before it returned.
fn atomic(done: &Done) {
    let (mut memory, mut value) = (1_u32, 0_u32);
    for _ in 0..256 {
        (memory, value) = (memory.wrapping_add(value), memory);
    }
    assert_eq!(done.out_ints("out")[0], value as i32);
}

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
