// The sum of all elements: registers, then shuffles within a warp, then shared memory, then one atomic addition per CTA.
extern "C" __global__ void sum(const unsigned *in, unsigned *total, int n) {
    __shared__ unsigned partial[32];
    unsigned value = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += in[i];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = lane < (blockDim.x + 31) / 32 ? partial[lane] : 0;
        for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
        if (lane == 0) atomicAdd(total, value);
    }
}
