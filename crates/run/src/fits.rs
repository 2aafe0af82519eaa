//! The compatibility of a machine's GPU with the code of a workload.
//!
//! Inputs: the machine's compute capability (`gpu.compute_capability`), and the target architecture of each kernel's code. Outputs: a note
//! if the GPU would not execute the code, whose instructions then have this machine's timing; an error if the machine has no unit that
//! could execute it. A machine of unknown capability gives no notes.

use warpshard_config::Machine;
use warpshard_config::machine::{Capability, CoreStyle};
use warpshard_workload::{CodeRequirements, Workload};

use super::Error;

/// The note about copies from device to shared memory; traces add the same note during decoding.
const COPY_NOTE: &str = "LDGSTS: a copy completes when its data arrive; its writes take no shared-memory cycles";

/// The notes for machines whose cores have no asynchronous units.
const PRODUCT_NOTE: &str = "products of warp groups are timed as tensor instructions of one warp";
const BARRIER_NOTE: &str = "waits at barriers in shared memory take no time";

/// Returns the architecture number, among those of a program's listings, that the machine's GPU executes best; `None` if it executes none,
/// or its capability is unknown.
pub fn listing_for(machine: &Machine, archs: &[u32]) -> Option<u32> {
    machine.gpu.compute_capability.best_of(archs.iter().copied())
}

/// Returns the notes about a workload on this machine.
///
/// # Errors
/// Fails if a kernel has tensor instructions and its GPU has no tensor cores; if it has bulk copies and the machine has no unit for them; or if
/// it is a programmatic dependent launch, which the machine does not support.
pub(crate) fn workload_notes(machine: &Machine, workload: &Workload) -> Result<Vec<(String, u64)>, Error> {
    let mut notes: Vec<(String, u64)> = Vec::new();
    for kernel in &workload.kernels[..workload.first_launches()] {
        let Some(code) = kernel.source.code() else { continue };
        let capability = machine.of_gpu(u32::from(kernel.info.on_gpu().0)).gpu.compute_capability;
        let what = format!("kernel `{}`", kernel.info.name);
        check_code(capability, code, &what, &machine.name)?;
        let style = machine.of_gpu(u32::from(kernel.info.on_gpu().0)).gpu.sm.style;
        // Source: CUDA C++ Programming Guide, "Programmatic Dependent Launch": compute capability 9.0.
        if kernel.info.programmatic.is_some() && (style != CoreStyle::ControlWords || capability.number().is_some_and(|number| number < 90))
        {
            return Err(Error::NoDependentLaunches { what, machine: machine.name.clone() });
        }
        if style != CoreStyle::ControlWords && code.async_counts.bulk > 0 {
            return Err(Error::NoBulkCopies { what, machine: machine.name.clone() });
        }
        if style != CoreStyle::ControlWords {
            let left_out = [(code.async_counts.products, PRODUCT_NOTE), (code.async_counts.barriers, BARRIER_NOTE)];
            notes.extend(left_out.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| (what.to_owned(), count)));
        }
        for note in code_notes(capability, code) {
            match notes.iter_mut().find(|(known, _)| *known == note) {
                Some((_, launches)) => *launches += 1,
                None => notes.push((note, 1)),
            }
        }
    }
    Ok(notes)
}

/// Rejects code for which a GPU has no unit; `what` names the kernel or program.
///
/// # Errors
/// Fails if the code has tensor instructions and the GPU has no tensor cores.
pub fn check_code(capability: Capability, code: CodeRequirements, what: &str, machine: &str) -> Result<(), Error> {
    if code.tensor && capability.has_tensor_cores() == Some(false) {
        return Err(Error::Unfit { what: what.to_owned(), arch: code.arch, machine: machine.to_owned(), capability });
    }
    Ok(())
}

/// Returns the notes about code on a GPU.
pub fn code_notes(capability: Capability, code: CodeRequirements) -> Vec<String> {
    let generation = |arch: u32| Capability::generation(arch).map_or_else(String::new, |name| format!(" ({name})"));
    let foreign = || {
        let CodeRequirements { arch, .. } = code;
        let of = generation(arch);
        format!(
            "the GPU, of compute capability {capability}, does not execute code for sm_{arch}{of}; its instructions have the timing of this machine"
        )
    };
    let foreign = (capability.executes(code.arch) == Some(false)).then(foreign);
    foreign.into_iter().chain(code.copies.then(|| COPY_NOTE.to_owned())).collect()
}

/// Returns the architectures of a workload's code as reports name them, in ascending order: "sm_70"; empty if it has no machine code.
pub(crate) fn architectures(workload: &Workload) -> String {
    let mut archs: Vec<u32> = workload.kernels.iter().filter_map(|kernel| Some(kernel.source.code()?.arch)).collect();
    archs.sort_unstable();
    archs.dedup();
    archs.iter().map(|arch| format!("sm_{arch}")).collect::<Vec<_>>().join(", ")
}
