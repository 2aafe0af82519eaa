#!/usr/bin/env python3
"""Writes dot products of matrix units with the results of MMA-Sim (package mmasim, arXiv 2511.10909), whose bits are the hardware's.

    python3 programs/tools/matrix_sums.py COUNT FILE [RULE ...]       COUNT products of each rule, of all rules by default
    python3 programs/tools/matrix_sums.py --rules                     the names of the rules, one per line

A rule is an architecture, the types of the factors and the bits of the sum: 80-bf16-bf16-32. Rules of bytes (e4m3, e5m2) apply to warp groups. Half of
the products are adversarial: cancellation, subnormal numbers, exponents that differ by about the width of the unit, infinities, and NaN.

A line is the architecture, the type of the factors (or both types with a colon between), the bits of the sum, the elements of the first and of the
second factor, the addend and the result, in hexadecimal. `WARPSHARD_MATRIX_SUMS=FILE cargo test -p warpshard-program dot_products` compares them."""
import sys
import numpy as np
import torch
from mmasim.arithmetic.fdpa import MMA_T_FDPA

# Architecture: fraction bits, bytes of a row in a chunk, exponents of zeros with sums of half and single precision.
UNITS = {70: (23, 8, -19, -131), 75: (24, 16, -20, -132), 80: (24, 16, -20, -132), 90: (25, 32, -21, -133)}
# Elements of a dot product by type.
TYPES = {70: {"f16": 4}, 75: {"f16": 8}, 80: {"f16": 16, "bf16": 16, "tf32": 8}, 90: {"f16": 16, "bf16": 16, "tf32": 8}}
BYTES = ("e4m3", "e5m2")
# Bits of fraction, bits of exponent, low bits omitted in the text.
FORMATS = {"f16": (10, 5, 0), "bf16": (7, 8, 0), "tf32": (10, 8, 13), "f32": (23, 8, 0), "e4m3": (3, 4, 0), "e5m2": (2, 5, 0)}
# Products per batch.
BLOCK = 1 << 16

def rules():
    for arch, types in TYPES.items():
        for kind in types:
            for total in ("f32", "f16") if kind == "f16" else ("f32",):
                yield f"{arch}-{kind}-{kind}-{total[1:]}"
    yield from (f"90-{a}-{b}-{total}" for a in BYTES for b in BYTES for total in (32, 16))

def values(random, kind, shape, hard):
    """Returns the bits of numbers of a type, in the type's width (tf32 in 32 bits)."""
    fraction, exponent, below = FORMATS[kind]
    bias, most = (1 << exponent - 1) - 1, (1 << exponent) - 1
    near = random.integers(-4, 5, shape) + bias
    if hard:
        center = random.integers(1, most, shape[:1] + (1,) * (len(shape) - 1))
        apart = random.integers(-14, 15, shape)
        near = np.where(random.random(shape) < 0.5, np.clip(center + apart, 0, most - 1), random.integers(0, most, shape))
        near = np.where(random.random(shape) < 0.02, most, near)
        near = np.where(random.random(shape) < 0.1, 0, near)
    bits = random.integers(0, 1 << fraction, shape)
    if hard:
        bits = np.where(random.random(shape) < 0.2, random.choice([0, 1, (1 << fraction) - 1], shape), bits)
        bits = np.where((near == most) & (random.random(shape) < 0.7), 0, bits)
    sign = random.integers(0, 2, shape)
    return ((sign << exponent | near) << fraction | bits).astype(np.uint32) << below

def numbers(kind, bits):
    """Returns a tensor of the numbers."""
    if kind == "f16": return torch.tensor(bits.astype(np.uint16).view(np.float16))
    if kind in BYTES: return torch.tensor(bits.astype(np.uint8)).view(torch.float8_e4m3fn if kind == "e4m3" else torch.float8_e5m2)
    if kind == "bf16": bits = bits << 16
    return torch.tensor(bits.astype(np.uint32).view(np.float32))

def unit_of(arch, kinds, total):
    fraction, width, half_zero, single_zero = UNITS[arch]
    rho, zero = ("RNE-FP16", half_zero) if total == "f16" else ("RZ-FP32", single_zero)
    if kinds[0] in BYTES:
        fraction, rho = 13, rho if total == "f16" else "RZ-E8M13"
    return MMA_T_FDPA(fraction, rho, width * 8 // {"tf32": 32, "f16": 16, "bf16": 16}.get(kinds[0], 8), zero, *kinds)

def write(rule, count, out):
    """Writes `count` products of a rule; the rule's name and the block number seed the random numbers."""
    arch, *kinds, total = rule.split("-")
    arch, total = int(arch), "f" + total
    k = 32 if kinds[0] in BYTES else TYPES[arch][kinds[0]]
    unit = unit_of(arch, kinds, total)
    named = kinds[0] if kinds[0] == kinds[1] and kinds[0] not in BYTES else ":".join(kinds)
    text = f"{arch} {named} {total[1:]} " + " ".join(["%x"] * (2 * k + 2)) + "\n"
    blocks = [(hard, start, min(BLOCK, n - start)) for hard, n in ((False, count - count // 2), (True, count // 2)) for start in range(0, n, BLOCK)]
    for hard, start, n in blocks:
        random = np.random.default_rng([*rule.encode(), hard, start // BLOCK])
        a, b = (values(random, kind, (n, k), hard) for kind in kinds)
        c = values(random, total, (n,), hard)
        if hard and kinds[0] == kinds[1]:
            # Products that cancel each other.
            same = random.random(n) < 0.3
            sign = np.uint32(1 << sum(FORMATS[kinds[0]]))
            a[same, 1::2], b[same, 1::2] = a[same, 0::2], b[same, 0::2] ^ sign
        with np.errstate(all="ignore"):
            result = np.asarray(unit.dpa(numbers(kinds[0], a), numbers(kinds[1], b), numbers(total, c)))
        result = result.view(np.uint16 if total == "f16" else np.uint32)
        rows = np.concatenate([a, b, c[:, None], result[:, None].astype(np.uint32)], axis=1)
        out.writelines(text % tuple(row) for row in rows.tolist())

def main():
    if sys.argv[1:] == ["--rules"]:
        print(*rules(), sep="\n")
        return
    with open(sys.argv[2], "w") as out:
        for rule in sys.argv[3:] or rules():
            write(rule, int(sys.argv[1]), out)

main()
