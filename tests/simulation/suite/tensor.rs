//! Programs for tensor cores.

use super::done::{Check, Done};

pub(crate) const CHECKS: &[(&str, Check)] = &[("attention", attention), ("hgemm", product)];

fn product(done: &Done) {
    const N: usize = 128;
    let [a, b] = ["a", "b"].map(|name| done.halves(name));
    let depth = a.len() / N;
    let want: Vec<f64> = (0..N * N).map(|at| (0..depth).map(|k| a[at / N * depth + k] * b[k * N + at % N]).sum()).collect();
    done.close("c", &want, 1e-4);
}

/// Softmax of all scores that a query may see, then the values weighted with it; the weights are rounded to half precision on the device.
fn attention(done: &Done) {
    const HEAD: usize = 64;
    const LENGTH: usize = 192;
    let [q, k, v] = ["q", "k", "v"].map(|name| done.halves(name));
    let mut want = Vec::new();
    for query in 0..q.len() / HEAD {
        let head = query / LENGTH * LENGTH;
        let dot = |key: usize| (0..HEAD).map(|i| q[query * HEAD + i] * k[key * HEAD + i]).sum::<f64>() / 8.0;
        let scores: Vec<f64> = (head..=query).map(dot).collect();
        let most = scores.iter().copied().fold(f64::MIN, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let total: f64 = weights.iter().sum();
        want.extend(
            (0..HEAD).map(|i| weights.iter().enumerate().map(|(key, weight)| weight * v[(head + key) * HEAD + i]).sum::<f64>() / total),
        );
    }
    done.close("o", &want, 2e-3);
}
