// What feeds tensor cores: asynchronous copies into shared memory, loads of matrices from there, and mma.sync of bf16.
#include "timing.cuh"

extern __shared__ __align__(1024) char tile[];

// A copy of `bytes` by the CTA per round, waited for before the next one. With `warm` the bytes of all rounds are read before.
extern "C" __global__ void copyAsync(const char *in, word *out, wide *clocks, int bytes, int warm, int rounds) {
    word to = (word)__cvta_generic_to_shared(tile), sum = 0;
    #pragma unroll 1
    for (int i = 0; i < warm; i++)
        #pragma unroll 1
        for (int b = threadIdx.x * 16; b < bytes; b += 16 * blockDim.x) {
            word value;
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(in + i * 8192ll + b) : "memory");
            sum += value;
        }
    if (sum == NEVER) out[0] = sum;
    __syncthreads();
    Stopwatch watch(clocks);
    #pragma unroll 1
    for (int i = 0; i < rounds; i++) {
        #pragma unroll 1
        for (int b = threadIdx.x * 16; b < bytes; b += 16 * blockDim.x)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to + b), "l"(in + i * 8192ll + b) : "memory");
        asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    }
    watch.stop();
}

// Eight loads of four matrices per round.
extern "C" __global__ void matrixLoads(word *out, wide *clocks, int rounds, int step) {
    word at = (word)__cvta_generic_to_shared(tile) + 16 * (threadIdx.x % 32), sum = 0;
    for (int i = threadIdx.x; i < 16384; i += blockDim.x) ((word *)tile)[i] = i;
    __syncthreads();
    Stopwatch watch(clocks);
    #pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        #pragma unroll
        for (int k = 0; k < 8; k++) {
            word a, b, c, d;
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at + k * 4096 + round * step));
            sum += a + b + c + d;
        }
    }
    watch.stop();
    if (sum == NEVER) out[0] = sum;
}

__device__ __forceinline__ void multiply(float (&d)[4], const word (&a)[4], const word (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Eight products per round: in one chain, or in four.
extern "C" __global__ void products(const word *in, float *out, wide *clocks, int chains, int rounds) {
    word a[4] = {in[0], in[1], in[2], in[3]}, b[2] = {in[4], in[5]};
    float d[4][4] = {};
    __syncthreads();
    Stopwatch watch(clocks);
    if (chains == 1)
        #pragma unroll 1
        for (int round = 0; round < rounds; round++) {
            #pragma unroll
            for (int k = 0; k < 8; k++) multiply(d[0], a, b);
        }
    else
        #pragma unroll 1
        for (int round = 0; round < rounds; round++) {
            #pragma unroll
            for (int k = 0; k < 8; k++) multiply(d[k % 4], a, b);
        }
    watch.stop();
    float sum = 0;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 4; i++) sum += d[k][i];
    out[threadIdx.x] = sum;
}
