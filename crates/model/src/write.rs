//! Writes a model as an Accel-Sim trace, so that other simulators can run it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use warpshard_base::CtaIndex;
use warpshard_workload::Command;

use super::load::{Model, ModelKernel};

/// The binary version of Volta, whose mnemonics models use.
const BINARY_VERSION: u32 = 70;

/// Writes `kernelslist.g` and one `kernel-N.traceg` per launch into the folder `out`, which is created if it does not exist.
///
/// Returns the path of `kernelslist.g`. The trace has the same copies, launches and instructions as the model, except texture loads: a
/// texture instruction has no addresses in a trace, so that texture loads are written as loads of global memory.
///
/// # Errors
/// Fails if a file cannot be written, or if a CTA cannot be generated, with the model's message.
pub fn write_trace(model: &Model, out: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(out)?;
    let mut list = Vec::new();
    for command in &model.commands {
        match command {
            Command::CopyToDevice { addr, bytes } => writeln!(list, "MemcpyHtoD,{:#018x},{bytes}", addr.0)?,
            Command::Launch(index) => {
                let name = format!("kernel-{}.traceg", index.index() + 1);
                write_kernel(&model.kernels[index.index()], &out.join(&name))?;
                writeln!(list, "{name}")?;
            }
        }
    }
    // The list is written last, so that a folder with a list is complete.
    let path = out.join("kernelslist.g");
    fs::write(&path, list)?;
    Ok(path)
}

fn write_kernel(kernel: &ModelKernel, path: &Path) -> io::Result<()> {
    let (info, source) = (&kernel.kernel.info, &kernel.kernel.source);
    let mut out = BufWriter::new(File::create(path)?);
    let code = source.cta(CtaIndex(0)).code.clone();
    let mut ctas = (0..info.ctas()).map(|cta| source.cta(CtaIndex(cta)));
    warpshard_trace::write_kernel(&mut out, info, BINARY_VERSION, &code, &kernel.mnemonics, &mut ctas)?;
    out.flush()?;
    match source.failure() {
        Some(failure) => Err(io::Error::other(failure)),
        None => Ok(()),
    }
}
