//! The code of a kernel for a core without some of the control bits.

use std::sync::Arc;

use warpshard_config::machine::ControlCore as Spec;
use warpshard_workload::{AsyncOp, Control, StaticInst};

/// Returns the code that a core executes. Without control words an instruction waits for its registers, as instructions of a trace do; an
/// asynchronous operation keeps its counters, since no register represents its completion. Without the reuse cache no operand is cached.
pub(in crate::sm) fn code_for_core(spec: &Spec, code: &Arc<[StaticInst]>) -> Arc<[StaticInst]> {
    if spec.words && spec.reuse {
        return Arc::clone(code);
    }
    let mut code: Vec<StaticInst> = code.to_vec();
    for control in code.iter_mut().map(|inst| &mut inst.control) {
        if !spec.words && control.async_op == AsyncOp::Nothing {
            (control.stall, control.counters) = (Control::NONE.stall, Control::NONE.counters);
        }
        if !spec.words || !spec.reuse {
            control.reuse = 0;
        }
    }
    code.into()
}
