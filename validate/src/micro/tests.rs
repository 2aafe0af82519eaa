//! Tests of the study and the calibration on a small machine.

use super::*;

use warpshard_lab::Lab;
use warpshard_run::Catalogue;

/// Overrides of the base machine, and five values that the calibrated machine must have.
type CalibrationCase = (&'static [(&'static str, &'static str)], [(&'static str, f64); 5]);

const SCOREBOARD: CalibrationCase =
    (&[], [("latency.ffma", 14.0), ("latency.ex2", 37.0), ("latency.dfma", 21.0), ("chase_shared.1", 41.0), ("chase_ca.4", 57.0)]);
const CONTROL_WORDS: CalibrationCase = (
    &[("gpu.sm.style", "control-words"), ("gpu.sm.order", "gty")],
    [("latency.ex2", 37.0), ("latency.shfl", 41.0), ("barriers.bar_1", 33.0), ("chase_shared.1", 51.0), ("chase_ca.4", 67.0)],
);

fn example_measurements(values: &[(&str, f64)]) -> Measurements {
    let mut json = serde_json::Map::new();
    for (key, value) in values {
        let (part, name) = key.split_once('.').unwrap();
        let part = json.entry(part).or_insert_with(|| serde_json::json!({}));
        part[name] = (*value).into();
    }
    Measurements::parse("micro.json", &serde_json::Value::Object(json).to_string()).unwrap()
}

#[test]
fn altered_measurements_change_the_file_and_the_simulated_microbenchmarks() {
    for (changes, values) in [SCOREBOARD, CONTROL_WORDS] {
        let changes: Vec<(String, String)> = changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let make = || calibrate(Catalogue::core(), "tiny", &changes, &example_measurements(&values), &Lab::default()).unwrap();
        let altered = make();
        assert_eq!(altered, make(), "the same bytes each time");
        assert_eq!(altered.derived, values.len(), "{:?}", altered.report);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        std::fs::write(&path, &altered.toml).unwrap();
        let (rows, _) = rows::all_rows().unwrap();
        for (key, value) in values {
            assert!(altered.toml.contains(&format!("# micro:{key}, {value:.2}")), "{key}: {}", altered.toml);
            let row = rows.iter().find(|row| row.key == key).unwrap();
            let on = |machine: &str, overrides: &[(String, String)]| {
                let bench = ProbeMachine { catalogue: Catalogue::core(), machine, overrides };
                bench.simulate_rows(&[row], &Lab::default()).unwrap()[0]
            };
            let (ours, base) = (on(path.to_str().unwrap(), &[]), on("tiny", &changes));
            assert!((ours - value).abs() <= 1.0, "{key}: {ours} on the calibrated machine, {base} on its base, {value} measured");
            assert!((base - value).abs() > 1.0, "{key} shows nothing: the base has {base}");
        }
    }
    // A different value changes one line of the file.
    let shared = |value| {
        calibrate(Catalogue::core(), "tiny", &[], &example_measurements(&[("chase_shared.1", value)]), &Lab::default()).unwrap().toml
    };
    let (one, other) = (shared(41.0), shared(51.0));
    let differing = one.lines().zip(other.lines()).filter(|(a, b)| a != b).count();
    assert_eq!(differing, 1, "{other}");
}

#[test]
fn properties_are_copied_and_impossible_values_are_refused() {
    let make = |values: &[(&str, f64)]| calibrate(Catalogue::core(), "tiny", &[], &example_measurements(values), &Lab::default());
    let made = make(&[("device.sms", 3.0), ("throughput_ops_per_cycle_per_sm.ffma.32", 40.0)]).unwrap();
    assert!(made.toml.contains("sms = 3 # micro:device.sms, 3"), "{}", made.toml);
    let wrong = make(&[("device.sms", 1e9)]).unwrap_err().to_string();
    assert!(wrong.starts_with("micro:device.sms gives a value that the machine refuses"), "{wrong}");
    let negative = make(&[("latency.ffma", -3.0)]).unwrap_err().to_string();
    assert!(negative.contains("`latency.ffma` is -3; expected a number above 0"), "{negative}");
}

#[test]
fn a_study_compares_ours_with_the_measured_value_of_the_same_key() {
    let request =
        Request { catalogue: Catalogue::core(), machine: Some("tiny".into()), only: Some("chase_shared".into()), ..Request::default() };
    let output = study(&request).unwrap();
    assert_eq!(output.column("key").unwrap()[..3], ["chase_shared.1", "chase_shared.2", "chase_shared.33"]);
    assert_eq!(output.column("measured").unwrap()[0], "23.122");
    assert_eq!(output.column("measured").unwrap()[3], "-", "a stride that was not measured");
    assert_eq!(output.figure_named("values compared"), Some(3.0));
    let nothing = study(&Request { only: Some("place".into()), ..request }).unwrap_err().to_string();
    assert!(nothing.contains("no microbenchmark has a key like `place`"), "{nothing}");
}
