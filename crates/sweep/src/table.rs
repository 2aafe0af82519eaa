//! The collected table of a sweep: a row per run, in the order of the plan.

use serde_json::Value;

use warpshard_report::frame::{Cell, ColumnKind, Frame};
use warpshard_run::Digest;
use warpshard_view::Stats;

use super::expand::SweepRun;
use super::store::{Store, StoreEntry};

/// A table with a row per run. Equal results give equal bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepTable {
    /// Columns and rows of the table.
    pub frame: Frame,
    /// Number of failed runs.
    pub failed: usize,
    /// Number of missing runs.
    pub missing: usize,
}

/// Columns in front of the columns of the changes.
const PLAN_COLUMNS: [(&str, ColumnKind); 6] = [
    ("run", ColumnKind::Count),
    ("status", ColumnKind::Text),
    ("machine", ColumnKind::Text),
    ("workload", ColumnKind::Text),
    ("policies", ColumnKind::Text),
    ("seed", ColumnKind::Count),
];

/// Columns of the results, in front of the shares of scheduler cycles.
const RESULT_COLUMNS: [(&str, ColumnKind); 16] = [
    ("ended_by", ColumnKind::Text),
    ("cycles", ColumnKind::Count),
    ("net_cycles", ColumnKind::Count),
    ("warp_instructions", ColumnKind::Count),
    ("thread_instructions", ColumnKind::Count),
    ("ipc", ColumnKind::Number),
    ("kernels_ended", ColumnKind::Count),
    ("ctas_done", ColumnKind::Count),
    ("l1_accesses", ColumnKind::Count),
    ("l1_hit_rate", ColumnKind::Number),
    ("llc_accesses", ColumnKind::Count),
    ("llc_hit_rate", ColumnKind::Number),
    ("dram_bytes", ColumnKind::Count),
    ("dram_row_hit_rate", ColumnKind::Number),
    ("joules", ColumnKind::Number),
    ("mean_watts", ColumnKind::Number),
];

impl SweepTable {
    /// Collects the runs, whose digests are given in the same order, from a store. `keys` are the keys that differ between the runs.
    ///
    /// A result that cannot be read counts as missing; its row has the reason.
    pub fn collect(runs: &[SweepRun], digests: &[Digest], keys: &[String], store: &Store) -> Self {
        let found: Vec<StoredResult> = runs.iter().zip(digests).map(|(_, &digest)| StoredResult::of(store, digest)).collect();
        let mut reasons: Vec<String> = Vec::new();
        for name in found.iter().filter_map(|found| found.stats.as_ref()?.object(&REASONS_PATH)).flat_map(serde_json::Map::keys) {
            if !reasons.contains(name) {
                reasons.push(name.clone());
            }
        }
        let columns = PLAN_COLUMNS.iter().map(|&(name, kind)| (name.to_owned(), kind));
        let columns = columns.chain(keys.iter().map(|key| (key.clone(), ColumnKind::Count)));
        let columns = columns.chain(RESULT_COLUMNS.iter().map(|&(name, kind)| (name.to_owned(), kind)));
        let columns = columns.chain(reasons.iter().map(|name| (format!("share_{name}"), ColumnKind::Number)));
        let columns = columns.chain(["digest", "error"].map(|name| (name.to_owned(), ColumnKind::Text)));
        let row = |((run, digest), found): ((&SweepRun, &Digest), &StoredResult)| {
            let mut row = plan_cells(run, found.status, keys);
            row.extend(found.stats.as_ref().map_or_else(|| vec![Cell::Empty; RESULT_COLUMNS.len()], results));
            row.extend(reasons.iter().map(|reason| found.stats.as_ref().map_or(Cell::Empty, |stats| share(stats, reason))));
            row.push(Cell::text(digest.to_string()));
            row.push(Cell::text(found.error.clone()));
            row
        };
        Self {
            frame: Frame::new(columns.collect(), runs.iter().zip(digests).zip(&found).map(row).collect()),
            failed: found.iter().filter(|found| found.status == "failed").count(),
            missing: found.iter().filter(|found| found.status == "missing").count(),
        }
    }
}

const REASONS_PATH: [&str; 2] = ["scheduler_cycles", "reasons"];

/// The stored data of a run.
struct StoredResult {
    status: &'static str,
    stats: Option<Stats>,
    error: String,
}

impl StoredResult {
    fn of(store: &Store, digest: Digest) -> Self {
        match store.entry(digest) {
            StoreEntry::Done(folder) => match Stats::read(&folder) {
                Ok(stats) => Self { status: "done", stats: Some(stats), error: String::new() },
                Err(error) => Self { status: "missing", stats: None, error: error.to_string() },
            },
            StoreEntry::Failed(_, error) => Self { status: "failed", stats: None, error },
            StoreEntry::Missing => Self { status: "missing", stats: None, error: String::new() },
        }
    }
}

fn plan_cells(run: &SweepRun, status: &str, keys: &[String]) -> Vec<Cell> {
    let plan = [
        Cell::Count(run.number as u64),
        Cell::text(status),
        Cell::text(&run.machine),
        Cell::text(&run.workload.name),
        Cell::text(run.policies.join(" + ")),
        Cell::Count(run.seed),
    ];
    let change = |key: &String| {
        let value = run.changes.iter().find(|(changed, _)| changed == key).map(|(_, value)| value);
        value.map_or(Cell::Empty, |value| value.parse().map_or_else(|_| Cell::text(value), Cell::Count))
    };
    plan.into_iter().chain(keys.iter().map(change)).collect()
}

fn results(stats: &Stats) -> Vec<Cell> {
    let levels = stats.memory_levels();
    let level = |name: &str| levels.iter().find(|level| level.name == name);
    let accesses = |name: &str| Cell::count(level(name).map(|level| level.accesses));
    let hits = |name: &str| Cell::number(level(name).and_then(|level| level.share(level.hits)));
    let total = |name: &str| Cell::count(stats.count(&["total", name]));
    vec![
        Cell::text(stats.text("ended_by")),
        total("cycles"),
        total("net_cycles"),
        total("warp_instructions"),
        total("thread_instructions"),
        Cell::number(stats.number(&["total", "ipc"])),
        total("kernels_ended"),
        total("ctas_done"),
        accesses("L1"),
        hits("L1"),
        accesses("LLC"),
        hits("LLC"),
        Cell::count(level("DRAM").and_then(|level| level.bytes)),
        hits("DRAM"),
        Cell::number(stats.number(&["energy", "joules"])),
        Cell::number(stats.number(&["energy", "mean_watts"])),
    ]
}

fn share(stats: &Stats, reason: &str) -> Cell {
    let all = stats.number(&["scheduler_cycles", "total"]).filter(|all| *all > 0.0);
    let part = stats.object(&REASONS_PATH).and_then(|reasons| reasons.get(reason)).and_then(Value::as_f64);
    Cell::number(part.zip(all).map(|(part, all)| part / all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;
    use warpshard_report::ResultFile;

    #[test]
    fn a_table_has_a_row_for_every_outcome() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let staging = store.staging().unwrap();
        let plan = Plan::parse("p", "workloads = [\"a\"]\n[grid]\ngpu.sms = [1, 2, 3]\ngpu.sm.order = [\"gto\"]").unwrap();
        let digests = [b"1", b"2", b"3"].map(|text| Digest::of(text));
        let stats = r#"{"schema_version": 1, "ended_by": "completed", "total": {"cycles": 100, "ipc": 1.5},
            "scheduler_cycles": {"total": 8, "reasons": {"issued": 2}}}"#;
        staging.store_files(digests[0], &[ResultFile::new("stats.json", stats)]).unwrap();
        staging.store_failure(digests[1], 5, "deadlock, \"here\"").unwrap();
        let table = SweepTable::collect(&plan.runs(), &digests, &plan.keys(), &store);
        assert_eq!((table.failed, table.missing), (1, 1));
        let text = table.frame.csv();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("run,status,machine,workload,policies,seed,gpu.sms,gpu.sm.order,ended_by,cycles,"), "{text}");
        assert!(lines[0].ends_with(",share_issued,digest,error"), "{text}");
        assert!(lines[1].starts_with("1,done,v100,a,,1,1,gto,completed,100,,,,1.5,"), "{text}");
        assert!(lines[1].ends_with(&format!(",0.25,{},", digests[0])), "{text}");
        assert!(lines[2].starts_with("2,failed,v100,a,,1,2,gto,,") && lines[2].ends_with(",\"deadlock, \"\"here\"\"\""), "{text}");
        assert!(lines[3].starts_with("3,missing,"), "{text}");
        let kind = |name: &str| table.frame.columns().iter().find(|(known, _)| known == name).map(|(_, kind)| *kind);
        let kinds = ["gpu.sms", "gpu.sm.order", "cycles", "joules", "share_issued", "digest"].map(kind);
        assert_eq!(
            kinds.map(Option::unwrap),
            [ColumnKind::Count, ColumnKind::Text, ColumnKind::Count, ColumnKind::Number, ColumnKind::Number, ColumnKind::Text]
        );
    }
}
