// Fetch of straight code: a round is the first `length` multiply-adds of 4096, in four chains. `length` is a power of two from 128 on.
#include "timing.cuh"

template <int COUNT> __device__ __forceinline__ void run(float (&x)[4], float y, float z) {
    #pragma unroll
    for (int i = 0; i < COUNT; i++) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[i % 4]) : "f"(y), "f"(z));
}

extern "C" __global__ void straight(const float *in, float *out, wide *clocks, int length, int rounds) {
    float x[4] = {in[0], in[1], in[2], in[3]}, y = in[4], z = in[5];
    Stopwatch watch(clocks);
    #pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        run<128>(x, y, z);
        if (length <= 128) continue;
        run<128>(x, y, z);
        if (length <= 256) continue;
        run<256>(x, y, z);
        if (length <= 512) continue;
        run<512>(x, y, z);
        if (length <= 1024) continue;
        run<1024>(x, y, z);
        if (length <= 2048) continue;
        run<2048>(x, y, z);
    }
    watch.stop();
    out[threadIdx.x] = x[0] + x[1] + x[2] + x[3];
}
