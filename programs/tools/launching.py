"""Launch files for scripts: evaluates their formulas and buffers, compiles their sources to cubins with NVRTC, and launches them on a GPU through the
CUDA driver (libcuda.so.1). `measure.py` uses it; docs/programs.md describes launch files. Needs Python 3.11 and no toolkit."""
import ast, ctypes, importlib.util, math, os, struct, subprocess, sys, tomllib, zlib

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

class Failure(Exception):
    """An error for the user: problem, location, and remedy."""

FORMS = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "u64": "Q", "i64": "q", "f16": "e", "f32": "f", "f64": "d"}

class Random:
    """The random generator of launch files (SplitMix64)."""
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
    """Evaluates a number or formula."""
    def of(node):
        if isinstance(node, ast.Name) and node.id not in names:
            raise Failure(f"formula `{value}`: no parameter is called `{node.id}`, only {', '.join(names) or 'none'}")
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -of(node.operand)
        if isinstance(node, ast.Call):
            return FUNCTIONS[node.func.id](*map(of, node.args))
        return names[node.id] if isinstance(node, ast.Name) else node.value
    return of(ast.parse(value.strip(), mode="eval").body) if isinstance(value, str) else value

def contents(row, count, names, folder="."):
    """Returns the initial bytes of a buffer; `folder` is the launch file's folder."""
    brain = row["type"] == "bf16"
    form, what = "f" if brain else FORMS[row["type"]], row.get("contents", {})
    whole = form not in "efd"
    if not what:
        return bytes(count * (2 if brain else struct.calcsize(form)))
    (kind, given), = what.items()
    if kind == "constant" and count > 1:
        return contents(row, 1, names, folder) * count
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
    elif kind == "file":
        with open(os.path.join(folder, given), "rb") as file:
            return file.read()
    else:
        raise Failure(f"contents `{kind}` are not known to this script")
    bits = 8 * struct.calcsize(form)
    if whole:
        values = [int(value) & (1 << bits) - 1 for value in values]
        form = form.upper()
    packed = struct.pack(f"<{count}{form}", *values)
    if not brain:
        return packed
    # The upper half of each float, rounded to nearest even.
    words = struct.unpack(f"<{count}I", packed)
    return struct.pack(f"<{count}H", *[word + 0x7fff + (word >> 16 & 1) >> 16 & 0xffff for word in words])

class Launch:
    """A launch file, with parameters overridden by `settings`."""
    def __init__(self, path, settings=()):
        self.path = path
        with open(path, "rb") as file:
            try:
                self.text = tomllib.load(file)
            except tomllib.TOMLDecodeError as error:
                raise Failure(f"{path}: {error}") from error
        if "launches" not in self.text or "modules" not in self.text:
            raise Failure(f"{path} is no launch file: it has no `modules` or no `launches`")
        own = self.text.get("parameters", {})
        for key in dict(settings):
            if key not in own:
                raise Failure(f"{path}: the program has no parameter `{key}`, only {', '.join(own) or 'none'}")
        self.names = own | dict(settings)
        self.changed = any(own[key] != value for key, value in dict(settings).items())

    def source(self):
        """Returns the CUDA C source of the launch file's listings."""
        listing = next(iter(self.text["modules"].values()))
        folder, name = os.path.split(os.path.join(os.path.dirname(self.path), listing))
        return os.path.normpath(os.path.join(folder, name.split(".")[0] + ".cu"))

    def oldest(self):
        """Returns the oldest architecture with a listing, such as 70."""
        return min(int(known[3:].rstrip("a")) for known in self.text["modules"])

    def refusal(self):
        """Returns the reason why these scripts cannot run the launch file on one GPU; None if they can."""
        if "textures" in self.text:
            return "it has textures, of which these scripts make no objects"
        if all(known.endswith("a") for known in self.text["modules"]):
            return "it has listings of sm_90a alone, for which these scripts do not compile"
        if "tensors" in self.text:
            return "it has tensor maps, of which these scripts make none"
        rows = list(self.text.get("buffers", {}).values()) + self.text["launches"]
        if any("copy" in row for row in rows):
            return "it has copies between GPUs"
        if any(number(row["gpu"], self.names) != 0 for row in rows if "gpu" in row):
            return "it needs more than one GPU"
        if any("cluster" in row or row.get("cooperative") for row in self.text["launches"]):
            return "its CTAs wait for each other, which these scripts cannot ask the driver for"
        return None

def compiler():
    """Returns the module of `warpshard compile` with `cubin_of`, `Elf` and `kernel_facts`."""
    path = os.path.join(HERE, "../crates/program/src/compile.py")
    spec = importlib.util.spec_from_file_location("compiler", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

def options_of(source):
    """Returns the NVRTC options with which the listings of a source were compiled."""
    folder, stem = os.path.split(source[:-3])
    for name in sorted(os.listdir(folder)):
        if name.startswith(stem + ".sm_") and name.endswith(".sass"):
            with open(os.path.join(folder, name)) as file:
                for line in file:
                    if line.startswith("options "):
                        return line.split()[1:]
                    if line.startswith("kernel "):
                        break
    return []

def cubin(source, arch, folder=None):
    """Returns the cubin of a source, compiled with NVRTC or cached in `folder` by an earlier call."""
    key = source, arch, folder
    if key not in COMPILED:
        try:
            COMPILED[key] = compiled(*key)
        except Failure as error:
            COMPILED[key] = error
    if isinstance(COMPILED[key], Failure):
        raise COMPILED[key]
    return COMPILED[key]

# Results of `cubin`.
COMPILED = {}

def compiled(source, arch, folder):
    kept = folder and os.path.join(folder, os.path.relpath(source, HERE).replace(os.sep, ".")[:-3] + f".sm_{arch}.cubin")
    if kept and os.path.exists(kept):
        with open(kept, "rb") as file:
            return file.read()
    # NVRTC runs in a separate process, because it ends the process on an invalid source, and its symbols could clash with the driver's.
    script = ("import sys; sys.path.insert(0, sys.argv[1]); import launching; data, *_ = launching.compiler().cubin_of(sys.argv[2], sys.argv[3], sys.argv[4:]); "
              "sys.stdout.buffer.write(data)")
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run([sys.executable, "-c", script, here, source, f"sm_{arch}", *options_of(source)], capture_output=True)
    if done.returncode:
        raise Failure(f"{source} does not compile for sm_{arch}: {done.stderr.decode(errors='replace').strip()}")
    if kept:
        os.makedirs(folder, exist_ok=True)
        with open(kept, "wb") as file:
            file.write(done.stdout)
    return done.stdout

def parameter_sizes(data):
    """Returns the bytes of each parameter, by kernel."""
    tools = compiler()
    elf = tools.Elf(data)
    kernels = [section["name"][6:] for section in elf.sections if section["name"].startswith(".text.")]
    return {kernel: [size for _, _, size in tools.kernel_facts(elf, kernel)["parameters"]] for kernel in kernels}

class Driver:
    """The CUDA driver, with a context on one device."""
    def __init__(self, device=0):
        try:
            self.library = ctypes.CDLL(os.environ.get("WARPSHARD_LIBCUDA", "libcuda.so.1"))
        except OSError as error:
            raise Failure(f"the CUDA driver cannot be loaded: {error}. These scripts run where the GPU is; only `compile` runs anywhere") from error
        self.handle, context, count = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_int()
        self("cuInit", 0)
        self("cuDeviceGetCount", ctypes.byref(count))
        if not 0 <= device < count.value:
            raise Failure(f"there is no device {device}: the driver has {count.value}")
        self("cuDeviceGet", ctypes.byref(self.handle), device)
        self("cuCtxCreate_v2", ctypes.byref(context), 0, self.handle)
        name = ctypes.create_string_buffer(256)
        self("cuDeviceGetName", name, 256, self.handle)
        self.name = name.value.decode(errors="replace")
        self.arch = 10 * self.attribute(75) + self.attribute(76)
        self.modules = {}

    def __call__(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(status, ctypes.byref(text))
            raise Failure(f"{name}: status {status} ({(text.value or b'unknown').decode()})")

    def attribute(self, number):
        value = ctypes.c_int()
        self("cuDeviceGetAttribute", ctypes.byref(value), number, self.handle)
        return value.value

    def module(self, data):
        """Loads a module; returns it and the sizes of its kernels' parameters."""
        if data not in self.modules:
            module = ctypes.c_void_p()
            self("cuModuleLoadData", ctypes.byref(module), data)
            self.modules[data] = module, parameter_sizes(data)
        return self.modules[data]

    def event(self):
        event = ctypes.c_void_p()
        self("cuEventCreate", ctypes.byref(event), 0)
        return event

def flat(rows, names):
    """Returns the launches in order with the values of their formulas: the setup's launches, and the others."""
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

class Execution:
    """A launch file on a GPU, with allocated buffers and bound launches that can run many times. Use it with `with`."""
    def __init__(self, driver, launch, data):
        self.driver, self.launch = driver, launch
        self.module, self.sizes = driver.module(data)
        self.buffers, self.data = {}, {}
        folder = os.path.dirname(launch.path)
        for name, row in launch.text.get("buffers", {}).items():
            self.data[name] = contents(row, number(row["count"], launch.names), launch.names, folder)
            address = ctypes.c_uint64()
            driver("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(len(self.data[name]), 1)))
            self.buffers[name] = address
        setup, timed = flat(launch.text["launches"], launch.names)
        self.setup, self.timed = [self.bind(*entry) for entry in setup], [self.bind(*entry) for entry in timed]
        self.events = [driver.event() for _ in range(2)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for address in self.buffers.values():
            self.driver("cuMemFree_v2", address)
        for event in self.events:
            self.driver("cuEventDestroy_v2", event)

    def argument(self, value, size, names):
        if isinstance(value, list):
            # A struct has addresses of 8 bytes and numbers of 4.
            whole = b""
            for part in value:
                wide = 8 if isinstance(part, str) and part.startswith("&") else 4
                whole += bytes(-len(whole) % wide) + bytes(self.argument(part, wide, names))
            return (ctypes.c_uint8 * size).from_buffer_copy(whole.ljust(size, b"\0"))
        if isinstance(value, str) and value.startswith("&"):
            name, _, offset = value[1:].partition("+")
            value = self.buffers[name.strip()].value + (number(offset, names) if offset else 0)
        elif isinstance(value, float):
            return ctypes.c_float(value) if size == 4 else ctypes.c_double(value)
        return {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}[size](number(value, names))

    def bind(self, row, names):
        """Returns a launch in the driver's form."""
        kernel, function = row["kernel"], ctypes.c_void_p()
        # A C++ kernel can also be named by its identifier in the source.
        mangled = [known for known in self.sizes if known.startswith(f"_Z{len(kernel)}{kernel}")]
        kernel = mangled[0] if kernel not in self.sizes and len(mangled) == 1 else kernel
        if kernel not in self.sizes:
            raise Failure(f"{self.launch.path}: the module has no kernel `{kernel}`, only {', '.join(self.sizes)}")
        if len(row.get("arguments", [])) != len(self.sizes[kernel]):
            raise Failure(f"{self.launch.path}: kernel `{kernel}` takes {len(self.sizes[kernel])} arguments")
        self.driver("cuModuleGetFunction", ctypes.byref(function), self.module, kernel.encode())
        grid, block = ([number(value, names) for value in row[key]] + [1, 1] for key in ("grid", "block"))
        shared = number(row.get("shared", 0), names)
        if shared > 48 << 10:
            self.driver("cuFuncSetAttribute", function, 8, shared)
        values = [self.argument(value, size, names) for value, size in zip(row["arguments"], self.sizes[kernel])]
        pointers = (ctypes.c_void_p * max(len(values), 1))(*[ctypes.addressof(value) for value in values])
        return kernel, (function, *grid[:3], *block[:3], shared, None, pointers, None), values

    def reset(self):
        """Initialises every buffer and variable, and runs the launches of the setup."""
        for name, values in self.data.items():
            self.driver("cuMemcpyHtoD_v2", self.buffers[name], values, ctypes.c_size_t(len(values)))
        for name, row in self.launch.text.get("symbols", {}).items():
            address, size = ctypes.c_uint64(), ctypes.c_size_t()
            self.driver("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), self.module, name.encode())
            count = number(row["count"], self.launch.names) if "count" in row else size.value // struct.calcsize(FORMS[row["type"]])
            values = contents(row, count, self.launch.names, os.path.dirname(self.launch.path))
            self.driver("cuMemcpyHtoD_v2", address, values, ctypes.c_size_t(len(values)))
        self.start(self.setup)

    def start(self, launches):
        for _, arguments, _ in launches:
            self.driver("cuLaunchKernel", *arguments)
        self.driver("cuCtxSynchronize")

    def microseconds(self, launches):
        """Measures consecutive launches in microseconds with the driver's events."""
        begin, end = self.events
        self.driver("cuEventRecord", begin, None)
        for _, arguments, _ in launches:
            self.driver("cuLaunchKernel", *arguments)
        self.driver("cuEventRecord", end, None)
        self.driver("cuCtxSynchronize")
        elapsed = ctypes.c_float()
        self.driver("cuEventElapsedTime", ctypes.byref(elapsed), begin, end)
        return elapsed.value * 1000

    def bytes(self, buffer):
        result = ctypes.create_string_buffer(max(len(self.data[buffer]), 1))
        self.driver("cuMemcpyDtoH_v2", result, self.buffers[buffer], ctypes.c_size_t(len(self.data[buffer])))
        return result.raw[:len(self.data[buffer])]

    def equal(self):
        """Compares the outputs' CRC-32 with functional execution: "equal", "different", or "not compared"."""
        stated = [output for output in self.launch.text.get("outputs", []) if "crc32" in output]
        if self.launch.changed or not stated:
            return "not compared"
        return "equal" if all(zlib.crc32(self.bytes(output["buffer"])) == int(output["crc32"], 16) for output in stated) else "different"

    def clocks(self):
        """Returns the cycles between the first begin and the last end of the warps of the only CTA, which the kernel wrote into `clocks`."""
        raw = self.bytes("clocks")
        pairs = [pair for pair in struct.iter_unpack("<QQ", raw[:len(raw) // 16 * 16]) if pair[1]]
        if not pairs:
            raise Failure(f"{self.launch.path}: the kernel has written no clocks")
        return max(end for _, end in pairs) - min(begin for begin, _ in pairs)
