//! Keys of the network.

use super::super::choices::Words;
use super::super::machine::{Arbiter, Crossbar, Machine, Mesh, Topology};
use super::super::mesh_nodes::Seat;
use super::super::value::{Value, ValueKind};
use super::declaration::{Field, Key, key};

fn mesh(machine: &mut Machine) -> &mut Mesh {
    machine.noc.mesh.get_or_insert_default()
}

impl Field for Vec<Vec<Seat>> {
    fn of(value: &Value) -> Self {
        match value {
            Value::Nodes(nodes) => nodes.clone(),
            other => panic!("{other:?} for a list of routers"),
        }
    }
}

/// Declares a key that is read only for a mesh.
macro_rules! mesh_key {
    ($name:ident, $kind:expr, $doc:literal) => {
        Key::new(concat!("noc.mesh.", stringify!($name)), $kind, $doc, |m, value| mesh(m).$name = Field::of(value))
            .when("noc.topology", true)
    };
}

pub(super) const KEYS: &[Key] = &[
    Key::new("noc.topology", ValueKind::Choice(Topology::WORDS), "Topology of the network; requests and replies have separate subnets.", |m, value| {
        m.noc.topology = Topology::of(value);
        m.noc.mesh = (m.noc.topology != Topology::Crossbar).then(Mesh::default);
    })
    .default("\"crossbar\""),
    key!("noc.input_queue", ValueKind::Count(1, 16384), "Capacity of an input queue of a subnet, in packets.", |m| m.noc.input_queue)
        .option("-icnt_in_buffer_limit"),
    key!("noc.output_queue", ValueKind::Count(1, 16384), "Capacity of an output queue of a subnet, in packets.", |m| m.noc.output_queue)
        .option("-icnt_out_buffer_limit"),
    key!("noc.link_latency", ValueKind::Cycles("noc", 1, 4096), "Latency of each link between a core or partition and its subnet; the latency of a loop of links limits the lookahead.", |m| m.noc.link_latency)
        .default("1"),
    key!("noc.crossbar", ValueKind::Choice(Crossbar::WORDS), "Kind of crossbar.", |m| m.noc.crossbar)
        .when("noc.topology", false)
        .default("\"fifo\""),
    key!("noc.arbiter", ValueKind::Choice(Arbiter::WORDS), "Arbitration policy of the outputs of a `fifo` crossbar.", |m| m.noc.arbiter)
        .when("noc.topology", false)
        .option("-icnt_arbiter_algo"),
    key!("noc.vc.stages", ValueKind::Count(2, 4), "Pipeline stages of a `vc` crossbar: 2 (speculative), 3, or 4 (separate route computation).", |m| m.noc.vc.stages)
        .when("noc.crossbar", true)
        .default("3"),
    key!("noc.vc.vcs", ValueKind::Count(0, 16), "Virtual channels per port of a `vc` crossbar; other crossbars have none.", |m| m.noc.vc.vcs)
        .when("noc.topology", false)
        .default("0"),
    key!("noc.vc.buffers", ValueKind::Count(0, 1024), "Buffer depth of a virtual channel in flits; 0 unless the crossbar is `vc`.", |m| m.noc.vc.buffers)
        .when("noc.topology", false)
        .default("0"),
    key!("noc.vc.channel_bytes", ValueKind::Bytes(0, 4096), "Width of a channel, which is the size of a flit; 0 B unless the crossbar is `vc`.", |m| m.noc.vc.channel_bytes)
        .when("noc.topology", false)
        .default("\"0 B\""),
    key!("noc.vc.header_bytes", ValueKind::Bytes(1, 4096), "Size of a packet's header.", |m| m.noc.vc.header_bytes)
        .when("noc.crossbar", true)
        .default("\"8 B\""),
    mesh_key!(columns, ValueKind::Count(1, 64), "Routers per row; packets are routed along rows first, then along columns."),
    mesh_key!(rows, ValueKind::Count(1, 64), "Rows of routers."),
    mesh_key!(stages, ValueKind::Count(2, 4), "Pipeline stages of a router: 2 (speculative), 3, or 4 (separate route computation).")
        .default("3"),
    mesh_key!(vcs, ValueKind::Count(1, 12), "Virtual channels per port."),
    mesh_key!(buffers, ValueKind::Count(1, 1024), "Buffer depth of a virtual channel in flits."),
    mesh_key!(channel_bytes, ValueKind::Bytes(1, 4096), "Width of a channel, which is the size of a flit."),
    mesh_key!(header_bytes, ValueKind::Bytes(1, 4096), "Size of a packet's header.").default("\"8 B\""),
    mesh_key!(cpu_vcs, ValueKind::Count(0, 11), "Virtual channels reserved for packets of CPU cores; if 0, all are shared.").default("0"),
    mesh_key!(
        cpu_channel_bytes,
        ValueKind::Bytes(0, 4096),
        "Part of a channel's width reserved for packets of CPU cores; if 0 B, the whole width is shared. With a reserved part, packets of both classes have more flits, and a channel carries one flit of each class per cycle."
    )
    .default("\"0 B\""),
    mesh_key!(placement, ValueKind::Nodes, "Cores and partitions at each router, row by row."),
];
