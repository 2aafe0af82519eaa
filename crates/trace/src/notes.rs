//! Counts of what was accepted though unusual.
//!
//! A CTA carries its own counts and they are added up when it is taken, so that the sums of a run that stops early do not
//! depend on how far decoding ran ahead.

/// Place of accesses written as base and stride though their lanes have gaps.
pub(super) const GAPS: usize = 0;
/// Place of warps that their CTA does not list.
pub(super) const UNLISTED: usize = 1;
/// Places before those of the table's own notes.
pub(super) const FIXED: usize = 2;

const TEXTS: [&str; FIXED] = [
    "base and stride written for lanes with gaps: taken as one step per active lane",
    "warps that their CTA does not list: they have nothing to execute",
];

/// How often each note occurred: the fixed places, then the notes of the static instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Tally(Vec<u64>);

impl Tally {
    /// Adds the counts of a CTA, if it has any.
    pub(super) fn add(&mut self, counts: Option<&[u64]>) {
        let counts = counts.unwrap_or_default();
        if self.0.len() < counts.len() {
            self.0.resize(counts.len(), 0);
        }
        for (sum, times) in self.0.iter_mut().zip(counts) {
            *sum += times;
        }
    }

    /// The notes that occurred, in words: the fixed ones, and `notes` of the static instructions.
    pub(super) fn described(&self, notes: &[String]) -> Vec<(String, u64)> {
        let texts = TEXTS.into_iter().chain(notes.iter().map(String::as_str));
        let counted = texts.zip(&self.0).filter(|&(_, &times)| times > 0);
        counted.map(|(text, &times)| (text.to_string(), times)).collect()
    }
}
