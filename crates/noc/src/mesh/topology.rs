//! Wiring of routers, and the routes of packets: dimension-order routing on a mesh, a single router, or a checked table.

use std::fmt;
use std::sync::Arc;

use warpshard_seam::{self as seam, FarEnd};
use warpshard_state::{Reader, State, StateError, Writer};

/// The shape of a network. Terminal i is attached to router i of a mesh (row by row), or to port i of a crossbar.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum Topology {
    /// A 2-D mesh with one terminal per router; packets go along x first, then along y.
    Mesh {
        /// The number of routers per row.
        columns: u16,
        /// The number of rows.
        rows: u16,
    },
    /// One router with a terminal at each port.
    Crossbar {
        /// The number of ports.
        ports: u16,
    },
    /// Routers, links and routes from a table.
    Wired(Wired),
}

/// A table of routers, links and routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wired(pub Arc<seam::Wiring>);

/// Only the name of the table is saved, to detect a different table. The table itself follows from the machine.
impl State for Wired {
    fn save(&self, to: &mut Writer) {
        self.0.name().to_owned().save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let name = String::read(from)?;
        if name == self.0.name() {
            return Ok(());
        }
        Err(StateError::new(format!("the saved state is for the topology `{name}`, but this run uses `{}`", self.0.name())))
    }
}

/// Ports of a mesh router: one per direction and one for the terminal.
pub(super) const MESH_PORTS: usize = 5;
// The ports towards larger x, smaller x, larger y and smaller y.
pub(super) const EAST: usize = 0;
pub(super) const WEST: usize = 1;
pub(super) const SOUTH: usize = 2;
pub(super) const NORTH: usize = 3;
pub(super) const LOCAL: usize = 4;

/// The far end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChannelEnd {
    /// A router and its port.
    Router(usize, usize),
    /// A terminal.
    Terminal(usize),
    /// The edge of the mesh.
    Nothing,
}

impl Topology {
    /// Returns the number of terminals, which send and receive packets.
    pub fn terminals(&self) -> usize {
        match self {
            Self::Mesh { columns, rows } => usize::from(*columns) * usize::from(*rows),
            Self::Crossbar { ports } => usize::from(*ports),
            Self::Wired(Wired(wiring)) => wiring.terminals(),
        }
    }

    /// Returns the number of routers.
    pub fn routers(&self) -> usize {
        match self {
            Self::Mesh { .. } => self.terminals(),
            Self::Crossbar { .. } => 1,
            Self::Wired(Wired(wiring)) => wiring.routers(),
        }
    }

    /// Returns the number of ports per router.
    pub fn ports(&self) -> usize {
        match self {
            Self::Mesh { .. } => MESH_PORTS,
            Self::Crossbar { ports } => usize::from(*ports),
            Self::Wired(Wired(wiring)) => wiring.ports(),
        }
    }

    /// Returns the number of routers that a packet passes.
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

    /// Returns the router and port of a terminal.
    pub(super) fn terminal_port(&self, terminal: usize) -> (usize, usize) {
        match self {
            Self::Mesh { .. } => (terminal, LOCAL),
            Self::Crossbar { .. } => (0, terminal),
            Self::Wired(Wired(wiring)) => {
                let terminal_port = wiring.terminal_port(terminal);
                (usize::from(terminal_port.router), usize::from(terminal_port.port))
            }
        }
    }

    /// Returns the output port of `router` for a packet to `terminal`.
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

    /// Returns the far end of a port's channels: the destination of flits that leave by the port, and the source of flits that arrive.
    pub(super) fn far_end(&self, router: usize, port: usize) -> ChannelEnd {
        let (columns, rows) = match self {
            Self::Mesh { columns, rows } => (usize::from(*columns), usize::from(*rows)),
            Self::Crossbar { .. } => return ChannelEnd::Terminal(port),
            Self::Wired(Wired(wiring)) => {
                return match wiring.far_end(router, port) {
                    FarEnd::Router(end) => ChannelEnd::Router(usize::from(end.router), usize::from(end.port)),
                    FarEnd::Terminal(terminal) => ChannelEnd::Terminal(usize::from(terminal)),
                    FarEnd::Nothing => ChannelEnd::Nothing,
                };
            }
        };
        let (x, y) = (router % columns, router / columns);
        match port {
            EAST if x + 1 < columns => ChannelEnd::Router(router + 1, WEST),
            WEST if x > 0 => ChannelEnd::Router(router - 1, EAST),
            SOUTH if y + 1 < rows => ChannelEnd::Router(router + columns, NORTH),
            NORTH if y > 0 => ChannelEnd::Router(router - columns, SOUTH),
            LOCAL => ChannelEnd::Terminal(router),
            _ => ChannelEnd::Nothing,
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
    use warpshard_seam::{MeshSize, Topology as _};

    use super::super::Torus;
    use super::*;

    fn torus(columns: u16, rows: u16) -> Topology {
        Topology::Wired(Wired(Arc::new(Torus.wiring(MeshSize { columns, rows }).unwrap())))
    }

    #[test]
    fn every_route_reaches_its_terminal_in_the_given_number_of_routers() {
        for topology in [Topology::Mesh { columns: 5, rows: 3 }, Topology::Crossbar { ports: 7 }, torus(6, 5), torus(2, 1)] {
            for from in 0..topology.terminals() {
                for to in 0..topology.terminals() {
                    let (mut router, mut passed) = (topology.terminal_port(from).0, 1);
                    while let ChannelEnd::Router(next, port) = topology.far_end(router, topology.route(router, to)) {
                        assert_eq!(topology.far_end(next, port), ChannelEnd::Router(router, topology.route(router, to)));
                        (router, passed) = (next, passed + 1);
                    }
                    assert_eq!(topology.far_end(router, topology.route(router, to)), ChannelEnd::Terminal(to));
                    assert_eq!(passed, topology.routers_between(from, to));
                }
            }
        }
    }

    #[test]
    fn paths_on_a_torus_are_never_longer_than_on_the_mesh_and_shorter_from_its_edges() {
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
