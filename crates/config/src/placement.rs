//! The placement of cores and memory partitions in a mesh: the router of each node.

use super::machine::{Machine, Mesh};
use super::mesh_nodes::Seat;
use crate::MachineError;

/// The router of every core and partition, indexed by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The router of each SM.
    pub gpu: Vec<u16>,
    /// The router of each CPU core.
    pub cpu: Vec<u16>,
    /// The router of each memory partition.
    pub mem: Vec<u16>,
}

impl Placement {
    /// Computes the router of every core and partition.
    ///
    /// # Errors
    /// A core or partition has no router or several, or does not exist on the chip; a message for the user.
    pub fn of(machine: &Machine, mesh: &Mesh) -> Result<Self, MachineError> {
        let routers = (mesh.columns * mesh.rows) as usize;
        if mesh.placement.len() != routers {
            return Err(format!("has {} routers, expected {} x {} = {routers}", mesh.placement.len(), mesh.columns, mesh.rows).into());
        }
        let cpus = machine.cpu.as_ref().map_or(0, |cpu| cpu.count);
        let seat = |of: fn(Seat) -> Option<Option<u32>>, name: &str, count: u32| assign_routers(&mesh.placement, of, name, count);
        Ok(Self {
            gpu: seat(|seat| if let Seat::Gpu(number) = seat { Some(number) } else { None }, "gpu", machine.gpu.sms)?,
            cpu: seat(|seat| if let Seat::Cpu(number) = seat { Some(number) } else { None }, "cpu", cpus)?,
            mem: seat(|seat| if let Seat::Mem(number) = seat { Some(number) } else { None }, "mem", machine.mem.map.partitions)?,
        })
    }
}

/// Returns the routers of `count` nodes of one kind.
fn assign_routers(nodes: &[Vec<Seat>], of: fn(Seat) -> Option<Option<u32>>, name: &str, count: u32) -> Result<Vec<u16>, String> {
    let seats =
        || nodes.iter().enumerate().flat_map(|(node, seats)| seats.iter().filter_map(move |seat| of(*seat).map(|n| (node as u16, n))));
    let all = seats().count();
    if count == 0 && all == 0 {
        return Ok(Vec::new());
    }
    let numbered = seats().filter(|(_, number)| number.is_some()).count();
    if numbered == 0 {
        if all == 0 || !(count as usize).is_multiple_of(all) {
            return Err(format!("has {all} entries \"{name}\" for {count} on the chip, expected a divisor of {count}"));
        }
        let each = count as usize / all;
        return Ok(seats().flat_map(|(node, _)| std::iter::repeat_n(node, each)).collect());
    }
    if numbered < all {
        return Err(format!("has entries \"{name}\" with and without numbers; expected only one form"));
    }
    let mut routers = vec![None; count as usize];
    for (node, number) in seats() {
        let number = number.unwrap_or_default();
        match routers.get_mut(number as usize) {
            None => return Err(format!("contains {name}{number}, but the chip has {count} of them, numbered from 0")),
            Some(Some(_)) => return Err(format!("contains {name}{number} twice")),
            Some(router) => *router = Some(node),
        }
    }
    match routers.iter().position(Option::is_none) {
        Some(missing) => Err(format!("has no router for {name}{missing}")),
        None => Ok(routers.into_iter().flatten().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::mesh_nodes::{read, write};
    use super::*;

    fn nodes(texts: &[&str]) -> Vec<Vec<Seat>> {
        texts.iter().map(|text| read(text).unwrap()).collect()
    }

    fn gpus(texts: &[&str], count: u32) -> Result<Vec<u16>, String> {
        assign_routers(&nodes(texts), |seat| if let Seat::Gpu(number) = seat { Some(number) } else { None }, "gpu", count)
    }

    #[test]
    fn written_text_is_read_back_and_invalid_text_is_rejected() {
        assert_eq!(write(&nodes(&["gpu0  gpu1", "-", "mem"])), "[\"gpu0 gpu1\", \"-\", \"mem\"]");
        for text in ["", "tpu0", "gpu0 x", "gpu-1", "cpu1.5"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn cores_are_distributed_evenly_or_placed_by_number() {
        assert_eq!(gpus(&["gpu", "cpu", "gpu"], 4), Ok(vec![0, 0, 2, 2]));
        assert_eq!(gpus(&["gpu1", "-", "gpu0 gpu2"], 3), Ok(vec![2, 0, 2]));
    }

    #[test]
    fn missing_duplicate_and_unknown_nodes_are_named() {
        let error = |texts: &[&str], count| gpus(texts, count).unwrap_err();
        assert!(error(&["gpu", "gpu"], 3).contains("2 entries \"gpu\" for 3"));
        assert!(error(&["gpu0", "gpu"], 2).contains("with and without numbers"));
        assert!(error(&["gpu0", "gpu0"], 2).contains("gpu0 twice"));
        assert!(error(&["gpu0", "gpu7"], 2).contains("contains gpu7"));
        assert!(error(&["gpu0", "-"], 2).contains("no router for gpu1"));
    }
}
