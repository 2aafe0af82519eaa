//! Complete messages for texts that are not a valid machine, as the user sees them.

use insta::assert_snapshot;

use warpshard::config::{Machine, Override};

/// Returns the errors of loading `text` as `mine.toml` with command-line overrides.
pub(super) fn load_errors(text: &str, settings: &[&str]) -> String {
    let settings: Vec<Override> = settings.iter().map(|setting| setting.parse().unwrap()).collect();
    match Machine::from_text_among(warpshard::catalogue().files(), "mine.toml", text, &settings) {
        Ok(_) => panic!("loads, but should not:\n{text}"),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn an_unknown_key_suggests_the_nearest() {
    let text = r#"extends = "v100"
[gpu]
smss = 56
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: unknown key `gpu.smss`
      --> mine.toml:3:1
       | smss = 56
       | ^^^^
       = help: did you mean `gpu.sms`? known keys of [gpu]: compute_capability, sms, dispatch.*, cluster.*, sm.*
    "#);
}

#[test]
fn an_unknown_table_suggests_the_nearest() {
    let text = r#"extends = "v100"
[gpu.smm]
warps = 32
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: unknown table [gpu.smm]
      --> mine.toml:2:6
       | [gpu.smm]
       |      ^^^
       = help: did you mean [gpu.sm]?
    "#);
}

#[test]
fn a_key_in_the_wrong_table_is_found_by_its_name() {
    let text = r#"extends = "v100"
[gpu]
warps = 32
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: unknown key `gpu.warps`
      --> mine.toml:3:1
       | warps = 32
       | ^^^^^
       = help: did you mean `gpu.sm.warps`? known keys of [gpu]: compute_capability, sms, dispatch.*, cluster.*, sm.*
    "#);
}

#[test]
fn a_frequency_needs_its_unit() {
    let text = r#"extends = "v100"
[clocks]
core = 1132
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `clocks.core` is 1132, expected a frequency with its unit (kHz, MHz or GHz), such as "1132 MHz"
      --> mine.toml:3:8
       | core = 1132
       |        ^^^^
       = help: write "1132 MHz"
       = help: `core`: Clock of the SMs and the grid scheduler.
    "#);
}

#[test]
fn a_size_in_decimal_units_is_refused() {
    let text = r#"extends = "v100"
[gpu.sm]
shared_bytes = "64 KB"
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sm.shared_bytes` is "64 KB", expected a size with its unit (B, KiB, MiB or GiB), such as "96 KiB"
      --> mine.toml:3:16
       | shared_bytes = "64 KB"
       |                ^^^^^^^
       = help: write "64 KiB" for 64 times 1024 bytes
       = help: `shared_bytes`: Shared memory that CTAs can use.
    "#);
}

#[test]
fn a_span_in_seconds_is_refused() {
    let text = r#"extends = "v100"
[mem]
rop_latency = "160 ns"
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `mem.rop_latency` is "160 ns", expected cycles of the llc clock, from 0 to 4096
      --> mine.toml:3:15
       | rop_latency = "160 ns"
       |               ^^^^^^^^
       = help: spans are given in cycles of the clock that the key names, not in seconds
       = help: `rop_latency`: Latency of the pipe before the slice's tags: the ROP pipe of the reference.
    "#);
}

#[test]
fn a_percentage_needs_its_sign() {
    let text = r#"extends = "v100"
[gpu.sm.l1]
write_ratio = 25
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sm.l1.write_ratio` is 25, expected a percentage from 0 to 100, such as "25 %"
      --> mine.toml:3:15
       | write_ratio = 25
       |               ^^
       = help: write "25 %"
       = help: `write_ratio`: Share of lines that may be dirty or partially written before writes evict instead of allocating.
    "#);
}

#[test]
fn a_word_out_of_the_list_suggests_the_nearest() {
    let text = r#"extends = "v100"
[gpu.sm]
order = "gtoo"
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sm.order` is "gtoo", expected one of "lrr", "gto", "oldest", "gty", "kernel-gto", "phase", "two-level-lrr", "two-level-oldest", "two-level-phase", "own"
      --> mine.toml:3:9
       | order = "gtoo"
       |         ^^^^^^
       = help: did you mean "gto"?
       = help: `order`: Scheduling order of warps.
    "#);
}

#[test]
fn a_count_in_quotes_is_refused() {
    let text = r#"extends = "v100"
[gpu]
sms = "56"
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sms` is "56", expected a whole number from 1 to 4096
      --> mine.toml:3:7
       | sms = "56"
       |       ^^^^
       = help: write 56 without quotes
       = help: `sms`: Number of SMs.
    "#);
}

#[test]
fn a_count_outside_its_range_is_refused() {
    let text = r#"extends = "v100"
[gpu.sm]
warps = 65
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sm.warps` is 65, expected a whole number from 1 to 64
      --> mine.toml:3:9
       | warps = 65
       |         ^^
       = help: `warps`: Warp slots.
    "#);
}

#[test]
fn a_latency_of_zero_on_a_link_is_refused() {
    let text = r#"extends = "v100"
[gpu.dispatch]
latency = 0
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.dispatch.latency` is 0, expected cycles of the core clock, from 1 to 4096
      --> mine.toml:3:11
       | latency = 0
       |           ^
       = help: `latency`: Latency of the links between the grid scheduler and the SMs, each way.
    "#);
}

#[test]
fn a_queue_without_slots_is_refused() {
    let text = r#"extends = "v100"
[noc]
input_queue = 0
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `noc.input_queue` is 0, expected a whole number from 1 to 16384
      --> mine.toml:3:15
       | input_queue = 0
       |               ^
       = help: `input_queue`: Capacity of an input queue of a subnet, in packets.
    "#);
}

#[test]
fn a_negative_count_is_refused() {
    let text = r#"extends = "v100"
[gpu]
sms = -1
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sms` is -1, expected a whole number from 1 to 4096
      --> mine.toml:3:7
       | sms = -1
       |       ^^
       = help: `sms`: Number of SMs.
    "#);
}

#[test]
fn a_flag_in_quotes_is_refused() {
    let text = r#"extends = "v100"
[gpu.sm]
dual_issue_distinct = "true"
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sm.dual_issue_distinct` is "true", expected true or false
      --> mine.toml:3:23
       | dual_issue_distinct = "true"
       |                       ^^^^^^
       = help: write true without quotes
       = help: `dual_issue_distinct`: True if two instructions issued in one cycle must use different kinds of units.
    "#);
}

#[test]
fn a_list_names_its_wrong_item() {
    let text = r#"extends = "v100"
[gpu.sm.l1.unified]
shared_options = ["0 B", 8]
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sm.l1.unified.shared_options` is ["0 B", 8], expected a list of sizes up to 16 MiB, such as ["0 B", "64 KiB"]
      --> mine.toml:3:18
       | shared_options = ["0 B", 8]
       |                  ^^^^^^^^^^
       = help: write "8 B" or "8 KiB"
       = help: `shared_options`: Possible sizes of shared memory, ascending.
    "#);
}

#[test]
fn a_table_is_not_a_value() {
    let text = r#"extends = "v100"
gpu = 80
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu` is a table of keys, not a value
      --> mine.toml:2:1
       | gpu = 80
       | ^^^
       = help: its keys: compute_capability, sms, dispatch.*, cluster.*, sm.*
    "#);
}

#[test]
fn a_broken_layout_names_the_bit() {
    let text = r#"extends = "v100"
[mem.map]
layout = "RRRRXBBBCSS"
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `mem.map.layout` is "RRRRXBBBCSS", expected the address bits, highest first, as R (row), B (bank), C (column) and S (byte of a burst), such as "RRRR.RBBBCCCB.CCCSSSSS"
      --> mine.toml:3:10
       | layout = "RRRRXBBBCSS"
       |          ^^^^^^^^^^^^^
       = help: bit 6 is `X`
       = help: `layout`: Bits of an address without its partition bits: row, bank, column and byte of a burst; the lowest bank bits also select the slice.
    "#);
}

#[test]
fn text_that_is_not_toml_is_shown_where_it_breaks() {
    let text = r#"extends = "v100"
[gpu
sms = 56
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: not valid TOML: unclosed table, expected `]`
      --> mine.toml:2:5
       | [gpu
       |     ^
    "#);
}

#[test]
fn a_key_given_twice_is_refused() {
    let text = r#"extends = "v100"
[gpu]
sms = 56
sms = 57
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: not valid TOML: duplicate key
      --> mine.toml:4:1
       | sms = 57
       | ^^^
    "#);
}

#[test]
fn an_unknown_base_lists_the_known_machines() {
    let text = r#"extends = "v10"
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: unknown machine "v10"
      --> mine.toml:1:11
       | extends = "v10"
       |           ^^^^^
       = help: did you mean "v100"?
       = help: built-in machines: v100, v100-hw, rtx2060, rtx3070, p100, k20x, gtx480, m2090, tiny, v100x2, dgx1-v100, chiplet2, v100-p100, h100, a100, rtx3080, fermi24, fermi15-preempt, hetero, hetero-2, hetero-6, hetero-small, fermi15, m2090-v31, fermi32, k20x-l1; a file is given by a path with a `/` or ending in `.toml`
    "#);
}

#[test]
fn a_missing_base_file_is_named() {
    let text = r#"extends = "no/such.toml"
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: cannot read the machine file `no/such.toml`: there is no such file
      --> mine.toml:1:11
       | extends = "no/such.toml"
       |           ^^^^^^^^^^^^^^
    "#);
}

#[test]
fn clocks_without_a_common_tick_are_refused() {
    let text = r#"extends = "v100"
[clocks]
core = "1132.001 MHz"
noc = "999.983 MHz"
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: the clocks 1132.001 MHz, 999.983 MHz, 1132 MHz, 850 MHz have no common base tick of a femtosecond or more
      --> mine.toml:3:8
       | core = "1132.001 MHz"
       |        ^^^^^^^^^^^^^^
       = help: time is an integer count of a tick that divides every period; use frequencies with a larger common divisor, such as whole MHz
       = note: `clocks.noc` = "999.983 MHz" comes from mine.toml:4
       = note: `clocks.llc` = "1132 MHz" comes from v100 (built in):15
       = note: `clocks.dram` = "850 MHz" comes from v100 (built in):16
    "#);
}

#[test]
fn a_stopped_clock_is_refused() {
    let text = r#"extends = "v100"
[clocks]
dram = "0 MHz"
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `clocks.dram` is "0 MHz", expected a frequency from 10 MHz to 10000 MHz, such as "1132 MHz"
      --> mine.toml:3:8
       | dram = "0 MHz"
       |        ^^^^^^^
       = help: `dram`: Clock of DRAM commands.
    "#);
}

#[test]
fn more_threads_than_warps_hold_are_refused() {
    let text = r#"extends = "v100"
[gpu.sm]
warps = 32
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sm.max_threads` is 2048, expected at most 1024: 32 warps of 32 threads
      --> mine.toml:3:9
       | warps = 32
       |         ^^
       = help: raise `gpu.sm.warps` to 64 or lower the threads
       = note: `gpu.sm.max_threads` = 2048 comes from v100 (built in):32
    "#);
}

#[test]
fn sub_cores_need_equal_shares() {
    let text = r#"extends = "v100"
[gpu.sm.units]
sfu = 3
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sm.units.sfu` is 3, expected a multiple of `gpu.sm.schedulers`, 4
      --> mine.toml:3:7
       | sfu = 3
       |       ^
       = help: with style = "sub-cores" every scheduler owns the same share; style = "shared" shares them all
       = note: `gpu.sm.schedulers` = 4 comes from v100 (built in):38
       = note: `gpu.sm.style` = "sub-cores" comes from v100 (built in):37
    "#);
}

#[test]
fn sets_are_a_power_of_two() {
    let text = r#"extends = "v100"
[mem.llc]
sets = 48
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `mem.llc.sets` is 48, expected a power of two
      --> mine.toml:3:8
       | sets = 48
       |        ^^
       = help: an address picks its set by its bits; the nearest are 32 and 64
    "#);
}

#[test]
fn the_fermi_hash_has_its_sizes() {
    let text = r#"extends = "v100"
[gpu.sm.l1.cache]
index = "fermi"
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sm.l1.cache.index` is "fermi" with 4 sets, expected 32 to 64 sets
      --> mine.toml:3:9
       | index = "fermi"
       |         ^^^^^^^
       = help: the hash is defined for these; set `gpu.sm.l1.cache.sets` so, or index = "linear"
       = note: `gpu.sm.l1.cache.sets` = 4 comes from v100 (built in):111
    "#);
}

#[test]
fn choices_of_shared_memory_ascend() {
    let text = r#"extends = "v100"
[gpu.sm.l1.unified]
shared_options = ["0 B", "96 KiB", "64 KiB"]
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sm.l1.unified.shared_options` is [0 B, 96 KiB, 64 KiB], expected at least one size, in ascending order
      --> mine.toml:3:18
       | shared_options = ["0 B", "96 KiB", "64 KiB"]
       |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^
       = help: a kernel gets the first size that suffices
    "#);
}

#[test]
fn a_choice_must_fit_the_largest_cta() {
    let text = r#"extends = "v100"
[gpu.sm.l1.unified]
shared_options = ["0 B", "64 KiB"]
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sm.l1.unified.shared_options` ends at 64 KiB, expected at least `gpu.sm.shared_bytes`, 96 KiB
      --> mine.toml:3:18
       | shared_options = ["0 B", "64 KiB"]
       |                  ^^^^^^^^^^^^^^^^^
       = help: otherwise no size holds CTAs that fill the shared memory
       = note: `gpu.sm.shared_bytes` = "96 KiB" comes from v100 (built in):35
    "#);
}

#[test]
fn the_layout_fits_the_banks() {
    let text = r#"extends = "v100"
[mem.dram]
banks = 8
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `mem.map.layout` has 4 bank bits (B), expected 3 for 8 banks
      --> mine.toml:3:9
       | banks = 8
       |         ^
       = help: 2 to the number of B must be `mem.dram.banks`
       = note: `mem.map.layout` = "RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS" comes from v100 (built in):143
    "#);
}

#[test]
fn the_layout_fits_the_burst() {
    let text = r#"extends = "v100"
[mem.dram]
burst = 4
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `mem.map.layout` has 5 burst bits (S), 32 B, expected bursts of 64 B
      --> mine.toml:3:9
       | burst = 4
       |         ^
       = help: a burst is `mem.dram.bus_bytes` times `mem.dram.burst`: 16 x 4; the bits hold one burst or several
       = note: `mem.map.layout` = "RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS" comes from v100 (built in):143
       = note: `mem.dram.bus_bytes` = "16 B" comes from v100 (built in):171
    "#);
}

#[test]
fn dram_timings_fit_each_other() {
    let text = r#"extends = "v100"
[mem.dram.timing]
tRAS = 30
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `mem.dram.timing.tRC` is 40, expected at least tRAS + tRP = 42
      --> mine.toml:3:8
       | tRAS = 30
       |        ^^
       = help: a bank is open for tRAS and closes for tRP before it opens again
       = note: `mem.dram.timing.tRC` = 40 comes from v100 (built in):186
       = note: `mem.dram.timing.tRP` = 12 comes from v100 (built in):185
    "#);
}

#[test]
fn an_override_of_an_unknown_key_suggests_the_nearest() {
    let text = r#"extends = "v100"
"#;
    assert_snapshot!(load_errors(text, &["gpu.smss=56"]), @r#"
    error: unknown key `gpu.smss`
      --> the command line
       | --set gpu.smss=56
       |       ^^^^^^^^
       = help: did you mean `gpu.sms`? known keys of [gpu]: compute_capability, sms, dispatch.*, cluster.*, sm.*
    "#);
}

#[test]
fn an_override_with_a_wrong_value_shows_the_command_line() {
    let text = r#"extends = "v100"
"#;
    assert_snapshot!(load_errors(text, &["gpu.sm.order=random"]), @r#"
    error: `gpu.sm.order` is random, expected one of "lrr", "gto", "oldest", "gty", "kernel-gto", "phase", "two-level-lrr", "two-level-oldest", "two-level-phase", "own"
      --> the command line
       | --set gpu.sm.order=random
       |                    ^^^^^^
       = help: `order`: Scheduling order of warps.
    "#);
}

#[test]
fn an_override_can_break_a_rule_between_keys() {
    let text = r#"extends = "v100"
"#;
    assert_snapshot!(load_errors(text, &["gpu.sm.warps=32"]), @r#"
    error: `gpu.sm.max_threads` is 2048, expected at most 1024: 32 warps of 32 threads
      --> the command line
       | --set gpu.sm.warps=32
       |                    ^^
       = help: raise `gpu.sm.warps` to 64 or lower the threads
       = note: `gpu.sm.max_threads` = 2048 comes from v100 (built in):32
    "#);
}

#[test]
fn several_problems_are_reported_together() {
    let text = r#"extends = "v100"
[gpu]
sms = 0
[clocks]
core = "fast"
nocc = "1 MHz"
"#;
    assert_snapshot!(load_errors(text, &["noc.arbiter=fair"]), @r#"
    error: unknown key `clocks.nocc`
      --> mine.toml:6:1
       | nocc = "1 MHz"
       | ^^^^
       = help: did you mean `clocks.noc`? known keys of [clocks]: core, noc, llc, dram, tensor_load

    error: `clocks.core` is "fast", expected a frequency with its unit (kHz, MHz or GHz), such as "1132 MHz"
      --> mine.toml:5:8
       | core = "fast"
       |        ^^^^^^
       = help: `core`: Clock of the SMs and the grid scheduler.

    error: `gpu.sms` is 0, expected a whole number from 1 to 4096
      --> mine.toml:3:7
       | sms = 0
       |       ^
       = help: `sms`: Number of SMs.

    error: `noc.arbiter` is fair, expected one of "round-robin", "islip", "age", "own"
      --> the command line
       | --set noc.arbiter=fair
       |                   ^^^^
       = help: `arbiter`: Arbitration policy of the outputs of a `fifo` crossbar.
    "#);
}

#[test]
fn a_table_that_is_switched_on_needs_its_keys() {
    let text = r#"extends = "m2090"
[gpu.sm.l1.unified]
adaptive = true
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: missing keys in [gpu.sm.l1.unified]: total_bytes, shared_options
      --> mine.toml
       = help: extends = "v100" takes missing values from another machine
    "#);
}

#[test]
fn one_missing_key_is_explained() {
    let text = r#"extends = "m2090"
[gpu.sm.l1.unified]
adaptive = true
total_bytes = "64 KiB"
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: missing key `gpu.sm.l1.unified.shared_options`
      --> mine.toml
       = help: `shared_options`: Possible sizes of shared memory, ascending. It takes a list of sizes up to 16 MiB, such as ["0 B", "64 KiB"]
       = help: extends = "v100" takes missing values from another machine
    "#);
}

#[test]
fn a_base_that_is_not_a_string_is_refused() {
    let text = r#"extends = 100
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `extends` is 100, expected a string in quotes
      --> mine.toml:1:11
       | extends = 100
       |           ^^^
    "#);
}

#[test]
fn registers_come_in_whole_allocations() {
    let text = r#"extends = "v100"
[gpu.sm]
registers = 65000
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sm.registers` is 65000, expected a multiple of `gpu.sm.register_granularity`, 256
      --> mine.toml:3:13
       | registers = 65000
       |             ^^^^^
       = help: the remainder could never be allocated
       = note: `gpu.sm.register_granularity` = 256 comes from v100 (built in):34
    "#);
}

#[test]
fn the_l1_beside_shared_memory_has_a_whole_number_of_ways() {
    let text = r#"extends = "v100"
[gpu.sm.l1.unified]
total_bytes = "100000 B"
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: 100000 B of the unified memory is not a whole number of ways
      --> mine.toml:3:15
       | total_bytes = "100000 B"
       |               ^^^^^^^^^^
       = help: a way of the L1 is 4 sets of 128 B, 512 B
       = note: `gpu.sm.l1.cache.sets` = 4 comes from v100 (built in):111
    "#);
}

#[test]
fn a_write_ratio_that_would_deadlock_a_set_is_refused() {
    assert_snapshot!(load_errors("extends = \"tiny\"", &["gpu.sm.l1.write_ratio=100 %"]), @"
    error: `gpu.sm.l1.write_ratio` is 100 % of a cache of 4 sets, expected at most 25 %
      --> the command line
       | --set gpu.sm.l1.write_ratio=100 %
       |                             ^^^^^
       = help: written lines are kept until they make up this share of the whole cache; a set that fills with them before that could never take another line
       = note: `gpu.sm.l1.cache.sets` = 4 comes from tiny (built in):105
    ");
}
