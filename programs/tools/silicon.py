"""Runs programs of the suite on a GPU, through the CUDA driver alone, and records results and times.

  python3 silicon.py prepare FOLDER sm_90 [PROGRAM ...]   where NVRTC is (see `warpshard compile`): cubins and facts of the programs
  python3 silicon.py run FOLDER [KEY=VALUE ...]           where the GPU is: needs Python 3.11 and the driver (libcuda.so.1), no toolkit

`run` executes every launch file with its sizes, or with those given for parameters of that name, and writes to the standard output, as
comma-separated values: program, whether the outputs have the CRC-32 of functional execution, launches, microseconds of the second of two
runs as the driver's events measure them, and core cycles at the clock that the driver states. Hashes of other sizes than the file's are not
compared. MUFU is approximate: where results of floating point differ, that may be why.
This script has not been run on hardware yet."""
import ast, ctypes, glob, importlib.util, json, math, os, struct, sys, tomllib, zlib

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FORMS = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "u64": "Q", "i64": "q", "f16": "e", "f32": "f", "f64": "d"}

class Random:
    """The generator of launch files (SplitMix64)."""
    def __init__(self, seed):
        self.state = seed & (1 << 64) - 1

    def next(self):
        self.state = self.state + 0x9e3779b97f4a7c15 & (1 << 64) - 1
        z = self.state
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & (1 << 64) - 1
        z = (z ^ z >> 27) * 0x94d049bb133111eb & (1 << 64) - 1
        return z ^ z >> 31

    def fraction(self):
        return (self.next() >> 11) / (1 << 53)

    def normal(self):
        while True:
            x, y = 2 * self.fraction() - 1, 2 * self.fraction() - 1
            square = x * x + y * y
            if 0 < square < 1:
                return x * math.sqrt(-2 * math.log(square) / square)

def divide(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

OPERATORS = {ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b, ast.Div: divide,
             ast.Mod: lambda a, b: a - b * divide(a, b), ast.LShift: lambda a, b: a << b, ast.RShift: lambda a, b: a >> b}
FUNCTIONS = {"min": min, "max": max, "hash": lambda a: Random(a).next() >> 33}

def number(value, names):
    """The value of a number or formula."""
    def of(node):
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -of(node.operand)
        if isinstance(node, ast.Call):
            return FUNCTIONS[node.func.id](*map(of, node.args))
        return names[node.id] if isinstance(node, ast.Name) else node.value
    return of(ast.parse(value.strip(), mode="eval").body) if isinstance(value, str) else value

def contents(row, count, names):
    """The bytes of a buffer."""
    form, what = FORMS[row["type"]], row.get("contents", {})
    whole = form not in "efd"
    if not what:
        return bytes(count * struct.calcsize(form))
    (kind, given), = what.items()
    if kind == "constant":
        values = [given] * count
    elif kind == "sequence":
        values = [given[0] + i * given[1] for i in range(count)]
    elif kind == "uniform":
        random = Random(given["seed"])
        values = [given["low"] + random.fraction() * (given["high"] - given["low"]) for _ in range(count)]
        values = [value // 1 for value in values] if whole else values
    elif kind == "normal":
        random = Random(given["seed"])
        values = [given["mean"] + random.normal() * given["deviation"] for _ in range(count)]
        values = [math.floor(value + 0.5) for value in values] if whole else values
    elif kind == "integer":
        random = Random(given["seed"])
        values = [given["low"] + (random.next() * (given["high"] - given["low"] + 1) >> 64) for _ in range(count)]
    elif kind in ("formula", "scaled"):
        text, scale = (given, 1) if kind == "formula" else given
        values = [number(text, names | {"i": i}) * scale for i in range(count)]
    elif kind == "values":
        values = given + [0] * (count - len(given))
    else:
        sys.exit(f"contents `{kind}` are not known to this script")
    bits = 8 * struct.calcsize(form)
    if whole:
        values = [int(value) & (1 << bits) - 1 for value in values]
        form = form.upper()
    return struct.pack(f"<{count}{form}", *values)

def prepare(folder, arch, wanted):
    spec = importlib.util.spec_from_file_location("compiler", os.path.join(HERE, "../crates/program/src/compile.py"))
    compiler = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(compiler)
    os.makedirs(folder, exist_ok=True)
    for file in sorted(glob.glob(os.path.join(HERE, "**/*.toml"), recursive=True)):
        name = os.path.relpath(file, HERE)[:-5]
        launch = tomllib.load(open(file, "rb"))
        if "modules" not in launch or wanted and name not in wanted:
            continue
        if "textures" in launch:
            print(f"{name} is left out: this script makes no texture objects", file=sys.stderr)
            continue
        if int(arch[3:]) < min(int(known[3:]) for known in launch["modules"]):
            print(f"{name} is left out: it needs a newer architecture", file=sys.stderr)
            continue
        source = os.path.join(os.path.dirname(file), next(iter(launch["modules"].values())).split(".")[0] + ".cu")
        cubin, _ = compiler.cubin_of(source, arch, [])
        elf = compiler.Elf(cubin)
        kernels = [section["name"][6:] for section in elf.sections if section["name"].startswith(".text.")]
        facts = {kernel: [size for _, _, size in compiler.kernel_facts(elf, kernel)["parameters"]] for kernel in kernels}
        target = os.path.join(folder, name.replace("/", "."))
        open(target + ".cubin", "wb").write(cubin)
        json.dump({"name": name, "launch": launch, "parameters": facts}, open(target + ".json", "w"))

class Driver:
    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        device, context, rate = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_int()
        self("cuInit", 0)
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuCtxCreate_v2", ctypes.byref(context), 0, device)
        self("cuDeviceGetAttribute", ctypes.byref(rate), 13, device)
        self.kilohertz = rate.value

    def __call__(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            sys.exit(f"{name} failed with status {status}")

    def allocate(self, data):
        address = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(len(data), 1)))
        return address

def flat(rows, names):
    """Launches in order with the values that formulas see; those of the setup first."""
    found = []
    def walk(rows, names):
        for row in rows:
            for i in range(number(row.get("repeat", 1), names)):
                inner = names | {row.get("index", "i"): i} if "repeat" in row else names
                if "sequence" in row:
                    walk(row["sequence"], inner)
                else:
                    found.append((row, inner))
    walk(rows, names)
    return [entry for entry in found if entry[0].get("setup")], [entry for entry in found if not entry[0].get("setup")]

def execute(driver, launch, parameters, module, names):
    buffers, data = {}, {}
    for name, row in launch.get("buffers", {}).items():
        data[name] = contents(row, number(row["count"], names), names)
        buffers[name] = driver.allocate(data[name])
    for name, row in launch.get("symbols", {}).items():
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        driver("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), module, name.encode())
        values = contents(row, size.value // struct.calcsize(FORMS[row["type"]]), names)
        driver("cuMemcpyHtoD_v2", address, values, ctypes.c_size_t(len(values)))
    def argument(value, size, names):
        if isinstance(value, list):
            # A struct: addresses of 8 bytes, numbers of 4.
            whole = b""
            for part in value:
                wide = 8 if isinstance(part, str) and part.startswith("&") else 4
                whole += bytes(-len(whole) % wide) + bytes(argument(part, wide, names))
            return (ctypes.c_uint8 * size).from_buffer_copy(whole.ljust(size, b"\0"))
        if isinstance(value, str) and value.startswith("&"):
            name, _, offset = value[1:].partition("+")
            value = buffers[name.strip()].value + (number(offset, names) if offset else 0)
        elif isinstance(value, float):
            return ctypes.c_float(value) if size == 4 else ctypes.c_double(value)
        return {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}[size](number(value, names))
    def start(rows):
        for row, names in rows:
            function = ctypes.c_void_p()
            driver("cuModuleGetFunction", ctypes.byref(function), module, row["kernel"].encode())
            sizes = [[number(value, names) for value in row[key]] + [1, 1] for key in ("grid", "block")]
            values = [argument(value, size, names) for value, size in zip(row["arguments"], parameters[row["kernel"]])]
            pointers = (ctypes.c_void_p * max(len(values), 1))(*[ctypes.addressof(value) for value in values])
            shared = number(row.get("shared", 0), names)
            driver("cuLaunchKernel", function, *sizes[0][:3], *sizes[1][:3], shared, None, pointers, None)
    setup, timed = flat(launch["launches"], names)
    for _ in range(2):
        for name, values in data.items():
            driver("cuMemcpyHtoD_v2", buffers[name], values, ctypes.c_size_t(len(values)))
        start(setup)
        driver("cuCtxSynchronize")
        begin, end, elapsed = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
        for event in (begin, end):
            driver("cuEventCreate", ctypes.byref(event), 0)
        driver("cuEventRecord", begin, None)
        start(timed)
        driver("cuEventRecord", end, None)
        driver("cuCtxSynchronize")
        driver("cuEventElapsedTime", ctypes.byref(elapsed), begin, end)
    same = True
    for output in launch.get("outputs", []):
        result = ctypes.create_string_buffer(len(data[output["buffer"]]))
        driver("cuMemcpyDtoH_v2", result, buffers[output["buffer"]], ctypes.c_size_t(len(result)))
        same &= zlib.crc32(result.raw) == int(output["crc32"], 16) if "crc32" in output else True
    for address in buffers.values():
        driver("cuMemFree_v2", address)
    return same, len(timed), elapsed.value * 1000

def run(folder, settings):
    driver = Driver()
    print("program,results,launches,microseconds,cycles")
    for file in sorted(glob.glob(os.path.join(folder, "*.json"))):
        facts = json.load(open(file))
        module = ctypes.c_void_p()
        driver("cuModuleLoadData", ctypes.byref(module), open(file[:-5] + ".cubin", "rb").read())
        own = facts["launch"].get("parameters", {})
        changed = {key: value for key, value in settings.items() if key in own and own[key] != value}
        same, launches, time = execute(driver, facts["launch"], facts["parameters"], module, own | changed)
        results = "not compared" if changed else "equal" if same else "different"
        print(f"{facts['name']},{results},{launches},{time:.3f},{time * driver.kilohertz / 1000:.0f}", flush=True)
        driver("cuModuleUnload", module)

if len(sys.argv) > 3 and sys.argv[1] == "prepare":
    prepare(sys.argv[2], sys.argv[3], sys.argv[4:])
elif len(sys.argv) > 2 and sys.argv[1] == "run":
    run(sys.argv[2], {key: int(value) for key, value in (pair.split("=") for pair in sys.argv[3:])})
else:
    sys.exit(__doc__)
