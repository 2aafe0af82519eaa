//! `--policy`: controllers from the command line.

use crate::control::Controller;
use crate::policy::registry::find;

use super::exit::{Exit, Failure};

/// Makes the controllers that were asked for, each as `NAME` or `NAME:KEY=VALUE,KEY=VALUE`.
///
/// # Errors
/// When a policy or a parameter is unknown, or a value is not understood.
pub(super) fn controllers(asked: &[String]) -> Result<Vec<Box<dyn Controller>>, Failure> {
    asked.iter().map(|text| controller(text)).collect()
}

fn controller(text: &str) -> Result<Box<dyn Controller>, Failure> {
    let wrong = |what: String| Failure::new(Exit::Usage, format!("--policy {text}: {what}"));
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let mut table = toml::Table::new();
    for parameter in parameters.split(',').filter(|parameter| !parameter.is_empty()) {
        let (key, value) = parameter.split_once('=').ok_or_else(|| wrong(format!("`{parameter}` is not of the form KEY=VALUE")))?;
        let line = format!("value = {value}");
        let parsed = line.parse::<toml::Table>().ok().and_then(|mut line| line.remove("value"));
        // What is no number, list or truth value is a text whose quotes the shell has eaten.
        table.insert(key.trim().to_owned(), parsed.unwrap_or_else(|| toml::Value::String(value.to_owned())));
    }
    let policy = find(name).map_err(|error| wrong(error.to_string()))?;
    (policy.build)(table).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        controllers(&[text.to_owned()]).err().map(|failure| failure.message).unwrap_or_default()
    }

    #[test]
    fn a_policy_gets_its_parameters() {
        let made = controllers(&["static_limit:ctas=2,warps=8".to_owned(), "alternate:low=1,high=2,ctas=3".to_owned()]);
        assert_eq!(
            made.ok().map(|made| made.iter().map(|c| c.name().to_owned()).collect::<Vec<_>>()).unwrap(),
            ["static_limit", "alternate"]
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_the_option() {
        assert!(message("static_limt:ctas=1").contains("did you mean `static_limit`"));
        assert_eq!(message("static_limit:ctas"), "--policy static_limit:ctas: `ctas` is not of the form KEY=VALUE");
        assert!(message("static_limit:ctas=many").starts_with("--policy static_limit:ctas=many: policy `static_limit`: "));
    }
}
