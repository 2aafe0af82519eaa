//! Wavelets, tracked points and suffix trees of Rodinia.

use crate::done::Done;

/// One level of the 5/3 lifting scheme along a line with mirrored ends: the low half, then the high one.
fn lifted(line: &[i32]) -> Vec<i32> {
    let size = line.len() as i32;
    let mirrored = |i: i32| {
        let i = i.abs();
        (if i < size { i } else { 2 * (size - 1) - i }) as usize
    };
    let high = |i: i32| line[mirrored(i)] - (line[mirrored(i - 1)] + line[mirrored(i + 1)]) / 2;
    let low = |i: i32| line[mirrored(i)] + (high(i - 1) + high(i + 1) + 2) / 4;
    (0..size).step_by(2).map(low).chain((1..size).step_by(2).map(high)).collect()
}

pub(crate) fn wavelets(done: &Done) {
    const W: usize = 152;
    const H: usize = 136;
    let pixels = done.bytes("pixels");
    for (number, colour) in ["red", "green", "blue"].into_iter().enumerate() {
        let (mut width, mut height) = (W, H);
        let mut image: Vec<i32> = pixels.chunks(3).map(|pixel| i32::from(pixel[number]) - 128).collect();
        for level in 1..=3 {
            let columns: Vec<Vec<i32>> =
                (0..width).map(|x| lifted(&(0..height).map(|y| image[y * width + x]).collect::<Vec<_>>())).collect();
            let rows: Vec<Vec<i32>> = (0..height).map(|y| lifted(&columns.iter().map(|column| column[y]).collect::<Vec<_>>())).collect();
            let mut want = vec![0; W * H];
            for (y, row) in rows.iter().enumerate() {
                want[y * W..y * W + width].copy_from_slice(row);
            }
            if colour == "red" || level == 3 {
                done.same(&format!("{colour}{level}"), &want);
            }
            (width, height) = (width / 2, height / 2);
            image = (0..width * height).map(|at| rows[at / width][at % width]).collect();
        }
    }
}

/// Normalised cross-correlation by its definition.
pub(crate) fn tracked(done: &Done) {
    const ROWS: usize = 96;
    let (points, frames, half, reach, farthest) = (4, 4, 6_i32, 10_i32, 4_i32);
    let side = 2 * half + 1;
    let film = done.floats("film");
    let at = |frame: usize, row: i32, column: i32| film[frame * ROWS * ROWS + column as usize * ROWS + row as usize];
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
                    // Outside of the window there are zeros.
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
    done.close("templates", &templates, 1e-5);
}

/// Longest matches by looking everywhere.
pub(crate) fn matched(done: &Done) {
    const LENGTH: usize = 25;
    const LEAST: usize = 5;
    let (reference, queries) = (done.bytes("reference"), done.bytes("queries"));
    let (found, places) = (done.out_ints("found"), done.out_ints("places"));
    let mut longest = 0;
    for (query, bases) in queries.chunks(LENGTH).enumerate() {
        for start in 0..LENGTH {
            let length = |at: usize| reference[at..].iter().zip(&bases[start..]).take_while(|(a, b)| a == b).count();
            let lengths: Vec<usize> = (0..reference.len()).map(length).collect();
            let most = lengths.iter().copied().max().unwrap();
            let number = 2 * (query * LENGTH + start);
            let want = if most < LEAST { 0 } else { most };
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
