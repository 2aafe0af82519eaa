#!/usr/bin/env python3
"""Compiles kernels of programs/triton/kernels.py with other tiles and sizes for sm_90, without a GPU.

    python3 programs/tools/triton_shapes.py --out folder
    warpshard run --machine h100 --program folder/matmul-1024-t64x64x64-w4s4.cubin --meta folder/matmul-1024-t64x64x64-w4s4.json

Writes a cubin and its JSON file (docs/programs.md, Kernels of Triton). `--only TEXT` selects the kernels whose name contains the text. These are the
"other shapes" of docs/validation/silicon.md. It needs Triton 3.3."""
import argparse, json, math, pathlib, runpy

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

KERNELS = runpy.run_path(str(pathlib.Path(__file__).resolve().parent.parent / "triton" / "kernels.py"))
TYPES = {"bf16": "torch.bfloat16", "fp16": "torch.float16", "fp32": "torch.float32"}

def tensor(shape, kind):
    """Describes a row-major tensor for the JSON file."""
    stride = [math.prod(shape[place + 1:]) for place in range(len(shape))]
    return {"tensor": list(shape), "stride": stride, "type": TYPES[kind]}

def write(out, name, kernel, arguments, constants, grid, warps, stages=3):
    """Compiles one kernel. An argument is a number, or the shape and type of a tensor."""
    signature, attributes, shown = {}, {}, []
    for place, (key, value) in enumerate(arguments.items()):
        if isinstance(value, tuple):
            signature[key] = "*" + value[1]
            shown.append([key, tensor(*value)])
        else:
            signature[key] = "fp32" if isinstance(value, float) else "i32"
            shown.append([key, value])
        if isinstance(value, tuple) or isinstance(value, int) and value % 16 == 0:
            attributes[(place,)] = [["tt.divisibility", 16]]
    signature.update({key: "constexpr" for key in constants})
    places = {(list(signature).index(key),): value for key, value in constants.items()}
    source = ASTSource(fn=KERNELS[kernel], signature=signature, constexprs=places, attrs=attributes)
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps, "num_stages": stages})
    (out / f"{name}.cubin").write_bytes(compiled.asm["cubin"])
    launch = {"grid": [*grid, 1, 1][:3], "block": [32 * warps, 1, 1], "arguments": shown, "constants": constants,
              "metadata": compiled.metadata._asdict()}
    (out / f"{name}.json").write_text(json.dumps(launch, default=str, indent=1))
    print(name, flush=True)

def shapes():
    """Yields every kernel: name, kernel, arguments, constants, grid, warps, stages."""
    def matmul(m, n, k, tile, warps, stages, kind="bf16"):
        size = f"{m}" if m == n == k else f"{m}x{n}x{k}"
        arguments = {"a_ptr": ((m, k), kind), "b_ptr": ((k, n), kind), "c_ptr": ((m, n), kind), "m": m, "n": n, "k": k, "stride_am": k, "stride_bk": n, "stride_cm": n}
        constants = {"BLOCK_M": tile[0], "BLOCK_N": tile[1], "BLOCK_K": tile[2], "GROUP": 8}
        name = f"matmul-{size}-t{tile[0]}x{tile[1]}x{tile[2]}-w{warps}s{stages}"
        return name, "matmul", arguments, constants, [m // tile[0] * (n // tile[1])], warps, stages

    def flash(heads, length, depth, tile, warps, stages, causal):
        one = ((heads, length, depth), "bf16")
        arguments = {"q_ptr": one, "k_ptr": one, "v_ptr": one, "out_ptr": one, "length": length, "scale": depth ** -0.5}
        constants = {"CAUSAL": causal, "BLOCK_M": tile[0], "BLOCK_N": tile[1], "D": depth}
        name = f"flash-{heads}x{length}x{depth}{'-causal' * causal}-t{tile[0]}x{tile[1]}-w{warps}s{stages}"
        return name, "flash", arguments, constants, [length // tile[0], heads], warps, stages

    def rows(kernel, count, columns, vectors, numbers):
        """Describes a kernel of one CTA per row, with four warps up to 1,024 columns and eight beyond."""
        matrix = ((count, columns), "bf16")
        arguments = {"x_ptr": matrix, **{key: ((columns,), "bf16") for key in vectors}, "out_ptr": matrix, "columns": columns, "stride": columns, **numbers}
        block = 1 << (columns - 1).bit_length()
        return f"{kernel}-{count}x{columns}", kernel, arguments, {"BLOCK": block}, [count], 4 if block <= 1024 else 8, 3

    def elements(kernel, count, kind):
        arguments = {key: ((count,), kind) for key in ("x_ptr", "y_ptr", "out_ptr")}
        return f"{kernel}-{count}", kernel, {**arguments, "n": count}, {"BLOCK": 1024}, [-(-count // 1024)], 4, 3

    yield matmul(1024, 1024, 1024, (64, 64, 64), 4, 4)
    yield matmul(1024, 1024, 1024, (64, 128, 64), 4, 3)
    yield matmul(1024, 1024, 1024, (128, 64, 32), 4, 4)
    yield matmul(1024, 1024, 1024, (128, 128, 128), 8, 2)
    yield matmul(512, 512, 4096, (64, 64, 128), 4, 3)
    yield matmul(1536, 768, 2048, (128, 128, 64), 8, 3, "fp16")
    yield matmul(2048, 2048, 2048, (128, 256, 64), 8, 3)
    yield matmul(2048, 2048, 2048, (64, 256, 32), 4, 4)
    yield flash(8, 768, 64, (64, 64), 4, 3, False)
    yield flash(8, 1024, 128, (128, 64), 8, 2, False)
    yield flash(24, 512, 64, (64, 32), 4, 3, True)
    yield flash(16, 1536, 64, (128, 128), 8, 3, True)
    yield rows("softmax", 2048, 2048, [], {})
    yield rows("softmax", 512, 8192, [], {})
    yield rows("layernorm", 2048, 768, ["weight_ptr", "bias_ptr"], {"eps": 1e-5})
    yield rows("layernorm", 512, 4096, ["weight_ptr", "bias_ptr"], {"eps": 1e-5})
    yield rows("rmsnorm", 1024, 1024, ["weight_ptr"], {"eps": 1e-6})
    yield rows("rmsnorm", 2048, 2048, ["weight_ptr"], {"eps": 1e-6})
    yield elements("silu_multiply", 1500000, "bf16")
    yield elements("add", 300000, "fp32")

def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the folder of the cubins and JSON files")
    parser.add_argument("--only", default="", help="only kernels whose name contains this text")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, *shape in shapes():
        if options.only in name:
            write(options.out, name, *shape)

if __name__ == "__main__":
    main()
