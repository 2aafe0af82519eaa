//! Counters: structs of plain `u64` fields that their owner increments, with a unit and a help text per field, and their visitor.

/// What a counter is called and means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterInfo {
    /// The name in the results, the field's own.
    pub name: &'static str,
    /// What one count is ("cycles", "sectors", "instructions").
    pub unit: &'static str,
    /// What is counted, and at which moment.
    pub help: &'static str,
}

/// A counter with its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// Name, unit and meaning.
    pub info: &'static CounterInfo,
    /// The count.
    pub value: u64,
}

/// Sees the counters of components, one component after the other.
pub trait CounterVisitor {
    /// The counters that follow belong to component number `id` of its kind ("sm" 3, "llc" 17).
    fn component(&mut self, kind: &'static str, id: u32);
    /// A counter of the component named last.
    fn counter(&mut self, info: &'static CounterInfo, value: u64);
}

impl dyn CounterVisitor + '_ {
    /// All counters of a struct, as counters of the component named last.
    pub fn counters(&mut self, counters: &impl Counters) {
        counters.visit(&mut |info, value| self.counter(info, value));
    }
}

/// Collects bare values, in the order in which they are visited.
impl CounterVisitor for Vec<u64> {
    fn component(&mut self, _kind: &'static str, _id: u32) {}

    fn counter(&mut self, _info: &'static CounterInfo, value: u64) {
        self.push(value);
    }
}

/// A struct of counters, as `counters!` makes it.
pub trait Counters: Clone + Default + PartialEq + std::fmt::Debug {
    /// The fields in their order.
    const INFO: &'static [CounterInfo];
    /// Passes every counter with its value to `see`, in the order of [`Counters::INFO`].
    fn visit(&self, see: &mut dyn FnMut(&'static CounterInfo, u64));
    /// Adds `other` field by field.
    fn add(&mut self, other: &Self);
    /// What was counted since the snapshot `earlier`.
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
        /// Two counters.
        struct Pair {
            hits: "accesses", "Accesses that hit.";
            misses: "accesses", "Accesses that missed.";
        }
    }

    #[test]
    fn counters_add_subtract_and_are_visited() {
        let mut a = Pair { hits: 3, misses: 1 };
        let before = a.clone();
        a.add(&Pair { hits: 2, misses: 5 });
        assert_eq!(a.since(&before), Pair { hits: 2, misses: 5 });
        let mut seen = Vec::new();
        a.visit(&mut |info, value| seen.push((info.name, value)));
        assert_eq!(seen, [("hits", 5), ("misses", 6)]);
    }
}
