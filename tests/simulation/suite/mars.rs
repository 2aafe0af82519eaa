//! Check of the Mars program: MapReduce.

use std::collections::BTreeMap;

use super::done::{ExecutedProgram, ProgramCheck};

pub(crate) const CHECKS: &[(&str, ProgramCheck)] = &[("pageViewCount", check_views)];

/// Groups lines by key; returns for each key its first line and its number of lines, by first line.
fn group_by_key<K: Ord>(keys: impl Iterator<Item = (usize, K)>) -> BTreeMap<i32, i32> {
    let mut groups: BTreeMap<K, (usize, i32)> = BTreeMap::new();
    for (line, key) in keys {
        let group = groups.entry(key).or_insert((line, 0));
        *group = (group.0.min(line), group.1 + 1);
    }
    groups.into_values().map(|(line, count)| (line as i32, count)).collect()
}

fn check_views(done: &ExecutedProgram) {
    let text = String::from_utf8(done.bytes("text")).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert!(lines.len() == 600 && lines.iter().all(|fields| fields.len() == 3 && fields[0].starts_with("http://")));
    let with_address: Vec<usize> = (0..lines.len()).filter(|&line| !lines[line][1].starts_with('-')).collect();
    let entries = group_by_key(with_address.iter().map(|&line| (line, (lines[line][0], lines[line][1]))));
    let pages = group_by_key(entries.keys().map(|&line| (line as usize, lines[line as usize][0])));
    // Hashes of five bits must collide, so the program has compared keys.
    assert!(with_address.len() < lines.len() && entries.len() < with_address.len() && pages.len() > 32);
    done.assert_equal("numbers", &[lines.len(), with_address.len(), entries.len(), entries.len(), pages.len()].map(|number| number as i32));
    for (first, count, want) in [("entries", "copies", entries), ("urls", "views", pages)] {
        let [first, count] = [first, count].map(|name| done.out_ints(name));
        let got: BTreeMap<i32, i32> = first.into_iter().zip(count).take(want.len()).collect();
        assert_eq!(got, want);
    }
}
