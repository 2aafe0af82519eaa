//! Placement and wiring of routers, and the routes of packets: dimension-order routing on a mesh, or one router.

use std::fmt;

/// The shape of a network. Terminal i sits at router i of a mesh (row by row), and at port i of a crossbar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum Topology {
    /// A 2-D mesh with one terminal per router; packets go along x first, then along y.
    Mesh {
        /// Routers of a row.
        columns: u16,
        /// Rows.
        rows: u16,
    },
    /// One router with a terminal at each port.
    Crossbar {
        /// Its ports.
        ports: u16,
    },
}

/// Ports of a mesh router: one per direction, and the terminal's.
const MESH_PORTS: usize = 5;
// Towards larger x, smaller x, larger y and smaller y.
const EAST: usize = 0;
const WEST: usize = 1;
const SOUTH: usize = 2;
const NORTH: usize = 3;
const LOCAL: usize = 4;

/// The far end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A router's port.
    Router(usize, usize),
    /// A terminal.
    Terminal(usize),
    /// The edge of the mesh.
    Nothing,
}

impl Topology {
    /// Terminals, the senders and receivers of packets.
    pub fn terminals(self) -> usize {
        match self {
            Self::Mesh { columns, rows } => usize::from(columns) * usize::from(rows),
            Self::Crossbar { ports } => usize::from(ports),
        }
    }

    /// Routers.
    pub fn routers(self) -> usize {
        match self {
            Self::Mesh { .. } => self.terminals(),
            Self::Crossbar { .. } => 1,
        }
    }

    /// Ports of a router.
    pub fn ports(self) -> usize {
        match self {
            Self::Mesh { .. } => MESH_PORTS,
            Self::Crossbar { ports } => usize::from(ports),
        }
    }

    /// Routers that a packet passes.
    pub fn routers_between(self, from: usize, to: usize) -> usize {
        match self {
            Self::Mesh { columns, .. } => {
                let columns = usize::from(columns);
                (from % columns).abs_diff(to % columns) + (from / columns).abs_diff(to / columns) + 1
            }
            Self::Crossbar { .. } => 1,
        }
    }

    /// The router and port of a terminal.
    pub(super) fn seat(self, terminal: usize) -> (usize, usize) {
        match self {
            Self::Mesh { .. } => (terminal, LOCAL),
            Self::Crossbar { .. } => (0, terminal),
        }
    }

    /// The output port of `router` for a packet to `terminal`.
    pub(super) fn route(self, router: usize, terminal: usize) -> usize {
        let Self::Mesh { columns, .. } = self else { return terminal };
        let columns = usize::from(columns);
        let ((x, y), (to_x, to_y)) = ((router % columns, router / columns), (terminal % columns, terminal / columns));
        match (to_x.cmp(&x), to_y.cmp(&y)) {
            (std::cmp::Ordering::Greater, _) => EAST,
            (std::cmp::Ordering::Less, _) => WEST,
            (_, std::cmp::Ordering::Greater) => SOUTH,
            (_, std::cmp::Ordering::Less) => NORTH,
            _ => LOCAL,
        }
    }

    /// The far end of a port's channels: the destination of flits that leave by it, and the source of those that arrive.
    pub(super) fn beyond(self, router: usize, port: usize) -> End {
        let Self::Mesh { columns, rows } = self else { return End::Terminal(port) };
        let (columns, rows) = (usize::from(columns), usize::from(rows));
        let (x, y) = (router % columns, router / columns);
        match port {
            EAST if x + 1 < columns => End::Router(router + 1, WEST),
            WEST if x > 0 => End::Router(router - 1, EAST),
            SOUTH if y + 1 < rows => End::Router(router + columns, NORTH),
            NORTH if y > 0 => End::Router(router - columns, SOUTH),
            LOCAL => End::Terminal(router),
            _ => End::Nothing,
        }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mesh { columns, rows } => write!(f, "mesh{columns}x{rows}"),
            Self::Crossbar { ports } => write!(f, "xbar{ports}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn following_the_routes_reaches_every_terminal_over_the_shortest_way() {
        for topology in [Topology::Mesh { columns: 5, rows: 3 }, Topology::Crossbar { ports: 7 }] {
            for from in 0..topology.terminals() {
                for to in 0..topology.terminals() {
                    let (mut router, mut passed) = (topology.seat(from).0, 1);
                    while let End::Router(next, port) = topology.beyond(router, topology.route(router, to)) {
                        assert_eq!(topology.beyond(next, port), End::Router(router, topology.route(router, to)));
                        (router, passed) = (next, passed + 1);
                    }
                    assert_eq!(topology.beyond(router, topology.route(router, to)), End::Terminal(to));
                    assert_eq!(passed, topology.routers_between(from, to));
                }
            }
        }
    }
}
