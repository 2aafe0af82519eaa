// C = A B as wgmma_gemm, by clusters of two CTAs, one above the other: both need the same tile of B, of which each copies half to both.
// A is m x k and B is n x k (its columns one after the other), of bfloats, both by rows; C is m x n of single precision.
// A CTA makes a tile of 64 x 64; tiles of depth 64 pass through a ring of STAGES buffers.
typedef unsigned int u32;
typedef unsigned long long u64;
struct alignas(64) Map { char bytes[128]; };

#define STAGES 3
#define TILE 8192  // 64 rows of 64 bfloats

__device__ __forceinline__ u32 shared_address(const void *pointer) { return (u32)__cvta_generic_to_shared(pointer); }

__device__ __forceinline__ void wait_for(u32 barrier, u32 parity) {
  asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again;}" ::"r"(barrier), "r"(parity) : "memory");
}

__device__ __forceinline__ void load_tile(u32 to, const Map *map, int x, int y, u32 barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map),
               "r"(x), "r"(y), "r"(barrier)
               : "memory");
}

// The same to both CTAs of the cluster, at the same place in each.
__device__ __forceinline__ void load_to_both(u32 to, const Map *map, int x, int y, u32 barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
               "l"(map), "r"(x), "r"(y), "r"(barrier), "h"((unsigned short)3)
               : "memory");
}

__device__ __forceinline__ void meet() { asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory"); }

// Arrives at a barrier of this CTA and at the same one of the other.
__device__ __forceinline__ void arrive_at_both(u32 barrier) {
  for (int rank = 0; rank < 2; rank++)
    asm volatile("{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [there];}" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

// Rows of 128 bytes, of which pieces of 16 are exchanged within groups of 8 rows of 1024 bytes.
__device__ __forceinline__ u64 descriptor(u32 address) { return (u64)(address >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62; }

extern "C" __global__ void __cluster_dims__(1, 2, 1) __launch_bounds__(160) wgmma_gemm_pairs(const __grid_constant__ Map a, const __grid_constant__ Map b, float *c, int n, int k) {
  extern __shared__ __align__(1024) char tiles[];
  __shared__ u64 full[STAGES], empty[STAGES];
  int warp = threadIdx.x / 32, steps = k / 64;
  u32 base = shared_address(tiles);
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[i])));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(shared_address(&empty[i])));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  meet();
  if (warp == 4) {
    if (threadIdx.x == 128) {
      for (int i = 0; i < steps; i++) {
        int stage = i % STAGES;
        u32 ready = shared_address(&full[stage]);
        if (i >= STAGES) wait_for(shared_address(&empty[stage]), (i / STAGES - 1) & 1);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ready), "r"(2 * TILE) : "memory");
        load_tile(base + 2 * stage * TILE, &a, 64 * i, 64 * blockIdx.y, ready);
        int half = blockIdx.y % 2;
        load_to_both(base + (2 * stage + 1) * TILE + half * TILE / 2, &b, 64 * i, 64 * blockIdx.x + 32 * half, ready);
      }
    }
    __syncwarp();
    meet();
    return;
  }
  float d[32];
#pragma unroll
  for (int i = 0; i < 32; i++) d[i] = 0;
#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
  for (int i = 0; i < steps; i++) {
    int stage = i % STAGES;
    wait_for(shared_address(&full[stage]), i / STAGES & 1);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int part = 0; part < 4; part++) {
      u64 left = descriptor(base + 2 * stage * TILE + 32 * part), right = descriptor(base + (2 * stage + 1) * TILE + 32 * part);
      asm volatile(
          "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
          "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
          : FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28)
          : "l"(left), "l"(right));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (threadIdx.x == 0) arrive_at_both(shared_address(&empty[stage]));
  }
  int lane = threadIdx.x % 32;
  float *out = c + (u64)(64 * blockIdx.y + 16 * warp + lane / 4) * n + 64 * blockIdx.x + 2 * (lane % 4);
#pragma unroll
  for (int block = 0; block < 8; block++) {
    out[8 * block] = d[4 * block], out[8 * block + 1] = d[4 * block + 1];
    out[8 * block + 8 * n] = d[4 * block + 2], out[8 * block + 8 * n + 1] = d[4 * block + 3];
  }
  // No CTA ends while the other may still send to it.
  meet();
}
