//! Saturation curves: the IPC of each application alone by its number of SMs, and the best fixed partition of each pair by these curves.
//!
//! In: runs of each application on one to six sixths of the SMs. Out: the curves; for each pair the partition with the greatest sum of
//! normalised progress and its gain over the even partition; for each application the fewest_sms SMs that keep 95 % of the IPC on half of the
//! SMs. The curves do not include contention between the applications in the network, the LLC and DRAM, which a run of the pair includes.

use warpshard_lab::output::StudyOutput;
use warpshard_lab::statistics::{mean, percent_over};

use super::classes::{name, published_classes};
use super::published::{Members, applications};

/// Points of a curve; the last has all SMs.
pub(super) const CURVE_POINTS: u32 = 6;

/// The IPC of an application on one to six sixths of the SMs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct IpcCurve {
    pub(super) app: usize,
    pub(super) ipc: [f64; CURVE_POINTS as usize],
}

impl IpcCurve {
    /// Returns the IPC on `own` of `sms` SMs over the IPC on all SMs, interpolated linearly between the points of the curve, and from 0 at
    /// no SM.
    pub(super) fn progress_on(&self, own: f64, sms: u32) -> f64 {
        let position = own * f64::from(CURVE_POINTS) / f64::from(sms);
        let at = |point: usize| if point == 0 { 0.0 } else { self.ipc[(point - 1).min(self.ipc.len() - 1)] };
        let below = position.floor() as usize;
        (at(below) + (at(below + 1) - at(below)) * (position - below as f64)) / self.ipc[self.ipc.len() - 1]
    }
}

/// Returns the SMs of application `a` in the partition with the highest STP of both applications, and the gain in percent over the even
/// partition.
pub(super) fn best_partition(a: &IpcCurve, b: &IpcCurve, sms: u32) -> (u32, f64) {
    let stp = |own: u32| a.progress_on(f64::from(own), sms) + b.progress_on(f64::from(sms - own), sms);
    let even = stp(sms / 2);
    let best = (1..sms).fold((sms / 2, even), |best, own| if stp(own) > best.1 { (own, stp(own)) } else { best });
    (best.0, percent_over(best.1, even))
}

/// Returns the fewest_sms SMs that keep 95 % of the IPC on half of the SMs.
pub(super) fn fewest_sms(curve: &IpcCurve, sms: u32) -> u32 {
    let half = curve.progress_on(f64::from(sms / 2), sms);
    (1..sms / 2).find(|own| curve.progress_on(f64::from(*own), sms) >= 0.95 * half).unwrap_or(sms / 2)
}

/// Adds the curves and the best partition of each pair to the output.
pub(super) fn show_curves(output: &mut StudyOutput, curves: &[IpcCurve], pairs: &[Members], sms: u32) {
    let columns: Vec<String> = (1..=CURVE_POINTS).map(|point| format!("{} SMs", point * sms / CURVE_POINTS)).collect();
    let header: Vec<&str> =
        ["application", "type"].into_iter().chain(columns.iter().map(String::as_str)).chain(["half to all", "SMs for 95 % of half"]).collect();
    output.columns(&header);
    for curve in curves {
        let kind = if published_classes(&vec![curve.app])[0] { "memory" } else { "compute" };
        let gain = 1.0 / curve.progress_on(f64::from(sms / 2), sms);
        let mut row = vec![applications()[curve.app].name.clone(), kind.to_owned()];
        row.extend(curve.ipc.iter().map(|ipc| format!("{ipc:.2}")));
        row.extend([format!("{gain:.2}"), fewest_sms(curve, sms).to_string()]);
        output.row(row);
    }
    let of = |app: usize| curves.iter().find(|curve| curve.app == app);
    let mut rows = Vec::new();
    let (mut mixed, mut kept) = (Vec::new(), Vec::new());
    for members in pairs {
        let [first, second] = members[..] else { continue };
        let (Some(a), Some(b)) = (of(first), of(second)) else { continue };
        let (own, gain) = best_partition(a, b, sms);
        let memory = published_classes(members).iter().filter(|memory| **memory).count();
        match memory {
            1 => mixed.push(gain),
            2 => kept.push(100.0 - 100.0 * f64::from(fewest_sms(a, sms) + fewest_sms(b, sms)) / f64::from(sms)),
            _ => (),
        }
        let kind = ["compute", "mixed", "memory"][memory];
        rows.push(vec![name(members), kind.to_owned(), format!("{own} + {}", sms - own), format!("{gain:+.1}")]);
    }
    let header = ["applications", "type", "SMs", "STP over even, %"];
    output.section("The best fixed partition, from the curves", "partitions.csv", header.map(String::from).to_vec(), rows);
    let figures = [
        ("mixed pairs, STP of the best fixed partition over the even one by the curves, mean, %", mean(mixed.iter().copied())),
        ("mixed pairs, the same, best, %", mixed.iter().copied().reduce(f64::max)),
        ("memory pairs, SMs that 95 % of the IPC with half of them leaves, mean, %", mean(kept.iter().copied())),
    ];
    for (figure, value) in figures {
        if let Some(value) = value {
            output.figure(figure, value);
        }
    }
}
