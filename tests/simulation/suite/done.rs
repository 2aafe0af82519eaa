//! An executed program, with its buffers before and after the execution.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpshard::program::{Execution, Program};

/// Compares the result of a program with a computation on the host.
pub(crate) type ProgramCheck = fn(&ExecutedProgram);

pub(crate) struct ExecutedProgram {
    name: String,
    program: Arc<Program>,
    execution: Execution,
}

pub(crate) fn suite_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// Executes a program of the suite and compares the hashes of its outputs.
pub(crate) fn run(name: &str, arch: u32) -> ExecutedProgram {
    let path = suite_folder().join(format!("{name}.toml"));
    let program = Program::load(&path, Some(arch), &[]).unwrap_or_else(|error| panic!("{error}"));
    let execution = program.execute(false).unwrap_or_else(|error| panic!("{error}"));
    let name = format!("{name} for sm_{arch}");
    assert!(!execution.outputs.is_empty() && execution.outputs.iter().all(|output| output.expected.is_some()), "{name} has no hash");
    for output in &execution.outputs {
        assert_eq!(output.expected, Some(output.crc32), "{name}: crc32 of {}", output.buffer);
    }
    assert!(execution.warnings.is_empty(), "{name}: {:?}", execution.warnings);
    ExecutedProgram { name, program, execution }
}

fn numbers_of_bytes<T, const N: usize>(bytes: &[u8], read: fn([u8; N]) -> T) -> Vec<T> {
    bytes.chunks_exact(N).map(|chunk| read(chunk.try_into().unwrap())).collect()
}

impl ExecutedProgram {
    /// Returns the bytes of a buffer before the first launch.
    pub(crate) fn bytes(&self, buffer: &str) -> Vec<u8> {
        self.program.input(buffer).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the single-precision numbers of a buffer before the first launch.
    pub(crate) fn floats(&self, buffer: &str) -> Vec<f64> {
        numbers_of_bytes(&self.bytes(buffer), f32::from_le_bytes).into_iter().map(f64::from).collect()
    }

    /// Returns the double-precision numbers of a buffer before the first launch.
    pub(crate) fn doubles(&self, buffer: &str) -> Vec<f64> {
        numbers_of_bytes(&self.bytes(buffer), f64::from_le_bytes)
    }

    /// Returns the half-precision numbers of a buffer before the first launch.
    pub(crate) fn half_floats(&self, buffer: &str) -> Vec<f64> {
        let number = |bits: u16| {
            let fraction = f64::from(bits & 0x3ff) / 1024.0;
            let exponent = i32::from(bits >> 10 & 31);
            let size = if exponent == 0 { fraction * 2_f64.powi(-14) } else { (1.0 + fraction) * 2_f64.powi(exponent - 15) };
            if bits >> 15 == 0 { size } else { -size }
        };
        numbers_of_bytes(&self.bytes(buffer), u16::from_le_bytes).into_iter().map(number).collect()
    }

    /// Returns the bfloat16 numbers of a buffer before the first launch.
    pub(crate) fn bfloats(&self, buffer: &str) -> Vec<f64> {
        let number = |bits: u16| f64::from(f32::from_bits(u32::from(bits) << 16));
        numbers_of_bytes(&self.bytes(buffer), u16::from_le_bytes).into_iter().map(number).collect()
    }

    /// Returns the 32-bit integers of a buffer before the first launch.
    pub(crate) fn ints(&self, buffer: &str) -> Vec<i32> {
        numbers_of_bytes(&self.bytes(buffer), i32::from_le_bytes)
    }

    /// Returns the numbers that a launch file's `uniform` writes to constant memory.
    pub(crate) fn constant_memory(&self, count: usize, low: f64, high: f64, seed: u64) -> Vec<f64> {
        let mut random = warpshard::base::Rng::keyed(seed, &[]);
        let mut draw = || low + (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 * (high - low);
        (0..count).map(|_| f64::from(draw() as f32)).collect()
    }

    /// Returns the bytes of an output.
    pub(crate) fn out_bytes(&self, buffer: &str) -> &[u8] {
        let output = self.execution.outputs.iter().find(|output| output.buffer == buffer);
        &output.unwrap_or_else(|| panic!("{}: {buffer} is no output", self.name)).bytes
    }

    /// Returns the single-precision numbers of an output.
    pub(crate) fn out_floats(&self, buffer: &str) -> Vec<f64> {
        numbers_of_bytes(self.out_bytes(buffer), f32::from_le_bytes).into_iter().map(f64::from).collect()
    }

    /// Returns the double-precision numbers of an output.
    pub(crate) fn out_doubles(&self, buffer: &str) -> Vec<f64> {
        numbers_of_bytes(self.out_bytes(buffer), f64::from_le_bytes)
    }

    /// Returns the 32-bit integers of an output.
    pub(crate) fn out_ints(&self, buffer: &str) -> Vec<i32> {
        numbers_of_bytes(self.out_bytes(buffer), i32::from_le_bytes)
    }

    /// Returns the 16-bit integers of an output.
    pub(crate) fn out_shorts(&self, buffer: &str) -> Vec<u16> {
        numbers_of_bytes(self.out_bytes(buffer), u16::from_le_bytes)
    }

    /// Returns the 64-bit integers of an output.
    pub(crate) fn out_longs(&self, buffer: &str) -> Vec<i64> {
        numbers_of_bytes(self.out_bytes(buffer), i64::from_le_bytes)
    }

    /// Asserts that an output is close to `want`, with an error relative to the expected number or to 1 if that is larger.
    pub(crate) fn assert_close(&self, buffer: &str, want: &[f64], tolerance: f64) {
        assert_close(&format!("{}: {buffer}", self.name), &self.out_floats(buffer), want, tolerance);
    }

    /// Asserts that an output equals the integers `want`.
    pub(crate) fn assert_equal(&self, buffer: &str, want: &[i32]) {
        let got = self.out_ints(buffer);
        assert_eq!(got.len(), want.len(), "{}: {buffer}", self.name);
        for (i, (got, want)) in got.iter().zip(want).enumerate() {
            assert_eq!(got, want, "{}: {buffer}, element {i}", self.name);
        }
    }
}

/// Computes the `hash` function of launch files' formulas.
pub(crate) fn formula_hash(number: usize) -> i64 {
    (warpshard::base::Rng::keyed(number as u64, &[]).next_u64() >> 33) as i64
}

/// Asserts that numbers are close, with an error relative to the expected number or to 1 if that is larger.
pub(crate) fn assert_close(name: &str, got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{name}");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let error = (got - want).abs() / want.abs().max(1.0);
        assert!(error <= tolerance, "{name}, element {i}: {got} instead of {want}");
    }
}
