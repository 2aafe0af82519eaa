//! Launch files and listings from the command line: results of `check`, and streams.

use std::path::Path;

use super::{data, ok, program, simulated, warpshard};

/// Returns the message with which `check` refuses a file.
fn refusal_message(file: &Path) -> String {
    let done = warpshard(&["check", file.to_str().unwrap()]);
    let message = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(4), "{message}");
    message
}

#[test]
fn check_recognises_launch_files_and_listings() {
    let said = ok(&["check", &program("bfs"), &data("textures.toml"), &data("tensor.sm_80.sass")]);
    for words in [
        "a program: bfs for sm_70, sm_80, ",
        "a program: textures for sm_70, sm_80, sm_90, 4 launches, 9 buffers of ",
        "a listing for sm_80: ",
    ] {
        assert!(said.contains(words), "`{words}` is missing in\n{said}");
    }
}

#[test]
fn check_counts_the_opcodes_of_a_listing_that_cannot_be_executed() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(data("textures.sm_70.sass")).unwrap();
    let made = text.replace("TLD4.SCR.R", "TMML.SCR").replace("I2F R", "I2F.RX R");
    let file = folder.path().join("odd.sass");
    std::fs::write(&file, &made).unwrap();
    let message = refusal_message(&file);
    for words in ["4 kernels", "refused: TMML.SCR (1 times", "the opcode is not implemented", "refused: I2F.RX (", "modifier `.RX`"] {
        assert!(message.contains(words), "`{words}` is missing in\n{message}");
    }
}

#[test]
fn errors_in_launch_files_are_reported_with_file_line_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let source = std::fs::read_to_string(data("textures.toml")).unwrap();
    for arch in ["sm_70", "sm_80", "sm_90"] {
        let listing = format!("textures.{arch}.sass");
        std::fs::copy(data(&listing), folder.path().join(&listing)).unwrap();
    }
    let file = folder.path().join("textures.toml");
    let cases: &[(&str, &str, &[&str])] = &[
        ("[buffers]", "[bufers]", &[":8:", "unknown field `bufers`", "did you mean `buffers`?"]),
        ("type = \"u8\"", "type = \"byte\"", &[":9:", "unknown variant `byte`", "`u8`"]),
        ("formula = \"10 - i\"", "formla = \"10 - i\"", &[":10:", "did you mean `formula`?"]),
        ("\"w * h\"", "\"w * hh\"", &[":11:", "count of buffer `image`: no parameter is called `hh`", "w, h", "did you mean `h`?"]),
        ("buffer = \"words\"", "buffer = \"word\"", &[":21:", "texture `of_words`: there is no buffer `word`", "did you mean `words`?"]),
        ("size = [64]", "size = [65]", &[":20:", "texture `of_bytes` is larger than buffer `bytes`", "at most 64 bytes"]),
        ("outside = \"wrap\", normalized = true", "outside = \"wrap\"", &[":24:", "normalized = true"]),
        ("outside = \"mirror\"", "outside = \"miror\"", &[":25:", "did you mean `mirror`?"]),
        ("layered = true", "layered = 1", &[":26:", "expected a boolean"]),
        ("channels = 4", "channels = 3", &[":21:", "1, 2 or 4"]),
        ("channels = 4", "channels = 4, filter = \"linear\"", &[":21:", "texture `of_words` filters integers", "fractions = true"]),
        ("kernel = \"fetch\"", "kernel = \"fech\"", &[":32:", "no kernel `fech`", "did you mean `fetch`?"]),
        ("grid = [2]", "grid = [2, 0]", &[":33:", "grid is out of range", "1 to 65535"]),
        ("block = [32]", "block = []", &[":34:", "block has 0 dimensions"]),
        ("\"&fetched\"", "\"&fetchd\"", &[":35:", "argument 2 of kernel fetch", "`fetchd`", "did you mean `fetched`?"]),
        ("\"&of_words\", \"&fetched\"", "\"&fetched\"", &[":35:", "kernel fetch takes 3 arguments", "2 arguments"]),
        (
            "[\"&clamped\", \"&in_layers\"]",
            "[\"&clamped\", \"&in_layers\", 1]",
            &[":47:", "argument 0 of kernel layers is too long", "16 bytes"],
        ),
        ("[\"&clamped\", \"&in_layers\"]", "7", &[":47:", "argument 0 of kernel layers has 16 bytes", "a list of the values"]),
        ("buffer = \"pairs\"\n", "buffer = \"pairs\"\ncrc32 = \"xyz\"\n", &["crc32 of output `pairs`", "found: xyz"]),
        ("buffer = \"pairs\"\n", "buffer = \"pairs\"\ntolerance = { absolute = 1 }\n", &["no expected contents"]),
        ("buffer = \"pairs\"\n", "buffer = \"paris\"\n", &["there is no buffer `paris`", "did you mean `pairs`?"]),
        ("kernel = \"fetch\"", "kernel = \"fetch\"\nstream = -1", &[":33:", "a stream is a number from 0 on"]),
        ("sm_80 = \"textures.sm_80.sass\"", "sm_80 = \"textures.sm_90.sass\"", &[":2:", "another architecture", "sm_90"]),
        ("sm_80 =", "volta =", &[":2:", "a module has no architecture", "volta"]),
        ("h = 4", "h = 4.5", &[":6:", "expected i64"]),
        (
            "contents = { formula = \"i\" }",
            "contents = { file = \"gone.bin\" }",
            &["buffer `image` cannot be made", "gone.bin: No such file"],
        ),
        (
            "contents = { formula = \"i\" }",
            "contents = { integer = { low = 2, high = 1, seed = 1 } }",
            &["buffer `image` cannot be made", "lowest integer"],
        ),
    ];
    for (from, to, words) in cases {
        assert!(source.contains(from), "{from}");
        std::fs::write(&file, source.replacen(from, to, 1)).unwrap();
        let message = refusal_message(&file);
        for word in *words {
            assert!(message.contains(word), "`{word}` is missing for `{to}` in\n{message}");
        }
    }
}

/// Launches of two streams: the trace names them, and the run of the program equals the run of its trace for any number of threads.
#[test]
fn launches_of_several_streams_run_in_parallel() {
    let folder = tempfile::tempdir().unwrap();
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let text = std::fs::read_to_string(programs.join("saxpy.toml")).unwrap();
    let listing = programs.join("saxpy.sm_70.sass").display().to_string();
    let (head, launch) = text.split_once("[[launches]]").unwrap();
    let (launch, outputs) = launch.split_once("[[outputs]]").unwrap();
    let head = head.replace("\"saxpy.sm_70.sass\"", &format!("{listing:?}")).replace(", sm_80 = \"saxpy.sm_80.sass\"", "");
    let head = head.replace("name = \"saxpy\"", "name = \"two\"") + "z = { type = \"f32\", count = \"n\", contents = { constant = 1 } }\n";
    let other = launch.replace("\"&y\"", "\"&z\"");
    let text = format!("{head}\n[[launches]]\nstream = 1\n{launch}\n[[launches]]\nstream = \"1 + 1\"\n{other}\n[[outputs]]{outputs}");
    let file = folder.path().join("two.toml");
    std::fs::write(&file, &text).unwrap();
    let file = file.to_str().unwrap();
    ok(&["exec", file]);
    let trace = folder.path().join("two");
    ok(&["record", file, "--out", trace.to_str().unwrap()]);
    for (kernel, stream) in [(1, 1), (2, 2)] {
        let text = std::fs::read_to_string(trace.join(format!("kernel-{kernel}.traceg"))).unwrap();
        assert!(text.contains(&format!("-cuda stream id = {stream}\n")), "kernel {kernel}");
    }
    let trace = trace.to_str().unwrap();
    let (own, kernels) = run(&["--program", file, "--threads", "1"], folder.path());
    assert_eq!(own, run(&["--program", file, "--threads", "2"], folder.path()).0);
    assert_eq!(own, run(&["--trace", trace, "--threads", "1"], folder.path()).0);
    assert!(kernels[1].0 < kernels[0].1, "the second launch begins before the first ends: {kernels:?}");

    // The second stream waits for an event of the first.
    let ordered = text.replacen("stream = 1\n", "stream = 1\nrecord = \"done\"\n", 1);
    let ordered = ordered.replacen("stream = \"1 + 1\"\n", "stream = \"1 + 1\"\nwait = [\"done\"]\n", 1);
    std::fs::write(file, &ordered).unwrap();
    let traced = folder.path().join("ordered").join("two");
    ok(&["record", file, "--out", traced.to_str().unwrap()]);
    assert!(std::fs::read_to_string(traced.join("kernel-2.traceg")).unwrap().contains("-after kernels = 1\n"));
    let (own, kernels) = run(&["--program", file, "--threads", "2"], folder.path());
    assert!(kernels[1].0 >= kernels[0].1, "the second launch waits for the end of the first: {kernels:?}");
    let traced = traced.to_str().unwrap();
    assert_eq!(own, run(&["--trace", traced, "--threads", "1"], folder.path()).0);
    // A list without the awaited kernel is refused.
    let list = Path::new(traced).join("kernelslist.g");
    let lines = std::fs::read_to_string(&list).unwrap().replace("kernel-1.traceg\n", "");
    std::fs::write(&list, lines).unwrap();
    let done = warpshard(&["check", traced]);
    let message = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && message.contains("waits for a kernel that is not launched before it"), "{message}");

    for (from, to, expected) in [
        ("wait = [\"done\"]", "wait = [\"don\"]", "waits for event `don`, which no earlier launch records"),
        ("record = \"done\"\n", "wait = [\"done\"]\n", "waits for event `done`, which no earlier launch records"),
        ("record = \"done\"\n", "record = \"done\"\nsetup = true\n", "a launch of the setup records or awaits an event"),
    ] {
        std::fs::write(file, ordered.replacen(from, to, 1)).unwrap();
        let message = refusal_message(Path::new(file));
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

/// Returns all results of a run on the smallest machine, and the first and last cycle of each kernel.
fn run(arguments: &[&str], folder: &Path) -> (String, Vec<(u64, u64)>) {
    let out = folder.join("out");
    let out_text = out.to_str().unwrap().to_owned();
    ok(&[&["run", "--machine", "tiny", "--set", "gpu.dispatch.max_kernels=4", "--force", "--out", &out_text], arguments].concat());
    let stats: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(out.join("stats.json")).unwrap()).unwrap();
    let cycle = |kernel: &serde_json::Value, key: &str| kernel[key].as_u64().unwrap();
    let kernels = stats["kernels"].as_array().unwrap().iter().map(|kernel| (cycle(kernel, "started"), cycle(kernel, "ended"))).collect();
    (simulated(&out), kernels)
}

/// Executes a kernel of a listing of the test data on 32 threads with two buffers of inputs, and returns its output.
fn execute_kernel(listing: &str, arch: u32, kernel: &str, inputs: &[(&str, String)], arguments: &str, count: usize) -> Vec<u32> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.toml");
    let mut text = format!("modules = {{ sm_{arch} = {:?} }}\n[buffers]\n", data(&format!("{listing}.sm_{arch}.sass")));
    for (name, row) in inputs {
        text += &format!("{name} = {row}\n");
    }
    text += &format!(
        "o = {{ type = \"u32\", count = {count} }}\n[[launches]]\nkernel = \"{kernel}\"\ngrid = [1]\nblock = [32]\narguments = {arguments}\n"
    );
    std::fs::write(&file, text + &format!("[[outputs]]\nbuffer = \"o\"\nshow = {count}\n")).unwrap();
    let shown = ok(&["exec", file.to_str().unwrap()]);
    let numbers = shown.lines().skip_while(|line| !line.starts_with("o: ")).nth(1).unwrap();
    numbers.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

#[test]
fn match_finds_lanes_with_equal_64_bit_values() {
    let value = |lane: u64| lane % 5 + ((lane / 16) << 40);
    let mask = |lane: u64| (0..32).filter(|other| value(*other) == value(lane)).fold(0_u32, |mask, other| mask | 1 << other);
    let row = "{ type = \"u64\", count = 32, contents = { formula = \"i % 5 + ((i / 16) << 40)\" } }".to_owned();
    for arch in [70, 80, 90] {
        let found = execute_kernel("match64", arch, "same", &[("a", row.clone())], "[\"&a\", \"&o\"]", 32);
        assert_eq!(found, (0..32).map(mask).collect::<Vec<_>>(), "sm_{arch}");
    }
}

#[test]
fn an_add_and_min_max_with_relu_is_one_instruction_on_hopper() {
    let (a, b) = (|i: i64| i * 3 - 40, |i: i64| 10 - i);
    let row = |formula: &str| format!("{{ type = \"i32\", count = 32, contents = {{ formula = \"{formula}\" }} }}");
    let inputs = [("a", row("i * 3 - 40")), ("b", row("10 - i"))];
    let found = execute_kernel("relu", 90, "relu", &inputs, "[\"&a\", \"&b\", \"&o\"]", 64);
    let highest = (0..32).map(|i| (a(i) - 5).max(b(i)).max(0) as u32);
    let lowest = (0..32).map(|i| (a(i) - 5).min(b(i)).max(0) as u32);
    assert_eq!(found, highest.chain(lowest).collect::<Vec<_>>());
    assert!(std::fs::read_to_string(data("relu.sm_90.sass")).unwrap().contains("VIADDMNMX.RELU"));
}
