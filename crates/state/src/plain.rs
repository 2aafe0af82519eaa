//! Numbers, texts, tuples and other plain values.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::{Reader, State, StateError, Writer};

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl State for $number {
            #[inline]
            fn save(&self, to: &mut Writer) {
                to.raw(&self.to_le_bytes());
            }
            #[inline]
            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
                *self = Self::read(from)?;
                Ok(())
            }
            #[inline]
            fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
                let mut bytes = [0; size_of::<Self>()];
                bytes.copy_from_slice(from.raw(size_of::<Self>())?);
                Ok(Self::from_le_bytes(bytes))
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64);

/// Implements [`State`] for types that are saved as another type.
macro_rules! saved_as {
    ($($type:ty as $other:ty: $to:expr, $from:expr;)*) => {$(
        impl State for $type {
            #[inline]
            fn save(&self, to: &mut Writer) {
                let as_other: fn(&Self) -> $other = $to;
                as_other(self).save(to);
            }
            #[inline]
            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
                *self = Self::read(from)?;
                Ok(())
            }
            #[inline]
            fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
                let of_other: fn($other) -> Result<Self, StateError> = $from;
                of_other(<$other>::read(from)?)
            }
        }
    )*};
}

saved_as! {
    usize as u64: |value| *value as u64, |value| usize::try_from(value).map_err(|_| StateError::new(format!("{value} does not fit this host's words")));
    isize as i64: |value| *value as i64, |value| isize::try_from(value).map_err(|_| StateError::new(format!("{value} does not fit this host's words")));
    bool as u8: |value| u8::from(*value), |value| match value {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(StateError::new(format!("the saved state has {other} in place of 0 or 1"))),
    };
    char as u32: |value| u32::from(*value), |value| char::from_u32(value).ok_or_else(|| StateError::new(format!("{value:#x} is no character")));
    String as Vec<u8>: |value| value.as_bytes().to_vec(), |value| String::from_utf8(value).map_err(|_| StateError::new("a text is not UTF-8"));
    &'static str as Vec<u8>: |value| value.as_bytes().to_vec(), |value| {
        String::from_utf8(value).map(intern).map_err(|_| StateError::new("a text is not UTF-8"))
    };
}

/// Returns the text with static lifetime; for names, of which there are few.
fn intern(text: String) -> &'static str {
    static INTERNED_TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = INTERNED_TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(text.as_str()) {
        return known;
    }
    let text: &'static str = String::leak(text);
    known.insert(text);
    text
}

impl<T: ?Sized> State for PhantomData<T> {
    fn save(&self, _to: &mut Writer) {}
    fn load(&mut self, _from: &mut Reader<'_>) -> Result<(), StateError> {
        Ok(())
    }
    fn read(_from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Self)
    }
}

impl<T: State> State for Reverse<T> {
    fn save(&self, to: &mut Writer) {
        self.0.save(to);
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.0.load(from)
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        T::read(from).map(Self)
    }
}

impl<T: State> State for Range<T> {
    fn save(&self, to: &mut Writer) {
        self.start.save(to);
        self.end.save(to);
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.start.load(from)?;
        self.end.load(from)
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(T::read(from)?..T::read(from)?)
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),*))*) => {$(
        impl<$($name: State),*> State for ($($name,)*) {
            fn save(&self, to: &mut Writer) {
                let _ = &to;
                $(self.$index.save(to);)*
            }
            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
                let _ = &from;
                $(self.$index.load(from)?;)*
                Ok(())
            }
            fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
                let _ = &from;
                Ok(($($name::read(from)?,)*))
            }
        }
    )*};
}

tuples! {
    ()
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}

/// The type has no values.
impl State for Infallible {
    fn save(&self, _to: &mut Writer) {
        match *self {}
    }
    fn load(&mut self, _from: &mut Reader<'_>) -> Result<(), StateError> {
        match *self {}
    }
}
