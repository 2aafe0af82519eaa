//! Launch files and listings that contradict themselves are refused with file, line and reason, before anything runs.

use std::path::{Path, PathBuf};

use super::warpshard;

/// Returns a listing of the kernel `k` with one parameter of 8 bytes, preceded by `before`. A line of `code` may contain its encoded words;
/// otherwise default words are appended.
fn listing_text(before: &str, facts: &str, code: &[&str]) -> String {
    let mut text = format!("warpshard listing 1\narch sm_70\n{before}kernel k\n{facts}parameters 0x160 8 0:8\ncode\n");
    for (number, line) in code.iter().enumerate() {
        let words = if line.contains(';') { "" } else { " ; 0000000000000000 000fe20000000f00" };
        text += &format!("{:04x}: {line}{words}\n", 16 * number);
    }
    text + "end\n"
}

const LISTING_FACTS: &str = "registers 32\nshared 0\nlocal 0\nbarriers 1\n";

const LAUNCH_FILE: &str = "modules = { sm_70 = \"k.sass\" }\nlimit = 1000000\n[buffers]\nx = { type = \"u32\", count = 1024, contents = { constant = 0 } }\n\
    [[launches]]\nkernel = \"k\"\ngrid = [1]\nblock = [64]\narguments = [\"&x\"]\n";

fn write_program(folder: &Path, listing: &str, launch: &str) -> PathBuf {
    std::fs::write(folder.join("k.sass"), listing).unwrap();
    let file = folder.join("l.toml");
    std::fs::write(&file, launch).unwrap();
    file
}

/// Returns the message with which `exec` refuses a program.
fn refusal_message(listing: &str, launch: &str, options: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = write_program(folder.path(), listing, launch);
    let done = warpshard(&[&["exec", file.to_str().unwrap()], options].concat());
    let message = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(4), "{message}\n{listing}");
    message
}

#[test]
fn listings_that_contradict_themselves_are_refused_with_their_line() {
    let address = ["MOV R2, c[0x0][0x160]", "MOV R3, c[0x0][0x164]"];
    let with = |more: &[&'static str]| [&address, more, &["EXIT"]].concat();
    let plain = |code: &[&str]| listing_text("", LISTING_FACTS, code);
    let small = listing_text("", "registers 8\nshared 0\nlocal 0\n", &["MOV R200, 0x1", "EXIT"]);
    let twice = plain(&["EXIT"]) + &plain(&["EXIT"]).lines().skip(2).collect::<Vec<_>>().join("\n") + "\n";
    // Listings, each with the expected line number and parts of the message.
    let cases: [(String, &[&str]); 14] = [
        (listing_text("address 3 0 nog\n", LISTING_FACTS, &["EXIT"]), &["k.sass:3:", "a variable that is not in the listing", "nog"]),
        (plain(&["BAR.SYNC 0x0, 0x21", "EXIT"]), &["k.sass:10:", "cannot wait for 33 threads", "BAR.SYNC"]),
        (plain(&["BAR.SYNC 0x10", "EXIT"]), &["k.sass:10:", "no barrier 16", "0 to 15"]),
        (plain(&["BRA ->0x8", "EXIT"]), &["k.sass:10:", "no instruction at 0x8"]),
        (plain(&["BRA ->0x20", "EXIT"]), &["k.sass:10:", "no instruction at 0x20", "below 0x20"]),
        (plain(&["MOV R1, -0x80000001", "EXIT"]), &["k.sass:10:", "-2147483649 does not fit 32 bits"]),
        (twice, &["k.sass:12:", "two kernels with the same name", "kernel k"]),
        (plain(&with(&["LDG.E.128.SYS R253, [R2]"])), &["k.sass:12:", "R253 cannot begin an access of 4 registers"]),
        (plain(&with(&["LDG.E.128.SYS R32, [R2]"])), &["k.sass:12:", "R35 is beyond the registers of the kernel", "R0 to R31"]),
        (plain(&with(&["LDG.E.SYS R4, [R40]"])), &["k.sass:12:", "R40 is beyond the registers"]),
        (small, &["k.sass:9:", "R200 is beyond the registers of the kernel", "R0 to R7"]),
        (
            plain(&["MOV R1, R2 ; 0000000200027202 000fe40000000f00", "EXIT"]),
            &["k.sass:10:", "destinations of the encoded words", "register 1"],
        ),
        (
            plain(&["@P0 MOV R2, R2 ; 0000000200027202 000fe40000000f00", "EXIT"]),
            &["k.sass:10:", "guards of the encoded words", "the guard P0"],
        ),
        (
            plain(&["IADD3 R2, R2, R2, RZ ; 0000000200027202 000fe40000000f00", "EXIT"]),
            &["k.sass:10:", "opcodes of the encoded words", "IADD3"],
        ),
    ];
    for (text, words) in &cases {
        let message = refusal_message(text, LAUNCH_FILE, &[]);
        for word in *words {
            assert!(message.contains(word), "`{word}` is missing in\n{message}\n{text}");
        }
    }
    // The same instruction with its correct words is accepted.
    let folder = tempfile::tempdir().unwrap();
    let right = plain(&["MOV R2, R2 ; 0000000200027202 000fe40000000f00", "EXIT ; 000000000000794d 000fea0003800000"]);
    let done = warpshard(&["exec", write_program(folder.path(), &right, LAUNCH_FILE).to_str().unwrap()]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn errors_that_depend_on_values_are_found_during_execution() {
    let local = listing_text("", "registers 32\nshared 0\nlocal 16\n", &["STL [R1+0x100], R4", "EXIT"]);
    let message = refusal_message(&local, LAUNCH_FILE, &["--check"]);
    assert!(message.contains("beyond the 16 bytes of the local memory") && message.contains("k.sass:9:"), "{message}");
    for (code, words) in [(["MOV R4, 0x10", "BAR.SYNC R4"], "barrier 16"), (["MOV R4, 0x21", "BAR.SYNC 0x0, R4"], "for 33 threads")] {
        let message = refusal_message(&listing_text("", LISTING_FACTS, &[code[0], code[1], "EXIT"]), LAUNCH_FILE, &[]);
        assert!(message.contains(words) && message.contains("does not exist") && message.contains("k.sass:11:"), "{message}");
    }
}

#[test]
fn launch_files_that_contradict_themselves_are_refused_with_their_line() {
    let text = listing_text("", LISTING_FACTS, &["EXIT"]);
    let constant = "contents = { constant = 0 }";
    let launch = "kernel = \"k\"\n";
    let cases: [(&str, &str, &[&str]); 8] = [
        (
            constant,
            "contents = { constant = 0 }, address = 139637976727552",
            &["l.toml:4:", "overlaps the windows of generic accesses to shared"],
        ),
        (constant, "contents = { constant = 0 }, address = 139637976725504", &["l.toml:4:", "where the buffer also ends"]),
        (constant, "contents = { uniform = { low = 2.0, high = 1.0, seed = 1 } }", &["l.toml:4:", "lowest number is 2 and the highest 1"]),
        (constant, "contents = { normal = { mean = 0.0, deviation = -1.0, seed = 1 } }", &["l.toml:4:", "deviation -1"]),
        (constant, "contents = { integer = { low = 2, high = 1, seed = 1 } }", &["l.toml:4:", "lowest integer is 2"]),
        (launch, "kernel = \"k\"\nrepeat = -1\n", &["l.toml:7:", "negative number of times", "found: -1"]),
        (launch, "kernel = \"k\"\nrepeat = \"n - 3\"\n", &["l.toml:7:", "negative number of times", "found: -1"]),
        (launch, "kernel = \"k\"\nrepeat = 2\nindex = \"n\"\n", &["l.toml:8:", "hides a parameter", "found: n"]),
    ];
    for (from, to, words) in cases {
        let mut changed = LAUNCH_FILE.replacen(from, to, 1);
        let mut lines = 0;
        if changed.contains("\"n") {
            (changed, lines) = (format!("parameters = {{ n = 2 }}\n{changed}"), 1);
        }
        let message = refusal_message(&text, &changed, &[]);
        for word in words {
            let word = match word.strip_prefix("l.toml:").and_then(|rest| rest.trim_end_matches(':').parse::<usize>().ok()) {
                Some(line) => format!("l.toml:{}:", line + lines),
                None => (*word).to_owned(),
            };
            assert!(message.contains(&word), "`{word}` is missing for `{to}` in\n{message}");
        }
    }
}
