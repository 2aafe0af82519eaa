//! The combination of several applications' workloads into one workload for one GPU.
//!
//! Inputs: a workload for each application. Outputs: one workload in which each kernel has a unique number and each application a private
//! address space and private streams. Launches keep their order inside an application; launches of different applications are unordered.

use std::fmt;

use warpshard_base::{Addr, AppId, KernelIndex, MAX_APPLICATIONS, MAX_KERNELS, address_space};

use crate::workload::{Application, Command, Workload};

/// Maximum number of kernels of a workload.
const MAX_WORKLOAD_KERNELS: usize = MAX_KERNELS;

/// An application that shares the GPU.
#[derive(Clone, Debug)]
pub struct MixedApplication {
    /// The application's workload.
    pub workload: Workload,
    /// Priority; among waiting kernels, kernels with the highest number are dispatched first.
    pub priority: i32,
}

/// The reason why applications cannot be combined into one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MixError {
    /// The named application launches no kernel.
    Empty(String),
    /// The number of applications exceeds the limit.
    Applications(usize),
    /// The total number of launched kernels exceeds the limit.
    Many(usize),
}

impl std::error::Error for MixError {}

impl fmt::Display for MixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty(name) => write!(f, "{name} launches no kernel, so it cannot share the GPU"),
            Self::Applications(count) => write!(f, "{count} applications share the GPU; at most {MAX_APPLICATIONS} are supported"),
            Self::Many(kernels) => {
                write!(
                    f,
                    "the applications launch {kernels} kernels, with those that are started again; at most {MAX_WORKLOAD_KERNELS} are supported"
                )
            }
        }
    }
}

/// Combines the workloads of several applications. If `again` is true, an application that ends is restarted until all have ended once.
///
/// # Errors
/// Fails if an application launches no kernel, or all applications together exceed the limits.
pub fn mix(parts: Vec<MixedApplication>, again: bool) -> Result<Workload, MixError> {
    if let Some(empty) = parts.iter().find(|part| part.workload.kernels.is_empty()) {
        return Err(MixError::Empty(empty.workload.name.clone()));
    }
    if parts.len() > MAX_APPLICATIONS {
        return Err(MixError::Applications(parts.len()));
    }
    let first: usize = parts.iter().map(|part| part.workload.kernels.len()).sum();
    let all = if again { 2 * first } else { first };
    if all > MAX_WORKLOAD_KERNELS {
        return Err(MixError::Many(all));
    }
    let names: Vec<&str> = parts.iter().map(|part| part.workload.name.as_str()).collect();
    let mut mixed = Workload {
        name: names.join("+"),
        commands: Vec::new(),
        kernels: Vec::new(),
        applications: Vec::new(),
        notes: Vec::new(),
        homes: Vec::new(),
    };
    for (number, MixedApplication { workload, priority }) in parts.into_iter().enumerate() {
        let app = AppId(number as u16);
        let (start, commands) = (mixed.kernels.len() as u32, mixed.commands.len());
        mixed.commands.extend(workload.commands.into_iter().map(|command| match command {
            Command::Launch(kernel) => Command::Launch(KernelIndex(start + kernel.0)),
            Command::CopyToDevice { addr, bytes } => Command::CopyToDevice { addr: Addr(addr.0.wrapping_add(address_space(app))), bytes },
        }));
        mixed.kernels.extend(workload.kernels);
        let kernels = start..mixed.kernels.len() as u32;
        for kernel in &mut mixed.kernels[start as usize..] {
            kernel.info.app = app;
            kernel.info.after.iter_mut().chain(&mut kernel.info.programmatic).for_each(|before| before.0 += start);
            kernel.info.copy.iter_mut().for_each(|copy| {
                copy.from.0 = copy.from.0.wrapping_add(address_space(app));
                copy.to.0 = copy.to.0.wrapping_add(address_space(app));
            });
        }
        mixed.notes.extend(workload.notes);
        let moved = |addr: u64| addr.wrapping_add(address_space(app));
        mixed.homes.extend(workload.homes.into_iter().map(|(range, gpu)| (moved(range.start)..moved(range.end), gpu)));
        let commands = commands..mixed.commands.len();
        mixed.applications.push(Application {
            name: workload.name,
            kernels,
            again: 0..0,
            commands,
            priority,
            arrivals: Vec::new(),
            gpu: None,
        });
    }
    if again {
        let once = mixed.kernels.clone();
        mixed.applications.iter_mut().for_each(|app| app.again = app.kernels.start + first as u32..app.kernels.end + first as u32);
        mixed.kernels.extend(once);
    }
    Ok(mixed)
}
