//! State that goes into checkpoints: what [`State`] says of a type is written as bytes and loaded into a place that was built anew.
//!
//! A machine is built from its configuration exactly as at the start of a run, and then loaded *in place*: what follows from the configuration is
//! never stored. `#[derive(State)]` stores every field but those that say `#[state(fixed)]`, so that a field nobody thought of is stored, and
//! one whose type has no state does not compile.
//!
//! In: values. Out: bytes, the same on every host: integers of their own width with the low byte first, lengths as 64 bits, variants as 16 bits.
//! What several places share ([`std::sync::Arc`]) is written once and shared again after loading. Invariant: a value that is saved, loaded and saved again
//! gives the same bytes. The bytes carry no description of themselves: whoever keeps them keeps the version of the simulator with them.
#![forbid(unsafe_code)]

extern crate self as warpshard_state;

mod collections;
mod plain;
mod shared;
#[cfg(test)]
mod tests;

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet};

pub use warpshard_state_derive::State;

/// What is written into a checkpoint.
pub trait State {
    /// Appends everything that the configuration does not determine.
    fn save(&self, to: &mut Writer);

    /// Takes what [`State::save`] wrote into a place that was built with the same configuration.
    ///
    /// # Errors
    /// When the bytes do not fit the place. It is then partly loaded, and must not be used.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError>;

    /// Makes a new value of what [`State::save`] wrote.
    ///
    /// # Errors
    /// When the bytes are none of this type, or the type has parts that only its configuration knows.
    fn read(from: &mut Reader<'_>) -> Result<Self, StateError>
    where
        Self: Sized,
    {
        let _ = from;
        Err(StateError::built::<Self>())
    }
}

/// Why saved state cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StateError(String);

impl StateError {
    /// An error with a message for the user.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// A part that only exists where the configuration built it.
    pub fn built<T>() -> Self {
        Self(format!("the saved state has more parts of the type {} than the machine", std::any::type_name::<T>()))
    }

    /// A number that stands for no variant.
    pub fn variant<T>(tag: u16) -> Self {
        Self(format!("the saved state has variant {tag} of {}, which has fewer", std::any::type_name::<T>()))
    }
}

/// Checks of linked lists among `elements` that each walk from one of `starts` comes to an end and stays among the elements, so that nobody follows a
/// forged list for ever. `next` gives the element after another.
///
/// # Errors
/// When a list leads back to itself or out of the elements.
pub fn lists_end(
    elements: usize,
    starts: impl IntoIterator<Item = usize>,
    next: impl Fn(usize) -> Option<usize>,
) -> Result<(), StateError> {
    // The walk, counted from 1, that came to each element first; what an earlier walk came to ends.
    let mut seen = vec![0_u32; elements];
    for (walk, start) in (1..).zip(starts) {
        let mut at = Some(start);
        while let Some(element) = at {
            let seen = seen
                .get_mut(element)
                .ok_or_else(|| StateError::new(format!("a saved list of {elements} elements leads to number {element}")))?;
            if *seen == walk {
                return Err(StateError::new(format!("a saved list of {elements} elements leads back to itself at number {element}")));
            }
            if *seen != 0 {
                break;
            }
            *seen = walk;
            at = next(element);
        }
    }
    Ok(())
}

/// The bytes of saved state, and what was written once for several places.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    /// Numbers of what is shared, by its address while it is saved.
    shared: BTreeMap<(usize, TypeId), u32>,
    /// Addresses of what is saved by whoever comes to it first.
    visited: BTreeSet<usize>,
}

impl Writer {
    /// Appends to bytes that are there.
    pub fn after(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// The bytes so far; what was shared is forgotten.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends bytes as they are.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends the number of a variant.
    #[inline]
    pub fn tag(&mut self, tag: u16) {
        self.raw(&tag.to_le_bytes());
    }

    /// Appends a length.
    #[inline]
    pub fn length(&mut self, length: usize) {
        self.raw(&(length as u64).to_le_bytes());
    }

    /// Whether somebody comes for the first time to what lies at an address, as several do to a common source.
    pub fn first_visit<T: ?Sized>(&mut self, to: &T) -> bool {
        self.visited.insert(std::ptr::from_ref(to).cast::<()>() as usize)
    }

    /// The number of what lies at an address as this type, and whether it has to be written because this is the first time.
    fn share(&mut self, address: usize, of: TypeId) -> (u32, bool) {
        let next = self.shared.len() as u32;
        let number = *self.shared.entry((address, of)).or_insert(next);
        (number, number == next)
    }
}

/// Reads saved state.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    shared: Vec<Option<Box<dyn Any>>>,
    visited: BTreeSet<usize>,
}

#[cold]
fn ends_early() -> StateError {
    StateError::new("the saved state ends too early")
}

impl<'a> Reader<'a> {
    /// From the beginning of what a [`Writer`] wrote.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, shared: Vec::new(), visited: BTreeSet::new() }
    }

    /// As [`Writer::first_visit`], for what is loaded in the same order.
    pub fn first_visit<T: ?Sized>(&mut self, to: &T) -> bool {
        self.visited.insert(std::ptr::from_ref(to).cast::<()>() as usize)
    }

    /// Whether all has been read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next bytes as they are.
    ///
    /// # Errors
    /// When there are fewer.
    #[inline]
    pub fn raw(&mut self, count: usize) -> Result<&'a [u8], StateError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else { return Err(ends_early()) };
        self.bytes = rest;
        Ok(taken)
    }

    /// The number of a variant.
    ///
    /// # Errors
    /// When nothing is left.
    #[inline]
    pub fn tag(&mut self) -> Result<u16, StateError> {
        u16::read(self)
    }

    /// A length of elements that take at least `least` bytes each.
    ///
    /// # Errors
    /// When so many cannot follow.
    #[inline]
    pub fn length(&mut self, least: usize) -> Result<usize, StateError> {
        let length = u64::read(self)?;
        match usize::try_from(length) {
            Ok(length) if length.saturating_mul(least) <= self.bytes.len() => Ok(length),
            _ => Err(StateError::new(format!("the saved state has a list of {length} elements, which do not follow"))),
        }
    }

    /// # Errors
    /// When bytes are left: the state is that of something else.
    pub fn finish(self) -> Result<(), StateError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        Err(StateError::new(format!("{} bytes of saved state are left over", self.bytes.len())))
    }
}
