//! Number of active SMs of each application over a run, from the decisions in its timeline.
//!
//! The module reads decisions on owners and power states, and draws a strip per application and a strip of the power-gated SMs, as steps.

use std::collections::BTreeMap;

use super::plot::Series;
use super::strips::Strips;
use super::timeline::TimelineRecord;

/// Owner and power state of an SM after a decision.
#[derive(Clone, Copy)]
struct SmState {
    owner: u16,
    power: f64,
}

/// Value of the power state of a power-gated SM in the timeline.
const GATED_LEVEL: f64 = 0.0;
const ACTIVE_LEVEL: f64 = 2.0;

/// Returns the picture; `None` if no controller assigned SMs to applications.
pub fn picture(records: &[TimelineRecord]) -> Option<Strips> {
    let mut sms: BTreeMap<u16, SmState> = BTreeMap::new();
    let mut strips: BTreeMap<u16, Vec<(f64, f64)>> = BTreeMap::new();
    let mut gated: Vec<(f64, f64)> = Vec::new();
    let mut rest = records;
    while let Some(first) = rest.first() {
        let here = rest.iter().take_while(|record| record.cycle == first.cycle).count();
        let (cut, later) = rest.split_at(here);
        let at = first.cycle;
        rest = later;
        for record in cut {
            let (Some(sm), Some(value)) = (record.sm, record.value) else { continue };
            match record.name.as_str() {
                "owner" => {
                    strips.entry(value as u16).or_default();
                    sms.entry(sm).or_insert(SmState { owner: 0, power: ACTIVE_LEVEL }).owner = value as u16;
                }
                "power" => sms.entry(sm).or_insert(SmState { owner: 0, power: ACTIVE_LEVEL }).power = value,
                _ => {}
            }
        }
        for (&app, points) in &mut strips {
            add_step(points, at, sms.values().filter(|state| state.owner == app && state.power == ACTIVE_LEVEL).count());
        }
        add_step(&mut gated, at, sms.values().filter(|state| state.power == GATED_LEVEL).count());
    }
    if strips.is_empty() {
        return None;
    }
    let named = strips.into_iter().map(|(app, points)| Series { name: format!("application {app}"), points });
    let strips = named.chain([Series { name: "without power".into(), points: gated }]).collect();
    Some(Strips { title: "Active SMs of each application".into(), x: "core cycle".into(), strips })
}

/// Extends the line to cycle `at` with the old count, and continues with the new one.
fn add_step(points: &mut Vec<(f64, f64)>, at: u64, count: usize) {
    if let Some(&(_, before)) = points.last() {
        points.push((at as f64, before));
    }
    points.push((at as f64, count as f64));
}

#[cfg(test)]
mod tests {
    use super::super::timeline::read;
    use super::*;

    const TEXT: &str = "cycle,controller,sm,name,value,reason\n\
        0,shares,0,owner,0,even\n\
        0,shares,1,owner,1,even\n\
        0,shares,2,owner,1,even\n\
        500,shares,2,power,1,sample\n\
        900,shares,2,owner,0,found\n\
        900,shares,2,power,2,found\n\
        900,shares,1,power,0,found\n";

    #[test]
    fn paused_gated_and_reassigned_sms_are_not_active() {
        let strips = picture(&read(TEXT).unwrap()).unwrap().strips;
        let named: Vec<&str> = strips.iter().map(|strip| strip.name.as_str()).collect();
        assert_eq!(named, ["application 0", "application 1", "without power"]);
        assert_eq!(strips[0].points, [(0.0, 1.0), (500.0, 1.0), (500.0, 1.0), (900.0, 1.0), (900.0, 2.0)]);
        assert_eq!(strips[1].points, [(0.0, 2.0), (500.0, 2.0), (500.0, 1.0), (900.0, 1.0), (900.0, 0.0)]);
        assert_eq!(strips[2].points.last(), Some(&(900.0, 1.0)));
    }

    #[test]
    fn a_run_without_owners_has_no_picture() {
        assert_eq!(picture(&read("cycle,controller,sm,name,value,reason\n1,a,0,power,2,b\n").unwrap()), None);
    }
}
