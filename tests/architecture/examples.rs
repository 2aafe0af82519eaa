//! Check that packages with `doctest = false` in their manifests, for which no test binary is linked, have no examples in doc comments.

use super::source::Source;
use super::{assert_no_problems, read_manifest, workspace_members};

#[test]
fn packages_without_doctests_have_no_examples() {
    let mut problems = Vec::new();
    for (package, path) in workspace_members() {
        let tested = read_manifest(&path).get("lib").and_then(|lib| lib.get("doctest")).and_then(toml::Value::as_bool) != Some(false);
        // A block marked `text` is not an example.
        let opens = |line: &str| {
            let comment = line.trim_start();
            comment
                .strip_prefix("///")
                .or(comment.strip_prefix("//!"))
                .and_then(|text| text.trim_start().strip_prefix("```"))
                .map(str::to_owned)
        };
        for source in Source::package_sources().iter().filter(|source| source.package() == package && !tested) {
            let fences = source.text.lines().enumerate().filter_map(|(line, text)| Some((line + 1, opens(text)?)));
            let examples = fences.step_by(2).filter(|(_, kind)| kind != "text");
            problems.extend(examples.map(|(line, _)| format!("{}:{line}: an example that {path} keeps from being tested", source.path)));
        }
    }
    assert_no_problems("`doctest = false` is only for packages without examples:", problems);
}
