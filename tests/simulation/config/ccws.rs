//! Messages for invalid settings of CCWS.

use insta::assert_snapshot;

use super::bad::load_errors;

#[test]
fn victim_tags_fill_a_power_of_two_of_sets() {
    let text = r#"extends = "v100"
[gpu.sm.ccws]
enabled = true
victim_tags = 24
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sm.ccws.victim_tags` is 24, expected 1, 2, 4, .. times `gpu.sm.ccws.victim_ways`, 8
      --> mine.toml:4:15
       | victim_tags = 24
       |               ^^
       = help: a line picks its set by its low bits
       = note: `gpu.sm.ccws.victim_ways` = 8 is the default
    "#);
}

#[test]
fn ccws_needs_an_l1() {
    let text = r#"extends = "v100"
[gpu.sm.ccws]
enabled = true
[gpu.sm.l1.cache]
present = false
"#;
    assert_snapshot!(load_errors(text, &[]), @r#"
    error: `gpu.sm.ccws.enabled` is true, expected false on an SM without an L1
      --> mine.toml:3:11
       | enabled = true
       |           ^^^^
       = help: CCWS monitors the lines of the L1: set `gpu.sm.l1.cache.present` to true or disable CCWS
       = note: `gpu.sm.l1.cache.present` = false comes from mine.toml:5
    "#);
}
