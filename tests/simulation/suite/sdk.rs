//! Samples.

use super::done::{Check, Done, close, hash};

pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("BlackScholes", options),
    ("MonteCarlo", simulated_options),
    ("binomialOptions", trees),
    ("binomialTiles", trees),
    ("convolutionSeparable", convolution),
    ("dct8x8", cosines),
    ("dwtHaar1D", wavelets),
    ("dxtc", compressed),
    ("fastWalshTransform", walsh),
    ("histogram", histograms),
    ("mergeSort", merged),
    ("scalarProd", dots),
    ("scan", sums),
    ("sortingNetworks", sorted),
    ("transpose", turned),
    ("transpose16", turned_in_tiles_of_16),
    ("vectorAdd", added),
];

fn added(done: &Done) {
    let [a, b] = ["a", "b"].map(|name| done.floats(name));
    done.close("c", &a.iter().zip(&b).map(|(a, b)| a + b).collect::<Vec<f64>>(), 1e-6);
}

/// The normal distribution after Abramowitz and Stegun, 26.2.17, whose error is below 1e-7.
fn normal(d: f64) -> f64 {
    let k = 1.0 / (1.0 + 0.2316419 * d.abs());
    let series = k * (0.319_381_53 + k * (-0.356_563_782 + k * (1.781_477_937 + k * (-1.821_255_978 + k * 1.330_274_429))));
    let tail = (-0.5 * d * d).exp() / std::f64::consts::TAU.sqrt() * series;
    if d > 0.0 { 1.0 - tail } else { tail }
}

fn options(done: &Done) {
    let [stock, strike, years] = ["stock", "strike", "years"].map(|name| done.floats(name));
    let price = |i: usize| {
        let (s, x, t, rate, sigma): (f64, f64, f64, f64, f64) = (stock[i], strike[i], years[i], 0.02, 0.3);
        let d1 = ((s / x).ln() + (rate + 0.5 * sigma * sigma) * t) / (sigma * t.sqrt());
        let (n1, n2, discount) = (normal(d1), normal(d1 - sigma * t.sqrt()), (-rate * t).exp());
        (s * n1 - x * discount * n2, x * discount * (1.0 - n2) - s * (1.0 - n1))
    };
    let (call, put): (Vec<f64>, Vec<f64>) = (0..stock.len()).map(price).unzip();
    done.close("call", &call, 1e-4);
    done.close("put", &put, 1e-4);
}

/// Trees of 2048 steps, whose prices are close to those of the formula that they approach.
fn trees(done: &Done) {
    let got = done.out("prices");
    let prices = (0..got.len()).map(|option| {
        let fraction = |units: i64| units as f64 / f64::from(1 << 24);
        let stock = fraction(83_886_080 + hash(5 * option + 30) % 419_430_400);
        let strike = fraction(16_777_216 + hash(5 * option + 31) % 1_660_944_384);
        let root = 361 + hash(option) % 1929;
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
        let formula = stock * normal(d1) - strike * (-rate * years).exp() * normal(d1 - sigma * years.sqrt());
        assert!(formula > 1.0 && (row[0] - formula).abs() < 0.01, "option {option}: {} by the tree, {formula} by the formula", row[0]);
        row[0]
    });
    done.close("prices", &prices.collect::<Vec<f64>>(), 1e-4);
}

/// The samples are normally distributed, and the prices those of the samples.
fn simulated_options(done: &Done) {
    let samples = done.out("samples");
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let variance = samples.iter().map(|sample| sample * sample).sum::<f64>() / samples.len() as f64;
    assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02, "mean {mean}, variance {variance}");
    let [stock, strike, drift, deviation] = ["stock", "strike", "drift", "deviation"].map(|name| done.floats(name));
    let of = |i: usize| {
        let payoffs = samples.iter().map(|sample| (stock[i] * (drift[i] + deviation[i] * sample).exp() - strike[i]).max(0.0));
        [payoffs.clone().sum::<f64>(), payoffs.map(|payoff| payoff * payoff).sum()]
    };
    done.close("out", &(0..stock.len()).flat_map(of).collect::<Vec<f64>>(), 1e-3);
}

fn convolution(done: &Done) {
    let input = done.floats("in");
    let n = input.len().isqrt() as i64;
    let taps = done.symbol(17, 0.0, 1.0, 105);
    let pass = |input: &[f64], step: i64, place: fn(i64, i64) -> i64| -> Vec<f64> {
        let at = |i: i64| {
            let inside = (-8..=8).filter(|j| (0..n).contains(&(place(i, n) + j)));
            inside.map(|j| taps[(8 - j) as usize] * input[(i + j * step) as usize]).sum()
        };
        (0..n * n).map(at).collect()
    };
    let rows = pass(&input, 1, |i, n| i % n);
    done.close("out", &pass(&rows, n, |i, n| i / n), 1e-4);
}

fn cosines(done: &Done) {
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
    done.close("a", &want, 1e-3);
    done.close("b", &want, 1e-3);
}

/// The transform back of a product of transforms is the convolution in which indices are combined by exclusive or.
fn walsh(done: &Done) {
    let [data, kernel] = ["data", "kernel"].map(|name| done.floats(name));
    let taps: Vec<usize> = (0..kernel.len()).filter(|&i| kernel[i] != 0.0).collect();
    assert!(taps.len() > 100 && taps.iter().all(|&tap| tap < 128));
    let want = (0..data.len()).map(|i| taps.iter().map(|&tap| kernel[tap] * data[i ^ tap]).sum());
    done.close("data", &want.collect::<Vec<f64>>(), 1e-3);
}

fn histograms(done: &Done) {
    let mut bins = [0; 256];
    done.bytes("in").iter().for_each(|&byte| bins[usize::from(byte)] += 1);
    done.same("histogram256", &bins);
    done.same("histogram64", &bins.chunks_exact(4).map(|four| four.iter().sum()).collect::<Vec<i32>>());
}

fn turned(done: &Done) {
    let input = done.floats("in");
    let n = input.len().isqrt();
    let of = |from: fn(usize, usize, usize) -> usize| (0..n * n).map(|i| input[from(i / n, i % n, n)]).collect::<Vec<f64>>();
    let transposed = of(|y, x, n| x * n + y);
    for name in ["naive", "coalesced", "padded", "diagonal"] {
        done.close(name, &transposed, 0.0);
    }
    done.close("copy", &input, 0.0);
    done.close("copyShared", &input, 0.0);
    done.close("fine", &of(|y, x, n| (y / 32 * 32 + x % 32) * n + x / 32 * 32 + y % 32), 0.0);
    done.close("coarse", &of(|y, x, n| (x / 32 * 32 + y % 32) * n + y / 32 * 32 + x % 32), 0.0);
}

fn turned_in_tiles_of_16(done: &Done) {
    let input = done.floats("in");
    let n = input.len().isqrt();
    let of = |from: fn(usize, usize, usize) -> usize| (0..n * n).map(|i| input[from(i / n, i % n, n)]).collect::<Vec<f64>>();
    done.close("turned", &of(|y, x, n| x * n + y), 0.0);
    done.close("exchanged", &of(|y, x, n| (x / 16 * 16 + y % 16) * n + y / 16 * 16 + x % 16), 0.0);
}

/// Each level's differences and averages, from those of the level before.
fn wavelets(done: &Done) {
    let signal = done.floats("signal");
    let parts = signal.len() / 1024;
    let (mut details, mut averages) = (vec![0.0; signal.len()], signal);
    for count in (0..10).rev().map(|level| parts << level) {
        let pairs = |sign: f64| averages.chunks_exact(2).map(move |pair| (pair[0] + sign * pair[1]) / 2_f64.sqrt()).collect::<Vec<f64>>();
        let (differences, sums) = (pairs(-1.0), pairs(1.0));
        details[count..2 * count].copy_from_slice(&differences);
        averages = sums;
    }
    done.close("details", &details, 1e-5);
    done.close("averages", &averages, 1e-5);
}

fn dots(done: &Done) {
    let [a, b] = ["a", "b"].map(|name| done.floats(name));
    let dot = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| a * b).sum();
    done.close("out", &a.chunks_exact(2048).zip(b.chunks_exact(2048)).map(dot).collect::<Vec<f64>>(), 1e-5);
}

fn sums(done: &Done) {
    let exclusive = |part: &[i32]| {
        let before = part.iter().scan(0, |sum, value| {
            *sum += value;
            Some(*sum - value)
        });
        before.collect::<Vec<i32>>()
    };
    done.same("out", &done.ints("in").chunks_exact(4096).flat_map(exclusive).collect::<Vec<i32>>());
}

/// Keys and values of an array of `length` elements in each part; equal keys stay in their order where `stable`.
fn in_order(done: &Done, length: usize, stable: bool) {
    let (mut keys, values) = (done.ints("keysIn"), done.out_ints("values"));
    let given = keys.clone();
    keys.chunks_exact_mut(length).for_each(<[i32]>::sort_unstable);
    done.same("keys", &keys);
    let mut seen = vec![false; keys.len()];
    for (i, &value) in values.iter().enumerate() {
        assert!(given[value as usize] == keys[i] && value as usize / length == i / length, "the value of key {i} is that of another key");
        assert!(!std::mem::replace(&mut seen[value as usize], true), "value {value} is there twice");
        assert!(!stable || i % length == 0 || keys[i - 1] < keys[i] || values[i - 1] < value, "key {i} has lost its order");
    }
}

fn sorted(done: &Done) {
    in_order(done, 4096, false);
}

fn merged(done: &Done) {
    in_order(done, 4096, true);
}

#[test]
fn the_approximation_of_the_normal_distribution_is_right() {
    close("normal", &[normal(0.0), normal(1.0), normal(-1.96)], &[0.5, 0.841_344_746, 0.024_997_895], 1e-7);
}

/// A colour of 16 bits as three numbers from 0 to 1.
fn colour(bits: u32) -> [f64; 3] {
    let (r, g, b) = (bits >> 11 & 31, bits >> 5 & 63, bits & 31);
    [r << 3 | r >> 2, g << 2 | g >> 4, b << 3 | b >> 2].map(|value| f64::from(value) / 255.0)
}

fn between(a: [f64; 3], b: [f64; 3], part: f64) -> [f64; 3] {
    std::array::from_fn(|i| a[i] + (b[i] - a[i]) * part)
}

fn squared(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum()
}

/// What a block of DXT1 shows is close to its pixels: closer than with the corners of the box of its colours as end points.
fn compressed(done: &Done) {
    let image = done.ints("image");
    let out = done.out_ints("out");
    for (block, pixels) in image.chunks(16).enumerate() {
        let pixels: Vec<[f64; 3]> = pixels.iter().map(|&word| [0, 8, 16].map(|shift| f64::from(word >> shift & 255) / 255.0)).collect();
        let (ends, indices) = (out[2 * block] as u32, out[2 * block + 1] as u32);
        let (first, second) = (ends & 0xffff, ends >> 16);
        let (a, b) = (colour(first), colour(second));
        let line = match first > second {
            true => [a, b, between(a, b, 1.0 / 3.0), between(a, b, 2.0 / 3.0)],
            false => [a, b, between(a, b, 0.5), [0.0; 3]],
        };
        let error: f64 = pixels.iter().enumerate().map(|(i, &pixel)| squared(pixel, line[(indices >> (2 * i) & 3) as usize])).sum();
        let corner = |pick: fn(f64, f64) -> f64| std::array::from_fn(|i| pixels.iter().map(|pixel| pixel[i]).reduce(pick).unwrap());
        let (low, high): ([f64; 3], [f64; 3]) = (corner(f64::min), corner(f64::max));
        let nearest = |pixel: [f64; 3]| (0..4).map(|i| squared(pixel, between(low, high, f64::from(i) / 3.0))).fold(f64::MAX, f64::min);
        let box_error: f64 = pixels.iter().map(|&pixel| nearest(pixel)).sum();
        // End points of 16 bits are off by half a step.
        assert!(error <= box_error + 16.0 * 3.0 * (0.5_f64 / 31.0).powi(2), "block {block}: {error} instead of {box_error}");
        assert!(error < 0.3, "block {block}: {error}");
    }
}
