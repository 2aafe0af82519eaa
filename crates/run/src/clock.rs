//! The clock that SMs sustain under the load of their matrix units.

use warpshard_config::Machine;
use warpshard_report::metrics::{Totals, tensor_percent};
use warpshard_stats::Outcome;
use warpshard_workload::OpClass;

/// Step between two entries of a machine's clock table, in percent of the matrix units' utilisation.
const TABLE_STEP_PERCENT: f64 = 20.0;
/// Rounding step of clocks in MHz, so that all clocks of a machine have a common tick.
const ROUNDING_MHZ: f64 = 10.0;

/// Returns the clock in MHz from the machine's table (`clocks.tensor_load`) for the utilisation of the matrix units in a run, and this
/// utilisation in percent. Between two entries of the table the clock is interpolated linearly. `None` if the machine has no table.
pub fn clock_under_load(machine: &Machine, outcome: &Outcome) -> Option<(u32, f64)> {
    let sm = &machine.gpu.sm;
    let used = tensor_percent(&Totals::of(&outcome.components), sm.schedulers, sm.timing[OpClass::Tensor as usize].initiation);
    Some((interpolated_mhz(&machine.gpu.tensor_clocks, used)?, used))
}

fn interpolated_mhz(table: &[u16], used: f64) -> Option<u32> {
    let clock = |at: usize| table.get(at).or(table.last()).map(|mhz| f64::from(*mhz));
    let place = used.clamp(0.0, 100.0) / TABLE_STEP_PERCENT;
    let (low, high) = (clock(place as usize)?, clock(place as usize + 1)?);
    Some((((low + (high - low) * place.fract()) / ROUNDING_MHZ).round() * ROUNDING_MHZ) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_between_table_entries_are_interpolated() {
        let table = [1980, 1830, 1790];
        let clocks = [0.0, 10.0, 20.0, 30.0, 40.0, 70.0, 100.0].map(|used| interpolated_mhz(&table, used).unwrap());
        assert_eq!(clocks, [1980, 1910, 1830, 1810, 1790, 1790, 1790]);
        assert_eq!(interpolated_mhz(&[], 50.0), None);
    }
}
