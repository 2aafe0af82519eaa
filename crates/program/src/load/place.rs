//! Where buffers lie in device memory, and what they hold before the first launch.

use super::super::contents;
use super::super::error::ProgramError;
use super::super::memory::{Layout, Memory};
use super::super::schema::Contents;
use super::super::{Buffer, Program};

impl Program {
    fn cannot(&self, buffer: &Buffer, found: String) -> ProgramError {
        ProgramError::new(&self.file, 0, format!("buffer `{}` cannot be made", buffer.name)).found(found)
    }

    /// The bytes of a buffer before the first launch.
    pub(in super::super) fn contents(&self, buffer: &Buffer) -> Result<Vec<u8>, ProgramError> {
        self.bytes(buffer, &buffer.contents)
    }

    /// Contents for a buffer as bytes.
    pub(in super::super) fn bytes(&self, buffer: &Buffer, contents: &Contents) -> Result<Vec<u8>, ProgramError> {
        let origin = (self.folder.as_path(), self.parameters.as_slice());
        contents::bytes(contents, buffer.element, buffer.count, origin).map_err(|found| self.cannot(buffer, found))
    }

    /// Where the buffers lie, then the variables of the listing.
    pub(super) fn layout(&self) -> Result<Vec<u64>, ProgramError> {
        let mut layout = Layout::default();
        let mut addresses = Vec::with_capacity(self.buffers.len() + self.globals.len());
        for buffer in &self.buffers {
            let bytes = buffer.count as u64 * buffer.element.bytes() as u64;
            let place = match buffer.address {
                None => layout.place(bytes),
                Some(address) if layout.place_at(address, bytes) => address,
                Some(address) => {
                    let error = self.cannot(buffer, format!("address {address:#x}"));
                    return Err(error.expected("a place where no other buffer lies"));
                }
            };
            addresses.push(place);
        }
        addresses.extend(self.globals.iter().map(|(_, bytes)| layout.place(bytes.len() as u64)));
        Ok(addresses)
    }

    /// Device memory as it is before the first launch.
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
