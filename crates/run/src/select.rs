//! `--kernels`, `--only` and `--skip`: the selection of a workload's launches.
//!
//! Copies are kept, because they determine the contents of memory. Selected launches keep their numbers and names.

use regex::Regex;

use warpshard_base::KernelIndex;
use warpshard_report::text::demangled;
use warpshard_workload::{Command, KernelInfo, Workload};

use super::Error;

/// A selection of kernels.
#[derive(Debug)]
enum Selection {
    /// Kernels whose numbers are in one of these inclusive ranges.
    Numbers(Vec<(u64, u64)>),
    /// Kernels whose names contain a match.
    Name(Regex),
}

impl Selection {
    /// Reads "3", "1-4,7", "3-" or a regular expression.
    fn parse(text: &str) -> Result<Self, Error> {
        let usage = |message: String| Error::Usage(format!("--kernels {text}: {message}"));
        if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '-' || c == ',') {
            let ranges: Option<Vec<_>> = text.split(',').map(parse_range).collect();
            return ranges
                .map(Self::Numbers)
                .ok_or_else(|| usage("expected numbers and ascending ranges, such as 1-4,7 or 3- or -9".into()));
        }
        Regex::new(text).map(Self::Name).map_err(|error| usage(format!("neither a range nor a regular expression: {error}")))
    }

    fn includes(&self, kernel: &KernelInfo) -> bool {
        match self {
            Self::Numbers(ranges) => ranges.iter().any(|&(first, last)| (first..=last).contains(&kernel.id)),
            Self::Name(pattern) => pattern.is_match(&kernel.name),
        }
    }
}

/// Reads "7", "1-4", "3-" and "-9" as inclusive ranges.
fn parse_range(text: &str) -> Option<(u64, u64)> {
    let Some((first, last)) = text.split_once('-') else {
        let number = text.parse().ok()?;
        return Some((number, number));
    };
    if first.is_empty() && last.is_empty() {
        return None;
    }
    let first = if first.is_empty() { 0 } else { first.parse().ok()? };
    let last = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
    (first <= last).then_some((first, last))
}

/// Returns the workload with only the selected kernels.
///
/// # Errors
/// Fails if `wanted` is not a selection, or selects nothing.
pub fn select(workload: Workload, wanted: &str) -> Result<Workload, Error> {
    let selection = Selection::parse(wanted)?;
    select_kernels(workload, ("--kernels", wanted), |_, kernel| selection.includes(kernel))
}

/// Returns the workload with only the kernels whose names contain a match of `pattern`.
///
/// # Errors
/// Fails if `pattern` is not a regular expression, or matches no name.
pub(super) fn select_matching(workload: Workload, pattern: &str) -> Result<Workload, Error> {
    let expression = Regex::new(pattern).map_err(|error| Error::Usage(format!("--only {pattern}: no regular expression: {error}")))?;
    select_kernels(workload, ("--only", pattern), |_, kernel| {
        expression.is_match(&kernel.name) || expression.is_match(&demangled(&kernel.name))
    })
}

/// Returns the workload without its first `launches` launches.
///
/// # Errors
/// Fails if no launch is left.
pub(super) fn skip_launches(workload: Workload, launches: usize) -> Result<Workload, Error> {
    select_kernels(workload, ("--skip", &launches.to_string()), |number, _| number >= launches)
}

/// Returns the workload with only the kernels for which `includes` returns true; `includes` gets each kernel's number, counted from 0. The
/// error names `option` if no kernel is left.
fn select_kernels(workload: Workload, option: (&str, &str), includes: impl Fn(usize, &KernelInfo) -> bool) -> Result<Workload, Error> {
    let mut new_index = Vec::with_capacity(workload.kernels.len());
    let mut kept = Vec::new();
    for (number, kernel) in workload.kernels.iter().enumerate() {
        let keep = includes(number, &kernel.info);
        new_index.push(keep.then_some(KernelIndex(kept.len() as u32)));
        if keep {
            kept.push(kernel.clone());
        }
    }
    if kept.is_empty() {
        return Err(Error::Usage(nothing_selected(&workload, option)));
    }
    // Kept launches do not wait for launches that are not selected.
    for kernel in &mut kept {
        kernel.info.after = kernel.info.after.iter().filter_map(|before| new_index[before.index()]).collect();
        kernel.info.programmatic = kernel.info.programmatic.and_then(|before| new_index[before.index()]);
    }
    let commands = workload.commands.into_iter().filter_map(|command| match command {
        Command::Launch(kernel) => new_index[kernel.index()].map(Command::Launch),
        copy @ Command::CopyToDevice { .. } => Some(copy),
    });
    Ok(Workload { commands: commands.collect(), kernels: kept, ..workload })
}

fn nothing_selected(workload: &Workload, (option, wanted): (&str, &str)) -> String {
    const MAX_LISTED_KERNELS: usize = 8;
    let mut text = format!("{option} {wanted} selects none of the {} kernels of {}", workload.kernels.len(), workload.name);
    for kernel in workload.kernels.iter().take(MAX_LISTED_KERNELS) {
        text.push_str(&format!("\n  {:>4}  {}", kernel.info.id, kernel.info.name));
    }
    if workload.kernels.len() > MAX_LISTED_KERNELS {
        text.push_str(&format!("\n  and {} more", workload.kernels.len() - MAX_LISTED_KERNELS));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use warpshard_state::{Reader, StateError, Writer};

    use super::*;
    use crate::Exit;
    use warpshard_base::{Addr, AppId, CtaIndex, StreamId};
    use warpshard_workload::{CtaProgram, CtaSource, Dim3, Kernel};

    #[derive(Debug)]
    struct NoCtas;

    impl CtaSource for NoCtas {
        fn cta(&self, _: CtaIndex) -> Arc<CtaProgram> {
            Arc::default()
        }

        fn save(&self, _: &mut Writer) {}

        fn load(&self, _: &mut Reader<'_>) -> Result<(), StateError> {
            Ok(())
        }
    }

    fn workload() -> Workload {
        let one = Dim3 { x: 1, y: 1, z: 1 };
        let kernel = |id: u64, name: &str| Kernel {
            info: KernelInfo {
                name: name.into(),
                id,
                grid: one,
                cluster: Dim3::SINGLE_ELEMENT,
                block: one,
                shared_bytes: 0,
                registers: 1,
                app: AppId(0),
                stream: StreamId(0),
                after: Vec::new(),
                programmatic: None,
                shared_base: Addr(0),
                local_base: Addr(0),
                gpu: None,
                copy: None,
            },
            source: Arc::new(NoCtas),
        };
        let copy = |addr| Command::CopyToDevice { addr: Addr(addr), bytes: 4 };
        let launch = |index| Command::Launch(KernelIndex(index));
        Workload {
            name: "w".into(),
            commands: vec![copy(0), launch(0), launch(1), copy(8), launch(2), launch(3)],
            kernels: vec![kernel(1, "saxpy"), kernel(2, "gemm_nn"), kernel(5, "gemm_nt"), kernel(9, "saxpy")],
            applications: Vec::new(),
            notes: Vec::new(),
            homes: Vec::new(),
        }
    }

    fn selected_ids(wanted: &str) -> Vec<u64> {
        select(workload(), wanted).unwrap().kernels.iter().map(|k| k.info.id).collect()
    }

    #[test]
    fn ranges_and_expressions_select_by_number_and_name() {
        assert_eq!(selected_ids("2"), [2]);
        assert_eq!(selected_ids("1-2,9"), [1, 2, 9]);
        assert_eq!(selected_ids("3-"), [5, 9]);
        assert_eq!(selected_ids("-2"), [1, 2]);
        assert_eq!(selected_ids("^gemm"), [2, 5]);
        assert_eq!(selected_ids("nt$"), [5]);
    }

    #[test]
    fn copies_keep_their_positions_and_launches_are_renumbered() {
        let selected = select(workload(), "gemm").unwrap();
        let copy = |addr| Command::CopyToDevice { addr: Addr(addr), bytes: 4 };
        let launch = |index| Command::Launch(KernelIndex(index));
        assert_eq!(selected.commands, [copy(0), launch(0), copy(8), launch(1)]);
    }

    #[test]
    fn selected_kernels_wait_only_for_selected_kernels() {
        let mut whole = workload();
        whole.kernels[3].info.after = vec![KernelIndex(0), KernelIndex(2)];
        let selected = select(whole, "2-").unwrap();
        assert_eq!(selected.kernels[2].info.after, [KernelIndex(1)]);
    }

    #[test]
    fn a_programmatic_dependent_launch_depends_on_its_predecessor_if_selected() {
        let mut whole = workload();
        whole.kernels[2].info.programmatic = Some(KernelIndex(1));
        let before =
            |wanted| select(whole.clone(), wanted).unwrap().kernels.iter().map(|kernel| kernel.info.programmatic).collect::<Vec<_>>();
        assert_eq!(before("2-"), [None, Some(KernelIndex(0)), None]);
        assert_eq!(before("1,5-"), [None; 3], "what is not selected is not waited for");
    }

    #[test]
    fn an_empty_selection_is_a_usage_error_that_lists_the_kernels() {
        let failure = select(workload(), "7-8").unwrap_err();
        let message = failure.to_string();
        assert_eq!(failure.exit(), Exit::Usage);
        assert!(message.contains("none of the 4 kernels") && message.contains("5  gemm_nt"), "{message}");
        for wrong in ["4-2", "-", "1,,2", "(", "99999999999999999999"] {
            assert_eq!(select(workload(), wrong).unwrap_err().exit(), Exit::Usage, "{wrong}");
        }
    }
}
