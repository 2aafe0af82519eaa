//! Placement and wiring of routers, and the routes of packets: dimension-order routing on a mesh, one router, or whatever a checked table says.

use std::fmt;
use std::sync::Arc;

use warpshard_seam::{self as seam, Far};
use warpshard_state::{Reader, State, StateError, Writer};

/// The shape of a network. Terminal i sits at router i of a mesh (row by row), and at port i of a crossbar.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
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
    /// Routers, links and routes of a table.
    Wired(Wired),
}

/// A table of routers, links and routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wired(pub Arc<seam::Wiring>);

/// The name of the table, which follows from the machine, so that it is not taken for another.
impl State for Wired {
    fn save(&self, to: &mut Writer) {
        self.0.name().to_owned().save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let name = String::read(from)?;
        if name == self.0.name() {
            return Ok(());
        }
        Err(StateError::new(format!("the saved state is that of the topology `{name}`, and this run has `{}`", self.0.name())))
    }
}

/// Ports of a mesh router: one per direction, and the terminal's.
pub(super) const MESH_PORTS: usize = 5;
// Towards larger x, smaller x, larger y and smaller y.
pub(super) const EAST: usize = 0;
pub(super) const WEST: usize = 1;
pub(super) const SOUTH: usize = 2;
pub(super) const NORTH: usize = 3;
pub(super) const LOCAL: usize = 4;

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
    pub fn terminals(&self) -> usize {
        match self {
            Self::Mesh { columns, rows } => usize::from(*columns) * usize::from(*rows),
            Self::Crossbar { ports } => usize::from(*ports),
            Self::Wired(Wired(wiring)) => wiring.terminals(),
        }
    }

    /// Routers.
    pub fn routers(&self) -> usize {
        match self {
            Self::Mesh { .. } => self.terminals(),
            Self::Crossbar { .. } => 1,
            Self::Wired(Wired(wiring)) => wiring.routers(),
        }
    }

    /// Ports of a router.
    pub fn ports(&self) -> usize {
        match self {
            Self::Mesh { .. } => MESH_PORTS,
            Self::Crossbar { ports } => usize::from(*ports),
            Self::Wired(Wired(wiring)) => wiring.ports(),
        }
    }

    /// Routers that a packet passes.
    pub fn routers_between(&self, from: usize, to: usize) -> usize {
        match self {
            Self::Mesh { columns, .. } => {
                let columns = usize::from(*columns);
                (from % columns).abs_diff(to % columns) + (from / columns).abs_diff(to / columns) + 1
            }
            Self::Crossbar { .. } => 1,
            Self::Wired(Wired(wiring)) => wiring.routers_between(from, to),
        }
    }

    /// The router and port of a terminal.
    pub(super) fn seat(&self, terminal: usize) -> (usize, usize) {
        match self {
            Self::Mesh { .. } => (terminal, LOCAL),
            Self::Crossbar { .. } => (0, terminal),
            Self::Wired(Wired(wiring)) => {
                let seat = wiring.seat(terminal);
                (usize::from(seat.router), usize::from(seat.port))
            }
        }
    }

    /// The output port of `router` for a packet to `terminal`.
    pub(super) fn route(&self, router: usize, terminal: usize) -> usize {
        let columns = match self {
            Self::Mesh { columns, .. } => usize::from(*columns),
            Self::Crossbar { .. } => return terminal,
            Self::Wired(Wired(wiring)) => return wiring.route(router, terminal),
        };
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
    pub(super) fn beyond(&self, router: usize, port: usize) -> End {
        let (columns, rows) = match self {
            Self::Mesh { columns, rows } => (usize::from(*columns), usize::from(*rows)),
            Self::Crossbar { .. } => return End::Terminal(port),
            Self::Wired(Wired(wiring)) => {
                return match wiring.beyond(router, port) {
                    Far::Router(end) => End::Router(usize::from(end.router), usize::from(end.port)),
                    Far::Terminal(terminal) => End::Terminal(usize::from(terminal)),
                    Far::Nothing => End::Nothing,
                };
            }
        };
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
            Self::Wired(Wired(wiring)) => f.write_str(wiring.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use warpshard_seam::{Grid, Topology as _};

    use super::super::Torus;
    use super::*;

    fn torus(columns: u16, rows: u16) -> Topology {
        Topology::Wired(Wired(Arc::new(Torus.wiring(Grid { columns, rows }).unwrap())))
    }

    #[test]
    fn following_the_routes_reaches_every_terminal_over_the_way_that_is_told() {
        for topology in [Topology::Mesh { columns: 5, rows: 3 }, Topology::Crossbar { ports: 7 }, torus(6, 5), torus(2, 1)] {
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

    #[test]
    fn ways_on_a_torus_are_never_longer_than_on_the_mesh_and_shorter_from_its_edges() {
        let (mesh, torus) = (Topology::Mesh { columns: 6, rows: 6 }, torus(6, 6));
        let ways = |topology: &Topology, from: usize| (0..36).map(|to| topology.routers_between(from, to)).sum::<usize>();
        for from in 0..36 {
            assert!((0..36).all(|to| torus.routers_between(from, to) <= mesh.routers_between(from, to)));
        }
        let (corner, middle) = (0, 14);
        assert_eq!((ways(&mesh, corner), ways(&torus, corner)), (36 * 6, 36 * 4), "5 links on average from a corner, and 3");
        assert_eq!(ways(&mesh, middle), ways(&torus, middle));
    }
}
