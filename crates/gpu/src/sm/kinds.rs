//! Kinds of execution units, and the unit of each instruction class.

use warpshard_config::machine::{CoreStyle, Sm as Spec};
use warpshard_workload::OpClass;

/// Kinds of execution units, in the order in which they are served in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
pub(super) enum UnitKind {
    /// Single-precision unit.
    #[default]
    Sp,
    /// Double-precision unit.
    Dp,
    /// Integer unit.
    Int,
    /// Special function unit.
    Sfu,
    /// Branch unit.
    Branch,
    /// Texture unit.
    Texture,
    /// Tensor unit.
    Tensor,
    /// Uniform datapath.
    Uniform,
    /// Load/store unit.
    Mem,
}

/// Number of kinds.
pub(super) const UNIT_KIND_COUNT: usize = 9;

/// All kinds in numerical order.
pub(super) const ALL_UNIT_KINDS: [UnitKind; UNIT_KIND_COUNT] = [
    UnitKind::Sp,
    UnitKind::Dp,
    UnitKind::Int,
    UnitKind::Sfu,
    UnitKind::Branch,
    UnitKind::Texture,
    UnitKind::Tensor,
    UnitKind::Uniform,
    UnitKind::Mem,
];

/// Maximum number of slots in the registers of a kind between stages: one per sub-core, or one per unit if sub-cores share the registers.
pub(super) const MAX_SLOTS: usize = 16;

/// Unit and timing of an instruction class.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(super) struct ClassRoute {
    pub(super) kind: UnitKind,
    pub(super) latency: u16,
    pub(super) initiation: u16,
}

/// Returns the unit of each class: the unit of its kind if the machine has one, else INT, else SP. Double precision falls back to SFU
/// first, as in the reference.
pub(super) fn routes(spec: &Spec) -> [ClassRoute; OpClass::COUNT] {
    let units = &spec.units;
    let int = if units.int > 0 { UnitKind::Int } else { UnitKind::Sp };
    let or = |count: u32, kind: UnitKind, other: UnitKind| if count > 0 { kind } else { other };
    let mut table = [ClassRoute::default(); OpClass::COUNT];
    for (class, kind) in [
        (OpClass::Sp, or(units.sp, UnitKind::Sp, int)),
        (OpClass::Int, int),
        (OpClass::Alu, int),
        (OpClass::Sfu, or(units.sfu, UnitKind::Sfu, int)),
        (OpClass::Dp, or(units.dp, UnitKind::Dp, or(units.sfu, UnitKind::Sfu, int))),
        (OpClass::Tensor, or(units.tensor, UnitKind::Tensor, int)),
        (OpClass::Branch, or(units.branch, UnitKind::Branch, int)),
        (OpClass::Texture, or(units.texture, UnitKind::Texture, int)),
        (OpClass::Uniform, or(units.uniform, UnitKind::Uniform, int)),
        (OpClass::Load, UnitKind::Mem),
        (OpClass::Store, UnitKind::Mem),
        (OpClass::Fence, UnitKind::Mem),
        (OpClass::Barrier, int),
        (OpClass::Exit, int),
    ] {
        let timing = spec.timing[class as usize];
        // An interval of 0 or beyond the latency has no meaning in a pipeline of `latency` stages.
        let latency = timing.latency.max(1) as u16;
        table[class as usize] = ClassRoute { kind, latency, initiation: (timing.initiation as u16).clamp(1, latency) };
    }
    table
}

/// Returns the number of slots in the registers before the units of each kind.
pub(super) fn slots_per_kind(spec: &Spec) -> [usize; UNIT_KIND_COUNT] {
    let units = &spec.units;
    let shared = [units.sp, units.dp, units.int, units.sfu, units.branch, units.texture, units.tensor, units.uniform, 1];
    let schedulers = spec.schedulers as usize;
    match spec.style {
        CoreStyle::SubCores | CoreStyle::ControlWords => shared.map(|count| if count == 0 { 0 } else { schedulers }),
        CoreStyle::Shared => shared.map(|count| (count as usize).min(MAX_SLOTS)),
    }
}
