//! The set index of a slice's cache, precomputed for addresses that are known to lie in the slice.
//!
//! In: an address. Out: its set. Invariant: equal to the set index function of the address within the slice.

use warpshard_base::Addr;
use warpshard_config::machine::Cache;
use warpshard_protocol::LocalMap;

use crate::cache::set_index;

/// Bits of an address that are looked up together, and how often.
const TOGETHER: u32 = 4;
const PARTS: usize = 8;

/// Address map and set index function as one.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Sets {
    /// The lowest bit of an address that matters.
    first: u32,
    /// What the values of each few bits from there on contribute to the set, by exclusive or; unless a number of partitions has
    /// to be divided out, or too many bits matter.
    parts: Option<[[u16; 1 << TOGETHER]; PARTS]>,
    #[state(fixed)]
    map: LocalMap,
    #[state(fixed)]
    cache: Cache,
}

impl Sets {
    /// The sets of `cache` in slices of a partition with this map.
    pub fn new(map: &LocalMap, cache: &Cache) -> Self {
        let mut sets = Self { first: 0, parts: None, map: map.clone(), cache: *cache };
        // All set index functions are sums without carry: what bits contribute together is the sum of what each does.
        let alone: Vec<u32> = (0..u64::BITS).map(|bit| sets.find(Addr(1 << bit))).collect();
        let (Some(first), Some(last)) = (alone.iter().position(|set| *set != 0), alone.iter().rposition(|set| *set != 0)) else {
            return sets;
        };
        if map.shifts() && last - first < PARTS * TOGETHER as usize {
            let part = |part: usize, value: usize| {
                let bits = (0..TOGETHER as usize).filter(|bit| value >> bit & 1 != 0).map(|bit| first + part * TOGETHER as usize + bit);
                bits.filter_map(|bit| alone.get(bit)).fold(0, |sum, set| sum ^ *set as u16)
            };
            sets.first = first as u32;
            sets.parts = Some(std::array::from_fn(|number| std::array::from_fn(|value| part(number, value))));
        }
        sets
    }

    /// The set of an address.
    #[inline(always)]
    pub fn of(&self, addr: Addr) -> u32 {
        let Some(parts) = &self.parts else { return self.find(addr) };
        let bits = addr.0 >> self.first;
        let part = |number: usize| parts[number][(bits >> (number as u32 * TOGETHER)) as usize % (1 << TOGETHER)];
        (0..PARTS).fold(0, |sum, number| sum ^ u32::from(part(number)))
    }

    #[inline(never)]
    fn find(&self, addr: Addr) -> u32 {
        set_index(self.map.within_slice(addr), self.cache.line_bytes.trailing_zeros(), self.cache.sets, self.cache.index)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use warpshard_config::Machine;
    use warpshard_config::machine::SetIndex;

    proptest! {
        #[test]
        fn the_prepared_sets_are_those_of_the_function(
            (name, partitions) in prop::sample::select(vec![
                ("v100", None), ("rtx2060", None), ("gtx480", None), ("k20x", None), ("tiny", None), ("m2090", Some(8)),
            ]),
            index in prop::sample::select(vec![SetIndex::Linear, SetIndex::Ipoly, SetIndex::Fermi]),
            size in 5u32..7,
            addrs in prop::collection::vec(any::<u64>(), 1..50),
        ) {
            let mut machine = Machine::load(name, &[]).unwrap().machine;
            machine.mem.map.partitions = partitions.unwrap_or(machine.mem.map.partitions);
            let map = machine.mem.map.of_gpu();
            let cache = Cache { sets: 1 << size, index, ..machine.mem.llc };
            let sets = Sets::new(&LocalMap::new(&map), &cache);
            for addr in addrs.into_iter().map(Addr) {
                let expected = set_index(map.within_slice(addr), cache.line_bytes.trailing_zeros(), cache.sets, cache.index);
                prop_assert_eq!(sets.of(addr), expected);
            }
        }
    }

    #[test]
    fn powers_of_two_of_partitions_are_prepared() {
        let prepared = |name| {
            let machine = Machine::load(name, &[]).unwrap().machine;
            Sets::new(&LocalMap::new(&machine.mem.map), &machine.mem.llc).parts.is_some()
        };
        assert_eq!(["v100", "gtx480"].map(prepared), [true, false]);
    }
}
