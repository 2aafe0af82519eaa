//! A network alone under synthetic traffic: latency and throughput at a load.
//!
//! Every source generates a packet with the same probability in each cycle and puts it into an unbounded queue. Packets generated during
//! the measured cycles after the warm-up are counted; traffic continues until the last of these packets has arrived, or until their mean
//! latency certainly exceeds [`LATENCY_LIMIT`]: the network is then saturated.

mod pattern;

pub use pattern::{PATTERNS, TrafficPattern};

use warpshard_base::{Cycle, Rng};
use warpshard_noc::mesh::{Network, NetworkSpec, Packet, Sink, Size, SourceLane};

use crate::RigError;
use pattern::Destinations;

/// Mean packet latency, in cycles, beyond which the network counts as saturated (`latency_thres` of BookSim).
pub const LATENCY_LIMIT: u64 = 1000;

/// Parameters of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct NocSetup {
    /// The network.
    pub network: NetworkSpec,
    /// Traffic pattern.
    pub pattern: TrafficPattern,
    /// Flits per packet.
    pub flits: u16,
    /// Mean flits that a source generates per cycle, from 0 to 1.
    pub load: f64,
    /// Warm-up cycles before the measurement.
    pub warm_up: u64,
    /// Cycles of the measurement; packets generated in these cycles are counted.
    pub measured: u64,
    /// Seed of all random choices.
    pub seed: u64,
}

/// The results of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NocMeasurements {
    /// Number of sending sources.
    pub sources: usize,
    /// Mean cycles from a packet's generation to the ejection of its tail; for an unstable network, only of the packets that arrived.
    pub packet_latency: f64,
    /// Mean cycles from the departure of a packet's head from the source queue to the ejection of its tail.
    pub network_latency: f64,
    /// Maximum packet latency in cycles.
    pub longest_latency: u64,
    /// Flits received per source and cycle during the measured cycles.
    pub accepted: f64,
    /// Mean number of routers that a packet traverses.
    pub routers: f64,
    /// True if the network was not saturated.
    pub stable: bool,
    /// Simulated cycles.
    pub cycles: u64,
}

/// Simulates an experiment.
///
/// # Errors
/// Fails if the network cannot be built, or the pattern or load is invalid for it, with a message for the user.
pub fn measure(setup: &NocSetup) -> Result<NocMeasurements, RigError> {
    setup.network.check()?;
    let sources = setup.pattern.on(&setup.network.topology)?;
    if setup.flits == 0 || !(0.0..=f64::from(setup.flits)).contains(&setup.load) || setup.load == 0.0 {
        return Err(
            format!("a load of {} flits per cycle in packets of {} flits: at most one packet per cycle", setup.load, setup.flits).into()
        );
    }
    if setup.measured == 0 || setup.warm_up + setup.measured >= 1 << 31 {
        return Err("the measured cycles are 1 to 2^31, the warm-up included".to_owned().into());
    }
    Ok(match setup.network.size() {
        Size::Mesh4 => measure_packets::<1, 8, 32>(setup, &sources),
        Size::Mesh8 => measure_packets::<1, 8, 64>(setup, &sources),
        Size::Mesh16 => measure_packets::<2, 8, 128>(setup, &sources),
        Size::Crossbar64 => measure_packets::<4, 64, 256>(setup, &sources),
        Size::Crossbar128 => measure_packets::<8, 128, 512>(setup, &sources),
        Size::Largest => measure_packets::<32, 128, 2048>(setup, &sources),
    })
}

/// A source: random numbers for the generation of packets and for the choice of destinations, and the destinations.
struct TrafficSource {
    packet_rng: Rng,
    destination_rng: Rng,
    destinations: Destinations,
}

/// Statistics of the packets generated in the measured cycles.
struct PacketStats {
    from: u64,
    to: u64,
    /// Hops from each source to each terminal.
    hops: Box<[u16]>,
    terminals: usize,
    arrived: u64,
    /// Sum of the generation cycles of the arrived packets.
    generated_at: u64,
    latency: u64,
    network_latency_sum: u64,
    longest_latency: u64,
    routers: u64,
}

impl Sink for PacketStats {
    #[inline]
    fn accept(&mut self, now: Cycle, packet: &Packet) -> bool {
        let made = u64::from(packet.tag);
        if (self.from..self.to).contains(&made) {
            let latency = now.0 - made;
            self.arrived += 1;
            self.generated_at += made;
            self.latency += latency;
            self.network_latency_sum += now.0 - u64::from(packet.entered);
            self.longest_latency = self.longest_latency.max(latency);
            self.routers += u64::from(self.hops[usize::from(packet.lane) * self.terminals + usize::from(packet.dest)]);
        }
        true
    }

    #[inline]
    fn departed(&mut self, _now: Cycle, _lane: usize) {}
}

fn measure_packets<const W: usize, const P: usize, const C: usize>(setup: &NocSetup, pattern: &[(u16, Destinations)]) -> NocMeasurements {
    let lanes: Vec<SourceLane> = pattern.iter().map(|(terminal, _)| SourceLane { terminal: *terminal, class: 0 }).collect();
    let mut net = Network::<W, P, C>::new(&setup.network, &lanes);
    let source = |(terminal, to): &(u16, Destinations)| {
        let random = |purpose| Rng::keyed(setup.seed, &[u64::from(*terminal), purpose]);
        TrafficSource { packet_rng: random(0), destination_rng: random(1), destinations: to.clone() }
    };
    let mut sources: Vec<TrafficSource> = pattern.iter().map(source).collect();
    let probability = setup.load / f64::from(setup.flits);
    // A packet is generated when a 64-bit random number is below this threshold.
    let threshold = if probability >= 1.0 { u64::MAX } else { (probability * (u64::MAX as f64)) as u64 };
    let (from, to) = (setup.warm_up, setup.warm_up + setup.measured);
    let (topology, terminals) = (&setup.network.topology, setup.network.topology.terminals());
    let hops = |from, to| topology.routers_between(from, to) as u16;
    let mut stats = PacketStats {
        from,
        to,
        hops: pattern.iter().flat_map(|(source, _)| (0..terminals).map(|to| hops(usize::from(*source), to))).collect(),
        terminals,
        arrived: 0,
        generated_at: 0,
        latency: 0,
        network_latency_sum: 0,
        longest_latency: 0,
        routers: 0,
    };
    let (mut made, mut generated_at, mut before, mut accepted) = (0u64, 0u64, 0u64, 0u64);
    let mut now = 0;
    let stable = loop {
        if now == from {
            before = net.flits_ejected();
        }
        if now == to {
            accepted = net.flits_ejected() - before;
        }
        if now >= to {
            // The final latency of a packet that has not arrived is at least its current age.
            let late = (made - stats.arrived) * now - (generated_at - stats.generated_at);
            let (done, over) = (stats.arrived == made, stats.latency + late > LATENCY_LIMIT * made);
            if done || over {
                break !over;
            }
        }
        for (lane, source) in sources.iter_mut().enumerate() {
            if source.packet_rng.next_u64() < threshold {
                net.offer(lane, usize::from(source.destinations.draw(&mut source.destination_rng)), setup.flits, now as u32);
                if (from..to).contains(&now) {
                    made += 1;
                    generated_at += now;
                }
            }
        }
        net.step(Cycle(now), &mut stats);
        now += 1;
    };
    let mean = |sum: u64| sum as f64 / stats.arrived.max(1) as f64;
    NocMeasurements {
        sources: sources.len(),
        packet_latency: mean(stats.latency),
        network_latency: mean(stats.network_latency_sum),
        longest_latency: stats.longest_latency,
        accepted: accepted as f64 / (setup.measured as f64 * sources.len() as f64),
        routers: mean(stats.routers),
        stable,
        cycles: now,
    }
}

#[cfg(test)]
mod tests {
    use warpshard_noc::mesh::Topology;

    use super::*;

    fn setup(load: f64) -> NocSetup {
        let network = NetworkSpec::new(Topology::Mesh { columns: 4, rows: 4 });
        NocSetup { network, pattern: TrafficPattern::Uniform, flits: 1, load, warm_up: 500, measured: 6000, seed: 3 }
    }

    #[test]
    fn an_idle_network_has_the_latency_of_its_hops() {
        let result = measure(&setup(0.005)).unwrap();
        assert!(result.stable && (result.packet_latency - (2.0 + 4.0 * result.routers)).abs() < 0.1, "{result:?}");
        assert!((result.routers - 3.5).abs() < 0.1 && (result.accepted - 0.005).abs() < 0.001, "{result:?}");
        assert_eq!(measure(&setup(0.005)), Ok(result));
    }

    #[test]
    fn an_overloaded_network_is_unstable() {
        let narrow = NetworkSpec { buffers: 1, ..setup(1.0).network.with_vcs(1) };
        let overloaded = NocSetup { network: narrow, flits: 5, ..setup(1.0) };
        let result = measure(&overloaded).unwrap();
        assert!(!result.stable && result.accepted < 0.4, "{result:?}");
    }

    #[test]
    fn a_load_beyond_one_packet_per_cycle_is_refused() {
        assert!(measure(&setup(1.5)).is_err());
        assert!(measure(&setup(0.0)).is_err());
    }
}
