//! Addresses of buffers in device memory, and their initial contents.

use super::super::contents;
use super::super::error::ProgramError;
use super::super::memory::{AddressRanges, Memory};
use super::super::schema::Contents;
use super::super::{DeviceBuffer, Program};

impl Program {
    fn placement_problem(&self, buffer: &DeviceBuffer, found: String) -> ProgramError {
        ProgramError::new(&self.file, 0, format!("buffer `{}` cannot be made", buffer.name)).found(found)
    }

    /// Returns the bytes of a buffer before the first launch.
    pub(in super::super) fn contents(&self, buffer: &DeviceBuffer) -> Result<Vec<u8>, ProgramError> {
        self.bytes(buffer, &buffer.contents)
    }

    /// Converts contents of a buffer to bytes.
    pub(in super::super) fn bytes(&self, buffer: &DeviceBuffer, contents: &Contents) -> Result<Vec<u8>, ProgramError> {
        let origin = (self.folder.as_path(), self.parameters.as_slice());
        contents::bytes(contents, buffer.element, buffer.count, origin).map_err(|found| self.placement_problem(buffer, found))
    }

    /// Returns the addresses of the buffers, then of the listing's variables.
    pub(super) fn layout(&self) -> Result<Vec<u64>, ProgramError> {
        let mut layout = AddressRanges::default();
        let mut addresses = Vec::with_capacity(self.buffers.len() + self.globals.len());
        for buffer in &self.buffers {
            let bytes = buffer.count as u64 * buffer.element.bytes() as u64;
            let place = match buffer.address {
                None => layout.reserve(bytes),
                Some(address) if layout.reserve_at(address, bytes) => address,
                Some(address) => {
                    let error = self.placement_problem(buffer, format!("address {address:#x}"));
                    return Err(error.expected("an address range without another buffer"));
                }
            };
            addresses.push(place);
        }
        addresses.extend(self.globals.iter().map(|(_, bytes)| layout.reserve(bytes.len() as u64)));
        Ok(addresses)
    }

    /// Returns device memory in its state before the first launch.
    pub(in super::super) fn memory(&self) -> Result<Memory, ProgramError> {
        let mut memory = Memory::default();
        let (buffers, globals) = self.addresses.split_at(self.buffers.len());
        for (buffer, &start) in self.buffers.iter().zip(buffers) {
            let written = !matches!(buffer.contents, Contents::None);
            memory.allocate_at(&buffer.name, start, self.contents(buffer)?, written);
        }
        for ((name, bytes), &start) in self.globals.iter().zip(globals) {
            memory.allocate_at(name, start, bytes.clone(), true);
        }
        Ok(memory)
    }
}
