//! Shared values: each is written once and is shared again after loading.

use std::any::TypeId;
use std::sync::Arc;

use super::{Reader, State, StateError, Writer};

impl Reader<'_> {
    /// Returns the shared value with the next saved number; `read` creates it at its first occurrence.
    fn shared<T: Clone + 'static>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, StateError>) -> Result<T, StateError> {
        let number = u32::read(self)? as usize;
        if number == self.shared.len() {
            self.shared.push(None);
            let made = read(self)?;
            self.shared[number] = Some(Box::new(made.clone()));
            return Ok(made);
        }
        let known = self.shared.get(number).and_then(Option::as_ref).and_then(|known| known.downcast_ref::<T>());
        known.cloned().ok_or_else(|| StateError::new(format!("the saved state refers to a shared part {number} of another kind")))
    }
}

impl<T: State + 'static> State for Arc<T> {
    fn save(&self, to: &mut Writer) {
        let (number, new) = to.share(Self::as_ptr(self) as usize, TypeId::of::<Self>());
        number.save(to);
        if new {
            (**self).save(to);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        *self = Self::read(from)?;
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        from.shared(|from| T::read(from).map(Self::new))
    }
}

impl<T: State + 'static> State for Arc<[T]> {
    fn save(&self, to: &mut Writer) {
        let (number, new) = to.share(Self::as_ptr(self).cast::<T>() as usize, TypeId::of::<Self>());
        number.save(to);
        if new {
            to.length(self.len());
            self.iter().for_each(|element| element.save(to));
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        *self = Self::read(from)?;
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        from.shared(|from| Vec::read(from).map(Into::into))
    }
}
