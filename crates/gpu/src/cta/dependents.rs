//! Programmatic dependent launches: the CTAs of a launch that have triggered its dependent, when the warps of the dependent may continue after
//! `griddepcontrol.wait`, and the order of ends.
//!
//! In: launches, triggers and ends of CTAs and kernels, SMs whose ended CTAs left stores. Out: dependents that may begin, dependents whose dependency is
//! met, and kernels whose end counts only with that of the launch before them. A dependent may begin when every CTA of the launch before it has executed
//! `griddepcontrol.launch_dependents` or has ended; further triggers of a CTA have no effect. Its dependency is met when that launch has ended and all
//! stores that its CTAs left are acknowledged.
//!
//! Source: PTX ISA, "griddepcontrol"; CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization".
//!
//! Invariant: a kernel ends no earlier than the launch on which it depends.

use std::collections::{BTreeMap, BTreeSet};

use warpshard_base::{CtaIndex, KernelIndex, SmId};

/// The CTAs of a running launch that has a dependent.
#[derive(Clone, Debug, warpshard_state::State)]
struct Untriggered {
    /// CTAs that have neither triggered nor ended.
    left: u32,
    /// The others, a bit for each CTA.
    triggered: Box<[u64]>,
}

/// The programmatic dependent launches of a workload.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Dependents {
    /// By kernel: the launch that depends on it, and the launch on which it depends.
    after: Box<[Option<KernelIndex>]>,
    before: Box<[Option<KernelIndex>]>,
    /// Running launches that have a dependent.
    running: BTreeMap<KernelIndex, Untriggered>,
    /// Dependents of which the launch before is running, or has left stores that are not acknowledged.
    waiting: BTreeSet<KernelIndex>,
    /// SMs with stores of ended CTAs that are not acknowledged.
    storing: BTreeSet<SmId>,
    /// Dependents of which the launch before has ended, and the SMs that had such stores then and still have some.
    stores: Vec<(KernelIndex, BTreeSet<SmId>)>,
    /// Kernels whose CTAs have all ended, and the launch on which they depend has not.
    held: BTreeSet<KernelIndex>,
}

impl Dependents {
    /// With the launch on which each kernel depends, by kernel; `None` where no kernel depends on one.
    pub(super) fn of(before: &[Option<KernelIndex>]) -> Option<Box<Self>> {
        let mut after = vec![None; before.len()];
        for (kernel, before) in (0..).map(KernelIndex).zip(before) {
            if let Some(before) = before {
                after[before.index()] = Some(kernel);
            }
        }
        let new = || Self {
            after: after.into(),
            before: before.into(),
            running: BTreeMap::new(),
            waiting: BTreeSet::new(),
            storing: BTreeSet::new(),
            stores: Vec::new(),
            held: BTreeSet::new(),
        };
        before.iter().any(Option::is_some).then(|| Box::new(new()))
    }

    /// A kernel with this number of CTAs was launched.
    pub(super) fn launched(&mut self, kernel: KernelIndex, ctas: u32) {
        if let Some(dependent) = self.after[kernel.index()] {
            let triggered = vec![0; ctas.div_ceil(u64::BITS) as usize].into();
            self.running.insert(kernel, Untriggered { left: ctas, triggered });
            self.waiting.insert(dependent);
            // An application that was started again launches its kernels once more.
            self.stores.retain(|(waits, _)| *waits != dependent);
        }
    }

    /// Whether the SM of a CTA has to report its trigger.
    pub(super) fn awaits_trigger(&self, kernel: KernelIndex, cta: CtaIndex) -> bool {
        let (word, bit) = place(cta);
        self.running.get(&kernel).is_some_and(|running| running.triggered[word] & bit == 0)
    }

    /// Whether warps of a kernel wait at `griddepcontrol.wait`.
    pub(super) fn waits(&self, kernel: KernelIndex) -> bool {
        self.waiting.contains(&kernel)
    }

    /// Notes that a CTA has triggered or ended. After the last CTA of its kernel, returns the dependent launch, which may begin.
    pub(super) fn triggered(&mut self, kernel: KernelIndex, cta: CtaIndex) -> Option<KernelIndex> {
        let running = self.running.get_mut(&kernel)?;
        let (word, bit) = place(cta);
        if running.triggered[word] & bit != 0 {
            return None;
        }
        running.triggered[word] |= bit;
        running.left -= 1;
        if running.left == 0 { self.after[kernel.index()] } else { None }
    }

    /// The launch on which a kernel depends.
    pub(super) fn before(&self, kernel: KernelIndex) -> Option<KernelIndex> {
        self.before[kernel.index()]
    }

    /// All CTAs of a kernel have ended, and the launch on which it depends has not.
    pub(super) fn hold(&mut self, kernel: KernelIndex) {
        self.held.insert(kernel);
    }

    /// Kernels whose CTAs have all ended, and that wait for the end of the launch on which they depend.
    pub(super) fn held(&self) -> impl Iterator<Item = KernelIndex> {
        self.held.iter().copied()
    }

    /// A kernel ended; returns its dependent if its dependency is met thereby, and its dependent if that ends with it.
    pub(super) fn ended(&mut self, kernel: KernelIndex) -> (Option<KernelIndex>, Option<KernelIndex>) {
        self.running.remove(&kernel);
        let Some(dependent) = self.after[kernel.index()] else { return (None, None) };
        let ends = self.held.remove(&dependent).then_some(dependent);
        if self.storing.is_empty() {
            self.waiting.remove(&dependent);
            return (Some(dependent), ends);
        }
        self.stores.push((dependent, self.storing.clone()));
        (None, ends)
    }

    /// Ended CTAs of an SM left stores that are not acknowledged.
    pub(super) fn stores_left(&mut self, sm: SmId) {
        self.storing.insert(sm);
    }

    /// All stores that ended CTAs of an SM left are acknowledged; returns the dependents whose dependency is met thereby.
    pub(super) fn stores_answered(&mut self, sm: SmId) -> Vec<KernelIndex> {
        self.storing.remove(&sm);
        self.stores.iter_mut().for_each(|(_, sms)| _ = sms.remove(&sm));
        let met: Vec<KernelIndex> = self.stores.iter().filter(|(_, sms)| sms.is_empty()).map(|(dependent, _)| *dependent).collect();
        self.stores.retain(|(_, sms)| !sms.is_empty());
        met.iter().for_each(|dependent| _ = self.waiting.remove(dependent));
        met
    }
}

/// The word of a CTA's bit, and the bit.
fn place(cta: CtaIndex) -> (usize, u64) {
    (cta.0 as usize / 64, 1 << (cta.0 % 64))
}
