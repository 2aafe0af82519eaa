// Throughput of fused multiply-adds: four that depend on one another per round.
extern "C" __global__ void multiplyAdd(const float *a, const float *b, float *out, unsigned *clocks, int rounds) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[thread], y = b[thread], sum = 0;
    __syncthreads();
    unsigned begin = clock();
    for (int i = 0; i < rounds; i++)
        asm volatile("fma.rn.f32 %0, %1, %2, %0;\n\tfma.rn.f32 %0, %1, %2, %0;\n\t"
                     "fma.rn.f32 %0, %1, %2, %0;\n\tfma.rn.f32 %0, %1, %2, %0;"
                     : "+f"(sum) : "f"(x), "f"(y));
    __syncthreads();
    clocks[2 * thread] = begin;
    clocks[2 * thread + 1] = clock();
    out[thread] = sum;
}
