//! The address hash, which selects the LLC slice, and so the partition, of an address.

use std::fmt::Debug;
use std::sync::Arc;

/// An address hash.
///
/// *When it is called.* It is called for each slice lookup outside the chunk of the last lookup of the same SM, and whenever a partition
/// looks up its own addresses: any number of times.
///
/// *What it sees.* `plain`, the slice by the address bits alone, and `above`, the address bits above those that select it.
///
/// *What it may change.* Nothing: it has no state.
///
/// *What must hold.* For each `above`, different `plain` below `slices` give different slices below `slices`, so that no two addresses
/// share a location. The assembly of a machine calls [`AddressHash::breaks_at`] and rejects a hash that violates this condition.
pub trait AddressHash: Debug + Send + Sync {
    /// Returns the name of the hash, for messages.
    fn name(&self) -> &str;

    /// Returns the slice of an address; the chip has `slices` of them.
    fn slice(&self, plain: u64, above: u64, slices: u64) -> u64;

    /// Returns a value of the higher bits for which two slices coincide. It tries the values 0 to 255 and the 48-bit values with one or two
    /// bits set.
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

/// A user-defined address hash.
#[derive(Clone, Debug)]
pub struct UserHash(pub Arc<dyn AddressHash>);

/// Two hashes are equal if they are the same object.
impl PartialEq for UserHash {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for UserHash {}
