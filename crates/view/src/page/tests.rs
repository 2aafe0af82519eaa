//! Pages of a run with all result files, and of runs with few result files.

use std::fs;

use super::super::RunFolder;
use super::super::sample::write;
use super::page;

#[test]
fn a_page_has_all_pictures_and_no_external_resources() {
    let folder = tempfile::tempdir().unwrap();
    let run = write(folder.path(), 30, 50);
    fs::write(folder.path().join("power.csv"), "cycle,joules,watts,dram_watts,llc_watts\n150,1,10,4,6\n300,1,10,4,6\n").unwrap();
    let timeline = "cycle,controller,sm,name,value,reason\n5,perf,,limit,3,low\n9,perf,2,signal,-1.5,\n12,perf,2,signal,2,\n";
    fs::write(folder.path().join("timeline.csv"), timeline).unwrap();
    let page = page(&run).unwrap();
    for title in [
        "&lt;b&gt;two on tiny",
        "Kernels over time",
        "Scheduler cycles by state",
        "Warp cycles by state",
        "long scoreboard</",
        "Scheduler cycles over time",
        "IPC over time",
        "Occupancy over time",
        "DRAM bandwidth over time",
        "Networks over time",
        "DRAM channels",
        "Energy by component",
        "Power over time",
        "Instructions issued",
        "perf: limit",
        "Reasons",
        "a note (3 times)",
        "An instruction was issued.",
        "was cut off (max cycles)",
    ] {
        assert!(page.contains(title), "{title} is missing");
    }
    let figures = page.matches("<figure>").count();
    assert_eq!(page.matches("<summary>Numbers</summary>").count(), figures);
    assert!(figures >= 13 && !page.contains("<script") && !page.contains("<b>two"), "{figures}");
    for outside in ["src=", "url(", "@import", "<link", "http"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(!page.contains("NaN") && !page.contains(">inf"), "a number is none");
}

#[test]
fn columns_are_cut_or_zero_filled_to_the_number_of_ids() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 3, 5);
    let file = folder.path().join("stats.json");
    let text = fs::read_to_string(&file).unwrap();
    for (from, to) in [
        ("\"writes\":[1,0]", "\"writes\":[1]"),
        ("\"id\":[0,1]", "\"id\":[0,1,2]"),
        ("\"row_hits\":[1,2]", "\"row_hits\":[]"),
        ("\"issued\":[0,1,", "\"issued\":["),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        fs::write(&file, changed).unwrap();
        let page = page(&RunFolder::read(folder.path()).unwrap()).unwrap();
        assert!(page.contains("DRAM channels") && page.contains("Instructions issued"), "{to}");
    }
}

#[test]
fn a_run_of_ten_thousand_kernels_and_a_hundred_thousand_intervals_has_a_small_page() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(&write(folder.path(), 10_000, 100_000)).unwrap();
    assert!(page.len() < 2 << 20, "{} bytes", page.len());
    assert!(page.contains("The table lists the 300 longest of 10,000 launches."));
}

#[test]
fn a_page_without_intervals_names_the_option() {
    let folder = tempfile::tempdir().unwrap();
    let run = write(folder.path(), 2, 0);
    fs::write(folder.path().join("intervals.csv"), "cycle\n").unwrap();
    assert!(page(&run).unwrap().contains("add --interval N"));
    fs::write(folder.path().join("intervals.csv"), "cycle,a\n1,x\n").unwrap();
    assert!(page(&run).unwrap_err().to_string().contains("intervals.csv: line 2"));
}

#[test]
fn rates_of_a_page_cover_the_time_in_which_channels_counted() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 30, 3);
    // The last kernel ends at 300, and CPU cores keep the run going up to 1,200: 6 bursts of 32 bytes in 1.2 us, of 32 GB/s.
    let path = folder.path().join("stats.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"counted_until\":300", "\"counted_until\":1200")).unwrap();
    let page = page(&RunFolder::read(folder.path()).unwrap()).unwrap();
    assert!(page.contains("0.5 % of peak bandwidth") && !page.contains("2.0 % of peak"), "DRAM: {page}");
    // Channel 0 has half of the bursts and of the peak.
    assert!(page.contains("80.0 MB/s") && page.contains(">0.5 %<"), "channels: {page}");
}
