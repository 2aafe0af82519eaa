#!/usr/bin/env python3
"""Writes dot products of matrix units with the results of MMA-Sim (package mmasim, arXiv 2511.10909), whose bits are the hardware's.

Arguments: products of each rule (input type, sums, architecture), output file. Half of the products are adversarial: cancellation,
subnormal numbers, exponents apart by about as much as the unit keeps, infinities, and what is no number.

A line is the architecture, the input type, the bits of the sum, the elements of the first and of the second factor, the addend and the result,
in hexadecimal."""
import sys
import numpy as np
import torch
from mmasim.arithmetic.fdpa import MMA_T_FDPA

# Architecture: fraction bits, bytes of a row in a chunk, exponents of zeros with sums of half and single precision.
RULES = {70: (23, 8, -19, -131), 75: (24, 16, -20, -132), 80: (24, 16, -20, -132), 90: (25, 32, -21, -133)}
TYPES = {70: {"f16": 4}, 75: {"f16": 8}, 80: {"f16": 16, "bf16": 16, "tf32": 8}, 90: {"f16": 16, "bf16": 16, "tf32": 8}}
# Bits of fraction, bits of exponent, bits that the text leaves out below.
FORMATS = {"f16": (10, 5, 0), "bf16": (7, 8, 0), "tf32": (10, 8, 13), "f32": (23, 8, 0)}
random = np.random.default_rng(1)

def values(kind, shape, hard):
    """Bits of numbers of a type, in its own width (tf32 in 32 bits)."""
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
    if kind == "f16": return bits.astype(np.uint16).view(np.float16)
    if kind == "bf16": return (bits << 16).astype(np.uint32).view(np.float32)
    return bits.astype(np.uint32).view(np.float32)

def main():
    count, out = int(sys.argv[1]), open(sys.argv[2], "w")
    for arch, (fraction, width, half_zero, single_zero) in RULES.items():
        for kind, k in TYPES[arch].items():
            for total in ("f32", "f16") if kind == "f16" else ("f32",):
                rho, zero = ("RNE-FP16", half_zero) if total == "f16" else ("RZ-FP32", single_zero)
                chunk = width // (4 if kind == "tf32" else 2)
                unit = MMA_T_FDPA(fraction, rho, chunk, zero, kind, kind)
                for hard, n in ((False, count - count // 2), (True, count // 2)):
                    a, b, c = values(kind, (n, k), hard), values(kind, (n, k), hard), values(total, (n,), hard)
                    if hard:
                        # Products that cancel.
                        same = random.random(n) < 0.3
                        sign = 0x80000000 if kind == "tf32" else 0x8000
                        a[same, 1::2], b[same, 1::2] = a[same, 0::2], b[same, 0::2] ^ sign
                    tensors = [torch.tensor(numbers(kind, a)), torch.tensor(numbers(kind, b)), torch.tensor(numbers(total, c))]
                    with np.errstate(all="ignore"):
                        result = np.asarray(unit.dpa(*tensors))
                    result = result.view(np.uint16 if total == "f16" else np.uint32)
                    for i in range(n):
                        words = [" ".join(f"{word:x}" for word in row[i]) for row in (a, b)]
                        print(arch, kind, total[1:], *words, f"{c[i]:x} {result[i]:x}", file=out)

main()
