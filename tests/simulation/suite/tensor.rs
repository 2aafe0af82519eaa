//! Checks of the programs for tensor cores.

use super::done::{Check, ExecutedProgram};

pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("attention", check_attention),
    ("hgemm", check_product),
    ("wgmma_attention", check_group_attention),
    ("wgmma_gemm", check_group_product),
    ("wgmma_gemm_pairs", check_group_product),
    ("wgmma_gemm_persistent", check_persistent_product),
];

fn check_product(done: &ExecutedProgram) {
    const N: usize = 128;
    let [a, b] = ["a", "b"].map(|name| done.halves(name));
    let depth = a.len() / N;
    let want: Vec<f64> = (0..N * N).map(|at| (0..depth).map(|k| a[at / N * depth + k] * b[k * N + at % N]).sum()).collect();
    done.assert_close("c", &want, 1e-4);
}

/// Checks a product whose second matrix is stored by columns.
fn check_group_product(done: &ExecutedProgram) {
    const N: usize = 128;
    let [a, b] = ["a", "b"].map(|name| done.bfloats(name));
    let depth = a.len() / N;
    let want: Vec<f64> = (0..N * N).map(|at| (0..depth).map(|k| a[at / N * depth + k] * b[at % N * depth + k]).sum()).collect();
    done.assert_close("c", &want, 1e-6);
}

/// Checks a product with more tiles than CTAs.
fn check_persistent_product(done: &ExecutedProgram) {
    const N: usize = 384;
    const DEPTH: usize = 320;
    let [a, b] = ["a", "b"].map(|name| done.bfloats(name));
    let dot = |row: usize, column: usize| (0..DEPTH).map(|k| a[row * DEPTH + k] * b[column * DEPTH + k]).sum();
    let want: Vec<f64> = (0..256 * N).map(|at| dot(at / N, at % N)).collect();
    done.assert_close("c", &want, 1e-6);
}

fn check_attention(done: &ExecutedProgram) {
    let inputs = ["q", "k", "v"].map(|name| done.halves(name));
    attend(done, inputs, 2e-3);
}

fn check_group_attention(done: &ExecutedProgram) {
    let inputs = ["q", "k", "v"].map(|name| done.bfloats(name));
    attend(done, inputs, 1e-2);
}

/// Checks attention: softmax of all unmasked scores of a query, then the weighted sum of the values; the device rounds the weights to 16
/// bits.
fn attend(done: &ExecutedProgram, [q, k, v]: [Vec<f64>; 3], tolerance: f64) {
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
    done.assert_close("o", &want, tolerance);
}
