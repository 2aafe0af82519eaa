// Two kernels that use complementary parts of a GPU ("Workload-aware scheduling techniques", Section 5.3): `add` reads two words of each
// thread and computes with them in a loop; `stream` copies some words of each thread.

// Multiplications of one iteration of `add`'s loop, half of them for each word: as many as make ten loops take as long as in the thesis.
#define STEPS 34

extern "C" __global__ void add(const float *a, const float *b, float *sum, float factor, int loops) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[thread], y = b[thread];
    for (int i = 0; i < loops; i++) {
#pragma unroll
        for (int step = 0; step < STEPS / 2; step++) {
            x *= factor;
            y *= factor;
        }
    }
    sum[thread] = x + y;
}

// Each thread reads up to four words and stores them.
extern "C" __global__ void stream(const float *in, float *out, int words) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    float value[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (i < words) value[i] = in[i * threads + thread];
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (i < words) out[i * threads + thread] = value[i];
}
