//! Counts of unusual but accepted input.
//!
//! Each CTA carries separate counts. The counts are added up when the CTA is requested, so the sums of a run that stops early do not depend
//! on how far decoding ran ahead.

/// Index of the note on accesses written as base and stride although their lanes have gaps.
pub(super) const GAPS_NOTE: usize = 0;
/// Index of the note on warps that their CTA does not list.
pub(super) const UNLISTED_NOTE: usize = 1;
/// Number of fixed notes; the notes of the static table follow them.
pub(super) const FIXED_NOTES: usize = 2;

const FIXED_TEXTS: [&str; FIXED_NOTES] = [
    "base and stride written for lanes with gaps: treated as one step per active lane",
    "warps that their CTA does not list: they have nothing to execute",
];

/// Occurrences of each note: first the fixed notes, then the notes of the static instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(super) struct NoteTally(Vec<u64>);

impl NoteTally {
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

    /// Returns the text and count of each note that occurred: first the fixed notes, then `notes` of the static instructions.
    pub(super) fn descriptions(&self, notes: &[String]) -> Vec<(String, u64)> {
        let texts = FIXED_TEXTS.into_iter().chain(notes.iter().map(String::as_str));
        let counted = texts.zip(&self.0).filter(|&(_, &times)| times > 0);
        counted.map(|(text, &times)| (text.to_string(), times)).collect()
    }
}
