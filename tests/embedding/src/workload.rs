//! A workload of the embedding program: warps that repeatedly walk over lines in an order without strides.

use std::sync::{Arc, Mutex, PoisonError};

use warpshard::base::{Addr, AppId, CtaIndex, KernelIndex, LaneMask, StreamId};
use warpshard::workload::{
    CachePolicy, Command, Control, CtaProgram, CtaSource, Dim3, Kernel, KernelInfo, MemInst, MemKind, MemSpace, NO_REGISTER, OpClass,
    RegisterSets, StaticInst, StreamBuilder, Workload,
};
use warpshard_state::{Reader, State as _, StateError, Writer};

const GRID_CTAS: u32 = 6;
const WARPS_PER_CTA: u64 = 2;
const LINES_PER_WARP: u64 = 48;
const WALK_ROUNDS: u64 = 2;

/// Source of the walk's CTAs; a checkpoint keeps the number of CTAs handed out.
#[derive(Debug, Default)]
struct WalkWorkload {
    handed_out: Mutex<u64>,
}

impl WalkWorkload {
    /// Reads or changes the number of CTAs handed out.
    fn with_count<T>(&self, of: impl FnOnce(&mut u64) -> T) -> T {
        of(&mut self.handed_out.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns an instruction; a load reads and writes register 1, as in a walk over pointers.
fn walk_instruction(class: OpClass, mem: Option<MemInst>) -> StaticInst {
    let dst = if mem.is_some() { 1 } else { NO_REGISTER };
    let src = [dst, NO_REGISTER, NO_REGISTER, NO_REGISTER];
    let registers = RegisterSets::new(dst, src);
    StaticInst { pc: 0, class, packed_half: false, flops: 0, dst, src, mem, immediate: 0, control: Control::NONE, registers }
}

impl CtaSource for WalkWorkload {
    fn cta(&self, index: CtaIndex) -> Arc<CtaProgram> {
        self.with_count(|handed_out| *handed_out += 1);
        let load = MemInst { space: MemSpace::Global, kind: MemKind::Load, width: 4, cache: CachePolicy::All };
        let code = [walk_instruction(OpClass::Load, Some(load)), walk_instruction(OpClass::Exit, None)];
        let stream = |warp: u64| {
            let mut stream = StreamBuilder::default();
            for step in 0..WALK_ROUNDS * LINES_PER_WARP {
                let line = (step % LINES_PER_WARP * 61 + warp * 7) % LINES_PER_WARP * 37 % 97;
                stream.access(0, LaneMask(1), &[0x10000 + u64::from(index.0 % 4) * 0x10_0000 + line * 256]);
            }
            stream.op(1, LaneMask::FULL);
            stream.finish()
        };
        Arc::new(CtaProgram { code: code.into(), warps: (0..WARPS_PER_CTA).map(stream).collect(), ..CtaProgram::default() })
    }

    fn save(&self, to: &mut Writer) {
        self.with_count(|handed_out| handed_out.save(to));
    }

    fn load(&self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let saved = u64::read(from)?;
        self.with_count(|handed_out| *handed_out = saved);
        Ok(())
    }

    fn notes(&self) -> Vec<(String, u64)> {
        vec![("CTAs of the walk were handed out".to_owned(), self.with_count(|handed_out| *handed_out))]
    }
}

/// Returns the workload with no CTA handed out.
pub(crate) fn walk_workload() -> Arc<Workload> {
    let info = KernelInfo {
        name: "walk".to_owned(),
        id: 1,
        grid: Dim3 { x: GRID_CTAS, y: 1, z: 1 },
        cluster: Dim3::SINGLE_ELEMENT,
        block: Dim3 { x: 32 * WARPS_PER_CTA as u32, y: 1, z: 1 },
        shared_bytes: 0,
        registers: 16,
        app: AppId(0),
        stream: StreamId(0),
        after: Vec::new(),
        programmatic: None,
        shared_base: Addr(0),
        local_base: Addr(0),
        gpu: None,
        copy: None,
    };
    let kernels = vec![Kernel { info, source: Arc::new(WalkWorkload::default()) }];
    let commands = vec![Command::Launch(KernelIndex(0))];
    Arc::new(Workload { name: "walk".to_owned(), commands, kernels, applications: Vec::new(), notes: Vec::new(), homes: Vec::new() })
}
