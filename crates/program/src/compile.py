"""Compiles CUDA C to a program listing of warpshard: NVRTC compiles a cubin, nvdisasm disassembles it, and this script writes the listing.

Arguments: source file (.cu or .cubin), architecture (sm_70), output file, then options for NVRTC, `--kernel=NAME` for each requested
instance of a template, and `--text=FILE` with the text to compile instead of the source's. With `--folders` alone it prints the header folders of
Python packages, one per line. Exit status 3: a tool is missing."""
import ctypes, glob, hashlib, os, re, struct, subprocess, sys, tempfile, site, sysconfig

def missing(what):
    print(f"{what} was not found. Install it with\n"
          "  python3 -m pip install nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-runtime-cu12 triton==3.3.1", file=sys.stderr)
    sys.exit(3)

def find(pattern):
    folders = [sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"], site.getusersitepackages(), *sys.path]
    for folder in folders:
        found = sorted(glob.glob(os.path.join(folder or ".", pattern)))
        if found:
            return found[0]
    return None

def folders():
    found = [find(f"nvidia/{name}/include") for name in ("cuda_cccl", "cuda_runtime", "cuda_nvcc", "curand", "cublas", "cufft")]
    return [folder for folder in found if folder]

def cubin_of(source, arch, options):
    library = find("nvidia/cuda_nvrtc/lib/libnvrtc.so.12") or missing("NVRTC (nvidia-cuda-nvrtc-cu12)")
    builtins = find("nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12*")
    if builtins:
        ctypes.CDLL(builtins, mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(library)
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    arguments = [f"--gpu-architecture={arch}", *options, *("-I" + folder for folder in folders())]
    arguments.append("-I" + (os.path.dirname(os.path.abspath(source))))
    given = [argument[7:] for argument in arguments if argument.startswith("--text=")]
    arguments = [argument for argument in arguments if not argument.startswith("--text=")]
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    with open(given[0] if given else source, "rb") as file:
        text = file.read()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, os.path.basename(source).encode(), 0, None, None)
    for argument in arguments:
        if argument.startswith("--kernel="):
            nvrtc.nvrtcAddNameExpression(program, argument[9:].encode())
    encoded = [argument.encode() for argument in arguments if not argument.startswith("--kernel=")]
    status = nvrtc.nvrtcCompileProgram(program, len(encoded), (ctypes.c_char_p * len(encoded))(*encoded))
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    lines = [line for line in log.value.decode(errors="replace").splitlines() if line and "deprecated" not in line]
    if lines:
        print("\n".join(lines), file=sys.stderr)
    if status:
        sys.exit(1)
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    instances = []
    for argument in arguments:
        if argument.startswith("--kernel="):
            name = ctypes.c_char_p()
            if nvrtc.nvrtcGetLoweredName(program, argument[9:].encode(), ctypes.byref(name)) == 0 and name.value:
                instances.append((name.value.decode(), argument[9:]))
    return cubin.raw, instances, f"NVRTC {major.value}.{minor.value}"

class Elf:
    def __init__(self, data):
        self.data = data
        if data[:4] != b"\x7fELF":
            print("the file is not a cubin: it does not start with the ELF magic bytes", file=sys.stderr)
            sys.exit(1)
        start, = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3a)
        raw = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]
        keys = ("name", "type", "flags", "addr", "offset", "size", "link", "info", "align", "entsize")
        self.sections = [dict(zip(keys, values)) for values in raw]
        for section in self.sections:
            section["name"] = self.string(self.sections[names], section["name"])
        table = self.named(".symtab")
        self.symbols = []
        if table:
            strings = self.sections[table["link"]]
            for at in range(table["offset"], table["offset"] + table["size"], 24):
                name, info, other, index, value, size = struct.unpack_from("<IBBHQQ", data, at)
                self.symbols.append(dict(name=self.string(strings, name), info=info, section=index, value=value, size=size))

    def string(self, section, at):
        start = section["offset"] + at
        return self.data[start:self.data.index(b"\0", start)].decode()

    def named(self, name):
        return next((s for s in self.sections if s["name"] == name), None)

    def bytes(self, section):
        return b"\0" * section["size"] if section["type"] == 8 else self.data[section["offset"]:section["offset"] + section["size"]]

    def attributes(self, name):
        section = self.named(name)
        data, at = (self.bytes(section), 0) if section else (b"", 0)
        while at + 4 <= len(data):
            form, kind, value = data[at], data[at + 1], struct.unpack_from("<H", data, at + 2)[0]
            at += 4
            if form == 4:
                yield kind, data[at:at + value]
                at += value
            else:
                yield kind, value

def kernel_facts(elf, kernel):
    text = elf.named(".text." + kernel)
    shared = elf.named(".nv.shared." + kernel)
    base, size, parameters, stack, cluster = 0, 0, [], 0, None
    # Since sm_90 cubins contain the number only as an attribute.
    registers = text["info"] >> 24
    index = next(i for i, s in enumerate(elf.symbols) if s["name"] == kernel and s["info"] & 15 == 2)
    for kind, value in elf.attributes(".nv.info." + kernel):
        if kind == 0x0a:
            _, base, size = struct.unpack("<IHH", value)
        elif kind == 0x3d:
            cluster = struct.unpack_from("<III", value)
        elif kind == 0x17:
            _, ordinal, offset, packed = struct.unpack("<IHHI", value)
            parameters.append((ordinal, offset, packed >> 18))
    for kind, value in elf.attributes(".nv.info"):
        if kind in (0x11, 0x23) and struct.unpack_from("<I", value)[0] == index:
            stack = max(stack, struct.unpack_from("<I", value, 4)[0])
        elif kind == 0x2f and struct.unpack_from("<I", value)[0] == index:
            registers = struct.unpack_from("<I", value, 4)[0]
    return dict(registers=registers, barriers=text["flags"] >> 20 & 0x7f, shared=shared["size"] if shared else 0,
                base=base, size=size, parameters=sorted(parameters), stack=stack, cluster=cluster)

def listing(cubin, arch, source, compiler, options, instances):
    tool = find("triton/backends/nvidia/bin/nvdisasm") or missing("nvdisasm (triton)")
    elf = Elf(cubin)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        lines = ["-g"] if "--generate-line-info" in options else []
        done = subprocess.run([tool, "-hex", "-c", *lines, file.name], capture_output=True, text=True)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            sys.exit(1)
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    release = re.search(r"release ([0-9.]+)", version)
    out = ["warpshard listing 1", f"arch {arch}", f"source {os.path.basename(source)} sha256 {hashlib.sha256(open(source, 'rb').read()).hexdigest()}",
           f"compiler {compiler}", f"disassembler nvdisasm {release.group(1) if release else 'unknown'}"]
    options = [option for option in options if not option.startswith(("--text=", "-I"))]
    if options:
        out.append("options " + " ".join(options))
    out += [f"instance {name} {expression}" for name, expression in instances]
    # Variables in device memory, and constant banks of the module.
    for symbol in elf.symbols:
        if symbol["info"] & 15 != 1 or symbol["section"] >= len(elf.sections):
            continue
        section = elf.sections[symbol["section"]]
        at = symbol["value"] - section["addr"]
        if section["name"] == ".nv.global":
            out.append(f"global {symbol['name']} {symbol['size']} zero")
        elif section["name"] == ".nv.global.init":
            out.append(f"global {symbol['name']} {symbol['size']} {elf.bytes(section)[at:at + symbol['size']].hex()}")
        elif section["name"].startswith(".nv.constant"):
            out.append(f"symbol {symbol['name']} {section['name'][12:].split('.')[0]} {at:#x} {symbol['size']}")
    for section in elf.sections:
        found = re.fullmatch(r"\.nv\.constant(\d+)", section["name"])
        if found:
            out.append(f"constant {found.group(1)} {elf.bytes(section).hex()}")
        found = re.fullmatch(r"\.rela?\.nv\.constant(\d+)", section["name"])
        if found:
            for at in range(section["offset"], section["offset"] + section["size"], section["entsize"]):
                offset, info = struct.unpack_from("<QQ", cubin, at)
                name = elf.symbols[info >> 32]["name"]
                if name:
                    out.append(f"address {found.group(1)} {offset:#x} {name}")
    for kernel, lines in functions(done.stdout, os.path.basename(source)).items():
        facts = kernel_facts(elf, kernel)
        out += ["", f"kernel {kernel}", f"registers {facts['registers']}", f"shared {facts['shared']}", f"local {facts['stack']}",
                f"barriers {facts['barriers']}",
                f"parameters {facts['base']:#x} {facts['size']} " + " ".join(f"{offset}:{size}" for _, offset, size in facts["parameters"])]
        if facts["cluster"]:
            out.append("cluster " + " ".join(map(str, facts["cluster"])))
        for section in elf.sections:
            found = re.fullmatch(r"\.nv\.constant(\d+)\." + re.escape(kernel), section["name"])
            if found and found.group(1) != "0":
                out.append(f"constant {found.group(1)} {elf.bytes(section).hex()}")
        out += ["code"] + lines + ["end"]
    return "\n".join(out) + "\n"

def functions(text, source):
    """Returns the instructions of each kernel, with labels replaced by `->` and their address, and with `@` and the source line if it is known."""
    kernels, labels, kernel, pending, waiting, at_line = {}, {}, None, [], None, ""
    for line in text.splitlines():
        found = re.match(r"\s*\.section\s+\.text\.([^,]+),", line)
        if found:
            kernel = found.group(1)
            kernels[kernel], labels[kernel], at_line = [], {}, ""
            continue
        if kernel is None:
            continue
        found = re.match(r'\s*//## File "([^"]*)", line (\d+)', line)
        if found:
            at_line = f" @{found.group(2)}" if os.path.basename(found.group(1)) == source else ""
            continue
        found = re.match(r"\s*([.$\w]+):\s*$", line)
        if found:
            pending.append(found.group(1))
            continue
        found = re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?);\s*(?:\(\*.*?\*\)\s*)?/\* 0x([0-9a-f]{16}) \*/", line)
        if found:
            at, instruction, low = int(found.group(1), 16), found.group(2), found.group(3)
            for label in pending:
                labels[kernel][label] = at
            pending, waiting = [], (at, re.sub(r"\s+", " ", re.sub(r"\(\*.*?\*\)", "", instruction)).strip(), low)
            continue
        found = re.match(r"\s*/\* 0x([0-9a-f]{16}) \*/", line)
        if found and waiting:
            at, instruction, low = waiting
            kernels[kernel].append((at, instruction, low, found.group(1) + at_line))
            waiting = None
    out = {}
    for kernel, lines in kernels.items():
        places = labels[kernel]
        def place(match):
            name = match.group(1)
            if name in places:
                return f"->{places[name]:#x}"
            return "->0x0" if name == kernel else match.group(0)
        out[kernel] = []
        for at, instruction, low, high in lines:
            instruction = re.sub(r"`\(([^()]+)\)", place, instruction)
            instruction = re.sub(r"32@(lo|hi)\(\((\S+) \+ (\S+)@srel\)\)", lambda m: hex(places.get(m.group(3), 0)) if m.group(1) == "lo" else "0x0", instruction)
            out[kernel].append(f"{at:04x}: {instruction} ; {low} {high}")
        while len(out[kernel]) > 1 and re.match(r"\w+: NOP ;", out[kernel][-1]):
            out[kernel].pop()
    return out

def main():
    if sys.argv[1:] == ["--folders"]:
        print("\n".join(folders()))
        return
    source, arch, output, options = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    if source.endswith(".cubin"):
        with open(source, "rb") as file:
            cubin, instances, compiler = file.read(), [], "unknown (a cubin)"
    else:
        cubin, instances, compiler = cubin_of(source, arch, options)
    text = listing(cubin, arch, source, compiler, options, instances)
    with open(output, "w") as file:
        file.write(text)

if __name__ == "__main__":
    main()
