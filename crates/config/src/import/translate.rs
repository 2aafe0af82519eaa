//! Translation of options to keys: the chip, its clocks and the grid scheduler.

use super::super::choices::{Capability, Words as _};
use super::sheet::Sheet;
use super::{memory, sm};

/// Translates all options.
pub(super) fn translate(sheet: &mut Sheet) {
    translate_clocks(sheet);
    translate_chip(sheet);
    sm::translate(sheet);
    memory::translate(sheet);
    translate_energy(sheet);
}

/// Chooses the set of event energies, which Accel-Sim's configurations do not name: GPUs with sector requests (Pascal and later) use
/// Volta's set.
fn translate_energy(sheet: &mut Sheet) {
    let (arch, comment) = sheet.number("gpgpu_coalesce_arch", 13);
    let set = if arch >= 40 { "volta-12nm" } else { "fermi-40nm" };
    sheet.set_text("energy.set", set, format!("chosen: the nearest set to {comment}"));
}

fn translate_clocks(sheet: &mut Sheet) {
    const NAME: &str = "gpgpu_clock_domains";
    let Some(given) = sheet.required(NAME, "1132:1132:1132:850") else { return };
    let parts: Vec<&str> = given.value.split(':').map(str::trim).collect();
    if parts.len() != 4 || parts.iter().any(|part| part.parse::<f64>().is_err()) {
        sheet.report_invalid(NAME, "core:network:L2:DRAM in MHz, as in 1132:1132:1132:850");
        return;
    }
    let keys = ["clocks.core", "clocks.noc", "clocks.llc", "clocks.dram"];
    for ((key, part), ordinal) in keys.into_iter().zip(parts).zip(["first", "second", "third", "fourth"]) {
        let mhz = if part.contains('.') { part.trim_end_matches('0').trim_end_matches('.') } else { part };
        sheet.set_text(key, &format!("{mhz} MHz"), format!("-{NAME} {}, {ordinal}", given.value));
    }
}

/// Translates the compute capability, which the options give as two numbers. The key stays unset if the options do not give it.
fn translate_capability(sheet: &mut Sheet) {
    const MAJOR: &str = "gpgpu_compute_capability_major";
    let (minor, comment) = sheet.number("gpgpu_compute_capability_minor", 0);
    let Some(major) = sheet.option(MAJOR) else { return };
    let text = format!("{}.{minor}", major.value.trim());
    if Capability::WORDS.iter().any(|known| known.name == text) {
        sheet.set_text("gpu.compute_capability", &text, format!("-{MAJOR} {}, {comment}", major.value));
    } else {
        sheet.report.warn(format!("-{MAJOR} {}: compute capability {text} is unknown here ({})", major.value, major.location));
    }
}

fn translate_chip(sheet: &mut Sheet) {
    let (clusters, comment) = sheet.number("gpgpu_n_clusters", 10);
    let (cores, of_cluster) = sheet.number("gpgpu_n_cores_per_cluster", 3);
    translate_capability(sheet);
    sheet.set("gpu.sms", clusters.saturating_mul(cores), format!("{comment}, {of_cluster}"));
    if cores > 1 {
        sheet.report.warn(format!("-gpgpu_n_cores_per_cluster {cores}: here every SM has a private network port"));
    }
    sheet.set("gpu.dispatch.latency", 40, "chosen: the latency of the other links after retiming");
    sheet.set("gpu.dispatch.ahead", 1, "chosen: one CTA bound ahead hides that latency when a CTA ends");
    sheet.copy("gpu.dispatch.launch_latency", "gpgpu_kernel_launch_latency", 0);
    let (share, share_comment) = sheet.flag("gpgpu_concurrent_kernel_sm", false);
    sheet.set("gpu.dispatch.share_sm", share, share_comment);
    let (kernels, comment) = sheet.number("gpgpu_max_concurrent_kernel", 32);
    // Unless SMs may be shared, the trace front end runs one kernel at a time, even with several streams.
    if share {
        sheet.set("gpu.dispatch.max_kernels", kernels, comment);
    } else {
        sheet.set("gpu.dispatch.max_kernels", 1, format!("{comment}, but without -gpgpu_concurrent_kernel_sm traces run kernel by kernel"));
    }
    let (warm, comment) = sheet.flag("gpgpu_perf_sim_memcpy", true);
    sheet.set_text("mem.memcpy_warms_llc", if warm { "low32" } else { "off" }, comment);
    if warm {
        sheet.report.warn("-gpgpu_perf_sim_memcpy 1: copies warm the LLC at the low 32 bits of their addresses, as in the reference, so that data above 4 GiB never hits; mem.memcpy_warms_llc = \"full\" is the behaviour of hardware");
    }
}
