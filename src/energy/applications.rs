//! Which application the energy of events was spent for, where several share the GPU.
//!
//! In: the counters of kernels, and what LLC slices count by application. Out: joules of each application, which sum to those of all events. What SMs
//! count by kernel is exact. Other events of the SMs go by warp instructions, those of networks and LLC by LLC accesses, those of DRAM by its
//! sectors. Clocks and what is spent at rest belong to nobody.

use crate::stats::{Counted, Outcome};

use super::counts::Counts;
use super::event::{Event, TERMS};
use super::model::Model;

/// The kind of component under which a slice counts for an application, numbered by slice, then application.
const SLICE: &str = "llc_application";

impl Model {
    /// Joules of the events of each application, with all its executions; empty where one application had the GPU.
    pub fn by_application(&self, outcome: &Outcome) -> Vec<f64> {
        let apps = outcome.applications.len();
        let counts = Counts::of(outcome);
        let of_kernels = |wanted: &dyn Fn(&str) -> bool| -> Vec<u64> {
            let mut sums = vec![0; apps];
            for kernel in &outcome.kernels {
                if let Some(sum) = sums.get_mut(kernel.app.index()) {
                    *sum += total(&kernel.counters, wanted);
                }
            }
            sums
        };
        let of_slices = |names: &[&str]| -> Vec<u64> {
            let mut sums = vec![0; apps];
            for component in outcome.components.iter().filter(|component| component.kind == SLICE) {
                sums[component.id as usize % apps] += total(&component.counters, &|name| names.contains(&name));
            }
            sums
        };
        if apps == 0 {
            return Vec::new();
        }
        let instructions = of_kernels(&|name| name == "warp_instructions");
        let (accesses, sectors) = (of_slices(&["llc_accesses"]), of_slices(&["dram_reads", "dram_writes"]));
        let mut joules = vec![0.0; apps];
        for event in Event::ALL {
            let terms = || TERMS.iter().filter(move |term| term.event == event);
            let kind = terms().next().map_or("", |term| term.kind);
            let own = if kind == "sm" { of_kernels(&|name| terms().any(|term| term.counter == name)) } else { vec![0; apps] };
            let shared = counts.get(event).saturating_sub(own.iter().sum()) as f64;
            let by = match kind {
                "sm" => &instructions,
                "dram" => &sectors,
                _ => &accesses,
            };
            let each = self.joules(event);
            for ((joules, own), part) in joules.iter_mut().zip(own).zip(shares(by)) {
                *joules += each * (own as f64 + shared * part);
            }
        }
        joules
    }
}

fn total(counters: &[Counted], wanted: &dyn Fn(&str) -> bool) -> u64 {
    counters.iter().filter(|counted| wanted(counted.info.name)).map(|counted| counted.value).sum()
}

/// The parts of a whole, equal where there is nothing to go by.
fn shares(by: &[u64]) -> impl Iterator<Item = f64> {
    let (all, count) = (by.iter().sum::<u64>() as f64, by.len() as f64);
    by.iter().map(move |one| if all > 0.0 { *one as f64 / all } else { 1.0 / count })
}
