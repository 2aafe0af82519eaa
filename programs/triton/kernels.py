"""The Triton kernels of this folder. Triton 3.6 compiled them for sm_90, and its ptxas assembled them."""
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    y = tl.load(y_ptr + at, mask=mask)
    tl.store(out_ptr + at, x + y, mask=mask)


@triton.jit
def softmax(x_ptr, out_ptr, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    x = tl.load(x_ptr + row * stride + at, mask=mask, other=-float("inf")).to(tl.float32)
    x = x - tl.max(x, axis=0)
    e = tl.exp(x)
    out = e / tl.sum(e, axis=0)
    tl.store(out_ptr + row * stride + at, out.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def layernorm(x_ptr, weight_ptr, bias_ptr, out_ptr, columns, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    x = tl.load(x_ptr + row * stride + at, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    scale = 1.0 / tl.sqrt(variance + eps)
    weight = tl.load(weight_ptr + at, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + at, mask=mask, other=0.0).to(tl.float32)
    out = centred * scale * weight + bias
    tl.store(out_ptr + row * stride + at, out.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def rmsnorm(x_ptr, weight_ptr, out_ptr, columns, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    x = tl.load(x_ptr + row * stride + at, mask=mask, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / columns + eps)
    weight = tl.load(weight_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * stride + at, (x * scale * weight).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def silu_multiply(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask).to(tl.float32)
    y = tl.load(y_ptr + at, mask=mask).to(tl.float32)
    out = x / (1.0 + tl.exp(-x)) * y
    tl.store(out_ptr + at, out.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def gemv(w_ptr, x_ptr, out_ptr, n, k, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros((BLOCK_N, BLOCK_K), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        at = start + tl.arange(0, BLOCK_K)
        w = tl.load(w_ptr + rows[:, None] * k + at[None, :]).to(tl.float32)
        x = tl.load(x_ptr + at).to(tl.float32)
        sums += w * x[None, :]
    tl.store(out_ptr + rows, tl.sum(sums, axis=1).to(out_ptr.dtype.element_ty))


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, m, n, k, stride_am, stride_bk, stride_cm,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    """c = a b; a is m x k and b is k x n, both by rows; sizes are multiples of the blocks."""
    number = tl.program_id(0)
    across = tl.cdiv(n, BLOCK_N)
    down = tl.cdiv(m, BLOCK_M)
    group = number // (GROUP * across)
    first = group * GROUP
    height = min(down - first, GROUP)
    row = first + (number % (GROUP * across)) % height
    column = (number % (GROUP * across)) // height
    rows = row * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = column * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    a_at = a_ptr + rows[:, None] * stride_am + depth[None, :]
    b_at = b_ptr + depth[:, None] * stride_bk + columns[None, :]
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, k, BLOCK_K):
        a = tl.load(a_at)
        b = tl.load(b_at)
        sums = tl.dot(a, b, sums)
        a_at += BLOCK_K
        b_at += BLOCK_K * stride_bk
    c_at = c_ptr + rows[:, None] * stride_cm + columns[None, :]
    tl.store(c_at, sums.to(c_ptr.dtype.element_ty))


@triton.jit
def matmul_tma(a_desc, b_desc, c_desc, m, n, k,
               BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    """The same with the bulk tensor copy engine: descriptors made by the host."""
    number = tl.program_id(0)
    across = tl.cdiv(n, BLOCK_N)
    down = tl.cdiv(m, BLOCK_M)
    group = number // (GROUP * across)
    first = group * GROUP
    height = min(down - first, GROUP)
    row = first + (number % (GROUP * across)) % height
    column = (number % (GROUP * across)) // height
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        a = a_desc.load([row * BLOCK_M, start])
        b = b_desc.load([start, column * BLOCK_N])
        sums = tl.dot(a, b, sums)
    c_desc.store([row * BLOCK_M, column * BLOCK_N], sums.to(tl.bfloat16))


@triton.jit
def flash(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, CAUSAL: tl.constexpr,
          BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr):
    """Attention of one head per program_id(1); q, k, v and out are (heads, length, D) by rows. The length is a multiple of the blocks."""
    block = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    base = head * length * D
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + base + rows[:, None] * D + d[None, :])
    most = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    sums = tl.zeros((BLOCK_M, D), dtype=tl.float32)
    factor = scale * 1.4426950408889634
    k_at = k_ptr + base + columns[None, :] * D + d[:, None]
    v_at = v_ptr + base + columns[:, None] * D + d[None, :]
    end = length
    if CAUSAL:
        # Blocks below the diagonal need no mask; those on it come afterwards.
        end = block * BLOCK_M
    for start in range(0, end, BLOCK_N):
        k = tl.load(k_at + start * D)
        s = tl.dot(q, k) * factor
        larger = tl.maximum(most, tl.max(s, axis=1))
        p = tl.exp2(s - larger[:, None])
        shrink = tl.exp2(most - larger)
        total = total * shrink + tl.sum(p, axis=1)
        sums = sums * shrink[:, None]
        v = tl.load(v_at + start * D)
        sums = tl.dot(p.to(v.dtype), v, sums)
        most = larger
    if CAUSAL:
        for start in range(block * BLOCK_M, (block + 1) * BLOCK_M, BLOCK_N):
            k = tl.load(k_at + start * D)
            s = tl.dot(q, k) * factor
            s = tl.where(rows[:, None] >= start + columns[None, :], s, -float("inf"))
            larger = tl.maximum(most, tl.max(s, axis=1))
            p = tl.exp2(s - larger[:, None])
            shrink = tl.exp2(most - larger)
            total = total * shrink + tl.sum(p, axis=1)
            sums = sums * shrink[:, None]
            v = tl.load(v_at + start * D)
            sums = tl.dot(p.to(v.dtype), v, sums)
            most = larger
    out = sums / total[:, None]
    tl.store(out_ptr + base + rows[:, None] * D + d[None, :], out.to(out_ptr.dtype.element_ty))
