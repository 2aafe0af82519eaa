//! Tests of the cache blocks: exact cases, and the tag array against a model that scans.

mod model;
mod writes;

use warpshard_base::{Addr, Cycle, SectorMask};
use warpshard_config::machine::{Allocate, Cache, Replacement, SetIndex, WriteMiss, WritePolicy};

use super::*;

/// Returns the LLC slice of SM7_QV100.
fn llc_spec() -> Cache {
    Cache {
        sets: 32,
        ways: 24,
        line_bytes: 128,
        sectored: true,
        write: WritePolicy::Back,
        write_miss: WriteMiss::LazyFetchOnRead,
        allocate: Allocate::OnMiss,
        index: SetIndex::Ipoly,
        replacement: Replacement::Lru,
        mshrs: 192,
        mshr_merge: 4,
        miss_queue: 32,
        port_bytes: 32,
        read_sectors: 1,
        write_cycles: 1,
        merge_cycles: 0,
        merge_latency: 0,
        atomic_cycles: 0,
        fill_cycles: 0,
        dirty_ratio: 100,
    }
}

/// Returns the L1 of SM7_QV100 in its smallest split.
fn l1_spec() -> Cache {
    Cache {
        sets: 4,
        ways: 64,
        write: WritePolicy::Through,
        index: SetIndex::Linear,
        mshrs: 512,
        mshr_merge: 8,
        miss_queue: 16,
        ..llc_spec()
    }
}

/// Returns `spec` reduced to one set of two ways.
fn reduce_to_one_set(spec: Cache) -> Cache {
    Cache { sets: 1, ways: 2, mshrs: 4, mshr_merge: 2, miss_queue: 4, index: SetIndex::Linear, ..spec }
}

fn cache_request(cache: &DataCache, kind: AccessKind, addr: u64, token: u32) -> CacheAccess {
    let addr = Addr(addr);
    CacheAccess {
        addr,
        set: cache.set_index(addr.0),
        sectors: SectorMask::of(addr),
        bytes: u32::MAX,
        kind,
        local: false,
        token,
        owner: AccessOrigin::default(),
    }
}

/// Returns the recipients of ready replies, in order.
fn drain_replies(cache: &mut DataCache) -> Vec<Waiter> {
    std::iter::from_fn(|| cache.next_ready()).collect()
}

/// Returns the kind of a request to the next level.
fn request_kind(down: &DownstreamRequest) -> &'static str {
    match down.kind {
        DownstreamKind::Fetch { .. } => "fetch",
        DownstreamKind::Write => "write",
        DownstreamKind::WriteBack => "write back",
    }
}

fn access_status(cache: &mut DataCache, kind: AccessKind, addr: u64, now: u64) -> AccessStatus {
    cache.access(&cache_request(cache, kind, addr, addr as u32), Cycle(now)).status
}

fn fill_sector(cache: &mut DataCache, addr: u64, now: u64) {
    cache.fill(Addr(addr), addr, SectorMask::of(Addr(addr)), Cycle(now));
}

#[test]
fn a_read_misses_then_waits_then_hits() {
    let mut cache = DataCache::new(&llc_spec(), 24, 0);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x1020, 1), AccessStatus::Miss);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x1020, 2), AccessStatus::HitReserved);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x1040, 3), AccessStatus::SectorMiss);
    let sent: Vec<_> = std::iter::from_fn(|| cache.pop_down()).map(|d| (d.addr.0, request_kind(&d))).collect();
    assert_eq!(sent, [(0x1020, "fetch"), (0x1040, "fetch")]);
    fill_sector(&mut cache, 0x1020, 9);
    assert_eq!(drain_replies(&mut cache), [0x1020, 0x1020].map(Waiter::Request));
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x1020, 10), AccessStatus::Hit);
}

#[test]
fn a_partly_written_sector_is_fetched_only_when_it_is_read() {
    let mut cache = DataCache::new(&llc_spec(), 24, 0);
    let write = CacheAccess { bytes: 0xff, ..cache_request(&cache, AccessKind::Write, 0x40, 1) };
    let outcome = cache.access(&write, Cycle(0));
    assert_eq!((outcome.status, outcome.reply), (AccessStatus::Miss, ReplySource::Cache));
    assert_eq!(cache.queued_requests(), 0);
    assert_eq!(access_status(&mut cache, AccessKind::Write, 0x40 + 128 * 32 * 64, 1), AccessStatus::Miss);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x40, 2), AccessStatus::SectorMiss);
    assert_eq!(cache.pop_down().map(|d| request_kind(&d)), Some("fetch"));
    assert_eq!(cache.tags().dirty(), 1, "a sector that is being fetched does not count as dirty");
    fill_sector(&mut cache, 0x40, 5);
    assert_eq!(cache.tags().dirty(), 2, "it is fetched and modified");
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x40, 6), AccessStatus::Hit);
}

#[test]
fn writes_that_cover_a_sector_piece_by_piece_make_it_readable() {
    let mut cache = DataCache::new(&llc_spec(), 24, 0);
    for (i, bytes) in [0x0000_ffff, 0xff00_0000, 0x00ff_0000].into_iter().enumerate() {
        cache.access(&CacheAccess { bytes, ..cache_request(&cache, AccessKind::Write, 0, 0) }, Cycle(i as u64));
        let readable = cache.probe(&cache_request(&cache, AccessKind::Read, 0, 0)).lookup == Lookup::Hit;
        assert_eq!(readable, i == 2);
    }
}

#[test]
fn eviction_writes_back_the_modified_sectors_with_their_bytes() {
    let mut cache = DataCache::new(&reduce_to_one_set(llc_spec()), 2, 0);
    cache.access(&CacheAccess { bytes: 0xf0, ..cache_request(&cache, AccessKind::Write, 0x20, 0) }, Cycle(0));
    access_status(&mut cache, AccessKind::Write, 0x1000, 1);
    access_status(&mut cache, AccessKind::Write, 0x1060, 2);
    assert_eq!(access_status(&mut cache, AccessKind::Write, 0x2000, 3), AccessStatus::Miss);
    let back = cache.pop_down().unwrap();
    assert_eq!((back.addr.0, request_kind(&back), back.sectors().0, back.bytes), (0, "write back", 0b0010, 0xf0));
    assert_eq!(access_status(&mut cache, AccessKind::Write, 0x3000, 4), AccessStatus::Miss);
    let back = cache.pop_down().unwrap();
    assert_eq!((back.addr.0, back.sectors().0, back.bytes), (0x1000, 0b1001, u32::MAX));
    assert!(!cache.data_port_free(Cycle(5)), "two sectors leave through a port of one sector");
    assert!(cache.data_port_free(Cycle(6)));
}

#[test]
fn lines_that_wait_for_data_are_not_evictable() {
    let mut cache = DataCache::new(&reduce_to_one_set(llc_spec()), 2, 0);
    access_status(&mut cache, AccessKind::Read, 0, 0);
    cache.pop_down();
    access_status(&mut cache, AccessKind::Read, 0x1000, 0);
    cache.pop_down();
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x2000, 1), AccessStatus::Fail(FailReason::NoLine));
    fill_sector(&mut cache, 0x1000, 2);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x2000, 3), AccessStatus::Miss);
}

#[test]
fn every_limit_reports_its_fail_reason() {
    let mut cache = DataCache::new(&Cache { mshrs: 2, ..reduce_to_one_set(llc_spec()) }, 2, 0);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0, 0), AccessStatus::Miss);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0, 0), AccessStatus::HitReserved);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0, 0), AccessStatus::Fail(FailReason::MergeFull));
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x20, 0), AccessStatus::SectorMiss);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x40, 0), AccessStatus::Fail(FailReason::NoMshr));
    let mut cache = DataCache::new(&Cache { miss_queue: 2, ..reduce_to_one_set(llc_spec()) }, 2, 0);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0, 0), AccessStatus::Miss);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x20, 0), AccessStatus::Fail(FailReason::QueueFull));
}

#[test]
fn a_write_through_cache_sends_writes_on_and_evicts_silently() {
    let mut cache = DataCache::new(&Cache { miss_queue: 8, ..reduce_to_one_set(l1_spec()) }, 2, 0);
    let outcome = cache.access(&cache_request(&cache, AccessKind::Write, 0, 7), Cycle(0));
    assert_eq!((outcome.status, outcome.reply), (AccessStatus::Miss, ReplySource::NextLevel));
    let outcome = cache.access(&cache_request(&cache, AccessKind::Write, 0, 8), Cycle(1));
    assert_eq!((outcome.status, outcome.reply), (AccessStatus::Hit, ReplySource::NextLevel));
    access_status(&mut cache, AccessKind::Write, 0x1000, 2);
    access_status(&mut cache, AccessKind::Read, 0x2000, 3);
    let sent: Vec<_> = std::iter::from_fn(|| cache.pop_down()).map(|d| (request_kind(&d), d.token)).collect();
    assert_eq!(sent, [("write", 7), ("write", 8), ("write", 0x1000), ("fetch", 0x2000)]);
}

#[test]
fn modified_lines_stay_until_enough_of_the_cache_is_modified() {
    let spec = Cache { sets: 1, ways: 4, ..l1_spec() };
    let mut tags = TagArray::new(&spec, 4, 50);
    let touch = |tags: &mut TagArray, line: u64, write: bool| {
        let (addr, one) = (Addr(line * 128), SectorMask(1));
        let probe = tags.probe(addr, 0, one, write);
        tags.access(probe, addr, one, line);
        if write {
            tags.write(probe.line, one, u32::MAX)
        } else {
            tags.fill(probe.line, addr, one)
        }
        probe.line
    };
    let written = touch(&mut tags, 0, true);
    let read = touch(&mut tags, 1, false);
    touch(&mut tags, 2, false);
    touch(&mut tags, 3, false);
    assert_eq!(touch(&mut tags, 4, true), read, "the oldest line is modified and below the ratio");
    assert_eq!(touch(&mut tags, 5, false), written, "half of the lines are modified now");
}

#[test]
fn an_atomic_miss_leaves_the_sector_modified() {
    let mut cache = DataCache::new(&llc_spec(), 24, 0);
    assert_eq!(access_status(&mut cache, AccessKind::Atomic, 0, 0), AccessStatus::Miss);
    fill_sector(&mut cache, 0, 1);
    assert_eq!(cache.tags().dirty(), 1);
    assert_eq!(access_status(&mut cache, AccessKind::Atomic, 0, 2), AccessStatus::Hit);
    assert_eq!(cache.tags().dirty(), 1);
}

#[test]
fn fetch_on_write_replies_to_the_write_with_the_data() {
    let spec = Cache { write_miss: WriteMiss::FetchOnWrite, ..reduce_to_one_set(llc_spec()) };
    let mut cache = DataCache::new(&spec, 2, 0);
    let outcome = cache.access(&CacheAccess { bytes: 0xf, ..cache_request(&cache, AccessKind::Write, 0, 5) }, Cycle(0));
    assert_eq!((outcome.status, outcome.reply), (AccessStatus::Miss, ReplySource::Fill));
    assert_eq!(cache.pop_down().map(|d| request_kind(&d)), Some("fetch"));
    fill_sector(&mut cache, 0, 3);
    assert_eq!(drain_replies(&mut cache), [Waiter::Request(5)]);
    assert_eq!(cache.tags().dirty(), 1);
    assert_eq!(
        cache.access(&cache_request(&cache, AccessKind::Write, 0x20, 6), Cycle(4)).reply,
        ReplySource::Cache,
        "a whole sector needs no fetch"
    );
}

#[test]
fn fills_allocate_in_a_streaming_cache() {
    let spec = Cache { allocate: Allocate::OnFill, write_miss: WriteMiss::NoAllocate, ..reduce_to_one_set(l1_spec()) };
    let mut cache = DataCache::new(&spec, 2, 0);
    for line in 0..4 {
        assert_eq!(access_status(&mut cache, AccessKind::Read, line * 128, line), AccessStatus::Miss, "no line is reserved for a miss");
        cache.pop_down();
    }
    for line in 0..4 {
        fill_sector(&mut cache, line * 128, 10 + line);
    }
    assert_eq!(cache.probe(&cache_request(&cache, AccessKind::Read, 2 * 128, 0)).lookup, Lookup::Hit);
    assert_eq!(cache.probe(&cache_request(&cache, AccessKind::Read, 0, 0)).lookup, Lookup::Miss);
}

#[test]
fn data_of_an_invalidated_line_is_returned_but_not_cached() {
    let mut cache = DataCache::new(&llc_spec(), 24, 0);
    access_status(&mut cache, AccessKind::Read, 0, 0);
    cache.invalidate();
    fill_sector(&mut cache, 0, 1);
    assert!(cache.next_ready().is_some());
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0, 2), AccessStatus::Miss);
}

#[test]
fn the_number_of_ways_can_change_between_kernels() {
    let mut tags = TagArray::new(&l1_spec(), 256, 0);
    tags.set_ways(256);
    assert_eq!(tags.line_count(), 1024);
    let place = |tags: &mut TagArray, line: u64| {
        let (addr, one) = (Addr(line * 128), SectorMask(1));
        let probe = tags.probe(addr, set_index(addr.0, 7, l1_spec().sets, l1_spec().index), one, false);
        tags.access(probe, addr, one, line);
        tags.fill(probe.line, addr, one);
        probe.lookup
    };
    assert!((0..1024).all(|line| place(&mut tags, line) == Lookup::Miss));
    assert!((0..1024).all(|line| place(&mut tags, line) == Lookup::Hit));
    tags.set_ways(2);
    assert!((0..16).all(|line| place(&mut tags, line) == Lookup::Miss));
    assert_eq!(place(&mut tags, 8), Lookup::Hit);
    assert_eq!(place(&mut tags, 0), Lookup::Miss);
}

#[test]
fn the_hot_arrays_of_a_slice_stay_within_their_budget() {
    let tags = TagArray::new(&llc_spec(), 24, 0);
    assert!(tags.hot_bytes() <= 14 * 1024, "{} bytes", tags.hot_bytes());
}

#[test]
fn a_line_of_256_bytes_is_read_and_invalidated_whole() {
    let spec = Cache {
        line_bytes: 256,
        sectored: false,
        write: WritePolicy::LocalBackGlobalThrough,
        write_miss: WriteMiss::NoAllocate,
        ..llc_spec()
    };
    let mut cache = DataCache::new(&reduce_to_one_set(spec), 2, 0);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x1080, 1), AccessStatus::Miss);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x1000, 2), AccessStatus::HitReserved, "the other half is also being fetched");
    let down = cache.pop_down().unwrap();
    assert_eq!((down.addr, down.sectors()), (Addr(0x1000), SectorMask(0xff)));
    assert!(cache.pop_down().is_none());
    let DownstreamKind::Fetch { entry } = down.kind else { panic!("{down:?} is not a fetch") };
    cache.fill_entry(entry, down.addr, || down.addr.0, down.sectors(), Cycle(9));
    assert_eq!(cache.fill_port_free_at(), Cycle(17), "eight sectors through a port of 32 bytes");
    assert_eq!(drain_replies(&mut cache), [0x1080, 0x1000].map(Waiter::Request));
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x10e0, 18), AccessStatus::Hit);
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x1100, 19), AccessStatus::Miss, "the next line");
    assert_eq!(access_status(&mut cache, AccessKind::Write, 0x1000, 20), AccessStatus::Hit);
    assert_eq!(cache.queued_requests(), 2, "the write proceeds after the fetch");
    assert_eq!(access_status(&mut cache, AccessKind::Read, 0x1080, 21), AccessStatus::Miss, "a write to one half includes the other half");
}

#[test]
fn a_modified_line_of_256_bytes_is_written_back_whole() {
    let spec = Cache { line_bytes: 256, sectored: false, write_miss: WriteMiss::FetchOnWrite, ..llc_spec() };
    let mut cache = DataCache::new(&reduce_to_one_set(spec), 2, 0);
    for (addr, now) in [(0x0, 1), (0x180, 2), (0x280, 3)] {
        assert_eq!(access_status(&mut cache, AccessKind::Write, addr, now), AccessStatus::Miss);
    }
    let sent: Vec<_> =
        std::iter::from_fn(|| cache.pop_down()).map(|down| (down.addr.0, down.sectors().count(), request_kind(&down))).collect();
    assert_eq!(sent, [(0, 8, "write back")]);
}
