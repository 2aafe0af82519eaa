//! Basic blocks of a kernel: its static instructions in program order, each with whether a block starts there.
//!
//! A kernel model knows its blocks. A trace does not name the targets of its branches, but what warps did shows them: an
//! instruction starts a block when some warp came to it from elsewhere than the instruction before it, or when lanes that
//! jumped met the others there; and a block ends with a branch, an exit, and any instruction that some warp left sideways.
//! BSSY and BSYNC are of the branch class and end no block: their lanes always go on with the next instruction.

use warpshard_base::LaneMask;

use crate::{CtaProgram, OpClass, StaticInst};

/// The blocks that a source knows, as a list of the static instructions that start one.
pub(super) fn known(code: &[StaticInst], blocks: &[u32]) -> Vec<(u32, bool)> {
    let mut all: Vec<(u32, bool)> = (0..code.len() as u32).map(|index| (index, false)).collect();
    blocks.iter().for_each(|&index| all[index as usize].1 = true);
    all.sort_by_key(|&(index, _)| (code[index as usize].pc, index));
    all
}

/// The blocks that the warps of one CTA show; instructions that none of them executes are left out.
pub(super) fn seen(program: &CtaProgram) -> Vec<(u32, bool)> {
    let code = &program.code;
    let mut executed = vec![false; code.len()];
    for warp in &program.warps {
        for inst in warp.read() {
            executed[inst.index as usize] = true;
        }
    }
    let mut order: Vec<u32> = (0..code.len() as u32).filter(|&index| executed[index as usize]).collect();
    order.sort_by_key(|&index| (code[index as usize].pc, index));
    let mut place = vec![0_usize; code.len()];
    order.iter().enumerate().for_each(|(at, &index)| place[index as usize] = at);

    // One more than there are instructions: the last instruction always ends a block.
    let mut leads = vec![false; order.len() + 1];
    for warp in &program.warps {
        let mut instructions = warp.read();
        let mut here = instructions.next();
        // Lanes that jumped and have not been seen since.
        let mut away: Vec<LaneMask> = Vec::new();
        while let Some(inst) = here {
            let next = instructions.next();
            let at = place[inst.index as usize];
            let class = code[inst.index as usize].class;
            away.retain(|lanes| {
                let arrived = lanes.0 & inst.mask.0 != 0;
                leads[at] |= arrived;
                !arrived
            });
            let sideways = next.is_none_or(|next| place[next.index as usize] != at + 1);
            let parted = inst.mask.0 == 0 || next.is_some_and(|next| next.mask.0 != 0 && next.mask.0 & inst.mask.0 == 0);
            if sideways || class == OpClass::Exit || class == OpClass::Branch && parted {
                leads[at + 1] = true;
            }
            if let Some(next) = next.filter(|_| sideways) {
                leads[place[next.index as usize]] = true;
            }
            if class == OpClass::Branch && inst.mask.0 != 0 && parted {
                away.push(inst.mask);
            }
            here = next;
        }
    }
    order.iter().zip(leads).map(|(&index, leads)| (index, leads)).collect()
}
