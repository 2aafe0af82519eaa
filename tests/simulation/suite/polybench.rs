//! Matrices and vectors.

use super::done::{Check, Done};

pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("2DConvolution", convolution_of_a_plane),
    ("2mm", two_products),
    ("3DConvolution", convolution_of_a_cube),
    ("3mm", three_products),
    ("atax", atax),
    ("bicg", bicg),
    ("gemm", gemm),
    ("gesummv", gesummv),
    ("mvt", mvt),
];

/// The product of two square matrices.
fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let n = a.len().isqrt();
    (0..n * n).map(|at| (0..n).map(|k| a[at / n * n + k] * b[k * n + at % n]).sum()).collect()
}

/// A square matrix times a vector.
fn rows(a: &[f64], x: &[f64]) -> Vec<f64> {
    let n = x.len();
    (0..n).map(|row| (0..n).map(|k| a[row * n + k] * x[k]).sum()).collect()
}

/// A transposed square matrix times a vector.
fn columns(a: &[f64], x: &[f64]) -> Vec<f64> {
    let n = x.len();
    (0..n).map(|column| (0..n).map(|k| a[k * n + column] * x[k]).sum()).collect()
}

fn convolution_of_a_plane(done: &Done) {
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
    done.close("out", &(0..n * n).map(at).collect::<Vec<f64>>(), 1e-5);
}

fn convolution_of_a_cube(done: &Done) {
    let input = done.floats("in");
    let n = (1..).find(|n| n * n * n >= input.len()).unwrap();
    // Planes before, here and after; rows and columns relative to the cell; factors as the benchmark has them, some of them twice.
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
    done.close("out", &(0..n * n * n).map(at).collect::<Vec<f64>>(), 1e-4);
}

fn two_products(done: &Done) {
    let [a, b, d] = ["a", "b", "d"].map(|name| done.floats(name));
    done.close("e", &product(&product(&a, &b), &d), 1e-4);
}

fn three_products(done: &Done) {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| done.floats(name));
    done.close("g", &product(&product(&a, &b), &product(&c, &d)), 1e-4);
}

fn gemm(done: &Done) {
    let [a, b, c] = ["a", "b", "c"].map(|name| done.floats(name));
    let want: Vec<f64> = product(&a, &b).iter().zip(&c).map(|(product, c)| 32412.0 * product + 2123.0 * c).collect();
    done.close("c", &want, 1e-4);
}

fn atax(done: &Done) {
    let [a, x] = ["a", "x"].map(|name| done.floats(name));
    done.close("y", &columns(&a, &rows(&a, &x)), 1e-4);
}

fn bicg(done: &Done) {
    let [a, r, p] = ["a", "r", "p"].map(|name| done.floats(name));
    done.close("s", &columns(&a, &r), 1e-4);
    done.close("q", &rows(&a, &p), 1e-4);
}

fn mvt(done: &Done) {
    let [a, x1, y1, x2, y2] = ["a", "x1", "y1", "x2", "y2"].map(|name| done.floats(name));
    let sum = |x: &[f64], product: Vec<f64>| x.iter().zip(product).map(|(x, product)| x + product).collect::<Vec<f64>>();
    done.close("x1", &sum(&x1, rows(&a, &y1)), 1e-4);
    done.close("x2", &sum(&x2, columns(&a, &y2)), 1e-4);
}

fn gesummv(done: &Done) {
    let [a, b, x] = ["a", "b", "x"].map(|name| done.floats(name));
    let want: Vec<f64> = rows(&a, &x).iter().zip(rows(&b, &x)).map(|(a, b)| 43532.0 * a + 12313.0 * b).collect();
    done.close("y", &want, 1e-4);
}
