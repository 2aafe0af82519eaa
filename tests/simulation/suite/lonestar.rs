//! Checks of the Lonestar programs: irregular algorithms on graphs.

use super::done::{ExecutedProgram, ProgramCheck};

pub(crate) const CHECKS: &[(&str, ProgramCheck)] =
    &[("bfs", check_levels), ("mst", check_spanning_tree), ("sp", check_surveys), ("sssp", check_shortest)];

/// Computes the distances from vertex 0 for the given edge weights.
fn distances(done: &ExecutedProgram, weight: impl Fn(usize) -> i32) -> Vec<i32> {
    let (begin, to) = (done.ints("begin"), done.ints("to"));
    let mut distance = vec![1_000_000_000; begin.len() - 1];
    distance[0] = 0;
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for v in 0..distance.len() {
            for edge in begin[v] as usize..begin[v + 1] as usize {
                let (other, target) = (distance[v] + weight(edge), to[edge] as usize);
                if other < distance[target] {
                    distance[target] = other;
                    changed = true;
                }
            }
        }
    }
    distance
}

fn check_levels(done: &ExecutedProgram) {
    let want = distances(done, |_| 1);
    assert!(want.iter().filter(|&&level| level < 1000).max() > Some(&3));
    done.assert_equal("distance", &want);
}

fn check_shortest(done: &ExecutedProgram) {
    let weight = done.ints("weight");
    done.assert_equal("distance", &distances(done, |edge| weight[edge]));
}

/// Checks against Kruskal's algorithm: the lightest edges that join two components.
fn check_spanning_tree(done: &ExecutedProgram) {
    let [begin, to] = ["begin", "to"].map(|name| done.ints(name));
    let weights: Vec<u32> = done.ints("weight").into_iter().map(|weight| weight as u32).collect();
    let n = begin.len() - 1;
    let mut edges: Vec<(u32, usize, usize)> = (0..n)
        .flat_map(|v| (begin[v] as usize..begin[v + 1] as usize).map(move |e| (e, v)))
        .map(|(e, v)| (weights[e], v, to[e] as usize))
        .collect();
    edges.sort_unstable();
    let mut component: Vec<usize> = (0..n).collect();
    let (mut total, mut count) = (0_u32, 0);
    for (weight, a, b) in edges {
        let (a, b) = (component[a], component[b]);
        if a != b {
            component.iter_mut().filter(|component| **component == b).for_each(|component| *component = a);
            total = total.wrapping_add(weight);
            count += 1;
        }
    }
    assert_eq!(count, n as i32 - 1);
    done.assert_equal("total", &[total as i32]);
    done.assert_equal("count", &[count]);
    let components = done.out_ints("component");
    assert!(components.iter().all(|&component| component == components[0]), "one component is left");
}

fn check_surveys(done: &ExecutedProgram) {
    let literals: Vec<usize> = done.ints("literals").into_iter().map(|literal| literal as usize).collect();
    let mut survey = done.floats("survey");
    for _ in 0..4 {
        // Product of the complementary surveys of each literal.
        let mut open = vec![1.0; 2 * 1024];
        literals.iter().zip(&survey).for_each(|(&literal, survey)| open[literal] *= 1.0 - survey);
        let ratio = |place: usize| {
            let same = open[literals[place]] / (1.0 - survey[place]);
            let other = open[literals[place] ^ 1];
            let (against, with, free) = ((1.0 - other) * same, (1.0 - same) * other, same * other);
            against / (against + with + free)
        };
        let ratios: Vec<f64> = (0..survey.len()).map(ratio).collect();
        survey = (0..survey.len()).map(|i| ratios[i / 3 * 3 + (i + 1) % 3] * ratios[i / 3 * 3 + (i + 2) % 3]).collect();
    }
    done.assert_close("survey", &survey, 1e-4);
}
