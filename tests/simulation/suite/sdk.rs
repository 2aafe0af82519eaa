//! Checks of the CUDA SDK samples.

use super::done::{ExecutedProgram, ProgramCheck, assert_close, formula_hash};

pub(crate) const CHECKS: &[(&str, ProgramCheck)] = &[
    ("BlackScholes", check_options),
    ("MonteCarlo", check_simulated_options),
    ("binomialOptions", check_trees),
    ("binomialTiles", check_trees),
    ("convolutionSeparable", check_convolution),
    ("dct8x8", check_cosines),
    ("dwtHaar1D", check_wavelets),
    ("dxtc", check_compressed_blocks),
    ("fastWalshTransform", check_walsh),
    ("histogram", check_histograms),
    ("mergeSort", check_merge_sort),
    ("scalarProd", check_dots),
    ("scan", check_sums),
    ("sortingNetworks", check_sorted_keys),
    ("transpose", check_transposed),
    ("transpose16", check_transposed_in_tiles_of_16),
    ("vectorAdd", check_vector_sum),
];

fn check_vector_sum(done: &ExecutedProgram) {
    let [a, b] = ["a", "b"].map(|name| done.floats(name));
    done.assert_close("c", &a.iter().zip(&b).map(|(a, b)| a + b).collect::<Vec<f64>>(), 1e-6);
}

/// Computes the normal distribution after Abramowitz and Stegun, 26.2.17, with an error below 1e-7.
fn normal_distribution(d: f64) -> f64 {
    let k = 1.0 / (1.0 + 0.2316419 * d.abs());
    let series = k * (0.319_381_53 + k * (-0.356_563_782 + k * (1.781_477_937 + k * (-1.821_255_978 + k * 1.330_274_429))));
    let tail = (-0.5 * d * d).exp() / std::f64::consts::TAU.sqrt() * series;
    if d > 0.0 { 1.0 - tail } else { tail }
}

fn check_options(done: &ExecutedProgram) {
    let [stock, strike, years] = ["stock", "strike", "years"].map(|name| done.floats(name));
    let price = |i: usize| {
        let (s, x, t, rate, sigma): (f64, f64, f64, f64, f64) = (stock[i], strike[i], years[i], 0.02, 0.3);
        let d1 = ((s / x).ln() + (rate + 0.5 * sigma * sigma) * t) / (sigma * t.sqrt());
        let (n1, n2, discount) = (normal_distribution(d1), normal_distribution(d1 - sigma * t.sqrt()), (-rate * t).exp());
        (s * n1 - x * discount * n2, x * discount * (1.0 - n2) - s * (1.0 - n1))
    };
    let (call, put): (Vec<f64>, Vec<f64>) = (0..stock.len()).map(price).unzip();
    done.assert_close("call", &call, 1e-4);
    done.assert_close("put", &put, 1e-4);
}

/// Checks that prices from trees of 2048 steps are close to the limiting formula.
fn check_trees(done: &ExecutedProgram) {
    let got = done.out_floats("prices");
    let prices = (0..got.len()).map(|option| {
        let fraction = |units: i64| units as f64 / f64::from(1 << 24);
        let stock = fraction(83_886_080 + formula_hash(5 * option + 30) % 419_430_400);
        let strike = fraction(16_777_216 + formula_hash(5 * option + 31) % 1_660_944_384);
        let root = 361 + formula_hash(option) % 1929;
        let (up, drift, discount) = (fraction(root * 512 / 10), root * 1408 / 10, root * root * 3 / 6400);
        let [rise, fall] = [drift, -drift].map(|drift| fraction(8_388_608 - discount + drift));
        let at_expiry = |ups: i32| (stock * (up * f64::from(2 * ups - 2048)).exp() - strike).max(0.0);
        let mut row: Vec<f64> = (0..=2048).map(at_expiry).collect();
        while row.len() > 1 {
            row = row.windows(2).map(|pair| rise * pair[1] + fall * pair[0]).collect();
        }
        let years = 2048.0 * (root as f64 / 32768.0).powi(2);
        let (rate, sigma): (f64, f64) = (0.06, 0.1);
        let d1 = ((stock / strike).ln() + (rate + 0.5 * sigma * sigma) * years) / (sigma * years.sqrt());
        let formula = stock * normal_distribution(d1) - strike * (-rate * years).exp() * normal_distribution(d1 - sigma * years.sqrt());
        assert!(formula > 1.0 && (row[0] - formula).abs() < 0.01, "option {option}: {} by the tree, {formula} by the formula", row[0]);
        row[0]
    });
    done.assert_close("prices", &prices.collect::<Vec<f64>>(), 1e-4);
}

/// Checks that the samples are normally distributed and that the prices follow from the samples.
fn check_simulated_options(done: &ExecutedProgram) {
    let samples = done.out_floats("samples");
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let variance = samples.iter().map(|sample| sample * sample).sum::<f64>() / samples.len() as f64;
    assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02, "mean {mean}, variance {variance}");
    let [stock, strike, drift, deviation] = ["stock", "strike", "drift", "deviation"].map(|name| done.floats(name));
    let of = |i: usize| {
        let payoffs = samples.iter().map(|sample| (stock[i] * (drift[i] + deviation[i] * sample).exp() - strike[i]).max(0.0));
        [payoffs.clone().sum::<f64>(), payoffs.map(|payoff| payoff * payoff).sum()]
    };
    done.assert_close("out", &(0..stock.len()).flat_map(of).collect::<Vec<f64>>(), 1e-3);
}

fn check_convolution(done: &ExecutedProgram) {
    let input = done.floats("in");
    let n = input.len().isqrt() as i64;
    let taps = done.constant_memory(17, 0.0, 1.0, 105);
    let pass = |input: &[f64], step: i64, place: fn(i64, i64) -> i64| -> Vec<f64> {
        let at = |i: i64| {
            let inside = (-8..=8).filter(|j| (0..n).contains(&(place(i, n) + j)));
            inside.map(|j| taps[(8 - j) as usize] * input[(i + j * step) as usize]).sum()
        };
        (0..n * n).map(at).collect()
    };
    let rows = pass(&input, 1, |i, n| i % n);
    done.assert_close("out", &pass(&rows, n, |i, n| i / n), 1e-4);
}

fn check_cosines(done: &ExecutedProgram) {
    let input = done.floats("in");
    let n = input.len().isqrt();
    let factor = |i: usize, k: usize| {
        let angle = (2 * i + 1) as f64 * k as f64 * std::f64::consts::PI / 16.0;
        if k == 0 { 0.125_f64.sqrt() } else { 0.5 * angle.cos() }
    };
    let at = |place: usize| {
        let (y, x) = (place / n, place % n);
        let term = |i: usize| input[(y / 8 * 8 + i / 8) * n + x / 8 * 8 + i % 8] * factor(i / 8, y % 8) * factor(i % 8, x % 8);
        (0..64).map(term).sum()
    };
    let want: Vec<f64> = (0..n * n).map(at).collect();
    done.assert_close("a", &want, 1e-3);
    done.assert_close("b", &want, 1e-3);
}

/// Checks that the inverse transform of a product of transforms is the convolution with indices combined by exclusive or.
fn check_walsh(done: &ExecutedProgram) {
    let [data, kernel] = ["data", "kernel"].map(|name| done.floats(name));
    let taps: Vec<usize> = (0..kernel.len()).filter(|&i| kernel[i] != 0.0).collect();
    assert!(taps.len() > 100 && taps.iter().all(|&tap| tap < 128));
    let want = (0..data.len()).map(|i| taps.iter().map(|&tap| kernel[tap] * data[i ^ tap]).sum());
    done.assert_close("data", &want.collect::<Vec<f64>>(), 1e-3);
}

fn check_histograms(done: &ExecutedProgram) {
    let mut bins = [0; 256];
    done.bytes("in").iter().for_each(|&byte| bins[usize::from(byte)] += 1);
    done.assert_equal("histogram256", &bins);
    done.assert_equal("histogram64", &bins.chunks_exact(4).map(|four| four.iter().sum()).collect::<Vec<i32>>());
}

fn check_transposed(done: &ExecutedProgram) {
    let input = done.floats("in");
    let n = input.len().isqrt();
    let of = |from: fn(usize, usize, usize) -> usize| (0..n * n).map(|i| input[from(i / n, i % n, n)]).collect::<Vec<f64>>();
    let transposed = of(|y, x, n| x * n + y);
    for name in ["naive", "coalesced", "padded", "diagonal"] {
        done.assert_close(name, &transposed, 0.0);
    }
    done.assert_close("copy", &input, 0.0);
    done.assert_close("copyShared", &input, 0.0);
    done.assert_close("fine", &of(|y, x, n| (y / 32 * 32 + x % 32) * n + x / 32 * 32 + y % 32), 0.0);
    done.assert_close("coarse", &of(|y, x, n| (x / 32 * 32 + y % 32) * n + y / 32 * 32 + x % 32), 0.0);
}

fn check_transposed_in_tiles_of_16(done: &ExecutedProgram) {
    let input = done.floats("in");
    let n = input.len().isqrt();
    let of = |from: fn(usize, usize, usize) -> usize| (0..n * n).map(|i| input[from(i / n, i % n, n)]).collect::<Vec<f64>>();
    done.assert_close("turned", &of(|y, x, n| x * n + y), 0.0);
    done.assert_close("exchanged", &of(|y, x, n| (x / 16 * 16 + y % 16) * n + y / 16 * 16 + x % 16), 0.0);
}

/// Checks the differences and averages of each level, from the previous level.
fn check_wavelets(done: &ExecutedProgram) {
    let signal = done.floats("signal");
    let parts = signal.len() / 1024;
    let (mut details, mut averages) = (vec![0.0; signal.len()], signal);
    for count in (0..10).rev().map(|level| parts << level) {
        let pairs = |sign: f64| averages.chunks_exact(2).map(move |pair| (pair[0] + sign * pair[1]) / 2_f64.sqrt()).collect::<Vec<f64>>();
        let (differences, sums) = (pairs(-1.0), pairs(1.0));
        details[count..2 * count].copy_from_slice(&differences);
        averages = sums;
    }
    done.assert_close("details", &details, 1e-5);
    done.assert_close("averages", &averages, 1e-5);
}

fn check_dots(done: &ExecutedProgram) {
    let [a, b] = ["a", "b"].map(|name| done.floats(name));
    let dot = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| a * b).sum();
    done.assert_close("out", &a.chunks_exact(2048).zip(b.chunks_exact(2048)).map(dot).collect::<Vec<f64>>(), 1e-5);
}

fn check_sums(done: &ExecutedProgram) {
    let exclusive = |part: &[i32]| {
        let before = part.iter().scan(0, |sum, value| {
            *sum += value;
            Some(*sum - value)
        });
        before.collect::<Vec<i32>>()
    };
    done.assert_equal("out", &done.ints("in").chunks_exact(4096).flat_map(exclusive).collect::<Vec<i32>>());
}

/// Checks that each part of `length` elements is sorted by key with its values; equal keys keep their order if `stable`.
fn check_sorted_parts(done: &ExecutedProgram, length: usize, stable: bool) {
    let (mut keys, values) = (done.ints("keysIn"), done.out_ints("values"));
    let given = keys.clone();
    keys.chunks_exact_mut(length).for_each(<[i32]>::sort_unstable);
    done.assert_equal("keys", &keys);
    let mut seen = vec![false; keys.len()];
    for (i, &value) in values.iter().enumerate() {
        assert!(given[value as usize] == keys[i] && value as usize / length == i / length, "the value of key {i} is that of another key");
        assert!(!std::mem::replace(&mut seen[value as usize], true), "value {value} is there twice");
        assert!(!stable || i % length == 0 || keys[i - 1] < keys[i] || values[i - 1] < value, "key {i} has lost its order");
    }
}

fn check_sorted_keys(done: &ExecutedProgram) {
    check_sorted_parts(done, 4096, false);
}

fn check_merge_sort(done: &ExecutedProgram) {
    check_sorted_parts(done, 4096, true);
}

#[test]
fn the_approximation_of_the_normal_distribution_is_right() {
    assert_close(
        "normal",
        &[normal_distribution(0.0), normal_distribution(1.0), normal_distribution(-1.96)],
        &[0.5, 0.841_344_746, 0.024_997_895],
        1e-7,
    );
}

/// Converts a 16-bit colour to three numbers from 0 to 1.
fn rgb_colour(bits: u32) -> [f64; 3] {
    let (r, g, b) = (bits >> 11 & 31, bits >> 5 & 63, bits & 31);
    [r << 3 | r >> 2, g << 2 | g >> 4, b << 3 | b >> 2].map(|value| f64::from(value) / 255.0)
}

fn mixed_colour(a: [f64; 3], b: [f64; 3], part: f64) -> [f64; 3] {
    std::array::from_fn(|i| a[i] + (b[i] - a[i]) * part)
}

fn squared_distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum()
}

/// Checks that the colours of a DXT1 block are close to its pixels: closer than with the corners of the bounding box of its colours as end
/// points.
fn check_compressed_blocks(done: &ExecutedProgram) {
    let image = done.ints("image");
    let out = done.out_ints("out");
    for (block, pixels) in image.chunks(16).enumerate() {
        let pixels: Vec<[f64; 3]> = pixels.iter().map(|&word| [0, 8, 16].map(|shift| f64::from(word >> shift & 255) / 255.0)).collect();
        let (ends, indices) = (out[2 * block] as u32, out[2 * block + 1] as u32);
        let (first, second) = (ends & 0xffff, ends >> 16);
        let (a, b) = (rgb_colour(first), rgb_colour(second));
        let line = match first > second {
            true => [a, b, mixed_colour(a, b, 1.0 / 3.0), mixed_colour(a, b, 2.0 / 3.0)],
            false => [a, b, mixed_colour(a, b, 0.5), [0.0; 3]],
        };
        let error: f64 =
            pixels.iter().enumerate().map(|(i, &pixel)| squared_distance(pixel, line[(indices >> (2 * i) & 3) as usize])).sum();
        let corner = |pick: fn(f64, f64) -> f64| std::array::from_fn(|i| pixels.iter().map(|pixel| pixel[i]).reduce(pick).unwrap());
        let (low, high): ([f64; 3], [f64; 3]) = (corner(f64::min), corner(f64::max));
        let nearest =
            |pixel: [f64; 3]| (0..4).map(|i| squared_distance(pixel, mixed_colour(low, high, f64::from(i) / 3.0))).fold(f64::MAX, f64::min);
        let box_error: f64 = pixels.iter().map(|&pixel| nearest(pixel)).sum();
        // End points of 16 bits have an error of half a step.
        assert!(error <= box_error + 16.0 * 3.0 * (0.5_f64 / 31.0).powi(2), "block {block}: {error} instead of {box_error}");
        assert!(error < 0.3, "block {block}: {error}");
    }
}
