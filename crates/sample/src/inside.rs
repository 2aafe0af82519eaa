//! Parts of a long launch: which of its CTAs are simulated, and what follows for the others.
//!
//! A launch begins with a *head*, in which it fills the chip, and the LLC where it streams through it, and ends with a *tail*, in which the chip
//! empties. Between them lie *segments* of some waves of CTAs, one at a random place of each of as many equal parts of the grid (a stratified
//! random sample, Cochran, Sampling Techniques, Chapter 5). They are executed one after the other without a pause, so that the chip stays full.
//! The CTAs of the first wave after the head are cut short at random, each after another share of its instructions: in the whole launch CTAs,
//! which start together, get out of step over some tens of waves, and the chip executes more in a cycle then (`gpgpusim/cp`: 15 % after 90 waves).
//! A segment first *settles*: caches and DRAM rows go from the segment before it to its own. Where a launch streams through the LLC, that takes
//! until the LLC holds nothing of the segment before it; modified lines of another part of the grid, which are written back meanwhile, lie in
//! other DRAM rows than those that the whole launch would write back. This is not measured, nor is the last wave, which
//! shares the chip with the next segment. Head and tail are counted as they are; all other CTAs take as many cycles per instruction as the
//! measured spans in the mean (a ratio estimate), and the variance is that between the segments. Where that is too large, the next round measures
//! longer spans, which costs less than to settle more often.

use std::ops::Range;

use warpshard_base::Rng;

/// Waves of CTAs of a segment: to settle, at least; measured, at least; and at its end, which share the chip with the next segment.
const SETTLE: u64 = 2;
const MEASURED: u64 = 2;
const SHARED: u64 = 1;
/// Times that settling or a measured span becomes longer, at most, so that it is whole rows of the grid.
const ROWS: u64 = 4;
/// CTAs that are simulated and not measured for each that is measured, at first.
const OTHERS: u64 = 3;
/// Segments of a launch in each round: where it is one of few, and otherwise, or where more are not worth while.
const SEGMENTS: u64 = 6;
const FEWEST: u64 = 5;
/// Waves that a launch begins with at least, and that it ends with.
const HEAD: u64 = 2;
const TAIL: u64 = 2;
/// The share of a launch that its head is at least, and the waves up to which that holds: the order in which SMs reach DRAM rows changes for some
/// tens of waves (`sdk/BlackScholes`: 63.5 to 66 cycles per 1000 instructions over 70 waves).
const OLD: u64 = 64;
const OLDEST: u64 = 128;
/// Launches with parts up to which they are few.
const FEW: usize = 2;
/// Measured spans, at least.
const LEAST: usize = 4;
/// Times that a launch fills the LLC, from which on it counts as one that streams; and times until the LLC is full for sure, although sets
/// fill unevenly.
pub(super) const FILLS: f64 = 4.0;
const FULL: f64 = 1.5;
/// Times that segments have to settle longer than they did, from which on they are simulated again.
const LONGER: f64 = 1.25;
/// The share of its CTAs above which a launch is simulated whole.
const MOST: f64 = 0.5;

/// A launch of which parts may be simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Long {
    /// CTAs of its grid, and of a row of it.
    pub(super) ctas: u64,
    pub(super) row: u64,
    /// CTAs that the chip holds.
    pub(super) wave: u64,
    /// Sectors that its accesses touch, summed over accesses; or, where that is `measured`, those of them that are not in the LLC.
    pub(super) sectors: f64,
    pub(super) measured: bool,
    /// Sectors that the LLC holds.
    pub(super) llc_sectors: f64,
}

/// The parts of a launch that are simulated.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    /// Its CTAs.
    pub(super) ranges: Vec<Range<u32>>,
    /// CTAs that the chip holds: so many at the start of the first segment are cut short.
    pub(super) wave: u32,
    /// How many CTAs have ended when: the head ends, then for each segment when its measured span begins and ends, then the tail begins.
    pub(super) marks: Vec<u64>,
}

impl Long {
    /// CTAs that replace what the LLC holds, where the launch streams through it.
    fn turnover(&self) -> u64 {
        let per_cta = self.sectors / self.ctas as f64;
        let streams = self.sectors >= FILLS * self.llc_sectors;
        if streams { (FULL * self.llc_sectors / per_cta).ceil() as u64 } else { 0 }
    }

    /// So many CTAs, or as many more as make whole rows of the grid: what CTAs access, and so how long they take, often depends on their place in
    /// a row, and CTAs of one column access the same DRAM channels (`transpose`: rates differ by a third along a row, and are 10 % higher in
    /// the first row after a change of place).
    fn rows(&self, ctas: u64) -> u64 {
        let rows = ctas.div_ceil(self.row) * self.row;
        if rows <= ROWS * ctas { rows } else { ctas }
    }

    /// CTAs before the first segment.
    fn head(&self) -> u64 {
        self.turnover().max(HEAD * self.wave).max((self.ctas / OLD).min(OLDEST * self.wave))
    }

    /// CTAs before the first segment where the launch is simulated again, with other segments: what its head takes is known, and segments follow
    /// when the LLC is full.
    fn second_head(&self) -> u64 {
        self.turnover().max(HEAD * self.wave)
    }

    /// How many CTAs of a segment are simulated before its measured span.
    fn settle(&self) -> u64 {
        self.rows(self.turnover().max(SETTLE * self.wave))
    }

    /// CTAs that are simulated where of each segment so many are measured.
    fn simulated(&self, head: u64, segments: u64, measured: u64) -> u64 {
        let segment = self.settle() + measured + SHARED * self.wave;
        head + segments * segment + TAIL * self.wave
    }

    /// Whether it is worth while.
    pub(super) fn is_worth_it(&self) -> bool {
        self.simulated(self.head(), FEWEST, MEASURED * self.wave) as f64 <= MOST * self.ctas as f64
    }

    /// The same with the misses that were counted in its head, of which there are fewer than accesses, so that it takes longer to fill the LLC.
    fn corrected(self, head: &Reached) -> Self {
        // When the CTAs of the head have ended, those of another wave have begun.
        let ctas = (self.head() + self.wave) as f64;
        Self { sectors: head.llc_misses * self.ctas as f64 / ctas, measured: true, ..self }
    }

    /// The same with the misses of its head; `None` where that was done before, or where the launch is not worth it then.
    pub(super) fn with_misses(self, head: &Reached) -> Option<Self> {
        let corrected = self.corrected(head);
        (!self.measured && corrected.is_worth_it()).then_some(corrected)
    }

    /// Whether by the misses of its head segments did not settle for long enough.
    pub(super) fn settled_too_short(&self, head: &Reached) -> bool {
        !self.measured && self.corrected(head).turnover() as f64 > LONGER * self.settle() as f64
    }

    /// The waves that so many instructions are.
    pub(super) fn waves(&self, instructions: f64, of_launch: f64) -> f64 {
        instructions / of_launch * self.ctas as f64 / self.wave as f64
    }

    /// The parts of one of so many launches where so many waves are measured, or as many as are worth while; at first a quarter of what is
    /// simulated, and half as many as settle, so that a good part of it counts. `again` where its head is known.
    pub(super) fn plan(&self, launches: usize, again: bool, waves: Option<u64>, random: &mut Rng) -> Plan {
        let most = (MOST * self.ctas as f64) as u64;
        let first = if again { self.second_head() } else { self.head() };
        let least = MEASURED * self.wave;
        let fits = |segments: &u64| launches <= FEW && self.simulated(first, *segments, least) <= most;
        let segments = (FEWEST..=SEGMENTS).rev().find(fits).unwrap_or(FEWEST);
        let others = self.simulated(first, segments, 0);
        let at_first = (others / (OTHERS * segments)).max(self.settle() / 2);
        let wanted = waves.map_or(at_first, |waves| (waves * self.wave).div_ceil(segments)).max(least);
        let possible = (most.saturating_sub(others) / segments).max(least);
        let measured = Some(self.rows(wanted)).filter(|rows| *rows <= possible).unwrap_or(wanted.min(possible));
        let length = self.settle() + measured + SHARED * self.wave;
        let end = self.ctas - TAIL * self.wave;
        let mut ranges: Vec<Range<u32>> = std::iter::once(0..first as u32).collect();
        let mut marks = vec![first];
        let (mut before, mut end_of_last) = (first, first);
        for segment in 0..segments {
            let bound = |i: u64| first + (end - first) * i / segments;
            let (low, high) = (bound(segment), bound(segment + 1));
            let last = high - length;
            // Where the row of the segment before would go on: CTAs that run together access what they do in the whole launch.
            let aligned = low + (end_of_last % self.row + self.row - low % self.row) % self.row;
            let start = if aligned + self.row <= last {
                aligned + self.row * random.below((last - aligned) / self.row + 1)
            } else {
                low + random.below(last - low + 1)
            };
            end_of_last = start + length;
            ranges.push(start as u32..(start + length) as u32);
            marks.extend([before + self.settle(), before + length - SHARED * self.wave]);
            before += length;
        }
        ranges.push(end as u32..self.ctas as u32);
        marks.push(before + self.wave);
        Plan { ranges, marks, wave: self.wave as u32 }
    }
}

/// What was counted since a launch began.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reached {
    /// Core cycles since the start of its first CTA.
    pub(super) cycles: f64,
    pub(super) warp_instructions: f64,
    pub(super) llc_misses: f64,
    /// Of all components.
    pub(super) values: Vec<u64>,
}

/// What is known of a launch of which parts were simulated.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Inside {
    /// Cycles and instructions of head and tail.
    fixed: [f64; 2],
    /// Cycles and instructions of the measured spans.
    spans: Vec<[f64; 2]>,
    /// What all components counted in them.
    values: Vec<u64>,
}

impl Inside {
    /// From what was counted at the marks of the plan and at the end; `work` is the instructions of the whole launch. `None` where there are
    /// too few spans with a full LLC.
    pub(super) fn of(marks: &[Reached], end: &Reached, work: f64, llc_sectors: f64) -> Option<Self> {
        let (head, rest) = marks.split_first()?;
        let (tail, spans) = rest.split_last()?;
        let streams = end.llc_misses / end.warp_instructions.max(1.0) * work >= FILLS * llc_sectors;
        // Until the LLC is full nothing modified is written back.
        let full = |at: &Reached| !streams || at.llc_misses >= FULL * llc_sectors;
        let spans: Vec<&[Reached]> = spans.chunks_exact(2).filter(|pair| full(&pair[0])).collect();
        if spans.len() < LEAST {
            return None;
        }
        let head = if full(head) { head } else { &spans[0][0] };
        let fixed = Self::fixed(head, tail, end);
        let mut values = vec![0; end.values.len()];
        for pair in &spans {
            values.iter_mut().zip(&pair[1].values).zip(&pair[0].values).for_each(|((sum, after), before)| *sum += after - before);
        }
        let span = |pair: &&[Reached]| [pair[1].cycles - pair[0].cycles, pair[1].warp_instructions - pair[0].warp_instructions];
        let spans: Vec<[f64; 2]> = spans.iter().map(span).filter(|span| span[1] > 0.0).collect();
        (spans.len() >= LEAST).then_some(Self { fixed, spans, values })
    }

    /// Head and tail alone, where the LLC was full after the head.
    pub(super) fn begun(marks: &[Reached], end: &Reached, llc_sectors: f64) -> Option<Self> {
        let (head, tail) = (marks.first()?, marks.last()?);
        let known = Self { fixed: Self::fixed(head, tail, end), spans: Vec::new(), values: vec![0; end.values.len()] };
        (head.llc_misses >= FULL * llc_sectors).then_some(known)
    }

    /// Cycles and instructions of head and tail.
    fn fixed(head: &Reached, tail: &Reached, end: &Reached) -> [f64; 2] {
        [head.cycles + end.cycles - tail.cycles, head.warp_instructions + end.warp_instructions - tail.warp_instructions]
    }

    /// The same with the spans of another simulation of other parts of the launch.
    #[must_use]
    pub(super) fn with(mut self, other: &Self) -> Self {
        self.spans.extend(&other.spans);
        self.values.iter_mut().zip(&other.values).for_each(|(sum, value)| *sum += value);
        self
    }

    /// Instructions of the measured spans.
    pub(super) fn measured(&self) -> f64 {
        self.sums()[1]
    }

    fn sums(&self) -> [f64; 2] {
        self.spans.iter().fold([0.0; 2], |[cycles, work], span| [cycles + span[0], work + span[1]])
    }

    /// What components counted per instruction of the spans: the counts, and the instructions.
    pub(super) fn values(&self) -> (&[u64], f64) {
        (&self.values, self.sums()[1])
    }

    /// The cycles of the launch, their variance, and the degrees of freedom of that; `work` is its instructions.
    pub(super) fn cycles(&self, work: f64) -> (f64, f64, f64) {
        let ([cycles, sum], count) = (self.sums(), self.spans.len() as f64);
        let rate = cycles / sum;
        let squares: f64 = self.spans.iter().map(|span| (span[0] - rate * span[1]).powi(2)).sum();
        let mean = sum / count;
        let of_rate = squares / (count - 1.0) / count / (mean * mean);
        let left = (work - self.fixed[1]).max(0.0);
        (self.fixed[0] + rate * left, left * left * of_rate, count - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Long = Long { ctas: 2000, row: 1, wave: 10, sectors: 0.0, measured: false, llc_sectors: 1000.0 };

    #[test]
    fn segments_lie_in_their_parts_of_the_grid_and_at_other_places_with_another_seed() {
        let plan = |seed| LONG.plan(3, false, None, &mut Rng::keyed(seed, &[]));
        let Plan { ranges, marks, .. } = plan(1);
        assert_eq!((ranges.len(), ranges[0].clone(), ranges[6].clone(), marks.len()), (7, 0..31, 1980..2000, 12));
        assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start) && marks.is_sorted());
        for (i, range) in (0..).zip(&ranges[1..6]) {
            assert!(range.len() == 50 && range.start >= 31 + 389 * i && range.end <= 31 + 390 * (i + 1), "{range:?}");
        }
        assert_eq!(marks[..5], [31, 51, 71, 101, 121]);
        assert_eq!(marks[11], 31 + 250 + 10);
        assert_ne!(plan(2).ranges, ranges);
    }

    #[test]
    fn more_waves_make_spans_longer_up_to_half_of_the_grid() {
        let spans = |launches, ctas, waves: Option<u64>| -> Vec<u64> {
            let marks = Long { ctas, ..LONG }.plan(launches, waves.is_some(), waves, &mut Rng::keyed(1, &[])).marks;
            marks[1..marks.len() - 1].chunks(2).map(|pair| pair[1] - pair[0]).collect()
        };
        assert_eq!(spans(3, 2000, Some(21)), [42; 5]);
        assert_eq!(spans(3, 2000, Some(1000)), [(1000 - 190) / 5; 5]);
        // Of few launches more segments, as many as are worth while.
        assert_eq!((spans(2, 2000, None), spans(1, 660, None)), (vec![20; 6], vec![20; 5]));
        assert_eq!((LONG.waves(300.0, 2000.0), LONG.waves(1.0, 100.0)), (30.0, 2.0));
    }

    #[test]
    fn segments_are_whole_rows_and_begin_where_the_row_of_the_one_before_goes_on() {
        let plan = |row| Long { row, ..LONG }.plan(3, false, None, &mut Rng::keyed(1, &[]));
        let Plan { ranges, marks, .. } = plan(30);
        assert_eq!(marks[..4], [31, 61, 91, 131], "a row to settle and a row measured");
        for pair in ranges[..6].windows(2) {
            assert!(pair[1].start >= pair[0].end && pair[1].start % 30 == pair[0].end % 30, "{ranges:?}");
        }
        // Rows of many waves are not waited for, nor a grid that is one row.
        assert_eq!((plan(90).marks[1], plan(2000).marks[1]), (51, 51));
    }

    #[test]
    fn where_the_head_is_known_no_long_one_is_simulated_and_segments_alone_are_added() {
        let long = Long { ctas: 20_480, ..LONG };
        let first = |again| long.plan(1, again, None, &mut Rng::keyed(1, &[])).marks[0];
        assert_eq!((first(false), first(true)), (320, 20));
        let at = |cycles, warp_instructions, llc_misses| Reached { cycles, warp_instructions, llc_misses, values: vec![0] };
        let begun = |misses| Inside::begun(&[at(500.0, 100.0, misses), at(900.0, 200.0, misses)], &at(1000.0, 210.0, misses), 1000.0);
        assert_eq!(begun(1499.0), None, "its LLC was not full after the head");
        let known = inside(&[2.0; 4], 0.0, 10_110.0).unwrap();
        assert_eq!(begun(1500.0).unwrap().with(&known).cycles(10_110.0).0, 600.0 + 2.0 * 10_000.0);
    }

    #[test]
    fn a_launch_of_very_many_waves_has_a_longer_head() {
        let head = |waves: u64| Long { ctas: waves * 10, ..LONG }.head() / 10;
        assert_eq!([head(100), head(2048), head(1 << 20)], [2, 32, 128]);
    }

    #[test]
    fn a_segment_of_a_launch_that_streams_settles_until_the_llc_has_nothing_of_the_one_before() {
        // 10 sectors per CTA: 150 CTAs are one and a half times the LLC.
        let long = Long { sectors: 40_000.0, ctas: 4000, ..LONG };
        let marks = |waves: Option<u64>| long.plan(3, waves.is_some(), waves, &mut Rng::keyed(1, &[])).marks;
        assert_eq!(marks(Some(10))[..4], [150, 300, 320, 330 + 150]);
        assert_eq!(marks(None)[..3], [150, 300, 375], "half as many waves are measured as settle");
    }

    #[test]
    fn a_launch_that_streams_fills_the_llc_first_and_short_ones_are_not_worth_it() {
        assert_eq!(Long { sectors: 20_000.0, ..LONG }.head(), 150);
        assert_eq!(Long { sectors: 3_000.0, ..LONG }.head(), 2000 / 64);
        let worth = |ctas| Long { ctas, ..LONG }.is_worth_it();
        assert_eq!([worth(580), worth(570)], [true, false]);
        // As many CTAs as before, and in each of five segments 140 more, to settle.
        let streams = |ctas| Long { ctas, sectors: 10.0 * ctas as f64, ..LONG }.is_worth_it();
        assert_eq!([streams(2 * (150 + 5 * 180 + 20)), streams(2 * (150 + 5 * 180 + 20) - 2)], [true, false]);
        // 20,000 accesses of which half are hits: it takes twice as many CTAs to fill the LLC.
        let at = |llc_misses| Reached { llc_misses, ..Reached::default() };
        let streams = Long { sectors: 50_000.0, ctas: 5000, ..LONG };
        let corrected = streams.with_misses(&at(800.0)).unwrap();
        assert_eq!((corrected.head(), corrected.with_misses(&at(400.0))), (300, None));
        assert_eq!([1600.0, 1300.0, 1200.0].map(|misses| streams.settled_too_short(&at(misses))), [false, false, true]);
        assert!(!corrected.settled_too_short(&at(1.0)));
    }

    /// A launch whose spans take these cycles per instruction.
    fn inside(rates: &[f64], misses: f64, work: f64) -> Option<Inside> {
        let at = |cycles, warp_instructions| Reached {
            cycles,
            warp_instructions,
            llc_misses: misses * warp_instructions,
            values: vec![warp_instructions as u64],
        };
        let (mut cycles, mut done) = (500.0, 100.0);
        let mut marks = vec![at(cycles, done)];
        for rate in rates {
            for instructions in [50.0, 100.0] {
                (cycles, done) = (cycles + rate * instructions, done + instructions);
                marks.push(at(cycles, done));
            }
        }
        marks.push(at(cycles, done));
        Inside::of(&marks, &at(cycles + 300.0, done + 60.0), work, 1000.0)
    }

    #[test]
    fn head_and_tail_count_as_they_are_and_the_rest_at_the_mean_rate_of_the_spans() {
        let known = inside(&[2.0, 2.0, 2.0, 2.0], 0.0, 10_160.0).unwrap();
        assert_eq!((known.cycles(10_160.0), known.values()), ((800.0 + 20_000.0, 0.0, 3.0), (&[400][..], 400.0)));
        let known = inside(&[1.0, 2.0, 2.0, 3.0], 0.0, 10_160.0).unwrap();
        let (cycles, variance, _) = known.cycles(10_160.0);
        // The standard error of the mean of 1, 2, 2 and 3, times 10000 instructions.
        assert_eq!((cycles, variance.sqrt().round()), (20_800.0, 4082.0));
        assert_eq!(known.clone().with(&known).cycles(10_160.0).0, cycles);
    }

    #[test]
    fn spans_before_the_llc_is_full_are_part_of_the_head() {
        // A miss per instruction: full after 1500 instructions, before the tenth span.
        assert_eq!(inside(&[2.0; 12], 1.0, 1e6), None);
        let known = inside(&[2.0; 13], 1.0, 1e6).unwrap();
        assert_eq!(known.spans.len(), 4);
        // The launch fills it less than four times.
        assert_eq!(inside(&[2.0; 12], 1.0, 3900.0).unwrap().spans.len(), 12);
    }
}
