//! Checks of the Parboil programs: throughput computing.

use super::done::{ExecutedProgram, ProgramCheck};

pub(crate) const CHECKS: &[(&str, ProgramCheck)] = &[
    ("histo", check_histogram),
    ("lbm", check_fluid),
    ("mriq", check_magnetic_resonance),
    ("sad", check_differences),
    ("sgemm", check_product),
    ("spmv", check_sparse),
    ("spmvGrid", check_banded),
    ("stencil", check_stencil),
    ("tpacf", check_correlation),
];

fn check_product(done: &ExecutedProgram) {
    let [a, b] = ["a", "b"].map(|name| done.floats(name));
    let (m, n, k) = (128, 64, 48);
    let want = (0..m * n).map(|at| (0..k).map(|i| a[at % m + i * m] * b[at / m + i * n]).sum());
    done.assert_close("c", &want.collect::<Vec<f64>>(), 1e-5);
}

fn check_stencil(done: &ExecutedProgram) {
    let (nx, ny, nz) = (128, 16, 10);
    let step = |from: &[f64]| {
        let mut to = from.to_vec();
        for at in 0..from.len() {
            let (x, y, z) = (at % nx, at / nx % ny, at / (nx * ny));
            if x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1 {
                continue;
            }
            let around: f64 = [1, nx, nx * ny].iter().map(|d| from[at - d] + from[at + d]).sum();
            to[at] = around / 36.0 - from[at] / 6.0;
        }
        to
    };
    done.assert_close("a", &step(&step(&done.floats("a"))), 1e-5);
}

fn check_sparse(done: &ExecutedProgram) {
    let [values, vector] = ["values", "vector"].map(|name| done.floats(name));
    let [columns, rows] = ["columns", "rows"].map(|name| done.ints(name));
    let n = vector.len();
    let mut want = vec![0.0; n];
    for i in 0..n {
        let length = (24 - i / 32 * 24 * 32 / n).max(1);
        want[rows[i] as usize] = (0..length).map(|k| values[k * n + i] * vector[columns[k * n + i] as usize]).sum();
    }
    done.assert_close("out", &want, 1e-5);
}

fn check_banded(done: &ExecutedProgram) {
    let [values, vector] = ["values", "vector"].map(|name| done.floats(name));
    let (side, n) = (16, vector.len());
    let mut want = vec![0.0; n];
    for (i, want) in want.iter_mut().enumerate() {
        for k in 0..27 {
            let ahead = k % 3 + k / 3 % 3 * side + k / 9 * side * side;
            *want += values[k * n + i] * vector[(i + ahead + n - 1 - side - side * side) % n];
        }
    }
    done.assert_close("out", &want, 1e-5);
}

fn check_magnetic_resonance(done: &ExecutedProgram) {
    let [real, imaginary, x, y, z] = ["kreal", "kimaginary", "x", "y", "z"].map(|name| done.floats(name));
    let magnitudes: Vec<f64> = real.iter().zip(&imaginary).map(|(real, imaginary)| real * real + imaginary * imaginary).collect();
    done.assert_close("magnitude", &magnitudes, 1e-6);
    // The points are in constant memory, which the launch file initialises like a buffer.
    let space = done.constant_memory(4 * 64, 0.0, 0.3, 125);
    let sum = |voxel: usize, of: fn(f64) -> f64| {
        let angle = |point: &[f64]| std::f64::consts::TAU * (point[0] * x[voxel] + point[1] * y[voxel] + point[2] * z[voxel]);
        space.chunks_exact(4).map(|point| point[3] * of(angle(point))).sum::<f64>()
    };
    done.assert_close("real", &(0..x.len()).map(|voxel| sum(voxel, f64::cos)).collect::<Vec<f64>>(), 1e-4);
    done.assert_close("imaginary", &(0..x.len()).map(|voxel| sum(voxel, f64::sin)).collect::<Vec<f64>>(), 1e-4);
}

fn check_differences(done: &ExecutedProgram) {
    let shorts = |name: &str| -> Vec<i32> {
        done.bytes(name).chunks_exact(2).map(|pair| i32::from(u16::from_le_bytes([pair[0], pair[1]]))).collect()
    };
    let (frame, reference, width, height) = (shorts("frame"), shorts("reference"), 16_i32, 8_i32);
    let pixel = |x: i32, y: i32| reference[(y.clamp(0, height - 1) * width + x.clamp(0, width - 1)) as usize];
    // Sum over a square of `side` pixels at a search position.
    let sum = |bx: i32, by: i32, side: i32, position: i32| -> u16 {
        let (rx, ry) = (bx * side - 16 + position % 33, by * side - 16 + position / 33);
        let at =
            |i: i32| (frame[((by * side + i / side) * width + bx * side + i % side) as usize] - pixel(rx + i % side, ry + i / side)).abs();
        (0..side * side).map(at).sum::<i32>() as u16
    };
    for (buffer, side) in [("sums", 4), ("sums8", 8)] {
        let (got, across) = (done.out_shorts(buffer), width / side);
        for block in 0..across * (height / side) {
            for position in 0..33 * 33 {
                let place = (block * 1096 + position) as usize;
                assert_eq!(got[place], sum(block % across, block / across, side, position), "{buffer}, block {block}, position {position}");
            }
        }
    }
}

/// Checks two steps of the lattice, direction by direction, with the weights of its 19 directions.
fn check_fluid(done: &ExecutedProgram) {
    let (nx, ny, nz) = (64_i64, 8_i64, 8_i64);
    let cells = (nx * ny * nz) as usize;
    let flags = done.ints("flags");
    assert!([0, 1, 2].iter().all(|flag| flags.contains(flag)));
    let directions: Vec<(i64, i64, i64)> = [
        [0, 0, 0],
        [0, 1, 0],
        [0, -1, 0],
        [1, 0, 0],
        [-1, 0, 0],
        [0, 0, 1],
        [0, 0, -1],
        [1, 1, 0],
        [-1, 1, 0],
        [1, -1, 0],
        [-1, -1, 0],
        [0, 1, 1],
        [0, 1, -1],
        [0, -1, 1],
        [0, -1, -1],
        [1, 0, 1],
        [1, 0, -1],
        [-1, 0, 1],
        [-1, 0, -1],
    ]
    .map(|[x, y, z]| (x, y, z))
    .to_vec();
    let back = |d: usize| directions.iter().position(|&(x, y, z)| (-x, -y, -z) == directions[d]).unwrap();
    let step = |from: &[f64]| {
        let mut to = vec![0.0; from.len()];
        for cell in 0..cells {
            let f: Vec<f64> = (0..19).map(|d| from[d * cells + cell]).collect();
            let rho: f64 = f.iter().sum();
            let mut u = [0.0; 3];
            for (d, &(x, y, z)) in directions.iter().enumerate() {
                for (u, along) in u.iter_mut().zip([x, y, z]) {
                    *u += along as f64 * f[d] / rho;
                }
            }
            if flags[cell] == 2 {
                u = [0.005, 0.002, 0.0];
            }
            let square = 1.5 * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) - 1.0;
            let (x, y, z) = (cell as i64 % nx, cell as i64 / nx % ny, cell as i64 / (nx * ny));
            for (d, &(dx, dy, dz)) in directions.iter().enumerate() {
                let along = dx as f64 * u[0] + dy as f64 * u[1] + dz as f64 * u[2];
                let weight = [1.0 / 3.0, 1.0 / 18.0, 1.0 / 36.0][(dx.abs() + dy.abs() + dz.abs()) as usize];
                let collided = -0.95 * f[d] + 1.95 * rho * weight * (along * (4.5 * along + 3.0) - square);
                let value = if flags[cell] == 1 { f[back(d)] } else { collided };
                let target = (x + dx).rem_euclid(nx) + nx * ((y + dy).rem_euclid(ny) + ny * (z + dz).rem_euclid(nz));
                to[d * cells + target as usize] = value;
            }
        }
        to
    };
    done.assert_close("a", &step(&step(&done.floats("a"))), 1e-5);
}

fn check_histogram(done: &ExecutedProgram) {
    let input = done.ints("in");
    let mut bins = vec![0_u32; 4 * 4096];
    input.iter().for_each(|&value| bins[value as usize] += 1);
    let want: Vec<u8> = bins.iter().map(|&count| count.min(255) as u8).collect();
    assert!(done.out_bytes("out") == want && bins.iter().any(|&count| count > 255));
    // The sample is an eighth of each quarter.
    let sampled = |part: usize| input[part * 4096..part * 4096 + 512].iter().map(|value| value / 4096);
    let rows: Vec<i32> = (0..4).flat_map(sampled).collect();
    done.assert_equal("range", &[*rows.iter().min().unwrap(), *rows.iter().max().unwrap()]);
}

/// Checks each bin: its count is at least the number of pairs clearly inside and at most the number that rounding may include.
fn check_correlation(done: &ExecutedProgram) {
    let [x, y, z] = ["x", "y", "z"].map(|name| done.floats(name));
    let (points, sets, rounding) = (260, 1, 3e-7);
    let limit = |k: usize| (10_f64.powf(k as f64 / 5.0) / 60.0).to_radians().cos();
    let got = done.out_longs("histograms");
    assert_eq!(got.len(), 20 * (2 * sets + 1));
    for (cta, counts) in got.chunks_exact(20).enumerate() {
        let within = cta <= sets;
        let (first, second) = if within { (cta * points, cta * points) } else { (0, (cta - sets) * points) };
        let pairs = (0..points).flat_map(|i| (if within { i + 1 } else { 0 }..points).map(move |j| (first + i, second + j)));
        let cosines: Vec<f64> = pairs.map(|(i, j)| x[i] * x[j] + y[i] * y[j] + z[i] * z[j]).collect();
        for (bin, &count) in counts.iter().enumerate() {
            let between = |room: f64| cosines.iter().filter(|&&c| c >= limit(bin + 1) - room && c < limit(bin) + room).count() as i64;
            assert!((between(-rounding)..=between(rounding)).contains(&count), "CTA {cta}, bin {bin}: {count}");
        }
    }
    assert!(got.iter().filter(|&&count| count > 0).count() > 40);
}
