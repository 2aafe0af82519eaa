//! Translation of a controller's decision into settings of SMs and grid schedulers.

use warpshard_base::{SmId, UnitId};
use warpshard_control::Decision;
use warpshard_gpu::cta::GridDecision;
use warpshard_gpu::sm::SmDecision;
use warpshard_protocol::PowerState;

use super::layout::ChipLayout;
use super::unit::ChipDecision;

/// Lets the grid schedulers launch the kernels that wait for the CPU cores.
pub(super) fn release_kernels(layout: &ChipLayout) -> impl Iterator<Item = (UnitId, ChipDecision)> + use<> {
    layout.grids().map(|grid| (grid, ChipDecision::Grid(GridDecision::Release)))
}

/// Returns the unit settings that carry out a decision, in the order in which they are applied.
pub(super) fn unit_settings(layout: &ChipLayout, decision: &Decision) -> Vec<(UnitId, ChipDecision)> {
    if let Decision::KernelCtas { sm, kernel, limit } = *decision {
        let decision = |sm| ChipDecision::Grid(GridDecision::KernelCtas { sm, kernel, limit });
        return match sm.map(|sm| layout.grid_of(sm)) {
            Some((grid, sm)) => vec![(grid, decision(Some(sm)))],
            None => layout.grids().map(|grid| (grid, decision(None))).collect(),
        };
    }
    let sms = match decision.sm() {
        Some(sm) => sm.0..sm.0 + 1,
        None => 0..layout.all_sms() as u16,
    };
    let of_sm = |sm: SmId| {
        let unit = layout.sm(sm);
        let to_sm = |decision| (unit, ChipDecision::Sm(decision));
        let (grid, sm) = layout.grid_of(sm);
        let to_grid = |decision| (grid, ChipDecision::Grid(decision));
        match *decision {
            Decision::CtaLimit { limit, .. } => vec![to_grid(GridDecision::CtaLimit { sm, limit }), to_sm(SmDecision::CtaLimit(limit))],
            Decision::WarpLimit { limit, .. } => vec![to_sm(SmDecision::WarpLimit(limit))],
            Decision::Power { state, .. } => {
                vec![to_grid(GridDecision::Serve { sm, serve: state == PowerState::Active }), to_sm(SmDecision::Power(state))]
            }
            Decision::Preempt { how, .. } => vec![to_sm(SmDecision::Preempt(how))],
            Decision::PreemptCta { kernel, cta, how, .. } => vec![to_sm(SmDecision::PreemptCta(kernel, cta, how))],
            Decision::Owner { app, .. } => vec![to_grid(GridDecision::Owner { sm, app })],
            Decision::Bypass { kernel, ctas, .. } => vec![to_sm(SmDecision::Bypass { kernel, ctas })],
            Decision::KernelCtas { .. } => Vec::new(),
        }
    };
    sms.map(SmId).flat_map(of_sm).collect()
}
