//! Cache write policies that are incompatible with the rest of the machine.

use super::bad::load_errors;

#[test]
fn write_allocate_in_an_l1_is_refused_with_the_nearest_choice() {
    let said = load_errors("extends = \"v100\"\n", &["gpu.sm.l1.cache.write_miss=write-allocate"]);
    assert!(said.contains("`gpu.sm.l1.cache.write_miss` is \"write-allocate\", expected another choice"), "{said}");
    assert!(said.contains("\"fetch-on-write\" is the nearest"), "{said}");
}

#[test]
fn a_miss_queue_holds_all_requests_of_a_miss() {
    let said = load_errors("extends = \"m2090\"\n", &["mem.llc.miss_queue=2"]);
    assert!(said.contains("`mem.llc.miss_queue` is 2, expected at least 3"), "{said}");
    let said = load_errors("extends = \"v100\"\n", &["mem.llc.miss_queue=1"]);
    assert!(said.contains("`mem.llc.miss_queue` is 1, expected at least 2"), "{said}");
}

#[test]
fn a_cache_that_allocates_for_writes_reserves_lines_at_the_miss() {
    let said = load_errors("extends = \"v100\"\n", &["mem.llc.allocate=on-fill"]);
    assert!(said.contains("`mem.llc.write_miss` allocates lines for writes"), "{said}");
}
