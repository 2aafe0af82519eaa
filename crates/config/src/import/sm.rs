//! Translation of options to keys: the SM.

use super::parts::{CACHE_EXPECTED, CacheText, parse_specialized};
use super::sheet::Sheet;

pub(super) fn translate(sheet: &mut Sheet) {
    translate_resources(sheet);
    translate_schedulers(sheet);
    translate_fetch(sheet);
    translate_collectors(sheet);
    translate_units(sheet);
    translate_timing(sheet);
    translate_data_memories(sheet);
    translate_l1(sheet);
}

fn translate_resources(sheet: &mut Sheet) {
    const PIPELINE: &str = "gpgpu_shader_core_pipeline";
    let (pipeline, comment) = sheet.numbers(PIPELINE, ':', 2, "1024:32");
    if pipeline[1] != 32 {
        sheet.report_rejected(PIPELINE, "warps of other than 32 threads are not modelled", "threads:32, as in 2048:32");
    }
    sheet.set("gpu.sm.warps", pipeline[0] / 32, comment.clone());
    sheet.set("gpu.sm.max_threads", pipeline[0], comment);
    sheet.copy("gpu.sm.max_ctas", "gpgpu_shader_cta", 32);
    sheet.copy("gpu.sm.registers", "gpgpu_shader_registers", 8192);
    sheet.set("gpu.sm.register_granularity", 128, "the reference rounds the registers of a thread up to a multiple of 4");
    let (shared, comment) = sheet.number("gpgpu_shmem_size", 16384);
    sheet.set_text("gpu.sm.shared_bytes", &format!("{shared} B"), comment);
    sheet.set_text("gpu.sm.shared_granularity", "1 B", "the reference does not round shared memory");
}

fn translate_schedulers(sheet: &mut Sheet) {
    let (sub_cores, comment) = sheet.flag("gpgpu_sub_core_model", false);
    sheet.set_text("gpu.sm.style", if sub_cores { "sub-cores" } else { "shared" }, comment);
    sheet.copy("gpu.sm.schedulers", "gpgpu_num_sched_per_core", 1);
    let (order, comment) = sheet.text("gpgpu_scheduler", "gto");
    match order.as_str() {
        "lrr" | "gto" => sheet.set_text("gpu.sm.order", &order, comment),
        _ => sheet.report_rejected("gpgpu_scheduler", &format!("the scheduler `{order}` is not modelled"), "lrr or gto"),
    }
    sheet.copy("gpu.sm.issue_width", "gpgpu_max_insn_issue_per_warp", 2);
    sheet.copy_flag("gpu.sm.dual_issue_distinct", "gpgpu_dual_issue_diff_exec_units", true);
    const WIDTHS: &str = "gpgpu_pipeline_widths";
    let (widths, comment) = sheet.numbers(WIDTHS, ',', 9, "1,1,1,1,1,1,1,1,1,1,1,1,1");
    // Configurations of GPUs without INT units have nine widths.
    let (index, ordinal) = if widths.len() >= 11 { (10, "the eleventh") } else { (8, "the ninth") };
    sheet.set("gpu.sm.result_buses", widths[index], format!("{comment}, {ordinal}: EX_WB"));
}

fn translate_fetch(sheet: &mut Sheet) {
    sheet.set("gpu.sm.fetch.buffer", 2, "IBUFFER_SIZE 2, a constant of the reference");
    sheet.copy("gpu.sm.fetch.warps_per_cycle", "gpgpu_inst_fetch_throughput", 1);
    let (perfect, comment) = sheet.flag("gpgpu_perfect_inst_const_cache", false);
    let (rop, _) = sheet.number("gpgpu_l2_rop_latency", 85);
    let caches = [
        (
            "gpgpu_cache:il1",
            "4:256:4",
            "gpu.sm.fetch.icache.perfect",
            ["gpu.sm.fetch.icache.sets", "gpu.sm.fetch.icache.ways", "gpu.sm.fetch.icache.line_bytes", "gpu.sm.fetch.icache.miss_latency"],
        ),
        (
            "gpgpu_const_cache:l1",
            "64:64:2",
            "gpu.sm.fetch.ccache.perfect",
            ["gpu.sm.fetch.ccache.sets", "gpu.sm.fetch.ccache.ways", "gpu.sm.fetch.ccache.line_bytes", "gpu.sm.fetch.ccache.miss_latency"],
        ),
    ];
    for (option, default, key, [sets, ways, line, miss]) in caches {
        sheet.set(key, perfect, comment.clone());
        let (text, of_cache) = sheet.text(option, &format!("N:{default},L:R:f:N:L,S:2:32,4"));
        if perfect {
            continue;
        }
        match CacheText::parse(&text) {
            Ok(cache) => {
                sheet.set(sets, cache.sets, of_cache.clone());
                sheet.set(ways, cache.ways, of_cache.clone());
                sheet.set_text(line, &format!("{} B", cache.line), of_cache);
                sheet.set(miss, rop + 12, "chosen: the latency of an LLC hit, the latency of the ROP pipe plus 12 cycles");
            }
            Err(why) => sheet.report_rejected(option, &why, CACHE_EXPECTED),
        }
    }
}

fn translate_collectors(sheet: &mut Sheet) {
    // Kind of unit, collector units and ports: the defaults of the reference.
    const KINDS: [(&str, u64, u64); 7] =
        [("sp", 4, 1), ("dp", 0, 0), ("sfu", 4, 1), ("int", 0, 0), ("tensor_core", 4, 1), ("mem", 2, 1), ("gen", 0, 0)];
    let (specialised, comment) = sheet.flag("gpgpu_enable_specialized_operand_collector", true);
    let (mut units, mut ports, mut from) = (0, 0, Vec::new());
    for (kind, default_units, default_ports) in KINDS {
        let names = ["units", "in_ports", "out_ports"].map(|part| format!("gpgpu_operand_collector_num_{part}_{kind}"));
        let (of_kind, _) = sheet.number(&names[0], default_units);
        let (ins, _) = sheet.number(&names[1], default_ports);
        let (outs, _) = sheet.number(&names[2], default_ports);
        // No traced instruction uses the collectors of matrix units.
        if kind != "gen" && !specialised || kind == "tensor_core" {
            continue;
        }
        if of_kind > 0 {
            units += of_kind;
            ports += ins;
            from.push(format!("{kind} {of_kind}"));
            if ins != outs {
                sheet.report.warn(format!(
                    "-{} {ins} and ..._out_ports_{kind} {outs}: here the collectors have as many output ports as input ports",
                    names[1]
                ));
            }
        }
    }
    if specialised {
        sheet.report.warn("-gpgpu_enable_specialized_operand_collector 1: here all kinds of units share one pool of collectors");
    }
    let list = from.join(", ");
    sheet.set("gpu.sm.operands.collectors", units, format!("-gpgpu_operand_collector_num_units_*: {list}; {comment}"));
    sheet.set("gpu.sm.operands.ports", ports, "-gpgpu_operand_collector_num_in_ports_*, of the same kinds");
    sheet.copy("gpu.sm.operands.banks", "gpgpu_num_reg_banks", 8);
    sheet.copy("gpu.sm.operands.bank_ports", "gpgpu_reg_file_port_throughput", 1);
}

fn translate_units(sheet: &mut Sheet) {
    sheet.copy("gpu.sm.units.sp", "gpgpu_num_sp_units", 1);
    sheet.copy("gpu.sm.units.int", "gpgpu_num_int_units", 0);
    sheet.copy("gpu.sm.units.sfu", "gpgpu_num_sfu_units", 1);
    sheet.copy("gpu.sm.units.dp", "gpgpu_num_dp_units", 0);
    // The reference's opcode tables name specialised units by number.
    let kinds = ["gpu.sm.units.branch", "gpu.sm.units.texture", "gpu.sm.units.tensor", "gpu.sm.units.uniform"];
    for (number, key) in (1..).zip(kinds) {
        let name = format!("specialized_unit_{number}");
        match sheet.option(&name) {
            None => sheet.set(key, 0, format!("no -{name}")),
            Some(given) => match parse_specialized(&given.value) {
                Ok(units) => sheet.set(key, units, format!("-{name} {}", given.value)),
                Err(why) => sheet.report_rejected(&name, &why, "enabled,units,latency,widths,name, as in 1,4,200,4,4,TEX"),
            },
        }
    }
    for number in 5..=8 {
        for name in [format!("specialized_unit_{number}"), format!("trace_opcode_latency_initiation_spec_op_{number}")] {
            if let Some(given) = sheet.option(&name)
                && !given.value.starts_with('0')
            {
                sheet.report.warn(format!("-{name} {} ({}): no opcode uses it, it is ignored", given.value, given.location));
            }
        }
    }
}

fn translate_timing(sheet: &mut Sheet) {
    const PREFIX: &str = "trace_opcode_latency_initiation_";
    let classes = [
        ("gpu.sm.timing.sp", "sp", "4,1"),
        ("gpu.sm.timing.int", "int", "4,1"),
        ("gpu.sm.timing.alu", "int", "4,1"),
        ("gpu.sm.timing.sfu", "sfu", "4,1"),
        ("gpu.sm.timing.dp", "dp", "4,1"),
        ("gpu.sm.timing.branch", "spec_op_1", ""),
        ("gpu.sm.timing.texture", "spec_op_2", ""),
        ("gpu.sm.timing.tensor", "spec_op_3", ""),
        ("gpu.sm.timing.uniform", "spec_op_4", ""),
    ];
    let mut int = (4, 1);
    for (table, option, default) in classes {
        let name = format!("{PREFIX}{option}");
        let (latency, initiation, comment) = if default.is_empty() && sheet.option(&name).is_none() {
            (int.0, int.1, format!("as int: no -{name}"))
        } else {
            let default = if default.is_empty() { "4,4" } else { default };
            let (numbers, comment) = sheet.numbers(&name, ',', 2, default);
            (numbers[0], numbers[1], comment)
        };
        if option == "int" {
            int = (latency, initiation);
        }
        set_timing(sheet, table, latency, initiation, &comment);
    }
    for table in ["gpu.sm.timing.load", "gpu.sm.timing.store", "gpu.sm.timing.fence", "gpu.sm.timing.barrier", "gpu.sm.timing.exit"] {
        set_timing(sheet, table, 1, 1, "1,1 in the trace-driven front end");
    }
}

fn set_timing(sheet: &mut Sheet, table: &str, latency: u64, initiation: u64, comment: &str) {
    let key = |part: &str| super::super::keys::find(&format!("{table}.{part}")).map_or("", |key| key.path);
    sheet.set(key("latency"), latency, comment);
    sheet.set(key("initiation"), initiation, comment);
}

fn translate_data_memories(sheet: &mut Sheet) {
    sheet.copy("gpu.sm.shared.banks", "gpgpu_shmem_num_banks", 16);
    sheet.copy("gpu.sm.shared.latency", "gpgpu_smem_latency", 3);
    let (arch, comment) = sheet.number("gpgpu_coalesce_arch", 13);
    sheet.set("gpu.sm.lsu.sector_requests", arch >= 40, comment);
    sheet.copy("gpu.sm.lsu.response_queue", "gpgpu_n_ldst_response_buffer_size", 2);
    sheet.copy("gpu.sm.lsu.ejection_queue", "gpgpu_n_cluster_ejection_buffer_size", 8);
}

fn translate_l1(sheet: &mut Sheet) {
    const CACHE: &str = "gpgpu_cache:dl1";
    sheet.copy("gpu.sm.l1.banks", "gpgpu_l1_banks", 1);
    sheet.copy("gpu.sm.l1.latency", "gpgpu_l1_latency", 1);
    let (ratio, comment) = sheet.number("gpgpu_l1_cache_write_ratio", 0);
    sheet.set_text("gpu.sm.l1.write_ratio", &format!("{ratio} %"), comment);
    sheet.copy_flag("gpu.sm.l1.flush_at_kernel", "gpgpu_flush_l1_cache", false);
    let (skip, comment) = sheet.flag("gpgpu_gmem_skip_L1D", false);
    let (text, of_cache) = sheet.text(CACHE, "none");
    let present = !skip && text != "none";
    sheet.set("gpu.sm.l1.cache.present", present, comment.clone());
    if skip {
        sheet.report.warn(format!("{comment}: local memory also bypasses the L1"));
    }
    if present {
        super::memory::translate_cache(sheet, CACHE, &text, &of_cache, "gpu.sm.l1.cache");
    }
    let (adaptive, comment) = sheet.flag("gpgpu_adaptive_cache_config", false);
    sheet.set("gpu.sm.l1.unified.adaptive", adaptive, comment);
    let (total, total_comment) = sheet.number("gpgpu_unified_l1d_size", 0);
    let (options, options_comment) = sheet.numbers("gpgpu_shmem_option", ',', 1, "0");
    if adaptive {
        sheet.set_text("gpu.sm.l1.unified.total_bytes", &format!("{total} KiB"), total_comment);
        let sizes: Vec<String> = options.iter().map(|kib| format!("\"{kib} KiB\"")).map(|s| s.replace("\"0 KiB\"", "\"0 B\"")).collect();
        sheet.set("gpu.sm.l1.unified.shared_options", format!("[{}]", sizes.join(", ")), options_comment);
    }
}
