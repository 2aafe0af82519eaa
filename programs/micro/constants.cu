// A chase through constant memory.
#include "timing.cuh"

// The launch file fills the ring of indices.
__constant__ word fixed[4096];

extern "C" __global__ void inConstants(wide *last, wide *clocks, int warm, int steps) {
    word at = threadIdx.x;
    #pragma unroll 1
    for (int i = 0; i < warm; i++) at = fixed[at];
    Stopwatch watch(clocks);
    #pragma unroll 16
    for (int i = 0; i < steps; i++) at = fixed[at];
    watch.stop();
    last[0] = at;
}
