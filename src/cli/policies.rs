//! `--policy`: controllers from the command line.

use warpshard_control::Controller;

use super::exit::{Exit, Failure};

/// The controllers of `--policy`, each as `NAME` or `NAME:KEY=VALUE,KEY=VALUE`.
///
/// # Errors
/// When a policy or a parameter is unknown, or a value is invalid.
pub(super) fn controllers(asked: &[String]) -> Result<Vec<Box<dyn Controller>>, Failure> {
    asked.iter().map(|text| controller(text)).collect()
}

fn controller(text: &str) -> Result<Box<dyn Controller>, Failure> {
    crate::catalogue().controller(text).map_err(|what| Failure::new(Exit::Usage, format!("--policy {text}: {what}")))
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
    fn errors_name_the_option() {
        assert!(message("static_limt:ctas=1").contains("did you mean `static_limit`"));
        assert_eq!(message("static_limit:ctas"), "--policy static_limit:ctas: `ctas` is not of the form KEY=VALUE");
        assert!(message("static_limit:ctas=many").starts_with("--policy static_limit:ctas=many: policy `static_limit`: "));
    }
}
