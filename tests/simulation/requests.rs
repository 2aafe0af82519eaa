//! Typed requests: a request gives the same files as the equivalent command line, and runs in one process are independent.

use std::ffi::OsString;
use std::thread;

use warpshard::catalogue;
use warpshard::run::{Error, Request, Source, simulate};

fn command(line: &str) -> Request {
    let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
    warpshard::cli::request(&words).unwrap_or_else(|failure| panic!("{}", failure.message))
}

fn model(name: &str, set: &[(&str, &str)]) -> Request {
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Request { machine: "tiny".into(), workload: Some(Source::Model(name.into())), set, ..Request::default() }
}

/// Returns `stats.json` of a run.
fn stats(request: &Request) -> Result<String, Error> {
    let finished = simulate(catalogue(), request)?;
    let table = finished.tables().into_iter().find(|file| file.name == "stats.json").expect("every run has one");
    Ok(String::from_utf8_lossy(&table.contents()).into_owned())
}

#[test]
fn a_request_equals_its_command_line() {
    assert_eq!(command("warpshard run --machine tiny --workload vecadd --set workload.n=64"), model("vecadd", &[("workload.n", "64")]));
    let program = Request {
        workload: Some(Source::Program { file: "programs/saxpy.toml".into(), arch: Some(80) }),
        policies: vec!["static_limit:ctas=2".into()],
        ..Request::default()
    };
    assert_eq!(command("warpshard run --program programs/saxpy.toml --arch sm_80 --policy static_limit:ctas=2"), program);
    let apps = vec!["vecadd".into(), "reduce,priority=1".into()];
    let shared = Request { workload: Some(Source::Applications { apps, once: true, alone: false }), ..Request::default() };
    assert_eq!(command("warpshard run --app vecadd --app reduce,priority=1 --once"), shared);
}

#[test]
fn parallel_runs_in_one_process_are_independent() {
    let requests = [
        model("vecadd", &[("workload.n", "20000")]),
        model("gather", &[("workload.cta_count", "24")]),
        Request { workload: Some(Source::Program { file: "programs/reduction.toml".into(), arch: None }), ..model("", &[]) },
        Request { machine: "hetero-small".into(), ..model("stream", &[("workload.cta_count", "8")]) },
    ];
    let alone: Vec<String> = requests.iter().map(|request| stats(request).unwrap()).collect();
    let wrong = [model("vecadd", &[("gpu.smss", "3")]), model("no_such_model", &[])];
    for _ in 0..3 {
        thread::scope(|scope| {
            let running: Vec<_> = requests.iter().map(|request| scope.spawn(|| stats(request))).collect();
            let failing: Vec<_> = wrong.iter().map(|request| scope.spawn(|| stats(request))).collect();
            for (run, alone) in running.into_iter().zip(&alone) {
                assert_eq!(&run.join().unwrap().unwrap(), alone);
            }
            assert!(failing.into_iter().all(|run| run.join().unwrap().is_err()));
        });
    }
}

#[test]
fn errors_have_types_and_exit_codes() {
    let exit = |request: &Request| stats(request).unwrap_err().exit() as i32;
    assert!(matches!(stats(&model("vecadd", &[("gpu.smss", "3")])), Err(Error::Machine(_))));
    assert_eq!(exit(&model("vecadd", &[("gpu.smss", "3")])), 3);
    assert!(matches!(stats(&model("no_such_model", &[])), Err(Error::Model(_))));
    assert_eq!(exit(&model("no_such_model", &[])), 4);
    let policy = Request { policies: vec!["static_limt:ctas=1".into()], ..model("vecadd", &[]) };
    assert!(matches!(stats(&policy), Err(Error::Policy { .. })));
    assert_eq!(exit(&policy), 2);
    let source = std::error::Error::source(&stats(&policy).unwrap_err()).map(ToString::to_string);
    assert!(source.unwrap().contains("did you mean `static_limit`"));
}
