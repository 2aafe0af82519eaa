//! Signature-based hit prediction (SHiP, Wu et al., MICRO 2011) over SRRIP of two bits.
//!
//! Each line stores the signature of the read that filled it, and whether it was hit later. A table has a counter per signature, which is
//! incremented by a hit of a line and decremented by the eviction of a line without hits. Lines of a signature with counter 0 are inserted
//! with a distant interval and are therefore evicted first; other lines are inserted as under SRRIP. The signature is that of the
//! instruction (SHiP-PC, Section 3.1), or of the memory region of 16 KiB if no instruction is known (SHiP-Mem).
//!
//! The sizes of the table and of its counters are from Section 4.1 of the paper. The paper does not state the initial value of the
//! counters; here it is 1, so that a signature becomes distant only after one of its lines was evicted without hits.

use warpshard_seam::{Access, CacheSite, LinePosition, Replacement};

/// The predicted intervals: needed in the distant future, in the far future, and soon.
const DISTANT_INTERVAL: u8 = 3;
const LONG_INTERVAL: u8 = 2;
const NEAR_IMMEDIATE_INTERVAL: u8 = 0;

/// Counters in the table, and the largest value of a counter of three bits.
const TABLE_ENTRIES: usize = 1 << 14;
const COUNTER_MAX: u8 = 7;
/// Address bits within a memory region.
const REGION_BITS: u32 = 14;

/// The state of a line.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct ShipLine {
    signature: u16,
    interval: u8,
    /// True if the way holds a line, and true if the line has been hit since its fill.
    holds_line: bool,
    was_hit: bool,
}

const NO_LINE: ShipLine = ShipLine { signature: 0, interval: DISTANT_INTERVAL, holds_line: false, was_hit: false };

/// The SHiP policy: lines and table of counters.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Ship {
    ways: u32,
    lines: Box<[ShipLine]>,
    counts: Box<[u8]>,
}

/// Returns the signature of a request.
fn signature(access: &Access) -> u16 {
    let region = access.addr.0 >> REGION_BITS;
    let bits = access.identity.pc.map_or(region ^ region >> 14 ^ region >> 28, |pc| u64::from(pc ^ pc >> 14));
    (bits % TABLE_ENTRIES as u64) as u16
}

impl Ship {
    pub(super) fn new(site: &CacheSite) -> Self {
        Self { ways: site.ways, lines: vec![NO_LINE; (site.sets * site.ways) as usize].into(), counts: vec![1; TABLE_ENTRIES].into() }
    }

    fn line(&mut self, at: LinePosition) -> &mut ShipLine {
        &mut self.lines[(at.set * self.ways + at.way) as usize]
    }
}

impl Replacement for Ship {
    fn name(&self) -> &str {
        "ship"
    }

    fn victim(&self, access: &Access, ways: &mut dyn Iterator<Item = u32>) -> Option<u32> {
        let first = access.set * self.ways;
        // Among equal intervals, the first way is selected.
        ways.min_by_key(|way| DISTANT_INTERVAL - self.lines[(first + way) as usize].interval)
    }

    fn hit(&mut self, at: LinePosition, _: &Access, sector: bool) {
        // An access to a missing or outstanding sector belongs to the first use of the line.
        if !sector {
            return;
        }
        let line = self.line(at);
        (line.interval, line.was_hit) = (NEAR_IMMEDIATE_INTERVAL, true);
        let count = &mut self.counts[usize::from(line.signature)];
        *count = (*count + 1).min(COUNTER_MAX);
    }

    fn fill(&mut self, at: LinePosition, access: &Access) {
        let signature = signature(access);
        let interval = if self.counts[usize::from(signature)] == 0 { DISTANT_INTERVAL } else { LONG_INTERVAL };
        *self.line(at) = ShipLine { signature, interval, holds_line: true, was_hit: false };
    }

    fn evict(&mut self, at: LinePosition) {
        let ShipLine { signature, interval, holds_line: here, was_hit: found } = std::mem::replace(self.line(at), NO_LINE);
        if here && !found {
            let count = &mut self.counts[usize::from(signature)];
            *count = count.saturating_sub(1);
        }
        // The other lines age by the difference between the victim's interval and the longest interval.
        let first = (at.set * self.ways) as usize;
        let others = &mut self.lines[first..first + self.ways as usize];
        others.iter_mut().for_each(|line| line.interval = (line.interval + DISTANT_INTERVAL - interval).min(DISTANT_INTERVAL));
    }

    fn clear(&mut self) {
        self.lines.fill(NO_LINE);
    }
}
