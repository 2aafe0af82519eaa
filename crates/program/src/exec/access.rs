//! Memory accesses: addresses, loads, stores and atomics of all spaces.

use super::super::isa::{Address, AtomicOp, AtomicType, Inst, Number, Op, Round, Space};
use super::super::memory::Memory;
use super::copies::{Copies, LaneCopy};
use super::cta::{ExecFault, LOCAL_WINDOW, SHARED_BYTES, SHARED_WINDOW, WINDOW_BYTES};
use super::half;
use super::heap::Heap;
use super::lanes::{Lanes, RegisterRow};
use super::runtime_calls::PrintedText;
use super::shadow::{Shadow, WarpAccess};

/// The memories that are visible to a CTA's threads.
#[derive(Debug)]
pub(super) struct Memories<'a> {
    pub(super) global: &'a mut Memory,
    pub(super) shared: Vec<u8>,
    /// Rank of the CTA in its cluster.
    pub(super) rank: usize,
    /// Indices of the cluster's CTAs, by rank, among the CTAs that execute together.
    pub(super) peers: Vec<usize>,
    /// Shared memory of all CTAs that execute together; the entry of the current CTA is empty.
    pub(super) others: Vec<Vec<u8>>,
    /// Local memory of all threads in sequence.
    pub(super) local: Vec<u8>,
    /// Bytes of local memory per thread.
    pub(super) local_bytes: usize,
    pub(super) copies: Copies,
    /// The heap of the kernels.
    pub(super) heap: Heap,
    pub(super) printed: PrintedText,
    /// Checker of accesses, if accesses are checked.
    pub(super) shadow: Option<Box<Shadow>>,
}

/// Returns the addresses of an instruction in all lanes.
#[inline(always)]
pub(super) fn addresses(address: &Address, lanes: &Lanes, pool: &[RegisterRow]) -> [u64; 32] {
    let low = lanes.row(pool, address.row);
    let uniform = {
        let low = u64::from(lanes.row(pool, address.uniform)[0]);
        if address.uniform_wide { low | u64::from(lanes.row(pool, address.uniform + 1)[0]) << 32 } else { low }
    };
    let base = uniform.wrapping_add_signed(address.offset);
    let mut out = [0; 32];
    if address.wide {
        let high = lanes.row(pool, address.row + 1);
        for lane in 0..32 {
            out[lane] = (u64::from(low[lane]) | u64::from(high[lane]) << 32).wrapping_add(base);
        }
    } else {
        for lane in 0..32 {
            out[lane] = (u64::from(low[lane]) * u64::from(address.scale)).wrapping_add(base);
        }
    }
    out
}

impl Memories<'_> {
    /// Returns the space of an access and the address within it.
    #[inline]
    pub(super) fn resolve(&self, space: Space, address: u64) -> (Space, u64) {
        match space {
            Space::Generic if address.wrapping_sub(SHARED_WINDOW) < SHARED_BYTES => (Space::Shared, address - SHARED_WINDOW),
            Space::Generic if address.wrapping_sub(LOCAL_WINDOW) < WINDOW_BYTES => (Space::Local, address - LOCAL_WINDOW),
            Space::Generic => (Space::Global, address),
            // Addresses of these spaces have 32 bits, and offsets may be negative.
            Space::Shared | Space::Local => (space, address & 0xffff_ffff),
            Space::Global => (space, address),
        }
    }

    /// Returns `bytes` bytes at an address of shared memory or of a thread's local memory.
    pub(super) fn cta_bytes(&mut self, space: Space, address: u64, bytes: usize, thread: usize) -> Result<&mut [u8], ExecFault> {
        // The bits above a shared-memory address are the rank of the CTA in its cluster.
        let number = (address >> 24) as usize;
        let memory = match space {
            Space::Shared if number != self.rank && number < self.peers.len() => &mut self.others[self.peers[number]][..],
            Space::Shared => &mut self.shared[..],
            _ => self.local.get_mut(thread * self.local_bytes..(thread + 1) * self.local_bytes).unwrap_or_default(),
        };
        let size = memory.len();
        let within = if space == Space::Shared && number < self.peers.len() { address & 0xff_ffff } else { address };
        let start = usize::try_from(within).unwrap_or(usize::MAX);
        memory.get_mut(start..start.saturating_add(bytes)).ok_or(ExecFault::BeyondMemory { space, address, size })
    }

    #[inline]
    pub(super) fn read(&mut self, space: Space, address: u64, bytes: usize, thread: usize) -> Result<u64, ExecFault> {
        if !address.is_multiple_of(bytes as u64) {
            return Err(ExecFault::Misaligned { address, bytes });
        }
        match self.resolve(space, address) {
            (Space::Global, address) => self.global.read(address, bytes).map_err(ExecFault::Outside),
            (space, address) => {
                let slice = self.cta_bytes(space, address, bytes, thread)?;
                Ok(match *slice {
                    [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
                    _ => slice.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)),
                })
            }
        }
    }

    #[inline]
    pub(super) fn write(&mut self, space: Space, address: u64, bytes: usize, value: u64, thread: usize) -> Result<(), ExecFault> {
        if !address.is_multiple_of(bytes as u64) {
            return Err(ExecFault::Misaligned { address, bytes });
        }
        match self.resolve(space, address) {
            (Space::Global, address) => self.global.write(address, bytes, value).map_err(ExecFault::Outside),
            (space, address) => {
                self.cta_bytes(space, address, bytes, thread)?.copy_from_slice(&value.to_le_bytes()[..bytes]);
                Ok(())
            }
        }
    }
}

/// A fault with the lane in which it occurred.
pub(super) type LaneFault = (usize, ExecFault);

/// Executes a load, store or atomic in the lanes of `mask`; lane 0 is thread `thread` of the CTA, and `place` is the index of the
/// instruction.
pub(super) fn execute(
    inst: &Inst,
    lanes: &mut Lanes,
    pool: &[RegisterRow],
    mask: u32,
    places: &[u64; 32],
    memories: &mut Memories<'_>,
    (thread, place): (usize, usize),
) -> Result<(), LaneFault> {
    let active = || (0..32).filter(|lane| mask >> lane & 1 != 0);
    match inst.op {
        Op::Load { space, number: Number::Integer(4, _), words } => {
            for lane in active() {
                let at = |fault| (lane, fault);
                if !places[lane].is_multiple_of(4 * u64::from(words)) {
                    return Err((lane, ExecFault::Misaligned { address: places[lane], bytes: 4 * usize::from(words) }));
                }
                for word in 0..u16::from(words) {
                    let value = memories.read(space, places[lane] + 4 * u64::from(word), 4, thread + lane).map_err(at)?;
                    lanes.set_lane(inst.dst + word, lane, value as u32);
                }
            }
        }
        Op::Load { space, number: Number::Integer(bytes, signed), .. } => {
            for lane in active() {
                let value = memories.read(space, places[lane], usize::from(bytes), thread + lane).map_err(|fault| (lane, fault))?;
                let shift = 32 - 8 * u32::from(bytes);
                let value = (value as u32) << shift;
                lanes.set_lane(inst.dst, lane, if signed { ((value as i32) >> shift) as u32 } else { value >> shift });
            }
        }
        Op::Store { space, bytes } if bytes <= 4 => {
            for lane in active() {
                let value = u64::from(lanes.row(pool, inst.src[0].row)[lane]);
                memories.write(space, places[lane], usize::from(bytes), value, thread + lane).map_err(|fault| (lane, fault))?;
            }
        }
        Op::Store { space, bytes } => {
            for lane in active() {
                if !places[lane].is_multiple_of(u64::from(bytes)) {
                    return Err((lane, ExecFault::Misaligned { address: places[lane], bytes: usize::from(bytes) }));
                }
                for word in 0..u16::from(bytes / 4) {
                    let value = u64::from(lanes.row(pool, inst.src[0].row + word)[lane]);
                    let place = places[lane] + 4 * u64::from(word);
                    memories.write(space, place, 4, value, thread + lane).map_err(|fault| (lane, fault))?;
                }
            }
        }
        Op::Atomic { space, op, kind, returns } => {
            let wide = kind.is_wide();
            let bytes = if wide { 8 } else { 4 };
            // The lanes execute in ascending order.
            for lane in active() {
                let at = |fault| (lane, fault);
                let operand = |source: usize| {
                    let low = u64::from(lanes.row(pool, inst.src[source].row)[lane]);
                    if wide { low | u64::from(lanes.row(pool, inst.src[source].row + 1)[lane]) << 32 } else { low }
                };
                let (a, b) = (operand(0), operand(1));
                // Through the generic space an instruction that reports success can modify only single words of shared memory.
                let shared = space == Space::Generic && memories.resolve(space, places[lane]).0 != Space::Global;
                if shared && kind == AtomicType::F16x2 {
                    lanes.set_predicate(inst.predicates[0], 1 << lane, 0);
                    continue;
                }
                let old = memories.read(space, places[lane], bytes, thread + lane).map_err(at)?;
                let (new, result) = apply_atomic(op, kind, old, a, b);
                memories.write(space, places[lane], bytes, new, thread + lane).map_err(at)?;
                lanes.set_predicate(inst.predicates[0], 1 << lane, u32::MAX);
                if returns {
                    lanes.set_lane(inst.dst, lane, result as u32);
                    if wide {
                        lanes.set_lane(inst.dst + 1, lane, (result >> 32) as u32);
                    }
                }
            }
        }
        Op::LoadMatrix { count, transposed } if mask != 0 => {
            for matrix in 0..usize::from(count) {
                let mut rows = [[0; 4]; 8];
                for (row, words) in rows.iter_mut().enumerate() {
                    // Lane `8 * matrix + row` holds the address of a row.
                    let lane = 8 * matrix + row;
                    if !places[lane].is_multiple_of(16) {
                        return Err((lane, ExecFault::Misaligned { address: places[lane], bytes: 16 }));
                    }
                    for (word, value) in words.iter_mut().enumerate() {
                        let address = places[lane] + 4 * word as u64;
                        *value = memories.read(Space::Shared, address, 4, thread + lane).map_err(|fault| (lane, fault))? as u32;
                    }
                }
                let element = |row: usize, column: usize| rows[row][column / 2] >> (16 * (column % 2)) & 0xffff;
                let out = std::array::from_fn(|lane| {
                    let (row, column) = (lane / 4, 2 * (lane % 4));
                    if transposed { element(column, row) | element(column + 1, row) << 16 } else { rows[row][column / 2] }
                });
                lanes.set(inst.dst + matrix as u16, mask, &out);
            }
        }
        Op::StoreMatrix { count, transposed } if mask != 0 => {
            for matrix in 0..usize::from(count) {
                let words = *lanes.row(pool, inst.src[0].row + matrix as u16);
                for row in 0..8 {
                    // Lane `8 * matrix + row` holds the address of a row.
                    let lane = 8 * matrix + row;
                    if !places[lane].is_multiple_of(16) {
                        return Err((lane, ExecFault::Misaligned { address: places[lane], bytes: 16 }));
                    }
                    for column in 0..8 {
                        let (of, part) = if transposed { (4 * column + row / 2, row % 2) } else { (4 * row + column / 2, column % 2) };
                        let value = u64::from(words[of] >> (16 * part) & 0xffff);
                        let address = places[lane] + 2 * column as u64;
                        memories.write(Space::Shared, address, 2, value, thread + lane).map_err(|fault| (lane, fault))?;
                    }
                }
            }
        }
        Op::CopyAsync { bytes } => {
            let size = usize::from(bytes);
            let copied = lanes.predicate(inst.conditions[0]);
            for lane in active() {
                let at = |fault| (lane, fault);
                let base = lanes.row(pool, inst.src[1].row)[lane].wrapping_add(inst.immediate);
                let to = u64::from(lanes.row(pool, inst.src[0].row)[lane].wrapping_add(base));
                let mut data = [0; 16];
                memories.cta_bytes(Space::Shared, to, size, thread + lane).map_err(at)?;
                if let Some(shadow) = &mut memories.shadow {
                    let access = WarpAccess { inst, warp: thread / 32, place, mask, addresses: places, strong: false };
                    shadow.record_copy(access, to as usize, size).map_err(at)?;
                }
                for address in [to, places[lane]] {
                    if !address.is_multiple_of(u64::from(bytes)) {
                        return Err((lane, ExecFault::Misaligned { address, bytes: size }));
                    }
                }
                if copied >> lane & 1 != 0 {
                    for (word, part) in data[..size].chunks_exact_mut(4).enumerate() {
                        let value = memories.read(Space::Global, places[lane] + 4 * word as u64, 4, thread + lane).map_err(at)?;
                        part.copy_from_slice(&(value as u32).to_le_bytes());
                    }
                }
                let copy = LaneCopy { warp: thread, group: 0, to: (to & 0xff_ffff) as usize, bytes: data, size };
                memories.copies.begin(copy, &mut memories.shared);
            }
        }
        Op::GroupCopies if mask != 0 => memories.copies.close(thread),
        Op::WaitCopies if mask != 0 => memories.copies.wait(thread, inst.immediate, &mut memories.shared),
        Op::QuerySpace(wanted) => {
            let holds = active().filter(|&lane| memories.resolve(Space::Generic, places[lane]).0 == wanted);
            let bits = holds.fold(0, |bits, lane| bits | 1 << lane);
            lanes.set_predicate(inst.predicates[0], mask, bits);
        }
        _ => {}
    }
    Ok(())
}

/// Returns the new memory value and the result of the instruction.
pub(super) fn apply_atomic(op: AtomicOp, kind: AtomicType, old: u64, a: u64, b: u64) -> (u64, u64) {
    let single = |value: u64| f32::from_bits(value as u32);
    let double = f64::from_bits;
    let new = match (op, kind) {
        (AtomicOp::Add, AtomicType::F32) => {
            // Atomic additions flush denormals.
            let flush = |value: f32| if value.is_subnormal() { 0.0_f32.copysign(value) } else { value };
            u64::from(flush(flush(single(old)) + flush(single(a))).to_bits())
        }
        (AtomicOp::Add, AtomicType::F64) => (double(old) + double(a)).to_bits(),
        (AtomicOp::Add, AtomicType::F16x2) => {
            let sum = |shift: u32| {
                let part = |value: u64| half::to_f64((value >> shift) as u16);
                u64::from(half::from_f64(part(old) + part(a), Round::Near)) << shift
            };
            sum(0) | sum(16)
        }
        (AtomicOp::Add, _) => old.wrapping_add(a),
        (AtomicOp::Count, _) => old.wrapping_add(1),
        (AtomicOp::Min, AtomicType::S32) => (old as i32).min(a as i32) as u64,
        (AtomicOp::Max, AtomicType::S32) => (old as i32).max(a as i32) as u64,
        (AtomicOp::Min, AtomicType::S64) => (old as i64).min(a as i64) as u64,
        (AtomicOp::Max, AtomicType::S64) => (old as i64).max(a as i64) as u64,
        (AtomicOp::Min, _) => old.min(a),
        (AtomicOp::Max, _) => old.max(a),
        (AtomicOp::Inc, _) => {
            if old >= a {
                0
            } else {
                old + 1
            }
        }
        (AtomicOp::Dec, _) => {
            if old == 0 || old > a {
                a
            } else {
                old - 1
            }
        }
        (AtomicOp::And, _) => old & a,
        (AtomicOp::Or, _) => old | a,
        (AtomicOp::Xor, _) => old ^ a,
        (AtomicOp::Exchange, _) => a,
        (AtomicOp::Swap | AtomicOp::Cast, _) => {
            if old == a {
                b
            } else {
                old
            }
        }
    };
    let result = if op == AtomicOp::Cast { u64::from(old == a) } else { old };
    (new, result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomics_modify_as_their_types_say() {
        let u = |op, old, a| apply_atomic(op, AtomicType::U32, old, a, 0).0 as u32;
        assert_eq!((u(AtomicOp::Inc, 6, 7), u(AtomicOp::Inc, 7, 7), u(AtomicOp::Dec, 0, 7), u(AtomicOp::Dec, 9, 7)), (7, 0, 7, 7));
        assert_eq!(u(AtomicOp::Add, 0xffff_ffff, 2), 1);
        let minus = u64::from((-1_i32) as u32);
        assert_eq!(apply_atomic(AtomicOp::Max, AtomicType::S32, minus, 3, 0).0 as u32, 3);
        assert_eq!(apply_atomic(AtomicOp::Max, AtomicType::U32, minus, 3, 0).0 as u32, u32::MAX);
        assert_eq!(apply_atomic(AtomicOp::Swap, AtomicType::U32, 5, 5, 9), (9, 5));
        assert_eq!(apply_atomic(AtomicOp::Cast, AtomicType::U32, 5, 4, 9), (5, 0));
        let one = u64::from(1.0_f32.to_bits());
        assert_eq!(apply_atomic(AtomicOp::Add, AtomicType::F32, one, one, 0).0 as u32, 2.0_f32.to_bits());
        assert_eq!(apply_atomic(AtomicOp::Add, AtomicType::F16x2, 0x3c00_4000, 0x3c00_3c00, 0).0, 0x4000_4200);
    }
}
