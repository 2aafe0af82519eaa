//! Checks of Rodinia's wavelets, tracked points, suffix trees and cells.

use super::done::ExecutedProgram;

/// Applies one level of the 5/3 lifting scheme to a line with mirrored ends; returns the low half, then the high half.
fn lift_line(line: &[i32]) -> Vec<i32> {
    let size = line.len() as i32;
    let mirrored = |i: i32| {
        let i = i.abs();
        (if i < size { i } else { 2 * (size - 1) - i }) as usize
    };
    let high = |i: i32| line[mirrored(i)] - (line[mirrored(i - 1)] + line[mirrored(i + 1)]) / 2;
    let low = |i: i32| line[mirrored(i)] + (high(i - 1) + high(i + 1) + 2) / 4;
    (0..size).step_by(2).map(low).chain((1..size).step_by(2).map(high)).collect()
}

pub(crate) fn check_wavelets(done: &ExecutedProgram) {
    const IMAGE_WIDTH: usize = 152;
    const IMAGE_HEIGHT: usize = 136;
    let pixels = done.bytes("pixels");
    for (number, colour) in ["red", "green", "blue"].into_iter().enumerate() {
        let (mut width, mut height) = (IMAGE_WIDTH, IMAGE_HEIGHT);
        let mut image: Vec<i32> = pixels.chunks(3).map(|pixel| i32::from(pixel[number]) - 128).collect();
        for level in 1..=3 {
            let columns: Vec<Vec<i32>> =
                (0..width).map(|x| lift_line(&(0..height).map(|y| image[y * width + x]).collect::<Vec<_>>())).collect();
            let rows: Vec<Vec<i32>> = (0..height).map(|y| lift_line(&columns.iter().map(|column| column[y]).collect::<Vec<_>>())).collect();
            let mut want = vec![0; IMAGE_WIDTH * IMAGE_HEIGHT];
            for (y, row) in rows.iter().enumerate() {
                want[y * IMAGE_WIDTH..y * IMAGE_WIDTH + width].copy_from_slice(row);
            }
            if colour == "red" || level == 3 {
                done.assert_equal(&format!("{colour}{level}"), &want);
            }
            (width, height) = (width / 2, height / 2);
            image = (0..width * height).map(|at| rows[at / width][at % width]).collect();
        }
    }
}

/// Checks tracked points against the definition of normalised cross-correlation.
pub(crate) fn check_tracked_points(done: &ExecutedProgram) {
    const FRAME_SIDE: usize = 96;
    let (points, frames, half, reach, farthest) = (4, 4, 6_i32, 10_i32, 4_i32);
    let side = 2 * half + 1;
    let film = done.floats("film");
    let at = |frame: usize, row: i32, column: i32| film[frame * FRAME_SIDE * FRAME_SIDE + column as usize * FRAME_SIDE + row as usize];
    let places = done.out_ints("places");
    let start = done.ints("places");
    let mut templates = Vec::new();
    for point in 0..points {
        let (mut row, mut column) = (start[2 * point], start[2 * point + 1]);
        let cut = |frame: usize, row: i32, column: i32| -> Vec<f64> {
            (0..side * side).map(|i| at(frame, row - half + i % side, column - half + i / side)).collect()
        };
        let mut template = cut(0, row, column);
        for frame in 1..frames {
            let mean = template.iter().sum::<f64>() / f64::from(side * side);
            let mut best = (f64::MIN, 0, 0);
            for dr in -farthest..=farthest {
                for dc in (-farthest..=farthest).filter(|dc| dr * dr + dc * dc <= farthest * farthest) {
                    // Pixels outside of the window are zero.
                    let seen = |i: i32| {
                        let (r, c) = (dr - half + i % side, dc - half + i / side);
                        if r.abs() <= reach && c.abs() <= reach { at(frame, row + r, column + c) } else { 0.0 }
                    };
                    let under: Vec<f64> = (0..side * side).map(seen).collect();
                    let local = under.iter().sum::<f64>() / f64::from(side * side);
                    let product: f64 = under.iter().zip(&template).map(|(a, b)| (a - local) * (b - mean)).sum();
                    let spread: f64 = under.iter().map(|a| (a - local).powi(2)).sum();
                    let value = product / spread.sqrt();
                    if value > best.0 {
                        best = (value, dr, dc);
                    }
                }
            }
            (row, column) = (row + best.1, column + best.2);
            assert_eq!((best.1, best.2), (2, 1), "the picture moves by two rows and one column");
            let found = 2 * (frame * points + point);
            assert_eq!([places[found], places[found + 1]], [row, column], "point {point} in frame {frame}");
            if frame % 2 == 0 {
                let now = cut(frame, row, column);
                template = template.iter().zip(now).map(|(old, new)| 0.87 * old + 0.13 * new).collect();
            }
        }
        templates.extend(template);
    }
    done.assert_close("templates", &templates, 1e-5);
}

/// Checks the longest matches against an exhaustive search.
pub(crate) fn check_longest_matches(done: &ExecutedProgram) {
    const QUERY_LENGTH: usize = 25;
    const MIN_MATCH_LENGTH: usize = 5;
    let (reference, queries) = (done.bytes("reference"), done.bytes("queries"));
    let (found, places) = (done.out_ints("found"), done.out_ints("places"));
    let mut longest = 0;
    for (query, bases) in queries.chunks(QUERY_LENGTH).enumerate() {
        for start in 0..QUERY_LENGTH {
            let length = |at: usize| reference[at..].iter().zip(&bases[start..]).take_while(|(a, b)| a == b).count();
            let lengths: Vec<usize> = (0..reference.len()).map(length).collect();
            let most = lengths.iter().copied().max().unwrap();
            let number = 2 * (query * QUERY_LENGTH + start);
            let want = if most < MIN_MATCH_LENGTH { 0 } else { most };
            assert_eq!(found[number + 1] as usize, want, "query {query} from {start}");
            if want > 0 {
                let times = lengths.iter().filter(|length| **length == most).count();
                let first = lengths.iter().position(|length| *length == most).unwrap();
                assert_eq!([places[number], places[number + 1]], [times as i32, first as i32], "query {query} from {start}");
            }
            longest = longest.max(most);
        }
    }
    assert!(longest > 12, "the queries are pieces of the reference");
}

/// Checks the gradient inverse coefficient of variation at each pixel, the dilation by a disc, and the smoothing of pieces.
pub(crate) fn check_cells(done: &ExecutedProgram) {
    let (h, w, reach) = (60, 52, 4_i64);
    let [right, down] = ["right", "down"].map(|name| done.floats(name));
    let angles: Vec<f64> = (0..150).map(|n| f64::from(n) * std::f64::consts::TAU / 150.0).collect();
    // An integral value may have been rounded slightly towards zero.
    let whole = |value: f64| (value + 1e-6_f64.copysign(value)) as i64;
    let score = |row: i64, column: i64, radius: f64| {
        let along = |angle: &f64| {
            let place = ((column + whole(angle.cos() * radius)) * h + row + whole(angle.sin() * radius)) as usize;
            right[place] * angle.cos() + down[place] * angle.sin()
        };
        let along: Vec<f64> = angles.iter().map(along).collect();
        let mean = along.iter().sum::<f64>() / 150.0;
        mean * mean / (along.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 149.0)
    };
    let at = |place: i64| {
        let (row, column) = (place % h, place / h);
        if !(22..h - 22).contains(&row) || !(22..w - 22).contains(&column) {
            return 0.0;
        }
        (4..=10).map(|half| score(row, column, f64::from(2 * half))).fold(0.0, f64::max)
    };
    let scores: Vec<f64> = (0..h * w).map(at).collect();
    done.assert_close("scores", &scores, 1e-3);
    let best = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap() as i64;
    assert!((best % h - 30).abs() < 3 && (best / h - 26).abs() < 3, "the spot is found at row {}, column {}", best % h, best / h);
    // The result is stored by rows.
    let scores = done.out_floats("scores");
    let dilated = |place: i64| {
        let (row, column) = (place / w, place % w);
        let near = (-reach..=reach).flat_map(|i| (-reach..=reach).map(move |j| (i, j))).filter(|(i, j)| i * i + j * j <= reach * reach);
        let inside = near.map(|(i, j)| (row + i, column + j)).filter(|&(y, x)| (0..h).contains(&y) && (0..w).contains(&x));
        inside.map(|(y, x)| scores[(x * h + y) as usize]).fold(0.0, f64::max)
    };
    done.assert_close("dilated", &(0..h * w).map(dilated).collect::<Vec<f64>>(), 0.0);
    let flows: Vec<f64> = done.floats("pictures").chunks_exact(21 * 31).flat_map(|given| smooth_gradients(given, 21, 31)).collect();
    done.assert_close("flows", &flows, 1e-4);
}

/// Computes four iterations towards a motion gradient vector flow along (1, 1); a neighbour has full, half or no weight.
fn smooth_gradients(given: &[f64], height: i64, width: i64) -> Vec<f64> {
    let mut picture = given.to_vec();
    for _ in 0..4 {
        let value = |place: usize| {
            let (row, column, old) = (place as i64 / width, place as i64 % width, picture[place]);
            let mut sum = 0.0;
            for (down, right) in (-1..=1).flat_map(|down| (-1..=1).map(move |right| (down, right))) {
                let (y, x) = ((row + down).clamp(0, height - 1), (column + right).clamp(0, width - 1));
                let change = picture[(y * width + x) as usize] - old;
                // Up and to the right is the direction of the motion.
                let along = change * (right - down) as f64;
                sum += (0.5 + (along * 1e10).atan() / std::f64::consts::PI) * change;
            }
            let value = old + 0.5 * 0.2 * sum;
            value - 0.2 * given[place] * (value - given[place])
        };
        picture = (0..given.len()).map(value).collect();
    }
    picture
}
