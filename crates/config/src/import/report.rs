//! The report of an import for the user: options used, ignored, replaced and unknown.

use std::fmt;

/// The treatment of the options of an imported configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Options that describe the machine.
    pub used: Vec<String>,
    /// Options without effect here, each with the reason.
    pub ignored: Vec<(String, String)>,
    /// Differences to Accel-Sim, each with the behaviour here.
    pub warnings: Vec<String>,
    /// Unknown options with value and source location.
    pub unknown: Vec<String>,
}

impl ImportReport {
    /// Adds a warning.
    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} options used", self.used.len())?;
        writeln!(f, "{} ignored{}", self.ignored.len(), if self.ignored.is_empty() { "" } else { ":" })?;
        let mut reasons: Vec<&str> = self.ignored.iter().map(|(_, why)| why.as_str()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        for reason in reasons {
            let names: Vec<String> = self.ignored.iter().filter(|(_, why)| why == reason).map(|(name, _)| format!("-{name}")).collect();
            writeln!(f, "  {reason}: {}", names.join(", "))?;
        }
        for (title, lines) in [("not the same here", &self.warnings), ("unknown, without effect", &self.unknown)] {
            writeln!(f, "{} {title}{}", lines.len(), if lines.is_empty() { "" } else { ":" })?;
            for line in lines {
                writeln!(f, "  {line}")?;
            }
        }
        Ok(())
    }
}
