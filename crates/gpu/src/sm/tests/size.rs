//! The size of the state that a busy SM touches.

use super::*;
use crate::sm::core::{InstBuffer, MAX_WARPS};
use crate::test_machine::test_machine;

#[test]
fn the_hot_state_fits_its_budget() {
    let bench = Bench::with_single_cta(&test_machine(), 32, ProgramBuilder::new(1).build_with_exit());
    let sm = &bench.sm;
    let parts = [
        ("the SM itself", size_of::<Sm>()),
        ("instruction buffers", MAX_WARPS * size_of::<InstBuffer>()),
        ("streams", MAX_WARPS * size_of::<warpshard_workload::WarpStream>()),
        ("scoreboard", 2 * MAX_WARPS * 5 * 8),
        ("instructions before their units", sm.operands.issued.hot_bytes()),
        ("units", 9 * 16 * 8 + 512),
        ("wheel", 512 + 64 * 8),
        ("loads", 64 * 10),
        ("L1 pipes", 4 * 32 * 40),
    ];
    let total: usize = parts.iter().map(|(_, bytes)| bytes).sum();
    assert!(total <= 32 << 10, "{total} bytes: {parts:?}");
}
