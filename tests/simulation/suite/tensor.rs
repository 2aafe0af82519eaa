//! Checks of the programs for tensor cores.

use super::done::{ExecutedProgram, ProgramCheck};

pub(crate) const CHECKS: &[(&str, ProgramCheck)] = &[
    ("attention", check_attention),
    ("hgemm", check_product),
    ("wgmma_attention", check_group_attention),
    ("wgmma_gemm", check_group_product),
    ("wgmma_gemm_pairs", check_group_product),
    ("wgmma_gemm_persistent", check_persistent_product),
];

fn check_product(done: &ExecutedProgram) {
    const MATRIX_COLUMNS: usize = 128;
    let [a, b] = ["a", "b"].map(|name| done.half_floats(name));
    let depth = a.len() / MATRIX_COLUMNS;
    let want: Vec<f64> = (0..MATRIX_COLUMNS * MATRIX_COLUMNS)
        .map(|at| (0..depth).map(|k| a[at / MATRIX_COLUMNS * depth + k] * b[k * MATRIX_COLUMNS + at % MATRIX_COLUMNS]).sum())
        .collect();
    done.assert_close("c", &want, 1e-4);
}

/// Checks a product whose second matrix is stored by columns.
fn check_group_product(done: &ExecutedProgram) {
    const MATRIX_COLUMNS: usize = 128;
    let [a, b] = ["a", "b"].map(|name| done.bfloats(name));
    let depth = a.len() / MATRIX_COLUMNS;
    let want: Vec<f64> = (0..MATRIX_COLUMNS * MATRIX_COLUMNS)
        .map(|at| (0..depth).map(|k| a[at / MATRIX_COLUMNS * depth + k] * b[at % MATRIX_COLUMNS * depth + k]).sum())
        .collect();
    done.assert_close("c", &want, 1e-6);
}

/// Checks a product with more tiles than CTAs.
fn check_persistent_product(done: &ExecutedProgram) {
    const MATRIX_COLUMNS: usize = 384;
    const INNER_DIMENSION: usize = 320;
    let [a, b] = ["a", "b"].map(|name| done.bfloats(name));
    let dot =
        |row: usize, column: usize| (0..INNER_DIMENSION).map(|k| a[row * INNER_DIMENSION + k] * b[column * INNER_DIMENSION + k]).sum();
    let want: Vec<f64> = (0..256 * MATRIX_COLUMNS).map(|at| dot(at / MATRIX_COLUMNS, at % MATRIX_COLUMNS)).collect();
    done.assert_close("c", &want, 1e-6);
}

fn check_attention(done: &ExecutedProgram) {
    let inputs = ["q", "k", "v"].map(|name| done.half_floats(name));
    check_attention_of(done, inputs, 2e-3);
}

fn check_group_attention(done: &ExecutedProgram) {
    let inputs = ["q", "k", "v"].map(|name| done.bfloats(name));
    check_attention_of(done, inputs, 1e-2);
}

/// Checks attention: softmax of all unmasked scores of a query, then the weighted sum of the values; the device rounds the weights to 16
/// bits.
fn check_attention_of(done: &ExecutedProgram, [q, k, v]: [Vec<f64>; 3], tolerance: f64) {
    const HEAD_SIZE: usize = 64;
    const SEQUENCE_LENGTH: usize = 192;
    let mut want = Vec::new();
    for query in 0..q.len() / HEAD_SIZE {
        let head = query / SEQUENCE_LENGTH * SEQUENCE_LENGTH;
        let dot = |key: usize| (0..HEAD_SIZE).map(|i| q[query * HEAD_SIZE + i] * k[key * HEAD_SIZE + i]).sum::<f64>() / 8.0;
        let scores: Vec<f64> = (head..=query).map(dot).collect();
        let most = scores.iter().copied().fold(f64::MIN, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let total: f64 = weights.iter().sum();
        want.extend(
            (0..HEAD_SIZE)
                .map(|i| weights.iter().enumerate().map(|(key, weight)| weight * v[(head + key) * HEAD_SIZE + i]).sum::<f64>() / total),
        );
    }
    done.assert_close("o", &want, tolerance);
}
