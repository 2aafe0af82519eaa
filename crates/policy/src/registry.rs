//! The policies that a run can name, and the creation of their controllers from tables of parameters.
//!
//! A controller is created from a name and an unparsed table. A policy is one row here; no other code depends on its parameters.

use std::sync::LazyLock;

use warpshard_control::Controller;

use super::common::{Alternate, DynCta, HalveOnKernelEnd, Probe, StaticLimit};
pub use super::policy::{Policy, PolicyError, parsed};
use super::sharing::{SmartEven, Smc, Smk, StaticPartition};

/// The policies of this package.
const COMMON_POLICIES: &[Policy] = &[
    Policy {
        name: Alternate::NAME,
        help: "switches every SM between two CTA limits after a number of ended CTAs",
        parameters: Alternate::PARAMETERS,
        build: |table| Ok(Box::new(Alternate::new(parsed(Alternate::NAME, table)?)?)),
    },
    Policy {
        name: DynCta::NAME,
        help: "a CTA limit per SM from its idle and memory-waiting cycles (Kayiran et al., PACT 2013)",
        parameters: DynCta::PARAMETERS,
        build: |table| Ok(Box::new(DynCta::new(parsed(DynCta::NAME, table)?)?)),
    },
    Policy {
        name: HalveOnKernelEnd::NAME,
        help: "halves every SM's CTA limit whenever a kernel ends",
        parameters: HalveOnKernelEnd::PARAMETERS,
        build: |table| Ok(Box::new(HalveOnKernelEnd::new(parsed(HalveOnKernelEnd::NAME, table)?)?)),
    },
    Policy {
        name: Smk::MAESTRO,
        help: "shares every SM, or gives applications even parts, whichever is faster in samples (Park et al., ASPLOS 2017)",
        parameters: Smk::PARAMETERS,
        build: |table| Ok(Box::new(Smk::new(Smk::MAESTRO, parsed(Smk::MAESTRO, table)?)?)),
    },
    Policy {
        name: Probe::NAME,
        help: "records counters of SMs in the timeline without making decisions",
        parameters: Probe::PARAMETERS,
        build: |table| Ok(Box::new(Probe::new(parsed(Probe::NAME, table)?)?)),
    },
    Policy {
        name: SmartEven::NAME,
        help: "even shares of the SMs, limited to the SMs that an application's CTAs fill (Adriaens et al., HPCA 2012)",
        parameters: SmartEven::PARAMETERS,
        build: |table| Ok(Box::new(SmartEven::new(parsed(SmartEven::NAME, table)?)?)),
    },
    Policy {
        name: Smc::NAME,
        help: "limits of CTAs, then a partition of the SMs between two applications, by hill climbing (Wu et al., 2015)",
        parameters: Smc::PARAMETERS,
        build: |table| Ok(Box::new(Smc::new(parsed(Smc::NAME, table)?)?)),
    },
    Policy {
        name: Smk::NAME,
        help: "shares every SM by a measured division of its CTAs (Xu et al., ISCA 2016)",
        parameters: Smk::PARAMETERS,
        build: |table| Ok(Box::new(Smk::new(Smk::NAME, parsed(Smk::NAME, table)?)?)),
    },
    Policy {
        name: StaticLimit::NAME,
        help: "fixed limits of CTAs and warps per SM, from the start of the run or of a kernel",
        parameters: StaticLimit::PARAMETERS,
        build: |table| Ok(Box::new(StaticLimit::new(parsed(StaticLimit::NAME, table)?)?)),
    },
    Policy {
        name: StaticPartition::NAME,
        help: "a fixed number of SMs for each application; the others are power-gated",
        parameters: StaticPartition::PARAMETERS,
        build: |table| Ok(Box::new(StaticPartition::new(parsed(StaticPartition::NAME, table)?)?)),
    },
];

/// Policies of several packages.
#[derive(Clone, Debug)]
pub struct Policies(Vec<&'static [Policy]>);

impl Policies {
    /// Returns the policies that belong to no paper.
    pub fn core() -> &'static Self {
        static POLICIES: LazyLock<Policies> = LazyLock::new(|| Policies(vec![COMMON_POLICIES]));
        &POLICIES
    }

    /// Returns these policies together with `more`.
    #[must_use]
    pub fn with(&self, more: &[&'static [Policy]]) -> Self {
        Self([&self.0, more].concat())
    }

    /// Returns all policies, sorted by name.
    pub fn all(&self) -> Vec<&'static Policy> {
        let mut all: Vec<_> = self.0.iter().flat_map(|list| list.iter()).collect();
        all.sort_by_key(|policy| policy.name);
        all
    }

    /// Returns the policy called `name`.
    ///
    /// # Errors
    /// Fails if there is no such policy.
    pub fn find(&self, name: &str) -> Result<&'static Policy, PolicyError> {
        let all = self.all();
        if let Some(policy) = all.iter().find(|policy| policy.name == name) {
            return Ok(policy);
        }
        let likeness = |policy: &&&Policy| (strsim::jaro_winkler(policy.name, name) * 1e6) as u64;
        let nearest = all.iter().max_by_key(likeness).filter(|policy| likeness(policy) > 750_000);
        let known = all.iter().map(|policy| format!("`{}`", policy.name)).collect::<Vec<_>>().join(", ");
        Err(PolicyError::Unknown { name: name.to_owned(), nearest: nearest.map(|policy| policy.name), known })
    }

    /// Creates the controller that `text` names, as `NAME` or `NAME:KEY=VALUE,KEY=VALUE`.
    ///
    /// # Errors
    /// Fails if the policy or a parameter is unknown, or a value is invalid.
    pub fn from_text(&self, text: &str) -> Result<Box<dyn Controller>, PolicyError> {
        let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
        let mut table = toml::Table::new();
        for parameter in outside_brackets(parameters).filter(|parameter| !parameter.is_empty()) {
            let (key, value) = parameter.split_once('=').ok_or_else(|| PolicyError::NoAssignment { text: parameter.to_owned() })?;
            let parsed = format!("value = {value}").parse::<toml::Table>().ok().and_then(|mut line| line.remove("value"));
            // A value that is no number, list or boolean is a string whose quotes the shell has removed.
            table.insert(key.trim().to_owned(), parsed.unwrap_or_else(|| toml::Value::String(value.to_owned())));
        }
        self.find(name).and_then(|policy| (policy.build)(table))
    }
}

/// Splits `text` at commas outside of lists.
fn outside_brackets(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str, parameters: &str) -> String {
        let table = parameters.parse().expect("the test's own text");
        Policies::core().find(name).and_then(|policy| (policy.build)(table)).err().expect("it is refused").to_string()
    }

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(Policies::core().all().is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn every_policy_names_every_parameter_that_it_takes() {
        for policy in Policies::core().all() {
            let message = error(policy.name, "no_such_parameter = 1");
            for (parameter, help) in policy.parameters {
                assert!(message.contains(&format!("`{parameter}`")) && !help.is_empty(), "{}: {parameter} in {message}", policy.name);
            }
        }
    }

    #[test]
    fn a_misspelt_policy_suggests_the_nearest() {
        let message = error("static_limits", "");
        assert_eq!(
            message,
            "there is no policy `static_limits`, did you mean `static_limit`?; known are `alternate`, `dyncta`, `halve_on_kernel_end`, `maestro`, `probe`, `smart_even`, `smc`, `smk`, `static_limit`, `static_partition`"
        );
        assert!(!error("xyz", "").contains("did you mean"));
    }

    #[test]
    fn commas_of_a_list_separate_no_parameters() {
        assert_eq!(outside_brackets("sms=[1,2],loss=3").collect::<Vec<_>>(), ["sms=[1,2]", "loss=3"]);
        assert!(Policies::core().from_text("static_partition:sms=[4,20]").is_ok());
    }

    #[test]
    fn invalid_parameters_are_rejected_with_their_name() {
        assert_eq!(
            error("static_limit", "cta = 2"),
            "policy `static_limit`: unknown field `cta`, expected one of `ctas`, `warps`, `cores`, `sms`, `from_kernel`"
        );
        assert_eq!(error("static_limit", ""), "policy `static_limit`: none of `ctas`, `warps` and `cores` is given, so nothing is limited");
        assert_eq!(error("static_limit", "ctas = 0"), "policy `static_limit`: `ctas` = 0 would stop all work; expected at least 1");
        assert_eq!(error("alternate", "high = 4\nlow = 5"), "policy `alternate`: `low` = 5 is above `high` = 4");
    }
}
