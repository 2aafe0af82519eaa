"""Compiles and executes the public CUDA files of validate/reference/public/files.csv, and writes the numbers of successes.

Usage: python3 public.py WARPSHARD SOURCES [--python FILE] [--out FILE], with the path of the program warpshard and a folder that holds each repository in a
folder OWNER+NAME. A file counts as compiled if `warpshard exec` compiles one kernel of it for sm_90a, and as executed if that kernel then runs to its
end. A file that cannot be compiled alone is compiled through the including file named in launches.csv. The kernel is the one named in launches.csv, or the
file's first; it is launched with `--grid 2 --block 256 --fill 64`, or with the options in launches.csv. Files whose content differs from the listed one
are an error."""
import argparse, collections, csv, hashlib, os, re, shlex, subprocess, sys, tempfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../validate/reference/public")
# Include folders of each repository's build.
FOLDERS = {"NVIDIA/cuda-samples": ["Common"], "NVIDIA/cutlass": ["include", "tools/util/include", "examples/common"],
           "flashinfer-ai/flashinfer": ["include", "csrc"], "opendatahub-io/vllm": ["csrc"]}

def attempt(options, source, folders, entry, more):
    command = [options.warpshard, "exec", source, "--python", options.python, "--fast", "--fill", "64"]
    command += [word for folder in folders for word in ("-I", folder)] + (["--entry", entry] if entry else [])
    given = shlex.split(more)
    command += given if "--grid" in given else [*given, "--grid", "2"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return 1, "error: more than 300 seconds"
    return done.returncode, done.stderr

def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("warpshard")
    parser.add_argument("sources")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--out", default="public.csv")
    parser.add_argument("--only", default="", metavar="REGEX", help="only files whose path matches")
    options = parser.parse_args()
    options.warpshard = os.path.abspath(options.warpshard)
    launches = {row["path"]: row for row in csv.DictReader(open(os.path.join(HERE, "launches.csv")))}
    totals = collections.OrderedDict()
    rows = []
    for row in csv.DictReader(open(os.path.join(HERE, "files.csv"))):
        if not re.search(options.only, row["path"]):
            continue
        root = os.path.join(options.sources, row["repository"].replace("/", "+"))
        source = os.path.join(root, row["path"])
        if hashlib.sha256(open(source, "rb").read()).hexdigest() != row["sha256"]:
            sys.exit(f"{source} is not the file of the list: its SHA-256 differs")
        launch = launches.get(row["path"], {"entry": "", "options": "", "through": ""})
        if launch.get("through"):
            source = os.path.join(root, launch["through"])
        folders = [os.path.join(root, folder) for folder in FOLDERS.get(row["repository"], [])]
        entry = launch["entry"]
        status, said = attempt(options, source, folders, entry, launch["options"])
        found = re.search(r"the source has several kernels\n  found: ([^,\n]+)", said)
        if status and found:
            entry = found.group(1).split(" ")[0]
            status, said = attempt(options, source, folders, entry, launch["options"])
        errors = [line for line in said.splitlines() if re.search(r"(^|\W)error(\W|$)", line)]
        refused = [line for line in errors if "does not compile" not in line]
        compiled = status == 0 or not ("does not compile" in said or "is a template" in said or "has no kernel" in said)
        reason = "" if status == 0 else (refused or errors or ["?"])[0].replace(os.path.abspath(root) + "/", "").replace(root + "/", "")
        rows.append([row["repository"], row["path"], entry, int(compiled), int(status == 0), reason[:160]])
        total = totals.setdefault(row["repository"], [0, 0, 0])
        for place, value in enumerate((1, compiled, status == 0)):
            total[place] += value
        print(rows[-1], flush=True)
        for made in ("run.sm_90a.sass", "run.sm_90a.toml"):
            made = os.path.splitext(source)[0] + "." + made
            if os.path.exists(made):
                os.remove(made)
    with open(options.out, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["repository", "path", "entry", "compiles", "executes", "first error"])
        writer.writerows(rows)
    for name, (files, compiled, executed) in totals.items():
        print(f"{name}: {files} files, {compiled} compile, {executed} execute")
    print("all:", *(sum(total[place] for total in totals.values()) for place in range(3)))

if __name__ == "__main__":
    main()
