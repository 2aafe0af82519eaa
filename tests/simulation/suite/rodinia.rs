//! Checks of the Rodinia programs: heterogeneous computing.

use super::done::{ExecutedProgram, ProgramCheck, assert_close};
use super::rodinia_images;

pub(crate) const CHECKS: &[(&str, ProgramCheck)] = &[
    ("backprop", check_backprop),
    ("bfs", check_search),
    ("btree", check_tree),
    ("cfd", check_flow),
    ("dwt2d", rodinia_images::check_wavelets),
    ("gaussian", check_elimination),
    ("heartwall", rodinia_images::check_tracked_points),
    ("hotspot", check_heat),
    ("kmeans", check_clusters),
    ("lavaMD", check_particles),
    ("lavaMDinMemory", check_particles),
    ("leukocyte", rodinia_images::check_cells),
    ("lud", check_decomposition),
    ("mummer", rodinia_images::check_longest_matches),
    ("nn", check_distances),
    ("nw", check_alignment),
    ("pathfinder", check_paths),
    ("srad_v1", check_speckle_by_columns),
    ("srad_v2", check_speckle_by_rows),
    ("streamcluster", check_gains),
];

fn check_backprop(done: &ExecutedProgram) {
    let [input, weights, delta, trained] = ["input", "weights", "delta", "trained"].map(|name| done.floats(name));
    let groups = input.len() / 16;
    let partial = |at: usize| -> f64 {
        let (group, unit) = (at / 16, at % 16);
        (1..=16).map(|row| input[group * 16 + row] * weights[(group * 16 + row) * 17 + unit + 1]).sum()
    };
    done.assert_close("partial", &(0..groups * 16).map(partial).collect::<Vec<f64>>(), 1e-5);
    // The bias row counts as an input of 1; column 0 does not change.
    let change = |at: usize| match (at / 17, at % 17) {
        (_, 0) => 0.0,
        (0, unit) => 0.3 * delta[unit],
        (row, unit) => 0.3 * delta[unit] * input[row],
    };
    let changes: Vec<f64> = (0..trained.len()).map(change).collect();
    done.assert_close("previous", &changes, 1e-6);
    done.assert_close("trained", &trained.iter().zip(&changes).map(|(old, change)| old + change).collect::<Vec<f64>>(), 1e-6);
}

fn check_distances(done: &ExecutedProgram) {
    let places = done.floats("places");
    done.assert_close(
        "distances",
        &places.chunks_exact(2).map(|place| (30.0 - place[0]).hypot(90.0 - place[1])).collect::<Vec<f64>>(),
        1e-6,
    );
}

fn check_search(done: &ExecutedProgram) {
    let [vertices, edges] = ["vertices", "edges"].map(|name| done.ints(name));
    let mut cost = vec![-1; vertices.len() / 2];
    cost[0] = 0;
    let mut frontier = vec![0_usize];
    while let Some(v) = frontier.first().copied() {
        frontier.remove(0);
        let (first, degree) = (vertices[2 * v] as usize, vertices[2 * v + 1] as usize);
        for &to in &edges[first..first + degree] {
            if cost[to as usize] < 0 {
                cost[to as usize] = cost[v] + 1;
                frontier.push(to as usize);
            }
        }
    }
    assert!(cost.iter().max().is_some_and(|&longest| longest > 4));
    done.assert_equal("cost", &cost);
}

fn check_tree(done: &ExecutedProgram) {
    done.assert_equal("answers", &done.ints("keys"));
    done.assert_equal("start", &done.ints("low"));
    done.assert_equal("length", &vec![3001; done.ints("low").len()]);
}

/// State of a cell: density, momenta and energy; velocities; pressure; speed; speed of sound.
type FluidState = ([f64; 5], [f64; 3], f64, f64, f64);

fn cell_state(values: [f64; 5]) -> FluidState {
    let velocity = [1, 2, 3].map(|k| values[k] / values[0]);
    let square: f64 = velocity.iter().map(|v| v * v).sum();
    let pressure = 0.4 * (values[4] - 0.5 * values[0] * square);
    (values, velocity, pressure, square.sqrt(), (1.4 * pressure / values[0]).sqrt())
}

/// Computes the flux through a face from one side.
fn side_flux(normal: [f64; 3], (values, velocity, pressure, ..): FluidState) -> [f64; 5] {
    let along: f64 = normal.iter().zip(velocity).map(|(n, v)| n * v).sum();
    let momentum = [0, 1, 2].map(|k| along * values[k + 1] + normal[k] * pressure);
    let mass = along * values[0];
    [mass, momentum[0], momentum[1], momentum[2], along * (values[4] + pressure)].map(|flow| 0.5 * flow)
}

fn check_flow(done: &ExecutedProgram) {
    let [areas, normals] = ["areas", "normals"].map(|name| done.floats(name));
    let (neighbours, n, far) = (done.ints("neighbours"), areas.len(), [1.4, 1.68, 0.0, 0.0, 3.508]);
    assert!([-2, -1].iter().all(|border| neighbours.contains(border)));
    let mut now: Vec<[f64; 5]> = (0..n).map(|i| far.map(|value| value * (1.0 + 0.001 * (i % 11) as f64))).collect();
    let old = now.clone();
    for stage in 1..=3 {
        let states: Vec<FluidState> = now.iter().map(|values| cell_state(*values)).collect();
        let updated = (0..n).map(|i| {
            let (own, mut sum) = (states[i], [0.0; 5]);
            let mut add = |flows: [f64; 5]| sum.iter_mut().zip(flows).for_each(|(sum, flow)| *sum += flow);
            for j in 0..4 {
                let normal = [0, 1, 2].map(|d| normals[i + (j + 4 * d) * n]);
                match neighbours[i + j * n] {
                    -1 => add([0.0, normal[0] * own.2, normal[1] * own.2, normal[2] * own.2, 0.0]),
                    -2 => [own, cell_state(far)].into_iter().for_each(|of| add(side_flux(normal, of))),
                    to => {
                        let other = states[to as usize];
                        let length = normal.iter().map(|part| part * part).sum::<f64>().sqrt();
                        let factor = -length * 0.1 * (own.3 + other.3 + own.4 + other.4);
                        add([0, 1, 2, 3, 4].map(|v| factor * (own.0[v] - other.0[v])));
                        [own, other].into_iter().for_each(|of| add(side_flux(normal, of)));
                    }
                }
            }
            let first = cell_state(old[i]);
            let factor = 0.5 / (areas[i].sqrt() * (first.3 + first.4)) / f64::from(4 - stage);
            [0, 1, 2, 3, 4].map(|v| old[i][v] + factor * sum[v])
        });
        now = updated.collect();
    }
    done.assert_close("variables", &(0..5 * n).map(|at| now[at % n][at / n]).collect::<Vec<f64>>(), 1e-4);
}

fn check_elimination(done: &ExecutedProgram) {
    let (mut a, mut b) = (done.floats("a"), done.floats("b"));
    let n = b.len();
    for column in 0..n - 1 {
        for row in column + 1..n {
            let factor = a[row * n + column] / a[column * n + column];
            for k in column..n {
                a[row * n + k] -= factor * a[column * n + k];
            }
            b[row] -= factor * b[column];
        }
    }
    done.assert_close("a", &a, 1e-4);
    done.assert_close("b", &b, 1e-4);
}

fn check_heat(done: &ExecutedProgram) {
    let (power, start) = (done.floats("power"), done.floats("from"));
    let n = start.len().isqrt();
    let (scale, gx, gy, gz) = (1.458_333_4e-7 / 1.068_115_2e-7, 0.1, 0.1, 1.0 / 20480.0);
    let step = |now: &[f64]| -> Vec<f64> {
        let at = |i: usize| {
            let (y, x) = (i / n, i % n);
            let [north, south] = [y.saturating_sub(1), (y + 1).min(n - 1)].map(|y| now[y * n + x]);
            let [west, east] = [x.saturating_sub(1), (x + 1).min(n - 1)].map(|x| now[y * n + x]);
            let flow = (south + north - 2.0 * now[i]) * gy + (east + west - 2.0 * now[i]) * gx + (80.0 - now[i]) * gz;
            now[i] + scale * (power[i] + flow)
        };
        (0..n * n).map(at).collect()
    };
    done.assert_close("to", &step(&step(&start)), 1e-5);
}

fn check_clusters(done: &ExecutedProgram) {
    let (points, centres) = (done.floats("in"), done.constant_memory(5 * 16, 0.0, 1.0, 97));
    let distance = |point: &[f64], centre: &[f64]| point.iter().zip(centre).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    for (i, (point, got)) in points.chunks_exact(16).zip(done.out_ints("membership")).enumerate() {
        let distances: Vec<f64> = centres.chunks_exact(16).map(|centre| distance(point, centre)).collect();
        let least = distances.iter().copied().fold(f64::MAX, f64::min);
        assert!(distances[got as usize] <= least * (1.0 + 1e-5), "point {i}: centre {got} of {distances:?}");
    }
}

/// Checks that the product of the triangular matrices is the input.
fn check_decomposition(done: &ExecutedProgram) {
    let (m, got) = (done.floats("m"), done.out_floats("m"));
    let n = m.len().isqrt();
    for i in 0..n * n {
        let (row, column) = (i / n, i % n);
        let lower = |k: usize| if k == row { 1.0 } else { got[row * n + k] };
        let product: f64 = (0..=row.min(column)).map(|k| lower(k) * got[k * n + column]).sum();
        assert!((product - m[i]).abs() < 1e-3, "element {i}: {product} instead of {}", m[i]);
    }
}

fn check_alignment(done: &ExecutedProgram) {
    let (score, mut table) = (done.ints("score"), done.ints("table"));
    let n = table.len().isqrt();
    for y in 1..n {
        for x in 1..n {
            let gap = table[(y - 1) * n + x].max(table[y * n + x - 1]) - 10;
            table[y * n + x] = gap.max(table[(y - 1) * n + x - 1] + score[y * n + x]);
        }
    }
    done.assert_equal("table", &table);
}

fn check_paths(done: &ExecutedProgram) {
    let (wall, mut best) = (done.ints("wall"), done.ints("a"));
    let columns = best.len();
    for row in wall.chunks_exact(columns) {
        let near = |x: usize| *best[x.saturating_sub(1)..(x + 2).min(columns)].iter().min().unwrap();
        best = (0..columns).map(|x| near(x) + row[x]).collect();
    }
    done.assert_equal("a", &best);
}

/// Computes an iteration of the diffusion. Neighbours of a cell are north, south, west and east; the coefficients are taken at the cell,
/// its southern neighbour, the cell and its eastern neighbour.
fn diffusion_step(image: &[f64], neighbours: impl Fn(usize) -> [usize; 4]) -> Vec<f64> {
    let variance = 0.053;
    let coefficient = |i: usize| {
        let difference = neighbours(i).map(|to| image[to] - image[i]);
        let gradient: f64 = difference.iter().map(|d| d * d).sum::<f64>() / (image[i] * image[i]);
        let laplace = difference.iter().sum::<f64>() / image[i];
        let square = (0.5 * gradient - laplace * laplace / 16.0) / (1.0 + 0.25 * laplace).powi(2);
        (1.0 / (1.0 + (square - variance) / (variance * (1.0 + variance)))).clamp(0.0, 1.0)
    };
    let c: Vec<f64> = (0..image.len()).map(coefficient).collect();
    let at = |i: usize| {
        let to = neighbours(i);
        let weights = [c[i], c[to[1]], c[i], c[to[3]]];
        let divergence: f64 = weights.iter().zip(to).map(|(weight, to)| weight * (image[to] - image[i])).sum();
        image[i] + 0.25 * 0.5 * divergence
    };
    (0..image.len()).map(at).collect()
}

fn check_speckle_by_columns(done: &ExecutedProgram) {
    let (rows, columns) = (64, 58);
    let neighbours = |i: usize| {
        let (row, column) = (i % rows, i / rows);
        let of = |row: usize, column: usize| row + rows * column;
        [
            of(row.saturating_sub(1), column),
            of((row + 1).min(rows - 1), column),
            of(row, column.saturating_sub(1)),
            of(row, (column + 1).min(columns - 1)),
        ]
    };
    let scaled: Vec<f64> = done.floats("image").iter().map(|value| (value / 255.0).exp()).collect();
    let once = diffusion_step(&scaled, neighbours);
    let total: f64 = once.iter().sum();
    assert!((done.out_floats("sums")[0] / total - 1.0).abs() < 1e-4, "the sum of the image before its last iteration");
    done.assert_close("image", &diffusion_step(&once, neighbours).iter().map(|value| value.ln() * 255.0).collect::<Vec<f64>>(), 1e-3);
}

fn check_speckle_by_rows(done: &ExecutedProgram) {
    let image = done.floats("image");
    let n = image.len().isqrt();
    let neighbours = |i: usize| {
        let (y, x) = (i / n, i % n);
        [y.saturating_sub(1) * n + x, (y + 1).min(n - 1) * n + x, y * n + x.saturating_sub(1), y * n + (x + 1).min(n - 1)]
    };
    done.assert_close("image", &diffusion_step(&diffusion_step(&image, neighbours), neighbours), 1e-4);
}

fn check_gains(done: &ExecutedProgram) {
    let coordinates = done.floats("coordinates");
    let (points, table) = (done.bytes("points"), done.ints("table"));
    let n = table.len();
    let single = |at: usize| f64::from(f32::from_le_bytes(points[at..at + 4].try_into().unwrap()));
    let (mut work, mut moves) = (vec![0.0; n * 13], vec![0_u8; n]);
    for candidate in [3, 20] {
        for i in 0..n {
            let distance: f64 = (0..32).map(|d| (coordinates[d * n + i] - coordinates[d * n + candidate]).powi(2)).sum();
            let (cost, before) = (distance * single(24 * i), single(24 * i + 16));
            if cost < before {
                moves[i] = 1;
                work[i * 13 + 12] += cost - before;
            } else {
                let assigned = i64::from_le_bytes(points[24 * i + 8..24 * i + 16].try_into().unwrap()) as usize;
                work[i * 13 + table[assigned] as usize] += before - cost;
            }
        }
    }
    done.assert_close("work", &work, 1e-4);
    assert!(done.out_bytes("moves") == moves && moves.contains(&0) && moves.contains(&1));
}

/// Checks the forces on particles from their own box and adjacent boxes; there are 3 x 2 boxes.
fn check_particles(done: &ExecutedProgram) {
    let [particles, charges] = ["particles", "charges"].map(|name| done.doubles(name));
    let four = |i: usize| [0, 1, 2, 3].map(|k| particles[4 * i + k]);
    let apart = |i: usize, j: usize| (i / 100 % 3).abs_diff(j / 100 % 3);
    let felt = |i: usize| {
        let [v, own @ ..] = four(i);
        let mut sum = [0.0; 4];
        for j in (0..charges.len()).filter(|&j| apart(i, j) < 2) {
            let [w, other @ ..] = four(j);
            let dot: f64 = own.iter().zip(other).map(|(a, b)| a * b).sum();
            let potential = (-0.5 * (v + w - dot)).exp() * charges[j];
            sum[0] += potential;
            (0..3).for_each(|k| sum[k + 1] += 2.0 * potential * (own[k] - other[k]));
        }
        sum
    };
    assert_eq!(charges.len(), 600);
    assert_close("sums", &done.out_doubles("sums"), &(0..600).flat_map(felt).collect::<Vec<f64>>(), 1e-11);
}
