//! Static TLP modulation (Sections 4.1 and 4.2): types of kernels, and Algorithm 1.
//!
//! In: of two kernels the CTAs per SM at which each alone is fastest, the CTAs that fit, and what a CTA occupies. Out: CTAs per SM of both.

use warpshard_control::Resources;

/// How the performance of a kernel alone changes with its CTAs per SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Type {
    /// It falls: one CTA is best.
    Down,
    /// It rises, then falls.
    Optimal,
    /// It rises: as many as fit are best.
    Up,
}

impl Type {
    /// The type of a kernel that is fastest with `opt` CTAs on an SM, of which `most` fit.
    pub(super) fn of(opt: u32, most: u32) -> Self {
        match opt {
            _ if opt >= most => Self::Up,
            1 => Self::Down,
            _ => Self::Optimal,
        }
    }
}

/// What is known of a kernel before it runs beside another.
#[derive(Clone, Copy, Debug, PartialEq, warpshard_state::State)]
pub(super) struct Profile {
    /// CTAs per SM at which it alone is fastest.
    pub(super) opt: u32,
    /// CTAs that fit an SM.
    pub(super) most: u32,
    /// CTAs on an SM beside another kernel, at most.
    pub(super) limit: u32,
    /// What one occupies.
    pub(super) needs: Resources,
    /// Utilisation of the SP pipelines over that of the LD/ST pipeline, alone; 0 where it is not known.
    pub(super) preference: f64,
}

impl Profile {
    pub(super) fn kind(&self) -> Type {
        Type::of(self.opt, self.most)
    }

    /// Whether it uses the LD/ST pipeline more than the SP pipelines; `None` where that is not known.
    pub(super) fn is_memory_intensive(&self) -> Option<bool> {
        (self.preference > 0.0).then_some(self.preference < 1.0)
    }
}

/// Algorithm 1: CTAs per SM of two kernels, in the order given.
///
/// Two kernels of type Up stay at the default concurrency: the first alone. Of two of the same type the first is kernel A. What the
/// algorithm gives B without looking is limited here to what fits (D-016).
pub(super) fn choose(pair: [&Profile; 2], sm: &Resources) -> [u32; 2] {
    let (kinds, swapped) = match [pair[0].kind(), pair[1].kind()] {
        [a, b] if b < a => ([b, a], true),
        kinds => (kinds, false),
    };
    let [a, b] = if swapped { [pair[1], pair[0]] } else { pair };
    let remain = || sm.hold(&b.needs, &a.needs, a.opt).min(b.most);
    let chosen = match kinds {
        [Type::Up, Type::Up] => [a.most, 0],
        [_, Type::Up] => [a.opt, remain()],
        [_, Type::Optimal | Type::Down] => [a.opt, remain().min(b.opt)],
    };
    if swapped { [chosen[1], chosen[0]] } else { chosen }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An SM of Table II.
    pub(crate) const SM: Resources = Resources { threads: 1536, warps: 48, shared_bytes: 49_152, registers: 32_768, ctas: 8 };

    /// A kernel of Table III: threads of a CTA, registers of a thread, shared bytes, opt and maximum.
    pub(crate) const fn kernel(threads: u32, registers: u32, shared_bytes: u32, opt: u32, most: u32) -> Profile {
        let needs = Resources { threads, warps: threads / 32, shared_bytes, registers: threads * registers, ctas: 1 };
        Profile { opt, most, limit: most, needs, preference: 0.0 }
    }

    /// Table III, with what a CTA occupies from its utilisation columns divided by opt. Of STC 31.4 % of the registers are 20.1 for a
    /// thread: 20 here; LBM's 120 threads are 128.
    pub(crate) const TABLE_III: [(&str, Profile, Type); 8] = [
        ("BKP", kernel(256, 16, 1088, 6, 6), Type::Up),
        ("HST", kernel(256, 36, 3072, 3, 3), Type::Up),
        ("SRD", kernel(512, 12, 0, 3, 3), Type::Up),
        ("SPM", kernel(192, 16, 0, 2, 8), Type::Optimal),
        ("BLK", kernel(128, 32, 0, 6, 8), Type::Optimal),
        ("LBM", kernel(128, 40, 0, 3, 6), Type::Optimal),
        ("KMS", kernel(256, 12, 0, 1, 6), Type::Down),
        ("STC", kernel(512, 20, 0, 1, 3), Type::Down),
    ];

    fn of(name: &str) -> Profile {
        TABLE_III.iter().find(|(known, ..)| *known == name).expect("it is in the table").1
    }

    #[test]
    fn the_types_of_table_iii_follow_from_opt_and_maximum() {
        for (name, profile, kind) in TABLE_III {
            assert_eq!(profile.kind(), kind, "{name}");
            // The table's maxima are what fits.
            assert_eq!(SM.hold(&profile.needs, &profile.needs, 0), profile.most, "{name}");
        }
        assert_eq!(Type::of(1, 1), Type::Up);
    }

    /// A row of Table IV; the last column is what Algorithm 1 gives with Table III where the paper's differs.
    type Row = (&'static str, &'static str, [u32; 2], Option<[u32; 2]>);

    const TABLE_IV: [Row; 28] = [
        ("BKP", "SRD", [6, 0], None),
        // HST has 24.46 % of the registers per CTA in Table IV and 28.13 % in Table III, with which these three do not fit.
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
        // min(r, opt(SPM)) of the algorithm is 2.
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
            assert_eq!(choose([&of(a), &of(b)], &SM), ours.unwrap_or(published), "{a}_{b}");
        }
    }

    #[test]
    fn the_order_of_two_types_does_not_matter() {
        assert_eq!(choose([&of("STC"), &of("BLK")], &SM), [1, 5]);
        assert_eq!(choose([&of("BKP"), &of("KMS")], &SM), [5, 1]);
    }

    #[test]
    fn every_branch_of_algorithm_1() {
        let (up, optimal, down) = (kernel(256, 16, 0, 6, 6), kernel(128, 16, 0, 4, 8), kernel(256, 16, 0, 1, 6));
        assert_eq!(choose([&down, &up], &SM), [1, 5], "Down and Up: the rest");
        assert_eq!(choose([&down, &optimal], &SM), [1, 4], "Down and Optimal: its optimum, which is less than the rest");
        assert_eq!(choose([&down, &down], &SM), [1, 1]);
        assert_eq!(choose([&optimal, &optimal], &SM), [4, 4]);
        assert_eq!(choose([&optimal, &up], &SM), [4, 4], "Optimal and Up: the rest");
        assert_eq!(choose([&up, &up], &SM), [6, 0], "two of type Up: the default concurrency");
    }
}
