//! A torus: a mesh whose rows and columns are closed to rings.
//!
//! Packets go along x first, then along y, as on the mesh. They take the link that closes a ring where they begin at its end and it is the shorter
//! way, and never after other links of the ring: then the links of a ring wait for each other in no circle, with any number of virtual channels
//! (Dally and Seitz, IEEE Transactions on Computers 1987, break the circle with a second virtual channel instead, which allows the shortest way
//! everywhere).

use warpshard_seam::{End, Grid, Link, Topology, Wiring, WiringError};

use super::topology::{EAST, LOCAL, MESH_PORTS, NORTH, SOUTH, WEST};

/// The torus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torus;

/// The way from place `at` of a ring of `size` to place `to`: upwards, downwards, or there.
fn way(at: u16, to: u16, size: u16) -> std::cmp::Ordering {
    let last = size - 1;
    let direct = to.cmp(&at);
    let around = 1 + if at == last { to } else { last - to };
    if (at == 0 || at == last) && around < at.abs_diff(to) { direct.reverse() } else { direct }
}

impl Topology for Torus {
    fn wiring(&self, Grid { columns, rows }: Grid) -> Result<Wiring, WiringError> {
        let routers = columns * rows;
        let end = |router: u16, port: usize| End { router, port: port as u16 };
        let at = |x: u16, y: u16| y % rows * columns + x % columns;
        let mut links: Vec<Link> = Vec::new();
        for (x, y) in (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y))) {
            // Two routers have one link, and one has none.
            if x + 1 < columns || columns > 2 {
                links.push((end(at(x, y), EAST), end(at(x + 1, y), WEST)));
            }
            if y + 1 < rows || rows > 2 {
                links.push((end(at(x, y), SOUTH), end(at(x, y + 1), NORTH)));
            }
        }
        let route = |router: u16, terminal: u16| {
            use std::cmp::Ordering::{Equal, Greater, Less};
            let x = way(router % columns, terminal % columns, columns);
            let y = way(router / columns, terminal / columns, rows);
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
