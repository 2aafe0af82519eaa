// Barriers in shared memory, a cooperative launch, and a cluster. Compile with the headers of nvidia-cuda-cccl-cu12.
#include <cooperative_groups.h>
#include <cuda/barrier>

extern "C" __global__ void copies(const int *a, int *o) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ alignas(16) int s[512];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(s + 4 * threadIdx.x, a + 4 * threadIdx.x, cuda::aligned_size_t<16>(16), bar);
  bar.arrive_and_wait();
  for (int i = 0; i < 4; i++) o[4 * threadIdx.x + i] = s[511 - 4 * threadIdx.x - i];
}

extern "C" __global__ void two_phases(int *a, int *b) {
  a[blockIdx.x] = blockIdx.x + 1;
  cooperative_groups::this_grid().sync();
  if (blockIdx.x == 0) {
    int s = 0;
    for (int i = 0; i < gridDim.x; i++) s += a[i];
    b[0] = s;
  }
}

// Never ends: the barrier expects a thread more.
extern "C" __global__ void stuck(int *o) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x + 1);
  __syncthreads();
  bar.arrive_and_wait();
  o[threadIdx.x] = 1;
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) neighbours(int *o) {
  __shared__ int s[32];
  auto cluster = cooperative_groups::this_cluster();
  s[threadIdx.x] = 100 * blockIdx.x + threadIdx.x;
  cluster.sync();
  int *other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  o[32 * blockIdx.x + threadIdx.x] = other[31 - threadIdx.x];
  cluster.sync();
  atomicAdd(&other[threadIdx.x], 1000);
  cluster.sync();
  o[32 * gridDim.x + 32 * blockIdx.x + threadIdx.x] = s[threadIdx.x];
}
#endif

// Each address is the word that an asynchronous copy before has brought.
extern "C" __global__ void chase(const int *next, int *o) {
  __shared__ int slot[32];
  int at = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < 20; i++) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&slot[threadIdx.x])), "l"(next + at) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    at = 7 * *(volatile int *)&slot[threadIdx.x] % 512;
  }
  o[threadIdx.x] = at;
}
