//! Tests of divergence, reconvergence and groups of lanes: compiled code for each architecture is compared with a host evaluation of the
//! CUDA C semantics.

use warpshard_base::Rng;

use super::tensor_tests::{launch, program};

/// Architectures for which the source is compiled.
const ARCHS: [u32; 5] = [70, 75, 80, 86, 90];

/// Executes a kernel with 32 threads; returns the words of the last buffer.
fn run(arch: u32, kernel: &str, buffers: &[(&str, usize, Vec<i64>)]) -> Vec<u32> {
    let done = program("lanes", arch, kernel, 32, buffers).execute(false).unwrap_or_else(|error| panic!("{kernel} of sm_{arch}: {error}"));
    done.outputs[0].bytes.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

#[test]
fn lanes_that_wait_for_each_other_make_progress() {
    for arch in ARCHS {
        for kernel in ["lock_in_loop", "lock_spin", "lock_sleep", "ticket", "ticket_break", "handshake"] {
            let sum = run(arch, kernel, &[("i32", 1, vec![0]), ("i32", 1, vec![0])]);
            assert_eq!(sum, [32], "{kernel} of sm_{arch}");
        }
    }
}

#[test]
fn compare_and_swap_loops_of_shared_memory_end_and_do_not_race() {
    let values: Vec<i64> = (1..=32).collect();
    for arch in ARCHS {
        let buffers = [("f64", 32, values.clone()), ("f64", 1, vec![0])];
        let done = program("lanes", arch, "wide_sum", 32, &buffers).check(false).unwrap_or_else(|error| panic!("sm_{arch}: {error}"));
        assert_eq!(f64::from_le_bytes(done.outputs[0].bytes[..8].try_into().unwrap()), 528.0, "sm_{arch}");
        // Two warps race unless the loop is recognised as a compare-and-swap loop.
        let buffers = [("f64", 64, (1..=64).collect()), ("f64", 1, vec![0])];
        let done = program("lanes", arch, "wide_sum", 64, &buffers).check(false).unwrap_or_else(|error| panic!("sm_{arch}: {error}"));
        assert_eq!(f64::from_le_bytes(done.outputs[0].bytes[..8].try_into().unwrap()), 2080.0, "sm_{arch}");
    }
}

#[test]
fn parts_of_words_become_numbers() {
    let words: Vec<i64> = (0..32_i64).map(|i| i * 0x9e37_79b9 % (1 << 32)).collect();
    for arch in ARCHS {
        let out = run(arch, "parts", &[("u32", 32, words.clone()), ("f32", 256, vec![0])]);
        for (word, out) in words.iter().zip(out.chunks_exact(8)) {
            let (word, bytes) = (*word as u32, (*word as u32).to_le_bytes());
            let [low, high] = [word as u16, (word >> 16) as u16];
            let halves = [f32::from(high), f32::from(low), f32::from(high as i16), f32::from(low as i16)];
            let expected: Vec<f32> = halves.into_iter().chain(bytes.map(f32::from)).collect();
            assert_eq!(out.iter().map(|&bits| f32::from_bits(bits)).collect::<Vec<_>>(), expected, "{word:#x} of sm_{arch}");
        }
    }
}

#[test]
fn masks_may_differ_from_lane_to_lane() {
    let input: Vec<i64> = (0..32).map(|i| i * i % 13).collect();
    for arch in ARCHS {
        let out = run(arch, "parity", &[("i32", 32, input.clone()), ("i32", 32, vec![0])]);
        for (value, got) in input.iter().zip(out) {
            let same: Vec<i64> = input.iter().copied().filter(|other| other % 2 == value % 2).collect();
            assert_eq!(i64::from(got), same.iter().sum::<i64>() * 100 + same.len() as i64, "sm_{arch}");
        }
    }
}

/// A host model of the operations of `groups`, group by group, as CUDA C defines them.
struct Oracle {
    masks: [u32; 32],
    values: [u32; 32],
    sums: [u32; 16],
    wide: [u64; 4],
}

impl Oracle {
    fn step(&mut self, way: u8, mask: u32) {
        let lanes: Vec<usize> = (0..32).filter(|lane| mask >> lane & 1 != 0).collect();
        let old = self.values;
        let votes = |holds: &dyn Fn(u32) -> bool| lanes.iter().filter(|&&lane| holds(old[lane])).fold(0_u32, |bits, lane| bits | 1 << lane);
        for &lane in &lanes {
            let value = old[lane];
            self.values[lane] = match way {
                0 => value.wrapping_add(votes(&|other| other & 1 != 0)),
                1 => value ^ old[(lane + 5) & 31],
                2 => value.wrapping_mul(3).wrapping_add(votes(&|other| other & 3 == value & 3)),
                3 => value.wrapping_add(votes(&|other| other & 3 == value & 3).count_ones()),
                5 => value.wrapping_mul(1_664_525).wrapping_add(1_013_904_223),
                6 => {
                    let any = u32::from(votes(&|other| other > 0xc000_0000) != 0);
                    value.wrapping_add(any + 2 * u32::from(votes(&|other| other > 0x1000_0000) == mask))
                }
                7 => {
                    let (mut value, mut i) = (value, 0);
                    while i < value & 7 {
                        value = value.rotate_left(1) ^ i;
                        i += 1;
                    }
                    value
                }
                9 => value ^ if votes(&|other| other >> 31 == value >> 31) == mask { mask } else { 77 },
                10 => (value >> 3).wrapping_mul(5),
                11 => value.wrapping_add(lanes.iter().map(|&lane| old[lane]).max().unwrap_or(0)),
                12 => value.wrapping_sub(if lane == 0 { value } else { old[lane - 1] }),
                13 => value.wrapping_add(old[lane ^ 3] >> 1),
                _ => value,
            };
            match way {
                4 => self.sums[value as usize & 15] = self.sums[value as usize & 15].wrapping_add(value),
                8 => self.wide[value as usize & 3] = self.wide[value as usize & 3].wrapping_add(u64::from(value) << 20),
                10 => self.sums[0] = self.sums[0].max(value),
                _ => {}
            }
        }
    }
}

#[test]
fn groups_of_lanes_follow_cuda_on_every_architecture() {
    const STEPS: usize = 24;
    for seed in 0..30_u64 {
        let mut rng = Rng::keyed(seed, &[0]);
        // The groups consist of arbitrary lanes of the warp. Shuffles read lanes of the same group, so they are only used if the whole warp
        // is one group; additions and maxima of the same sum do not commute, so only one of the two kinds is used.
        let count = 1 + rng.below(4);
        let group: [u64; 32] = std::array::from_fn(|_| rng.below(count));
        let masks: [u32; 32] =
            std::array::from_fn(|lane| (0..32).filter(|&other| group[other] == group[lane]).fold(0, |bits, other| bits | 1 << other));
        let whole = masks[0] == u32::MAX;
        let sums = [4, 10][rng.below(2) as usize];
        let shared = [0, 2, 3, 5, 6, 7, 8, 9, 11, sums];
        let mut ways = vec![0_i64; 32 * STEPS];
        let mut of_group = vec![[0_u8; STEPS]; count as usize];
        for way in of_group.iter_mut().flatten() {
            *way = match rng.below(if whole { 13 } else { 10 }) as usize {
                i @ 0..10 => shared[i],
                i => [1, 12, 13][i - 10],
            };
        }
        (0..STEPS).for_each(|step| (0..32).for_each(|lane| ways[32 * step + lane] = i64::from(of_group[group[lane] as usize][step])));
        let values: [u32; 32] = std::array::from_fn(|_| rng.below(1 << 32) as u32);
        let mut oracle = Oracle { masks, values, sums: [0; 16], wide: [0; 4] };
        for step in 0..STEPS {
            for (number, ways) in of_group.iter().enumerate() {
                if let Some(lane) = (0..32).find(|&lane| group[lane] == number as u64) {
                    oracle.step(ways[step], oracle.masks[lane]);
                }
            }
        }
        let words = |values: &[u32]| values.iter().map(|&value| i64::from(value)).collect::<Vec<_>>();
        for arch in ARCHS {
            let program = launch(
                "lanes",
                arch,
                ("groups", 32),
                &[("u32", 32, words(&masks)), ("u8", 32 * STEPS, ways.clone()), ("u32", 32, words(&values)), ("u32", 24, vec![0])],
                &["&b0", "&b1", &STEPS.to_string(), "&b2", "&b3"],
                &["b2", "b3"],
            );
            let done = program.execute(false).unwrap_or_else(|error| panic!("seed {seed} of sm_{arch}: {error}"));
            let out = |i: usize| -> Vec<u32> {
                done.outputs[i].bytes.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect()
            };
            let wide = oracle.wide.iter().flat_map(|&sum| [sum as u32, (sum >> 32) as u32]);
            assert_eq!(out(0), oracle.values, "seed {seed} of sm_{arch}");
            assert_eq!(out(1), oracle.sums.iter().copied().chain(wide).collect::<Vec<_>>(), "sums of seed {seed} of sm_{arch}");
        }
    }
}
