"""Surveys the opcodes of compiled benchmarks that warpshard refuses.

Usage: python3 survey.py WARPSHARD SOURCES [--arch sm_70,sm_80] [--keep FOLDER], with the path of the program warpshard and a folder of CUDA sources.
It has the requirements of `warpshard compile`. The device code of every file is compiled by NVRTC; files that need a host or a library do not
compile and are counted. `warpshard check` lists the refused opcodes of each listing. The summary goes to the standard output."""
import collections, os, re, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COMPILER = os.path.join(HERE, "../../crates/program/src/compile.py")
sys.path.insert(0, HERE)
from compare import device_code

# Definitions from headers of the host or of CUDA's samples that NVRTC does not have.
PRELUDE = """typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t; typedef unsigned long long uint64_t;
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned int uint; typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned long ulong;
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e+308
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define M_PI 3.14159265358979323846
"""

def whole(path, seen):
    """Returns the text of a file, with included files of its folder expanded."""
    if os.path.realpath(path) in seen:
        return ""
    seen.add(os.path.realpath(path))
    text = open(path, errors="replace").read()
    def include(found):
        name = os.path.join(os.path.dirname(path), found.group(1))
        return "\n" + whole(name, seen) + "\n" if os.path.isfile(name) else ""
    return re.sub(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)".*$', include, text, flags=re.M)

def files(folder):
    for root, folders, names in os.walk(folder):
        folders.sort()
        yield from (os.path.join(root, name) for name in sorted(names) if name.endswith(".cu"))

def main():
    warpshard, sources, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    option = lambda name, otherwise: rest[rest.index(name) + 1] if name in rest else otherwise
    keep = option("--keep", None) or tempfile.mkdtemp()
    for arch in option("--arch", "sm_70,sm_75,sm_80,sm_86,sm_90").split(","):
        compiled, without, failed, kernels, refused, places = 0, 0, 0, 0, collections.Counter(), {}
        for number, path in enumerate(files(sources)):
            everything = whole(path, set())
            text = device_code(everything)
            if "__global__" not in text:
                without += 1
                continue
            # Instances of the templates that the host launches; template parameters of the host code become single precision.
            instances = sorted(set(re.findall(r"\b(\w+)\s*<([^<>;(){}]*)>\s*<<<", everything)))
            named = [f"--kernel={name}<{re.sub(chr(92) + 'bT' + chr(92) + 'b', 'float', of)}>" for name, of in instances]
            source, listing = os.path.join(keep, f"{number}.cu"), os.path.join(keep, f"{number}.{arch}.sass")
            if not os.path.exists(listing):
                open(source, "w").write(PRELUDE + text)
                for more in [named, []]:
                    options = ["-default-device", "-w", "-std=c++14", *more]
                    done = subprocess.run([sys.executable, COMPILER, source, arch, listing, *options], capture_output=True, text=True)
                    if not done.returncode or not more:
                        break
                if done.returncode:
                    failed += 1
                    continue
            here = sum(1 for line in open(listing) if line.startswith("kernel "))
            if here == 0:
                without += 1
                continue
            compiled += 1
            kernels += here
            done = subprocess.run([warpshard, "check", listing], capture_output=True, text=True)
            for opcode, times in re.findall(r"^  refused: (\S+) \((\d+)", done.stdout + done.stderr, re.M):
                refused[opcode] += int(times)
                places.setdefault(opcode, []).append(os.path.relpath(path, sources))
            if done.returncode and "refused" not in done.stdout + done.stderr:
                print(f"{arch} {os.path.relpath(path, sources)}: {done.stderr.strip()[:300]}")
        print(f"{arch}: {compiled} files compile, {kernels} kernels; {failed} do not compile, {without} have no kernel; refused: "
              + (", ".join(f"{opcode} {times}" for opcode, times in refused.most_common()) or "nothing"), flush=True)
        for opcode, where in places.items():
            print(f"  {opcode}: {', '.join(where[:6])}")

if __name__ == "__main__":
    main()
