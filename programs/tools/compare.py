"""Compares programs of the suite with the benchmarks that they are based on, if the benchmarks' sources are available.

Usage: python3 compare.py WARPSHARD SOURCES [PROGRAM ...], with the path of the program warpshard, the folder of the suites' sources
(rodinia/3.1/cuda, parboil/benchmarks, polybench-gpu-1.0/CUDA, cuda-samples) and, if not all are wanted, names such as rodinia/lud.
It has the requirements of `warpshard compile`. compare.toml lists the source and the arguments of each program. The device code of the source is
compiled for sm_70 and executed with the program's buffers; the table goes to the standard output, with a star where a result differs."""
import os, re, subprocess, sys, tempfile, tomllib

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMPILER = os.path.join(HERE, "../crates/program/src/compile.py")
GROUPS = [("FP", r"[FDH](ADD|MUL|FMA|MNMX|SETP|SET|SEL|CHK)|HADD2|HMUL2|HFMA2|MUFU"), ("memory", r"LD|ST|ATOM|RED"),
          ("control", r"BRA|EXIT|BSSY|BSYNC|BAR|CALL|RET|NOP|WARPSYNC|YIELD|BREAK|BMOV|BRX")]

def device_code(text):
    """Returns the definitions of macros, types, constants and device functions, without includes and host code."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text).replace("\r", "")
    out, item, depth = [], [], 0
    for line in text.split("\n"):
        directive = line.lstrip().startswith("#")
        if directive and depth == 0 and not item or item and item[-1].lstrip().startswith("#") and item[-1].endswith("\\"):
            item.append(line)
            if not line.endswith("\\"):
                if not re.match(r"\s*#\s*include", item[0]):
                    out.extend(item)
                item = []
            continue
        if not line.strip() and not item:
            continue
        item.append(line)
        depth += line.count("{") - line.count("}")
        if depth <= 0 and (line.rstrip().endswith(("}", ";", "};")) or "}" in line):
            whole, depth = "\n".join(item), 0
            head = whole.split("{")[0]
            if re.search(r"__global__|__device__|__constant__|__shared__|\bstruct\b|\btypedef\b|\btemplate\b", head) and "<<<" not in whole:
                out.append(whole)
            item = []
    return "\n".join(out)

def whole_code(text):
    """Returns a source without its includes."""
    return re.sub(r"^[ \t]*#[ \t]*include.*$", "", text, flags=re.M)

def compiled(text, folder, options=()):
    source, listing = os.path.join(folder, "original.cu"), os.path.join(folder, "original.sass")
    open(source, "w").write(text)
    done = subprocess.run([sys.executable, COMPILER, source, "sm_70", listing, *options], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[0] if done.stderr.strip() else "it cannot be compiled")
    return open(listing).read()

def kernels(listing):
    """Returns the text of every kernel of a listing."""
    parts = re.split(r"^kernel ", listing, flags=re.M)
    return parts[0], {part.split("\n")[0].strip(): "kernel " + part for part in parts[1:]}

def find(kernels, name):
    return next((known for known in kernels if known == name or known.startswith(f"_Z{len(name)}{name}")), None)

def facts(part):
    number = lambda key: int(re.search(rf"^{key} (\d+)", part, re.M).group(1))
    return number("registers"), number("shared"), sum(1 for line in part.split("code\n")[1].split("\nend")[0].splitlines() if line.strip())

def executed(warpshard, file, settings):
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    done = subprocess.run([warpshard, "exec", file, "--arch", "sm_70", "--mix", "200", *options], capture_output=True, text=True)
    if done.returncode not in (0, 4) or "crc32" not in done.stdout:
        raise RuntimeError(" ".join(done.stderr.split())[:200])
    found = {}
    for name, body in re.findall(r"^(\S+): \d+ launch\w*\n((?:  .*\n)+)", done.stdout, re.M):
        total = int(re.search(r"warp instructions +([\d,]+)", body).group(1).replace(",", ""))
        access = [re.search(rf"accesses of {kind} memory +[\d,]+ +([\d.]+)", body) for kind in ("device", "shared")]
        shares = []
        for _, pattern in GROUPS:
            rows = re.findall(r"^    (\S+) +([\d,]+) ", body, re.M)
            shares.append(sum(int(count.replace(",", "")) for opcode, count in rows if re.match(rf"(?:{pattern})", opcode)) * 100 // max(total, 1))
        found[name] = (total, *[match.group(1) if match else "-" for match in access], *shares)
    return found, re.findall(r"crc32 (\w+)", done.stdout)

def substitute(launches, names):
    """Returns the launches with the original's kernels and arguments; launches of other kernels stay unchanged."""
    for launch in launches:
        if "sequence" in launch:
            substitute(launch["sequence"], names)
        elif launch["kernel"] in names:
            kernel, arguments = names[launch["kernel"]][0], names[launch["kernel"]][1:]
            # An argument is the number of one of our arguments, or literal text.
            launch["arguments"] = [launch["arguments"][int(text[1:])] if re.fullmatch(r"\$\d+", str(text)) else text for text in arguments]
            launch["kernel"] = kernel

def toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return '"' + value + '"' if isinstance(value, str) else repr(value)

def compare(warpshard, sources, name, pair):
    own = os.path.join(HERE, name + ".toml")
    launch = tomllib.load(open(own, "rb"))
    mine_head, mine = kernels(open(os.path.join(os.path.dirname(own), launch["modules"]["sm_70"])).read())
    text = "\n".join(open(os.path.join(sources, file), errors="replace").read() for file in pair["sources"])
    text = pair.get("before", "") + "\n" + (whole_code if pair.get("whole") else device_code)(text)
    for old, new in pair.get("replace", []):
        if not re.search(old, text):
            raise RuntimeError(f"`{old}` is not in the source")
        text = re.sub(old, new, text)
    with tempfile.TemporaryDirectory() as folder:
        listing = compiled(text, folder, pair.get("options", ()))
        head, theirs = kernels(listing)
        names = {}
        for kernel, (original, *arguments) in pair["kernels"].items():
            known = find(theirs, original)
            if known is None:
                raise RuntimeError(f"there is no kernel {original}, only {', '.join(theirs)}")
            names[kernel] = [known, *arguments]
        with open(os.path.join(folder, "both.sass"), "w") as file:
            file.write(head + "".join(theirs.values()) + "".join(text for kernel, text in mine.items() if kernel not in theirs))
        launch["modules"] = {"sm_70": os.path.join(folder, "both.sass")}
        if "symbols" in launch:
            launch["symbols"] = {pair.get("symbols", {}).get(key, key): value for key, value in launch["symbols"].items()}
        launch.get("buffers", {}).update(pair.get("buffers", {}))
        substitute(launch["launches"], names)
        path = os.path.join(folder, "original.toml")
        with open(path, "w") as file:
            file.write("\n".join(f"{key} = {toml(value)}" for key, value in launch.items()) + "\n")
        ours, results = executed(warpshard, own, pair.get("set", {}))
        original, theirs_results = executed(warpshard, path, pair.get("set", {}))
    for kernel, (known, *_) in names.items():
        a, b = facts(mine[kernel]) + ours[kernel], facts(theirs[known]) + original[known]
        cells = [f"{x:,} / {y:,}" if isinstance(x, int) else f"{x} / {y}" for x, y in zip(a, b)]
        print(f"| {name} | {kernel}{'' if results == theirs_results else ' *'} | " + " | ".join(cells) + " |", flush=True)

def main():
    warpshard, sources, wanted = sys.argv[1], sys.argv[2], sys.argv[3:]
    pairs = tomllib.load(open(os.path.join(HERE, "tools/compare.toml"), "rb"))
    print("| program | kernel | registers | shared bytes | instructions | executed by warps | sectors per access | passes per access | FP % | memory % | control % |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, pair in pairs.items():
        if not wanted or name in wanted:
            try:
                compare(warpshard, sources, name, pair)
            except (RuntimeError, OSError, KeyError) as error:
                print(f"| {name} | {type(error).__name__}: {error} |", flush=True)

if __name__ == "__main__":
    main()
