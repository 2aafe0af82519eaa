// Bandwidth of the LLC and of DRAM: all threads read, write or copy 16 bytes at a time, `rounds` times over. `scattered` reads single sectors.
#include "timing.cuh"

__device__ __forceinline__ uint4 quad(const uint4 *at) {
    uint4 value;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w) : "l"(at));
    return value;
}

// Four loads of every thread are on their way at once.
extern "C" __global__ void reads(const uint4 *in, word *out, wide *clocks, wide quads, int rounds) {
    wide threads = gridDim.x * (wide)blockDim.x, first = blockIdx.x * (wide)blockDim.x + threadIdx.x;
    word sum = 0;
    Stopwatch watch(clocks);
    #pragma unroll 1
    for (int round = 0; round < rounds; round++)
        for (wide i = first; i < quads; i += 4 * threads) {
            uint4 part[4];
            #pragma unroll
            for (int k = 0; k < 4; k++) part[k] = i + k * threads < quads ? quad(in + i + k * threads) : make_uint4(0, 0, 0, 0);
            #pragma unroll
            for (int k = 0; k < 4; k++) sum += part[k].x + part[k].y + part[k].z + part[k].w;
        }
    watch.stop();
    if (sum == NEVER) out[0] = sum;
}

extern "C" __global__ void writes(uint4 *to, wide *clocks, wide quads, int rounds) {
    wide threads = gridDim.x * (wide)blockDim.x, first = blockIdx.x * (wide)blockDim.x + threadIdx.x;
    Stopwatch watch(clocks);
    #pragma unroll 1
    for (int round = 0; round < rounds; round++)
        for (wide i = first; i < quads; i += threads) to[i] = make_uint4(round, 1, 2, 3);
    watch.stop();
}

extern "C" __global__ void copies(const uint4 *in, uint4 *to, wide *clocks, wide quads) {
    wide threads = gridDim.x * (wide)blockDim.x, first = blockIdx.x * (wide)blockDim.x + threadIdx.x;
    Stopwatch watch(clocks);
    for (wide i = first; i < quads; i += threads) to[i] = in[i];
    watch.stop();
}

// Eight loads per round, each of the first word of some sector; `sectors` is a power of two.
extern "C" __global__ void scattered(const word *in, word *out, wide *clocks, wide sectors, int rounds) {
    wide state = (blockIdx.x * (wide)blockDim.x + threadIdx.x) * 0x9e3779b97f4a7c15ull + 1;
    word sum = 0;
    Stopwatch watch(clocks);
    #pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        #pragma unroll
        for (int k = 0; k < 8; k++) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            word value;
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(in + (state >> 20 & sectors - 1) * 8));
            sum += value;
        }
    }
    watch.stop();
    if (sum == NEVER) out[0] = sum;
}
