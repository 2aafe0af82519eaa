//! Where cores and memory partitions sit in a mesh: the router of each, from what sits at each router.

use super::machine::{Machine, Mesh};
use super::seat::Seat;
use crate::MachineError;

/// The router of every core and partition, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Of each SM.
    pub gpu: Vec<u16>,
    /// Of each CPU core.
    pub cpu: Vec<u16>,
    /// Of each memory partition.
    pub mem: Vec<u16>,
}

impl Placement {
    /// Seats everything on the chip.
    ///
    /// # Errors
    /// When something sits nowhere, twice, or is not on the chip; a message for the user.
    pub fn of(machine: &Machine, mesh: &Mesh) -> Result<Self, MachineError> {
        let routers = (mesh.columns * mesh.rows) as usize;
        if mesh.placement.len() != routers {
            return Err(format!("has {} routers, expected {} x {} = {routers}", mesh.placement.len(), mesh.columns, mesh.rows).into());
        }
        let cpus = machine.cpu.as_ref().map_or(0, |cpu| cpu.count);
        let seat = |of: fn(Seat) -> Option<Option<u32>>, name: &str, count: u32| seat_all(&mesh.placement, of, name, count);
        Ok(Self {
            gpu: seat(|seat| if let Seat::Gpu(number) = seat { Some(number) } else { None }, "gpu", machine.gpu.sms)?,
            cpu: seat(|seat| if let Seat::Cpu(number) = seat { Some(number) } else { None }, "cpu", cpus)?,
            mem: seat(|seat| if let Seat::Mem(number) = seat { Some(number) } else { None }, "mem", machine.mem.map.partitions)?,
        })
    }
}

/// The routers of `count` things of one kind.
fn seat_all(nodes: &[Vec<Seat>], of: fn(Seat) -> Option<Option<u32>>, name: &str, count: u32) -> Result<Vec<u16>, String> {
    let seats =
        || nodes.iter().enumerate().flat_map(|(node, seats)| seats.iter().filter_map(move |seat| of(*seat).map(|n| (node as u16, n))));
    let all = seats().count();
    if count == 0 && all == 0 {
        return Ok(Vec::new());
    }
    let numbered = seats().filter(|(_, number)| number.is_some()).count();
    if numbered == 0 {
        if all == 0 || !(count as usize).is_multiple_of(all) {
            return Err(format!("has {all} places \"{name}\" for {count} on the chip, expected a number that divides them evenly"));
        }
        let each = count as usize / all;
        return Ok(seats().flat_map(|(node, _)| std::iter::repeat_n(node, each)).collect());
    }
    if numbered < all {
        return Err(format!("names some of \"{name}\" with and some without a number; expected one or the other"));
    }
    let mut places = vec![None; count as usize];
    for (node, number) in seats() {
        let number = number.unwrap_or_default();
        match places.get_mut(number as usize) {
            None => return Err(format!("seats {name}{number}, but the chip has {count} of them, counted from 0")),
            Some(Some(_)) => return Err(format!("seats {name}{number} twice")),
            Some(place) => *place = Some(node),
        }
    }
    match places.iter().position(Option::is_none) {
        Some(missing) => Err(format!("has no place for {name}{missing}")),
        None => Ok(places.into_iter().flatten().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::seat::{read, write};
    use super::*;

    fn nodes(texts: &[&str]) -> Vec<Vec<Seat>> {
        texts.iter().map(|text| read(text).unwrap()).collect()
    }

    fn gpus(texts: &[&str], count: u32) -> Result<Vec<u16>, String> {
        seat_all(&nodes(texts), |seat| if let Seat::Gpu(number) = seat { Some(number) } else { None }, "gpu", count)
    }

    #[test]
    fn what_is_written_is_read_back_and_nonsense_is_refused() {
        assert_eq!(write(&nodes(&["gpu0  gpu1", "-", "mem"])), "[\"gpu0 gpu1\", \"-\", \"mem\"]");
        for text in ["", "tpu0", "gpu0 x", "gpu-1", "cpu1.5"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn cores_are_dealt_evenly_or_sit_where_they_are_named() {
        assert_eq!(gpus(&["gpu", "cpu", "gpu"], 4), Ok(vec![0, 0, 2, 2]));
        assert_eq!(gpus(&["gpu1", "-", "gpu0 gpu2"], 3), Ok(vec![2, 0, 2]));
    }

    #[test]
    fn what_sits_nowhere_twice_or_is_not_there_is_named() {
        let error = |texts: &[&str], count| gpus(texts, count).unwrap_err();
        assert!(error(&["gpu", "gpu"], 3).contains("2 places \"gpu\" for 3"));
        assert!(error(&["gpu0", "gpu"], 2).contains("some without a number"));
        assert!(error(&["gpu0", "gpu0"], 2).contains("gpu0 twice"));
        assert!(error(&["gpu0", "gpu7"], 2).contains("seats gpu7"));
        assert!(error(&["gpu0", "-"], 2).contains("no place for gpu1"));
    }
}
