//! Streams of DRAM accesses: bank, row and column of request k, and its direction.

use warpshard_base::Rng;
use warpshard_mem::dram::control::DramAccess;
use warpshard_mem::dram::standard::Organisation;

/// Patterns of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPattern {
    /// A stream over pseudo channels and bank groups, then columns: the order with the highest bus utilisation.
    SeqBg,
    /// A stream through a whole row of one bank, then the next bank.
    SeqRow,
    /// Random locations.
    Random,
    /// One bank, with a new row for each access.
    Conf1,
    /// Bank 0 of each group, with a new row each round.
    Conf4,
    /// All banks, with a new row each round.
    ConfN,
    /// Two rows of one bank, accessed alternately.
    PingPong,
}

/// All patterns with their names on the command line.
pub const PATTERNS: &[(&str, AccessPattern)] = &[
    ("seq_bg", AccessPattern::SeqBg),
    ("seq_row", AccessPattern::SeqRow),
    ("random", AccessPattern::Random),
    ("conf1", AccessPattern::Conf1),
    ("conf4", AccessPattern::Conf4),
    ("confN", AccessPattern::ConfN),
    ("pingpong", AccessPattern::PingPong),
];

impl AccessPattern {
    /// Returns the pattern of this name.
    pub fn named(name: &str) -> Option<Self> {
        PATTERNS.iter().find(|(known, _)| *known == name).map(|(_, pattern)| *pattern)
    }

    /// Returns the name of the pattern.
    pub fn name(self) -> &'static str {
        PATTERNS.iter().find(|(_, pattern)| *pattern == self).map_or("", |(name, _)| name)
    }
}

/// The sequence of accesses of a pattern. Random numbers are SplitMix64 from state 1.
#[derive(Clone, Debug)]
pub(super) struct AccessStream {
    pattern: AccessPattern,
    organisation: Organisation,
    writes: f64,
    random: Rng,
    next: u64,
}

/// A number that is split into digits, with the fastest-changing first.
struct Digits(u64);

impl Digits {
    fn take(&mut self, base: u32) -> u32 {
        let digit = self.0 % u64::from(base);
        self.0 /= u64::from(base);
        digit as u32
    }
}

impl AccessStream {
    pub(super) fn new(pattern: AccessPattern, organisation: Organisation, writes: f64) -> Self {
        Self { pattern, organisation, writes, random: Rng::keyed(1, &[]), next: 0 }
    }

    pub(super) fn next(&mut self) -> DramAccess {
        let k = self.next;
        self.next += 1;
        let o = self.organisation;
        let mut digits = Digits(if self.pattern == AccessPattern::Random { self.random.next_u64() } else { k });
        let (pc, group, bank, row, column);
        match self.pattern {
            AccessPattern::SeqBg => {
                pc = digits.take(o.pseudo_channels);
                group = digits.take(o.bank_groups);
                column = digits.take(o.columns);
                bank = digits.take(o.banks);
                row = digits.take(o.rows);
            }
            AccessPattern::SeqRow => {
                column = digits.take(o.columns);
                group = digits.take(o.bank_groups);
                bank = digits.take(o.banks);
                pc = digits.take(o.pseudo_channels);
                row = digits.take(o.rows);
            }
            AccessPattern::Random => {
                pc = digits.take(o.pseudo_channels);
                group = digits.take(o.bank_groups);
                bank = digits.take(o.banks);
                column = digits.take(o.columns);
                row = digits.take(o.rows);
            }
            AccessPattern::Conf1 => {
                (pc, group, bank, column) = (0, 0, 0, 0);
                row = digits.take(o.rows);
            }
            AccessPattern::Conf4 => {
                (pc, bank, column) = (0, 0, 0);
                group = digits.take(o.bank_groups);
                row = digits.take(o.rows);
            }
            AccessPattern::ConfN => {
                pc = digits.take(o.pseudo_channels);
                group = digits.take(o.bank_groups);
                bank = digits.take(o.banks);
                column = 0;
                row = digits.take(o.rows);
            }
            AccessPattern::PingPong => {
                (pc, group, bank) = (0, 0, 0);
                row = digits.take(2);
                column = digits.take(o.columns);
            }
        }
        // Without writes no random number is drawn, so that read-only streams do not depend on this draw.
        let write = self.writes > 0.0 && (self.random.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0) < self.writes;
        DramAccess { bank: o.bank(pc, group, bank) as u8, row, column, write, token: k as u32, ..DramAccess::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_mem::dram::standard::Standard;

    fn first(standard: &str, pattern: AccessPattern, count: usize) -> Vec<(u8, u32, u32)> {
        let mut stream = AccessStream::new(pattern, Standard::named(standard).unwrap().organisation, 0.0);
        (0..count).map(|_| stream.next()).map(|a| (a.bank, a.row, a.column)).collect()
    }

    #[test]
    fn streams_visit_banks_as_they_are_described() {
        assert_eq!(first("gddr6-14g", AccessPattern::SeqBg, 5), [(0, 0, 0), (4, 0, 0), (8, 0, 0), (12, 0, 0), (0, 0, 1)]);
        assert_eq!(first("hbm2-2000", AccessPattern::SeqBg, 3), [(0, 0, 0), (16, 0, 0), (4, 0, 0)]);
        assert_eq!(first("gddr6-14g", AccessPattern::SeqRow, 65)[63..], [(0, 0, 63), (4, 0, 0)]);
        assert_eq!(first("gddr6-14g", AccessPattern::PingPong, 4), [(0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)]);
        assert_eq!(first("gddr6-14g", AccessPattern::Conf4, 5)[3..], [(12, 0, 0), (0, 1, 0)]);
        assert_eq!(first("gddr6-14g", AccessPattern::Conf1, 2), [(0, 0, 0), (0, 1, 0)]);
    }

    #[test]
    fn a_fraction_of_the_requests_writes_and_names_are_unique() {
        let mut stream = AccessStream::new(AccessPattern::SeqBg, Standard::named("gddr6-14g").unwrap().organisation, 0.5);
        let writes = (0..10_000).filter(|_| stream.next().write).count();
        assert!((4_800..5_200).contains(&writes), "{writes}");
        assert!(PATTERNS.iter().all(|(name, pattern)| AccessPattern::named(name) == Some(*pattern) && pattern.name() == *name));
    }
}
