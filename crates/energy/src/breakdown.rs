//! Energy in joules by component of the chip and by event.

use super::component::Component;
use super::event::Event;

/// The energy of a run or an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdown {
    /// Simulated time in seconds.
    pub seconds: f64,
    pub(super) joules: [f64; Component::COUNT],
    pub(super) events: [(u64, f64); Event::COUNT],
    /// `true` if there are links between GPUs.
    pub(super) links: bool,
}

impl Breakdown {
    /// Returns the joules of every component, in a fixed order.
    pub fn components(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let all = Component::ALL.into_iter().zip(self.joules);
        all.filter(|(component, _)| self.has(*component)).map(|(component, joules)| (component.name(), joules))
    }

    /// Returns the joules of one component.
    pub fn get(&self, component: Component) -> f64 {
        self.joules[component as usize]
    }

    /// Returns every event with its number of occurrences and its joules.
    pub fn events(&self) -> impl Iterator<Item = (&'static str, u64, f64)> {
        let all = Event::ALL.into_iter().zip(self.events);
        all.filter(|(event, _)| self.has(event.component())).map(|(event, (times, joules))| (event.name(), times, joules))
    }

    /// Returns `true` if the machine has a component. Only links may be absent.
    fn has(&self, component: Component) -> bool {
        self.links || component != Component::Links
    }

    /// Returns the joules of all components.
    pub fn total(&self) -> f64 {
        self.joules.iter().sum()
    }

    /// Returns the joules that depend only on time: leakage, DRAM background power, board.
    pub fn at_rest(&self) -> f64 {
        Component::ALL.into_iter().filter(|component| component.is_static()).map(|component| self.get(component)).sum()
    }

    /// Returns the average power in watts; 0 if no time has passed.
    pub fn mean_watts(&self) -> f64 {
        if self.seconds > 0.0 { self.total() / self.seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dynamic_component_has_an_event() {
        for component in Component::ALL {
            let has_event = Event::ALL.iter().any(|event| event.component() == component);
            assert_eq!(has_event, !component.is_static() && component != Component::SmClock, "{component:?}");
        }
    }
}
