// Attention of one head of 64 elements by products of warp groups: out = softmax(scale Q K^T) V, of bfloats, Q, K, V and out by rows.
// A CTA makes 64 rows of the output; tiles of 64 rows of K and V come by tensor copies. With `causal` a row sees no later keys.
typedef unsigned int u32;
typedef unsigned long long u64;
struct alignas(64) Map { char bytes[128]; };

#define TILE 8192  // 64 rows of 64 bfloats

__device__ __forceinline__ u32 shared_address(const void *pointer) { return (u32)__cvta_generic_to_shared(pointer); }

__device__ __forceinline__ void wait_for(u32 barrier, u32 parity) {
  asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again;}" ::"r"(barrier), "r"(parity) : "memory");
}

__device__ __forceinline__ void load_tile(u32 to, const Map *map, int row, int head, u32 barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to), "l"(map),
               "r"(0), "r"(row), "r"(head), "r"(barrier)
               : "memory");
}

__device__ __forceinline__ u64 descriptor(u32 address) { return (u64)(address >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62; }

__device__ __forceinline__ u32 pair(float low, float high) {
  u32 out;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define ALL(d) FOUR(d, 0), FOUR(d, 4), FOUR(d, 8), FOUR(d, 12), FOUR(d, 16), FOUR(d, 20), FOUR(d, 24), FOUR(d, 28)
#define NAMES                                                                                                                                  \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"

extern "C" __global__ void __launch_bounds__(128)
    wgmma_attention(const __grid_constant__ Map q, const __grid_constant__ Map k, const __grid_constant__ Map v, float *out, int length, int causal, float scale) {
  extern __shared__ __align__(1024) char tiles[];
  __shared__ u64 barrier;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, head = blockIdx.y;
  u32 base = shared_address(tiles), ready = shared_address(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(ready));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  float sums[32], most[2] = {-1e30f, -1e30f}, total[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < 32; i++) sums[i] = 0;
  int first = 64 * blockIdx.x, last = causal ? first + 64 : length, phase = 0;
  for (int at = 0; at < last; at += 64, phase ^= 1) {
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ready), "r"(at == 0 ? 3 * TILE : 2 * TILE) : "memory");
      if (at == 0) load_tile(base, &q, first, head, ready);
      load_tile(base + TILE, &k, at, head, ready);
      load_tile(base + 2 * TILE, &v, at, head, ready);
    }
    wait_for(ready, phase);
    float scores[32];
#pragma unroll
    for (int i = 0; i < 32; i++) scores[i] = 0;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int part = 0; part < 4; part++)
      asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " NAMES ", %32, %33, 1, 1, 1, 0, 0;"
                   : ALL(scores)
                   : "l"(descriptor(base + 32 * part)), "l"(descriptor(base + TILE + 32 * part)));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    // A thread has two rows, of which three others of its warp have the rest.
    int row = first + 16 * warp + lane / 4;
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float largest = most[half];
#pragma unroll
      for (int block = 0; block < 8; block++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
          float &score = scores[4 * block + 2 * half + i];
          int column = at + 8 * block + 2 * (lane % 4) + i;
          score = causal && column > row + 8 * half ? -1e30f : score * scale;
          largest = fmaxf(largest, score);
        }
      largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 2));
      float shrink = exp2f((most[half] - largest) * 1.4426950408889634f);
      most[half] = largest;
      total[half] *= shrink;
#pragma unroll
      for (int block = 0; block < 8; block++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
          float &score = scores[4 * block + 2 * half + i];
          score = exp2f((score - largest) * 1.4426950408889634f);
          total[half] += score;
          sums[4 * block + 2 * half + i] *= shrink;
        }
    }
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    // The scores of 16 keys are the first matrix, in registers; V lies with its keys as the slow dimension.
#pragma unroll
    for (int part = 0; part < 4; part++) {
      const float *p = scores + 8 * part;
      asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " NAMES ", {%32,%33,%34,%35}, %36, 1, 1, 1, 1;"
                   : ALL(sums)
                   : "r"(pair(p[0], p[1])), "r"(pair(p[2], p[3])), "r"(pair(p[4], p[5])), "r"(pair(p[6], p[7])),
                     "l"(descriptor(base + 2 * TILE + 2048 * part)));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
  }
  float *to = out + ((u64)head * length + first + 16 * warp + lane / 4) * 64 + 2 * (lane % 4);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float whole = total[half];
    whole += __shfl_xor_sync(~0u, whole, 1);
    whole += __shfl_xor_sync(~0u, whole, 2);
#pragma unroll
    for (int block = 0; block < 8; block++) {
      to[8 * half * 64 + 8 * block] = sums[4 * block + 2 * half] / whole;
      to[8 * half * 64 + 8 * block + 1] = sums[4 * block + 2 * half + 1] / whole;
    }
  }
}
