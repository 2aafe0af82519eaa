//! Kernels round robin, and greedy-then-oldest within a kernel: "a loose round-robin warp scheduler, which first selects kernels in a
//! round-robin way and then selects warps within a kernel using the GTO policy" (Zhao, Wang and Eeckhout, ICS 2018, Section 7.5, after
//! Park, Park and Mahlke, ASPLOS 2017). With one kernel the order equals GTO.

use warpshard_base::KernelIndex;

use super::super::super::core::bits;
use super::{SchedulerOrder, WarpView};

/// The kernel that issued last, and the warp that issued last of each kernel.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(in crate::sm) struct KernelGto {
    last_kernel: Option<KernelIndex>,
    /// The greedy warp of each kernel that has issued.
    greedy_warps: u64,
}

impl SchedulerOrder for KernelGto {
    #[inline]
    fn pick(&mut self, ready: u64, view: &WarpView<'_>) -> usize {
        let key = |warp: usize| {
            let kernel = view.kernel(warp);
            // Kernels after the last served one come first, then kernels up to it.
            (Some(kernel) <= self.last_kernel, kernel, self.greedy_warps >> warp & 1 == 0, view.age[warp])
        };
        let Some(warp) = bits(ready).min_by_key(|&warp| key(warp)) else { unreachable!("no warp is ready") };
        let kernel = view.kernel(warp);
        let of_others = bits(self.greedy_warps).filter(|&other| view.kernel(other) != kernel).fold(0, |set, other| set | 1 << other);
        self.greedy_warps = of_others | 1 << warp;
        self.last_kernel = Some(kernel);
        warp
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::core::MAX_WARPS;
    use crate::sm::phases::NO_PHASES;

    #[test]
    fn kernels_rotate_and_each_continues_with_its_greedy_warp() {
        let (mut age, mut cta) = ([0; MAX_WARPS], [0; MAX_WARPS]);
        age[..5].copy_from_slice(&[30, 10, 20, 5, 40]);
        // Warps 0 and 1 are of kernel 2, warps 2 and 3 of kernel 5, warp 4 of kernel 7.
        cta[..5].copy_from_slice(&[0, 0, 1, 1, 2]);
        let view = WarpView { age: &age, distance: &NO_PHASES, cta: &cta, kernels: &[KernelIndex(2), KernelIndex(5), KernelIndex(7)] };
        let mut order = KernelGto::default();
        // Kernel 7 is not ready at first. Warp 3 stalls after its first issue and becomes ready again when warp 2 is the greedy one.
        let picked = [0b01111, 0b01111, 0b00111, 0b10111, 0b11111, 0b11111, 0b11111].map(|ready| order.pick(ready, &view));
        assert_eq!(picked, [1, 3, 1, 2, 4, 1, 2]);
    }

    #[test]
    fn a_single_kernel_is_scheduled_as_under_gto() {
        let mut age = [0; MAX_WARPS];
        age[..4].copy_from_slice(&[30, 10, 20, 5]);
        let view = WarpView { age: &age, distance: &NO_PHASES, cta: &[0; MAX_WARPS], kernels: &[KernelIndex(0)] };
        let (mut order, mut gto) = (KernelGto::default(), super::super::gto::Gto::default());
        for ready in [0b1111, 0b1111, 0b0111, 0b0101, 0b1101, 0b1001, 0b1111] {
            assert_eq!(order.pick(ready, &view), gto.pick(ready, &view), "{ready:#b}");
        }
    }
}
