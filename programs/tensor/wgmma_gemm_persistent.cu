// C = A B by products of warp groups and tensor copies, persistent: as many CTAs as are launched share the tiles, and each goes from tile to tile
// without emptying its ring of buffers. One warp group copies, with few registers; two multiply, each 64 rows, and leave a product under way while
// they wait for the next buffer.
// A is m x k and B is n x k (its columns one after the other), of bfloats, both by rows; C is m x n of single precision.
// A tile has 128 x 128 elements; parts of depth 64 pass through a ring of STAGES buffers.
#include "../micro/wgmma.cuh"
typedef unsigned int u32;
typedef unsigned long long u64;
struct alignas(64) Map { char bytes[128]; };

#define STAGES 3
#define PART 16384  // 128 rows of 64 bfloats

__device__ __forceinline__ u32 shared_address(const void *pointer) { return (u32)__cvta_generic_to_shared(pointer); }

__device__ __forceinline__ void wait_for(u32 barrier, u32 parity) {
  asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again;}" ::"r"(barrier), "r"(parity) : "memory");
}

__device__ __forceinline__ void arrive(u32 barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }

__device__ __forceinline__ void load_part(u32 to, const Map *map, int x, int y, u32 barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map),
               "r"(x), "r"(y), "r"(barrier)
               : "memory");
}

// Rows of 128 bytes, of which pieces of 16 are exchanged within groups of 8 rows of 1024 bytes.
__device__ __forceinline__ u64 descriptor(u32 address) { return (u64)(address >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62; }

extern "C" __global__ void __launch_bounds__(384, 1)
wgmma_gemm_persistent(const __grid_constant__ Map a, const __grid_constant__ Map b, float *c, int m, int n, int k) {
  extern __shared__ __align__(1024) char parts[];
  __shared__ u64 full[STAGES], empty[STAGES];
  int group = threadIdx.x / 128, steps = k / 64, across = n / 128, tiles = across * (m / 128);
  u32 base = shared_address(parts);
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[i])));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(shared_address(&empty[i])));
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      u32 at = 0;  // parts so far
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        for (int i = 0; i < steps; i++, at++) {
          u32 stage = at % STAGES, ready = shared_address(&full[stage]);
          if (at >= STAGES) wait_for(shared_address(&empty[stage]), (at / STAGES - 1) & 1);
          asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ready), "r"(2 * PART) : "memory");
          load_part(base + 2 * stage * PART, &a, 64 * i, 128 * (tile / across), ready);
          load_part(base + (2 * stage + 1) * PART, &b, 64 * i, 128 * (tile % across), ready);
        }
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float d[64];
  u32 at = 0;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    for (int i = 0; i < steps; i++, at++) {
      u32 stage = at % STAGES;
      wait_for(shared_address(&full[stage]), at / STAGES & 1);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int part = 0; part < 4; part++) {
        u64 left = descriptor(base + 2 * stage * PART + 8192 * (group - 1) + 32 * part);
        u64 right = descriptor(base + (2 * stage + 1) * PART + 32 * part);
        // The first product of a tile begins with zeros.
        asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" SUMS_128
                     "}, %64, %65, p, 1, 1, 0, 0;}"
                     : OF_128("+f", d)
                     : "l"(left), "l"(right), "r"(i + part));
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      // The products before these are complete, and their buffer is free.
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      if (i > 0 && threadIdx.x % 128 == 0) arrive(shared_address(&empty[(at - 1) % STAGES]));
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (threadIdx.x % 128 == 0) arrive(shared_address(&empty[(at - 1) % STAGES]));
    float *out = c + (u64)(128 * (tile / across) + 64 * (group - 1) + 16 * warp + lane / 4) * n + 128 * (tile % across) + 2 * (lane % 4);
#pragma unroll
    for (int block = 0; block < 16; block++) {
      out[8 * block] = d[4 * block], out[8 * block + 1] = d[4 * block + 1];
      out[8 * block + 8 * n] = d[4 * block + 2], out[8 * block + 8 * n + 1] = d[4 * block + 3];
    }
  }
}
