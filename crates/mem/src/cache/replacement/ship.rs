//! Signature-based hit prediction (SHiP, Wu et al., MICRO 2011) over SRRIP of two bits.
//!
//! Each line remembers the signature of the read that brought it, and whether it was found again. A table counts by signature: up when a line
//! is found, down when one leaves that never was. Lines of a signature whose count is 0 come with the prediction of a distant interval and so
//! leave first; the others come as under SRRIP. The signature is that of the instruction (SHiP-PC, Section 3.1), and where no instruction is
//! known that of the memory region of 16 KiB (SHiP-Mem).
//!
//! Size of the table and of its counters: Section 4.1 of the paper. The paper does not say where the counters begin; here they begin at 1, so that
//! a signature is distant only after one of its lines went unused.

use warpshard_seam::{Access, CacheSite, Place, Replacement};

/// Needed in the distant future, in the far future, and soon.
const DISTANT: u8 = 3;
const LONG: u8 = 2;
const SOON: u8 = 0;

/// Counters of the table, and the most that one of three bits counts.
const ENTRIES: usize = 1 << 14;
const MOST: u8 = 7;
/// Bytes of a memory region, as bits of an address.
const REGION: u32 = 14;

/// What is kept of a line.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Line {
    signature: u16,
    interval: u8,
    /// Whether the way holds a line, and whether that line has been hit since its fill.
    here: bool,
    found: bool,
}

const NO_LINE: Line = Line { signature: 0, interval: DISTANT, here: false, found: false };

/// The lines and the table.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Ship {
    ways: u32,
    lines: Box<[Line]>,
    counts: Box<[u8]>,
}

/// The signature of a request.
fn signature(access: &Access) -> u16 {
    let region = access.addr.0 >> REGION;
    let bits = access.identity.pc.map_or(region ^ region >> 14 ^ region >> 28, |pc| u64::from(pc ^ pc >> 14));
    (bits % ENTRIES as u64) as u16
}

impl Ship {
    pub(super) fn new(site: &CacheSite) -> Self {
        Self { ways: site.ways, lines: vec![NO_LINE; (site.sets * site.ways) as usize].into(), counts: vec![1; ENTRIES].into() }
    }

    fn line(&mut self, at: Place) -> &mut Line {
        &mut self.lines[(at.set * self.ways + at.way) as usize]
    }
}

impl Replacement for Ship {
    fn name(&self) -> &str {
        "ship"
    }

    fn victim(&self, access: &Access, ways: &mut dyn Iterator<Item = u32>) -> Option<u32> {
        let first = access.set * self.ways;
        // Of equal ones, the first.
        ways.min_by_key(|way| DISTANT - self.lines[(first + way) as usize].interval)
    }

    fn hit(&mut self, at: Place, _: &Access, sector: bool) {
        // A sector that is missing or on its way is part of the first use of the line.
        if !sector {
            return;
        }
        let line = self.line(at);
        (line.interval, line.found) = (SOON, true);
        let count = &mut self.counts[usize::from(line.signature)];
        *count = (*count + 1).min(MOST);
    }

    fn fill(&mut self, at: Place, access: &Access) {
        let signature = signature(access);
        let interval = if self.counts[usize::from(signature)] == 0 { DISTANT } else { LONG };
        *self.line(at) = Line { signature, interval, here: true, found: false };
    }

    fn evict(&mut self, at: Place) {
        let Line { signature, interval, here, found } = std::mem::replace(self.line(at), NO_LINE);
        if here && !found {
            let count = &mut self.counts[usize::from(signature)];
            *count = count.saturating_sub(1);
        }
        // The others age by as much as the victim lacked of the longest interval.
        let first = (at.set * self.ways) as usize;
        let others = &mut self.lines[first..first + self.ways as usize];
        others.iter_mut().for_each(|line| line.interval = (line.interval + DISTANT - interval).min(DISTANT));
    }

    fn clear(&mut self) {
        self.lines.fill(NO_LINE);
    }
}
