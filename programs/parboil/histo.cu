// A histogram whose bins saturate at 255. Most of the input falls into a few bins in the middle: these are counted in shared memory, a range of
// `BINS` per CTA of the second dimension, the others with atomic additions to device memory.
#define BINS 4096

// The least and the largest row of bins in a sample of the input.
extern "C" __global__ void sample(const unsigned *in, int size, int *range) {
    __shared__ int least[512], most[512];
    int t = threadIdx.x, part = size / gridDim.x, low = 1 << 30, high = 0;
    for (int i = blockIdx.x * part + t; i < blockIdx.x * part + part / 8; i += blockDim.x) {
        int row = in[i] / BINS;
        low = min(low, row);
        high = max(high, row);
    }
    least[t] = low;
    most[t] = high;
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) {
            least[t] = min(least[t], least[t + stride]);
            most[t] = max(most[t], most[t + stride]);
        }
    }
    if (t == 0) {
        atomicMin(range, least[0]);
        atomicMax(range + 1, most[0]);
    }
}

extern "C" __global__ void count(const unsigned *in, int size, int row, int rows, unsigned *bins) {
    __shared__ unsigned own[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) own[i] = 0;
    __syncthreads();
    unsigned mine = row + blockIdx.y;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x) {
        unsigned bin = in[i];
        if (bin / BINS == mine) atomicAdd(&own[bin % BINS], 1);
        else if (blockIdx.y == 0 && (bin / BINS < row || bin / BINS >= row + rows)) atomicAdd(&bins[bin], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        if (own[i]) atomicAdd(&bins[mine * BINS + i], own[i]);
}

extern "C" __global__ void saturate(const uint4 *bins, uchar4 *out, int quads) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += blockDim.x * gridDim.x) {
        uint4 four = bins[i];
        out[i] = make_uchar4(min(four.x, 255), min(four.y, 255), min(four.z, 255), min(four.w, 255));
    }
}
