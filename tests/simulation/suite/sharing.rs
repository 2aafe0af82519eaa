//! Checks of the pairs of kernels that share a GPU.

use super::done::{Check, ExecutedProgram};

pub(crate) const CHECKS: &[(&str, Check)] = &[("add", check_scaled), ("stream", check_copied)];

/// Checks that each word is multiplied 17 times in each of ten loops.
fn check_scaled(done: &ExecutedProgram) {
    let [a, b] = ["a", "b"].map(|name| done.floats(name));
    let factor = 1.000_976_562_5_f64.powi(170);
    done.assert_close("sum", &a.iter().zip(&b).map(|(a, b)| (a + b) * factor).collect::<Vec<f64>>(), 1e-4);
}

fn check_copied(done: &ExecutedProgram) {
    done.assert_close("out", &done.floats("in"), 0.0);
}
