//! Programs that use more than arithmetic and memory: textures, surfaces, function pointers, printf, the heap, streams.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpshard::program::{Execution, Program};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/programs").join(name)
}

fn load(path: &Path, arch: u32) -> Arc<Program> {
    Program::load(path, Some(arch), &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn execute(name: &str, arch: u32) -> Execution {
    let done = load(&data(name), arch).execute(false).unwrap_or_else(|error| panic!("{error}"));
    for output in &done.outputs {
        assert_eq!(output.difference, None, "{name} for sm_{arch}: {}", output.buffer);
    }
    assert!(done.warnings.is_empty(), "{:?}", done.warnings);
    done
}

fn buffer_values<T, const BYTES: usize>(done: &Execution, buffer: &str, read: fn([u8; BYTES]) -> T) -> Vec<T> {
    let output = done.outputs.iter().find(|output| output.buffer == buffer).unwrap();
    output.bytes.as_chunks::<BYTES>().0.iter().map(|&bytes| read(bytes)).collect()
}

/// Size of the image of `textures.toml`. The value of texel (x, y, z) is its linear index.
const IMAGE_SIZE: [i32; 3] = [8, 4, 3];

fn texel_value(x: i32, y: i32, z: i32) -> f32 {
    ((z * IMAGE_SIZE[1] + y) * IMAGE_SIZE[0] + x) as f32
}

/// Maps a coordinate outside of the image to a texel according to the address mode; `None` for the border.
fn addressed_texel(mode: &str, place: i32, size: i32) -> Option<i32> {
    match mode {
        "clamp" => Some(place.clamp(0, size - 1)),
        "border" => (0..size).contains(&place).then_some(place),
        "wrap" => Some(place.rem_euclid(size)),
        _ => {
            let place = place.rem_euclid(2 * size);
            Some(if place < size { place } else { 2 * size - 1 - place })
        }
    }
}

#[test]
fn textures_and_surfaces_are_sampled_by_the_modes_of_their_objects() {
    for arch in [70, 80, 90] {
        let done = execute("textures.toml", arch);
        let [w, h, depth] = IMAGE_SIZE;
        let at = |mode: &str, x: i32, y: i32| {
            addressed_texel(mode, x, w).zip(addressed_texel(mode, y, h)).map_or(0.0, |(x, y)| texel_value(x, y, 0))
        };
        let sampled = buffer_values(&done, "sampled", f32::from_le_bytes);
        let places = ((w + 4) * (h + 4)) as usize;
        for (place, found) in sampled[..places].iter().enumerate() {
            let (x, y) = (place as i32 % (w + 4) - 2, place as i32 / (w + 4) - 2);
            let wanted = at("clamp", x, y) + 100.0 * at("border", x, y) + 10000.0 * at("wrap", x, y);
            assert_eq!((*found, sampled[places + place]), (wanted, at("mirror", x, y)), "sm_{arch}: place {x}, {y}");
        }
        let layered = buffer_values(&done, "layered", f32::from_le_bytes);
        let texels = (w * h * depth) as usize;
        for (number, found) in layered[..texels].iter().enumerate() {
            let number = number as i32;
            let (x, y, z) = (number % w, number / w % h, number / (w * h));
            assert_eq!(*found, 1001.0 * texel_value(x, y, z), "sm_{arch}: texel {x}, {y}, {z}");
            let four = at("clamp", x, y + 1) + 8.0 * at("clamp", x + 1, y + 1) + 64.0 * at("clamp", x + 1, y) + 512.0 * at("clamp", x, y);
            assert_eq!(layered[texels + number as usize], four, "sm_{arch}: around {x}, {y}");
        }
        let pairs = buffer_values(&done, "pairs", i32::from_le_bytes);
        for (number, pair) in pairs.chunks(2).enumerate() {
            let (x, y) = (number as i32 % w, number as i32 / w);
            let value = |x, y| texel_value(x, y, 0) as i32 - 20;
            let right = if x + 1 < w { value(x + 1, y) } else { 0 };
            assert_eq!(pair, [value(x, y) + right, value(x, (y + 1).min(h - 1))], "sm_{arch}: {x}, {y}");
        }
    }
}

/// Interpolates an image between the centres of its texels, as the CUDA C++ Programming Guide defines linear filtering.
fn interpolate(places: &[f64], texel: &dyn Fn(&[i32]) -> f64) -> f32 {
    let below: Vec<f64> = places.iter().map(|place| (place - 0.5).floor()).collect();
    let shares: Vec<f64> = places.iter().zip(&below).map(|(place, below)| ((place - 0.5 - below) * 256.0).round() / 256.0).collect();
    let corner = |corner: usize| {
        let second = |i: usize| corner >> i & 1 == 1;
        let weight: f64 = (0..places.len()).map(|i| if second(i) { shares[i] } else { 1.0 - shares[i] }).product();
        let at: Vec<i32> = (0..places.len()).map(|i| below[i] as i32 + i32::from(second(i))).collect();
        weight * texel(&at)
    };
    (0..1 << places.len()).map(corner).sum::<f64>() as f32
}

#[test]
fn filtered_textures_weight_the_adjacent_texels() {
    let [w, h, _] = IMAGE_SIZE;
    let at = |mode: &str, x: i32, y: i32| {
        addressed_texel(mode, x, w).zip(addressed_texel(mode, y, h)).map_or(0.0, |(x, y)| f64::from(texel_value(x, y, 0)))
    };
    for arch in [70, 80, 90] {
        let found = buffer_values(&execute("filters.toml", arch), "filtered", f32::from_le_bytes);
        for place in 0..32 * 9 {
            let (x, y) = ((place % 32) as f32, (place / 32) as f32);
            let (u, v) = (x.mul_add(0.37, -1.0), y.mul_add(0.61, -1.0));
            let [wide, high, deep] = [u, v, x * 0.125].map(f64::from);
            let plane = |mode: &str| interpolate(&[wide, high], &|at_texel| at(mode, at_texel[0], at_texel[1]));
            let solid = |texels: &[i32]| {
                let [x, y, z] = [0, 1, 2].map(|i| addressed_texel("clamp", texels[i], IMAGE_SIZE[i]).unwrap());
                f64::from(texel_value(x, y, z))
            };
            let line = |texels: &[i32]| f64::from((200 + texels[0].clamp(0, 63) % 50) as f32 / 255.0);
            let volume = interpolate(&[wide, high, deep], &solid);
            let sizes = (100 * w + h) as f32;
            let wanted = [plane("clamp"), plane("border"), plane("wrap"), volume, interpolate(&[wide], &line), sizes];
            for (number, wanted) in wanted.into_iter().enumerate() {
                assert_eq!(found[32 * 9 * number + place], wanted, "sm_{arch}: filter {number} at {u}, {v}");
            }
        }
    }
}

#[test]
fn halves_of_constants_can_be_operands() {
    for arch in [70, 80, 90] {
        let done = execute("filters.toml", arch);
        let output = done.outputs.iter().find(|output| output.buffer == "products").unwrap();
        let found: Vec<u16> = output.bytes.as_chunks::<2>().0.iter().map(|&bytes| u16::from_le_bytes(bytes)).collect();
        for i in 0..64 {
            let (x, own) = ((i as f64 - 30.0) * 0.25, [1.5, -2.0][i % 2]);
            for (number, wanted) in [x * 0.75 + own, x - 2.0, -0.75 * x].into_iter().enumerate() {
                assert_eq!(half_to_f64(found[64 * number + i]), wanted, "sm_{arch}: product {number} of {x}");
            }
        }
    }
}

#[test]
fn constants_at_addresses_in_registers_are_read() {
    for arch in [70, 80, 90] {
        let done = execute("tables.toml", arch);
        let (sums, offsets) = (buffer_values(&done, "y", f32::from_le_bytes), buffer_values(&done, "z", f64::from_le_bytes));
        for i in 0..64 {
            let sum: f32 = (0..20).map(|k| (k as f32 - 7.0) * 0.5 * ((i + k) % 19) as f32).sum();
            assert_eq!(sums[i], sum, "sm_{arch}: {i}");
            let offset: f64 = (0..20).map(|k| 0.75 * f64::from(k & 7)).sum();
            assert_eq!(offsets[i], offset + i as f64, "sm_{arch}: {i}");
        }
    }
}

/// Converts a half-precision number.
fn half_to_f64(half: u16) -> f64 {
    let (exponent, fraction) = (i32::from(half >> 10 & 31), f64::from(half & 1023));
    let size = if exponent == 0 { fraction * 2f64.powi(-24) } else { (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15) };
    if half >> 15 == 1 { -size } else { size }
}

#[test]
fn pointers_printf_and_the_heap_work_as_on_the_device() {
    for arch in [70, 80, 90] {
        let done = execute("calls.toml", arch);
        for (i, found) in buffer_values(&done, "x", f32::from_le_bytes).into_iter().enumerate() {
            let (x, y) = (3.0 * i as f32, 2.0 + i as f32);
            assert_eq!(found, [x + y, x * y, x / y][i % 3], "sm_{arch}: {i}");
        }
        let printed = "thread 0:  0.00|zero  |00ff|a|1099511627776|+0|1.234568e+04%\n\
                       thread 1:  1.50|one   |00ff|b|1099511627776|+1|1.234568e+04%\n";
        assert_eq!(done.printed, printed, "sm_{arch}");
    }
}

/// Writes a launch file of the test data with a part of its text replaced, next to its listings.
fn with_replaced_text(name: &str, from: &str, to: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(data(&format!("{name}.toml"))).unwrap();
    assert!(text.contains(from), "{from}");
    for arch in ["sm_70", "sm_80", "sm_90"] {
        let listing = format!("{name}.{arch}.sass");
        std::fs::copy(data(&listing), folder.path().join(&listing)).unwrap();
    }
    let path = folder.path().join(format!("{name}.toml"));
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    (folder, path)
}

#[test]
fn failed_assertions_and_wrong_objects_are_explained() {
    let failure = |path: &Path| load(path, 80).execute(false).expect_err("it fails").to_string();
    let (_kept, path) = with_replaced_text("calls", "\"print\"", "\"refuse\"");
    let message = failure(&path);
    assert!(message.contains("an assertion has failed: calls.cu:7: which != 2") && message.contains("thread 2"), "{message}");
    let (_kept, path) = with_replaced_text("textures", "[\"&of_shorts\", \"&of_pairs\"]", "[\"&of_shorts\", 99]");
    let message = failure(&path);
    assert!(message.contains("no texture or surface object 99") && message.contains("1 to 10"), "{message}");
    let (_kept, path) = with_replaced_text("textures", "[\"&of_shorts\", \"&of_pairs\"]", "[\"&of_pairs\", \"&of_shorts\"]");
    let message = failure(&path);
    assert!(message.contains("an access beyond a surface, at byte 16 of row 0"), "{message}");
}

#[test]
fn an_output_is_compared_with_contents_within_a_tolerance() {
    let check = |tolerance: &str| {
        let (_kept, path) = with_replaced_text("calls", "expected = { scaled = [\"i * i * (2 - i % 3 % 2)\", 0.5] }", tolerance);
        let done = load(&path, 70).execute(false).unwrap();
        (done.matches_expected(), done.outputs[1].difference.clone())
    };
    let wanted = "expected = { scaled = [\"i * i * (2 - i % 3 % 2)\", 0.50001] }";
    let (fine, difference) = check(wanted);
    let difference = difference.unwrap();
    // Element 0 is 0 in both contents.
    assert_eq!((fine, difference.elements, difference.first), (false, 63, 1));
    assert!(difference.largest < 0.08 && difference.largest > 0.07, "{}", difference.largest);
    assert!(check(&format!("{wanted}\ntolerance = {{ relative = 1e-4 }}")).0);
    assert!(!check(&format!("{wanted}\ntolerance = {{ absolute = 1e-2 }}")).0);
    assert!(check(&format!("{wanted}\ntolerance = {{ absolute = 0.1 }}")).0);
}
