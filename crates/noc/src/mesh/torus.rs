//! A torus: a mesh whose rows and columns are closed to rings.
//!
//! Packets travel along x first, then along y, as on the mesh. A packet takes the link that closes a ring only as its first link in the
//! ring, and only if this is the shorter direction. So the links of a ring have no cyclic dependency, with any number of virtual channels
//! (Dally and Seitz, IEEE Transactions on Computers 1987, break the cycle with a second virtual channel instead, which allows the shortest
//! path everywhere).

use warpshard_seam::{MeshSize, RouterLink, RouterPort, Topology, Wiring, WiringError};

use super::topology::{EAST, LOCAL, MESH_PORTS, NORTH, SOUTH, WEST};

/// The torus topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torus;

/// Returns the direction from position `at` of a ring of `size` to position `to`: upwards, downwards, or arrived.
fn ring_direction(at: u16, to: u16, size: u16) -> std::cmp::Ordering {
    let last = size - 1;
    let direct = to.cmp(&at);
    let around = 1 + if at == last { to } else { last - to };
    if (at == 0 || at == last) && around < at.abs_diff(to) { direct.reverse() } else { direct }
}

impl Topology for Torus {
    fn wiring(&self, MeshSize { columns, rows }: MeshSize) -> Result<Wiring, WiringError> {
        let routers = columns * rows;
        let end = |router: u16, port: usize| RouterPort { router, port: port as u16 };
        let at = |x: u16, y: u16| y % rows * columns + x % columns;
        let mut links: Vec<RouterLink> = Vec::new();
        for (x, y) in (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y))) {
            // A ring of two routers has one link, and a ring of one router has none.
            if x + 1 < columns || columns > 2 {
                links.push((end(at(x, y), EAST), end(at(x + 1, y), WEST)));
            }
            if y + 1 < rows || rows > 2 {
                links.push((end(at(x, y), SOUTH), end(at(x, y + 1), NORTH)));
            }
        }
        let route = |router: u16, terminal: u16| {
            use std::cmp::Ordering::{Equal, Greater, Less};
            let x = ring_direction(router % columns, terminal % columns, columns);
            let y = ring_direction(router / columns, terminal / columns, rows);
            let port = match (x, y) {
                (Greater, _) => EAST,
                (Less, _) => WEST,
                (Equal, Greater) => SOUTH,
                (Equal, Less) => NORTH,
                (Equal, Equal) => LOCAL,
            };
            port as u16
        };
        let seats = (0..routers).map(|router| end(router, LOCAL)).collect();
        Wiring::new(format!("torus{columns}x{rows}"), (routers, MESH_PORTS as u16), seats, &links, route)
    }
}
