//! Accepted text that no tracer writes: spacing, comments, old layouts, line endings, addresses in any mode.

use std::fmt::Write;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

use warpshard::trace::{TraceOptions, load};

use super::common::{decompress_file, round_trip, to_native_file, to_text_files, workload_instructions};

fn trace_header(version: &str, ctas: u32, lineinfo: u32) -> String {
    format!(
        "-kernel name = odd\n-kernel id = 7\n-grid dim = ({ctas},1,1)\n-block dim = (64,1,1)\n-shmem = 64\n-nregs = 16\n\
         -binary version = 80\n-cuda stream id = 3\n-shmem base_addr = 0x00007f0000000000\n\
         -local mem base_addr = 0x00007f0002000000\n-nvbit version = 1.7.4\n-accelsim tracer version = {version}\n\
         -enable lineinfo = {lineinfo}\n-something else = 12 34\n\n#traces format = ...\n\n"
    )
}

/// Converts a kernel's text as a single file to native and back, and compares the executed instructions.
fn assert_round_trip(text: &[u8]) {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("kernel-1.traceg");
    std::fs::write(&path, text).unwrap();
    round_trip(&path, scratch.path());
    let of = |path: &Path| workload_instructions(&load(path, &TraceOptions::default()).unwrap());
    assert!(of(&path) == of(&scratch.path().join("one.wst")));
}

#[test]
fn comments_blanks_dos_lines_and_forks_suffixes_survive() {
    let mut text = trace_header("5", 3, 0);
    for cta in 0..3 {
        text += &format!(" \n# a remark\n  #BEGIN_TB  \n\n\n\tthread  block = {cta},0,0\n", cta = cta * 7)
            .replace("thread  block", "thread block");
        text += "warp = 1 \n\n insts = 5\n";
        text += "0000 ffffffff 1 R1 MOV 0 0 0 \r\n";
        text += "  0010  0000000F  1 R8 LDG.E.64  1 R4 8   2  0x100 8  8 16 77 \n\n";
        text += "0x0020 5 1 R9 LDG.E 1 R4 4 0 0X100 0x7f0000000100 0 trailing words that are long and vary 12345\n";
        text += "0080 00000011 0 STS 2 R2 R9 4 1 0x10 +4 0\n".replace('+', "").as_str();
        text += "0090 ffffffff 0 EXIT 0 0 0\n# not at the end of a warp\n".replace("# not at the end of a warp\n", "").as_str();
        text += "\t\nwarp=0\ninsts   =   1\n0090 ffffffff 0 EXIT 0 0 0 #END_TB";
        text = text.replace("0 #END_TB", "0 \n#END_TB");
    }
    assert_round_trip(text.as_bytes());
    assert_round_trip(format!("{text}\n\n  \n\t\n").as_bytes());
    assert_round_trip(text.replace('\n', "\r\n").as_bytes());
}

#[test]
fn old_tracers_coordinates_and_line_numbers_survive() {
    for (version, lineinfo, lead) in [("1.2", 0, "X 0 0 W "), ("2", 1, "X 0 0 W 12 "), ("3", 1, "77 "), ("1", 0, "9 9 9 9 ")] {
        let mut text = trace_header(version, 4, lineinfo);
        for cta in 0..4 {
            text += &format!("#BEGIN_TB\n\nthread block = {cta},0,0\n\n");
            for warp in 0..2 {
                let lead = lead.replace('X', &cta.to_string()).replace('W', &warp.to_string());
                text += &format!("warp = {warp}\ninsts = 2\n{lead}0000 ffffffff 1 R1 LDG.E 1 R4 4 1 {:#018x} 4 \n", 0x1000 * (cta + warp));
                text += &format!("{lead}0010 ffffffff 0 EXIT 0 0 \n\n");
            }
            text += "#END_TB\n\n";
        }
        assert_round_trip(text.as_bytes());
    }
}

#[test]
fn a_list_with_remarks_copies_and_the_same_kernel_twice_survives() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("trace");
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    let body = "#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = 1\n0000 ffffffff 0 EXIT 0 0 0 \n\n#END_TB\n\n";
    let kernel = trace_header("5", 1, 0) + body;
    let list = "MemcpyHtoD,0x100,64\n\nkernel-1.traceg\nsome other line\r\nsub/kernel-2.traceg\nkernel-1.traceg\nMemcpyHtoD,0x200,8,file";
    std::fs::write(folder.join("kernelslist.g"), list).unwrap();
    std::fs::write(folder.join("kernel-1.traceg"), &kernel).unwrap();
    std::fs::write(folder.join("sub/kernel-2.traceg"), kernel.replace("odd", "even")).unwrap();
    let (native, text) = (scratch.path().join("a.wst"), scratch.path().join("text"));
    let done = to_native_file(&folder, &native, false);
    assert_eq!(done.kernels, 2);
    to_text_files(&native, &text, false);
    for file in ["kernelslist.g", "kernel-1.traceg", "sub/kernel-2.traceg"] {
        assert_eq!(decompress_file(&text.join(file)), decompress_file(&folder.join(file)), "{file}");
    }
    let (one, two) = (load(&folder, &TraceOptions::default()).unwrap(), load(&native, &TraceOptions::default()).unwrap());
    assert_eq!((one.kernels.len(), &one.commands, &one.notes), (3, &two.commands, &two.notes));
    assert!(workload_instructions(&one) == workload_instructions(&two));
}

/// Generates an instruction line of tracer version 5 in an accepted spelling.
fn instruction_line() -> impl Strategy<Value = String> {
    let mask =
        prop_oneof![Just(u32::MAX), any::<u32>(), Just(0), (0..32u32).prop_map(|lane| 1 << lane), (1..32u32).prop_map(|n| (1 << n) - 1)];
    let opcode = prop_oneof![
        Just(("LDG.E", 4)),
        Just(("STG.E.64", 8)),
        Just(("LDS", 4)),
        Just(("IMAD", 0)),
        Just(("DEPBAR.LE", 0)),
        Just(("NOP", 0))
    ];
    let numbers = vec(prop_oneof![any::<u64>(), 0..4096u64, (0..32u64).prop_map(|n| 0x7f00_0000_0000 + 4 * n)], 32);
    let spelling = (0..3u8, any::<bool>(), any::<bool>(), prop_oneof![Just(" "), Just("  "), Just("\t")]);
    (0..40u32, mask, opcode, numbers, any::<i64>(), spelling, "[ 0-9A-Za-z]{0,40}").prop_map(
        |(pc, mask, (opcode, width), numbers, stride, (mode, padded, small, gap), rest)| {
            let mut line = format!("{:04x}{gap}{mask:08x} 1 R{} {opcode} 1 R4{gap}{width} ", 16 * pc, pc % 9);
            let address = |value: u64| if padded { format!("{value:#018x}") } else { format!("{value:#x}") };
            let lanes = mask.count_ones() as usize;
            let step = |value: u64| if small { value as i64 % 64 } else { (value as i64).wrapping_shr(1) };
            if width > 0 {
                let numbers = &numbers[..lanes.max(1)];
                let _ = write!(line, "{mode} ");
                let _ = match mode {
                    0 => numbers.iter().try_for_each(|&number| write!(line, "{} ", address(number))),
                    1 => write!(line, "{} {} ", address(numbers[0]), if small { stride % 64 } else { stride >> 1 }),
                    _ => write!(line, "{} ", address(numbers[0]))
                        .and_then(|()| numbers[1..].iter().try_for_each(|&number| write!(line, "{} ", step(number)))),
                };
            }
            line + "0 " + &rest
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn random_instructions_masks_and_addresses_survive(warps in vec(vec(instruction_line(), 0..12), 1..7), again in any::<bool>()) {
        let ctas = warps.len().div_ceil(2) * if again { 2 } else { 1 };
        let mut text = trace_header("5", ctas as u32, 0);
        for (cta, pair) in warps.chunks(2).chain(warps.chunks(2)).take(ctas).enumerate() {
            let _ = write!(text, "#BEGIN_TB\n\nthread block = {cta},0,0\n\n");
            for (number, lines) in pair.iter().enumerate() {
                let _ = write!(text, "warp = {number}\ninsts = {}\n{}\n\n", lines.len(), lines.join("\n"));
            }
            text += "#END_TB\n\n";
        }
        assert_round_trip(text.as_bytes());
    }
}
