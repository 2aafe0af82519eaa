//! Pairs of kernels that share a GPU.

use super::done::{Check, Done};

pub(crate) const CHECKS: &[(&str, Check)] = &[("add", scaled), ("stream", copied)];

/// Each word is multiplied 17 times in each of ten loops.
fn scaled(done: &Done) {
    let [a, b] = ["a", "b"].map(|name| done.floats(name));
    let factor = 1.000_976_562_5_f64.powi(170);
    done.close("sum", &a.iter().zip(&b).map(|(a, b)| (a + b) * factor).collect::<Vec<f64>>(), 1e-4);
}

fn copied(done: &Done) {
    done.close("out", &done.floats("in"), 0.0);
}
