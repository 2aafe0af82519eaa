//! Attribution of event energy to kernel launches, and to applications that share the GPU.
//!
//! Input: the counters of kernels, and the counters of LLC slices by application. Output: joules of each owner, which sum to the joules of
//! all events. SM counters by kernel are exact. The energy of other SM events is divided by warp instructions, the energy of networks,
//! links and LLC by LLC accesses, and the energy of DRAM by its sectors. Clock energy and static energy are not attributed.

use warpshard_stats::{CounterValue, LaunchCounters, Outcome, components};

use super::counts::Counts;
use super::event::{Event, TERMS};
use super::model::Model;

/// The activity of one owner.
#[derive(Clone, Default)]
struct OwnerWork<'a> {
    /// The counters of the owner's kernels.
    kernels: Vec<&'a LaunchCounters>,
    llc_accesses: u64,
    dram_sectors: u64,
}

impl OwnerWork<'_> {
    fn sum(&self, wanted: &dyn Fn(&str) -> bool) -> u64 {
        self.kernels.iter().map(|counters| matching_total(counters.iter(), wanted)).sum()
    }
}

const LLC_ACCESS_COLUMNS: [&str; 1] = ["llc_accesses"];
const DRAM_SECTOR_COLUMNS: [&str; 2] = ["dram_reads", "dram_writes"];

impl Model {
    /// Returns the joules of the events of each kernel launch.
    pub fn by_kernel(&self, outcome: &Outcome) -> Vec<f64> {
        let work = outcome.kernels.iter().map(|kernel| {
            let of = |names: &[&str]| matching_total(kernel.counters.iter(), &|name| names.contains(&name));
            OwnerWork { kernels: vec![&kernel.counters], llc_accesses: of(&LLC_ACCESS_COLUMNS), dram_sectors: of(&DRAM_SECTOR_COLUMNS) }
        });
        self.divided_energy(outcome, &work.collect::<Vec<_>>())
    }

    /// Returns the joules of the events of each application, over all its executions; empty for a single application.
    pub fn by_application(&self, outcome: &Outcome) -> Vec<f64> {
        let mut work = vec![OwnerWork::default(); outcome.applications.len()];
        for kernel in &outcome.kernels {
            if let Some(work) = work.get_mut(kernel.app.index()) {
                work.kernels.push(&kernel.counters);
            }
        }
        let count = work.len();
        for component in outcome.components.iter().filter(|component| component.kind == components::APPLICATION_LLC) {
            let of = |names: &[&str]| matching_total(component.counters.iter().copied(), &|name| names.contains(&name));
            let work = &mut work[component.id as usize % count];
            work.llc_accesses += of(&LLC_ACCESS_COLUMNS);
            work.dram_sectors += of(&DRAM_SECTOR_COLUMNS);
        }
        self.divided_energy(outcome, &work)
    }

    /// Returns the joules of all events, divided among the owners of `work`.
    fn divided_energy(&self, outcome: &Outcome, work: &[OwnerWork]) -> Vec<f64> {
        let counts = Counts::of(outcome);
        let instructions: Vec<u64> = work.iter().map(|work| work.sum(&|name| name == "warp_instructions")).collect();
        let accesses: Vec<u64> = work.iter().map(|work| work.llc_accesses).collect();
        let sectors: Vec<u64> = work.iter().map(|work| work.dram_sectors).collect();
        let mut joules = vec![0.0; work.len()];
        for event in Event::ALL {
            let terms = || TERMS.iter().filter(move |term| term.event == event);
            let kind = terms().next().map_or("", |term| term.kind);
            let own = |work: &OwnerWork| if kind == "sm" { work.sum(&|name| terms().any(|term| term.counter == name)) } else { 0 };
            let own: Vec<u64> = work.iter().map(own).collect();
            let shared = counts.get(event).saturating_sub(own.iter().sum()) as f64;
            let by = match kind {
                "sm" => &instructions,
                "dram" => &sectors,
                _ => &accesses,
            };
            let each = self.joules(event);
            for ((joules, own), part) in joules.iter_mut().zip(own).zip(proportional_shares(by)) {
                *joules += each * (own as f64 + shared * part);
            }
        }
        joules
    }
}

fn matching_total(counters: impl Iterator<Item = CounterValue>, wanted: &dyn Fn(&str) -> bool) -> u64 {
    counters.filter(|counted| wanted(counted.info.name)).map(|counted| counted.value).sum()
}

/// Returns the fractions proportional to `by`, and equal fractions if all are 0.
fn proportional_shares(by: &[u64]) -> impl Iterator<Item = f64> {
    let (all, count) = (by.iter().sum::<u64>() as f64, by.len() as f64);
    by.iter().map(move |one| if all > 0.0 { *one as f64 / all } else { 1.0 / count })
}
