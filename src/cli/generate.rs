//! `warpshard generate`: writes a synthetic kernel as an Accel-Sim trace.

use std::fs;

use warpshard_run::Exit;
use warpshard_trace::{SYNTHETIC_KERNELS, SyntheticKernel};

use super::args::GenerateArgs;
use super::failure::Failure;
use super::output;

/// Writes the trace, which appears only when it is complete.
///
/// # Errors
/// Fails if there is no such kernel, or the folder is not empty or cannot be written.
pub(super) fn generate(args: &GenerateArgs) -> Result<Exit, Failure> {
    let GenerateArgs { name, out } = args;
    let Some(kernel) = SyntheticKernel::named(name) else {
        let similar = |kernel: &&SyntheticKernel| strsim::damerau_levenshtein(kernel.name, name);
        let nearest = SYNTHETIC_KERNELS.iter().min_by_key(similar).map_or("", |kernel| kernel.name);
        let why = format!("there is no synthetic kernel `{name}`; did you mean `{nearest}`? `warpshard list synthetic` names all");
        return Err(Failure::new(Exit::Usage, why));
    };
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::new(Exit::Output, format!("{} is not empty; choose another folder", out.display())));
    }
    let failure = |error| Failure::new(Exit::Output, format!("cannot write the trace to {}: {error}", out.display()));
    kernel.write_to(out).map_err(failure)?;
    output::print(&format!("{}; warpshard run --trace {}\n", kernel.summary(), out.join("kernelslist.g").display())).map(|()| Exit::Ok)
}
