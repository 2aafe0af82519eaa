//! Programmatic dependent launches: the CTAs of a launch that have triggered its dependent, the cycle in which warps of the dependent may
//! continue after `griddepcontrol.wait`, and the order of ends.
//!
//! In: launches, triggers and ends of CTAs and kernels, and SMs whose ended CTAs have unacknowledged stores. Out: dependents that may
//! begin, dependents whose dependency is met, and kernels that end together with the preceding launch. A dependent may begin when every CTA
//! of the preceding launch has executed `griddepcontrol.launch_dependents` or has ended; further triggers of a CTA have no effect. The
//! dependency is met when the preceding launch has ended and all stores of its CTAs are acknowledged.
//!
//! Source: PTX ISA, "griddepcontrol"; CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization".
//!
//! Invariant: a kernel ends no earlier than the launch on which it depends.

use std::collections::{BTreeMap, BTreeSet};

use warpshard_base::{CtaIndex, KernelIndex, SmId};

/// The CTAs of a running launch that has a dependent.
#[derive(Clone, Debug, warpshard_state::State)]
struct TriggerProgress {
    /// The number of CTAs that have neither triggered nor ended.
    untriggered_ctas: u32,
    /// A bit for each CTA: set if the CTA has triggered or ended.
    triggered: Box<[u64]>,
}

/// The programmatic dependent launches of a workload.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Dependents {
    /// The launch that depends on each kernel, by kernel.
    successors: Box<[Option<KernelIndex>]>,
    /// The launch on which each kernel depends, by kernel.
    predecessors: Box<[Option<KernelIndex>]>,
    /// Running launches that have a dependent.
    running_launches: BTreeMap<KernelIndex, TriggerProgress>,
    /// Dependents whose preceding launch is running or has unacknowledged stores.
    waiting_kernels: BTreeSet<KernelIndex>,
    /// SMs with unacknowledged stores of ended CTAs.
    storing_sms: BTreeSet<SmId>,
    /// Dependents whose preceding launch has ended, and the SMs that had unacknowledged stores then and still have some.
    outstanding_stores: Vec<(KernelIndex, BTreeSet<SmId>)>,
    /// Kernels whose CTAs have all ended while the launch on which they depend has not ended.
    held_kernels: BTreeSet<KernelIndex>,
}

impl Dependents {
    /// Creates the state from the launch on which each kernel depends, by kernel; returns `None` if no kernel depends on one.
    pub(super) fn of(before: &[Option<KernelIndex>]) -> Option<Box<Self>> {
        let mut after = vec![None; before.len()];
        for (kernel, before) in (0..).map(KernelIndex).zip(before) {
            if let Some(before) = before {
                after[before.index()] = Some(kernel);
            }
        }
        let new = || Self {
            successors: after.into(),
            predecessors: before.into(),
            running_launches: BTreeMap::new(),
            waiting_kernels: BTreeSet::new(),
            storing_sms: BTreeSet::new(),
            outstanding_stores: Vec::new(),
            held_kernels: BTreeSet::new(),
        };
        before.iter().any(Option::is_some).then(|| Box::new(new()))
    }

    /// Records the launch of a kernel with `ctas` CTAs.
    pub(super) fn record_launch(&mut self, kernel: KernelIndex, ctas: u32) {
        if let Some(dependent) = self.successors[kernel.index()] {
            let triggered = vec![0; ctas.div_ceil(u64::BITS) as usize].into();
            self.running_launches.insert(kernel, TriggerProgress { untriggered_ctas: ctas, triggered });
            self.waiting_kernels.insert(dependent);
            // A restarted application launches its kernels again.
            self.outstanding_stores.retain(|(waits, _)| *waits != dependent);
        }
    }

    /// Returns true if the SM of a CTA has to report the trigger.
    pub(super) fn awaits_trigger(&self, kernel: KernelIndex, cta: CtaIndex) -> bool {
        let (word, bit) = word_and_bit(cta);
        self.running_launches.get(&kernel).is_some_and(|running| running.triggered[word] & bit == 0)
    }

    /// Returns true if warps of a kernel wait at `griddepcontrol.wait`.
    pub(super) fn has_grid_wait(&self, kernel: KernelIndex) -> bool {
        self.waiting_kernels.contains(&kernel)
    }

    /// Records that a CTA has triggered or ended. After the last CTA of its kernel, returns the dependent launch, which may begin.
    pub(super) fn record_trigger(&mut self, kernel: KernelIndex, cta: CtaIndex) -> Option<KernelIndex> {
        let running = self.running_launches.get_mut(&kernel)?;
        let (word, bit) = word_and_bit(cta);
        if running.triggered[word] & bit != 0 {
            return None;
        }
        running.triggered[word] |= bit;
        running.untriggered_ctas -= 1;
        if running.untriggered_ctas == 0 { self.successors[kernel.index()] } else { None }
    }

    /// Returns the launch on which a kernel depends.
    pub(super) fn preceding_launch(&self, kernel: KernelIndex) -> Option<KernelIndex> {
        self.predecessors[kernel.index()]
    }

    /// Holds a kernel whose CTAs have all ended until the launch on which it depends ends.
    pub(super) fn hold_end(&mut self, kernel: KernelIndex) {
        self.held_kernels.insert(kernel);
    }

    /// Returns the kernels whose CTAs have all ended and that wait for the end of the launch on which they depend.
    pub(super) fn held_kernels(&self) -> impl Iterator<Item = KernelIndex> {
        self.held_kernels.iter().copied()
    }

    /// Records the end of a kernel. Returns its dependent if this end meets the dependency, and its dependent if the dependent ends at the
    /// same time.
    pub(super) fn record_end(&mut self, kernel: KernelIndex) -> (Option<KernelIndex>, Option<KernelIndex>) {
        self.running_launches.remove(&kernel);
        let Some(dependent) = self.successors[kernel.index()] else { return (None, None) };
        let ends = self.held_kernels.remove(&dependent).then_some(dependent);
        if self.storing_sms.is_empty() {
            self.waiting_kernels.remove(&dependent);
            return (Some(dependent), ends);
        }
        self.outstanding_stores.push((dependent, self.storing_sms.clone()));
        (None, ends)
    }

    /// Records that ended CTAs of an SM have unacknowledged stores.
    pub(super) fn stores_outstanding(&mut self, sm: SmId) {
        self.storing_sms.insert(sm);
    }

    /// Records that all stores of ended CTAs of an SM are acknowledged; returns the dependents whose dependency is now met.
    pub(super) fn stores_acknowledged(&mut self, sm: SmId) -> Vec<KernelIndex> {
        self.storing_sms.remove(&sm);
        self.outstanding_stores.iter_mut().for_each(|(_, sms)| _ = sms.remove(&sm));
        let met: Vec<KernelIndex> =
            self.outstanding_stores.iter().filter(|(_, sms)| sms.is_empty()).map(|(dependent, _)| *dependent).collect();
        self.outstanding_stores.retain(|(_, sms)| !sms.is_empty());
        met.iter().for_each(|dependent| _ = self.waiting_kernels.remove(dependent));
        met
    }
}

/// Returns the word index of the bit of a CTA, and the bit.
fn word_and_bit(cta: CtaIndex) -> (usize, u64) {
    (cta.0 as usize / 64, 1 << (cta.0 % 64))
}
