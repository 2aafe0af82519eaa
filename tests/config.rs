//! Machines from text: what loads, what it loads as, and what is said of what does not.

use warpshard::config::{Machine, builtin_machines};

#[test]
fn every_built_in_machine_loads_without_a_warning_and_has_a_summary() {
    for builtin in builtin_machines() {
        let loaded = Machine::load(builtin.name, &[]).unwrap_or_else(|errors| panic!("{}:\n{errors}", builtin.name));
        assert_eq!(loaded.machine.name, builtin.name);
        assert_eq!(loaded.warnings, [], "{}", builtin.name);
        assert!(!builtin.summary.is_empty());
        assert_eq!(loaded.provenance.summary(), builtin.summary);
    }
}

#[test]
fn a_resolved_machine_loads_back_to_an_equal_one() {
    for builtin in builtin_machines() {
        let loaded = Machine::load(builtin.name, &[]).unwrap();
        let again = Machine::from_text("run.toml", &loaded.provenance.to_toml(), &[]).unwrap();
        assert_eq!(again.machine, loaded.machine);
    }
}
