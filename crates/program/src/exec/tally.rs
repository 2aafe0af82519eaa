//! Counts of executed instructions per kernel.

/// The execution counts of one static instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(in super::super) struct Count {
    /// Executions per warp (warp instructions).
    pub(in super::super) warps: u64,
    /// Active lanes summed over the executions (thread instructions).
    pub(in super::super) lanes: u64,
    /// Sectors of 32 bytes of accesses to device memory, or passes of accesses to shared memory including bank conflicts.
    pub(in super::super) parts: u64,
}

/// Counts by instruction index.
#[derive(Clone, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(in super::super) struct Tally(pub(in super::super) Vec<Count>);

impl Tally {
    /// Adds the counts of another tally.
    pub(in super::super) fn add(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), Count::default());
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.warps += theirs.warps;
            mine.lanes += theirs.lanes;
            mine.parts += theirs.parts;
        }
    }
}

/// Returns the number of distinct 32-byte sectors that an access of `bytes` bytes per lane touches.
pub(super) fn sectors(addresses: &[u64], bytes: u64) -> u64 {
    // Each lane touches at most two sectors, since no access is wider than 32 bytes.
    let mut touched = [0; 64];
    let mut count = 0;
    for &address in addresses {
        for block in address / 32..=address.saturating_add(bytes - 1) / 32 {
            if count == 0 || touched[count - 1] != block {
                touched[count & 63] = block;
                count += 1;
            }
        }
    }
    distinct(&mut touched[..count.min(64)])
}

/// Sorts numbers and returns the number of distinct ones.
fn distinct(numbers: &mut [u64]) -> u64 {
    if !numbers.is_sorted() {
        numbers.sort_unstable();
    }
    numbers.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64 + u64::from(!numbers.is_empty())
}

/// Returns the passes of an access over 32 banks of 4 bytes: the maximum number of distinct words in one bank, summed over the groups of
/// lanes that each move 128 bytes.
pub(super) fn passes(addresses: &[u64], bytes: u64) -> u64 {
    let group = (128 / bytes.max(4)) as usize;
    addresses.chunks(group).map(|lanes| passes_of_group(lanes, bytes)).sum()
}

fn passes_of_group(addresses: &[u64], bytes: u64) -> u64 {
    let words = || addresses.iter().flat_map(|&at| at / 4..=at.saturating_add(bytes - 1) / 4);
    let (mut owner, mut taken) = ([0; 32], 0_u32);
    let fits = |word: u64| {
        let bank = (word % 32) as usize;
        let new = taken >> bank & 1 == 0;
        taken |= 1 << bank;
        if new {
            owner[bank] = word;
        }
        owner[bank] == word
    };
    if words().all(fits) {
        return u64::from(!addresses.is_empty());
    }
    let mut all: Vec<u64> = words().collect();
    all.sort_unstable();
    all.dedup();
    let mut banks = [0; 32];
    all.iter().for_each(|word| banks[(word % 32) as usize] += 1);
    banks.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_and_bank_conflicts_are_those_of_well_known_patterns() {
        let lanes = |stride: u64| (0..32).map(|lane| 0x1000 + lane * stride).collect::<Vec<_>>();
        assert_eq!([4, 8, 32, 128, 0].map(|stride| sectors(&lanes(stride), 4)), [4, 8, 32, 32, 1]);
        assert_eq!([4, 8, 128, 132, 0].map(|stride| passes(&lanes(stride), 4)), [1, 2, 32, 1, 1]);
        assert_eq!((passes(&lanes(8), 8), passes(&lanes(16), 16)), (2, 4));
    }
}
