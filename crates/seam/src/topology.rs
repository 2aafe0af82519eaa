//! Topologies: routers, links and a table of routes.

use std::fmt;

use thiserror::Error;

/// The end of a link: a port of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// The router.
    pub router: u16,
    /// The port.
    pub port: u16,
}

/// A link between two routers, which carries flits both ways.
pub type Link = (End, End);

/// The size that a machine gives its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// `noc.mesh.columns`.
    pub columns: u16,
    /// `noc.mesh.rows`.
    pub rows: u16,
}

/// A topology.
///
/// *When it is called.* [`Topology::wiring`] once for each of the two networks, before the run.
///
/// *What it sees.* The size that the machine gives. Terminal `i` is the place `i` of `noc.mesh.placement`, row by row.
///
/// *What must hold.* What [`Wiring::new`] checks: every terminal is reached from every router, and no cycle of links waits for itself.
pub trait Topology: fmt::Debug + Send + Sync {
    /// Routers, links and routes for a size.
    ///
    /// # Errors
    /// When there is none of that size.
    fn wiring(&self, grid: Grid) -> Result<Wiring, WiringError>;
}

/// Why a wiring cannot carry packets.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WiringError {
    /// A number names nothing.
    #[error("{name}: {what} {number} does not exist: there are {count}")]
    Unknown {
        /// The topology.
        name: String,
        /// Of what.
        what: &'static str,
        /// The number.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// Two links or terminals sit at one port.
    #[error("{name}: port {port} of router {router} has two links or terminals, expected one")]
    Twice {
        /// The topology.
        name: String,
        /// The router.
        router: u16,
        /// Its port.
        port: u16,
    },
    /// A route does not end at its terminal.
    #[error("{name}: the route from router {router} to terminal {terminal} {problem}")]
    Lost {
        /// The topology.
        name: String,
        /// Where it begins.
        router: usize,
        /// Where it should end.
        terminal: usize,
        /// What happens.
        problem: &'static str,
    },
    /// Packets on links may wait for each other in a circle.
    #[error(
        "{name}: packets on the links that leave routers {} may wait for each other in a circle: change a route among them",
        list(routers)
    )]
    Cycle {
        /// The topology.
        name: String,
        /// The routers of the circle.
        routers: Vec<u16>,
    },
    /// There is none of this size.
    #[error("{name}: {problem}")]
    Size {
        /// The topology.
        name: String,
        /// What is wrong, and what is expected.
        problem: String,
    },
}

fn list(routers: &[u16]) -> String {
    routers.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

/// Routers, links and a table of routes, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wiring {
    name: String,
    ports: u16,
    seats: Vec<End>,
    /// By router and port.
    far: Vec<Far>,
    /// By router and terminal.
    routes: Vec<u16>,
}

/// What lies beyond a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Far {
    /// A port of another router.
    Router(End),
    /// A terminal.
    Terminal(u16),
    /// Nothing.
    Nothing,
}

impl Wiring {
    /// `routers` routers of `ports` ports each; the port of each terminal; the links; and the port by which a packet leaves a router for a terminal.
    ///
    /// # Errors
    /// When a number names nothing, two links or terminals share a port, a route does not reach its terminal, or links wait for each other in a
    /// circle: a packet that holds buffers of one link waits for those of the next on its route, so packets on a circle of such links may all wait
    /// for ever (Dally and Seitz, IEEE Transactions on Computers 1987).
    pub fn new(
        name: impl Into<String>,
        (routers, ports): (u16, u16),
        seats: Vec<End>,
        links: &[Link],
        route: impl Fn(u16, u16) -> u16,
    ) -> Result<Self, WiringError> {
        let name = name.into();
        let (count, wide) = (usize::from(routers), usize::from(ports));
        let mut far = vec![Far::Nothing; count * wide];
        let mut connect = |end: End, to: Far| {
            let unknown = |what, number, count| WiringError::Unknown { name: name.clone(), what, number: usize::from(number), count };
            if end.router >= routers {
                return Err(unknown("router", end.router, count));
            }
            if end.port >= ports {
                return Err(unknown("port", end.port, wide));
            }
            let place = &mut far[usize::from(end.router) * wide + usize::from(end.port)];
            if *place != Far::Nothing {
                return Err(WiringError::Twice { name: name.clone(), router: end.router, port: end.port });
            }
            *place = to;
            Ok(())
        };
        for (terminal, seat) in (0..).zip(&seats) {
            connect(*seat, Far::Terminal(terminal))?;
        }
        for (one, other) in links {
            connect(*one, Far::Router(*other))?;
            connect(*other, Far::Router(*one))?;
        }
        let routes = (0..routers).flat_map(|router| (0..seats.len() as u16).map(move |terminal| (router, terminal)));
        let routes = routes.map(|(router, terminal)| route(router, terminal)).collect();
        let wiring = Self { name, ports, seats, far, routes };
        wiring.check_routes()?;
        wiring.check_cycles()?;
        Ok(wiring)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Terminals.
    pub fn terminals(&self) -> usize {
        self.seats.len()
    }

    /// Routers.
    pub fn routers(&self) -> usize {
        self.far.len() / usize::from(self.ports.max(1))
    }

    /// Ports of a router.
    pub fn ports(&self) -> usize {
        usize::from(self.ports)
    }

    /// The port at which a terminal sits.
    pub fn seat(&self, terminal: usize) -> End {
        self.seats[terminal]
    }

    /// The port by which a packet leaves a router for a terminal.
    pub fn route(&self, router: usize, terminal: usize) -> usize {
        usize::from(self.routes[router * self.seats.len() + terminal])
    }

    /// What lies beyond a port.
    pub fn beyond(&self, router: usize, port: usize) -> Far {
        self.far[router * usize::from(self.ports) + port]
    }

    /// Routers that a packet passes from one terminal to another, both ends included.
    pub fn routers_between(&self, from: usize, to: usize) -> usize {
        let (mut router, mut passed) = (usize::from(self.seats[from].router), 1);
        while let Far::Router(next) = self.beyond(router, self.route(router, to)) {
            (router, passed) = (usize::from(next.router), passed + 1);
        }
        passed
    }

    /// Every route ends at its terminal.
    fn check_routes(&self) -> Result<(), WiringError> {
        for terminal in 0..self.seats.len() {
            for from in 0..self.routers() {
                let lost = |problem| WiringError::Lost { name: self.name.clone(), router: from, terminal, problem };
                let mut router = from;
                for step in 0..=self.routers() {
                    let port = self.route(router, terminal);
                    if port >= self.ports() {
                        return Err(lost("takes a port that does not exist"));
                    }
                    match self.beyond(router, port) {
                        Far::Terminal(end) if usize::from(end) == terminal => break,
                        Far::Terminal(_) => return Err(lost("ends at another terminal")),
                        Far::Nothing => return Err(lost("takes a port without a link")),
                        Far::Router(_) if step == self.routers() => return Err(lost("never ends")),
                        Far::Router(next) => router = usize::from(next.router),
                    }
                }
            }
        }
        Ok(())
    }

    /// No packet on a link waits for another link that waits, over others, for the first.
    fn check_cycles(&self) -> Result<(), WiringError> {
        let wide = self.ports();
        let mut next = vec![Vec::new(); self.far.len()];
        for terminal in 0..self.seats.len() {
            for router in 0..self.routers() {
                let port = self.route(router, terminal);
                let Far::Router(end) = self.beyond(router, port) else { continue };
                let to = usize::from(end.router);
                let onward = to * wide + self.route(to, terminal);
                if let Far::Router(_) = self.far[onward] {
                    next[router * wide + port].push(onward);
                }
            }
        }
        next.iter_mut().for_each(|list| {
            list.sort_unstable();
            list.dedup();
        });
        // Depth first: a link is new, on the path, or done.
        let mut state = vec![0_u8; next.len()];
        for start in 0..next.len() {
            if state[start] != 0 {
                continue;
            }
            let mut path = vec![(start, 0)];
            state[start] = 1;
            while let Some((link, tried)) = path.last_mut() {
                let link = *link;
                let Some(&onward) = next[link].get(*tried) else {
                    state[link] = 2;
                    path.pop();
                    continue;
                };
                *tried += 1;
                match state[onward] {
                    0 => {
                        state[onward] = 1;
                        path.push((onward, 0));
                    }
                    1 => {
                        let circle = path.iter().map(|(link, _)| *link).skip_while(|link| *link != onward);
                        let routers = circle.map(|link| (link / wide) as u16).collect();
                        return Err(WiringError::Cycle { name: self.name.clone(), routers });
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
