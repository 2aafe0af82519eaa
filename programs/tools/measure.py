"""Measures your GPU with the programs of the suite, through the CUDA driver (libcuda.so.1) and NVRTC; needs Python 3.11 and no toolkit.

  python3 measure.py micro --out micro.json           microbenchmarks, for `study micro --reference FOLDER` and `warpshard calibrate`
  python3 measure.py suite --out suite-time.csv       microseconds and results of the suite's programs
  python3 measure.py compile FOLDER --arch sm_90      only compile, on a host with NVRTC; then measure on the GPU's host with --cubins FOLDER

NVRTC: python3 -m pip install nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-runtime-cu12

`micro` runs the rows of validate/reference/micro-programs.toml: every program with two lengths. Programs of one CTA are timed by the
kernel's clocks; other programs by the driver's events, with a --longer times larger difference of the lengths. `suite` runs each launch file with its
default parameters or the values of --set, and compares the outputs' CRC-32 with functional execution."""
import argparse, csv, glob, itertools, json, os, statistics, sys, tomllib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from launching import HERE, Driver, Execution, Failure, Launch, cubin

MANIFEST = os.path.join(HERE, "../validate/reference/micro-programs.toml")
# Device attributes, by the names of the measurements.
PROPERTIES = {"sms": 16, "core_khz": 13, "memory_khz": 36, "bus": 37, "l2": 38, "shared_sm": 81, "regs_sm": 82, "threads_sm": 39}

def note(text):
    print(text, file=sys.stderr, flush=True)

def programs(wanted):
    """Returns the launch files of the suite whose names contain one of the texts."""
    found = []
    for path in sorted(glob.glob(os.path.join(HERE, "**/*.toml"), recursive=True)):
        name = os.path.relpath(path, HERE)[:-5].replace(os.sep, "/")
        with open(path, "rb") as file:
            launches = "launches" in tomllib.load(file)
        if launches and (not wanted or any(one in name for one in wanted)):
            found.append((name, path))
    if not found:
        raise Failure(f"no launch file below {HERE} is called like {', '.join(wanted)}")
    return found

def rows(full, wanted):
    """Returns the rows of the manifest: key, launch file, parameters of the two runs, and the group."""
    with open(MANIFEST, "rb") as file:
        groups = tomllib.load(file)["group"]
    for group in groups:
        if group.get("full") and not full:
            continue
        each = group.get("each", {})
        words = [[(name, word, value) for word, value in (values.items() if isinstance(values, dict) else ((str(value), value) for value in values))]
                 for name, values in each.items()]
        if any(name not in each for name in group.get("also", {})):
            continue
        for chosen in itertools.product(*words):
            key, parameters = group["key"], dict(group.get("set", {}))
            for name, word, value in chosen:
                key, parameters[name] = key.replace("{" + name + "}", word), value
            if not wanted or any(one in key for one in wanted):
                yield key, os.path.join(HERE, "micro", group["program"] + ".toml"), parameters, group

def amount_of(group, names):
    product = 1
    for factor in group["amount"]:
        product *= int(factor) if factor.isdigit() else names[factor]
    return product

def median_of(driver, path, parameters, options, by_clock):
    """Returns the median time of a run with these parameters, in cycles of its clocks or in microseconds of events."""
    launch = Launch(path, parameters)
    with Execution(driver, launch, cubin(launch.source(), driver.arch, options.cubins)) as execution:
        execution.reset()
        times = []
        for _ in range(options.repeat + 1):
            time = execution.microseconds(execution.timed)
            times.append(execution.clocks() if by_clock else time)
        # The first run fetched the code and does not count.
        return statistics.median(times[1:])

def value_of(driver, path, parameters, group, options):
    """Returns the values of a row by key: one value, or two for a row with a `minus` key."""
    by_clock = group["quantity"] in ("cycles", "rate")
    short, long = group["short"], group["long"]
    if not by_clock and "minus" not in group:
        # Buffers of gigabytes are not allocated.
        long = short + (long - short) * min(options.longer, 8 if group["length"] == "bytes" else options.longer)
    runs = [parameters | {group["length"]: length} for length in (short, long)]
    first, second = (median_of(driver, path, run, options, by_clock) for run in runs)
    if "minus" in group:
        return [(group["minus"], first), (None, second)]
    if second <= first:
        raise Failure(f"the longer run takes {second}, no more than the {first} of the shorter one; --longer {2 * options.longer} makes it longer")
    each, amount = (second - first) / (long - short), amount_of(group, Launch(path, runs[1]).names)
    return [(None, {"cycles": each / amount, "rate": amount / each, "gbps": amount / each / 1000, "us": each * amount}[group["quantity"]])]

def nested(values):
    """Converts numbers by key to nested JSON with the same keys."""
    tree = {}
    for key, value in values.items():
        part, name = key.split(".", 1)
        tree.setdefault(part, {})[name] = value
    return tree

def micro(options):
    driver = Driver(options.device)
    values = {"device." + name: driver.attribute(number) for name, number in PROPERTIES.items()}
    failed = 0
    for key, path, parameters, group in rows(options.full, options.only):
        try:
            for name, value in value_of(driver, path, parameters, group, options):
                values[name or key] = value
                note(f"{name or key}: {value:.4g}")
        except Failure as error:
            failed += 1
            note(f"{key}: left out: {error}")
    write(options.out, json.dumps({"name": driver.name} | nested(values), indent=1) + "\n")
    if failed:
        note(f"{failed} left out")
    return 1 if failed else 0

def suite(options):
    driver = Driver(options.device)
    failed, table = 0, []
    for name, path in programs(options.only):
        try:
            launch = Launch(path)
            launch = Launch(path, {key: value for key, value in options.set if key in launch.names})
            why = launch.refusal()
            if why is None and driver.arch < launch.oldest():
                why = f"it needs sm_{launch.oldest()}, and {driver.name} has sm_{driver.arch}"
            if why:
                note(f"{name}: left out: {why}")
                continue
            with Execution(driver, launch, cubin(launch.source(), driver.arch, options.cubins)) as execution:
                totals, by_launch = [], []
                for _ in range(options.repeat):
                    execution.reset()
                    totals.append(execution.microseconds(execution.timed))
                    result = execution.equal()
                    execution.reset()
                    by_launch.append([execution.microseconds([one]) for one in execution.timed])
                size = "set" if launch.changed else "file"
                for i, (kernel, arguments, _) in enumerate(execution.timed):
                    times = [run[i] for run in by_launch]
                    grid, block = ("x".join(map(str, arguments[a:a + 3])) for a in (1, 4))
                    table.append([name, size, i, kernel, grid, block, f"{statistics.median(times):.3f}", f"{min(times):.3f}", ""])
                table.append([name, size, "all", len(execution.timed), "", "", f"{statistics.median(totals):.3f}", f"{min(totals):.3f}", result])
                note(f"{name}: {statistics.median(totals):.1f} us, results {result}")
                failed += result == "different"
        except Failure as error:
            failed += 1
            note(f"{name}: left out: {error}")
    head = ["program", "set", "launch", "kernel", "grid", "block", "median_us", "min_us", "result"]
    write(options.out, [head] + table)
    return 1 if failed else 0

def write(out, what):
    """Writes a text, or rows as comma-separated values, to a file or to the standard output."""
    with (sys.stdout if out == "-" else open(out, "w", newline="")) as file:
        file.write(what) if isinstance(what, str) else csv.writer(file, lineterminator="\n").writerows(what)

def compile_all(options):
    arch, failed = int(options.arch.removeprefix("sm_")), 0
    done = set()
    for name, path in programs(options.only):
        launch = Launch(path)
        if launch.refusal() or arch < launch.oldest() or launch.source() in done:
            continue
        done.add(launch.source())
        try:
            cubin(launch.source(), arch, options.cubins)
            note(f"{name}: compiled")
        except Failure as error:
            failed += 1
            note(f"{name}: {error}")
    return 1 if failed else 0

def setting(text):
    key, _, value = text.partition("=")
    return key, int(value)

def at_least_one(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("expected a number from 1 on")
    return value

def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in (("micro", "the key"), ("suite", "the program")):
        command = commands.add_parser(name)
        command.add_argument("--out", default="-", help="file; - is the standard output")
        command.add_argument("--only", action="append", default=[], metavar="TEXT", help=f"only where {what} contains the text; repeatable")
        command.add_argument("--cubins", metavar="FOLDER", help="keep cubins here, and use those that are there")
        command.add_argument("--device", type=int, default=0)
        command.add_argument("--repeat", type=at_least_one, default=5, help="medians of this many runs")
        if name == "micro":
            command.add_argument("--full", action="store_true", help="large buffers, too")
            command.add_argument("--longer", type=at_least_one, default=32, help="how much longer runs are that events measure")
        else:
            command.add_argument("--set", action="append", type=setting, default=[], metavar="KEY=VALUE", help="a parameter of the programs that have it")
    command = commands.add_parser("compile")
    command.add_argument("cubins", metavar="FOLDER")
    command.add_argument("--arch", required=True, metavar="sm_90")
    command.add_argument("--only", action="append", default=[], metavar="TEXT")
    options = parser.parse_args(arguments)
    try:
        return {"micro": micro, "suite": suite, "compile": compile_all}[options.command](options)
    except (Failure, OSError) as error:
        note(f"error: {error}")
        return 2

if __name__ == "__main__":
    sys.exit(main())
