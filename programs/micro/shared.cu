// Latency and bandwidth of shared memory, alone and together with the L1.
typedef unsigned long long word;

// The threads make a ring of indices, which one thread follows.
extern "C" __global__ void latency(word *last, unsigned *clocks, unsigned stride, int steps) {
    __shared__ word ring[6144];
    for (unsigned i = threadIdx.x; i < 6144 - stride; i += blockDim.x) ring[i] = (i + stride) % 6144;
    if (threadIdx.x) return;
    unsigned begin = clock();
    word at = 0;
    for (int i = 0; i < steps; i++) at = ring[at];
    clocks[0] = begin;
    clocks[1] = clock();
    last[0] = at;
}

// Every thread adds up four neighbouring words per round, one word further each time.
extern "C" __global__ void bandwidth(float *out, unsigned *clocks, int rounds) {
    __shared__ float values[12288];
    for (unsigned i = threadIdx.x; i < 12288; i += blockDim.x) values[i] = i;
    float a = 0, b = 0, c = 0, d = 0;
    __syncthreads();
    unsigned begin = clock();
    for (unsigned i = 0; i < rounds; i++)
        for (unsigned j = threadIdx.x * 4; j < 12288 - rounds; j += 4 * blockDim.x) {
            a += values[j + i];
            b += values[j + 1 + i];
            c += values[j + 2 + i];
            d += values[j + 3 + i];
        }
    __syncthreads();
    clocks[2 * threadIdx.x] = begin;
    clocks[2 * threadIdx.x + 1] = clock();
    out[threadIdx.x] = a + b + c + d;
}

// Every thread follows a ring in shared memory and one in the L1 at the same time, after it has been round the latter once.
extern "C" __global__ void both(const unsigned *ring, unsigned *last, unsigned *clocks, unsigned stride, int entries, int steps) {
    __shared__ unsigned own[12288];
    unsigned here = threadIdx.x, there = threadIdx.x;
    for (unsigned i = threadIdx.x; i < 12288; i += blockDim.x) own[i] = (i + stride + 7) % 12288;
    for (int i = 0; i < entries; i++) there = ring[there];
    __syncthreads();
    unsigned begin = clock();
    for (int i = 0; i < steps; i++) {
        here = own[here];
        there = ring[there];
    }
    __syncthreads();
    clocks[2 * threadIdx.x] = begin;
    clocks[2 * threadIdx.x + 1] = clock();
    last[threadIdx.x] = here + there;
}
