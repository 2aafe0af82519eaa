//! Checks of the PolyBench programs: matrices and vectors.

use super::done::{ExecutedProgram, ProgramCheck};

pub(crate) const CHECKS: &[(&str, ProgramCheck)] = &[
    ("2DConvolution", check_convolution_of_a_plane),
    ("2mm", check_two_products),
    ("3DConvolution", check_convolution_of_a_cube),
    ("3mm", check_three_products),
    ("atax", check_atax),
    ("bicg", check_bicg),
    ("gemm", check_gemm),
    ("gesummv", check_gesummv),
    ("mvt", check_mvt),
];

/// Multiplies two square matrices.
fn matrix_product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let n = a.len().isqrt();
    (0..n * n).map(|at| (0..n).map(|k| a[at / n * n + k] * b[k * n + at % n]).sum()).collect()
}

/// Multiplies a square matrix by a vector.
fn matrix_vector_product(a: &[f64], x: &[f64]) -> Vec<f64> {
    let n = x.len();
    (0..n).map(|row| (0..n).map(|k| a[row * n + k] * x[k]).sum()).collect()
}

/// Multiplies a transposed square matrix by a vector.
fn transposed_vector_product(a: &[f64], x: &[f64]) -> Vec<f64> {
    let n = x.len();
    (0..n).map(|column| (0..n).map(|k| a[k * n + column] * x[k]).sum()).collect()
}

fn check_convolution_of_a_plane(done: &ExecutedProgram) {
    let input = done.floats("in");
    let n = input.len().isqrt();
    let taps = [0.2, 0.5, -0.8, -0.3, 0.6, -0.9, 0.4, 0.7, 0.1];
    let inner = |i: usize| i > 0 && i < n - 1;
    let at = |i: usize| {
        let (y, x) = (i / n, i % n);
        if !inner(x) || !inner(y) {
            return 0.0;
        }
        (0..9).map(|tap| taps[tap] * input[(y + tap / 3 - 1) * n + x + tap % 3 - 1]).sum()
    };
    done.assert_close("out", &(0..n * n).map(at).collect::<Vec<f64>>(), 1e-5);
}

fn check_convolution_of_a_cube(done: &ExecutedProgram) {
    let input = done.floats("in");
    let n = (1..).find(|n| n * n * n >= input.len()).unwrap();
    // Taps of the stencil: plane, row and column relative to the cell, and the benchmark's factor; some taps occur twice.
    let taps: [(i64, i64, i64, f64); 11] = [
        (-1, -1, -1, 2.0 + 5.0 - 8.0),
        (1, -1, -1, 4.0 + 7.0 + 10.0),
        (0, -1, 0, -3.0),
        (0, 0, 0, 6.0),
        (0, 1, 0, -9.0),
        (-1, -1, 1, 2.0),
        (1, -1, 1, 4.0),
        (-1, 0, 1, 5.0),
        (1, 0, 1, 7.0),
        (-1, 1, 1, -8.0),
        (1, 1, 1, 10.0),
    ];
    let inner = |i: usize| i > 0 && i < n - 1;
    let at = |i: usize| {
        let (z, y, x) = (i / (n * n), i / n % n, i % n);
        if !inner(x) || !inner(y) || !inner(z) {
            return 0.0;
        }
        let n = n as i64;
        taps.iter().map(|(dz, dy, dx, factor)| factor * input[(i as i64 + dz * n * n + dy * n + dx) as usize]).sum()
    };
    done.assert_close("out", &(0..n * n * n).map(at).collect::<Vec<f64>>(), 1e-4);
}

fn check_two_products(done: &ExecutedProgram) {
    let [a, b, d] = ["a", "b", "d"].map(|name| done.floats(name));
    done.assert_close("e", &matrix_product(&matrix_product(&a, &b), &d), 1e-4);
}

fn check_three_products(done: &ExecutedProgram) {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| done.floats(name));
    done.assert_close("g", &matrix_product(&matrix_product(&a, &b), &matrix_product(&c, &d)), 1e-4);
}

fn check_gemm(done: &ExecutedProgram) {
    let [a, b, c] = ["a", "b", "c"].map(|name| done.floats(name));
    let want: Vec<f64> = matrix_product(&a, &b).iter().zip(&c).map(|(product, c)| 32412.0 * product + 2123.0 * c).collect();
    done.assert_close("c", &want, 1e-4);
}

fn check_atax(done: &ExecutedProgram) {
    let [a, x] = ["a", "x"].map(|name| done.floats(name));
    done.assert_close("y", &transposed_vector_product(&a, &matrix_vector_product(&a, &x)), 1e-4);
}

fn check_bicg(done: &ExecutedProgram) {
    let [a, r, p] = ["a", "r", "p"].map(|name| done.floats(name));
    done.assert_close("s", &transposed_vector_product(&a, &r), 1e-4);
    done.assert_close("q", &matrix_vector_product(&a, &p), 1e-4);
}

fn check_mvt(done: &ExecutedProgram) {
    let [a, x1, y1, x2, y2] = ["a", "x1", "y1", "x2", "y2"].map(|name| done.floats(name));
    let sum = |x: &[f64], product: Vec<f64>| x.iter().zip(product).map(|(x, product)| x + product).collect::<Vec<f64>>();
    done.assert_close("x1", &sum(&x1, matrix_vector_product(&a, &y1)), 1e-4);
    done.assert_close("x2", &sum(&x2, transposed_vector_product(&a, &y2)), 1e-4);
}

fn check_gesummv(done: &ExecutedProgram) {
    let [a, b, x] = ["a", "b", "x"].map(|name| done.floats(name));
    let want: Vec<f64> =
        matrix_vector_product(&a, &x).iter().zip(matrix_vector_product(&b, &x)).map(|(a, b)| 43532.0 * a + 12313.0 * b).collect();
    done.assert_close("y", &want, 1e-4);
}
