// Chases: one thread follows a ring of pointers. `tie` makes the ring in device memory before anything is timed: entries that lie `stride` bytes
// apart, each pointing `hop` entries further, which has to have no factor in common with their number.
#include "timing.cuh"

extern "C" __global__ void tie(char *ring, word entries, word stride, word hop) {
    #pragma unroll 1
    for (word i = blockIdx.x * blockDim.x + threadIdx.x; i < entries; i += gridDim.x * blockDim.x)
        *(wide *)(ring + (wide)i * stride) = (wide)(ring + (wide)((i + hop) % entries) * stride);
}

template <bool L1> __device__ __forceinline__ wide next(wide at) {
    if (L1) asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at) :: "memory");
    else asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at) :: "memory");
    return at;
}

// All threads read the `warm` entries of the ring in its order, then thread 0 goes its way from the first.
template <bool L1>
__device__ __forceinline__ void follow(const char *ring, wide *last, wide *clocks, word stride, word hop, word warm, int steps) {
    wide sum = 0;
    word entry = (wide)threadIdx.x * hop % warm, far = (wide)blockDim.x * hop % warm;
    #pragma unroll 4
    for (word i = threadIdx.x; i < warm; i += blockDim.x) {
        sum += next<L1>((wide)(ring + (wide)entry * stride));
        entry += far;
        if (entry >= warm) entry -= warm;
    }
    if (sum == NEVER) last[1] = sum;
    __syncthreads();
    if (threadIdx.x) return;
    wide at = (wide)ring;
    Stopwatch watch(clocks);
    #pragma unroll 16
    for (int i = 0; i < steps; i++) at = next<L1>(at);
    watch.stop();
    last[0] = at - (wide)ring;
}

extern "C" __global__ void through(const char *ring, wide *last, wide *clocks, word stride, word hop, word warm, int steps) {
    follow<true>(ring, last, clocks, stride, hop, warm, steps);
}

extern "C" __global__ void past(const char *ring, wide *last, wide *clocks, word stride, word hop, word warm, int steps) {
    follow<false>(ring, last, clocks, stride, hop, warm, steps);
}

extern __shared__ word local[];

extern "C" __global__ void inShared(wide *last, wide *clocks, int entries, int stride, int steps) {
    word base = (word)__cvta_generic_to_shared(local);
    #pragma unroll 1
    for (int i = threadIdx.x; i < entries; i += blockDim.x) local[i] = base + 4 * ((i + stride) % entries);
    __syncthreads();
    if (threadIdx.x) return;
    word at = base;
    Stopwatch watch(clocks);
    #pragma unroll 16
    for (int i = 0; i < steps; i++) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at) :: "memory");
    watch.stop();
    last[0] = (at - base) / 4;
}
