//! Size of the frequently accessed state of an SM and an LLC slice of the V100. The state of all of them together has to fit the host's
//! caches.
//!
//! The budgets are 32 KB per SM and 24 KB per slice. An SM without its L1 stays within its budget; the L1's tags and MSHRs alone exceed it,
//! and a slice exceeds its budget slightly. The limits here are therefore the present sizes; a change that reduces a size also lowers the
//! limit.

use std::sync::Arc;

use warpshard::base::{LinkId, SliceId, SmId};
use warpshard::config::Machine;
use warpshard::gpu::sm::{Sm, SmPorts};
use warpshard::mem::llc::LlcSlice;
use warpshard::model;

fn v100_machine() -> Machine {
    warpshard::catalogue().machine("v100", &[]).unwrap().machine
}

fn new_sm(machine: &Machine) -> Sm {
    let link = LinkId(0);
    let ports = SmPorts {
        to_request_net: link,
        to_grid: link,
        reply_credit: link,
        from_reply_net: link,
        request_credit: link,
        from_grid: link,
        peers: None,
    };
    Sm::new(SmId(0), machine, Arc::new(model::builtin("vecadd", 1, &[]).unwrap()), ports)
}

#[test]
fn an_sm_with_its_l1_grows_no_further() {
    let bytes = new_sm(&v100_machine()).hot_bytes();
    assert!(bytes <= 72_216, "{bytes} bytes");
}

#[test]
fn a_slice_grows_no_further() {
    let machine = v100_machine();
    let bytes = LlcSlice::new(SliceId(0), &machine.mem.llc, &machine.mem.queues).hot_bytes();
    assert!(bytes <= 24_952, "{bytes} bytes");
}

#[test]
fn an_sm_without_its_l1_grows_no_further() {
    let mut machine = v100_machine();
    let whole = new_sm(&machine).hot_bytes();
    machine.gpu.sm.l1.cache = None;
    let without = new_sm(&machine).hot_bytes();
    assert!(without <= 25_352 && whole > without, "{without} bytes, {whole} with the L1");
}
