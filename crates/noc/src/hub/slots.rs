//! Requests that wait for answers of the GPU's memory: who asked, under which name, and which sectors are still to come.

use warpshard_base::{GpuId, PortId, SectorMask};

/// Who asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Asker {
    /// Its GPU.
    pub(super) gpu: GpuId,
    /// Its port there.
    pub(super) port: PortId,
    /// Its name of the request.
    pub(super) token: u32,
}

/// A place for each request.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Slots {
    places: Vec<(Asker, SectorMask)>,
    free: Vec<u32>,
    most: usize,
}

impl Slots {
    pub(super) fn new(most: u32) -> Self {
        Self { places: Vec::new(), free: Vec::new(), most: most as usize }
    }

    /// Whether a request may be sent.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.places.len() < self.most
    }

    /// Requests that wait.
    pub(super) fn used(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Books a request; returns its name.
    pub(super) fn book(&mut self, asker: Asker, sectors: SectorMask) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = (asker, sectors);
                place
            }
            None => {
                self.places.push((asker, sectors));
                self.places.len() as u32 - 1
            }
        }
    }

    /// An answer with these sectors came; returns who asked, and whether that was all of it.
    pub(super) fn answer(&mut self, name: u32, sectors: SectorMask) -> (Asker, bool) {
        let (asker, left) = &mut self.places[name as usize];
        debug_assert!(left.0 != 0, "an answer to nobody: {name}");
        left.0 &= !sectors.0;
        let (asker, whole) = (*asker, left.0 == 0);
        if whole {
            self.free.push(name);
        }
        (asker, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_all_sectors_came() {
        let mut slots = Slots::new(1);
        let asker = Asker { gpu: GpuId(3), port: PortId(7), token: 99 };
        let name = slots.book(asker, SectorMask(0b1010));
        assert!(!slots.has_room() && slots.used() == 1);
        assert_eq!(slots.answer(name, SectorMask(0b0010)), (asker, false));
        assert_eq!(slots.answer(name, SectorMask(0b1000)), (asker, true));
        assert!(slots.has_room() && slots.used() == 0);
    }
}
