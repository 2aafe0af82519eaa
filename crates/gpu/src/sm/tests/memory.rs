//! Tests of loads, stores, atomics and shared memory against a memory of fixed latency.

use warpshard_base::Addr;
use warpshard_config::machine::{CoreStyle, Machine, WriteMiss, WritePolicy};
use warpshard_protocol::MemOp;
use warpshard_workload::AsyncOp;

use super::*;
use crate::test_machine::{kernel_info, test_machine};

fn load_inst(dst: u16, src: &[u16]) -> StaticInst {
    memory_inst(MemKind::Load, MemSpace::Global, dst, src)
}

fn store_inst(src: &[u16]) -> StaticInst {
    memory_inst(MemKind::Store, MemSpace::Global, NO_REGISTER, src)
}

const ALL_LANES: LaneMask = LaneMask::FULL;

/// Returns the issue cycles of one warp that executes the program written by `fill`.
fn issue_cycles(fill: impl FnOnce(&mut ProgramBuilder)) -> Vec<u64> {
    let mut program = ProgramBuilder::new(1);
    fill(&mut program);
    Bench::with_single_cta(&test_machine(), 32, program.build_with_exit()).issue_cycles()
}

#[test]
fn a_dependent_load_that_hits_takes_24_cycles() {
    let issues = issue_cycles(|program| {
        for _ in 0..20 {
            program.add_access(0, load_inst(1, &[1]), LaneMask(1), &[0x10000]);
            program.add_to_all(register_inst(OpClass::Branch, NO_REGISTER, &[]));
        }
    });
    assert!((4..18).all(|i| issues[2 * i + 2] - issues[2 * i] == 24), "{issues:?}");
}

/// Copies are in groups of one. The wait for the first of two groups ends a reply latency after its issue, and the wait for the second when
/// its data arrives.
#[test]
fn a_wait_for_groups_of_copies_ends_with_the_data_of_the_groups() {
    let copy = |past_l1| StaticInst {
        control: Control { async_op: AsyncOp::Copy { past_l1 }, ..Control::NONE },
        ..memory_inst(MemKind::Load, MemSpace::Global, NO_REGISTER, &[2])
    };
    let alu = |control: Control| StaticInst { control, ..register_inst(OpClass::Alu, NO_REGISTER, &[]) };
    let close = alu(Control { async_op: AsyncOp::CopyGroup, counters: Control::counters(Some(0), None), ..Control::NONE });
    let wait = |most: u16| alu(Control { async_op: AsyncOp::CopyWait, at_most: Some(most << 3), ..Control::NONE });
    let run = |past_l1: bool, gap: usize, waits: &[StaticInst]| {
        let mut program = ProgramBuilder::new(1);
        program.add_access(0, copy(past_l1), ALL_LANES, &lane_addresses(0x10_0000, 4)).add_to_all(close);
        for _ in 0..gap {
            program.add_to_all(register_inst(OpClass::Alu, 1, &[1]));
        }
        program.add_access(0, copy(past_l1), ALL_LANES, &lane_addresses(0x20_0000, 4)).add_to_all(close);
        for wait in waits {
            program.add_to_all(*wait).add_to_all(register_inst(OpClass::Alu, 1, &[2]));
        }
        let mut bench = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit());
        let issues = bench.issue_cycles();
        let answers: Vec<u64> = bench.requests().iter().map(|(at, _)| at + bench.latency).collect();
        // The cycle in which each wait was over, and the cycle in which the last sector of each copy arrived.
        let over: Vec<u64> = (0..waits.len()).map(|i| issues[4 + gap + 2 * i + 1]).collect();
        (over, answers[3], answers[7], issues[3 + gap])
    };
    for past_l1 in [false, true] {
        let (over, first, second, _) = run(past_l1, 10, &[wait(1), wait(0)]);
        assert!(first <= over[0] && over[0] < second && second <= over[1], "{over:?}, {first}, {second}");
        assert!(over[0] <= first + 5 && over[1] <= second + 5, "{over:?}, {first}, {second}");
        let (over, first, _, closed) = run(past_l1, 0, &[wait(2)]);
        assert!(over[0] < first && over[0] <= closed + 4, "two groups may be incomplete: {over:?}, {closed}");
    }
}

#[test]
fn values_reach_the_registers_at_the_rate_of_the_return_path() {
    let issues = |width: u8, other: u16| {
        let mut machine = test_machine();
        machine.gpu.sm.lsu.return_bytes = 64;
        let mut program = ProgramBuilder::new(1);
        for _ in 0..20 {
            let wide = |dst| StaticInst { mem: load_inst(dst, &[1]).mem.map(|mem| MemInst { width, ..mem }), ..load_inst(dst, &[1]) };
            program.add_access(0, wide(other), LaneMask(1), &[0x10000]);
            program.add_access(0, wide(1), LaneMask(1), &[0x10000]);
        }
        let issues = Bench::with_single_cta(&machine, 32, program.build_with_exit()).issue_cycles();
        let rounds: Vec<u64> = (4..18).map(|i| issues[2 * i + 2] - issues[2 * i]).collect();
        assert!(rounds.iter().all(|round| *round == rounds[0]), "{issues:?}");
        rounds[0]
    };
    // Both values share the path: 128 bytes take two cycles, 256 bytes four and 512 bytes eight.
    assert_eq!([4, 8, 16].map(|width| issues(width, 2)), [25 + 2 + 1, 25 + 2 * 4 - 1, 25 + 2 * 8 - 1]);
}

#[test]
fn a_load_miss_adds_the_memory_round_trip() {
    let issues = issue_cycles(|program| {
        for i in 0..4 {
            program.add_access(0, load_inst(1, &[1]), LaneMask(1), &[0x10000 + 0x1000 * i]);
        }
    });
    // The load is looked up 24 cycles after issue, sent 1 cycle later, and answered 100 cycles later. It is then ejected, filled 1 cycle
    // later, selected and written back.
    assert_eq!(issues[2] - issues[1], 24 + 1 + 100 + 1 + 1 + 1);
}

#[test]
fn a_load_that_bypasses_the_l1_is_sent_at_its_entry() {
    let issues = issue_cycles(|program| {
        for _ in 0..4 {
            let mut inst = load_inst(1, &[1]);
            inst.mem = inst.mem.map(|mem| MemInst { cache: CachePolicy::Global, ..mem });
            program.add_access(0, inst, LaneMask(1), &[0x10000]);
        }
    });
    assert_eq!(issues[2] - issues[1], 4 + 100 + 1 + 1 + 1);
}

#[test]
fn shared_memory_takes_its_latency_and_a_cycle_per_conflict() {
    let gap = |stride: u64| {
        let issues = issue_cycles(|program| {
            for _ in 0..4 {
                program.add_access(0, memory_inst(MemKind::Load, MemSpace::Shared, 1, &[1]), ALL_LANES, &lane_addresses(0, stride));
            }
        });
        issues[2] - issues[1]
    };
    assert_eq!(gap(4), 25);
    assert_eq!(gap(8), 26);
    assert_eq!(gap(128), 25 + 31);
    assert_eq!(gap(0), 25);
}

#[test]
fn a_coalesced_load_requests_four_sectors_in_descending_order() {
    let mut program = ProgramBuilder::new(1);
    program.add_access(0, load_inst(1, &[]), ALL_LANES, &lane_addresses(0x10000, 4));
    let mut bench = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit());
    bench.issue_cycles();
    let requests = bench.requests();
    assert!(requests.iter().all(|(_, packet)| packet.op == MemOp::Read && packet.sectors().count() == 1));
    let mut addresses: Vec<u64> = requests.iter().map(|(_, packet)| packet.addr.0).collect();
    // The four banks look up in one cycle, in the order of the banks.
    assert_eq!(addresses, [0x10000, 0x10020, 0x10040, 0x10060]);
    addresses.dedup();
    assert!(requests.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1), "one request a cycle: {requests:?}");
    assert_eq!(bench.kernel().l1_read_misses + bench.kernel().l1_read_sector_misses, 4);
}

#[test]
fn accesses_of_one_bank_enter_the_l1_one_by_one() {
    let gap = |stride: u64| {
        let issues = issue_cycles(|program| {
            for _ in 0..4 {
                program.add_access(0, load_inst(1, &[1]), ALL_LANES, &lane_addresses(0x10000, stride));
            }
        });
        issues[3] - issues[2]
    };
    assert_eq!(gap(4), 24, "four sectors of four banks");
    assert_eq!(gap(128), 24 + 31, "32 sectors of one bank");
}

#[test]
fn loads_of_an_outstanding_sector_share_a_fetch() {
    let mut program = ProgramBuilder::new(4);
    for warp in 0..4 {
        program.add_access(warp, load_inst(1, &[]), LaneMask(1), &[0x10000]);
    }
    program.add_to_all(register_inst(OpClass::Sp, 2, &[1]));
    let mut bench = Bench::with_single_cta(&test_machine(), 128, program.build_with_exit());
    bench.issue_cycles();
    assert_eq!(bench.requests().len(), 1);
    assert_eq!(bench.kernel().l1_read_pending_hits, 3);
}

#[test]
fn a_full_merge_list_makes_the_next_load_wait_and_retry() {
    let mut machine = test_machine();
    machine.gpu.sm.l1.cache.as_mut().unwrap().mshr_merge = 2;
    let mut program = ProgramBuilder::new(4);
    for warp in 0..4 {
        program.add_access(warp, load_inst(1, &[]), LaneMask(1), &[0x10000]);
    }
    let mut bench = Bench::with_single_cta(&machine, 128, program.build_with_exit());
    bench.issue_cycles();
    assert_eq!(bench.requests().len(), 1, "refused accesses hit the sector when they are retried");
    let counted = &bench.stats().sm;
    assert!(counted.l1_retries_merge > 50);
    assert_eq!(counted.l1_retries, counted.l1_retries_merge, "there is no other cause of refusal");
    assert_eq!(bench.kernel().l1_read_hits, 2);
}

#[test]
fn stores_hold_the_cta_until_they_are_acknowledged() {
    let end = |latency: u64| {
        let mut program = ProgramBuilder::new(1);
        program.add_access(0, store_inst(&[1, 2]), ALL_LANES, &lane_addresses(0x10000, 4));
        let mut bench = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit());
        bench.latency = latency;
        bench.issue_cycles();
        assert!(bench.requests().iter().all(|(_, packet)| packet.op == MemOp::Write && packet.bytes == u32::MAX));
        bench.notices(|payload| matches!(payload, Payload::CtaDone(_)))[0]
    };
    assert_eq!(end(300) - end(100), 200);
}

#[test]
fn a_partial_store_carries_its_bytes_and_a_later_load_fetches() {
    let mut program = ProgramBuilder::new(1);
    program.add_access(0, store_inst(&[1, 2]), LaneMask(3), &[0x10004, 0x10008]);
    program.add_access(0, load_inst(5, &[]), LaneMask(1), &[0x10000]);
    let mut bench = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit());
    bench.issue_cycles();
    let requests: Vec<_> = bench.requests().iter().map(|(_, packet)| (packet.op, packet.bytes)).collect();
    assert_eq!(requests[0], (MemOp::Write, 0xff0));
    assert_eq!(requests[1].0, MemOp::Read);
}

#[test]
fn atomics_on_one_address_send_a_packet_per_lane_and_hold_their_warp() {
    let mut program = ProgramBuilder::new(1);
    program.add_access(0, memory_inst(MemKind::Reduction, MemSpace::Global, NO_REGISTER, &[1, 2]), ALL_LANES, &lane_addresses(0x10000, 0));
    program.add_to_all(register_inst(OpClass::Sp, 7, &[]));
    let mut bench = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit());
    let issues = bench.issue_cycles();
    let requests = bench.requests();
    assert_eq!(requests.len(), 32);
    assert!(requests.iter().all(|(_, packet)| packet.op == MemOp::Reduction && packet.bytes == 0xf));
    // The last of 32 sectors leaves 4 + 31 cycles after issue, returns 100 cycles later and is selected in the second cycle after that.
    assert_eq!(issues[1] - issues[0], 4 + 31 + 100 + 2);
}

#[test]
fn bypassing_loads_of_an_outstanding_sector_send_no_request() {
    let requests = |places: u32| {
        let mut machine = test_machine();
        machine.gpu.sm.lsu.merged_loads = places;
        let mut program = ProgramBuilder::new(4);
        for warp in 0..4 {
            let mut inst = load_inst(1, &[]);
            inst.mem = inst.mem.map(|mem| MemInst { cache: CachePolicy::Global, ..mem });
            program.add_access(warp, inst, ALL_LANES, &lane_addresses(0x10000, 4));
        }
        program.add_to_all(register_inst(OpClass::Sp, 2, &[1]));
        let mut bench = Bench::with_single_cta(&machine, 128, program.build_with_exit());
        bench.issue_cycles();
        (bench.requests().len(), bench.kernel().l1_bypasses)
    };
    assert_eq!([0, 64].map(requests), [(16, 16), (8, 16)]);
}

#[test]
fn missing_sectors_of_a_line_leave_as_one_request() {
    let requests = |line_requests| {
        let mut machine = test_machine();
        machine.gpu.sm.l1.line_requests = line_requests;
        let mut program = ProgramBuilder::new(1);
        // The accesses cover two lines, and two sectors of a third.
        program.add_access(0, load_inst(1, &[]), ALL_LANES, &lane_addresses(0x10000, 8));
        program.add_access(0, load_inst(2, &[]), LaneMask(0xffff), &lane_addresses(0x20000, 4)[..16]);
        program.add_to_all(register_inst(OpClass::Sp, 3, &[1, 2]));
        let mut bench = Bench::with_single_cta(&machine, 32, program.build_with_exit());
        bench.issue_cycles();
        bench.requests().iter().map(|(_, packet)| packet.sectors().count()).collect::<Vec<_>>()
    };
    assert_eq!(requests(false), [1; 10]);
    assert_eq!(requests(true), [4, 4, 2]);
}

/// Returns the number of write requests and the bytes that they write, of an SM with a store buffer of `places` lines.
fn count_writes(places: u32, warps: u32, program: ProgramBuilder) -> (usize, u32) {
    let mut machine = test_machine();
    (machine.gpu.sm.lsu.combined_stores, machine.gpu.sm.lsu.combine_wait) = (places, 400);
    let mut bench = Bench::with_single_cta(&machine, 32 * warps, program.build_with_exit());
    bench.issue_cycles();
    let requests = bench.requests();
    let bytes = requests.iter().filter(|(_, packet)| packet.op == MemOp::Write).map(|(_, packet)| packet.bytes.count_ones());
    (bytes.clone().count(), bytes.sum())
}

#[test]
fn stores_to_parts_of_a_sector_leave_as_one() {
    // Each warp executes four stores of a word to each of 32 sectors in eight lines.
    let of_a_warp = |places| {
        let mut program = ProgramBuilder::new(1);
        for word in 0..4 {
            program.add_access(0, store_inst(&[1]), ALL_LANES, &lane_addresses(0x10000 + 4 * word, 32));
        }
        count_writes(places, 1, program)
    };
    assert_eq!([0, 8, 7].map(of_a_warp), [(128, 512), (32, 512), (128, 512)], "no buffer, a buffer of eight lines, and a smaller buffer");
    // The second warp begins in the middle of the sector in which the first one ends.
    let of_two = |places| {
        let mut program = ProgramBuilder::new(2);
        for warp in 0..2 {
            program.add_access(warp, store_inst(&[1]), ALL_LANES, &lane_addresses(0x10010 + 128 * warp as u64, 4));
        }
        count_writes(places, 2, program)
    };
    assert_eq!([0, 8].map(of_two), [(10, 256), (9, 256)]);
}

#[test]
fn a_fence_waits_for_the_registers_of_its_warp() {
    let issues = issue_cycles(|program| {
        program.add_access(0, load_inst(1, &[2]), LaneMask(1), &[0x10000]);
        program.add_to_all(register_inst(OpClass::Fence, NO_REGISTER, &[]));
        program.add_to_all(register_inst(OpClass::Sp, 7, &[]));
    });
    assert!(issues[1] < issues[0] + 10);
    assert_eq!(issues[2], issues[0] + 128, "the load's register is written 128 cycles after its issue");
}

#[test]
fn generic_accesses_follow_the_address_windows() {
    let info = kernel_info(32, 1);
    let generic = memory_inst(MemKind::Load, MemSpace::Generic, 1, &[]);
    let requests = |address: u64| {
        let mut program = ProgramBuilder::new(1);
        program.add_access(0, generic, ALL_LANES, &lane_addresses(address, 4));
        let mut bench = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit());
        bench.issue_cycles();
        (bench.requests().len(), bench.kernel().shared_instructions)
    };
    assert_eq!(requests(info.shared_base.0 + 64), (0, 1));
    assert_eq!(requests(0x10000), (4, 0));
    // The same word of 32 threads is contiguous, so 32 words of local memory at a stride of 4 are 32 times 32 lines apart.
    assert_eq!(requests(info.local_base.0), (32, 0));
}

#[test]
fn local_memory_of_a_warp_is_contiguous_for_the_same_word() {
    let mut program = ProgramBuilder::new(1);
    program.add_access(0, memory_inst(MemKind::Load, MemSpace::Local, 1, &[]), ALL_LANES, &lane_addresses(0x20, 0));
    let mut bench = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit());
    bench.issue_cycles();
    assert_eq!(bench.requests().len(), 4);
}

#[test]
fn predicated_off_accesses_pass_through() {
    let mut program = ProgramBuilder::new(1);
    program.add_access(0, load_inst(1, &[2]), LaneMask(0), &[]);
    program.add_access(0, memory_inst(MemKind::Atomic, MemSpace::Global, 3, &[2]), LaneMask(0), &[]);
    program.add_access(0, memory_inst(MemKind::Load, MemSpace::Shared, 4, &[2]), LaneMask(0), &[]);
    program.add_to_all(register_inst(OpClass::Sp, 9, &[1, 3, 4]));
    let mut bench = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit());
    bench.issue_cycles();
    assert_eq!(bench.requests().len(), 0);
    assert_eq!(bench.kernel().warp_instructions, 5);
}

#[test]
fn the_l1_is_invalidated_and_resized_for_the_next_kernel() {
    let machine = test_machine();
    let program = |n: u64| {
        let mut program = ProgramBuilder::new(1);
        for i in 0..n {
            program.add_access(0, load_inst(1, &[1]), ALL_LANES, &lane_addresses(0x10000 + i * 128, 4));
        }
        program.build_with_exit()
    };
    let mut shared = kernel_info(32, 1);
    shared.shared_bytes = 40_000;
    let mut bench = Bench::new(&machine, vec![(kernel_info(32, 1), program(4)), (shared, program(4))]);
    bench.bind(0, 0);
    bench.finish();
    bench.bind(1, 0);
    bench.finish();
    assert_eq!(bench.stats().sm.l1_flushes, 2);
    assert_eq!(bench.requests().len(), 32, "both kernels miss all 16 sectors");
}

#[test]
fn no_request_leaves_without_a_credit() {
    let mut machine = test_machine();
    machine.noc.input_queue = 2;
    let mut program = ProgramBuilder::new(1);
    program.add_access(0, load_inst(1, &[]), ALL_LANES, &lane_addresses(0x10000, 128));
    let mut bench = Bench::with_single_cta(&machine, 32, program.build_with_exit());
    bench.latency = 40;
    bench.issue_cycles();
    let requests = bench.requests();
    assert_eq!(requests.len(), 32);
    for pair in requests.windows(3) {
        assert!(pair[2].0 - pair[0].0 >= 40, "three requests within a round trip of two credits");
    }
    assert!(bench.stats().sm.network_full_cycles > 100);
}

#[test]
fn credits_of_the_network_output_are_returned_in_batches() {
    let mut program = ProgramBuilder::new(8);
    for warp in 0..8 {
        program.add_access(warp, load_inst(1, &[]), ALL_LANES, &lane_addresses(0x10000 + 0x1000 * warp as u64, 32));
    }
    let mut bench = Bench::with_single_cta(&test_machine(), 256, program.build_with_exit());
    bench.issue_cycles();
    let counts: Vec<u16> = bench
        .sent
        .iter()
        .filter_map(|(_, payload)| match payload {
            Payload::Credit(credit) => Some(credit.count),
            _ => None,
        })
        .collect();
    assert_eq!(counts, [16; 16]);
}

/// Returns a machine whose L1 works on lines and forwards writes.
fn with_line_cache(write_miss: WriteMiss) -> Machine {
    let mut machine = test_machine();
    let sm = &mut machine.gpu.sm;
    sm.lsu.sector_requests = false;
    sm.l1.unified = None;
    let cache = sm.l1.cache.as_mut().unwrap();
    cache.sectored = false;
    cache.write = WritePolicy::LocalBackGlobalThrough;
    cache.write_miss = write_miss;
    machine
}

#[test]
fn a_line_cache_requests_whole_lines_and_waits_for_all_sectors() {
    let mut program = ProgramBuilder::new(1);
    program.add_access(0, load_inst(1, &[]), ALL_LANES, &lane_addresses(0x10000, 4));
    program.add_access(0, store_inst(&[1]), ALL_LANES, &lane_addresses(0x20000, 4));
    let mut bench = Bench::with_single_cta(&with_line_cache(WriteMiss::NoAllocate), 32, program.build_with_exit());
    bench.issue_cycles();
    let requests = bench.requests();
    assert_eq!(
        requests.iter().map(|(_, p)| (p.op, p.addr, p.sectors().0)).collect::<Vec<_>>(),
        [(MemOp::Read, Addr(0x10000), 0xf), (MemOp::Write, Addr(0x20000), 0xf)]
    );
}

#[test]
fn version_3_writes_use_the_smallest_aligned_segment() {
    // The 32 words start at the second sector of a line: three sectors of this line, and one of the next.
    let written = |write_miss| {
        let mut program = ProgramBuilder::new(1);
        program.add_access(0, store_inst(&[]), ALL_LANES, &lane_addresses(0x20020, 4));
        let mut bench = Bench::with_single_cta(&with_line_cache(write_miss), 32, program.build_with_exit());
        bench.issue_cycles();
        bench.requests().iter().map(|(_, p)| (p.addr.line(), p.sectors().0)).collect::<Vec<_>>()
    };
    assert_eq!(written(WriteMiss::NoAllocate), [(Addr(0x20080), 0b0001), (Addr(0x20000), 0b1110)]);
    assert_eq!(written(WriteMiss::NoAllocateWaits), [(Addr(0x20080), 0b0001), (Addr(0x20000), 0b1111)]);
}

#[test]
fn outstanding_loads_are_counted_with_and_without_arithmetic_overlap() {
    let counted = |latency: u64, chain: u64| {
        let mut program = ProgramBuilder::new(1);
        program.add_access(0, load_inst(1, &[]), LaneMask(1), &[0x10000]);
        for _ in 0..chain {
            program.add_to_all(register_inst(OpClass::Sp, 2, &[2]));
        }
        let mut bench = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit());
        bench.latency = latency;
        bench.issue_cycles();
        let sm = &bench.stats().sm;
        assert_eq!(sm.loads_answered, 1);
        (sm.load_cycles, sm.load_overlapped_cycles)
    };
    let (short, long) = (counted(100, 0), counted(300, 0));
    assert_eq!(long.0 - short.0, 200, "a load waits for its data");
    assert!(short.1 == long.1 && long.1 < 20, "only the exit overlaps the load: {long:?}");
    let busy = counted(300, 10);
    assert_eq!(busy.0, long.0);
    assert!(busy.1 > long.1 + 30 && busy.1 < busy.0, "ten instructions of four cycles overlap: {busy:?}");
    let chained = counted(300, 200);
    assert!(2 * chained.1 > chained.0 && chained.1 < chained.0, "units are empty while operands are gathered: {chained:?}");
}

#[test]
fn arithmetic_that_waits_for_collectors_full_of_memory_instructions_waits_for_memory() {
    use super::super::StallReason::{MemoryHoldsCollectors, PipelineFull};
    for style in [CoreStyle::SubCores, CoreStyle::Shared] {
        let mut machine = test_machine();
        machine.gpu.sm.style = style;
        // The lines are in the L1: the transfer to it takes the time, one sector per lane and cycle.
        let stalls = |stride: u64| {
            let mut program = ProgramBuilder::new(16);
            for round in 0..20 {
                for warp in 0..16 {
                    program.add_access(warp, load_inst(1 + round % 8, &[40]), ALL_LANES, &lane_addresses(0x10000, stride));
                    for dst in 20..26 {
                        program.add_to_warp(warp, register_inst(OpClass::Sp, dst, &[41, 42, 43]), ALL_LANES);
                    }
                }
            }
            let mut bench = Bench::with_single_cta(&machine, 512, program.build_with_exit()).with_skipping();
            bench.finish();
            let stalls = bench.stats().all_stalls();
            [MemoryHoldsCollectors, PipelineFull].map(|reason| stalls[reason as usize])
        };
        let ([memory, others], [few, _]) = (stalls(128), stalls(0));
        assert!(memory > others && memory > 10 * few, "{style:?}: {memory} and {others}, {few}");
    }
}
