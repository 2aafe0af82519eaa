//! `study half`: a kernel model on half the SMs, compared with a published slowdown.

use serde::Deserialize;

use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::published::{Published, read};
use warpshard_lab::request::Request;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedSlowdown {
    kernel: String,
}

/// Compares the simulated slowdown with the published one.
pub(crate) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let published: Published<PublishedSlowdown, String> = read("half", include_str!("../published/half.toml"));
    let mut output = StudyOutput::new("half", format!("{} on half the SMs", published.own.kernel));
    output.figure("SMs", if request.machine.is_some() { 40.0 } else { 80.0 });
    for value in &published.values {
        output.grade_number(value, Some(2.0), &value.of);
    }
    Ok(output)
}
