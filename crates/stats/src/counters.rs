//! Counters: structs of plain `u64` fields that their owner increments, with a unit and a help text per field, and their visitor.

/// Name, unit and description of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterInfo {
    /// Name of the counter in the results, equal to the field's name.
    pub name: &'static str,
    /// Unit of the counter ("cycles", "sectors", "instructions").
    pub unit: &'static str,
    /// The counted event and the moment at which it is counted.
    pub help: &'static str,
}

/// A counter with its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterValue {
    /// Name, unit and description of the counter.
    pub info: &'static CounterInfo,
    /// Value of the counter.
    pub value: u64,
}

/// Visits the counters of components, one component after another.
pub trait CounterVisitor {
    /// Begins component number `id` of its kind ("sm" 3, "llc" 17), which owns the following counters.
    fn component(&mut self, kind: &'static str, id: u32);
    /// Visits a counter of the present component.
    fn counter(&mut self, info: &'static CounterInfo, value: u64);
}

impl dyn CounterVisitor + '_ {
    /// Visits all counters of a struct as counters of the present component.
    pub fn counters(&mut self, counters: &impl Counters) {
        counters.visit(&mut |info, value| self.counter(info, value));
    }
}

/// Collects only the values, in the order of the visit.
impl CounterVisitor for Vec<u64> {
    fn component(&mut self, _kind: &'static str, _id: u32) {}

    fn counter(&mut self, _info: &'static CounterInfo, value: u64) {
        self.push(value);
    }
}

/// A struct of counters that `counters!` declares.
pub trait Counters: Clone + Default + PartialEq + std::fmt::Debug {
    /// Descriptions of the fields, in their order.
    const INFO: &'static [CounterInfo];
    /// Passes every counter with its value to `see`, in the order of [`Counters::INFO`].
    fn visit(&self, see: &mut dyn FnMut(&'static CounterInfo, u64));
    /// Adds `other` field by field.
    fn add(&mut self, other: &Self);
    /// Returns the differences to the earlier snapshot `earlier`.
    #[must_use]
    fn since(&self, earlier: &Self) -> Self;
}

/// Declares a struct of counters: `counters! { /// Docs. pub struct Name { field: "unit", "help"; } }`.
#[macro_export]
macro_rules! counters {
    ($(#[$doc:meta])* $vis:vis struct $name:ident { $($field:ident: $unit:literal, $help:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, warpshard_state::State)]
        $vis struct $name { $(#[doc = concat!($help, " Unit: ", $unit, ".")] pub $field: u64,)* }

        impl $crate::Counters for $name {
            const INFO: &'static [$crate::CounterInfo] =
                &[$($crate::CounterInfo { name: stringify!($field), unit: $unit, help: $help },)*];

            fn visit(&self, see: &mut dyn FnMut(&'static $crate::CounterInfo, u64)) {
                let mut info = Self::INFO.iter();
                $(if let Some(info) = info.next() { see(info, self.$field); })*
            }

            fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }

            fn since(&self, earlier: &Self) -> Self {
                Self { $($field: self.$field - earlier.$field,)* }
            }
        }

        impl $crate::Tally for $name {
            fn counts(&mut self, see: &mut dyn FnMut(&mut u64)) {
                $(see(&mut self.$field);)*
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::Counters;

    counters! {
        /// A test struct of two counters.
        struct TestCounters {
            hits: "accesses", "Accesses that hit.";
            misses: "accesses", "Accesses that missed.";
        }
    }

    #[test]
    fn counters_add_subtract_and_are_visited() {
        let mut a = TestCounters { hits: 3, misses: 1 };
        let before = a.clone();
        a.add(&TestCounters { hits: 2, misses: 5 });
        assert_eq!(a.since(&before), TestCounters { hits: 2, misses: 5 });
        let mut seen = Vec::new();
        a.visit(&mut |info, value| seen.push((info.name, value)));
        assert_eq!(seen, [("hits", 5), ("misses", 6)]);
    }
}
