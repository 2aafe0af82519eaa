//! Lists, maps and sets. Lists load existing elements in place and create missing elements.
#![expect(clippy::disallowed_types, reason = "state is saved of whatever a map hashes with; it is written in the order of its keys")]

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};

use warpshard_host::Slots;

use super::{Reader, State, StateError, Writer};

/// Minimum number of bytes of an element of type `T`.
fn min_bytes<T>() -> usize {
    usize::from(size_of::<T>() > 0)
}

/// Saves the number of elements and each element.
fn save_all<'a, T: State + 'a>(list: impl ExactSizeIterator<Item = &'a T>, to: &mut Writer) {
    to.length(list.len());
    list.for_each(|element| element.save(to));
}

/// Creates the elements that [`save_all`] saved.
fn read_all<T: State, L: FromIterator<T>>(from: &mut Reader<'_>) -> Result<L, StateError> {
    let length = from.length(0)?;
    (0..length).map(|_| T::read(from)).collect()
}

/// Implements [`State`] for lists that grow at their end, by a method of the given name.
macro_rules! list {
    ($list:ident, $push:ident) => {
        impl<T: State> State for $list<T> {
            fn save(&self, to: &mut Writer) {
                save_all(self.iter(), to);
            }

            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
                let length = from.length(0)?;
                self.truncate(length);
                self.iter_mut().try_for_each(|element| element.load(from))?;
                while self.len() < length {
                    self.$push(T::read(from)?);
                }
                Ok(())
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
                read_all(from)
            }
        }
    };
}

list!(Vec, push);
list!(VecDeque, push_back);

/// Loads like a vector; a list of the same length keeps its memory.
impl<T: State> State for Box<[T]> {
    fn save(&self, to: &mut Writer) {
        save_all(self.iter(), to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let mut list = std::mem::take(self).into_vec();
        let loaded = list.load(from);
        *self = list.into();
        loaded
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Vec::read(from).map(Self::from)
    }
}

impl<T: State, const N: usize> State for [T; N] {
    fn save(&self, to: &mut Writer) {
        self.iter().for_each(|element| element.save(to));
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.iter_mut().try_for_each(|element| element.load(from))
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let list = (0..N).map(|_| T::read(from)).collect::<Result<Vec<_>, _>>()?;
        list.try_into().map_err(|_| StateError::new(format!("a list of {N} elements has another length")))
    }
}

impl<T: State> State for Option<T> {
    fn save(&self, to: &mut Writer) {
        self.is_some().save(to);
        if let Some(value) = self {
            value.save(to);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        match (bool::read(from)?, &mut *self) {
            (true, Some(value)) => value.load(from)?,
            (true, None) => *self = Some(T::read(from)?),
            (false, _) => *self = None,
        }
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl<T: State> State for Box<T> {
    fn save(&self, to: &mut Writer) {
        (**self).save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        (**self).load(from)
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        T::read(from).map(Self::new)
    }
}

impl<T: State> State for Slots<T> {
    fn save(&self, to: &mut Writer) {
        save_all(self.as_slice().iter(), to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let length = from.length(min_bytes::<T>())?;
        if length != self.count() {
            *self = read_slots(length, from)?;
            return Ok(());
        }
        (0..length as u32).try_for_each(|place| self.get_mut(place).load(from))
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let length = from.length(min_bytes::<T>())?;
        read_slots(length, from)
    }
}

fn read_slots<T: State>(length: usize, from: &mut Reader<'_>) -> Result<Slots<T>, StateError> {
    let list = (0..length).map(|_| T::read(from)).collect::<Result<Vec<_>, _>>()?;
    Slots::of(list.into()).ok_or_else(|| StateError::new(format!("{length} places are no power of two")))
}

impl<K: State + Ord, V: State> State for BTreeMap<K, V> {
    fn save(&self, to: &mut Writer) {
        to.length(self.len());
        for (key, value) in self {
            key.save(to);
            value.save(to);
        }
    }

    /// Creates all elements anew.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        *self = Self::read(from)?;
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        read_all::<(K, V), _>(from)
    }
}

impl<K: State + Ord> State for BTreeSet<K> {
    fn save(&self, to: &mut Writer) {
        save_all(self.iter(), to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        *self = Self::read(from)?;
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        read_all::<K, _>(from)
    }
}

impl<K: State + Ord + Hash, V: State, H: BuildHasher + Default> State for HashMap<K, V, H> {
    fn save(&self, to: &mut Writer) {
        let mut all: Vec<(&K, &V)> = self.iter().collect();
        all.sort_unstable_by_key(|(key, _)| *key);
        to.length(all.len());
        for (key, value) in all {
            key.save(to);
            value.save(to);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        *self = Self::read(from)?;
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        read_all::<(K, V), _>(from)
    }
}

impl<K: State + Ord + Hash, H: BuildHasher + Default> State for HashSet<K, H> {
    fn save(&self, to: &mut Writer) {
        let mut all: Vec<&K> = self.iter().collect();
        all.sort_unstable();
        save_all(all.into_iter(), to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        *self = Self::read(from)?;
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        read_all::<K, _>(from)
    }
}

impl<T: State + Ord> State for BinaryHeap<T> {
    /// The elements are in the order of the heap's internal list, which a heap built from it keeps, so that equal elements leave in the
    /// same order.
    fn save(&self, to: &mut Writer) {
        save_all(self.iter(), to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        *self = Self::read(from)?;
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Vec::read(from).map(Self::from)
    }
}
