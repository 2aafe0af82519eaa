// Exclusive prefix sum in three launches: per block, over the blocks' sums, and the addition of these.
extern "C" __global__ void scanBlocks(const unsigned *in, unsigned *out, unsigned *sums, int n) {
    extern __shared__ unsigned values[];
    int thread = threadIdx.x, i = blockIdx.x * blockDim.x + thread;
    unsigned own = i < n ? in[i] : 0;
    values[thread] = own;
    __syncthreads();
    for (int offset = 1; offset < blockDim.x; offset *= 2) {
        unsigned left = thread >= offset ? values[thread - offset] : 0;
        __syncthreads();
        values[thread] += left;
        __syncthreads();
    }
    if (i < n) out[i] = values[thread] - own;
    if (thread == blockDim.x - 1 && sums) sums[blockIdx.x] = values[thread];
}

extern "C" __global__ void addOffsets(unsigned *out, const unsigned *offsets, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += offsets[blockIdx.x];
}
