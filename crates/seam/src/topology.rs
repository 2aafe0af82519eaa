//! Topologies: routers, links and a table of routes.

use std::fmt;

use thiserror::Error;

/// A port of a router, at the end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RouterPort {
    /// The router number.
    pub router: u16,
    /// The port number.
    pub port: u16,
}

/// A link between two routers, which carries flits in both directions.
pub type RouterLink = (RouterPort, RouterPort);

/// The network size that a machine sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshSize {
    /// The machine key `noc.mesh.columns`.
    pub columns: u16,
    /// The machine key `noc.mesh.rows`.
    pub rows: u16,
}

/// A topology.
///
/// *When it is called.* [`Topology::wiring`] is called once for each of the two networks, before the run.
///
/// *What it sees.* The size that the machine sets. Terminal `i` is position `i` of `noc.mesh.placement`, row by row.
///
/// *What must hold.* The conditions that [`Wiring::new`] checks: every router reaches every terminal, and links have no cyclic dependency.
pub trait Topology: fmt::Debug + Send + Sync {
    /// Returns the routers, links and routes for a size.
    ///
    /// # Errors
    /// Fails if the topology does not exist in this size.
    fn wiring(&self, grid: MeshSize) -> Result<Wiring, WiringError>;
}

/// A reason why a wiring cannot carry packets.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WiringError {
    /// A number of a router, port or terminal is out of range.
    #[error("{name}: {what} {number} does not exist: there are {count}")]
    Unknown {
        /// The name of the topology.
        name: String,
        /// The kind of object that the number refers to.
        what: &'static str,
        /// The number that is out of range.
        number: usize,
        /// The number of objects of this kind.
        count: usize,
    },
    /// Two links or terminals are attached to one port.
    #[error("{name}: port {port} of router {router} has two links or terminals, expected one")]
    Twice {
        /// The name of the topology.
        name: String,
        /// The router number.
        router: u16,
        /// The port of the router.
        port: u16,
    },
    /// A route does not end at its terminal.
    #[error("{name}: the route from router {router} to terminal {terminal} {problem}")]
    Lost {
        /// The name of the topology.
        name: String,
        /// The router at which the route begins.
        router: usize,
        /// The terminal at which the route should end.
        terminal: usize,
        /// A description of the problem.
        problem: &'static str,
    },
    /// The links on which packets travel have a cyclic dependency.
    #[error(
        "{name}: packets on the links that leave routers {} may wait for each other in a cycle: change one of their routes",
        list(routers)
    )]
    Cycle {
        /// The name of the topology.
        name: String,
        /// The routers of the cycle.
        routers: Vec<u16>,
    },
    /// The topology does not exist in this size.
    #[error("{name}: {problem}")]
    Size {
        /// The name of the topology.
        name: String,
        /// The problem, and the expected size.
        problem: String,
    },
}

fn list(routers: &[u16]) -> String {
    routers.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

/// Checked routers, links and routing table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wiring {
    name: String,
    ports: u16,
    terminal_ports: Vec<RouterPort>,
    /// The far end of each port, indexed by router and port.
    far: Vec<FarEnd>,
    /// The output port of each route, indexed by router and terminal.
    routes: Vec<u16>,
}

/// The object at the far end of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarEnd {
    /// A port of another router.
    Router(RouterPort),
    /// A terminal.
    Terminal(u16),
    /// An unconnected port.
    Nothing,
}

impl Wiring {
    /// Returns a wiring of `routers` routers with `ports` ports each, from the port of each terminal, the links, and the port by which a
    /// packet leaves a router for a terminal.
    ///
    /// # Errors
    /// Fails if a number is out of range, two links or terminals share a port, a route does not reach its terminal, or links have a cyclic
    /// dependency. A packet that holds buffers of one link waits for buffers of the next link on its route, so packets on a cycle of such
    /// links may deadlock (Dally and Seitz, IEEE Transactions on Computers 1987).
    pub fn new(
        name: impl Into<String>,
        (routers, ports): (u16, u16),
        terminal_ports: Vec<RouterPort>,
        links: &[RouterLink],
        route: impl Fn(u16, u16) -> u16,
    ) -> Result<Self, WiringError> {
        let name = name.into();
        let (count, wide) = (usize::from(routers), usize::from(ports));
        let mut far = vec![FarEnd::Nothing; count * wide];
        let mut connect = |end: RouterPort, to: FarEnd| {
            let unknown = |what, number, count| WiringError::Unknown { name: name.clone(), what, number: usize::from(number), count };
            if end.router >= routers {
                return Err(unknown("router", end.router, count));
            }
            if end.port >= ports {
                return Err(unknown("port", end.port, wide));
            }
            let place = &mut far[usize::from(end.router) * wide + usize::from(end.port)];
            if *place != FarEnd::Nothing {
                return Err(WiringError::Twice { name: name.clone(), router: end.router, port: end.port });
            }
            *place = to;
            Ok(())
        };
        for (terminal, terminal_port) in (0..).zip(&terminal_ports) {
            connect(*terminal_port, FarEnd::Terminal(terminal))?;
        }
        for (one, other) in links {
            connect(*one, FarEnd::Router(*other))?;
            connect(*other, FarEnd::Router(*one))?;
        }
        let routes = (0..routers).flat_map(|router| (0..terminal_ports.len() as u16).map(move |terminal| (router, terminal)));
        let routes = routes.map(|(router, terminal)| route(router, terminal)).collect();
        let wiring = Self { name, ports, terminal_ports, far, routes };
        wiring.check_routes()?;
        wiring.check_cycles()?;
        Ok(wiring)
    }

    /// Returns the name of the topology.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of terminals.
    pub fn terminals(&self) -> usize {
        self.terminal_ports.len()
    }

    /// Returns the number of routers.
    pub fn routers(&self) -> usize {
        self.far.len() / usize::from(self.ports.max(1))
    }

    /// Returns the number of ports per router.
    pub fn ports(&self) -> usize {
        usize::from(self.ports)
    }

    /// Returns the port to which a terminal is attached.
    pub fn terminal_port(&self, terminal: usize) -> RouterPort {
        self.terminal_ports[terminal]
    }

    /// Returns the port by which a packet leaves a router for a terminal.
    pub fn route(&self, router: usize, terminal: usize) -> usize {
        usize::from(self.routes[router * self.terminal_ports.len() + terminal])
    }

    /// Returns the object at the far end of a port.
    pub fn far_end(&self, router: usize, port: usize) -> FarEnd {
        self.far[router * usize::from(self.ports) + port]
    }

    /// Returns the number of routers that a packet passes from one terminal to another, including both ends.
    pub fn routers_between(&self, from: usize, to: usize) -> usize {
        let (mut router, mut passed) = (usize::from(self.terminal_ports[from].router), 1);
        while let FarEnd::Router(next) = self.far_end(router, self.route(router, to)) {
            (router, passed) = (usize::from(next.router), passed + 1);
        }
        passed
    }

    /// Checks that every route ends at its terminal.
    fn check_routes(&self) -> Result<(), WiringError> {
        for terminal in 0..self.terminal_ports.len() {
            for from in 0..self.routers() {
                let lost = |problem| WiringError::Lost { name: self.name.clone(), router: from, terminal, problem };
                let mut router = from;
                for step in 0..=self.routers() {
                    let port = self.route(router, terminal);
                    if port >= self.ports() {
                        return Err(lost("takes a port that does not exist"));
                    }
                    match self.far_end(router, port) {
                        FarEnd::Terminal(end) if usize::from(end) == terminal => break,
                        FarEnd::Terminal(_) => return Err(lost("ends at another terminal")),
                        FarEnd::Nothing => return Err(lost("takes a port without a link")),
                        FarEnd::Router(_) if step == self.routers() => return Err(lost("never ends")),
                        FarEnd::Router(next) => router = usize::from(next.router),
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks that links have no cyclic dependency: no packet on a link waits, over other links, for the same link.
    fn check_cycles(&self) -> Result<(), WiringError> {
        let wide = self.ports();
        let mut next = vec![Vec::new(); self.far.len()];
        for terminal in 0..self.terminal_ports.len() {
            for router in 0..self.routers() {
                let port = self.route(router, terminal);
                let FarEnd::Router(end) = self.far_end(router, port) else { continue };
                let to = usize::from(end.router);
                let onward = to * wide + self.route(to, terminal);
                if let FarEnd::Router(_) = self.far[onward] {
                    next[router * wide + port].push(onward);
                }
            }
        }
        next.iter_mut().for_each(|list| {
            list.sort_unstable();
            list.dedup();
        });
        // Depth-first search: a link is new, on the path, or done.
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
