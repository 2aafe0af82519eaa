// Barriers and fences, one per round, and a kernel that does nothing.
#include "timing.cuh"

extern "C" __global__ void barriers(word *out, wide *clocks, int rounds) {
    __syncthreads();
    Stopwatch watch(clocks);
    #pragma unroll 8
    for (int i = 0; i < rounds; i++) asm volatile("bar.sync 0;" ::: "memory");
    watch.stop();
    out[threadIdx.x] = rounds;
}

// `scope` 0: CTA, 1: GPU, 2: system. A store goes before each fence.
extern "C" __global__ void fences(word *to, wide *clocks, int scope, int rounds) {
    Stopwatch watch(clocks);
    #pragma unroll 8
    for (int i = 0; i < rounds; i++) {
        to[threadIdx.x] = i;
        if (scope == 0) asm volatile("fence.acq_rel.cta;" ::: "memory");
        else if (scope == 1) asm volatile("fence.acq_rel.gpu;" ::: "memory");
        else asm volatile("fence.acq_rel.sys;" ::: "memory");
    }
    watch.stop();
}

extern "C" __global__ void nothing() {}
