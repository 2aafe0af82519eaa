//! Several kernel models that share a GPU.

use warpshard_base::{AppId, MAX_APPLICATIONS, address_space};
use warpshard_workload::{Application, Command, MixedApplication, Workload, mix};

fn part(name: &str) -> MixedApplication {
    MixedApplication { workload: warpshard_model::builtin(name, 1, &[]).unwrap(), priority: 0 }
}

#[test]
fn applications_keep_their_launches_and_get_separate_address_spaces() {
    let (stream, gather) = (part("stream").workload, part("gather").workload);
    let counts = (stream.kernels.len() as u32, gather.kernels.len() as u32);
    let mixed = mix(vec![part("stream"), part("gather"), part("stream")], true).unwrap();
    let apps = &mixed.applications;
    assert_eq!(apps[1].kernels, counts.0..counts.0 + counts.1);
    assert_eq!(apps[2].kernels.len(), counts.0 as usize);
    let first = 2 * counts.0 + counts.1;
    assert_eq!((mixed.first_launches(), mixed.kernels.len()), (first as usize, 2 * first as usize));
    assert_eq!(apps[0].again, first..first + counts.0);
    let copies = |app: &Application| -> Vec<u64> {
        let copy = |command: &Command| if let Command::CopyToDevice { addr, .. } = command { Some(addr.0) } else { None };
        mixed.commands[app.commands.clone()].iter().filter_map(copy).collect()
    };
    let moved: Vec<u64> = copies(&apps[0]).iter().map(|addr| addr + address_space(AppId(2))).collect();
    assert_eq!(copies(&apps[2]), moved);
    assert!(mixed.kernels.iter().enumerate().all(|(i, kernel)| {
        let app = &apps[kernel.info.app.index()];
        app.kernels.contains(&(i as u32)) || app.again.contains(&(i as u32))
    }));
}

#[test]
fn applications_without_kernels_and_too_many_are_refused() {
    let nothing = Workload { name: "idle".into(), kernels: Vec::new(), ..part("stream").workload };
    let error = mix(vec![part("stream"), MixedApplication { workload: nothing, priority: 0 }], false).unwrap_err();
    assert_eq!(error.to_string(), "idle launches no kernel, so it cannot share the GPU");
    let many = vec![part("stream"); MAX_APPLICATIONS + 1];
    assert_eq!(mix(many, false).unwrap_err().to_string(), "257 applications share the GPU; at most 256 are supported");
}
