//! Basic blocks of a kernel: its static instructions in program order, each with a flag for the start of a block.
//!
//! A kernel model knows its blocks. A trace does not name the targets of its branches, so the blocks follow from the execution of its
//! warps. An instruction starts a block if some warp reached it from an instruction other than its predecessor, or if lanes that jumped
//! reconverged with other lanes there. A block ends with a branch, an exit, and any instruction that some warp left for an instruction
//! other than its successor. BSSY and BSYNC belong to the branch class and end no block: their lanes always continue with the next
//! instruction.

use warpshard_base::LaneMask;

use crate::{CtaProgram, OpClass, StaticInst};

/// Returns the blocks of a source that lists the static instructions at which blocks start.
pub(super) fn listed_blocks(code: &[StaticInst], blocks: &[u32]) -> Vec<(u32, bool)> {
    let mut all: Vec<(u32, bool)> = (0..code.len() as u32).map(|index| (index, false)).collect();
    blocks.iter().for_each(|&index| all[index as usize].1 = true);
    all.sort_by_key(|&(index, _)| (code[index as usize].pc, index));
    all
}

/// Derives the blocks from the execution of the warps of one CTA; omits instructions that no warp executes.
pub(super) fn observed_blocks(program: &CtaProgram) -> Vec<(u32, bool)> {
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

    // One entry more than there are instructions, since the last instruction always ends a block.
    let mut leads = vec![false; order.len() + 1];
    for warp in &program.warps {
        let mut instructions = warp.read();
        let mut here = instructions.next();
        // Masks of lanes that jumped and have not executed an instruction since.
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
