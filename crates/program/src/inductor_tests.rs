//! Tests of kernels that TorchInductor generated for an attention layer (`programs/tools/inductor_check.py attention`): a matrix product,
//! an in-place softmax, and another product, with one launch each.

use std::path::Path;

use warpshard_base::Rng;

use super::Program;

const HEADS: usize = 4;
/// Queries and keys per head, and elements of each.
const LENGTH: usize = 64;
const ELEMENTS: usize = HEADS * LENGTH * LENGTH;

#[test]
fn an_attention_of_torchinductor_is_that_of_the_host() {
    let listing = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/programs/inductor.sm_90.sass").canonicalize().unwrap();
    let mut rng = Rng::keyed(1, &[0]);
    // Bits of bfloats from -2 to 2, which have seven fraction bits.
    let inputs: [Vec<u32>; 3] =
        std::array::from_fn(|_| (0..ELEMENTS).map(|_| ((rng.below(255) as f32 - 127.0) / 64.0).to_bits() >> 16).collect());
    let mut text = format!("modules = {{ sm_90 = {listing:?} }}\n[buffers]\n");
    for (name, values) in ["q", "k", "v"].iter().zip(&inputs) {
        text += &format!("{name} = {{ type = \"u16\", count = {ELEMENTS}, contents = {{ values = {values:?} }} }}\n");
    }
    text += &format!("s = {{ type = \"u16\", count = {ELEMENTS} }}\no = {{ type = \"u16\", count = {ELEMENTS} }}\n");
    for (kernel, grid, shared, arguments) in [
        ("triton_per_fused_0", [4, 2, 2], 2048, "\"&q\", \"&k\", \"&s\", 4, 64, 64, 64, 0, 0"),
        ("triton_per_fused_exp_prepare_softmax_online_sub_1", [256, 1, 1], 8, "\"&s\", 256, 64, 0, 0"),
        ("triton_per_fused_2", [4, 2, 2], 1024, "\"&s\", \"&v\", \"&o\", 4, 64, 64, 64, 0, 0"),
    ] {
        text +=
            &format!("[[launches]]\nkernel = \"{kernel}\"\ngrid = {grid:?}\nblock = [64]\nshared = {shared}\narguments = [{arguments}]\n");
    }
    text += "[[outputs]]\nbuffer = \"o\"\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("attention.toml");
    std::fs::write(&file, text).unwrap();
    let done = Program::load(&file, None, &[]).and_then(|program| program.execute(false)).unwrap_or_else(|error| panic!("{error}"));
    let got: Vec<f64> = done.outputs[0]
        .bytes
        .chunks_exact(2)
        .map(|two| f64::from(f32::from_bits(u32::from(two[0]) << 16 | u32::from(two[1]) << 24)))
        .collect();
    let [q, k, v] = inputs.map(|bits| bits.into_iter().map(|bits| f64::from(f32::from_bits(bits << 16))).collect::<Vec<f64>>());
    for (row, got) in got.chunks_exact(LENGTH).enumerate() {
        let keys = row / LENGTH * LENGTH;
        let score = |key: usize| (0..LENGTH).map(|i| q[row * LENGTH + i] * k[(keys + key) * LENGTH + i]).sum::<f64>() / 8.0;
        let scores: Vec<f64> = (0..LENGTH).map(score).collect();
        let most = scores.iter().copied().fold(f64::MIN, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let total: f64 = weights.iter().sum();
        for (i, got) in got.iter().enumerate() {
            let want = weights.iter().enumerate().map(|(key, weight)| weight * v[(keys + key) * LENGTH + i]).sum::<f64>() / total;
            // Scores, weights and results are rounded to eight significand bits.
            assert!((got - want).abs() < 0.02, "row {row}, element {i}: {got} instead of {want}");
        }
    }
}
