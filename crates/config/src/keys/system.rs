//! Keys of a system of several GPUs.

use super::super::choices::Words;
use super::super::machine::Machine;
use super::super::system::{Launch, LinkSet, LinkTopology, PagePlacement, System, Wire};
use super::super::value::{Value, ValueKind};
use super::declaration::{Field, Key};

fn system(machine: &mut Machine) -> &mut System {
    machine.system.get_or_insert_default()
}

impl Field for Vec<Wire> {
    fn of(value: &Value) -> Self {
        match value {
            Value::Wires(wires) => wires.clone(),
            other => panic!("{other:?} for a list of links"),
        }
    }
}

/// Declares a key that is read only for a system.
macro_rules! system_key {
    ($path:literal, $kind:expr, $doc:literal, |$system:ident| $field:expr) => {
        Key::new(concat!("system.", $path), $kind, $doc, |machine, value| {
            let $system = system(machine);
            $field = Field::of(value);
        })
        .when("system.gpus", true)
    };
}

/// Declares a key of one kind of link.
macro_rules! link_key {
    ($set:ident, $name:literal, $kind:expr, $doc:literal, |$links:ident| $field:expr) => {
        Key::new(concat!("system.", stringify!($set), ".", $name), $kind, $doc, |machine, value| {
            let $links: &mut LinkSet = &mut system(machine).$set;
            $field = Field::of(value);
        })
        .when(concat!("system.", stringify!($set), ".topology"), true)
    };
}

pub(super) const KEYS: &[Key] = &[
    Key::new(
        "system.gpus",
        ValueKind::Count(0, 64),
        "Number of GPUs, each as described by the rest of the machine; 0 for a single GPU without a system.",
        |machine, value| {
            let gpus = u32::of(value);
            machine.system = (gpus > 0).then(|| System { gpus, ..System::default() });
        },
    )
    .default("0")
    .quiet(),
    system_key!(
        "boards",
        ValueKind::Count(0, 64),
        "Number of boards, each with the constant power of the set of event energies; 0 for one board per GPU.",
        |s| s.boards
    )
    .default("0"),
    system_key!("memory", ValueKind::Choice(PagePlacement::WORDS), "Policy that assigns addresses to the memories of GPUs.", |s| s.memory)
        .default("\"local\""),
    system_key!("page_bytes", ValueKind::Bytes(4096, 1 << 30), "Page size, a power of two.", |s| s.page_bytes).default("\"2 MiB\""),
    system_key!("launch", ValueKind::Choice(Launch::WORDS), "Distribution of a kernel's CTAs over GPUs.", |s| s.launch)
        .default("\"bound\""),
    system_key!("forward", ValueKind::Flag, "True if a GPU may forward packets between two other GPUs.", |s| s.forward).default("false"),
    system_key!(
        "hub.ports",
        ValueKind::Count(1, 64),
        "Ports of a GPU's hub at each network; a port sends and receives one packet per cycle.",
        |s| s.hub.ports
    )
    .default("8"),
    system_key!("hub.latency", ValueKind::Cycles("noc", 1, 65536), "Cycles from a network to the hub.", |s| s.hub.latency).default("161"),
    system_key!(
        "hub.pending",
        ValueKind::Count(1, 1 << 20),
        "Maximum number of outstanding requests of other GPUs to this GPU's memory.",
        |s| s.hub.pending
    )
    .default("8192"),
    system_key!("hub.copy_lines", ValueKind::Count(1, 65535), "Maximum number of in-flight lines of 128 bytes of the copy engine.", |s| s
        .hub
        .copy_lines)
    .default("4096"),
    system_key!(
        "hub.fault_latency",
        ValueKind::Cycles("noc", 1, 1 << 30),
        "Cycles to assign a new page to a GPU in the page table, with `memory = \"first-touch\"`.",
        |s| s.hub.fault_latency
    )
    .default("1000"),
    system_key!("peer.topology", ValueKind::Choice(LinkTopology::WORDS), "Pairs of nodes that the links between GPUs connect.", |s| s
        .peer
        .topology)
    .default("\"none\""),
    link_key!(peer, "count", ValueKind::Count(1, 64), "Number of parallel links between two connected nodes; not used with a list.", |l| l
        .count)
    .default("1"),
    link_key!(peer, "columns", ValueKind::Count(1, 64), "GPUs per row of a mesh.", |l| l.columns).default("2"),
    link_key!(peer, "links", ValueKind::Wires, "Links of the topology `list`.", |l| l.wires).default("[]"),
    link_key!(
        peer,
        "bandwidth_mbs",
        ValueKind::Count(1, 10_000_000),
        "Bandwidth of a link in each direction, in megabytes (10^6 bytes) per second.",
        |l| l.bandwidth
    ),
    link_key!(
        peer,
        "latency_ns",
        ValueKind::Count(1, 1_000_000),
        "Latency in nanoseconds from the end of a packet's transmission to its arrival at the hub or switch at the far end.",
        |l| l.latency
    ),
    link_key!(peer, "header_bytes", ValueKind::Bytes(0, 4096), "Size of a packet's header.", |l| l.header_bytes),
    link_key!(peer, "buffer", ValueKind::Count(1, 65535), "Buffer depth of a virtual channel at the far end, in packets.", |l| l.buffer)
        .default("1024"),
    link_key!(
        peer,
        "energy_fj_bit",
        ValueKind::Count(0, 10_000_000),
        "Energy per bit that crosses a link, headers included, in femtojoules; counted if the machine has a set of event energies.",
        |l| l.energy
    )
    .default("0"),
    system_key!("host.topology", ValueKind::Choice(LinkTopology::WORDS), "Pairs of nodes that the links to hosts connect.", |s| s
        .host
        .topology)
    .default("\"none\""),
    link_key!(host, "count", ValueKind::Count(1, 64), "Same meaning as `system.peer.count`.", |l| l.count).default("1"),
    link_key!(host, "columns", ValueKind::Count(1, 64), "Same meaning as `system.peer.columns`.", |l| l.columns).default("2"),
    link_key!(host, "links", ValueKind::Wires, "Same meaning as `system.peer.links`.", |l| l.wires).default("[]"),
    link_key!(host, "bandwidth_mbs", ValueKind::Count(1, 10_000_000), "Same meaning as `system.peer.bandwidth_mbs`.", |l| l.bandwidth),
    link_key!(host, "latency_ns", ValueKind::Count(1, 1_000_000), "Same meaning as `system.peer.latency_ns`.", |l| l.latency),
    link_key!(host, "header_bytes", ValueKind::Bytes(0, 4096), "Same meaning as `system.peer.header_bytes`.", |l| l.header_bytes),
    link_key!(host, "buffer", ValueKind::Count(1, 65535), "Same meaning as `system.peer.buffer`.", |l| l.buffer).default("1024"),
    link_key!(host, "energy_fj_bit", ValueKind::Count(0, 10_000_000), "Same meaning as `system.peer.energy_fj_bit`.", |l| l.energy)
        .default("0"),
];
