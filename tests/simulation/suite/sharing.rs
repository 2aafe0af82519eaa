//! Checks of the pairs of kernels that share a GPU.

use super::done::{ExecutedProgram, ProgramCheck};

pub(crate) const CHECKS: &[(&str, ProgramCheck)] = &[("add", check_scaled_words), ("stream", check_copied_words)];

/// Checks that each word is multiplied 17 times in each of ten loops.
fn check_scaled_words(done: &ExecutedProgram) {
    let [a, b] = ["a", "b"].map(|name| done.floats(name));
    let factor = 1.000_976_562_5_f64.powi(170);
    done.assert_close("sum", &a.iter().zip(&b).map(|(a, b)| (a + b) * factor).collect::<Vec<f64>>(), 1e-4);
}

fn check_copied_words(done: &ExecutedProgram) {
    done.assert_close("out", &done.floats("in"), 0.0);
}
