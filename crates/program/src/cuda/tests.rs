//! Tests of the separation of host code from device code, and of the remedies in error messages.

use super::*;

fn device_code(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.cu");
    fs::write(&path, text).unwrap();
    let sources = Sources::read(&[path], &[], &[]).unwrap();
    String::from_utf8(sources.files[0].device_code()).unwrap()
}

fn kept_lines(text: &str) -> Vec<String> {
    device_code(text).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn host_functions_are_blanked_and_lines_stay() {
    let text = "#include <stdio.h>\n__device__ int f(int x) { return x; } // } {\nint main(int argc, char **argv) {\n  /* } */ k<<<1, 2>>>(\"}\", '}');\n#ifdef X\n  return 1;\n#endif\n}\n\
                template <typename T> __global__ void k(T *x) { *x = f(1); }\n";
    let code = device_code(text);
    assert_eq!(code.lines().count(), text.lines().count());
    assert!(code.contains("__device__ int f") && code.contains("__global__ void k(T *x)"), "{code}");
    assert!(!code.contains("main") && !code.contains("return 1") && code.contains("#ifdef X"), "{code}");
}

#[test]
fn declarations_that_are_no_host_functions_stay() {
    for text in [
        "struct P { int n; __device__ P(int n) : n(n), m{1} {} int m; };",
        "constexpr int g(int x) { return x; }",
        "#define DEV __device__ __forceinline__\nDEV float h(float x) { return x; }",
        "namespace a::b { static const int N = 4; typedef void (*F)(int); using G = int; }",
        "extern \"C\" __global__ void __launch_bounds__(256) k(int n) {}",
        "__constant__ float table[] = { 1, 2 };",
        "template <> struct Of<float> { static constexpr int n = 4; };",
    ] {
        assert_eq!(kept_lines(text), text.split_whitespace().collect::<Vec<_>>(), "{text}");
    }
    for text in
        ["float *make(size_t n) { return new float[n]; }", "struct S { S(); void f(); };", "namespace { void g(std::vector<int> x = {}); }"]
    {
        assert!(
            !device_code(text).contains("f()") && !device_code(text).contains("make") && !device_code(text).contains('g'),
            "{}",
            device_code(text)
        );
    }
}

#[test]
fn branches_whose_brackets_do_not_match_are_one_function() {
    let text = "#if A\nvoid f(int x) {\n#else\nvoid f() {\n#endif\n}\n__global__ void k() {}\n";
    assert_eq!(kept_lines(text), ["#if", "A", "#else", "#endif", "__global__", "void", "k()", "{}"]);
}

#[test]
fn kernels_have_their_names_templates_and_parameters() {
    let source = "namespace n { template <typename T, int N> __global__ void __launch_bounds__(N) f(const T *__restrict__ x, unsigned int n, float (&a)[4] = b) {} }\n\
                  __global__ void g(void); void h() { n::f<float, 4><<<1, 2>>>(0, 1); }";
    let parsed = parse(source, &[]);
    let [f, g] = parsed.kernels.as_slice() else { panic!("{:?}", parsed.kernels) };
    assert_eq!((f.name.as_str(), f.template.as_deref(), f.line), ("n::f", Some("typename T, int N"), 1));
    let names: Vec<_> = f.parameters.iter().map(|parameter| (parameter.name.as_str(), parameter.kind.as_str())).collect();
    assert_eq!(names[..2], [("x", "const T*"), ("n", "unsigned int")]);
    assert_eq!((g.name.as_str(), g.parameters.len()), ("g", 0));
    assert_eq!(parsed.launched, ["f<float, 4>"]);
}

#[test]
fn declarations_rejected_by_nvrtc_are_removed_unless_device_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.cu");
    fs::write(&path, "#error no\nstd::vector<int> x;\n__device__ foo y;\nstruct Z {\n std::string s;\n};\n").unwrap();
    let mut sources = Sources::read(std::slice::from_ref(&path), &[], &[]).unwrap();
    let log = [
        (1, "catastrophic error: #error directive: no"),
        (2, "error: name must be a namespace"),
        (3, "error: identifier \"foo\""),
        (5, "error: what"),
    ];
    let log: Vec<String> = log.iter().map(|(line, what)| format!("{}({line}): {what}", path.display())).collect();
    assert_eq!(sources.remove_host_code(&log.join("\n")), 3);
    let code = String::from_utf8(sources.files[0].device_code()).unwrap();
    assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["__device__", "foo", "y;", "struct", "Z", "{", "};"]);
    assert_eq!(sources.notes().len(), 3);
    // The second call reaches the declaration around the removed one.
    assert_eq!([sources.remove_host_code(&log.join("\n")), sources.remove_host_code(&log.join("\n"))], [1, 0]);
}

#[test]
fn missing_headers_name_their_package() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.cu");
    fs::write(&path, "#include <cub/cub.cuh>\n#include \"mine.h\"\n__global__ void k() {}\n").unwrap();
    let sources = Sources::read(&[path], &[], &[]).unwrap();
    let notes = sources.missing_headers().join("\n");
    assert!(notes.contains(":1: header cub/cub.cuh") && notes.contains("nvidia-cuda-cccl-cu12"), "{notes}");
    assert!(notes.contains(":2: header mine.h") && notes.contains("-I"), "{notes}");
}

#[test]
fn a_launch_has_every_argument_or_says_which_are_missing() {
    let source = Path::new("k.cu");
    let parsed = parse("__global__ void f(float *x, const int *__restrict__ i, int n, float a, cudaTextureObject_t t) {}", &[]);
    let kernel = &parsed.kernels[0];
    let made = |arguments: &[(&str, &str)], fill| {
        let arguments = arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let launching =
            LaunchOptions { grid: vec!["(n + 255) / 256".into()], block: vec!["256".into()], arguments, fill, ..LaunchOptions::default() };
        launch_file(source, (kernel, "_Z1f"), (Path::new("k.sass"), "sm_90a"), &launching).map_err(|error| error.to_string())
    };
    let text = made(&[("x", "f32[n]:uniform=-1..1"), ("i", "i32[n]"), ("n", "64"), ("a", "2"), ("t", "tex[8, n]")], None).unwrap();
    for part in
        ["modules = { sm_90 = \"k.sass\" }", "low = -1.0, high = 1.0", "arguments = [\"&x\", \"&i\", 64, 2.0, \"&t\"]", "size = [8, \"n\"]"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(made(&[], Some(8)).unwrap().contains("count = 512"));
    let text = made(&[("t", "[&y, 4, &y + 8]"), ("y", "f32[4]:zero")], Some(8)).unwrap();
    assert!(text.contains("\"y\" = { type = \"f32\", count = 4") && text.contains("[\"&y\", 4, \"&y + 8\"]"), "{text}");
    let error = made(&[("x", "f32[4]")], None).unwrap_err();
    assert!(error.contains("lacks 4") && error.contains("--arg n=4096 (int)") && error.contains("--arg t=tex[64,64]"), "{error}");
    for (argument, wanted) in [
        (("y", "f32[4]"), "no parameter `y`"),
        (("x", "f32[4"), "no `]`"),
        (("x", "f32[4]:often"), "expected uniform"),
        (("x", "f32[4]:uniform=1"), "a range"),
    ] {
        let error = made(&[argument], Some(8)).unwrap_err();
        assert!(error.contains(wanted), "{wanted}: {error}");
    }
}

#[test]
fn the_whole_library_and_number_types_of_pytorch_come_before_sources_that_need_them() {
    let folder = tempfile::tempdir().unwrap();
    let (path, packages, made) = (folder.path().join("k.cu"), folder.path().join("packages"), folder.path().join("made"));
    fs::create_dir_all(packages.join("cuda/std")).unwrap();
    fs::write(packages.join("cuda/std/type_traits"), "").unwrap();
    fs::write(&path, "#include <c10/util/Half.h>\n#include <algorithm>\n__global__ void k(c10::Half *x) {}\n").unwrap();
    let sources = Sources::read(&[path], &[], &[packages]).unwrap();
    let main = sources.write(&made).unwrap();
    let read = |name: &str| fs::read_to_string(made.join(name)).unwrap();
    assert!(!fs::read_to_string(&main).unwrap().contains(CPP_HEADER_NAME));
    assert!(read("0.h").contains("#include <warpshard_torch.h>\n#include <algorithm>"), "{}", read("0.h"));
    assert!(read("include/warpshard_torch.h").contains("struct alignas(2) Half"));
    assert!(read("include/algorithm").contains("#else\n#include <cuda/std/algorithm>"), "{}", read("include/algorithm"));
    let main = sources.with_whole_library().write(&made).unwrap();
    assert!(fs::read_to_string(main).unwrap().starts_with("#include <warpshard_cpp.h>\n"));
}

#[test]
fn an_entry_is_found_or_the_kernels_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.cu");
    fs::write(&path, "template <class T> __global__ void f(T x) {}\n__global__ void g() {}\nvoid h() { f<int><<<1, 1>>>(1); }\n").unwrap();
    let sources = Sources::read(&[path], &[], &[]).unwrap();
    let found = |entry: Option<&str>| sources.entry(entry).map(|(_, name)| name).map_err(|error| error.to_string());
    assert_eq!(found(Some("f<int>")).as_deref(), Ok("f<int>"));
    assert_eq!(found(Some("g")).as_deref(), Ok("g"));
    for (entry, wanted) in
        [(None, "several kernels"), (Some("f"), "such as f<int>, which the host code launches"), (Some("k"), "no kernel `k`")]
    {
        assert!(found(entry).unwrap_err().contains(wanted), "{entry:?}: {:?}", found(entry));
    }
}
