// Bandwidth of the L1 and of shared memory of one SM, by the width of an access, by the stride between lanes and by warps. Eight accesses per
// round; a round reads the same bytes as the one before it, so that all but the first hit.
#include "timing.cuh"

extern __shared__ __align__(1024) word local[];

template <int BYTES, bool L1> __device__ __forceinline__ word global(wide at) {
    word a, b = 0, c = 0, d = 0;
    if (BYTES == 4 && L1) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(a) : "l"(at));
    else if (BYTES == 4) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(a) : "l"(at));
    else if (BYTES == 8) asm volatile("ld.global.ca.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"(at));
    else asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(at));
    return a + b + c + d;
}

template <int BYTES> __device__ __forceinline__ word shared(word at) {
    word a, b = 0, c = 0, d = 0;
    if (BYTES == 4) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a) : "r"(at));
    else if (BYTES == 8) asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
    else asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
    return a + b + c + d;
}

template <int BYTES, bool L1, int APART> __device__ __forceinline__ void read(wide at, word *out, wide *clocks, int rounds, int step) {
    word sum = 0;
    __syncthreads();
    Stopwatch watch(clocks);
    #pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        #pragma unroll
        for (int k = 0; k < 8; k++) sum += global<BYTES, L1>(at + k * APART + round * step);
    }
    watch.stop();
    if (sum == NEVER) out[0] = sum;
}

// Lanes that follow one another; warps beyond the eighth read what others read.
extern "C" __global__ void l1Width(const char *in, word *out, wide *clocks, int bytes, int rounds, int step) {
    wide at = (wide)in + bytes * (threadIdx.x % 256);
    if (bytes == 4) read<4, true, 4096>(at, out, clocks, rounds, step);
    else if (bytes == 8) read<8, true, 4096>(at, out, clocks, rounds, step);
    else read<16, true, 4096>(at, out, clocks, rounds, step);
}

// Lanes `stride` bytes apart: through the L1, where all warps read the same, or past it, where each reads its own.
extern "C" __global__ void l1Stride(const char *in, word *out, wide *clocks, int stride, int rounds, int step) {
    read<4, true, 16384>((wide)in + (wide)stride * (threadIdx.x % 32), out, clocks, rounds, step);
}

extern "C" __global__ void llcStride(const char *in, word *out, wide *clocks, int stride, int rounds, int step) {
    read<4, false, 16384>((wide)in + (wide)stride * (threadIdx.x % 32) + 4096ull * (threadIdx.x / 32), out, clocks, rounds, step);
}

template <int BYTES> __device__ __forceinline__ void sharedRead(int stride, word *out, wide *clocks, int rounds, int step) {
    for (int i = threadIdx.x; i < 16384; i += blockDim.x) local[i] = i;
    word at = (word)__cvta_generic_to_shared(local) + BYTES * stride * (threadIdx.x % 32) % 28672, sum = 0;
    __syncthreads();
    Stopwatch watch(clocks);
    #pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        #pragma unroll
        for (int k = 0; k < 8; k++) sum += shared<BYTES>(at + k * 4096 + round * step);
    }
    watch.stop();
    if (sum == NEVER) out[0] = sum;
}

// Lanes `stride` accesses apart.
extern "C" __global__ void sharedWidth(word *out, wide *clocks, int bytes, int stride, int rounds, int step) {
    if (bytes == 4) sharedRead<4>(stride, out, clocks, rounds, step);
    else if (bytes == 8) sharedRead<8>(stride, out, clocks, rounds, step);
    else sharedRead<16>(stride, out, clocks, rounds, step);
}
