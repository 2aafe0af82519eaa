//! `warpshard noc`: simulates a network alone under synthetic traffic, at one load or over a sweep of loads.

use std::path::PathBuf;
use std::time::Instant;

use warpshard_noc::mesh::NetworkSpec;
use warpshard_report::picture::{Picture, PictureError};
use warpshard_report::plot::{Plot, PlotForm, Series};
use warpshard_report::{Destination, ResultFile, csv};
use warpshard_rig::noc::{NocMeasurements, NocSetup, PATTERNS, measure};
use warpshard_run::{Exit, check_study};

use super::args::NocArgs;
use super::failure::Failure;
use super::output;

/// Measures one load, or a sweep of rising loads.
///
/// # Errors
/// Fails if the network cannot be built, the pattern does not fit the network, or results cannot be written.
pub(super) fn noc(args: &NocArgs) -> Result<Exit, Failure> {
    if args.sweep { sweep_loads(args) } else { run_single_load(args) }
}

fn setup(args: &NocArgs, load: f64) -> NocSetup {
    let network = NetworkSpec {
        pipeline: args.router,
        buffers: args.buffers,
        speedup: args.speedup,
        credit_delay: args.credit_delay,
        ..NetworkSpec::new(args.topology.clone()).with_vcs(args.vcs)
    };
    let pattern = PATTERNS.iter().find(|(name, _)| *name == args.pattern).map_or(PATTERNS[0].1, |(_, pattern)| *pattern);
    NocSetup { network, pattern, flits: args.flits, load, warm_up: args.warm_up, measured: args.measured, seed: args.seed }
}

fn run(args: &NocArgs, load: f64) -> Result<(NocMeasurements, f64), Failure> {
    let start = Instant::now();
    let measured = measure(&setup(args, load)).map_err(|why| Failure::new(Exit::Usage, why))?;
    Ok((measured, measured.cycles as f64 / start.elapsed().as_secs_f64()))
}

fn run_single_load(args: &NocArgs) -> Result<Exit, Failure> {
    let (measured, rate) = run(args, args.load)?;
    let routers = args.topology.routers() as f64;
    if args.json {
        let value = serde_json::json!({
            "topology": args.topology.to_string(),
            "pattern": args.pattern,
            "flits": args.flits,
            "load": args.load,
            "sources": measured.sources,
            "avg_packet_latency": measured.packet_latency,
            "avg_network_latency": measured.network_latency,
            "max_packet_latency": measured.longest_latency,
            "accepted_flits_per_source_per_cycle": measured.accepted,
            "avg_hops_routers": measured.routers,
            "stable": measured.stable,
            "cycles": measured.cycles,
            "cycles_per_host_second": rate,
            "router_cycles_per_host_second": rate * routers,
        });
        output::print_json(&value)?;
        return Ok(Exit::Ok);
    }
    let verdict = if measured.stable { "stable" } else { "saturated; latencies cover only the packets that arrived" };
    output::print(&format!(
        "{} {} at {} flits per source and cycle, packets of {}: {verdict}\n\
         packet latency    {:.3} cycles (longest {})\n\
         network latency   {:.3} cycles\n\
         accepted          {:.5} flits per source and cycle ({} sources)\n\
         routers passed    {:.4}\n\
         simulated         {} cycles, {:.3} M router-cycles per second of host time\n",
        args.topology,
        args.pattern,
        args.load,
        args.flits,
        measured.packet_latency,
        measured.longest_latency,
        measured.network_latency,
        measured.accepted,
        measured.sources,
        measured.routers,
        measured.cycles,
        rate * routers / 1e6,
    ))?;
    Ok(Exit::Ok)
}

/// A sweep raises the load by 0.02 flits per source and cycle, until the network saturates at two loads.
const LOAD_STEPS: std::ops::RangeInclusive<u32> = 1..=50;
const LOAD_STEP: f64 = 0.02;

fn sweep_loads(args: &NocArgs) -> Result<Exit, Failure> {
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("results/noc-{}-{}", args.topology, args.pattern)));
    let destination = Destination::folder(&folder, false)?;
    check_study(&folder, "")?;
    let (mut rows, mut points, mut unstable) = (Vec::new(), Vec::new(), 0);
    for step in LOAD_STEPS {
        let load = f64::from(step) * LOAD_STEP;
        let (measured, _) = run(args, load)?;
        let latency = |value: f64| if measured.stable { format!("{value:.4}") } else { String::new() };
        rows.push(vec![
            args.topology.to_string(),
            args.pattern.clone(),
            args.flits.to_string(),
            format!("{load:.2}"),
            u8::from(measured.stable).to_string(),
            format!("{:.5}", measured.accepted),
            latency(measured.packet_latency),
            latency(measured.network_latency),
            format!("{:.5}", measured.routers),
        ]);
        if measured.stable {
            points.push((load, measured.packet_latency));
        } else {
            unstable += 1;
        }
        if unstable == 2 {
            break;
        }
    }
    let header = ["topology", "pattern", "flits", "load", "stable", "accepted", "packet_latency", "network_latency", "routers"];
    let table = csv::table(&header, &rows);
    let plot = Plot {
        title: format!("{} {}, packets of {}", args.topology, args.pattern, args.flits),
        x: "load [flits per source and cycle]".into(),
        y: "mean packet latency [cycles]".into(),
        form: PlotForm::Lines,
        series: vec![Series { name: args.pattern.clone(), points }],
    };
    let drawn = |error: PictureError| Failure::new(Exit::Internal, error.to_string());
    let files = [ResultFile::new("sweep.csv", table.clone()), ResultFile::new("latency-load.svg", plot.svg().map_err(drawn)?)];
    output::print(&table)?;
    let folder = destination.write(&files)?;
    output::print(&format!("\nResults in {}\n", folder.display()))?;
    Ok(Exit::Ok)
}
