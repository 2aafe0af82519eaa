//! Loose round robin: the first ready slot after the one that issued last.

use crate::base::WarpMask;

#[inline]
pub(super) fn pick(ready: u64, last: Option<u8>) -> usize {
    let from = last.map_or(0, |slot| (u32::from(slot) + 1) & 63);
    let Some(warp) = WarpMask(ready).first_from(from) else { unreachable!("no warp is ready") };
    warp
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_take_turns_and_those_not_ready_are_passed_over() {
        let mut last = None;
        let mut order = Vec::new();
        for ready in [0b1110, 0b1110, 0b1010, 0b1010, 0b0001] {
            let warp = pick(ready, last);
            order.push(warp);
            last = Some(warp as u8);
        }
        assert_eq!(order, [1, 2, 3, 1, 0]);
    }

    #[test]
    fn the_turn_wraps_at_the_last_slot() {
        assert_eq!(pick(1 << 63 | 1, Some(63)), 0);
    }
}
