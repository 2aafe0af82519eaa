//! Whether a machine's GPU executes the code of a workload.
//!
//! In: the machine's compute capability (`gpu.compute_capability`), and what each kernel's code is for. Out: a note where the GPU would not execute the
//! code, whose instructions are then timed as the machine has them; an error where the machine has nothing that could execute it. Of a machine whose
//! capability is unknown nothing is said.

use warpshard_config::Machine;
use warpshard_config::machine::{Capability, CoreStyle};
use warpshard_workload::{Code, Workload};

use super::Error;

/// What is said of copies from device to shared memory; traces say the same where they are decoded.
const COPIES: &str = "LDGSTS: a copy is complete when its data come, its writes take no cycle of shared memory";

/// What is said on machines whose cores have no units beside the pipeline.
const PRODUCTS: &str = "products of warp groups take the time of a tensor instruction of one warp";
const BARRIERS: &str = "barriers in shared memory take no time to wait at";

/// The architecture of the listing that a machine's GPU executes best among those that a program has, by their numbers; `None` where it executes none,
/// or its capability is unknown.
pub fn listing_for(machine: &Machine, archs: &[u32]) -> Option<u32> {
    machine.gpu.compute_capability.best_of(archs.iter().copied())
}

/// Notes of a workload that a machine is to run.
///
/// # Errors
/// When a kernel has tensor instructions, and its GPU no tensor cores; or bulk copies, and the machine no unit for them; or is a programmatic dependent
/// launch, which the machine does not have.
pub(crate) fn notes(machine: &Machine, workload: &Workload) -> Result<Vec<(String, u64)>, Error> {
    let mut notes: Vec<(String, u64)> = Vec::new();
    for kernel in &workload.kernels[..workload.first_launches()] {
        let Some(code) = kernel.source.code() else { continue };
        let capability = machine.of_gpu(u32::from(kernel.info.on_gpu().0)).gpu.compute_capability;
        let what = format!("kernel `{}`", kernel.info.name);
        refuse(capability, code, &what, &machine.name)?;
        let style = machine.of_gpu(u32::from(kernel.info.on_gpu().0)).gpu.sm.style;
        // Source: CUDA C++ Programming Guide, "Programmatic Dependent Launch": compute capability 9.0.
        if kernel.info.programmatic.is_some() && (style != CoreStyle::ControlWords || capability.number().is_some_and(|number| number < 90))
        {
            return Err(Error::NoDependentLaunches { what, machine: machine.name.clone() });
        }
        if style != CoreStyle::ControlWords && code.beside.bulk > 0 {
            return Err(Error::NoBulkCopies { what, machine: machine.name.clone() });
        }
        if style != CoreStyle::ControlWords {
            let left_out = [(code.beside.products, PRODUCTS), (code.beside.barriers, BARRIERS)];
            notes.extend(left_out.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| (what.to_owned(), count)));
        }
        for note in of_code(capability, code) {
            match notes.iter_mut().find(|(known, _)| *known == note) {
                Some((_, launches)) => *launches += 1,
                None => notes.push((note, 1)),
            }
        }
    }
    Ok(notes)
}

/// Refuses code that a GPU has no unit for; `what` has the code.
///
/// # Errors
/// When it has tensor instructions, and the GPU no tensor cores.
pub fn refuse(capability: Capability, code: Code, what: &str, machine: &str) -> Result<(), Error> {
    if code.tensor && capability.has_tensor_cores() == Some(false) {
        return Err(Error::Unfit { what: what.to_owned(), arch: code.arch, machine: machine.to_owned(), capability });
    }
    Ok(())
}

/// What is said of code on a GPU.
pub fn of_code(capability: Capability, code: Code) -> Vec<String> {
    let generation = |arch: u32| Capability::generation(arch).map_or_else(String::new, |name| format!(" ({name})"));
    let foreign = || {
        let Code { arch, .. } = code;
        let of = generation(arch);
        format!(
            "the GPU, of compute capability {capability}, does not execute code for sm_{arch}{of}; its instructions are timed as this machine has them"
        )
    };
    let foreign = (capability.executes(code.arch) == Some(false)).then(foreign);
    foreign.into_iter().chain(code.copies.then(|| COPIES.to_owned())).collect()
}

/// The architectures of a workload's code, ascending, as reports name them: "sm_70"; empty where it has no machine code.
pub(crate) fn architectures(workload: &Workload) -> String {
    let mut archs: Vec<u32> = workload.kernels.iter().filter_map(|kernel| Some(kernel.source.code()?.arch)).collect();
    archs.sort_unstable();
    archs.dedup();
    archs.iter().map(|arch| format!("sm_{arch}")).collect::<Vec<_>>().join(", ")
}
