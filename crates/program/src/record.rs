//! Writer of a program's execution as an Accel-Sim trace.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpshard_base::CtaIndex;
use warpshard_workload::Command;

use super::workload::workload;
use super::{Program, WorkloadOptions};

/// Writes `kernelslist.g` and a file per launch into the folder `out`, which is created if necessary; returns the path of the list.
///
/// # Errors
/// Errors of the file system, and faults of the program with their message.
pub(super) fn record(program: &Arc<Program>, out: &Path) -> io::Result<PathBuf> {
    let workload = workload(program, WorkloadOptions::default()).map_err(io::Error::other)?;
    if workload.kernels.iter().any(|kernel| kernel.info.copy.is_some()) {
        return Err(io::Error::other(format!("{} copies between GPUs, which traces cannot represent", program.file.display())));
    }
    fs::create_dir_all(out)?;
    let mut list = Vec::new();
    for command in &workload.commands {
        match command {
            Command::CopyToDevice { addr, bytes } => writeln!(list, "MemcpyHtoD,{:#018x},{bytes}", addr.0)?,
            Command::Launch(index) => {
                let kernel = workload.kernel(*index);
                let launch = &program.launches[index.index()];
                let name = format!("kernel-{}.traceg", index.index() + 1);
                let mut file = BufWriter::new(File::create(out.join(&name))?);
                let code = launch.kernel.statics.clone().unwrap_or_default();
                let mut ctas = (0..kernel.info.ctas()).map(|cta| kernel.source.cta(CtaIndex(cta)));
                warpshard_trace::write_kernel(&mut file, &kernel.info, program.arch, &code, &launch.kernel.mnemonics, &mut ctas)?;
                file.flush()?;
                if let Some(failure) = kernel.source.failure() {
                    return Err(io::Error::other(failure));
                }
                writeln!(list, "{name}")?;
            }
        }
    }
    // The list is written last, so that a folder with a list is complete.
    let path = out.join("kernelslist.g");
    fs::write(&path, list)?;
    Ok(path)
}
