// Atomics: chains of one thread, and reductions of many threads on one word, on a word per warp and on a word per lane.
#include "timing.cuh"

extern "C" __global__ void globalChain(word *at, word *out, wide *clocks, int rounds) {
    word value = 0;
    Stopwatch watch(clocks);
    #pragma unroll 8
    for (int i = 0; i < rounds; i++) asm volatile("atom.global.add.u32 %0, [%1], %0;" : "+r"(value) : "l"(at) : "memory");
    watch.stop();
    out[0] = value;
}

extern "C" __global__ void sharedChain(word *out, wide *clocks, int rounds) {
    __shared__ word counter;
    counter = 1;
    word value = 0, at = (word)__cvta_generic_to_shared(&counter);
    Stopwatch watch(clocks);
    #pragma unroll 8
    for (int i = 0; i < rounds; i++) asm volatile("atom.shared.add.u32 %0, [%1], %0;" : "+r"(value) : "r"(at) : "memory");
    watch.stop();
    out[0] = value;
}

// `spread` 0: all threads of the grid on one word; 1: a line of 128 bytes for each warp, 4096 in all; 2: a word for each thread, 131072 in all.
extern "C" __global__ void reductions(word *at, wide *clocks, int spread, int rounds) {
    word thread = blockIdx.x * blockDim.x + threadIdx.x;
    word *own = spread == 1 ? at + 32 * (thread / 32 % 4096) : at + thread % 131072;
    Stopwatch watch(clocks);
    if (spread == 0) { // All lanes have one address, and the compiler lets one of them add for its warp.
        #pragma unroll 8
        for (int i = 0; i < rounds; i++) asm volatile("red.global.add.u32 [%0], 1;" :: "l"(at) : "memory");
    } else {
        #pragma unroll 8
        for (int i = 0; i < rounds; i++) asm volatile("red.global.add.u32 [%0], 1;" :: "l"(own) : "memory");
    }
    watch.stop();
}

// Lanes `spread` words apart in shared memory.
extern "C" __global__ void sharedReductions(word *out, wide *clocks, int spread, int rounds) {
    __shared__ word counters[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) counters[i] = 0;
    word at = (word)__cvta_generic_to_shared(counters) + 4 * (threadIdx.x * spread % 1024);
    __syncthreads();
    Stopwatch watch(clocks);
    #pragma unroll 8
    for (int i = 0; i < rounds; i++) asm volatile("red.shared.add.u32 [%0], 1;" :: "r"(at) : "memory");
    watch.stop();
    __syncthreads();
    if (threadIdx.x < 32) out[threadIdx.x] = counters[threadIdx.x];
}
