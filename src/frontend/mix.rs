//! Several applications on one GPU: their workloads as one.
//!
//! In: a workload for each application. Out: one workload in which kernels have numbers of their own, each application an address space
//! and streams of its own. Launches keep their order inside an application; between applications there is none.

use std::fmt;

use crate::base::{Addr, AppId, KernelIndex, MAX_APPLICATIONS, address_space};

use super::workload::{Application, Command, Workload};

/// Most kernels of a workload.
const MOST: usize = u16::MAX as usize;

/// An application that is to share the GPU.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it launches.
    pub workload: Workload,
    /// Among kernels that wait, those of the highest number go first.
    pub priority: i32,
}

/// Why applications do not make one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MixError {
    /// One launches nothing: its name.
    Empty(String),
    /// There are so many applications.
    Applications(usize),
    /// Together they launch so many kernels.
    Many(usize),
}

impl fmt::Display for MixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty(name) => write!(f, "{name} launches no kernel, so it cannot share the GPU"),
            Self::Applications(count) => write!(f, "{count} applications share the GPU; at most {MAX_APPLICATIONS} are supported"),
            Self::Many(kernels) => {
                write!(f, "the applications launch {kernels} kernels, with those that are started again; at most {MOST} are supported")
            }
        }
    }
}

/// The workload of several applications. With `again` an application that ends is started once more, until all have ended once.
///
/// # Errors
/// When an application launches nothing, or all together too much.
pub fn mix(parts: Vec<Part>, again: bool) -> Result<Workload, MixError> {
    if let Some(empty) = parts.iter().find(|part| part.workload.kernels.is_empty()) {
        return Err(MixError::Empty(empty.workload.name.clone()));
    }
    if parts.len() > MAX_APPLICATIONS {
        return Err(MixError::Applications(parts.len()));
    }
    let first: usize = parts.iter().map(|part| part.workload.kernels.len()).sum();
    let all = if again { 2 * first } else { first };
    if all > MOST {
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
    for (number, Part { workload, priority }) in parts.into_iter().enumerate() {
        let app = AppId(number as u16);
        let (start, commands) = (mixed.kernels.len() as u16, mixed.commands.len());
        mixed.commands.extend(workload.commands.into_iter().map(|command| match command {
            Command::Launch(kernel) => Command::Launch(KernelIndex(start + kernel.0)),
            Command::CopyToDevice { addr, bytes } => Command::CopyToDevice { addr: Addr(addr.0.wrapping_add(address_space(app))), bytes },
        }));
        mixed.kernels.extend(workload.kernels);
        let kernels = start..mixed.kernels.len() as u16;
        for kernel in &mut mixed.kernels[usize::from(start)..] {
            kernel.info.app = app;
            kernel.info.after.iter_mut().for_each(|before| before.0 += start);
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
        mixed.applications.iter_mut().for_each(|app| app.again = app.kernels.start + first as u16..app.kernels.end + first as u16);
        mixed.kernels.extend(once);
    }
    Ok(mixed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::model;

    fn part(name: &str) -> Part {
        Part { workload: model::builtin_model(name, 1, &[]).unwrap().workload(), priority: 0 }
    }

    #[test]
    fn applications_keep_their_launches_and_get_address_spaces_of_their_own() {
        let (stream, gather) = (part("stream").workload, part("gather").workload);
        let counts = (stream.kernels.len() as u16, gather.kernels.len() as u16);
        let mixed = mix(vec![part("stream"), part("gather"), part("stream")], true).unwrap();
        let apps = &mixed.applications;
        assert_eq!(apps[1].kernels, counts.0..counts.0 + counts.1);
        assert_eq!(apps[2].kernels.len(), usize::from(counts.0));
        let first = 2 * counts.0 + counts.1;
        assert_eq!((mixed.first_launches(), mixed.kernels.len()), (usize::from(first), 2 * usize::from(first)));
        assert_eq!(apps[0].again, first..first + counts.0);
        let copies = |app: &Application| -> Vec<u64> {
            let copy = |command: &Command| if let Command::CopyToDevice { addr, .. } = command { Some(addr.0) } else { None };
            mixed.commands[app.commands.clone()].iter().filter_map(copy).collect()
        };
        let moved: Vec<u64> = copies(&apps[0]).iter().map(|addr| addr + address_space(AppId(2))).collect();
        assert_eq!(copies(&apps[2]), moved);
        assert!(mixed.kernels.iter().enumerate().all(|(i, kernel)| {
            let app = &apps[kernel.info.app.index()];
            app.kernels.contains(&(i as u16)) || app.again.contains(&(i as u16))
        }));
    }

    #[test]
    fn applications_without_kernels_and_too_many_are_refused() {
        let nothing = Workload { name: "idle".into(), kernels: Vec::new(), ..part("stream").workload };
        let error = mix(vec![part("stream"), Part { workload: nothing, priority: 0 }], false).unwrap_err();
        assert_eq!(error.to_string(), "idle launches no kernel, so it cannot share the GPU");
        let many = vec![part("stream"); MAX_APPLICATIONS + 1];
        assert_eq!(mix(many, false).unwrap_err().to_string(), "257 applications share the GPU; at most 256 are supported");
    }
}
