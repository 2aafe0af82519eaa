//! The clock that SMs keep under the load of their matrix units.

use warpshard_config::Machine;
use warpshard_report::metrics::{Totals, tensor_percent};
use warpshard_stats::Outcome;
use warpshard_workload::OpClass;

/// From one clock of a machine's table to the next, in percent of the matrix units' use.
const STEP_PERCENT: f64 = 20.0;
/// Clocks are rounded to it, in MHz, so that all of a machine have a common tick.
const ROUND_MHZ: f64 = 10.0;

/// The clock of the machine's table (`clocks.tensor_load`) for the use of the matrix units in a run, in MHz, and that use in percent. Between two clocks of the
/// table it changes in proportion. `None` where the machine has no table.
pub fn clock_under_load(machine: &Machine, outcome: &Outcome) -> Option<(u32, f64)> {
    let sm = &machine.gpu.sm;
    let used = tensor_percent(&Totals::of(&outcome.components), sm.schedulers, sm.timing[OpClass::Tensor as usize].initiation);
    Some((of_table(&machine.gpu.tensor_clocks, used)?, used))
}

fn of_table(table: &[u16], used: f64) -> Option<u32> {
    let clock = |at: usize| table.get(at).or(table.last()).map(|mhz| f64::from(*mhz));
    let place = used.clamp(0.0, 100.0) / STEP_PERCENT;
    let (low, high) = (clock(place as usize)?, clock(place as usize + 1)?);
    Some((((low + (high - low) * place.fract()) / ROUND_MHZ).round() * ROUND_MHZ) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_between_those_of_the_table_change_in_proportion() {
        let table = [1980, 1830, 1790];
        let clocks = [0.0, 10.0, 20.0, 30.0, 40.0, 70.0, 100.0].map(|used| of_table(&table, used).unwrap());
        assert_eq!(clocks, [1980, 1910, 1830, 1810, 1790, 1790, 1790]);
        assert_eq!(of_table(&[], 50.0), None);
    }
}
