//! Tests of wirings, and of the state of a boxed policy in a checkpoint.

use warpshard_base::{KernelIndex, PortId};
use warpshard_state::{Reader, State as _, Writer};

use super::*;

/// Returns a ring of routers with one terminal each; packets travel towards larger numbers.
fn ring_wiring(count: u16, around: bool) -> Result<Wiring, WiringError> {
    let terminal_ports = (0..count).map(|router| RouterPort { router, port: 2 }).collect();
    let link = |router| (RouterPort { router, port: 0 }, RouterPort { router: (router + 1) % count, port: 1 });
    let links: Vec<RouterLink> = (0..count).map(link).collect();
    let route = |router: u16, terminal: u16| match router.cmp(&terminal) {
        std::cmp::Ordering::Equal => 2,
        std::cmp::Ordering::Greater if !around => 1,
        _ => 0,
    };
    Wiring::new("ring", (count, 3), terminal_ports, &links, route)
}

#[test]
fn a_ring_with_a_cyclic_dependency_is_rejected_with_its_routers() {
    assert_eq!(ring_wiring(4, true), Err(WiringError::Cycle { name: "ring".into(), routers: vec![0, 1, 2, 3] }));
    let line = ring_wiring(4, false).unwrap();
    assert_eq!((line.routers_between(0, 3), line.routers_between(3, 0), line.routers_between(2, 2)), (4, 4, 1));
}

#[test]
fn invalid_wirings_are_rejected_with_their_name() {
    let terminal_ports = || vec![RouterPort { router: 0, port: 0 }, RouterPort { router: 1, port: 0 }];
    let link = [(RouterPort { router: 0, port: 1 }, RouterPort { router: 1, port: 1 })];
    let at = |router: u16, terminal: u16| u16::from(router != terminal);
    let text = |made: Result<Wiring, WiringError>| made.unwrap_err().to_string();
    assert!(Wiring::new("pair", (2, 2), terminal_ports(), &link, at).is_ok());
    for (made, expected) in [
        (Wiring::new("pair", (2, 2), terminal_ports(), &[], at), "route from router 1 to terminal 0 takes a port without a link"),
        (Wiring::new("pair", (2, 2), terminal_ports(), &link, |_, _| 1), "never ends"),
        (Wiring::new("pair", (2, 2), terminal_ports(), &link, |_, _| 0), "ends at another terminal"),
        (Wiring::new("pair", (2, 2), terminal_ports(), &link, |_, _| 7), "a port that does not exist"),
        (Wiring::new("pair", (2, 1), terminal_ports(), &link, at), "port 1 does not exist: there are 1"),
        (Wiring::new("pair", (1, 2), terminal_ports(), &link, at), "router 1 does not exist: there are 1"),
        (Wiring::new("pair", (2, 2), terminal_ports(), &[link[0], link[0]], at), "port 1 of router 0 has two links or terminals"),
    ] {
        let text = text(made);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_signature_encodes_instruction_and_warp() {
    let (kernel, port) = (KernelIndex(3), PortId(9));
    let of = |instruction, warp| Identity::of(kernel, port, Identity::signature(instruction, warp));
    assert_eq!(of(70_000, 63), Identity { kernel, port, warp: Some(63), pc: Some((70_000 % 65_536) as u16 ^ 1) });
    assert_eq!(Identity::of(kernel, port, u32::MAX), Identity::of_write(kernel, port));
}

/// A warp order that picks the lowest slot and counts the picks.
#[derive(Clone, Debug, warpshard_state::State)]
struct LowestSlot {
    #[state(fixed)]
    name: &'static str,
    picks: u64,
}

impl WarpOrder for LowestSlot {
    fn name(&self) -> &str {
        self.name
    }

    fn pick(&mut self, ready: u64, _: &Warps<'_>) -> usize {
        self.picks += 1;
        ready.trailing_zeros() as usize
    }
}

#[test]
fn the_state_of_a_policy_is_loaded_only_into_the_same_policy() {
    let own = UserPolicies::default().with_warp_order(|site| LowestSlot { name: "least", picks: u64::from(site.sm) });
    let maker = own.warp_order.as_ref().unwrap();
    assert_eq!(own, own.clone());
    let (mut saved, mut fresh) = (maker.create(&WarpSite::new(7, 0)), maker.create(&WarpSite::new(1, 0)));
    let warps = Warps { age: &[], distance: &[], cta: &[], kernels: &[] };
    assert_eq!(saved.0.pick(0b1100, &warps), 2);
    let bytes = |policy: &BoxedWarpOrder| {
        let mut to = Writer::default();
        policy.save(&mut to);
        to.finish()
    };
    fresh.load(&mut Reader::new(&bytes(&saved))).unwrap();
    assert_eq!(bytes(&fresh), bytes(&saved.clone()));
    let mut other = BoxedWarpOrder(Box::new(LowestSlot { name: "other", picks: 0 }));
    let problem = other.load(&mut Reader::new(&bytes(&saved))).unwrap_err();
    assert!(problem.to_string().contains("`least`, but this run uses `other`"), "{problem}");
}

/// An address hash that adds the higher bits to the slice.
#[derive(Debug)]
struct AddingHash;

impl AddressHash for AddingHash {
    fn name(&self) -> &str {
        "added"
    }

    fn slice(&self, plain: u64, above: u64, slices: u64) -> u64 {
        (plain + above % slices) % slices
    }
}

/// An address hash that folds the slices of every second stretch into half of them.
#[derive(Debug)]
struct FoldingHash;

impl AddressHash for FoldingHash {
    fn name(&self) -> &str {
        "folded"
    }

    fn slice(&self, plain: u64, above: u64, slices: u64) -> u64 {
        if above % 2 == 1 { plain % (slices / 2) } else { plain }
    }
}

#[test]
fn a_hash_that_merges_two_slices_is_detected() {
    assert_eq!([6, 32, 96].map(|slices| AddingHash.breaks_at(slices)), [None; 3]);
    assert_eq!(FoldingHash.breaks_at(32), Some(1));
    // A stride over all slices reaches a single slice by the plain bits, and every slice with the higher bits.
    let reached: std::collections::BTreeSet<u64> = (0..32).map(|above| AddingHash.slice(0, above, 32)).collect();
    assert_eq!(reached.len(), 32);
}
