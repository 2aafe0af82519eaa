//! Names in the formulas of a body: loop counters, `let`s, constants, and the position of a thread in the grid.

use rustc_hash::FxHashSet;

use super::compile::{Compiler, MAX_DEPTH};
use super::error::Problem;
use super::expr::is_name;
use super::kernel::unknown;
use super::program::LetSlot;
use super::schema::ModelText;
use super::step::{Step, StepKind};
use super::text::Formula;
use super::value::{NameMeaning, lanes, uniform};

/// Predefined names of all formulas of a body, with their meanings.
const POSITION_NAMES: &[(&str, NameMeaning)] = &[
    ("cta", NameMeaning::Uniform(uniform::CTA)),
    ("cta_x", NameMeaning::Uniform(uniform::CTA_X)),
    ("cta_y", NameMeaning::Uniform(uniform::CTA_Y)),
    ("cta_z", NameMeaning::Uniform(uniform::CTA_Z)),
    ("warp", NameMeaning::Uniform(uniform::WARP)),
    ("lane", NameMeaning::Lane(lanes::LANE)),
    ("thread", NameMeaning::Lane(lanes::THREAD)),
    ("thread_x", NameMeaning::Lane(lanes::THREAD_X)),
    ("thread_y", NameMeaning::Lane(lanes::THREAD_Y)),
    ("thread_z", NameMeaning::Lane(lanes::THREAD_Z)),
];

/// Returns true if the name is predefined in formulas of a body.
pub(super) fn is_position_name(name: &str) -> bool {
    name == "global_thread" || POSITION_NAMES.iter().any(|(known, _)| *known == name)
}

impl Compiler<'_> {
    /// Finds every `let` of the body. A `let` varies by lane if its value does or if it is in divergent code.
    pub(super) fn find_lets(&mut self) {
        let mut varying = FxHashSet::default();
        let mut names = Vec::new();
        loop {
            let before = varying.len();
            names.clear();
            let mut scan = LetScan { model: self.launch.model, varying: &mut varying, names: &mut names };
            scan.steps(&self.launch.kernel.body, false, 0);
            if varying.len() == before {
                break;
            }
        }
        for name in names {
            let varies = varying.contains(&name);
            let slot = if varies {
                self.lane_slots += 1;
                LetSlot::Lane(self.lane_slots - 1)
            } else {
                self.uniform_slots += 1;
                LetSlot::Uniform(self.uniform_slots - 1)
            };
            self.lets.push((name, varies, slot));
        }
    }

    /// Returns the meaning of a name at this position; the problem of an undefined name lists the defined ones.
    pub(super) fn resolve(&self, name: &str) -> Result<NameMeaning, Problem> {
        if let Some(&(_, meaning)) = self.scope.iter().rev().find(|(known, _)| known == name) {
            return Ok(meaning);
        }
        if let Some(&(_, _, slot)) = self.lets.iter().find(|(known, _, _)| known == name && self.defined.contains(name)) {
            return Ok(match slot {
                LetSlot::Uniform(slot) => NameMeaning::Uniform(slot),
                LetSlot::Lane(slot) => NameMeaning::Lane(slot),
            });
        }
        if let Some(&(_, value)) = self.launch.constants.iter().find(|(known, _)| known == name) {
            return Ok(NameMeaning::Const(value));
        }
        if name == "global_thread" {
            return Ok(NameMeaning::GlobalThread(i64::from(self.info.threads_per_cta())));
        }
        if let Some(&(_, meaning)) = POSITION_NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(meaning);
        }
        let scope = self.scope.iter().map(|(known, _)| known.as_str());
        let lets = self.lets.iter().map(|(known, _, _)| known.as_str()).filter(|known| self.defined.contains(*known));
        let constants = self.launch.constants.iter().map(|(known, _)| known.as_str());
        let places = POSITION_NAMES.iter().map(|(known, _)| *known).chain(["global_thread"]);
        Err(unknown(name, scope.chain(lets).chain(constants).chain(places)))
    }

    /// Reports a problem if `name` is not allowed for a counter or a `let`.
    pub(super) fn check_new_name(&mut self, key: &str, name: &str, line: u32, counter: bool) {
        let constant = self.launch.constants.iter().any(|(known, _)| known == name);
        let place = is_position_name(name);
        let counted = self.scope.iter().any(|(known, _)| known == name);
        let bound = counter && self.lets.iter().any(|(known, _, _)| known == name);
        let problem = if !is_name(name) {
            Problem::new(line, key, "not a name").help("names are letters, digits and _, and start with a letter")
        } else if constant || place || counted || bound {
            Problem::new(line, key, "the name is already defined here").help("choose another name")
        } else {
            return;
        };
        self.problems.push(problem.given(format!("\"{name}\"")));
    }
}

/// A search for `let`s and their variation by lane, without binding formulas.
struct LetScan<'s> {
    model: &'s ModelText,
    varying: &'s mut FxHashSet<String>,
    names: &'s mut Vec<String>,
}

impl LetScan<'_> {
    fn varies(&self, formula: &Formula) -> bool {
        let mut found = false;
        formula.expr.names(&mut |name| {
            let place = POSITION_NAMES.iter().any(|(known, meaning)| *known == name && matches!(meaning, NameMeaning::Lane(_)));
            found |= place || matches!(name, "random" | "global_thread") || self.varying.contains(name);
        });
        found
    }

    fn steps(&mut self, steps: &[Step], divergent: bool, depth: u32) {
        if depth > MAX_DEPTH {
            return;
        }
        for step in steps {
            match &step.kind {
                StepKind::Op(_) => {}
                StepKind::Loop { count, body, .. } => {
                    let divergent = divergent || self.varies(count);
                    self.steps(body, divergent, depth + 1);
                }
                StepKind::If { condition, then, otherwise } => {
                    let divergent = divergent || self.varies(condition);
                    self.steps(then, divergent, depth + 1);
                    self.steps(otherwise, divergent, depth + 1);
                }
                StepKind::Let { name, value } => {
                    if divergent || self.varies(value) {
                        self.varying.insert(name.clone());
                    }
                    if !self.names.contains(name) {
                        self.names.push(name.clone());
                    }
                }
                StepKind::Use(name) => {
                    if let Some((_, steps)) = self.model.blocks.iter().find(|(known, _)| known == name) {
                        self.steps(steps, divergent, depth + 1);
                    }
                }
            }
        }
    }
}
