//! The configuration of a run as its results state it: every option that they depend on.
//!
//! Threads, epochs within the lookahead, pinning and the result folder are left out, because results do not depend on them.

use std::ffi::OsString;

use serde_json::{Map, Value};

use warpshard_report::Configuration;
use warpshard_report::text::shell_word;

use super::args::{Epoch, RunArgs, Until};
use super::inputs;

/// Characters that the readable suffix of a folder's name may have.
const MAX_SUFFIX: usize = 48;

/// An option of `run`: its name without dashes, and its value; `None` for a flag.
type Given = (&'static str, Option<String>);

/// The configuration of a run with these options, called with `arguments`.
pub(super) fn of(args: &RunArgs, arguments: &[OsString]) -> Configuration {
    let (workload, given) = (workload(args), given(args));
    let all = |name: &str| given.iter().filter(|(given, _)| *given == name).filter_map(|(_, value)| value.clone()).collect::<Vec<_>>();
    let mut options = Map::new();
    options.insert("machine".into(), args.machine.as_str().into());
    let names = if args.app.is_empty() { workload.1[0].clone().into() } else { workload.1.clone().into() };
    options.insert(workload.0.into(), names);
    options.insert("overrides".into(), all("set").into());
    options.insert("policies".into(), all("policy").into());
    options.insert("seed".into(), args.seed.into());
    for (name, value) in given.iter().filter(|(name, _)| !matches!(*name, "set" | "policy" | "seed")) {
        let value = value.as_ref().map_or(Value::Bool(true), |text| text.parse::<u64>().map_or_else(|_| text.as_str().into(), Value::from));
        options.insert(name.replace('-', "_"), value);
    }
    let mut command = String::from("warpshard run");
    let workload = workload.1.into_iter().map(|name| (workload.0, Some(name)));
    for (name, value) in std::iter::once(("machine", Some(args.machine.clone()))).chain(workload).chain(given) {
        command += &format!(" --{name}");
        if let Some(value) = value {
            command += &format!(" {}", shell_word(&value));
        }
    }
    Configuration { options, command, arguments: arguments.iter().map(|text| text.to_string_lossy().into_owned()).collect() }
}

/// What the name of the result folder has after machine and workload: nothing for a plain run, otherwise the policies and
/// options, or where that is long or has characters that file names should not have, the policies and a checksum.
pub(super) fn suffix(args: &RunArgs) -> String {
    let given: Vec<Given> = given(args).into_iter().filter(|(name, _)| *name != "interval").collect();
    let part = |(name, value): &Given| match (*name, value) {
        ("set", Some(value)) => format!("-{}", value.strip_prefix("workload.").unwrap_or(value)),
        ("policy", Some(value)) => format!("-{value}"),
        (name, Some(value)) => format!("-{name}={value}"),
        (name, None) => format!("-{name}"),
    };
    let readable: String = given.iter().map(part).collect();
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '=' | ',' | '@' | '+');
    if readable.len() <= MAX_SUFFIX && readable.chars().all(safe) {
        return readable;
    }
    let names: String = args.policy.iter().map(|policy| format!("-{}", policy.split(':').next().unwrap_or_default())).collect();
    let names = if names.len() <= MAX_SUFFIX && names.chars().all(safe) { names } else { String::new() };
    format!("{names}-{:06x}", crc32fast::hash(format!("{given:?}").as_bytes()) & 0xff_ffff)
}

/// The option that names the workload, and its values: several of applications.
fn workload(args: &RunArgs) -> (&'static str, Vec<String>) {
    match (&args.trace, &args.program) {
        (Some(path), _) => ("trace", vec![path.display().to_string()]),
        (None, Some(path)) => ("program", vec![path.display().to_string()]),
        (None, None) if !args.app.is_empty() => ("app", args.app.clone()),
        (None, None) => ("workload", vec![args.workload.clone().unwrap_or_else(|| inputs::DEFAULT_MODEL.to_owned())]),
    }
}

/// The options besides machine and workload that results depend on and that are not at their defaults, in the order of the
/// help.
fn given(args: &RunArgs) -> Vec<Given> {
    let mut given: Vec<Given> = Vec::new();
    let mut add = |name, value: Option<String>| given.push((name, value));
    if let Some(arch) = args.arch {
        add("arch", Some(format!("sm_{arch}")));
    }
    args.set.iter().for_each(|(key, value)| add("set", Some(format!("{key}={value}"))));
    args.policy.iter().for_each(|policy| add("policy", Some(policy.clone())));
    if let Some(kernels) = &args.kernels {
        add("kernels", Some(kernels.clone()));
    }
    if args.once {
        add("once", None);
    }
    if args.alone {
        add("alone", None);
    }
    if !args.cpu.is_empty() {
        add("cpu", Some(args.cpu.join(",")));
        add("cpu-warm", Some(args.cpu_warm.to_string()));
        add("cpu-measure", Some(args.cpu_measure.to_string()));
    }
    if args.gpu_first {
        add("gpu-first", None);
    }
    match args.until {
        Until::Both => {}
        Until::Gpu => add("until", Some("gpu".into())),
        Until::Cpu => add("until", Some("cpu".into())),
    }
    if args.seed != 1 {
        add("seed", Some(args.seed.to_string()));
    }
    if args.lenient {
        add("lenient", None);
    }
    if let Some(cycles) = args.max_cycles {
        add("max-cycles", Some(cycles.to_string()));
    }
    if let Some(cycles) = args.interval {
        add("interval", Some(cycles.to_string()));
    }
    if let Some(sampling) = &args.sampling.sample {
        add("sample", (!sampling.text.is_empty()).then(|| sampling.text.clone()));
    }
    if let (true, Epoch::Cycles(cycles)) = (args.relaxed, args.epoch) {
        add("epoch", Some(cycles.to_string()));
        add("relaxed", None);
        // A cut ends an epoch, and in a relaxed run that changes what comes late.
        if let Some(cycles) = args.checkpoint_every {
            add("checkpoint-every", Some(cycles.to_string()));
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::super::args::{Cli, Command};
    use super::*;
    use clap::Parser as _;

    fn run(options: &[&str]) -> RunArgs {
        match Cli::try_parse_from(["warpshard", "run"].iter().chain(options)).map(|cli| cli.command) {
            Ok(Command::Run(args)) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_folder_is_named_after_what_results_depend_on() {
        for (options, expected) in [
            (&[][..], ""),
            (&["--threads", "3", "--epoch", "7", "--pin", "--interval", "100", "--out", "x"], ""),
            (&["--policy", "dyncta"], "-dyncta"),
            (&["--set", "gpu.sms=56", "--set", "workload.n=64"], "-gpu.sms=56-n=64"),
            (&["--max-cycles", "2000", "--lenient", "--seed", "2"], "-seed=2-lenient-max-cycles=2000"),
            (&["--epoch", "80", "--relaxed"], "-epoch=80-relaxed"),
        ] {
            assert_eq!(suffix(&run(options)), expected, "{options:?}");
        }
    }

    #[test]
    fn a_long_or_strange_configuration_has_a_checksum_of_its_own() {
        let calls = ["a/b", "a:b", "a\u{1b}b", "0123456789012345678901234567890123456789012345678901234567890"];
        let suffixes: Vec<String> =
            calls.iter().map(|value| suffix(&run(&["--policy", "static_limit:ctas=2", "--set", &format!("x={value}")]))).collect();
        for (i, suffix) in suffixes.iter().enumerate() {
            assert!(suffix.starts_with("-static_limit-") && suffix.len() == "-static_limit-".len() + 6, "{suffix}");
            assert!(!suffixes[..i].contains(suffix), "{suffixes:?}");
        }
    }

    #[test]
    fn the_command_and_the_options_leave_out_what_does_not_change_results() {
        let options = ["--set", "gpu.sms=56", "--threads", "3", "--policy", "a b", "--max-cycles", "9", "--trace", "it's", "--out", "x"];
        let found = of(&run(&options), &["warpshard".into(), "run".into()]);
        assert_eq!(found.command, "warpshard run --machine v100 --trace 'it'\\''s' --set gpu.sms=56 --policy 'a b' --max-cycles 9");
        let expected = serde_json::json!({
            "machine": "v100", "trace": "it's", "overrides": ["gpu.sms=56"], "policies": ["a b"], "seed": 1, "max_cycles": 9,
        });
        assert_eq!(Value::Object(found.options), expected);
        assert_eq!(found.arguments, ["warpshard", "run"]);
        let found = of(&run(&["--program", "p.toml", "--arch", "sm_80"]), &[]);
        assert_eq!(found.command, "warpshard run --machine v100 --program p.toml --arch sm_80");
    }
}
