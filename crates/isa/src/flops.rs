//! Floating-point operations of an instruction, from its mnemonic.

/// Threads of a warp and of a warp group.
const WARP_THREADS: u32 = 32;
const WARP_GROUP_THREADS: u32 = 128;

/// Returns the floating-point operations of one active lane: 1 for an addition or a multiplication, 2 for a fused multiply-add, twice the
/// number for packed pairs of values, and the lane's share of a matrix product. Special functions, comparisons, conversions and integer
/// operations count 0, as in the profiler's `smsp__sass_thread_inst_executed_op_*_pred_on` sums.
pub fn flops(mnemonic: &str) -> u16 {
    let (name, modifiers) = mnemonic.split_once('.').unwrap_or((mnemonic, ""));
    match name {
        "FADD" | "FADD32I" | "FMUL" | "FMUL32I" | "DADD" | "DMUL" => 1,
        "FFMA" | "FFMA32I" | "DFMA" | "HADD2" | "HADD2_32I" | "HMUL2" | "HMUL2_32I" => 2,
        "HFMA2" | "HFMA2_32I" => 4,
        // A Volta HMMA.884 executes half or a quarter of four 8 x 8 x 4 products: a quarter with FP32 sums, half with FP16 sums.
        "HMMA" if modifiers.starts_with("884") => (4 * 2 * 8 * 8 * 4 / WARP_THREADS / if modifiers.contains("F32") { 4 } else { 2 }) as u16,
        "HMMA" | "DMMA" => product(modifiers, WARP_THREADS),
        "HGMMA" | "QGMMA" => product(modifiers, WARP_GROUP_THREADS),
        _ => 0,
    }
}

/// Returns the operations per thread, of `threads` threads, of the matrix product whose shape is the first modifier: `16816`, `1688` or
/// `64x256x16`.
fn product(modifiers: &str, threads: u32) -> u16 {
    let shape = modifiers.split('.').next().unwrap_or_default();
    let sizes: Option<[u32; 3]> = match shape {
        "16816" => Some([16, 8, 16]),
        "16832" => Some([16, 8, 32]),
        "1688" => Some([16, 8, 8]),
        "1684" => Some([16, 8, 4]),
        "884" => Some([8, 8, 4]),
        _ => {
            let mut sizes = shape.split('x').map(|size| size.parse().ok());
            let mut next = || sizes.next().flatten();
            next().zip(next()).zip(next()).map(|((m, n), k)| [m, n, k])
        }
    };
    let operations = |[m, n, k]: [u32; 3]| m.checked_mul(n)?.checked_mul(k)?.checked_mul(2);
    sizes.and_then(operations).map_or(0, |all| u16::try_from(all / threads).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_has_its_part_of_a_product() {
        for (mnemonic, expected) in [
            ("FADD.FTZ", 1),
            ("FFMA", 2),
            ("DFMA", 2),
            ("HFMA2.MMA", 4),
            ("HMMA.16816.F32.BF16", 16 * 8 * 16 * 2 / 32),
            ("HMMA.1688.F32.TF32", 16 * 8 * 8 * 2 / 32),
            ("HMMA.884.F32.F32.STEP0", 16),
            ("HMMA.884.F16.F16.STEP1", 32),
            ("DMMA.884", 16),
            ("HGMMA.64x256x16.F32", 256 * 16),
            ("IMMA.16816.S8.S8", 0),
            ("MUFU.EX2", 0),
            ("IMAD", 0),
            ("HMMA.99999999x99999999x9", 0),
            ("", 0),
        ] {
            assert_eq!(flops(mnemonic), expected, "{mnemonic}");
        }
    }
}
