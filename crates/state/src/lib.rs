//! Checkpoint state: the [`State`] of a value is written as bytes and loaded into a newly built value.
//!
//! A machine is built from its configuration as at the start of a run, and then loaded *in place*: values that follow from the
//! configuration are never stored. `#[derive(State)]` stores every field except fields with `#[state(fixed)]`, so that a field without a
//! mark is stored, and a field whose type has no state does not compile.
//!
//! Inputs: values. Outputs: bytes that are the same on every host: integers at their width in little-endian order, lengths as 64 bits,
//! variants as 16 bits. A shared value ([`std::sync::Arc`]) is written once and is shared again after loading. Invariant: a value that is
//! saved, loaded and saved again gives the same bytes. The bytes contain no schema: a checkpoint file must also hold the version of the
//! simulator.
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

/// State of a value in a checkpoint.
pub trait State {
    /// Appends everything that the configuration does not determine.
    fn save(&self, to: &mut Writer);

    /// Loads the bytes that [`State::save`] wrote into a value that was built from the same configuration.
    ///
    /// # Errors
    /// Fails if the bytes do not fit the value. The value is then partly loaded and must not be used.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError>;

    /// Creates a value from the bytes that [`State::save`] wrote.
    ///
    /// # Errors
    /// Fails if the bytes are not of this type, or if the type has fixed parts, which need the configuration.
    fn read(from: &mut Reader<'_>) -> Result<Self, StateError>
    where
        Self: Sized,
    {
        let _ = from;
        Err(StateError::missing_part::<Self>())
    }
}

/// The reason why saved state cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StateError(String);

impl StateError {
    /// Creates an error with a message for the user.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Creates an error for a part that exists only if the configuration builds it.
    pub fn missing_part<T>() -> Self {
        Self(format!("the saved state has more parts of the type {} than the machine", std::any::type_name::<T>()))
    }

    /// Creates an error for a number without a variant.
    pub fn unknown_variant<T>(tag: u16) -> Self {
        Self(format!("the saved state has variant {tag} of {}, which has fewer", std::any::type_name::<T>()))
    }
}

/// Checks that each linked list that begins at one of `starts` ends and stays among the `elements` elements, so that a forged list cannot
/// cause an endless loop. `next` returns the successor of an element.
///
/// # Errors
/// Fails if a list leads back to itself or out of the elements.
pub fn check_lists_end(
    elements: usize,
    starts: impl IntoIterator<Item = usize>,
    next: impl Fn(usize) -> Option<usize>,
) -> Result<(), StateError> {
    // The walk, counted from 1, that reached each element first; a later walk ends at such an element.
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

/// Writes saved state as bytes, and shared values once.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    /// Numbers of the shared values, by address and type.
    shared: BTreeMap<(usize, TypeId), u32>,
    /// Addresses of the values that their first visitor has saved.
    visited: BTreeSet<usize>,
}

impl Writer {
    /// Creates a writer that appends to existing bytes.
    pub fn after(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Returns the written bytes and discards the table of shared values.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends bytes without encoding.
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

    /// Returns true on the first visit of a value, by its address. Several owners may visit a common source; the first saves it.
    pub fn first_visit<T: ?Sized>(&mut self, to: &T) -> bool {
        self.visited.insert(std::ptr::from_ref(to).cast::<()>() as usize)
    }

    /// Returns the number of the shared value of this type at the address, and true if it is new and must be written.
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
    /// Creates a reader for the bytes of a [`Writer`].
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, shared: Vec::new(), visited: BTreeSet::new() }
    }

    /// Returns true on the first visit of a value, like [`Writer::first_visit`]; values must be loaded in the order of saving.
    pub fn first_visit<T: ?Sized>(&mut self, to: &T) -> bool {
        self.visited.insert(std::ptr::from_ref(to).cast::<()>() as usize)
    }

    /// Returns true if all bytes have been read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the next `count` bytes without decoding.
    ///
    /// # Errors
    /// Fails if fewer bytes are left.
    #[inline]
    pub fn raw(&mut self, count: usize) -> Result<&'a [u8], StateError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else { return Err(ends_early()) };
        self.bytes = rest;
        Ok(taken)
    }

    /// Reads the number of a variant.
    ///
    /// # Errors
    /// Fails if fewer than two bytes are left.
    #[inline]
    pub fn tag(&mut self) -> Result<u16, StateError> {
        u16::read(self)
    }

    /// Reads the length of a list whose elements take at least `least` bytes each.
    ///
    /// # Errors
    /// Fails if the remaining bytes are too few for this length.
    #[inline]
    pub fn length(&mut self, least: usize) -> Result<usize, StateError> {
        let length = u64::read(self)?;
        match usize::try_from(length) {
            Ok(length) if length.saturating_mul(least) <= self.bytes.len() => Ok(length),
            _ => Err(StateError::new(format!("the saved state has a list of {length} elements, but ends before them"))),
        }
    }

    /// # Errors
    /// Fails if bytes are left, so that the state belongs to a different value.
    pub fn finish(self) -> Result<(), StateError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        Err(StateError::new(format!("{} bytes of saved state are left over", self.bytes.len())))
    }
}
