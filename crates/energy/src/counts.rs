//! The counts on which energy depends: events, and the cycles of SMs by state.
//!
//! Input: the components of an outcome, or rows of an interval series. Invariant: the counts of all intervals add up to the counts of the
//! run.

use warpshard_stats::{CounterInfo, CounterValue, IntervalColumn, IntervalRow, IntervalSeries, Outcome};

use super::event::{Event, TERMS};

/// Core cycles by state, summed over all SMs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SmTime {
    /// Cycles in all states.
    pub cycles: u64,
    /// Cycles with a resident CTA.
    pub resident: u64,
    /// Cycles in which the SM is paused: its clock is stopped.
    pub paused: u64,
    /// Cycles in which the SM is paused with a resident CTA.
    pub paused_resident: u64,
    /// Cycles in which the SM is power-gated.
    pub gated: u64,
}

/// Events and time of a run or an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Core cycles of the run or interval.
    pub cycles: u64,
    /// Core cycles of the SMs by state.
    pub sms: SmTime,
    /// Number of occurrences of each event, indexed by `Event`.
    pub events: [u64; Event::COUNT],
}

impl Default for Counts {
    fn default() -> Self {
        Self { cycles: 0, sms: SmTime::default(), events: [0; Event::COUNT] }
    }
}

/// The destination of the value of a counter.
#[derive(Clone, Copy, Debug)]
enum CounterDestination {
    Event(Event),
    Sm(fn(&mut SmTime) -> &mut u64),
    Nowhere,
}

impl CounterDestination {
    fn of(kind: &str, counter: &str) -> Self {
        let sm: Option<fn(&mut SmTime) -> &mut u64> = match (kind, counter) {
            ("sm", "cycles") => Some(|sms| &mut sms.cycles),
            ("sm", "active_cycles") => Some(|sms| &mut sms.resident),
            ("sm", "paused_cycles") => Some(|sms| &mut sms.paused),
            ("sm", "paused_resident_cycles") => Some(|sms| &mut sms.paused_resident),
            ("sm", "gated_cycles") => Some(|sms| &mut sms.gated),
            _ => None,
        };
        match (sm, TERMS.iter().find(|term| term.kind == kind && term.counter == counter)) {
            (Some(place), _) => Self::Sm(place),
            (None, Some(term)) => Self::Event(term.event),
            (None, None) => Self::Nowhere,
        }
    }

    /// Returns the destination of a counter of a network. Meshes and crossbars both count flits, but only the flits of a crossbar are an
    /// event.
    fn of_network_counter(kind: &str, meshed: bool, counter: &str) -> Self {
        if meshed && counter == "flits" { Self::Nowhere } else { Self::of(kind, counter) }
    }
}

impl Counts {
    /// Returns the counts of a run, from its first cycle to the cut at which all components stopped counting.
    pub fn of(outcome: &Outcome) -> Self {
        let mut counts = Self { cycles: outcome.counted_until, ..Self::default() };
        // Kinds of components alternate in the list; components of one kind have the same counters.
        let mut known: Vec<(&str, CounterColumns)> = Vec::new();
        for component in &outcome.components {
            let place = known.iter().position(|(kind, _)| *kind == component.kind).unwrap_or_else(|| {
                known.push((component.kind, CounterColumns::default()));
                known.len() - 1
            });
            let columns = &mut known[place].1;
            columns.resolve(&component.counters, component.kind);
            columns.add(&mut counts, component.counters.iter().map(|counted| counted.value));
        }
        counts
    }

    /// Returns the counts of the interval that ends with `row` and began at cycle `before`.
    pub fn of_interval(row: &IntervalRow, before: u64) -> Self {
        let columns: Vec<_> = row.counters.iter().map(|(kind, counted)| (*kind, counted.info)).collect();
        let mut counts = Self { cycles: row.cycle - before, ..Self::default() };
        CounterColumns::of_intervals(&columns).add(&mut counts, row.counters.iter().map(|(_, counted)| counted.value));
        counts
    }

    /// Returns the counts of each interval of a series, with the cycle at which the interval ended; the first interval began at cycle
    /// `before`.
    pub fn of_series(series: &IntervalSeries, before: u64) -> impl Iterator<Item = (u64, Self)> + use<'_> {
        let columns = CounterColumns::of_intervals(series.columns());
        let (mut rows, mut before) = (series.values(), before);
        std::iter::from_fn(move || {
            let (cycle, values) = rows.next_row()?;
            let mut counts = Self { cycles: cycle - before, ..Self::default() };
            columns.add(&mut counts, values.iter().copied());
            before = cycle;
            Some((cycle, counts))
        })
    }

    /// Returns the number of occurrences of an event.
    pub fn get(&self, event: Event) -> u64 {
        self.events[event as usize]
    }

    /// Sets the number of occurrences of an event, for counters from other sources.
    pub fn set(&mut self, event: Event, times: u64) {
        self.events[event as usize] = times;
    }

    /// Adds the counts of another part of the run.
    pub fn add(&mut self, other: &Self) {
        self.zip(other, |mine, theirs| *mine += theirs);
    }

    /// Returns the counts since `earlier`, an earlier state of the same run.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut part = self.clone();
        part.zip(earlier, |mine, theirs| *mine -= theirs);
        part
    }

    fn zip(&mut self, other: &Self, each: impl Fn(&mut u64, u64)) {
        each(&mut self.cycles, other.cycles);
        let (mine, theirs) = (&mut self.sms, &other.sms);
        each(&mut mine.cycles, theirs.cycles);
        each(&mut mine.resident, theirs.resident);
        each(&mut mine.paused, theirs.paused);
        each(&mut mine.paused_resident, theirs.paused_resident);
        each(&mut mine.gated, theirs.gated);
        self.events.iter_mut().zip(other.events).for_each(|(mine, theirs)| each(mine, theirs));
    }
}

/// The destinations of a list of counters, cached for subsequent components with the same list.
#[derive(Debug, Default)]
struct CounterColumns {
    counter_infos: Vec<&'static CounterInfo>,
    destinations: Vec<CounterDestination>,
}

impl CounterColumns {
    /// Returns the destinations of the columns of an interval series.
    fn of_intervals(columns: &[IntervalColumn]) -> Self {
        let meshed = |kind: &str| columns.iter().any(|(other, info)| *other == kind && info.name == "hops");
        Self {
            counter_infos: Vec::new(),
            destinations: columns
                .iter()
                .map(|(kind, info)| CounterDestination::of_network_counter(kind, meshed(kind), info.name))
                .collect(),
        }
    }

    /// Looks up the destinations of a component's counters, unless the counters equal those of the previous component.
    fn resolve(&mut self, counters: &[CounterValue], kind: &str) {
        let same = |known: &&'static CounterInfo, counted: &CounterValue| std::ptr::eq(*known, counted.info) || *known == counted.info;
        if self.counter_infos.len() == counters.len()
            && self.counter_infos.iter().zip(counters).all(|(known, counted)| same(known, counted))
        {
            return;
        }
        let meshed = counters.iter().any(|counted| counted.info.name == "hops");
        self.counter_infos = counters.iter().map(|counted| counted.info).collect();
        self.destinations = self.counter_infos.iter().map(|info| CounterDestination::of_network_counter(kind, meshed, info.name)).collect();
    }

    fn add(&self, counts: &mut Counts, values: impl Iterator<Item = u64>) {
        for (place, value) in self.destinations.iter().zip(values) {
            match place {
                CounterDestination::Event(event) => counts.events[*event as usize] += value,
                CounterDestination::Sm(field) => *field(&mut counts.sms) += value,
                CounterDestination::Nowhere => {}
            }
        }
    }
}
