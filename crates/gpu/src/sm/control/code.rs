//! The code of a kernel as a core reads it that does without some of the control bits.

use std::sync::Arc;

use warpshard_config::machine::ControlCore as Spec;
use warpshard_workload::{Beside, Control, StaticInst};

/// The code that a core executes. Without control words an instruction waits for the registers that it names, as those of a trace do; what it starts
/// beside the pipeline keeps its counters, since no register stands for it. Without the reuse cache no operand stays there.
pub(in crate::sm) fn as_read(spec: &Spec, code: &Arc<[StaticInst]>) -> Arc<[StaticInst]> {
    if spec.words && spec.reuse {
        return Arc::clone(code);
    }
    let mut code: Vec<StaticInst> = code.to_vec();
    for control in code.iter_mut().map(|inst| &mut inst.control) {
        if !spec.words && control.beside == Beside::Nothing {
            (control.stall, control.counters) = (Control::NONE.stall, Control::NONE.counters);
        }
        if !spec.words || !spec.reuse {
            control.reuse = 0;
        }
    }
    code.into()
}
