//! Keys of a system of several GPUs.

use super::super::choices::Words;
use super::super::machine::Machine;
use super::super::system::{Launch, LinkSet, LinkTopology, Placing, System, Wire};
use super::super::value::{Kind, Value};
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

/// A key that is read for a system only.
macro_rules! system_key {
    ($path:literal, $kind:expr, $doc:literal, |$system:ident| $field:expr) => {
        Key::new(concat!("system.", $path), $kind, $doc, |machine, value| {
            let $system = system(machine);
            $field = Field::of(value);
        })
        .when("system.gpus", true)
    };
}

/// A key of links of one kind.
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
        Kind::Count(0, 64),
        "GPUs of the system, each as the rest of the machine describes it; 0 is one GPU without a system around it.",
        |machine, value| {
            let gpus = u32::of(value);
            machine.system = (gpus > 0).then(|| System { gpus, ..System::default() });
        },
    )
    .default("0")
    .quiet(),
    system_key!(
        "boards",
        Kind::Count(0, 64),
        "Boards whose constant power the set of event energies states; 0 is one for each GPU.",
        |s| s.boards
    )
    .default("0"),
    system_key!("memory", Kind::Choice(Placing::WORDS), "Which GPU's memory holds an address.", |s| s.memory).default("\"local\""),
    system_key!("page_bytes", Kind::Bytes(4096, 1 << 30), "Bytes of a page, a power of two.", |s| s.page_bytes).default("\"2 MiB\""),
    system_key!("launch", Kind::Choice(Launch::WORDS), "On which GPUs the CTAs of a kernel run.", |s| s.launch).default("\"bound\""),
    system_key!("forward", Kind::Flag, "Whether packets may pass through a GPU on their way between two others.", |s| s.forward)
        .default("false"),
    system_key!(
        "hub.ports",
        Kind::Count(1, 64),
        "Ports of a GPU's hub at each of its networks; each takes and gives a packet per cycle.",
        |s| s.hub.ports
    )
    .default("8"),
    system_key!("hub.latency", Kind::Cycles("noc", 1, 65536), "From a network to the hub.", |s| s.hub.latency).default("161"),
    system_key!("hub.pending", Kind::Count(1, 1 << 20), "Requests of other GPUs that wait for answers of this one's memory.", |s| s
        .hub
        .pending)
    .default("8192"),
    system_key!("hub.copy_lines", Kind::Count(1, 65535), "Lines of 128 bytes that the copy engine has under way.", |s| s.hub.copy_lines)
        .default("4096"),
    system_key!(
        "hub.fault_latency",
        Kind::Cycles("noc", 1, 1 << 30),
        "Until the table of pages has given a new page to a GPU, where the first access decides.",
        |s| s.hub.fault_latency
    )
    .default("1000"),
    system_key!("peer.topology", Kind::Choice(LinkTopology::WORDS), "Which nodes the links between GPUs connect.", |s| s.peer.topology)
        .default("\"none\""),
    link_key!(peer, "count", Kind::Count(1, 64), "Links between two nodes that the topology connects, unless it is a list.", |l| l.count)
        .default("1"),
    link_key!(peer, "columns", Kind::Count(1, 64), "GPUs of a row of a mesh.", |l| l.columns).default("2"),
    link_key!(peer, "links", Kind::Wires, "The links of a list.", |l| l.wires).default("[]"),
    link_key!(peer, "bandwidth_mbs", Kind::Count(1, 10_000_000), "Megabytes (10^6 bytes) per second of a link, in each direction.", |l| l
        .bandwidth),
    link_key!(
        peer,
        "latency_ns",
        Kind::Count(1, 1_000_000),
        "Nanoseconds from the end of a packet's sending to the hub or switch at the far end.",
        |l| l.latency
    ),
    link_key!(peer, "header_bytes", Kind::Bytes(0, 4096), "Bytes of a packet beyond its data.", |l| l.header_bytes),
    link_key!(peer, "buffer", Kind::Count(1, 65535), "Packets that the buffer of a virtual channel holds at the far end.", |l| l.buffer)
        .default("1024"),
    link_key!(
        peer,
        "energy_fj_bit",
        Kind::Count(0, 10_000_000),
        "Femtojoules of a bit that crosses a link, headers included; counted where the machine has a set of event energies.",
        |l| l.energy
    )
    .default("0"),
    system_key!("host.topology", Kind::Choice(LinkTopology::WORDS), "Which nodes the links to hosts connect.", |s| s.host.topology)
        .default("\"none\""),
    link_key!(host, "count", Kind::Count(1, 64), "As in `system.peer`.", |l| l.count).default("1"),
    link_key!(host, "columns", Kind::Count(1, 64), "As in `system.peer`.", |l| l.columns).default("2"),
    link_key!(host, "links", Kind::Wires, "As in `system.peer`.", |l| l.wires).default("[]"),
    link_key!(host, "bandwidth_mbs", Kind::Count(1, 10_000_000), "As in `system.peer`.", |l| l.bandwidth),
    link_key!(host, "latency_ns", Kind::Count(1, 1_000_000), "As in `system.peer`.", |l| l.latency),
    link_key!(host, "header_bytes", Kind::Bytes(0, 4096), "As in `system.peer`.", |l| l.header_bytes),
    link_key!(host, "buffer", Kind::Count(1, 65535), "As in `system.peer`.", |l| l.buffer).default("1024"),
    link_key!(host, "energy_fj_bit", Kind::Count(0, 10_000_000), "As in `system.peer`.", |l| l.energy).default("0"),
];
