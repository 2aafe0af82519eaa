//! Translation of options to keys: the network, the LLC and the DRAM.

use super::super::keys;
use super::super::layout::AddressLayout;
use super::parts::{CACHE_EXPECTED, CacheText, parse_dram_timing};
use super::sheet::Sheet;

pub(super) fn translate(sheet: &mut Sheet) {
    translate_network(sheet);
    translate_map(sheet);
    translate_queues(sheet);
    let (text, comment) = sheet.text("gpgpu_cache:dl2", "S:32:128:24,L:B:m:L:P,A:192:4,32:0,32");
    translate_cache(sheet, "gpgpu_cache:dl2", &text, &comment, "mem.llc");
    translate_dram(sheet);
    translate_dram_times(sheet);
}

fn translate_network(sheet: &mut Sheet) {
    let (mode, comment) = sheet.number("network_mode", 1);
    let limits = [("noc.input_queue", "icnt_in_buffer_limit"), ("noc.output_queue", "icnt_out_buffer_limit")];
    for (key, option) in limits {
        if mode == 2 {
            sheet.copy(key, option, 64);
        } else {
            let _ = sheet.option(option);
            sheet.set(key, 512, format!("chosen: the local crossbar's in newer configurations; {comment} is another network"));
        }
    }
    if mode != 2 {
        sheet.report.warn(format!("{comment}: BookSim is not modelled; the local crossbar of -network_mode 2 is used instead"));
    }
    sheet.set("noc.link_latency", 1, "the cycle order of the reference's local crossbar");
    let (algorithm, comment) = sheet.number("icnt_arbiter_algo", 1);
    match algorithm {
        0 => sheet.set_text("noc.arbiter", "round-robin", comment),
        1 => sheet.set_text("noc.arbiter", "islip", comment),
        _ => sheet.report_invalid("icnt_arbiter_algo", "0 (round robin) or 1 (iSLIP)"),
    }
    sheet.copy("mem.rop_latency", "gpgpu_l2_rop_latency", 85);
    sheet.copy("mem.dram_latency", "dram_latency", 30);
}

fn translate_map(sheet: &mut Sheet) {
    sheet.copy("mem.map.partitions", "gpgpu_n_mem", 8);
    sheet.copy("mem.map.slices_per_partition", "gpgpu_n_sub_partition_per_mchannel", 1);
    const MAPPING: &str = "gpgpu_mem_addr_mapping";
    const EXPECTED: &str = "dramid@BIT;LAYOUT, as in dramid@8;RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS";
    if let Some(given) = sheet.required(MAPPING, "dramid@8;00000000.0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS") {
        let parts = given.value.strip_prefix("dramid@").and_then(|rest| rest.split_once(';'));
        let bit = parts.and_then(|(bit, _)| bit.parse::<u32>().ok()).filter(|bit| (5..32).contains(bit));
        match (bit, parts.map(|(_, layout)| AddressLayout::parse(layout))) {
            (Some(bit), Some(Ok(layout))) => {
                let comment = format!("-{MAPPING} {}", given.value);
                sheet.set_text("mem.map.interleave", &format!("{} B", 1u64 << bit), comment.clone());
                sheet.set_text("mem.map.layout", &layout.text(), comment);
            }
            (_, Some(Err(error))) => sheet.report_rejected(MAPPING, error.hint.as_deref().unwrap_or("the layout cannot be read"), EXPECTED),
            _ => sheet.report_invalid(MAPPING, EXPECTED),
        }
    }
    const INDEXING: &str = "gpgpu_memory_partition_indexing";
    let (indexing, comment) = sheet.number(INDEXING, 0);
    match indexing {
        0 => sheet.set_text("mem.map.hash", "linear", comment),
        1 => sheet.set_text("mem.map.hash", "xor", comment),
        2 => sheet.set_text("mem.map.hash", "ipoly", comment),
        3 | 4 => {
            let what = if indexing == 3 { "page-aware hashing (PAE)" } else { "a random table" };
            sheet.report.warn(format!("{comment}: {what} is not modelled; the polynomial hash is used instead"));
            sheet.set_text("mem.map.hash", "ipoly", comment);
        }
        _ => sheet.report_rejected(
            INDEXING,
            "custom indexing is not modelled",
            "0 (consecutive), 1 (xor), 2 (polynomial), 3 or 4 (both replaced by 2)",
        ),
    }
}

fn translate_queues(sheet: &mut Sheet) {
    let (sizes, comment) = sheet.numbers("gpgpu_dram_partition_queues", ':', 4, "8:8:8:8");
    let keys = ["mem.queues.in_queue", "mem.queues.to_dram", "mem.queues.from_dram", "mem.queues.out_queue"];
    for ((key, size), ordinal) in keys.into_iter().zip(sizes).zip(["first", "second", "third", "fourth"]) {
        sheet.set(key, size, format!("{comment}, {ordinal}"));
    }
}

/// Sets the keys of a cache.
pub(super) fn translate_cache(sheet: &mut Sheet, option: &str, text: &str, comment: &str, table: &str) {
    let cache = match CacheText::parse(text) {
        Ok(cache) if cache.line == 128 => cache,
        Ok(cache) if cache.line == 256 && !cache.sectored && table == "mem.llc" => {
            sheet.set_text("mem.llc.line_bytes", "256 B", comment);
            cache
        }
        Ok(cache) => {
            let expected = "lines of 128 bytes, or of 256 in an L2 without sectors";
            return sheet.report_rejected(option, &format!("lines of {} bytes are not modelled", cache.line), expected);
        }
        Err(why) => return sheet.report_rejected(option, &why, CACHE_EXPECTED),
    };
    if cache.write == "read-only" {
        return sheet.report_rejected(option, "a cache for data cannot be read-only", CACHE_EXPECTED);
    }
    let mut write_miss = cache.write_miss;
    if write_miss == "write-allocate" && table != "mem.llc" {
        write_miss = "fetch-on-write";
        sheet.report.warn(format!(
            "-{option} {text}: W sends the write on and reads the line; fetch-on-write reads the line and writes it back at eviction"
        ));
    }
    let key = |part: &str| keys::find(&format!("{table}.{part}")).map_or("", |key| key.path);
    sheet.set(key("sets"), cache.sets, comment);
    sheet.set(key("ways"), cache.ways, comment);
    sheet.set(key("sectored"), cache.sectored, comment);
    sheet.set_text(key("write"), cache.write, comment);
    sheet.set_text(key("write_miss"), write_miss, comment);
    sheet.set_text(key("allocate"), cache.allocate, comment);
    sheet.set_text(key("index"), cache.index, comment);
    if cache.replacement != "lru" {
        sheet.set_text(key("replacement"), cache.replacement, comment);
    }
    sheet.set(key("mshrs"), cache.mshrs, comment);
    sheet.set(key("mshr_merge"), cache.merge, comment);
    sheet.set(key("miss_queue"), cache.miss_queue, comment);
    let port = if cache.port == 0 { cache.line.min(128) } else { cache.port };
    sheet.set_text(key("port_bytes"), &format!("{port} B"), comment);
}

fn translate_dram(sheet: &mut Sheet) {
    let (width, of_width) = sheet.number("gpgpu_dram_buswidth", 4);
    let (chips, of_chips) = sheet.number("gpgpu_n_mem_per_ctrlr", 1);
    sheet.set_text("mem.dram.bus_bytes", &format!("{} B", width.saturating_mul(chips)), format!("{of_width}, {of_chips}"));
    sheet.copy("mem.dram.burst", "gpgpu_dram_burst_length", 4);
    sheet.copy("mem.dram.beats_per_clock", "dram_data_command_freq_ratio", 2);
    sheet.copy_flag("mem.dram.dual_command_bus", "dram_dual_bus_interface", false);
    sheet.copy_flag("mem.dram.group_low_bits", "dram_bnkgrp_indexing_policy", false);
    let (scheduler, comment) = sheet.number("gpgpu_dram_scheduler", 1);
    match scheduler {
        0 => sheet.set_text("mem.dram.scheduler", "fcfs", comment),
        1 => sheet.set_text("mem.dram.scheduler", "fr-fcfs", comment),
        _ => sheet.report_invalid("gpgpu_dram_scheduler", "0 (first come, first served) or 1 (row hits first)"),
    }
    for (key, option) in
        [("mem.dram.queue", "gpgpu_frfcfs_dram_sched_queue_size"), ("mem.dram.return_queue", "gpgpu_dram_return_queue_size")]
    {
        let (size, comment) = sheet.number(option, 0);
        let unlimited = if size == 0 { ": 0 is unlimited, here the maximum" } else { "" };
        sheet.set(key, if size == 0 { 65535 } else { size }, format!("{comment}{unlimited}"));
    }
}

fn translate_dram_times(sheet: &mut Sheet) {
    const TIMING: &str = "gpgpu_dram_timing_opt";
    const EXPECTED: &str =
        "named values, as in nbk=16:CCD=1:RRD=3:RCD=12:RAS=28:RP=12:RC=40:CL=12:WL=2:CDLR=3:WR=10:nbkgrp=4:CCDL=2:RTPL=3";
    let Some(given) = sheet.required(TIMING, "nbk=16:CCD=1:..") else { return };
    let pairs = match parse_dram_timing(&given.value) {
        Ok(pairs) => pairs,
        Err(why) => return sheet.report_rejected(TIMING, &why, EXPECTED),
    };
    let keys = [
        ("mem.dram.banks", "nbk"),
        ("mem.dram.bank_groups", "nbkgrp"),
        ("mem.dram.timing.tCCD", "CCD"),
        ("mem.dram.timing.tCCDL", "CCDL"),
        ("mem.dram.timing.tRRD", "RRD"),
        ("mem.dram.timing.tRCD", "RCD"),
        ("mem.dram.timing.tRAS", "RAS"),
        ("mem.dram.timing.tRP", "RP"),
        ("mem.dram.timing.tRC", "RC"),
        ("mem.dram.timing.tCL", "CL"),
        ("mem.dram.timing.tWL", "WL"),
        ("mem.dram.timing.tCDLR", "CDLR"),
        ("mem.dram.timing.tWR", "WR"),
        ("mem.dram.timing.tRTPL", "RTPL"),
    ];
    let of = |wanted: &str| pairs.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    // The reference checks tRC, tRAS and tRP separately, so that a bank waits for the longest.
    let row_cycle = match (of("RC"), of("RAS"), of("RP")) {
        // Data sheets round tRC, tRAS and tRP to cycles separately, so tRC may be one cycle less than tRAS + tRP.
        (Some(cycle), Some(open), Some(closes)) if cycle.saturating_add(1) < open.saturating_add(closes) => {
            Some((cycle, open.saturating_add(closes)))
        }
        _ => None,
    };
    for (key, name) in keys {
        if let Some((given, whole)) = row_cycle.filter(|_| name == "RC") {
            sheet.set(key, whole, format!("-{TIMING} RC={given}, below RAS + RP"));
            sheet.report.warn(format!("-{TIMING}: RC={given} is below RAS + RP = {whole}, which is used"));
            continue;
        }
        match pairs.iter().find(|(given, _)| given == name) {
            Some((_, value)) => sheet.set(key, value, format!("-{TIMING} {name}={value}")),
            None => sheet.report_rejected(TIMING, &format!("{name} is missing"), EXPECTED),
        }
    }
    for (name, value) in pairs.iter().filter(|(given, _)| !keys.iter().any(|(_, known)| known == given)) {
        sheet.report.warn(format!("-{TIMING}: {name}={value} has no counterpart here"));
    }
}
