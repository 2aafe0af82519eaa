//! The size of the state that a busy SM touches.

use crate::gpu::sm::Sm;
use crate::gpu::sm::warps::{InstBuffer, MAX_WARPS};

#[test]
fn the_hot_state_fits_its_budget() {
    let inline = size_of::<Sm>();
    let buffers = MAX_WARPS * size_of::<InstBuffer>();
    assert!(inline + buffers < 24 << 10, "{inline} bytes in the SM, {buffers} in instruction buffers");
}
