//! All keys of a machine. Each key is declared once: its name, its kind of value, its meaning, the corresponding option of Accel-Sim, its
//! default, and the field of `Machine` that it sets.
//!
//! The reader, the writer, the checks for unknown and missing keys and the reference in `docs/machines.md` all use this list.

mod cache;
mod ccws;
mod control;
mod cpu;
mod declaration;
mod dram;
mod energy;
mod gpu;
mod l1;
mod memory;
mod noc;
mod sm;
mod system;
mod texture;
mod units;

pub use declaration::{Key, Rejection};
pub use units::CLASS_NAMES;

/// Returns all keys in the order in which a resolved machine is written. A flag comes before the keys that depend on it.
pub fn all() -> impl Iterator<Item = &'static Key> {
    let control = control::KEYS.iter().chain(control::PIPE_KEYS).chain(control::CONSTANT_KEYS);
    let sm = sm::KEYS.iter().chain(ccws::KEYS).chain(units::KEYS).chain(units::TIMING_KEYS).chain(control);
    let l1 = l1::KEYS.iter().chain(l1::L1_CACHE_KEYS).chain(l1::UNIFIED_KEYS).chain(texture::KEYS);
    let memory = memory::KEYS.iter().chain(memory::LLC_KEYS).chain(dram::KEYS);
    gpu::KEYS.iter().chain(sm).chain(l1).chain(cpu::KEYS).chain(noc::KEYS).chain(memory).chain(energy::KEYS).chain(system::KEYS)
}

/// Returns the key with the name `path`.
pub fn find(path: &str) -> Option<&'static Key> {
    all().find(|key| key.path == path)
}

#[cfg(test)]
mod tests {
    use super::super::layout::AddressLayout;
    use super::super::machine::Machine;
    use super::super::mesh_nodes::Seat;
    use super::super::system::{SystemNode, Wire};
    use super::super::value::{Value, ValueKind};
    use super::*;

    #[test]
    fn keys_are_unique_grouped_by_table_and_after_their_flags() {
        let mut seen: Vec<&str> = Vec::new();
        let mut tables: Vec<&str> = Vec::new();
        for key in all() {
            assert!(!seen.contains(&key.path), "{} is declared twice", key.path);
            if tables.last() != Some(&key.table()) {
                assert!(!tables.contains(&key.table()), "{} stands apart from its table", key.path);
                tables.push(key.table());
            }
            for (flag, _) in key.conditions() {
                assert!(seen.contains(&flag), "{} comes before its flag {flag}", key.path);
                assert!(matches!(find(flag).unwrap().kind, ValueKind::Flag | ValueKind::Choice(_) | ValueKind::Count(0, _)));
            }
            if let Some(default) = key.default {
                let raw = super::super::source::raw_of_text(&format!("x = {default}"));
                key.kind.read(&raw).unwrap_or_else(|e| panic!("default of {}: {e:?}", key.path));
            }
            seen.push(key.path);
        }
    }

    /// Sets every numeric key to a distinct number and searches for that number in the machine. A key that sets a wrong field shows as a
    /// missing number, and a field without a key as a 0.
    #[test]
    fn every_number_of_the_machine_is_set_by_one_key() {
        let mut machine = Machine::default();
        let mut numbers = Vec::new();
        for (i, key) in all().enumerate() {
            let number = 5000 + i as u64;
            let value = match key.kind {
                ValueKind::Text => Value::Text("machine".to_owned()),
                ValueKind::Flag => Value::Flag(!key.path.ends_with(".perfect")),
                ValueKind::Choice(_) => Value::Choice(0),
                ValueKind::Sizes => Value::Sizes(vec![number]),
                ValueKind::Numbers => Value::Numbers(vec![number]),
                ValueKind::Nodes => Value::Nodes(vec![vec![Seat::Gpu(Some(number as u32))]]),
                ValueKind::Wires => {
                    let (a, b) = (SystemNode::Host(number as u32), SystemNode::Host(7));
                    Value::Wires(vec![Wire { a, b, count: 7 }])
                }
                ValueKind::Layout => Value::Layout(AddressLayout { row: 1 << 40, bank: 1 << 41, column: 1 << 42, burst_bits: 1 }),
                _ if key.path == "mem.map.interleave" => Value::Number(1 << 8),
                _ => Value::Number(number),
            };
            if matches!(value, Value::Number(n) if n == number)
                || matches!(value, Value::Sizes(_) | Value::Numbers(_) | Value::Nodes(_) | Value::Wires(_))
            {
                numbers.push((key.path, number));
            }
            (key.set)(&mut machine, &value);
        }
        // A system of several GPUs computes these address bits from its other keys.
        let text = format!("{machine:?}").replace("constant_bits: (0, 0)", "");
        // The private caches of CPU cores have a separate fill port and do not merge partial sectors.
        let text = text
            .replace("fill_cycles: 0", "")
            .replace("merge_cycles: 0", "")
            .replace("merge_latency: 0", "")
            .replace("atomic_cycles: 0", "");
        let found: Vec<u64> = text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect();
        for (path, number) in numbers {
            assert_eq!(found.iter().filter(|n| **n == number).count(), 1, "{path}");
        }
        assert!(!found.contains(&0), "a field has no key: {text}");
    }

    #[test]
    fn every_flag_and_every_word_changes_the_machine() {
        for key in all() {
            let values: Vec<Value> = match key.kind {
                ValueKind::Flag => vec![Value::Flag(false), Value::Flag(true)],
                ValueKind::Choice(choices) => (0..choices.len()).map(Value::Choice).collect(),
                _ => continue,
            };
            let mut seen: Vec<Machine> = Vec::new();
            for value in values {
                let mut machine = Machine::default();
                (key.set)(&mut machine, &value);
                assert!(!seen.contains(&machine), "{} = {value:?}", key.path);
                seen.push(machine);
            }
        }
    }

    #[test]
    fn every_key_has_a_sentence_as_documentation() {
        for key in all() {
            assert!(key.doc.ends_with('.') && key.doc.starts_with(char::is_uppercase), "{}: {:?}", key.path, key.doc);
        }
    }
}
