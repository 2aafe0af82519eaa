//! The suite of programs, executed for three architectures and compared with computations on the host.
//!
//! Each check recomputes the result, in double precision if rounding matters, or tests a property that only a correct result has. The
//! CRC-32 values in the launch files belong to results that passed these checks.

#![expect(clippy::needless_range_loop, reason = "matrices read better with indices")]

mod done;
mod gpgpusim;
mod lonestar;
mod mars;
mod micro;
mod parboil;
mod polybench;
mod rodinia;
mod rodinia_images;
mod sdk;
mod sharing;
mod tensor;

use done::{ProgramCheck, run, suite_folder};

fn check_suite(suite: &str, archs: &[u32], checks: &[(&str, ProgramCheck)]) {
    let entries = std::fs::read_dir(suite_folder().join(suite)).unwrap().map(|entry| entry.unwrap().path());
    let mut there: Vec<String> = entries
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    there.sort();
    let mut checked: Vec<&str> = checks.iter().map(|(name, _)| *name).collect();
    checked.sort_unstable();
    assert_eq!(there, checked, "every program of {suite} has a check");
    for (name, check) in checks {
        let text = std::fs::read_to_string(suite_folder().join(suite).join(format!("{name}.toml"))).unwrap();
        let known: Vec<u32> = archs
            .iter()
            .copied()
            .filter(|arch| [format!("sm_{arch} = "), format!("sm_{arch}a = ")].iter().any(|key| text.contains(key)))
            .collect();
        assert_eq!(known.last(), archs.last(), "{suite}/{name} has a listing of the newest architecture");
        for arch in known {
            check(&run(&format!("{suite}/{name}"), arch));
        }
    }
}

#[test]
fn gpgpusims_benchmarks_compute_what_the_host_does() {
    check_suite("gpgpusim", &[70, 80, 90], gpgpusim::CHECKS);
}

#[test]
fn lonestar_computes_what_the_host_does() {
    check_suite("lonestar", &[70, 80, 90], lonestar::CHECKS);
}

#[test]
fn mars_computes_what_the_host_does() {
    check_suite("mars", &[70, 80, 90], mars::CHECKS);
}

#[test]
fn the_microbenchmarks_compute_the_expected_results() {
    check_suite("micro", &[70, 80, 90], micro::CHECKS);
}

#[test]
fn parboil_computes_what_the_host_does() {
    check_suite("parboil", &[70, 80, 90], parboil::CHECKS);
}

#[test]
fn polybench_computes_what_the_host_does() {
    check_suite("polybench", &[70, 80, 90], polybench::CHECKS);
}

#[test]
fn rodinia_computes_what_the_host_does() {
    check_suite("rodinia", &[70, 80, 90], rodinia::CHECKS);
}

#[test]
fn the_samples_compute_what_the_host_does() {
    check_suite("sdk", &[70, 80, 90], sdk::CHECKS);
}

#[test]
fn tensor_cores_compute_what_the_host_does() {
    check_suite("tensor", &[80, 90], tensor::CHECKS);
}

#[test]
#[should_panic(expected = "element 1")]
fn a_wrong_result_is_found() {
    done::assert_close("an example", &[1.0, 2.5], &[1.0, 2.0], 1e-3);
}

#[test]
fn pairs_that_share_a_gpu_compute_what_the_host_does() {
    check_suite("sharing", &[70, 80, 90], sharing::CHECKS);
}
