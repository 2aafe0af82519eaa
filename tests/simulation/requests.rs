//! Typed requests: a request gives the same files as the equivalent command line, and runs in one process are independent.

use std::ffi::OsString;
use std::thread;

use warpshard::catalogue;
use warpshard::run::{Error, Request, WorkloadSource, simulate};

fn parse_command(line: &str) -> Request {
    let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
    warpshard::cli::request(&words).unwrap_or_else(|failure| panic!("{}", failure.message))
}

fn model_request(name: &str, set: &[(&str, &str)]) -> Request {
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Request { machine: "tiny".into(), workload: Some(WorkloadSource::Model(name.into())), set, ..Request::default() }
}

/// Returns `stats.json` of a run.
fn run_stats(request: &Request) -> Result<String, Error> {
    let finished = simulate(catalogue(), request)?;
    let table = finished.tables().into_iter().find(|file| file.name == "stats.json").expect("every run has one");
    Ok(String::from_utf8_lossy(&table.contents()).into_owned())
}

#[test]
fn a_request_equals_its_command_line() {
    assert_eq!(
        parse_command("warpshard run --machine tiny --workload vecadd --set workload.n=64"),
        model_request("vecadd", &[("workload.n", "64")])
    );
    let program = Request {
        workload: Some(WorkloadSource::Program { file: "programs/saxpy.toml".into(), arch: Some(80) }),
        policies: vec!["static_limit:ctas=2".into()],
        ..Request::default()
    };
    assert_eq!(parse_command("warpshard run --program programs/saxpy.toml --arch sm_80 --policy static_limit:ctas=2"), program);
    let apps = vec!["vecadd".into(), "reduce,priority=1".into()];
    let shared = Request { workload: Some(WorkloadSource::Applications { apps, once: true, alone: false }), ..Request::default() };
    assert_eq!(parse_command("warpshard run --app vecadd --app reduce,priority=1 --once"), shared);
}

#[test]
fn parallel_runs_in_one_process_are_independent() {
    let requests = [
        model_request("vecadd", &[("workload.n", "20000")]),
        model_request("gather", &[("workload.cta_count", "24")]),
        Request {
            workload: Some(WorkloadSource::Program { file: "programs/reduction.toml".into(), arch: None }),
            ..model_request("", &[])
        },
        Request { machine: "hetero-small".into(), ..model_request("stream", &[("workload.cta_count", "8")]) },
    ];
    let alone: Vec<String> = requests.iter().map(|request| run_stats(request).unwrap()).collect();
    let wrong = [model_request("vecadd", &[("gpu.smss", "3")]), model_request("no_such_model", &[])];
    for _ in 0..3 {
        thread::scope(|scope| {
            let running: Vec<_> = requests.iter().map(|request| scope.spawn(|| run_stats(request))).collect();
            let failing: Vec<_> = wrong.iter().map(|request| scope.spawn(|| run_stats(request))).collect();
            for (run, alone) in running.into_iter().zip(&alone) {
                assert_eq!(&run.join().unwrap().unwrap(), alone);
            }
            assert!(failing.into_iter().all(|run| run.join().unwrap().is_err()));
        });
    }
}

#[test]
fn errors_have_types_and_exit_codes() {
    let exit = |request: &Request| run_stats(request).unwrap_err().exit() as i32;
    assert!(matches!(run_stats(&model_request("vecadd", &[("gpu.smss", "3")])), Err(Error::Machine(_))));
    assert_eq!(exit(&model_request("vecadd", &[("gpu.smss", "3")])), 3);
    assert!(matches!(run_stats(&model_request("no_such_model", &[])), Err(Error::Model(_))));
    assert_eq!(exit(&model_request("no_such_model", &[])), 4);
    let policy = Request { policies: vec!["static_limt:ctas=1".into()], ..model_request("vecadd", &[]) };
    assert!(matches!(run_stats(&policy), Err(Error::Policy { .. })));
    assert_eq!(exit(&policy), 2);
    let source = std::error::Error::source(&run_stats(&policy).unwrap_err()).map(ToString::to_string);
    assert!(source.unwrap().contains("did you mean `static_limit`"));
}
