//! Messages of models about invalid input.

use warpshard::base::CtaIndex;
use warpshard::model::Model;
use warpshard::workload::WarpStream;

use super::{model_with_body, parameter_texts};

/// A valid model; each test of a message changes one part of it.
pub(crate) const VALID_MODEL: &str = r#"name = "bad"
[parameters]
n = 1024
[buffers]
a = { elements = "n" }
[[kernel]]
name = "k"
grid = "n / 256"
block = 256
body = [
  { op = "load", dst = "x", buffer = "a", index = "global_thread" },
]
"#;

/// Returns the message of loading the valid model with parts replaced.
fn load_error(replaced: &[(&str, &str)], overrides: &[(&str, i64)]) -> String {
    assert!(Model::from_text("good.toml", VALID_MODEL, 1, &[]).is_ok());
    let mut text = VALID_MODEL.to_owned();
    for (old, new) in replaced {
        assert!(text.contains(old), "{old}");
        text = text.replacen(old, new, 1);
    }
    Model::from_text("bad.toml", &text, 1, &parameter_texts(overrides)).unwrap_err().to_string()
}

#[test]
fn an_unknown_key_names_the_nearest() {
    insta::assert_snapshot!(load_error(&[("grid =", "gird =")], &[]), @r#"
    bad.toml:6: `grid`: a kernel needs this key
      help: add `grid = ...`
    bad.toml:8: `gird`: not a key of a kernel
      allowed: name, launches, grid, block, registers, shared_bytes, stream, shared, local, body
      help: did you mean `grid`?
    
"#);
}

#[test]
fn an_unknown_operation_lists_them() {
    insta::assert_snapshot!(load_error(&[(r#"op = "load", dst"#, r#"op = "ffmma", dst"#)], &[]), @r#"
    bad.toml:11: `op`: not an operation
      given: "ffmma"
      allowed: fadd, fmul, ffma, fmnmx, fsel, fsetp, hadd2, hmul2, hfma2, iadd, imad, imad_wide, imnmx, isetp, lea, lop, shf, popc, mov, sel, prmt, s2r, shfl, vote, i2f, f2i, ldc, nop, mufu, dadd, dmul, dfma, dsetp, hmma, bar, membar, bssy, bra, bsync, load, store, atomic, reduction, exit
      help: did you mean `ffma`?
    
"#);
}

#[test]
fn a_texture_needs_a_buffer() {
    let body = r#"{ op = "load", dst = "x", buffer = "a", index = "global_thread" }"#;
    let texture = r#"{ op = "load", dst = "x", buffer = "t", index = "thread", cache = "texture" }"#;
    insta::assert_snapshot!(load_error(&[("block = 256", "block = 256\nshared = { t = { elements = 256 } }"), (body, texture)], &[]), @r#"
    bad.toml:12: `cache`: a texture is in device memory
      given: "t"
      help: load it from a buffer of the model, or remove `cache`

"#);
}

#[test]
fn a_malformed_formula_is_located() {
    insta::assert_snapshot!(load_error(&[(r#""n / 256""#, r#""n / ""#)], &[]), @r#"
    bad.toml:8: `grid`: the formula ends where a number or a name is expected
      given: n / 
      help: write an integer, or a formula such as "n / 256" over + - * / % and parentheses
    
"#);
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    insta::assert_snapshot!(load_error(&[(r#""global_thread""#, r#""global_tread""#)], &[]), @r#"
    bad.toml:11: `index`: `global_tread` has no value here
      given: global_tread
      allowed: block_x, block_y, block_z, cta, cta_x, cta_y, cta_z, ctas, global_thread, grid_x, grid_y, grid_z, lane, launch, n, thread, thread_x, thread_y, thread_z, threads, warp, warps
      help: did you mean `global_thread`?
    
"#);
}

#[test]
fn an_unknown_buffer_names_the_nearest() {
    insta::assert_snapshot!(load_error(&[(r#"buffer = "a""#, r#"buffer = "b""#)], &[]), @r#"
    bad.toml:11: `buffer`: there is no such buffer
      given: "b"
      allowed: a
      help: declare it under [buffers], or under `shared` of the kernel
    
"#);
}

#[test]
fn an_index_beyond_its_buffer_names_cta_and_warp() {
    insta::assert_snapshot!(load_error(&[(r#""global_thread""#, r#""global_thread + 1""#)], &[]), @r#"
    bad.toml:11: `index`: element 1024 lies outside of the buffer, whose last element for this width is 1023
      given: global_thread + 1
      help: this happens in kernel k (launch 0), cta 3, warp 7
    
"#);
}

#[test]
fn division_by_zero_while_generating_is_reported() {
    insta::assert_snapshot!(load_error(&[(r#""global_thread""#, r#""global_thread % lane""#)], &[]), @r#"
    bad.toml:11: `index`: 0 is divided by zero
      given: global_thread % lane
      help: this happens in kernel k (launch 0), cta 0, warp 0
    
"#);
}

#[test]
fn overflow_is_an_error() {
    insta::assert_snapshot!(load_error(&[(r#"elements = "n""#, r#"elements = "n * 9007199254740993""#)], &[]), @r#"
    bad.toml:5: `elements`: 1024 * 9007199254740993 does not fit 64 bits
      given: n * 9007199254740993
      help: change the formula, or the parameters that determine it
    
"#);
}

#[test]
fn a_block_of_more_than_1024_threads_is_refused() {
    insta::assert_snapshot!(load_error(&[("block = 256", r#"block = [64, "n"]"#)], &[]), @r#"
    bad.toml:9: `block`: too many in all
      given: (64,1024,1)
      allowed: at most 1024 in all
      help: make a dimension smaller
    
"#);
}

#[test]
fn a_value_of_the_wrong_type_is_shown() {
    insta::assert_snapshot!(load_error(&[("block = 256", "block = 2.5")], &[]), @r#"
    bad.toml:9: `block`: an integer or a formula in quotes is expected
      given: 2.5 (a floating-point number)
      help: docs/models.md describes every key
    
"#);
}

#[test]
fn a_missing_key_is_named() {
    insta::assert_snapshot!(load_error(&[(r#"block = 256
"#, "")], &[]), @r#"
    bad.toml:6: `block`: a kernel needs this key
      help: add `block = ...`
    
"#);
}

#[test]
fn an_unknown_parameter_names_the_nearest() {
    insta::assert_snapshot!(load_error(&[], &[("m", 5)]), @r#"
    bad.toml: `m`: the model has no such parameter
      given: 5
      allowed: n
      help: set one of the parameters above
    
"#);
}

#[test]
fn a_broken_requirement_shows_its_parameters() {
    insta::assert_snapshot!(load_error(&[("[parameters]", r#"require = ["n % 256 == 0"]
[parameters]"#)], &[("n", 1000)]), @r#"
    bad.toml:2: `require`: `n % 256 == 0` does not hold
      given: n = 1000
      help: change the parameters so that it holds
    
"#);
}

#[test]
fn a_step_of_two_kinds_is_refused() {
    insta::assert_snapshot!(load_error(&[(r#"{ op = "load","#, r#"{ op = "load", loop = "i","#)], &[]), @r#"
    bad.toml:11: `op`: a step has exactly one of the leading keys
      allowed: op, loop, if, let, use
      help: see "Steps" in docs/models.md
    
"#);
}

#[test]
fn a_register_index_must_be_known() {
    insta::assert_snapshot!(load_error(&[(r#"dst = "x""#, r#"dst = "x[lane]""#)], &[]), @r#"
    bad.toml:11: `dst`: `lane` has no value here
      given: x[lane]
      allowed: block_x, block_y, block_z, ctas, grid_x, grid_y, grid_z, launch, n, threads, warps
      help: use one of the names above, or declare it under [parameters]
    
"#);
}

#[test]
fn a_result_of_an_operation_without_one_is_refused() {
    insta::assert_snapshot!(load_error(&[(r#"{ op = "load""#, r#"{ op = "bar", dst = "x" },
  { op = "load""#)], &[]), @r#"
    bad.toml:11: `dst`: `bar` writes no register
      help: remove `dst`
    
"#);
}

#[test]
fn a_width_that_no_lane_has_is_refused() {
    insta::assert_snapshot!(load_error(&[("index =", "width = 3, index =")], &[]), @r#"
    bad.toml:11: `width`: not a width in bytes that a lane can access
      given: 3
      allowed: 1, 2, 4, 8, 16
      help: set `width` of the access
    
"#);
}

#[test]
fn too_many_registers_are_counted() {
    insta::assert_snapshot!(load_error(&[("block = 256", r#"block = 256
registers = 2"#)], &[]), @r#"
    bad.toml:10: `registers`: the body needs 3 registers, but a thread has 2
      help: raise `registers` (at most 255), or reuse register names
    
"#);
}

#[test]
fn a_block_that_uses_itself_is_refused() {
    insta::assert_snapshot!(load_error(&[("[buffers]", r#"[blocks]
b = [{ use = "b" }]
[buffers]"#), ("body = [", r#"body = [ { use = "b" },"#)], &[]), @r#"
    bad.toml:5: the steps nest too deeply
      help: at most 32 levels and 262144 instructions; does a block use itself, or an `unroll` too much?
    
"#);
}

#[test]
fn a_counter_may_not_hide_a_name() {
    insta::assert_snapshot!(load_error(&[(r#"{ op = "load""#, r#"{ loop = "n", count = 2, body = [] },
  { op = "load""#)], &[]), @r#"
    bad.toml:11: `loop`: the name is already defined here
      given: "n"
      help: choose another name
    
"#);
}

#[test]
fn a_negative_trip_count_is_refused() {
    insta::assert_snapshot!(load_error(&[(r#"{ op = "load""#, r#"{ loop = "i", count = "1 - cta", body = [] },
  { op = "load""#)], &[]), @r#"
    bad.toml:11: `count`: a trip count of -2
      given: 1 - cta
      help: this happens in kernel k (launch 0), cta 3, warp 0
    
"#);
}

#[test]
fn text_that_is_not_toml_is_reported_with_its_line() {
    insta::assert_snapshot!(load_error(&[(r#""n" }"#, r#""n" "#)], &[]), @r#"
    bad.toml:6: not TOML: missing key for inline table element, expected `,`
      help: check brackets, quotes and commas here and above
    
"#);
}

#[test]
fn several_problems_are_reported_together() {
    insta::assert_snapshot!(load_error(&[("grid =", "gird ="), (r#""load""#, r#""laod""#)], &[]), @r#"
    bad.toml:6: `grid`: a kernel needs this key
      help: add `grid = ...`
    bad.toml:8: `gird`: not a key of a kernel
      allowed: name, launches, grid, block, registers, shared_bytes, stream, shared, local, body
      help: did you mean `grid`?
    bad.toml:11: `op`: not an operation
      given: "laod"
      allowed: fadd, fmul, ffma, fmnmx, fsel, fsetp, hadd2, hmul2, hfma2, iadd, imad, imad_wide, imnmx, isetp, lea, lop, shf, popc, mov, sel, prmt, s2r, shfl, vote, i2f, f2i, ldc, nop, mufu, dadd, dmul, dfma, dsetp, hmma, bar, membar, bssy, bra, bsync, load, store, atomic, reduction, exit
      help: did you mean `load`?
    
"#);
}

#[test]
fn a_warp_without_end_is_refused() {
    let loops = [("{ op = \"load\"", "{ loop = \"i\", count = \"1 << 40\", body = [] },\n  { op = \"load\"")];
    insta::assert_snapshot!(load_error(&loops, &[]), @r#"
    bad.toml:11: `count`: the warp executes more than 16777216 instructions
      given: 1 << 40
      help: this happens in kernel k (launch 0), cta 0, warp 0
    "#);
}

#[test]
fn launches_with_too_much_code_in_total_are_refused() {
    // Launches share their code if no formula distinguishes them.
    let body = "launches = 60000\nblock = \"256 + 0 * launch\"";
    let loops = "{ loop = \"i\", count = 64, unroll = true, body = [{ op = \"iadd\", dst = \"y\", src = [\"x\"] }] },\n  { op = \"load\"";
    let shown = load_error(&[("block = 256", body), ("{ op = \"load\"", loops)], &[]);
    assert!(shown.contains("the code of all launches has more than 1048576 static instructions"), "{shown}");
    assert!(shown.contains("bad.toml:9: `launches`") && shown.contains("given: 60000"), "{shown}");
}

#[test]
fn a_shared_array_may_not_have_the_name_of_a_buffer() {
    let shared = [("block = 256", "block = 256\nshared = { a = { elements = 4 } }")];
    insta::assert_snapshot!(load_error(&shared, &[]), @r#"
    bad.toml:10: `a`: a buffer has the same name
      help: choose another name for the array
    "#);
}

#[test]
fn an_error_in_a_cta_not_generated_at_load_is_reported_by_the_source() {
    let body = r#"{ op = "load", dst = "x", buffer = "a", index = "lane / (cta - 2)", when = "cta == 2" }"#;
    let model = model_with_body(body);
    let source = &model.kernels[0].kernel.source;
    assert!(!source.cta(CtaIndex(1)).warps[0].is_empty());
    assert_eq!(source.failure(), None);
    let program = source.cta(CtaIndex(2));
    assert!(program.warps.len() == 8 && program.warps.iter().all(WarpStream::is_empty));
    insta::assert_snapshot!(source.failure().unwrap(), @r#"
    steps.toml:11: `index`: 0 is divided by zero
      given: lane / (cta - 2)
      help: this happens in kernel k (launch 0), cta 2, warp 0
    "#);
}
