// Bandwidth of each level: all threads read what is there already, many times over, and add it up.
__device__ float hit(const float *at) {
    float value;
    asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(value) : "l"(at) : "memory");
    return value;
}

__device__ float past(const float *at) {
    float value;
    asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(at) : "memory");
    return value;
}

// One CTA: four loads of neighbouring lines per round from an array that fits the L1.
extern "C" __global__ void l1(const float *in, float *out, unsigned *clocks, int entries, int rounds) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    float a = 0, b = 0, c = 0, d = 0;
    for (int i = threadIdx.x; i < entries; i += blockDim.x) a += hit(in + i);
    __syncthreads();
    unsigned begin = clock();
    for (int j = 0; j < rounds; j++) {
        const float *at = in + (threadIdx.x + j * 128u) % (unsigned)entries;
        a += hit(at);
        b += hit(at + 32);
        c += hit(at + 64);
        d += hit(at + 96);
    }
    __syncthreads();
    clocks[2 * thread] = begin;
    clocks[2 * thread + 1] = clock();
    out[thread] = a + b + c + d;
}

// All CTAs: a load per round, one line further each time, past the L1.
extern "C" __global__ void l2(const float *in, float *out, unsigned *clocks, int entries, int rounds) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = thread; i < entries; i += gridDim.x * blockDim.x) sum += past(in + i);
    __syncthreads();
    unsigned begin = clock();
    for (int i = 0; i < rounds; i++) sum += past(in + thread + i * 32);
    __syncthreads();
    clocks[2 * thread] = begin;
    clocks[2 * thread + 1] = clock();
    out[thread] = sum;
}

// out = the sum of five arrays, four floats at a time.
extern "C" __global__ void memory(const float4 *a, const float4 *b, float4 *out, const float4 *d, const float4 *e, const float4 *f,
                                  unsigned *clocks, int quads) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    __syncthreads();
    unsigned begin = clock();
    for (int i = thread; i < quads; i += blockDim.x * gridDim.x) {
        float4 v = a[i], w = b[i], x = d[i], y = e[i], z = f[i];
        out[i] = make_float4(v.x + w.x + x.x + y.x + z.x, v.y + w.y + x.y + y.y + z.y, v.z + w.z + x.z + y.z + z.z, v.w + w.w + x.w + y.w + z.w);
    }
    __syncthreads();
    clocks[2 * thread] = begin;
    clocks[2 * thread + 1] = clock();
}
