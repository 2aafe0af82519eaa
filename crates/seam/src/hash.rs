//! The address hash: which LLC slice, and so which partition, has an address.

use std::fmt::Debug;
use std::sync::Arc;

/// An address hash.
///
/// *When it is called.* For each lookup of a slice in another chunk than the last one of the same SM, and whenever a partition looks up its own
/// addresses: any number of times.
///
/// *What it sees.* `plain`, the slice by the address bits alone, and `above`, the address bits above those that select it.
///
/// *What it may change.* Nothing: it has no state.
///
/// *What must hold.* For each `above`, different `plain` below `slices` give different slices below `slices`, so that no two addresses share a location.
/// The assembly of a machine tries [`AddressHash::breaks_at`] and refuses a hash that breaks this.
pub trait AddressHash: Debug + Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// The slice of an address, of `slices` on the chip.
    fn slice(&self, plain: u64, above: u64, slices: u64) -> u64;

    /// A value of the bits above for which two slices would be one, among 0 to 255 and those with one or two bits of 48 set.
    fn breaks_at(&self, slices: u64) -> Option<u64> {
        let few = (0..48).flat_map(|high| (0..=high).map(move |low| 1u64 << high | 1 << low));
        (0..256).chain(few).find(|above| {
            let mut seen = vec![false; slices as usize];
            (0..slices).any(|plain| {
                let slice = self.slice(plain, *above, slices);
                seen.get_mut(slice as usize).is_none_or(|seen| std::mem::replace(seen, true))
            })
        })
    }
}

/// An address hash of the calling program.
#[derive(Clone, Debug)]
pub struct OwnHash(pub Arc<dyn AddressHash>);

/// Whether they are the same.
impl PartialEq for OwnHash {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OwnHash {}
