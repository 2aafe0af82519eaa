//! Tests of texture loads against a memory of fixed latency.

use warpshard_base::Addr;
use warpshard_config::machine::TextureCache;

use super::*;
use crate::test_machine::{kernel_info, test_machine};

fn load(dst: u16, src: &[u16]) -> StaticInst {
    memory_inst(MemKind::Load, MemSpace::Texture, dst, src)
}

/// Returns the test machine with the texture cache of GPGPU-Sim's Fermi.
fn textured_machine() -> Machine {
    let mut machine = test_machine();
    machine.gpu.sm.texture = Some(TextureCache { sets: 4, ways: 24, fragments: 128, requests: 4, reorder: 128, results: 2 });
    machine
}

fn machine_with_texture_cache(change: impl FnOnce(&mut TextureCache)) -> Machine {
    let mut machine = textured_machine();
    change(machine.gpu.sm.texture.as_mut().unwrap());
    machine
}

/// Returns a program of one warp that loads a word from each of `addresses`, one load after the other.
fn load_chain(addresses: &[u64]) -> Arc<CtaProgram> {
    let mut program = ProgramBuilder::new(1);
    for address in addresses {
        program.add_access(0, load(1, &[1]), LaneMask(1), &[*address]);
    }
    program.build_with_exit()
}

fn run_program(machine: &Machine, program: Arc<CtaProgram>) -> Bench {
    let mut bench = Bench::with_single_cta(machine, 32 * program.warps.len() as u32, program);
    bench.issue_cycles();
    bench
}

fn texture_counts(bench: &Bench) -> (u64, u64) {
    let counters = bench.textures().unwrap();
    (counters.texture_hits, counters.texture_misses)
}

#[test]
fn a_hit_passes_the_fragments_and_the_results() {
    let issues = Bench::with_single_cta(&textured_machine(), 32, load_chain(&[0x1_0000; 8])).issue_cycles();
    // The load needs four cycles to the unit; then it is accepted, becomes the first fragment, is selected and written back.
    assert!((2..7).all(|i| issues[i + 1] - issues[i] == 4 + 3), "{issues:?}");
}

#[test]
fn a_texture_miss_adds_the_memory_round_trip() {
    let addresses = [0x1_0000, 0x2_0000, 0x3_0000, 0x4_0000];
    let issues = Bench::with_single_cta(&textured_machine(), 32, load_chain(&addresses)).issue_cycles();
    // The request is sent a cycle after the access was accepted, and answered 100 cycles later. It is then ejected, filled as the first
    // fragment, selected and written back.
    assert_eq!(issues[2] - issues[1], 4 + 1 + 100 + 1 + 1 + 1);
}

#[test]
fn a_warp_requests_each_line_once_in_descending_order() {
    let mut program = ProgramBuilder::new(1);
    program.add_access(0, load(1, &[]), LaneMask::FULL, &lane_addresses(0x1_0000, 8));
    let bench = run_program(&textured_machine(), program.build_with_exit());
    let requests: Vec<_> = bench.requests().iter().map(|(_, packet)| (packet.addr, packet.sectors().count())).collect();
    assert_eq!(requests, [(Addr(0x1_0080), 4), (Addr(0x1_0000), 4)]);
    assert_eq!(texture_counts(&bench), (0, 2));
    assert_eq!((bench.kernel().memory_accesses, bench.kernel().load_instructions), (0, 0), "these counters belong to the L1");
    assert_eq!(bench.stats().sm.loads_answered, 1);
}

#[test]
fn an_outstanding_line_is_a_hit_and_not_requested_again() {
    let mut program = ProgramBuilder::new(4);
    for warp in 0..4 {
        program.add_access(warp, load(1, &[]), LaneMask(1), &[0x1_0000 + 4 * warp as u64]);
    }
    let bench = run_program(&textured_machine(), program.build_with_exit());
    assert_eq!((texture_counts(&bench), bench.requests().len()), ((3, 1), 1));
}

#[test]
fn a_hit_waits_for_the_misses_before_it() {
    let end = |second: u64| {
        let mut program = ProgramBuilder::new(2);
        program.add_access(0, load(1, &[]), LaneMask(1), &[0x1_0000]);
        program.add_to_warp(0, register_inst(OpClass::Sp, 2, &[1]), LaneMask::FULL);
        program.add_access(0, load(1, &[2]), LaneMask(1), &[0x2_0000]);
        program.add_access(0, load(3, &[2]), LaneMask(1), &[second]);
        program.add_to_warp(0, register_inst(OpClass::Sp, 4, &[3]), LaneMask::FULL);
        let issues = Bench::with_single_cta(&textured_machine(), 64, program.build_with_exit()).issue_cycles();
        issues[issues.len() - 1] - issues[2]
    };
    let (hit, miss) = (end(0x1_0000), end(0x3_0000));
    assert!(hit > 100 && hit <= miss, "{hit} cycles after a miss, {miss} as a miss");
}

#[test]
fn the_least_recently_used_texture_line_is_evicted() {
    // 24 lines of set 0 fill the set; the first line is used again, so that another line evicts the second.
    let line = |number: u64| 0x10_0000 + number * 512;
    let fill: Vec<u64> = (0..24).map(line).collect();
    let again =
        |last: u64| texture_counts(&run_program(&textured_machine(), load_chain(&[&fill[..], &[line(0), line(24), last]].concat())));
    assert_eq!(again(line(0)), (2, 25));
    assert_eq!(again(line(1)), (1, 26));
    assert_eq!(again(line(2)), (2, 25));
}

#[test]
fn without_a_texture_cache_textures_go_through_the_l1() {
    let program = |space| {
        let mut program = ProgramBuilder::new(2);
        for warp in 0..2 {
            program.add_access(
                warp,
                memory_inst(MemKind::Load, space, 1, &[]),
                LaneMask::FULL,
                &lane_addresses(0x1_0000 + 64 * warp as u64, 4),
            );
        }
        program.build_with_exit()
    };
    let [texture, global] = [MemSpace::Texture, MemSpace::Global].map(|space| run_program(&test_machine(), program(space)));
    assert_eq!(texture.sent, global.sent);
    assert_eq!(texture.stats(), global.stats());
    assert!(texture.kernel().l1_read_misses > 0 && texture.textures().is_none());
}

#[test]
fn a_kernel_starts_with_an_empty_texture_cache_if_kernels_flush_the_l1() {
    let misses = |flush| {
        let mut machine = textured_machine();
        machine.gpu.sm.l1.flush_at_kernel = flush;
        let kernels = vec![(kernel_info(32, 1), load_chain(&[0x1_0000])), (kernel_info(32, 1), load_chain(&[0x1_0000]))];
        let mut bench = Bench::new(&machine, kernels);
        bench.bind(0, 0);
        bench.finish();
        bench.bind(1, 0);
        bench.finish();
        texture_counts(&bench).1
    };
    assert_eq!((misses(true), misses(false)), (2, 1));
}

/// Returns a program of four warps that load 32 lines each and then use them.
fn wide_program() -> Arc<CtaProgram> {
    let mut program = ProgramBuilder::new(4);
    for warp in 0..4 {
        program.add_access(warp, load(1, &[]), LaneMask::FULL, &lane_addresses(0x10_0000 + 0x1_0000 * warp as u64, 128));
    }
    program.add_to_all(register_inst(OpClass::Sp, 2, &[1]));
    program.build_with_exit()
}

#[test]
fn counts_of_a_full_texture_cache_do_not_depend_on_skipping() {
    let few_credits = |mut machine: Machine| {
        machine.noc.input_queue = 2;
        machine
    };
    for (name, machine) in [
        ("fragments", machine_with_texture_cache(|texture| texture.fragments = 2)),
        ("lines under way", machine_with_texture_cache(|texture| texture.reorder = 3)),
        ("requests", few_credits(machine_with_texture_cache(|texture| texture.requests = 1))),
        ("results", machine_with_texture_cache(|texture| (texture.results, texture.fragments) = (1, 1))),
    ] {
        let run = |skip: bool, epoch: u64| {
            let mut bench = Bench::with_single_cta(&machine, 128, wide_program());
            bench.latency = 40;
            bench = if skip { bench.with_skipping() } else { bench };
            let mut passed = 0;
            while bench.now < Cycle(8000) {
                passed += bench.sm.next_event().min(bench.now.after(epoch)).0 - bench.now.0;
                bench.run(epoch);
            }
            bench.sm.settle(bench.now);
            (bench.sent.clone(), bench.stats().clone(), bench.textures(), passed)
        };
        let (stepped, skipped) = (run(false, 1), run(true, 1));
        assert_eq!((&stepped.0, &stepped.1, &stepped.2), (&skipped.0, &skipped.1, &skipped.2), "{name}");
        let counters = skipped.2.unwrap();
        assert!(counters.texture_full_cycles > 100 && counters.texture_misses == 128, "{name}: {counters:?}");
        assert!(skipped.3 > 4000, "{name}: {} cycles skipped", skipped.3);
    }
}
