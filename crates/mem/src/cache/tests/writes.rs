//! Tests of writes under policies that allocate, evict or wait.

use super::*;

/// Returns a cache with one set of two ways that passes missing writes on and fetches their lines.
fn write_allocate() -> DataCache {
    DataCache::new(&Cache { write_miss: WriteMiss::WriteAllocate, sectored: false, miss_queue: 8, ..reduce_to_one_set(llc_spec()) }, 2, 0)
}

fn drain_sent(cache: &mut DataCache) -> Vec<(&'static str, u64, u8)> {
    std::iter::from_fn(|| cache.pop_down()).map(|down| (request_kind(&down), down.addr.0, down.sectors().0)).collect()
}

#[test]
fn write_allocate_passes_the_write_on_and_fetches_a_clean_line() {
    let mut cache = write_allocate();
    let outcome = cache.access(&cache_request(&cache, AccessKind::Write, 0x1020, 5), Cycle(0));
    assert_eq!((outcome.status, outcome.reply), (AccessStatus::Miss, ReplySource::NextLevel));
    assert_eq!(drain_sent(&mut cache), [("write", 0x1020, 0b0010), ("fetch", 0x1000, 0b1111)]);
    fill_sector(&mut cache, 0x1000, 3);
    assert_eq!(drain_replies(&mut cache), [Waiter::NoRequest], "the next level replies to the write");
    assert_eq!(cache.tags().dirty(), 0);
    assert_eq!(
        cache.access(&cache_request(&cache, AccessKind::Write, 0x1040, 6), Cycle(4)).reply,
        ReplySource::Cache,
        "a hit stays in the cache"
    );
    assert_eq!((cache.queued_requests(), cache.tags().dirty()), (0, 1));
}

#[test]
fn a_write_to_a_pending_line_is_passed_on_and_waits_in_the_mshr() {
    let mut cache = write_allocate();
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0, 0), AccessStatus::Miss);
    assert_eq!(drain_sent(&mut cache), [("fetch", 0, 0b1111)]);
    let outcome = cache.access(&cache_request(&cache, AccessKind::Write, 0x40, 7), Cycle(1));
    assert_eq!((outcome.status, outcome.reply), (AccessStatus::HitReserved, ReplySource::NextLevel));
    assert_eq!(drain_sent(&mut cache), [("write", 0x40, 0b0100)]);
    assert_eq!(access_status(&mut cache, AccessKind::Write, 0x60, 2), AccessStatus::Fail(FailReason::MergeFull), "the MSHR holds two");
    assert_eq!(cache.queued_requests(), 0, "a failed request sends nothing");
    fill_sector(&mut cache, 0, 3);
    assert_eq!(drain_replies(&mut cache), [Waiter::Request(0), Waiter::NoRequest]);
    assert_eq!(cache.tags().dirty(), 0);
}

#[test]
fn an_allocating_write_needs_three_queue_slots_and_may_use_them() {
    let spec = Cache { write_miss: WriteMiss::WriteAllocate, sectored: false, ..reduce_to_one_set(llc_spec()) };
    let mut cache = DataCache::new(&spec, 2, 0);
    for addr in [0, 0x1000] {
        access_status(&mut cache, AccessKind::Read, addr, 0);
        drain_sent(&mut cache);
        fill_sector(&mut cache, addr, 1);
        while cache.next_ready().is_some() {}
    }
    access_status(&mut cache, AccessKind::Write, 0, 2);
    access_status(&mut cache, AccessKind::Read, 0x1000, 3);
    assert_eq!(access_status(&mut cache, AccessKind::Write, 0x2000, 4), AccessStatus::Miss);
    assert_eq!(
        access_status(&mut cache, AccessKind::Write, 0x3000, 5),
        AccessStatus::Fail(FailReason::QueueFull),
        "one slot of four is free"
    );
    let expected = [("write", 0x2000, 0b0001), ("fetch", 0x2000, 0b1111), ("write back", 0, 0b1111)];
    assert_eq!(drain_sent(&mut cache), expected);
    assert_eq!(cache.data_port_free_at(), Cycle(8), "the victim leaves through the port");
}

#[test]
fn a_write_passed_on_by_a_line_cache_moves_the_smallest_aligned_half_or_whole() {
    for (sectors, moved) in [(0b0001, 0b0001), (0b1000, 0b1000), (0b0011, 0b0011), (0b1100, 0b1100), (0b0110, 0b1111), (0b1001, 0b1111)] {
        let mut cache = write_allocate();
        cache.access(&CacheAccess { sectors: SectorMask(sectors), ..cache_request(&cache, AccessKind::Write, 0, 1) }, Cycle(0));
        assert_eq!(cache.pop_down().map(|down| down.sectors().0), Some(moved), "{sectors:04b}");
    }
}

#[test]
fn fermi_writes_evict_global_lines_and_keep_local_ones() {
    let spec = Cache {
        write: WritePolicy::LocalBackGlobalThrough,
        write_miss: WriteMiss::NoAllocate,
        sectored: false,
        ..reduce_to_one_set(llc_spec())
    };
    let mut cache = DataCache::new(&spec, 2, 0);
    for addr in [0, 0x1000] {
        access_status(&mut cache, AccessKind::Read, addr, 0);
        cache.pop_down();
        fill_sector(&mut cache, addr, 1);
        while cache.next_ready().is_some() {}
    }
    let outcome = cache.access(&cache_request(&cache, AccessKind::Write, 0x20, 1), Cycle(9));
    assert_eq!((outcome.status, outcome.reply), (AccessStatus::Hit, ReplySource::NextLevel));
    assert_eq!(cache.probe(&cache_request(&cache, AccessKind::Read, 0, 0)).lookup, Lookup::Miss);
    let outcome = cache.access(&CacheAccess { local: true, ..cache_request(&cache, AccessKind::Write, 0x1000, 2) }, Cycle(9));
    assert_eq!((outcome.status, outcome.reply), (AccessStatus::Hit, ReplySource::Cache));
    assert_eq!(cache.probe(&cache_request(&cache, AccessKind::Read, 0x1040, 0)).lookup, Lookup::Hit);
    assert!(!cache.fill_port_free(Cycle(4)), "a line takes the fill port for four cycles");
}

#[test]
fn a_write_of_version_3_waits_for_a_line_that_it_does_not_take() {
    let through = WritePolicy::LocalBackGlobalThrough;
    let spec = Cache { write: through, write_miss: WriteMiss::NoAllocateWaits, sectored: false, ..reduce_to_one_set(llc_spec()) };
    let mut cache = DataCache::new(&spec, 2, 0);
    let lines = [0, 0x1000, 0x2000];
    for line in &lines[..2] {
        access_status(&mut cache, AccessKind::Read, *line, 0);
        cache.pop_down();
    }
    let write = cache_request(&cache, AccessKind::Write, lines[2], 1);
    assert_eq!(cache.access(&write, Cycle(1)).status, AccessStatus::Fail(FailReason::NoLine), "both lines wait for data");
    fill_sector(&mut cache, lines[0], 2);
    assert_eq!(cache.access(&write, Cycle(3)).status, AccessStatus::Miss);
    assert_eq!(cache.probe(&cache_request(&cache, AccessKind::Read, lines[0], 0)).lookup, Lookup::Hit, "no line was allocated");
}

#[test]
fn beyond_the_ratio_of_dirty_lines_a_write_cleans_the_oldest_of_its_set() {
    let spec = Cache { ways: 4, dirty_ratio: 50, miss_queue: 8, ..reduce_to_one_set(llc_spec()) };
    let mut cache = DataCache::new(&spec, 4, 0);
    for line in 0..2 {
        access_status(&mut cache, AccessKind::Write, line * 0x1000, line);
    }
    assert_eq!((drain_sent(&mut cache).len(), cache.tags().dirty()), (0, 2), "half of the lines may be modified");
    access_status(&mut cache, AccessKind::Write, 0x2000, 2);
    assert_eq!((drain_sent(&mut cache), cache.tags().dirty()), (vec![("write back", 0, 0b0001)], 2));
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0, 3), AccessStatus::Hit, "a cleaned line stays in the cache");
    // The oldest line has a sector of which one byte is present: the sector is written back with its mask and then absent.
    cache.access(&CacheAccess { bytes: 1, ..cache_request(&cache, AccessKind::Write, 0x1020, 1) }, Cycle(4));
    access_status(&mut cache, AccessKind::Write, 0x2020, 5);
    access_status(&mut cache, AccessKind::Write, 0x3000, 6);
    assert_eq!(drain_sent(&mut cache), [("write back", 0x1000, 0b0011)]);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x1000, 7), AccessStatus::Hit);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x1020, 8), AccessStatus::SectorMiss);
}

#[test]
fn a_write_occupies_the_data_port_on_hit_and_on_miss() {
    let mut cache = DataCache::new(&Cache { write_cycles: 3, ..reduce_to_one_set(llc_spec()) }, 2, 0);
    for (now, status_of) in [(0, AccessStatus::Miss), (10, AccessStatus::Hit)] {
        assert_eq!(access_status(&mut cache, AccessKind::Write, 0x40, now), status_of);
        assert_eq!(cache.data_port_free_at(), Cycle(now + 3));
    }
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x40, 20), AccessStatus::Hit);
    assert_eq!(cache.data_port_free_at(), Cycle(21));
}

#[test]
fn a_write_to_a_part_of_a_sector_takes_the_data_port_longer() {
    let mut cache = DataCache::new(&Cache { write_cycles: 2, merge_cycles: 2, ..reduce_to_one_set(llc_spec()) }, 2, 0);
    for (now, bytes, cycles) in [(0, u32::MAX, 2), (10, 0xff, 4)] {
        cache.access(&CacheAccess { bytes, ..cache_request(&cache, AccessKind::Write, 0x40, 1) }, Cycle(now));
        assert_eq!(cache.data_port_free_at(), Cycle(now + cycles));
    }
}

#[test]
fn a_write_to_the_part_of_a_sector_that_was_written_last_waits_for_it() {
    let mut cache = DataCache::new(&Cache { merge_cycles: 1, merge_latency: 4, ..reduce_to_one_set(llc_spec()) }, 2, 0);
    let writes = [(0x40, 0xff, 2), (0x40, 0xff, 4), (0x60, 0xff, 2), (0x40, u32::MAX, 1), (0x60, 0xff, 4), (0x40, 0xff, 2)];
    for (now, (addr, bytes, cycles)) in (0..).step_by(10).zip(writes) {
        cache.access(&CacheAccess { bytes, ..cache_request(&cache, AccessKind::Write, addr, 1) }, Cycle(now));
        assert_eq!(cache.data_port_free_at(), Cycle(now + cycles), "{addr:#x} in cycle {now}");
    }
}

#[test]
fn an_atomic_takes_the_data_port_for_the_bytes_that_it_changes() {
    let mut cache = DataCache::new(&Cache { atomic_cycles: 3, ..reduce_to_one_set(llc_spec()) }, 2, 0);
    access_status(&mut cache, AccessKind::Read, 0x40, 0);
    cache.pop_down();
    fill_sector(&mut cache, 0x40, 10);
    for (now, bytes, cycles) in [(20, 0xf0, 3), (40, 0xffff_0000, 3), (60, u32::MAX, 6)] {
        cache.access(&CacheAccess { bytes, ..cache_request(&cache, AccessKind::Atomic, 0x40, 1) }, Cycle(now));
        assert_eq!(cache.data_port_free_at(), Cycle(now + cycles), "{bytes:#x}");
    }
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x40, 80), AccessStatus::Hit);
    assert_eq!(cache.data_port_free_at(), Cycle(81));
}

#[test]
fn filled_sectors_pass_the_data_port_together_as_read_sectors_do() {
    let mut cache = DataCache::new(&Cache { fill_cycles: 1, read_sectors: 2, ..reduce_to_one_set(llc_spec()) }, 2, 0);
    for (addr, now, free_at) in [(0x40, 10, 10), (0x60, 20, 21), (0x00, 30, 30), (0x20, 40, 41)] {
        access_status(&mut cache, AccessKind::Read, addr, 0);
        cache.pop_down();
        fill_sector(&mut cache, addr, now);
        assert_eq!(cache.data_port_free_at(), Cycle(free_at), "after {addr:#x}");
    }
}

#[test]
fn a_fill_occupies_the_data_port_for_its_cycles() {
    let mut cache = DataCache::new(&Cache { fill_cycles: 2, ..reduce_to_one_set(llc_spec()) }, 2, 0);
    access_status(&mut cache, AccessKind::Read, 0x40, 0);
    cache.pop_down();
    fill_sector(&mut cache, 0x40, 10);
    assert_eq!((cache.data_port_free_at(), cache.fill_port_free_at()), (Cycle(12), Cycle(11)));
    let mut apart = DataCache::new(&reduce_to_one_set(llc_spec()), 2, 0);
    access_status(&mut apart, AccessKind::Read, 0x40, 0);
    apart.pop_down();
    fill_sector(&mut apart, 0x40, 10);
    assert!(apart.data_port_free(Cycle(10)), "the fill port alone");
}
