//! Checks of the microbenchmarks: the ends of pointer chains, and sums.

use super::done::{ExecutedProgram, ProgramCheck};

pub(crate) const CHECKS: &[(&str, ProgramCheck)] = &[
    ("l1_bw", check_l1),
    ("l1_lat", check_ring),
    ("l1_shared_bw", check_both),
    ("l2_bw", check_l2),
    ("l2_lat", check_ring),
    ("max_flops", check_flops),
    ("mem_bw", check_memory),
    ("mem_lat", check_spread),
    ("peer_lat", check_peer),
    ("shared_bw", check_shared),
    ("shared_lat", check_shared_ring),
    ("arithmetic_latency", check_one_chain),
    ("arithmetic_throughput", check_four_chains),
    // A multiple of 128 steps in a ring of 128 ends at the start.
    ("chase_l1", |done| assert_eq!(done.out_longs("last"), [0, 0])),
    ("chase_llc", |done| assert_eq!(done.out_longs("last"), [512 * 7919 % 2048 * 128, 0])),
    ("chase_shared", |done| assert_eq!(done.out_longs("last"), [512])),
    ("chase_constant", |done| assert_eq!(done.out_longs("last"), [(2 * 16 + 512) * 16 % 256])),
    ("stream_read", check_no_store),
    ("stream_write", |done| assert_eq!(done.out_ints("to"), [1, 1, 2, 3].repeat(16384))),
    ("stream_copy", |done| done.assert_equal("to", &done.ints("in"))),
    ("scattered_read", check_no_store),
    ("width_l1", check_no_store),
    ("width_shared", check_no_store),
    ("stride_l1", check_no_store),
    ("stride_llc", check_no_store),
    ("atomic_global", check_atomic),
    ("atomic_shared", check_atomic),
    ("reduction_global", |done| assert_eq!(done.out_ints("at")[..2], [4 * 512 * 8, 0])),
    ("reduction_shared", |done| assert_eq!(done.out_ints("out"), [64; 32])),
    ("barrier", |done| assert_eq!(done.out_ints("out"), [256; 128])),
    ("fence", |done| assert_eq!(done.out_ints("to"), [63; 32])),
    ("launch", |done| assert_eq!(done.out_ints("untouched"), [7])),
    ("copy_async", check_no_store),
    ("bulk_load", check_no_store),
    ("bulk_load_divided", check_no_store),
    ("box_load", check_no_store),
    ("bulk_store", |done| assert_eq!(done.out_ints("out"), [0; 32768])),
    ("mbarrier", |done| assert_eq!(done.out_ints("untouched"), [7])),
    ("dependent", check_dependent),
    ("cluster_barrier", |done| assert_eq!(done.out_ints("untouched"), [7])),
    ("remote_chase", |done| assert_eq!(done.out_ints("out"), [7])),
    ("remote_reads", |done| assert_eq!(done.out_ints("out"), [7])),
    ("products_shared", check_no_sum_store),
    ("products_registers", check_no_sum_store),
    ("products_types", check_no_sum_store),
    ("batches_shared", check_no_sum_store),
    ("batches_registers", check_no_sum_store),
    ("matrix_load", check_no_store),
    ("mma", |done| assert_eq!(done.out_floats("out"), [4.0 * 16.0 * 8.0 * 16.0; 128])),
    ("code", |done| assert_eq!(done.out_floats("out"), [4.0 * (1.0 + 8.0 * 256.0); 32])),
];

/// Checks that nothing was stored: the sum of the reads differs from the number that triggers the store.
fn check_no_store(done: &ExecutedProgram) {
    assert_eq!(done.out_ints("out"), [0; 32]);
}

/// Checks that nothing was stored: the sum of the products differs from the number that triggers the store.
fn check_no_sum_store(done: &ExecutedProgram) {
    assert_eq!(done.out_floats("out"), [0.0]);
}

/// Returns the number after `rounds` steps of a linear congruential generator.
fn lcg_after(first: u32, rounds: u32) -> u32 {
    (0..rounds).fold(first, |x, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223))
}

/// Checks that two consumers combine the producer's numbers with numbers of their own.
fn check_dependent(done: &ExecutedProgram) {
    let made: Vec<u32> = done.ints("in").iter().map(|value| lcg_after(value.cast_unsigned(), 1000)).collect();
    let want = made.iter().zip(0..).map(|(made, i)| (made ^ lcg_after(i + 1, 500) ^ lcg_after(i + 7, 500)).cast_signed());
    done.assert_equal("c", &want.collect::<Vec<_>>());
}

/// Adds the smallest number above one `steps` times to a lane's first value.
fn repeated_sums(lane: u32, steps: usize) -> u32 {
    let first = f32::from_bits(1_065_353_216 + lane);
    (0..steps).fold(first, |sum, _| sum.mul_add(1.0, f32::from_bits(1_065_353_217))).to_bits()
}

fn check_one_chain(done: &ExecutedProgram) {
    assert_eq!(done.out_longs("out"), (0..32).map(|lane| i64::from(repeated_sums(lane, 512))).collect::<Vec<_>>());
}

fn check_four_chains(done: &ExecutedProgram) {
    assert_eq!(done.out_longs("out"), (0..1024).map(|thread| 4 * i64::from(repeated_sums(thread % 32, 128))).collect::<Vec<_>>());
}

/// Checks a chain in which each atomic adds the value returned by the previous one.
fn check_atomic(done: &ExecutedProgram) {
    let (mut memory, mut value) = (1_u32, 0_u32);
    for _ in 0..256 {
        (memory, value) = (memory.wrapping_add(value), memory);
    }
    assert_eq!(done.out_ints("out")[0], value as i32);
}

/// Checks that 4103 steps after the first from entry 0 of a ring of 4096 end at entry 4104 % 4096.
fn check_ring(done: &ExecutedProgram) {
    assert_eq!(done.out_longs("last"), [8]);
}

/// Checks that 519 steps after the first from entry 0 of a ring of 256 end at entry 520 % 256.
fn check_peer(done: &ExecutedProgram) {
    assert_eq!(done.out_longs("last"), [8]);
}

fn check_spread(done: &ExecutedProgram) {
    assert_eq!(done.out_longs("last"), [1; 4]);
}

fn check_shared_ring(done: &ExecutedProgram) {
    assert_eq!(done.out_longs("last"), [2048]);
}

fn check_l1(done: &ExecutedProgram) {
    let input = done.floats("in");
    let of = |thread: usize| {
        let warm: f64 = (thread..16384).step_by(1024).map(|i| input[i]).sum();
        let rounds = (0..64).flat_map(|j| (0..4).map(move |k| (thread + j * 128) % 16384 + 32 * k));
        warm + rounds.map(|i| input[i]).sum::<f64>()
    };
    done.assert_close("out", &(0..1024).map(of).collect::<Vec<f64>>(), 1e-6);
}

fn check_l2(done: &ExecutedProgram) {
    let input = done.floats("in");
    let of = |thread: usize| {
        let warm: f64 = (thread..input.len()).step_by(4096).map(|i| input[i]).sum();
        warm + (0..64).map(|i| input[thread + 32 * i]).sum::<f64>()
    };
    done.assert_close("out", &(0..4096).map(of).collect::<Vec<f64>>(), 1e-6);
}

fn check_memory(done: &ExecutedProgram) {
    let parts = ["a", "b", "d", "e", "f"].map(|name| done.floats(name));
    let want: Vec<f64> = (0..parts[0].len()).map(|i| parts.iter().map(|part| part[i]).sum()).collect();
    done.assert_close("out", &want, 1e-6);
}

fn check_flops(done: &ExecutedProgram) {
    done.assert_close("out", &(0..1024).map(|i| f64::from(i * i) * 1024.0).collect::<Vec<f64>>(), 1e-4);
}

fn check_shared(done: &ExecutedProgram) {
    let of = |thread: usize| {
        let starts = (4 * thread..12288 - 64).step_by(4096);
        starts.flat_map(|j| (0..64).flat_map(move |i| (0..4).map(move |k| (j + i + k) as f64))).sum()
    };
    done.assert_close("out", &(0..1024).map(of).collect::<Vec<f64>>(), 1e-4);
}

fn check_both(done: &ExecutedProgram) {
    let ring = done.ints("ring");
    let of = |thread: usize| {
        let (mut here, mut there) = (thread, thread);
        (0..ring.len()).for_each(|_| there = ring[there] as usize);
        for _ in 0..256 {
            (here, there) = ((here + 1031) % 12288, ring[there] as usize);
        }
        (here + there) as i32
    };
    done.assert_equal("last", &(0..1024).map(of).collect::<Vec<i32>>());
}
