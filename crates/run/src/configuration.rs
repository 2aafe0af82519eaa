//! The configuration of a run in its results: every option that affects them.
//!
//! It omits threads, epochs within the lookahead, pinning and the result folder, because results do not depend on them.

use serde_json::{Map, Value};

use warpshard_report::Configuration;
use warpshard_report::text::shell_word;

use super::request::{DEFAULT_MODEL, Request, RunCondition, WorkloadSource};

/// Maximum length of the readable suffix of a folder's name, in characters.
const MAX_SUFFIX_CHARS: usize = 48;

/// An option of `run`: its name without dashes, and its value; `None` for a flag.
type ChangedOption = (&'static str, Option<String>);

/// Returns the configuration of a run that was started with `arguments`.
pub fn configuration_of(request: &Request, arguments: &[String]) -> Configuration {
    let (workload, given) = (workload(request), changed_options(request));
    let all = |name: &str| given.iter().filter(|(given, _)| *given == name).filter_map(|(_, value)| value.clone()).collect::<Vec<_>>();
    let mut options = Map::new();
    options.insert("machine".into(), request.machine.as_str().into());
    let names = if workload.0 == "app" { workload.1.clone().into() } else { workload.1[0].clone().into() };
    options.insert(workload.0.into(), names);
    options.insert("overrides".into(), all("set").into());
    options.insert("policies".into(), all("policy").into());
    options.insert("seed".into(), request.seed.into());
    for (name, value) in given.iter().filter(|(name, _)| !matches!(*name, "set" | "policy" | "seed")) {
        let value = value.as_ref().map_or(Value::Bool(true), |text| text.parse::<u64>().map_or_else(|_| text.as_str().into(), Value::from));
        options.insert(name.replace('-', "_"), value);
    }
    let mut command = String::from("warpshard run");
    let workload = workload.1.into_iter().map(|name| (workload.0, Some(name)));
    for (name, value) in std::iter::once(("machine", Some(request.machine.clone()))).chain(workload).chain(given) {
        command += &format!(" --{name}");
        if let Some(value) = value {
            command += &format!(" {}", shell_word(&value));
        }
    }
    Configuration { options, command, arguments: arguments.to_vec() }
}

/// Returns the suffix of the result folder's name after machine and workload. It is empty for a plain run, otherwise the policies and
/// options. If these are long or contain characters that file names should not have, it is the policies and a checksum.
pub(crate) fn suffix(request: &Request) -> String {
    let given: Vec<ChangedOption> = changed_options(request).into_iter().filter(|(name, _)| *name != "interval").collect();
    let part = |(name, value): &ChangedOption| match (*name, value) {
        ("set", Some(value)) => format!("-{}", value.strip_prefix("workload.").unwrap_or(value)),
        ("policy", Some(value)) => format!("-{value}"),
        (name, Some(value)) => format!("-{name}={value}"),
        (name, None) => format!("-{name}"),
    };
    let readable: String = given.iter().map(part).collect();
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '=' | ',' | '@' | '+');
    if readable.len() <= MAX_SUFFIX_CHARS && readable.chars().all(safe) {
        return readable;
    }
    let names: String = request.policies.iter().map(|policy| format!("-{}", policy.split(':').next().unwrap_or_default())).collect();
    let names = if names.len() <= MAX_SUFFIX_CHARS && names.chars().all(safe) { names } else { String::new() };
    format!("{names}-{:06x}", crc32fast::hash(format!("{given:?}").as_bytes()) & 0xff_ffff)
}

/// Returns the option that names the workload, and its values; there are several for applications.
fn workload(request: &Request) -> (&'static str, Vec<String>) {
    request.workload.as_ref().map_or_else(|| ("workload", vec![DEFAULT_MODEL.to_owned()]), WorkloadSource::named)
}

/// Returns the options other than machine and workload that affect results and are not at their defaults, in the order of the help.
fn changed_options(request: &Request) -> Vec<ChangedOption> {
    let mut given: Vec<ChangedOption> = Vec::new();
    let mut add = |name, value: Option<String>| given.push((name, value));
    if let Some(WorkloadSource::Program { arch: Some(arch), .. }) = request.workload {
        add("arch", Some(format!("sm_{arch}")));
    }
    request.set.iter().for_each(|(key, value)| add("set", Some(format!("{key}={value}"))));
    request.policies.iter().for_each(|policy| add("policy", Some(policy.clone())));
    if let Some(kernels) = &request.kernels {
        add("kernels", Some(kernels.clone()));
    }
    if let Some(only) = &request.only {
        add("only", Some(only.clone()));
    }
    if request.skip > 0 {
        add("skip", Some(request.skip.to_string()));
    }
    if let Some(WorkloadSource::Applications { once, alone, .. }) = request.workload {
        once.then(|| add("once", None));
        alone.then(|| add("alone", None));
    }
    let cpu = &request.cpu;
    if !cpu.applications.is_empty() {
        add("cpu", Some(cpu.applications.join(",")));
        add("cpu-warm", Some(cpu.warm.to_string()));
        add("cpu-measure", Some(cpu.measure.to_string()));
    }
    if cpu.gpu_first {
        add("gpu-first", None);
    }
    match cpu.until {
        RunCondition::Both => {}
        RunCondition::Gpu => add("until", Some("gpu".into())),
        RunCondition::Cpu => add("until", Some("cpu".into())),
    }
    if request.seed != 1 {
        add("seed", Some(request.seed.to_string()));
    }
    if request.lenient {
        add("lenient", None);
    }
    if request.skip_matrix_values {
        add("matrix-values", Some("skip".into()));
    }
    if let Some(cycles) = request.max_cycles {
        add("max-cycles", Some(cycles.to_string()));
    }
    if let Some(instructions) = request.max_instructions {
        add("max-instructions", Some(instructions.to_string()));
    }
    if let Some(cycles) = request.interval {
        add("interval", Some(cycles.to_string()));
    }
    if let Some(sample) = &request.sample {
        add("sample", (!sample.is_empty()).then(|| sample.clone()));
    }
    if let (true, Some(cycles)) = (request.relaxed, request.epoch) {
        add("epoch", Some(cycles.to_string()));
        add("relaxed", None);
        // A checkpoint cut ends an epoch, which changes the late messages of a relaxed run.
        if let Some(cycles) = request.checkpoint_every {
            add("checkpoint-every", Some(cycles.to_string()));
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn non_zero(value: u64) -> Option<std::num::NonZeroU64> {
        std::num::NonZeroU64::new(value)
    }

    #[test]
    fn a_folder_is_named_after_the_options_that_affect_results() {
        let all = || Request::default();
        for (request, expected) in [
            (all(), ""),
            (Request { threads: std::num::NonZeroU32::new(3), epoch: non_zero(7), pin: true, interval: non_zero(100), ..all() }, ""),
            (Request { policies: vec!["dyncta".into()], ..all() }, "-dyncta"),
            (Request { set: set(&[("gpu.sms", "56"), ("workload.n", "64")]), ..all() }, "-gpu.sms=56-n=64"),
            (Request { max_cycles: non_zero(2000), lenient: true, seed: 2, ..all() }, "-seed=2-lenient-max-cycles=2000"),
            (Request { epoch: non_zero(80), relaxed: true, ..all() }, "-epoch=80-relaxed"),
        ] {
            assert_eq!(suffix(&request), expected, "{request:?}");
        }
    }

    #[test]
    fn a_long_or_unusual_configuration_is_named_by_a_checksum() {
        let calls = ["a/b", "a:b", "a\u{1b}b", "0123456789012345678901234567890123456789012345678901234567890"];
        let suffixes: Vec<String> = calls
            .iter()
            .map(|value| suffix(&Request { policies: vec!["static_limit:ctas=2".into()], set: set(&[("x", value)]), ..Request::default() }))
            .collect();
        for (i, suffix) in suffixes.iter().enumerate() {
            assert!(suffix.starts_with("-static_limit-") && suffix.len() == "-static_limit-".len() + 6, "{suffix}");
            assert!(!suffixes[..i].contains(suffix), "{suffixes:?}");
        }
    }

    #[test]
    fn the_command_and_the_options_omit_settings_without_effect() {
        let request = Request {
            set: set(&[("gpu.sms", "56")]),
            threads: std::num::NonZeroU32::new(3),
            policies: vec!["a b".into()],
            max_cycles: non_zero(9),
            workload: Some(WorkloadSource::Trace("it's".into())),
            ..Request::default()
        };
        let found = configuration_of(&request, &["warpshard".into(), "run".into()]);
        assert_eq!(found.command, "warpshard run --machine v100 --trace 'it'\\''s' --set gpu.sms=56 --policy 'a b' --max-cycles 9");
        let expected = serde_json::json!({
            "machine": "v100", "trace": "it's", "overrides": ["gpu.sms=56"], "policies": ["a b"], "seed": 1, "max_cycles": 9,
        });
        assert_eq!(Value::Object(found.options), expected);
        assert_eq!(found.arguments, ["warpshard", "run"]);
        let workload = Some(WorkloadSource::Program { file: "p.toml".into(), arch: Some(80) });
        let found = configuration_of(&Request { workload, ..Request::default() }, &[]);
        assert_eq!(found.command, "warpshard run --machine v100 --program p.toml --arch sm_80");
    }
}
