//! Keys of the texture cache of an SM.

use super::super::machine::{Machine, TextureCache};
use super::super::value::ValueKind;
use super::declaration::{Field, Key, key};

pub(super) const KEYS: &[Key] = &[
    Key::new(
        "gpu.sm.texture.present",
        ValueKind::Flag,
        "True if texture loads use a texture cache, whose lines have 128 B; otherwise, they use the L1.",
        |m, value| m.gpu.sm.texture = bool::of(value).then(TextureCache::default),
    )
    .default("false"),
    key!("gpu.sm.texture.sets", ValueKind::Count(1, 4096), "Sets.", |m| texture(m).sets)
        .when(PRESENT_KEY, true)
        .option("-gpgpu_tex_cache:l1, nsets"),
    key!("gpu.sm.texture.ways", ValueKind::Count(1, 1024), "Ways.", |m| texture(m).ways)
        .when(PRESENT_KEY, true)
        .option("-gpgpu_tex_cache:l1, assoc"),
    key!("gpu.sm.texture.fragments", ValueKind::Count(1, 4096), "Capacity of the fragment FIFO in accesses.", |m| texture(m).fragments)
        .when(PRESENT_KEY, true)
        .option("-gpgpu_tex_cache:l1, mshr N: fragment FIFO"),
    key!("gpu.sm.texture.requests", ValueKind::Count(1, 4096), "Capacity of the request FIFO to the next level.", |m| texture(m).requests)
        .when(PRESENT_KEY, true)
        .option("-gpgpu_tex_cache:l1, mshr merge: request FIFO"),
    key!(
        "gpu.sm.texture.reorder",
        ValueKind::Count(1, 4096),
        "Capacity of the reorder buffer: lines in flight, filled in request order.",
        |m| texture(m).reorder
    )
    .when(PRESENT_KEY, true)
    .option("-gpgpu_tex_cache:l1, mq: reorder buffer"),
    key!("gpu.sm.texture.results", ValueKind::Count(1, 4096), "Capacity of the result FIFO.", |m| texture(m).results)
        .when(PRESENT_KEY, true)
        .option("-gpgpu_tex_cache:l1, rf: result FIFO"),
];

const PRESENT_KEY: &str = "gpu.sm.texture.present";

fn texture(machine: &mut Machine) -> &mut TextureCache {
    machine.gpu.sm.texture.get_or_insert_default()
}
