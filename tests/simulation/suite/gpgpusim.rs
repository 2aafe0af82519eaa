//! Checks of the benchmarks from GPGPU-Sim.

use super::done::{ExecutedProgram, ProgramCheck, formula_hash};

pub(crate) const CHECKS: &[(&str, ProgramCheck)] = &[("cp", check_potential)];

fn check_potential(done: &ExecutedProgram) {
    let (atoms, across, down) = (60, 4_i64, 8_i64);
    // The atoms are in constant memory, which the launch file initialises.
    let number = |i: usize| {
        let units = match i % 4 {
            0 => formula_hash(i) % (3200 * across),
            1 => formula_hash(i) % (800 * down),
            2 => 10 + formula_hash(i) % 4990,
            _ => formula_hash(i) % 2001 - 1000,
        };
        units as f64 * 0.001
    };
    let columns = 32 * across as usize;
    let energy = |place: usize| {
        let (x, y) = (0.1 * (place % columns) as f64, 0.1 * (place / columns) as f64);
        let of = |atom: usize| {
            let [ax, ay, square, charge] = [0, 1, 2, 3].map(|k| number(4 * atom + k));
            charge / ((x - ax).powi(2) + (y - ay).powi(2) + square).sqrt()
        };
        (0..atoms).map(of).sum()
    };
    done.assert_close("energies", &(0..columns * 8 * down as usize).map(energy).collect::<Vec<f64>>(), 1e-4);
}
