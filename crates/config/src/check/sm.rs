//! Checks of an SM.

use warpshard_base::WARP_SIZE;

use super::super::machine::{Ccws, CoreStyle, Prefetch, Sm, WarpOrder};
use super::checker::Checker;

pub(super) fn check(sm: &Sm, checker: &mut Checker<'_>) {
    let slots = sm.warps * WARP_SIZE;
    checker.require(
        sm.max_threads <= slots,
        &["gpu.sm.max_threads", "gpu.sm.warps"],
        || format!("`gpu.sm.max_threads` is {}, expected at most {slots}: {} warps of {WARP_SIZE} threads", sm.max_threads, sm.warps),
        || format!("raise `gpu.sm.warps` to {} or lower the threads", sm.max_threads.div_ceil(WARP_SIZE)),
    );
    checker.require(
        sm.registers.is_multiple_of(sm.register_granularity),
        &["gpu.sm.registers", "gpu.sm.register_granularity"],
        || {
            format!(
                "`gpu.sm.registers` is {}, expected a multiple of `gpu.sm.register_granularity`, {}",
                sm.registers, sm.register_granularity
            )
        },
        || "the remainder could never be allocated".to_owned(),
    );
    checker.require(
        sm.shared_bytes.is_multiple_of(sm.shared_granularity),
        &["gpu.sm.shared_bytes", "gpu.sm.shared_granularity"],
        || {
            format!(
                "`gpu.sm.shared_bytes` is {} B, expected a multiple of `gpu.sm.shared_granularity`, {} B",
                sm.shared_bytes, sm.shared_granularity
            )
        },
        || "the remainder could never be allocated".to_owned(),
    );
    checker.power_of_two("gpu.sm.shared.banks", sm.shared.banks.into(), "an address picks its bank by its low bits");
    checker.power_of_two("gpu.sm.operands.banks", sm.operands.banks.into(), "a register picks its bank by its low bits");
    for (key, cache) in [("gpu.sm.fetch.icache", sm.fetch.icache), ("gpu.sm.fetch.ccache", sm.fetch.ccache)] {
        if let Some(cache) = cache {
            checker.power_of_two(&format!("{key}.sets"), cache.sets.into(), "an address picks its set by its low bits");
            checker.power_of_two(&format!("{key}.line_bytes"), cache.line_bytes.into(), "an address picks its line by its high bits");
        }
    }
    if let Some(texture) = &sm.texture {
        checker.power_of_two("gpu.sm.texture.sets", texture.sets.into(), "an address picks its set by its low bits");
    }
    if sm.style != CoreStyle::Shared {
        check_sub_cores(sm, checker);
    }
    if sm.style == CoreStyle::ControlWords {
        check_control_words(sm, checker);
    }
    check_prefetch(sm, checker);
    if let Some(ccws) = &sm.ccws {
        check_victim_tags(sm, ccws, checker);
    }
}

/// Checks that a prefetcher has an L1 and is not combined with CCWS, which charges lost locality to the warp that fetched the line.
fn check_prefetch(sm: &Sm, checker: &mut Checker<'_>) {
    check_degree("gpu.sm.l1.prefetch", sm.l1.prefetch, sm.l1.prefetch_degree, checker);
    let none = sm.l1.prefetch == Prefetch::None;
    checker.require(
        none || sm.l1.cache.is_some(),
        &["gpu.sm.l1.prefetch", "gpu.sm.l1.cache.present"],
        || "`gpu.sm.l1.prefetch` chooses a prefetcher, expected \"none\" on an SM without an L1".to_owned(),
        || "set `gpu.sm.l1.cache.present = true` to prefetch into it".to_owned(),
    );
    checker.require(
        none || sm.ccws.is_none(),
        &["gpu.sm.l1.prefetch", "gpu.sm.ccws.enabled"],
        || "`gpu.sm.l1.prefetch` chooses a prefetcher, expected \"none\" with `gpu.sm.ccws.enabled`".to_owned(),
        || "CCWS charges lost locality to the warp that fetched a line, and a prefetched line has none; disable one of the two".to_owned(),
    );
}

/// Checks that the degree is 1 for prefetchers that fetch one sector per access.
pub(super) fn check_degree(key: &str, prefetch: Prefetch, degree: u32, checker: &mut Checker<'_>) {
    let many = matches!(prefetch, Prefetch::None | Prefetch::Ghb | Prefetch::Own);
    checker.require(
        many || degree <= 1,
        &[&format!("{key}_degree"), key],
        || format!("`{key}_degree` is {degree}, expected 1 with a prefetcher of one sector per access"),
        || format!("`{key} = \"ghb\"` fetches several sectors; `{key}_distance` is the prefetch distance"),
    );
}

fn check_victim_tags(sm: &Sm, ccws: &Ccws, checker: &mut Checker<'_>) {
    let Ccws { victim_tags: tags, victim_ways: ways, .. } = *ccws;
    checker.require(
        tags.is_multiple_of(ways) && (tags / ways).is_power_of_two(),
        &["gpu.sm.ccws.victim_tags", "gpu.sm.ccws.victim_ways"],
        || format!("`gpu.sm.ccws.victim_tags` is {tags}, expected 1, 2, 4, .. times `gpu.sm.ccws.victim_ways`, {ways}"),
        || "a line picks its set by its low bits".to_owned(),
    );
    checker.require(
        sm.l1.cache.is_some(),
        &["gpu.sm.ccws.enabled", "gpu.sm.l1.cache.present"],
        || "`gpu.sm.ccws.enabled` is true, expected false on an SM without an L1".to_owned(),
        || "CCWS monitors the lines of the L1: set `gpu.sm.l1.cache.present` to true or disable CCWS".to_owned(),
    );
}

/// Checks a core with control words: it issues one instruction per sub-core and cycle, and has no scoreboard for CCWS or two-level
/// schedulers.
fn check_control_words(sm: &Sm, checker: &mut Checker<'_>) {
    checker.require(
        sm.issue_width == 1,
        &["gpu.sm.issue_width", "gpu.sm.style"],
        || format!("`gpu.sm.issue_width` is {}, expected 1 with style = \"control-words\"", sm.issue_width),
        || "a sub-core issues one instruction per cycle; set `gpu.sm.issue_width = 1` or choose another style".to_owned(),
    );
    let one_level = matches!(sm.order, WarpOrder::Lrr | WarpOrder::Gto | WarpOrder::Oldest | WarpOrder::Gty);
    checker.require(
        one_level && sm.ccws.is_none(),
        &["gpu.sm.order", "gpu.sm.ccws.enabled", "gpu.sm.style"],
        || "`gpu.sm.style` is \"control-words\", expected an order of \"gty\", \"gto\", \"lrr\" or \"oldest\", and no CCWS".to_owned(),
        || "CCWS and other orders use the scoreboard, which this style has only for code without control words; choose style = \"sub-cores\"".to_owned(),
    );
}

/// Checks that with sub-cores every scheduler has the same share of all resources.
fn check_sub_cores(sm: &Sm, checker: &mut Checker<'_>) {
    let units = &sm.units;
    let shares = [
        ("gpu.sm.warps", sm.warps),
        ("gpu.sm.operands.collectors", sm.operands.collectors),
        ("gpu.sm.operands.banks", sm.operands.banks),
        ("gpu.sm.units.sp", units.sp),
        ("gpu.sm.units.int", units.int),
        ("gpu.sm.units.sfu", units.sfu),
        ("gpu.sm.units.dp", units.dp),
        ("gpu.sm.units.tensor", units.tensor),
        ("gpu.sm.units.branch", units.branch),
        ("gpu.sm.units.texture", units.texture),
        ("gpu.sm.units.uniform", units.uniform),
    ];
    for (key, count) in shares {
        checker.require(
            count.is_multiple_of(sm.schedulers),
            &[key, "gpu.sm.schedulers", "gpu.sm.style"],
            || format!("`{key}` is {count}, expected a multiple of `gpu.sm.schedulers`, {}", sm.schedulers),
            || "with style = \"sub-cores\" every scheduler owns the same share; style = \"shared\" shares them all".to_owned(),
        );
    }
}
