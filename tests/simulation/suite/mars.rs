//! MapReduce.

use std::collections::BTreeMap;

use super::done::{Check, Done};

pub(crate) const CHECKS: &[(&str, Check)] = &[("pageViewCount", views)];

/// Of each key the first line and how many lines have it, by first line.
fn grouped<K: Ord>(keys: impl Iterator<Item = (usize, K)>) -> BTreeMap<i32, i32> {
    let mut groups: BTreeMap<K, (usize, i32)> = BTreeMap::new();
    for (line, key) in keys {
        let group = groups.entry(key).or_insert((line, 0));
        *group = (group.0.min(line), group.1 + 1);
    }
    groups.into_values().map(|(line, count)| (line as i32, count)).collect()
}

fn views(done: &Done) {
    let text = String::from_utf8(done.bytes("text")).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert!(lines.len() == 600 && lines.iter().all(|fields| fields.len() == 3 && fields[0].starts_with("http://")));
    let with_address: Vec<usize> = (0..lines.len()).filter(|&line| !lines[line][1].starts_with('-')).collect();
    let entries = grouped(with_address.iter().map(|&line| (line, (lines[line][0], lines[line][1]))));
    let pages = grouped(entries.keys().map(|&line| (line as usize, lines[line as usize][0])));
    // Hashes of five bits cannot all differ, so that keys have been compared.
    assert!(with_address.len() < lines.len() && entries.len() < with_address.len() && pages.len() > 32);
    done.same("numbers", &[lines.len(), with_address.len(), entries.len(), entries.len(), pages.len()].map(|number| number as i32));
    for (first, count, want) in [("entries", "copies", entries), ("urls", "views", pages)] {
        let [first, count] = [first, count].map(|name| done.out_ints(name));
        let got: BTreeMap<i32, i32> = first.into_iter().zip(count).take(want.len()).collect();
        assert_eq!(got, want);
    }
}
