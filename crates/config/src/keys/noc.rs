//! Keys of the network.

use super::super::choices::Words;
use super::super::machine::{Arbiter, Crossbar, Machine, Mesh, Topology};
use super::super::seat::Seat;
use super::super::value::{Kind, Value};
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

/// A key that is read for a mesh only.
macro_rules! mesh_key {
    ($name:ident, $kind:expr, $doc:literal) => {
        Key::new(concat!("noc.mesh.", stringify!($name)), $kind, $doc, |m, value| mesh(m).$name = Field::of(value))
            .when("noc.topology", true)
    };
}

pub(super) const KEYS: &[Key] = &[
    Key::new("noc.topology", Kind::Choice(Topology::WORDS), "What packets travel over, one for requests and one for replies.", |m, value| {
        m.noc.topology = Topology::of(value);
        m.noc.mesh = (m.noc.topology != Topology::Crossbar).then(Mesh::default);
    })
    .default("\"crossbar\""),
    key!("noc.input_queue", Kind::Count(1, 16384), "Packets that wait at an input of a subnet.", |m| m.noc.input_queue)
        .option("-icnt_in_buffer_limit"),
    key!("noc.output_queue", Kind::Count(1, 16384), "Packets that wait at an output of a subnet.", |m| m.noc.output_queue)
        .option("-icnt_out_buffer_limit"),
    key!("noc.link_latency", Kind::Cycles("noc", 1, 4096), "Latency of each link between a core or partition and its subnet; what lies in a loop of links bounds the lookahead.", |m| m.noc.link_latency)
        .default("1"),
    key!("noc.crossbar", Kind::Choice(Crossbar::WORDS), "What kind of crossbar it is.", |m| m.noc.crossbar)
        .when("noc.topology", false)
        .default("\"fifo\""),
    key!("noc.arbiter", Kind::Choice(Arbiter::WORDS), "How outputs of a `fifo` crossbar choose among inputs.", |m| m.noc.arbiter)
        .when("noc.topology", false)
        .option("-icnt_arbiter_algo"),
    key!("noc.vc.stages", Kind::Count(2, 4), "Stages of the router that a `vc` crossbar is: 2 (speculative), 3, or 4 (route computation in a cycle of its own).", |m| m.noc.vc.stages)
        .when("noc.crossbar", true)
        .default("3"),
    key!("noc.vc.vcs", Kind::Count(0, 16), "Virtual channels of a port of a `vc` crossbar; no other has any.", |m| m.noc.vc.vcs)
        .when("noc.topology", false)
        .default("0"),
    key!("noc.vc.buffers", Kind::Count(0, 1024), "Flits that the buffer of a virtual channel holds; 0 unless the crossbar is `vc`.", |m| m.noc.vc.buffers)
        .when("noc.topology", false)
        .default("0"),
    key!("noc.vc.channel_bytes", Kind::Bytes(0, 4096), "Width of a channel, and so the size of a flit; 0 B unless the crossbar is `vc`.", |m| m.noc.vc.channel_bytes)
        .when("noc.topology", false)
        .default("\"0 B\""),
    key!("noc.vc.header_bytes", Kind::Bytes(1, 4096), "Header of a packet, in addition to its data.", |m| m.noc.vc.header_bytes)
        .when("noc.crossbar", true)
        .default("\"8 B\""),
    mesh_key!(columns, Kind::Count(1, 64), "Routers of a row; packets go along rows first, then along columns."),
    mesh_key!(rows, Kind::Count(1, 64), "Rows of routers."),
    mesh_key!(stages, Kind::Count(2, 4), "Stages of a router: 2 (speculative), 3, or 4 (route computation in a cycle of its own).")
        .default("3"),
    mesh_key!(vcs, Kind::Count(1, 12), "Virtual channels of a port."),
    mesh_key!(buffers, Kind::Count(1, 1024), "Flits that the buffer of a virtual channel holds."),
    mesh_key!(channel_bytes, Kind::Bytes(1, 4096), "Width of a channel, and so the size of a flit."),
    mesh_key!(header_bytes, Kind::Bytes(1, 4096), "Header of a packet, in addition to its data.").default("\"8 B\""),
    mesh_key!(cpu_vcs, Kind::Count(0, 11), "Virtual channels that packets of CPU cores have for themselves; 0 shares all.").default("0"),
    mesh_key!(
        cpu_channel_bytes,
        Kind::Bytes(0, 4096),
        "Share of a channel's width that packets of CPU cores have for themselves; 0 B shares all. Packets of each have more flits then, and a channel carries one flit of each per cycle."
    )
    .default("\"0 B\""),
    mesh_key!(placement, Kind::Nodes, "What sits at each router, row by row."),
];
