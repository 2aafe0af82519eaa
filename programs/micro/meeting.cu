// Barriers in shared memory, barriers of clusters, and the shared memory of other CTAs of a cluster.
#include "timing.cuh"

extern "C" __global__ void mbarrierRounds(wide *clocks, int rounds) {
    __shared__ wide barrier;
    word at = (word)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"((int)blockDim.x) : "memory");
    __syncthreads();
    Stopwatch watch(clocks);
    #pragma unroll 1
    for (int r = 0; r < rounds; r++) {
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at) : "memory");
        asm volatile("{ .reg .pred q; AGAIN: mbarrier.try_wait.parity.shared.b64 q, [%0], %1; @!q bra AGAIN; }" :: "r"(at), "r"(r & 1) : "memory");
    }
    watch.stop();
}

__device__ __forceinline__ void meet() { asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory"); }

extern "C" __global__ void clusterBarriers(wide *clocks, int rounds) {
    meet();
    Stopwatch watch(clocks);
    #pragma unroll 1
    for (int r = 0; r < rounds; r++) meet();
    watch.stop();
}

// The address of the next CTA's shared memory.
__device__ __forceinline__ word neighbour(const void *own, int size) {
    word rank, at;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"((word)__cvta_generic_to_shared(own)), "r"((rank + 1) % size));
    return at;
}

// A chain of reads of the next CTA's memory by one thread.
extern "C" __global__ void remoteChase(word *out, wide *clocks, int size, int rounds) {
    __shared__ __align__(16) word m[1024];
    word base = neighbour(m, size), q = 0;
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) m[i] = 4 * ((i + 1) % 1024);
    meet();
    if (threadIdx.x == 0) {
        Stopwatch watch(clocks);
        #pragma unroll 1
        for (int i = 0; i < rounds; i++)
            #pragma unroll
            for (int k = 0; k < 8; k++)
                asm volatile("{ .reg .u32 a; add.u32 a, %1, %0; ld.shared::cluster.u32 %0, [a]; }" : "+r"(q) : "r"(base) : "memory");
        watch.stop();
    }
    meet();
    if (q == NEVER) out[0] = q;
}

// All warps read 16 bytes a lane of the next CTA's memory.
extern "C" __global__ void remoteReads(word *out, wide *clocks, int size, int rounds, int step) {
    __shared__ __align__(16) word m[8192];
    word base = neighbour(m, size), sum = 0;
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) m[i] = i;
    meet();
    word at = base + 16 * (threadIdx.x % 256);
    Stopwatch watch(clocks);
    #pragma unroll 1
    for (int r = 0; r < rounds; r++) {
        #pragma unroll
        for (int k = 0; k < 8; k++) {
            word w, x, y, z;
            asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w), "=r"(x), "=r"(y), "=r"(z) : "r"(at + k * 512 + r * step) : "memory");
            sum += w + x + y + z;
        }
    }
    watch.stop();
    meet();
    if (sum == NEVER) out[0] = sum;
}
