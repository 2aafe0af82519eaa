//! Static TLP modulation (Sections 4.1 and 4.2): types of kernels, and Algorithm 1.
//!
//! In: for each of two kernels the CTAs per SM at which it alone is fastest, the CTAs that fit, and the resources of a CTA. Out: CTAs per
//! SM of both kernels.

use warpshard_control::Resources;

/// Types of kernels by the performance of a kernel alone over its CTAs per SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KernelCategory {
    /// The performance falls: one CTA is best.
    Down,
    /// The performance rises, then falls.
    Optimal,
    /// The performance rises: the most CTAs that fit are best.
    Up,
}

impl KernelCategory {
    /// Returns the type of a kernel that is fastest with `opt` CTAs per SM, of which `most` fit.
    pub(super) fn from_optimum(opt: u32, most: u32) -> Self {
        match opt {
            _ if opt >= most => Self::Up,
            1 => Self::Down,
            _ => Self::Optimal,
        }
    }
}

/// The profile of a kernel, known before it shares an SM.
#[derive(Clone, Copy, Debug, PartialEq, warpshard_state::State)]
pub(super) struct KernelProfile {
    /// CTAs per SM at which the kernel alone is fastest.
    pub(super) opt: u32,
    /// CTAs that fit an SM.
    pub(super) most: u32,
    /// Maximum CTAs per SM beside another kernel.
    pub(super) limit: u32,
    /// Resources of a CTA.
    pub(super) needs: Resources,
    /// Utilisation of the SP pipelines over utilisation of the LD/ST pipeline, of the kernel alone; 0 if unknown.
    pub(super) preference: f64,
}

impl KernelProfile {
    pub(super) fn category(&self) -> KernelCategory {
        KernelCategory::from_optimum(self.opt, self.most)
    }

    /// Returns true if the kernel uses the LD/ST pipeline more than the SP pipelines, and `None` if the preference is unknown.
    pub(super) fn is_memory_intensive(&self) -> Option<bool> {
        (self.preference > 0.0).then_some(self.preference < 1.0)
    }
}

/// Runs Algorithm 1: returns the CTAs per SM of two kernels, in their order.
///
/// Two kernels of type Up keep the default concurrency: the first runs alone. Of two kernels of the same type the first is kernel A. The
/// algorithm gives kernel B some CTAs without a check; they are limited here to the CTAs that fit (D-016).
pub(super) fn choose_ctas(pair: [&KernelProfile; 2], sm: &Resources) -> [u32; 2] {
    let (kinds, swapped) = match [pair[0].category(), pair[1].category()] {
        [a, b] if b < a => ([b, a], true),
        kinds => (kinds, false),
    };
    let [a, b] = if swapped { [pair[1], pair[0]] } else { pair };
    let remain = || sm.fitting_ctas(&b.needs, &a.needs, a.opt).min(b.most);
    let chosen = match kinds {
        [KernelCategory::Up, KernelCategory::Up] => [a.most, 0],
        [_, KernelCategory::Up] => [a.opt, remain()],
        [_, KernelCategory::Optimal | KernelCategory::Down] => [a.opt, remain().min(b.opt)],
    };
    if swapped { [chosen[1], chosen[0]] } else { chosen }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An SM of Table II.
    pub(crate) const TABLE_II_SM: Resources = Resources { threads: 1536, warps: 48, shared_bytes: 49_152, registers: 32_768, ctas: 8 };

    /// Returns the profile of a kernel of Table III: threads of a CTA, registers of a thread, shared bytes, opt and maximum.
    pub(crate) const fn kernel_profile(threads: u32, registers: u32, shared_bytes: u32, opt: u32, most: u32) -> KernelProfile {
        let needs = Resources { threads, warps: threads / 32, shared_bytes, registers: threads * registers, ctas: 1 };
        KernelProfile { opt, most, limit: most, needs, preference: 0.0 }
    }

    /// Table III; the resources of a CTA are the utilisation columns divided by opt. STC's 31.4 % of the registers are 20.1 per thread, 20
    /// here; LBM's 120 threads are 128.
    pub(crate) const TABLE_III: [(&str, KernelProfile, KernelCategory); 8] = [
        ("BKP", kernel_profile(256, 16, 1088, 6, 6), KernelCategory::Up),
        ("HST", kernel_profile(256, 36, 3072, 3, 3), KernelCategory::Up),
        ("SRD", kernel_profile(512, 12, 0, 3, 3), KernelCategory::Up),
        ("SPM", kernel_profile(192, 16, 0, 2, 8), KernelCategory::Optimal),
        ("BLK", kernel_profile(128, 32, 0, 6, 8), KernelCategory::Optimal),
        ("LBM", kernel_profile(128, 40, 0, 3, 6), KernelCategory::Optimal),
        ("KMS", kernel_profile(256, 12, 0, 1, 6), KernelCategory::Down),
        ("STC", kernel_profile(512, 20, 0, 1, 3), KernelCategory::Down),
    ];

    fn of(name: &str) -> KernelProfile {
        TABLE_III.iter().find(|(known, ..)| *known == name).expect("it is in the table").1
    }

    #[test]
    fn the_types_of_table_iii_follow_from_opt_and_maximum() {
        for (name, profile, kind) in TABLE_III {
            assert_eq!(profile.category(), kind, "{name}");
            // The maxima of the table are the CTAs that fit.
            assert_eq!(TABLE_II_SM.fitting_ctas(&profile.needs, &profile.needs, 0), profile.most, "{name}");
        }
        assert_eq!(KernelCategory::from_optimum(1, 1), KernelCategory::Up);
    }

    /// A row of Table IV; the last column has the choice of Algorithm 1 with Table III if it differs from the paper's.
    type TableIvRow = (&'static str, &'static str, [u32; 2], Option<[u32; 2]>);

    const TABLE_IV: [TableIvRow; 28] = [
        ("BKP", "SRD", [6, 0], None),
        // A CTA of HST has 24.46 % of the registers in Table IV and 28.13 % in Table III; with the latter these CTAs do not fit.
        ("BLK", "HST", [6, 1], Some([6, 0])),
        ("SPM", "HST", [2, 3], Some([2, 2])),
        ("SRD", "KMS", [2, 1], None),
        ("HST", "SRD", [3, 0], None),
        ("KMS", "STC", [1, 1], None),
        ("LBM", "BKP", [3, 4], None),
        ("BKP", "HST", [6, 0], None),
        ("BLK", "BKP", [6, 2], None),
        ("SPM", "BKP", [2, 4], None),
        ("SPM", "BLK", [2, 6], None),
        ("LBM", "BLK", [3, 4], None),
        ("HST", "KMS", [3, 1], None),
        // The term min(r, opt(SPM)) of the algorithm is 2.
        ("LBM", "SPM", [3, 5], Some([3, 2])),
        ("SPM", "SRD", [2, 2], None),
        ("SPM", "KMS", [2, 1], None),
        ("LBM", "KMS", [3, 1], None),
        ("LBM", "HST", [3, 2], Some([3, 1])),
        ("BLK", "KMS", [6, 1], None),
        ("BLK", "SRD", [6, 1], None),
        ("LBM", "SRD", [3, 2], None),
        ("HST", "STC", [2, 1], None),
        ("BKP", "STC", [4, 1], None),
        ("LBM", "STC", [3, 1], None),
        ("BKP", "KMS", [5, 1], None),
        ("SPM", "STC", [2, 1], None),
        ("BLK", "STC", [5, 1], None),
        ("SRD", "STC", [2, 1], None),
    ];

    #[test]
    fn algorithm_1_gives_table_iv_but_for_the_rows_that_contradict_it() {
        for (a, b, published, ours) in TABLE_IV {
            assert_eq!(choose_ctas([&of(a), &of(b)], &TABLE_II_SM), ours.unwrap_or(published), "{a}_{b}");
        }
    }

    #[test]
    fn the_order_of_two_types_does_not_matter() {
        assert_eq!(choose_ctas([&of("STC"), &of("BLK")], &TABLE_II_SM), [1, 5]);
        assert_eq!(choose_ctas([&of("BKP"), &of("KMS")], &TABLE_II_SM), [5, 1]);
    }

    #[test]
    fn every_branch_of_algorithm_1() {
        let (up, optimal, down) = (kernel_profile(256, 16, 0, 6, 6), kernel_profile(128, 16, 0, 4, 8), kernel_profile(256, 16, 0, 1, 6));
        assert_eq!(choose_ctas([&down, &up], &TABLE_II_SM), [1, 5], "Down and Up: the rest");
        assert_eq!(choose_ctas([&down, &optimal], &TABLE_II_SM), [1, 4], "Down and Optimal: the optimum of B, which is less than the rest");
        assert_eq!(choose_ctas([&down, &down], &TABLE_II_SM), [1, 1]);
        assert_eq!(choose_ctas([&optimal, &optimal], &TABLE_II_SM), [4, 4]);
        assert_eq!(choose_ctas([&optimal, &up], &TABLE_II_SM), [4, 4], "Optimal and Up: the rest");
        assert_eq!(choose_ctas([&up, &up], &TABLE_II_SM), [6, 0], "two of type Up: the default concurrency");
    }
}
