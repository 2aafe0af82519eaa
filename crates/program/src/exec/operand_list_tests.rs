//! Tests the registers and predicates that `values` lists for each instruction against the executor.

use std::path::{Path, PathBuf};

use warpshard_base::Rng;

use super::super::Program;
use super::super::isa::{ExecutorGroup, Inst, Op, PredicateSource, Rows};
use super::super::values::uses;
use super::lanes::{Lanes, RegisterRow};
use super::pool::ConstantPool;
use super::{convert, cross, float, integer, tensor};

/// Executes an instruction that only uses registers; returns false for any other.
fn execute(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow]) -> bool {
    let mut buffers = [[0; 32]; 3];
    match inst.group {
        ExecutorGroup::Integer => integer::execute(inst, lanes, pool, u32::MAX, &mut buffers),
        ExecutorGroup::Float => float::execute(inst, lanes, pool, u32::MAX, &mut buffers),
        _ => {
            convert::execute(inst, lanes, pool, u32::MAX)
                || cross::execute(inst, lanes, pool, u32::MAX)
                || tensor::execute(inst, lanes, pool, u32::MAX)
        }
    }
}

/// Returns random registers and predicates. Rows and predicates selected by `keep` and `predicates` have their value from `base`, and zero
/// rows remain zero.
fn random(rows: Rows, random: &mut Rng, base: Option<&Lanes>, keep: impl Fn(u16) -> bool, predicates: impl Fn(u8) -> bool) -> Lanes {
    let mut lanes = base.cloned().unwrap_or_else(|| Lanes::new(rows));
    for row in (0..rows.count() as u16).filter(|row| *row < rows.zero() || *row >= rows.first_uniform()).filter(|row| !keep(*row)) {
        let uniform = random.next_u64() as u32;
        // Half of the numbers are of moderate size.
        let word = |random: &mut Rng| {
            let bits = random.next_u64() as u32;
            if bits & 0x100 != 0 { bits & 0x80ff_ffff | 0x3f00_0000 } else { bits }
        };
        (0..32).for_each(|lane| lanes.set_lane(row, lane, if row >= rows.first_uniform() { uniform } else { word(random) }));
    }
    for index in (0..16).filter(|index| index % 8 != 7 && !predicates(*index)) {
        lanes.set_predicate(index, u32::MAX, random.next_u64() as u32);
    }
    lanes
}

fn launch_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            launch_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "toml") && !path.ends_with("Cargo.toml") {
            found.push(path);
        }
    }
}

#[test]
fn instructions_read_and_write_their_listed_registers() {
    let mut files = Vec::new();
    launch_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs"), &mut files);
    files.sort();
    let mut seed = Rng::keyed(7, &[]);
    let (mut seen, mut checked) = (std::collections::BTreeSet::new(), 0);
    for program in files.iter().filter_map(|file| Program::load(file, None, &[]).ok()) {
        for kernel in program.launches.iter().map(|launch| &launch.kernel) {
            let mut pool = ConstantPool::default();
            let (rows, pool) = (kernel.decoded.rows, pool.of(kernel));
            for (place, inst) in kernel.decoded.code.iter().enumerate() {
                let text = kernel.lines.get(place).map_or("", |(_, text)| text.as_str());
                let name = text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default().to_owned();
                if inst.guard != PredicateSource::TRUE
                    || matches!(inst.op, Op::GroupProduct(_))
                    || !seen.insert((name, inst.src[1].row & 0x8000))
                {
                    continue;
                }
                let uses = uses(inst);
                let within = |spans: &[(u16, u16)], row: u16| spans.iter().any(|(first, count)| (*first..first + count).contains(&row));
                let read = |row: u16| within(&uses.data, row) || within(&uses.steering, row);
                let condition = |index: u8| uses.all_predicates[0] || inst.conditions.iter().any(|condition| condition.index == index);
                for _ in 0..8 {
                    let before = random(rows, &mut seed, None, |_| false, |_| false);
                    let other = random(rows, &mut seed, Some(&before), read, condition);
                    let (mut after, mut other_after) = (before.clone(), other.clone());
                    if !execute(inst, &mut after, pool) {
                        break;
                    }
                    execute(inst, &mut other_after, pool);
                    checked += 1;
                    for row in (0..rows.count() as u16).filter(|row| *row < rows.zero() || *row >= rows.first_uniform()) {
                        let (left, right) = (after.row(pool, row), other_after.row(pool, row));
                        if within(&uses.results, row) {
                            assert_eq!(left, right, "{text}: row {row} depends on more than what is said to be read");
                        } else {
                            assert_eq!(left, before.row(pool, row), "{text}: row {row} is written and not said to be");
                        }
                    }
                    for index in (0..16).filter(|index| index % 8 != 7) {
                        let of = |lanes: &Lanes| lanes.predicate(PredicateSource { index, invert: false });
                        if inst.predicates.contains(&index) || uses.all_predicates[1] && index < 7 {
                            assert_eq!(
                                of(&after),
                                of(&other_after),
                                "{text}: predicate {index} depends on more than what is said to be read"
                            );
                        } else {
                            assert_eq!(of(&after), of(&before), "{text}: predicate {index} is written");
                        }
                    }
                }
            }
        }
    }
    assert!(checked > 1000, "{checked} of {} instructions", seen.len());
}
