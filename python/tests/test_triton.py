"""Triton kernels, compiled without a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import warpshard as ws

triton = pytest.importorskip("triton", reason="SKIPPED: Triton cannot be had (pip install warpshard[cuda])")
tl = triton.language


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def matmul(a, b, c, k, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    """Computes a tile of a matrix product; b is loaded in pieces of DEPTH x BLOCK."""
    rows, columns, depth = tl.arange(0, BLOCK), tl.arange(0, BLOCK), tl.arange(0, DEPTH)
    sums = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, k, DEPTH):
        x = tl.load(a + rows[:, None] * k + start + depth[None, :])
        y = tl.load(b + (start + depth)[:, None] * BLOCK + columns[None, :])
        sums = tl.dot(x, y, sums)
    tl.store(c + rows[:, None] * BLOCK + columns[None, :], sums)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_product_uses_the_matrix_unit_and_agrees(arch):
    device = ws.Device("h100", arch)
    random = np.random.default_rng(4)
    a, b = (random.standard_normal(shape, np.float32).astype(np.float16) for shape in ((64, 128), (128, 64)))
    out = device.zeros((64, 64))
    done = ws.triton.kernel(device, matmul)[1,](device.array(a), device.array(b), out, 128, BLOCK=64, DEPTH=64)
    assert np.allclose(out.get(), a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-3)
    assert done.warp_instructions > 0


@pytest.mark.parametrize("arch", ["sm_70", "sm_80", "sm_90"])
def test_a_sum_equals_numpys(arch):
    device = ws.Device("v100", arch)
    n = 5000
    x, y = (np.random.default_rng(seed).random(n, np.float32) for seed in (1, 2))
    out = device.zeros(n)
    kernel = ws.triton.kernel(device, add)
    kernel[lambda given: (triton.cdiv(given["n"], given["BLOCK"]),)](device.array(x), device.array(y), out, n, BLOCK=1024)
    assert np.array_equal(out.get(), x + y)
    result = device.simulate()
    assert len(result.kernels) == 1 and result.kernels["ctas"] == [5] and "add" in result.kernels["name"][0]


def test_softmax_uses_shared_memory_and_agrees():
    device = ws.Device("v100")
    rows, columns = 8, 700
    x = np.random.default_rng(3).standard_normal((rows, columns), np.float32)
    out = device.empty((rows, columns))
    ws.triton.kernel(device, softmax)[rows,](device.array(x), out, columns, BLOCK=1024, num_warps=8)
    expected = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(out.get(), expected / expected.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)
    assert device.warnings == {} and device.simulate().kernels["shared_instructions"][0] > 0


def test_wrong_arguments_are_explained():
    device = ws.Device("v100")
    x = device.zeros(16)
    kernel = ws.triton.kernel(device, add)
    with pytest.raises(TypeError, match="missing n, BLOCK; its parameters are x, y, out, n, BLOCK"):
        kernel[1,](x, x, x)
    with pytest.raises(TypeError, match="unknown size"):
        kernel[1,](x, x, x, 16, BLOCK=16, size=3)
    with pytest.raises(TypeError, match="x is ndarray, expected an array of the device"):
        kernel[1,](np.zeros(16), x, x, 16, BLOCK=16)
    with pytest.raises(ws.KernelError, match="outside of every buffer"):
        kernel[1,](x, x, x, 64, BLOCK=64)
