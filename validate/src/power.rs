//! `study power`: power of the energy set `volta-12nm`, compared kernel by kernel with the board power measured on a Quadro GV100.
//!
//! The inputs are a profiler's counters per launch, and watts. The counters replace the counters of a simulated run, so that only the
//! energies are compared. `Assumptions` holds values that the counters do not determine, except the instruction mix, which is bounded by
//! integer arithmetic alone and by fused multiply-adds alone. No parameter is fitted to the measured watts.

use warpshard_base::Frequency;
use warpshard_config::Machine;
use warpshard_energy::{Breakdown, Component, Counts, EnergySet, Event, Model, SmTime};
use warpshard_lab::error::TaskError;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::reference::{References, Table};
use warpshard_lab::statistics::{correlation, mean_magnitude};
use warpshard_lab::verdict::magnitude_headline;
use warpshard_report::plot::{Plot, PlotForm, Series};

use super::reference::MeasuredTable;

/// Energy set under test.
const ENERGY_SET: &str = "volta-12nm";
const MEASURED_MACHINE: &str = "v100";

/// Core clock of the measured board. The published measurements do not contain it; this value is commonly cited for AccelWattch's Quadro
/// GV100 (MICRO 2021). The study also reports the error at the base clock.
const CORE_CLOCK: Frequency = Frequency::mhz(1417);

/// Base clock of the board; profilers lock the clock to it by default.
const BASE_CLOCK: Frequency = Frequency::mhz(1132);

/// SMs of the board.
const BOARD_SMS: f64 = 80.0;

/// Values that the counters do not determine.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Assumptions {
    /// Cycles for which a warp instruction occupies a pipe of a sub-core: 32 lanes on 16.
    cycles_per_instruction: f64,
    /// Pipes in the average `Pipeline_Duty`.
    pipes: f64,
    /// Active lanes per instruction.
    lanes: f64,
    /// Sectors per L1 access: 32 lanes of four contiguous bytes.
    sectors_per_access: f64,
    /// Bursts per activation of a DRAM row.
    bursts_per_row: f64,
    /// Instructions per fetch.
    instructions_per_fetch: f64,
}

const ASSUMPTIONS: Assumptions = Assumptions {
    cycles_per_instruction: 2.0,
    pipes: 5.0,
    lanes: 32.0,
    sectors_per_access: 4.0,
    bursts_per_row: 8.0,
    instructions_per_fetch: 2.0,
};

/// Assumed kind of all arithmetic instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InstructionMix {
    /// Integer additions, which read two registers.
    Integer,
    /// Fused multiply-adds, which read three registers.
    Float,
}

/// Profiler counters of a kernel, per launch.
#[derive(Clone, Debug, Default, PartialEq)]
struct ProfilerCounters {
    l1_read_hits: f64,
    l1_read_misses: f64,
    l1_writes: f64,
    constant: f64,
    shared: f64,
    dram_reads: f64,
    dram_writes: f64,
    llc_read_hits: f64,
    llc_read_misses: f64,
    llc_writes: f64,
    noc: f64,
    duty: f64,
    idle_sms: f64,
    cycles: f64,
    volts: f64,
}

/// Kernels by their names in the profile (process, part of the kernel's name) and in the power measurements.
const PROFILED_KERNELS: [(&str, &str, &str); 25] = [
    ("backprop", "layerforward", "backprop_k1"),
    ("backprop", "adjust_weights", "backprop_k2"),
    ("binomialOptions", "", "binomialOptions_k1"),
    ("b+tree", "findRangeK", "btree_k1"),
    ("b+tree", "findK", "btree_k2"),
    ("cudaTensorCoreGemm", "", "cudaTensorCoreGemm_k1"),
    ("cutlass_perf_test_k1", "", "cutlass_k1"),
    ("cutlass_perf_test_k2", "", "cutlass_k2"),
    ("cutlass_perf_test_k3", "", "cutlass_k3"),
    ("dct8x8", "kernel1DCT", "dct8x8_k1"),
    ("dct8x8", "kernel2DCT", "dct8x8_k2"),
    ("fastWalshTransform", "fwtBatch2", "fastWalshTransform_k1"),
    ("fastWalshTransform", "fwtBatch1", "fastWalshTransform_k2"),
    ("histogram", "", "histogram_k1"),
    ("hotspot", "", "hotspot_k1"),
    ("kmeans", "", "kmeans_k1"),
    ("mergeSort", "mergeSortShared", "mergeSort_k1"),
    ("mergeSort", "mergeElementary", "mergeSort_k2"),
    ("parboil-mri-q", "", "parboil_mriq_k1"),
    ("parboil-sad", "", "parboil_sad_k1"),
    ("parboil-sgemm", "", "parboil_sgemm_k1"),
    ("quasirandomGenerator", "quasirandomGenerator", "quasirandomGenerator_k1"),
    ("quasirandomGenerator", "inverseCND", "quasirandomGenerator_k2"),
    ("sobolQRNG", "", "sobolQRNG_k1"),
    ("srad_v1", "", "srad_v1_k1"),
];

/// Computes the power of every kernel that was both profiled and measured.
///
/// # Errors
/// Fails if the reference cannot be read, or no kernel is in both of its files.
pub fn run(references: &References) -> Result<StudyOutput, StudyError> {
    let table = |measured: MeasuredTable, columns: &[&str]| measured.table(references, columns);
    let kernels =
        table(MeasuredTable::BoardCounters, &COUNTER_COLUMNS).and_then(|table| profiled_counters(&table)).map_err(StudyError::reference)?;
    let measured =
        table(MeasuredTable::BoardPower, &POWER_COLUMNS).and_then(|table| measured_watts(&table)).map_err(StudyError::reference)?;
    compare_kernels(&kernels, &measured)
}

fn compare_kernels(kernels: &[(&str, ProfilerCounters)], measured: &[(String, f64)]) -> Result<StudyOutput, StudyError> {
    let machine = Machine::load(MEASURED_MACHINE, &[]).map_err(StudyError::input)?.machine;
    let at = |clock| {
        let mut machine = machine.clone();
        machine.clocks.core = clock;
        EnergySet::named(ENERGY_SET).map(|set| Model::new(set, &machine)).map_err(StudyError::input)
    };
    let (model, slower) = (at(CORE_CLOCK)?, at(BASE_CLOCK)?);
    let mut output =
        StudyOutput::new("power", format!("power of the set {ENERGY_SET} on counters of a Quadro GV100, compared with its board power"));
    output.columns(&[
        "kernel",
        "measured W",
        "all integer W",
        "all FMA W",
        "middle W",
        "error %",
        "within",
        "at rest W",
        "SM W",
        "L1+shared W",
        "NoC+L2 W",
        "DRAM W",
    ]);
    let (mut points, mut errors, mut at_base, mut inside) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (name, theirs) in measured {
        let Some((_, counters)) = kernels.iter().find(|(known, _)| known == name) else {
            output.note(format!("{name} has measured power, but no counters"));
            continue;
        };
        let [low, high] = [InstructionMix::Integer, InstructionMix::Float].map(|mix| model_power(&model, counters, mix));
        let middle = (low.mean_watts() + high.mean_watts()) / 2.0;
        let error = (middle / theirs - 1.0) * 100.0;
        let slow: f64 = [InstructionMix::Integer, InstructionMix::Float]
            .iter()
            .map(|mix| model_power(&slower, counters, *mix).mean_watts() / 2.0)
            .sum();
        let within = (low.mean_watts()..=high.mean_watts()).contains(theirs);
        inside += usize::from(within);
        errors.push(error);
        at_base.push((slow / theirs - 1.0) * 100.0);
        points.push((*theirs, middle));
        let mut cells = vec![name.clone()];
        cells.extend([*theirs, low.mean_watts(), high.mean_watts(), middle].map(|watts| format!("{watts:.1}")));
        cells.extend([format!("{error:+.1}"), if within { "yes" } else { "no" }.to_owned()]);
        cells.extend(watts_by_part(&low, &high).map(|watts| format!("{watts:.1}")));
        output.row(cells);
    }
    if errors.is_empty() {
        return Err(StudyError::Nothing("no kernel has both counters and measured power".into()));
    }
    let constant = points.iter().map(|(theirs, _)| theirs).sum::<f64>() / points.len() as f64;
    let guess: Vec<f64> = points.iter().map(|(theirs, _)| (constant / theirs - 1.0) * 100.0).collect();
    let trivial = mean_magnitude(&guess).map(|error| ("the mean measured power", error));
    output.headline("mean absolute error, %", &magnitude_headline(&errors, trivial));
    output.figure("mean error, %", errors.iter().sum::<f64>() / errors.len() as f64);
    output.figure("largest error, %", errors.iter().fold(0.0f64, |worst, error| worst.max(error.abs())));
    if let Some(value) = correlation(&points) {
        output.figure("correlation", value);
    }
    output.figure("kernels compared", errors.len() as f64);
    output.figure("kernels between both mixes", inside as f64);
    output.figure("mean absolute error with the counters' cycles at 1132 MHz, %", mean_magnitude(&at_base).unwrap_or(0.0));
    output.note(format!("the core clock was not published: {CORE_CLOCK} is assumed"));
    output.note("no value of the set is fitted to these measurements; the middle is the mean of both mixes".into());
    output.note("kernels on the matrix units (cutlass, cudaTensorCoreGemm) are neither mix; their instructions cost more".into());
    output.scatter(Plot {
        title: format!("Board power of a GV100: {ENERGY_SET} on its counters"),
        x: "measured, W".into(),
        y: "computed, W".into(),
        form: PlotForm::Scatter,
        series: vec![Series { name: "one kernel".into(), points }],
    });
    Ok(output)
}

/// Returns the watts of five parts, averaged over both mixes: static power, the SMs' pipelines, L1 and shared memory, networks and LLC, and
/// DRAM.
fn watts_by_part(low: &Breakdown, high: &Breakdown) -> [f64; 5] {
    let watts = |components: &[Component]| {
        let sum = |energy: &Breakdown| components.iter().map(|component| energy.get(*component)).sum::<f64>() / energy.seconds;
        (sum(low) + sum(high)) / 2.0
    };
    let rest = (low.at_rest() / low.seconds + high.at_rest() / high.seconds) / 2.0;
    let sm = [Component::SmClock, Component::FrontEnd, Component::Integer, Component::Float, Component::LoadStore, Component::Registers];
    [
        rest,
        watts(&sm),
        watts(&[Component::L1, Component::Shared, Component::Constant]),
        watts(&[Component::Noc, Component::Llc]),
        watts(&[Component::Dram]),
    ]
}

fn model_power(model: &Model, counters: &ProfilerCounters, mix: InstructionMix) -> Breakdown {
    model.clone().at_volts(counters.volts).breakdown(&event_counts(counters, mix))
}

/// Converts the profiler's counters to energy events.
fn event_counts(c: &ProfilerCounters, mix: InstructionMix) -> Counts {
    let a = ASSUMPTIONS;
    let resident = (BOARD_SMS - c.idle_sms) * c.cycles;
    let sms = SmTime { cycles: rounded_count(BOARD_SMS * c.cycles), resident: rounded_count(resident), ..SmTime::default() };
    let mut counts = Counts { cycles: rounded_count(c.cycles), sms, ..Counts::default() };
    let arithmetic = c.duty * a.pipes / a.cycles_per_instruction * BOARD_SMS * c.cycles;
    let memory = c.shared + c.constant + (c.l1_read_hits + c.l1_read_misses + c.l1_writes) / a.sectors_per_access;
    let sources = match mix {
        InstructionMix::Integer => 2.0,
        InstructionMix::Float => 3.0,
    };
    let lane = match mix {
        InstructionMix::Integer => Event::IntegerLane,
        InstructionMix::Float => Event::FloatLane,
    };
    for (event, times) in [
        (Event::Issue, arithmetic + memory),
        (Event::Fetch, (arithmetic + memory) / a.instructions_per_fetch),
        (lane, arithmetic * a.lanes),
        (Event::AddressLane, memory * a.lanes),
        (Event::RegisterRead, arithmetic * sources + memory),
        (Event::RegisterWrite, arithmetic + memory),
        (Event::SharedPass, c.shared),
        (Event::SharedWord, c.shared * a.lanes),
        (Event::Constant, c.constant),
        (Event::L1Read, c.l1_read_hits),
        (Event::L1Miss, c.l1_read_misses),
        (Event::L1Write, c.l1_writes),
        (Event::Crossbar, c.noc),
        (Event::LlcRead, c.llc_read_hits),
        (Event::LlcMiss, c.llc_read_misses),
        (Event::LlcWrite, c.llc_writes),
        (Event::Activate, (c.dram_reads + c.dram_writes) / a.bursts_per_row),
        (Event::DramRead, c.dram_reads),
        (Event::DramWrite, c.dram_writes),
    ] {
        counts.set(event, rounded_count(times));
    }
    counts
}

fn rounded_count(value: f64) -> u64 {
    value.round() as u64
}

/// Columns of the counter table.
const COUNTER_COLUMNS: [&str; 19] = [
    "Benchmark",
    "Kernel",
    "L1_RH",
    "L1_RM",
    "L1_WH",
    "L1_WM",
    "CC_ACC",
    "SHRD_ACC",
    "DRAM_Rd",
    "DRAM_Wr",
    "L2_RH",
    "L2_RM",
    "L2_WH",
    "L2_WM",
    "NOC",
    "Pipeline_Duty",
    "Num_Idle_SMs",
    "Elapsed_Cycles",
    "Chip Voltage",
];

/// Returns the kernels of the counter table that also have a name in the power measurements.
fn profiled_counters(table: &Table) -> Result<Vec<(&'static str, ProfilerCounters)>, TaskError> {
    let mut kernels = Vec::new();
    for row in table.rows() {
        let count = |column: &str| {
            let value = row.number::<f64>(column).ok().filter(|value| value.is_finite() && *value >= 0.0);
            value.ok_or_else(|| row.cell_error(column, "a number that is not negative"))
        };
        let (process, kernel) = (row.text("Benchmark"), row.text("Kernel"));
        let known = PROFILED_KERNELS.iter().find(|(prefix, part, _)| process.starts_with(prefix) && kernel.contains(part));
        let Some((_, _, name)) = known else { continue };
        let counters = ProfilerCounters {
            l1_read_hits: count("L1_RH")?,
            l1_read_misses: count("L1_RM")?,
            l1_writes: count("L1_WH")? + count("L1_WM")?,
            constant: count("CC_ACC")?,
            shared: count("SHRD_ACC")?,
            dram_reads: count("DRAM_Rd")?,
            dram_writes: count("DRAM_Wr")?,
            llc_read_hits: count("L2_RH")?,
            llc_read_misses: count("L2_RM")?,
            llc_writes: count("L2_WH")? + count("L2_WM")?,
            noc: count("NOC")?,
            duty: count("Pipeline_Duty")?,
            idle_sms: count("Num_Idle_SMs")?.min(BOARD_SMS),
            cycles: count("Elapsed_Cycles")?,
            volts: count("Chip Voltage")?,
        };
        kernels.push((*name, counters));
    }
    Ok(kernels)
}

/// Columns of the power table: the kernel, whose column has no name, and watts.
const POWER_COLUMNS: [&str; 2] = ["", "mean HW_power"];

/// Returns the kernels of the power table with their mean watts.
fn measured_watts(table: &Table) -> Result<Vec<(String, f64)>, TaskError> {
    let [kernel, power] = POWER_COLUMNS;
    let rows = table.rows().map(|row| {
        let watts = row.number::<f64>(power).ok().filter(|watts| *watts > 0.0 && watts.is_finite());
        watts.map(|watts| (row.text(kernel).to_owned(), watts)).ok_or_else(|| TaskError::from(row.cell_error(power, "a number above 0")))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a counter table with one row.
    fn example_counter_table(row: &str) -> Table {
        Table::parse("counters.csv", &format!("{}\n{row}\n", COUNTER_COLUMNS.join(",")), &COUNTER_COLUMNS).unwrap()
    }

    #[test]
    fn an_idle_board_draws_only_static_power() {
        let kernels = profiled_counters(&example_counter_table("histogram,x,0,0,0,0,0,0,0,0,0,0,0,0,0,0,80,1417000,1.0")).unwrap();
        let output = compare_kernels(&kernels, &[("histogram_k1".into(), 100.0)]).unwrap();
        let set = EnergySet::named(ENERGY_SET).unwrap();
        let expected = set.board.constant_watts + 80.0 * set.sm.static_watts;
        assert_eq!(output.column("middle W"), Some(vec![&*format!("{expected:.1}")]));
        assert_eq!(output.column("all integer W"), output.column("all FMA W"));
    }

    #[test]
    fn the_counters_are_converted_by_the_assumptions() {
        let row = "mergeSort,mergeSortShared,8,4,2,2,10,20,64,16,5,6,7,0,9,0.4,16,1000,1.0";
        let (name, counters) = profiled_counters(&example_counter_table(row)).unwrap().remove(0);
        assert_eq!(name, "mergeSort_k1");
        let integer = event_counts(&counters, InstructionMix::Integer);
        let float = event_counts(&counters, InstructionMix::Float);
        // A duty of 0.4 over five pipes is two busy pipes. Each issues one instruction every two cycles, so each of the 80 SMs executes 1
        // per cycle.
        let (arithmetic, memory) = (80_000, 20 + 10 + 16 / 4);
        assert_eq!(integer.get(Event::Issue), arithmetic + memory);
        assert_eq!((integer.get(Event::IntegerLane), integer.get(Event::FloatLane)), (32 * arithmetic, 0));
        assert_eq!((float.get(Event::IntegerLane), float.get(Event::FloatLane)), (0, 32 * arithmetic));
        assert_eq!(float.get(Event::RegisterRead) - integer.get(Event::RegisterRead), arithmetic);
        assert_eq!((integer.sms.cycles, integer.sms.resident), (80_000, 64_000));
        assert_eq!((integer.get(Event::Activate), integer.get(Event::LlcMiss), integer.get(Event::L1Miss)), (10, 6, 4));
    }

    #[test]
    fn unreadable_values_are_named() {
        let error =
            profiled_counters(&example_counter_table("histogram,x,many,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,1.0")).unwrap_err().to_string();
        assert!(error.contains("line 2: `L1_RH` is `many`"), "{error}");
        let power = Table::parse("power.csv", ",mean HW_power\nk,none\n", &POWER_COLUMNS).unwrap();
        assert!(measured_watts(&power).unwrap_err().to_string().contains("line 2"));
        assert!(compare_kernels(&[], &[("histogram_k1".into(), 100.0)]).is_err());
    }
}
