//! Set indices of a slice's cache, precomputed for addresses that lie in the slice.
//!
//! Input: an address. Output: its set. Invariant: the result equals the set index function of the address within the slice.

use warpshard_base::Addr;
use warpshard_config::machine::Cache;
use warpshard_protocol::LocalMap;

use crate::cache::set_index;

/// Address bits per part: each part is one index into a table.
const PART_BITS: u32 = 4;
const PART_COUNT: usize = 8;

/// The address map and the set index function, combined into tables.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct SetIndexTables {
    /// The lowest address bit that affects the set.
    lowest_bit: u32,
    /// The contribution of each value of each part to the set; contributions are combined by exclusive or. `None` if the number of
    /// partitions is not a power of two, or if too many bits affect the set.
    parts: Option<[[u16; 1 << PART_BITS]; PART_COUNT]>,
    #[state(fixed)]
    map: LocalMap,
    #[state(fixed)]
    cache: Cache,
}

impl SetIndexTables {
    /// Precomputes the sets of `cache` in the slices of a partition with this map.
    pub fn new(map: &LocalMap, cache: &Cache) -> Self {
        let mut sets = Self { lowest_bit: 0, parts: None, map: map.clone(), cache: *cache };
        // All set index functions are linear over exclusive or: the contribution of several bits is the combination of their contributions.
        let bit_sets: Vec<u32> = (0..u64::BITS).map(|bit| sets.find(Addr(1 << bit))).collect();
        let (Some(lowest_bit), Some(last)) = (bit_sets.iter().position(|set| *set != 0), bit_sets.iter().rposition(|set| *set != 0)) else {
            return sets;
        };
        if map.shifts() && last - lowest_bit < PART_COUNT * PART_BITS as usize {
            let part = |part: usize, value: usize| {
                let bits =
                    (0..PART_BITS as usize).filter(|bit| value >> bit & 1 != 0).map(|bit| lowest_bit + part * PART_BITS as usize + bit);
                bits.filter_map(|bit| bit_sets.get(bit)).fold(0, |sum, set| sum ^ *set as u16)
            };
            sets.lowest_bit = lowest_bit as u32;
            sets.parts = Some(std::array::from_fn(|number| std::array::from_fn(|value| part(number, value))));
        }
        sets
    }

    /// Returns the set of an address.
    #[inline(always)]
    pub fn of(&self, addr: Addr) -> u32 {
        let Some(parts) = &self.parts else { return self.find(addr) };
        let bits = addr.0 >> self.lowest_bit;
        let part = |number: usize| parts[number][(bits >> (number as u32 * PART_BITS)) as usize % (1 << PART_BITS)];
        (0..PART_COUNT).fold(0, |sum, number| sum ^ u32::from(part(number)))
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
        fn precomputed_sets_equal_the_set_index_function(
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
            let sets = SetIndexTables::new(&LocalMap::new(&map), &cache);
            for addr in addrs.into_iter().map(Addr) {
                let expected = set_index(map.within_slice(addr), cache.line_bytes.trailing_zeros(), cache.sets, cache.index);
                prop_assert_eq!(sets.of(addr), expected);
            }
        }
    }

    #[test]
    fn sets_are_precomputed_for_powers_of_two_of_partitions() {
        let is_precomputed = |name| {
            let machine = Machine::load(name, &[]).unwrap().machine;
            SetIndexTables::new(&LocalMap::new(&machine.mem.map), &machine.mem.llc).parts.is_some()
        };
        assert_eq!(["v100", "gtx480"].map(is_precomputed), [true, false]);
    }
}
