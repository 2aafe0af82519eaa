//! Synthetic kernels as SASS traces: small programs with known instructions and addresses, each limited by one mechanism of the machine.
//!
//! `catalogue` lists the kernels with their launches, `arithmetic`, `global` and `shared` contain the programs, and `warp` writes the
//! instructions of one warp. A name gives the same bytes on every host, independent of time, threads and the order of writing. A reference
//! simulator that reads the format can run the same files.

mod arithmetic;
mod catalogue;
mod global;
mod shared;
mod warp;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub use catalogue::{SYNTHETIC_KERNELS, SyntheticKernel};

use warp::{WarpPosition, WarpText};

/// File names of the kernel list and the kernel.
const FILE_NAMES: [&str; 2] = ["kernelslist.g", "kernel-1.traceg"];

impl SyntheticKernel {
    /// Returns the kernel with the given name.
    pub fn named(name: &str) -> Option<&'static Self> {
        SYNTHETIC_KERNELS.iter().find(|kernel| kernel.name == name)
    }

    /// Returns a one-line description of the kernel.
    pub fn summary(&self) -> String {
        let Self { ctas, warps, .. } = self;
        let place = if self.base == 0 { ", data below 4 GiB" } else { "" };
        format!("{}: {ctas} CTA(s) of {warps} warp(s){place}", self.program.summary())
    }

    /// Writes the trace into a folder, which appears only when it is complete. An existing trace is kept.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write_to(&self, folder: &Path) -> io::Result<()> {
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent)?;
        let partial = tempfile::Builder::new().prefix(".warpshard-").suffix(".partial").tempdir_in(parent)?;
        fs::set_permissions(partial.path(), fs::metadata(parent)?.permissions())?;
        let [list, kernel] = FILE_NAMES.map(|file| partial.path().join(file));
        fs::write(list, self.list())?;
        let mut out = BufWriter::new(File::create_new(kernel)?);
        self.write_kernel(&mut out)?;
        out.flush()?;
        drop(out);
        match fs::rename(partial.path(), folder) {
            // Another thread or process has created the folder first, with the same bytes.
            Err(_) if folder.join(FILE_NAMES[0]).is_file() => Ok(()),
            Err(error) => Err(error),
            Ok(()) => {
                let _renamed = partial.keep();
                Ok(())
            }
        }
    }

    /// Returns the text of the kernel list: copies to the device, then the launch.
    pub fn list(&self) -> String {
        let copies = self.copies.iter().map(|copy| format!("MemcpyHtoD,{:#018x},{}\n", self.base + copy.offset, copy.bytes));
        copies.chain([format!("{}\n", FILE_NAMES[1])]).collect()
    }

    /// Writes the kernel's trace in tracer version 4 with SM 7.0 instructions.
    ///
    /// # Errors
    /// I/O errors of `out`.
    pub fn write_kernel(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { name, ctas, warps, shared_bytes, registers, .. } = *self;
        write!(
            out,
            "-kernel name = {name}\n-kernel id = 1\n-grid dim = ({ctas},1,1)\n-block dim = ({},1,1)\n-shmem = {shared_bytes}\n\
             -nregs = {registers}\n-binary version = 70\n-cuda stream id = 0\n-shmem base_addr = 0x00007fe000000000\n\
             -local mem base_addr = 0x00007fe002000000\n-nvbit version = 1.5.5\n-accelsim tracer version = 4\n-enable lineinfo = 0\n\n\
             #traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] \
             [mem_addresses]\n\n\n\n",
            warps * 32
        )?;
        let mut text = WarpText::new(self.base);
        for cta in 0..ctas {
            write!(out, "#BEGIN_TB\n\nthread block = {cta},0,0\n\n")?;
            for warp in 0..warps {
                text.clear();
                self.program.write(&mut text, WarpPosition { cta: u64::from(cta), warp: u64::from(warp), warps: u64::from(warps) });
                write!(out, "warp = {warp}\ninsts = {}\n{}\n", text.instructions(), text.lines())?;
            }
            write!(out, "#END_TB\n\n")?;
        }
        Ok(())
    }
}
