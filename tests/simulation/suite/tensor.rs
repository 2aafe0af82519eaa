//! Programs for tensor cores.

use super::done::{Check, Done};

pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("attention", attention),
    ("hgemm", product),
    ("wgmma_attention", group_attention),
    ("wgmma_gemm", group_product),
    ("wgmma_gemm_pairs", group_product),
    ("wgmma_gemm_persistent", persistent_product),
];

fn product(done: &Done) {
    const N: usize = 128;
    let [a, b] = ["a", "b"].map(|name| done.halves(name));
    let depth = a.len() / N;
    let want: Vec<f64> = (0..N * N).map(|at| (0..depth).map(|k| a[at / N * depth + k] * b[k * N + at % N]).sum()).collect();
    done.close("c", &want, 1e-4);
}

/// The second matrix has its columns one after the other.
fn group_product(done: &Done) {
    const N: usize = 128;
    let [a, b] = ["a", "b"].map(|name| done.bfloats(name));
    let depth = a.len() / N;
    let want: Vec<f64> = (0..N * N).map(|at| (0..depth).map(|k| a[at / N * depth + k] * b[at % N * depth + k]).sum()).collect();
    done.close("c", &want, 1e-6);
}

/// More tiles than CTAs.
fn persistent_product(done: &Done) {
    const N: usize = 384;
    const DEPTH: usize = 320;
    let [a, b] = ["a", "b"].map(|name| done.bfloats(name));
    let dot = |row: usize, column: usize| (0..DEPTH).map(|k| a[row * DEPTH + k] * b[column * DEPTH + k]).sum();
    let want: Vec<f64> = (0..256 * N).map(|at| dot(at / N, at % N)).collect();
    done.close("c", &want, 1e-6);
}

fn attention(done: &Done) {
    let inputs = ["q", "k", "v"].map(|name| done.halves(name));
    attend(done, inputs, 2e-3);
}

fn group_attention(done: &Done) {
    let inputs = ["q", "k", "v"].map(|name| done.bfloats(name));
    attend(done, inputs, 1e-2);
}

/// Softmax of all scores that a query may see, then the values weighted with it; the weights are rounded to 16 bits on the device.
fn attend(done: &Done, [q, k, v]: [Vec<f64>; 3], tolerance: f64) {
    const HEAD: usize = 64;
    const LENGTH: usize = 192;
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
    done.close("o", &want, tolerance);
}
