// Exclusive prefix sums of many arrays: four elements per thread, sums of a CTA's threads in shared memory that is twice as wide, so that reads
// to the left of the first find zeros. Arrays longer than 1024 need a second pass over their sums and the addition of these.
__device__ __forceinline__ unsigned inclusive(unsigned value, volatile unsigned *part, unsigned size) {
    unsigned at = 2 * threadIdx.x - (threadIdx.x & (size - 1));
    part[at] = 0;
    at += size;
    part[at] = value;
    for (unsigned offset = 1; offset < size; offset <<= 1) {
        __syncthreads();
        unsigned sum = part[at] + part[at - offset];
        __syncthreads();
        part[at] = sum;
    }
    return part[at];
}

__device__ __forceinline__ uint4 exclusive4(uint4 v, unsigned *part, unsigned size) {
    v.y += v.x;
    v.z += v.y;
    v.w += v.z;
    unsigned before = inclusive(v.w, part, size / 4) - v.w;
    return make_uint4(before, before + v.x, before + v.y, before + v.z);
}

extern "C" __global__ void scanShared(uint4 *out, const uint4 *in, unsigned size) {
    __shared__ unsigned part[512];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = exclusive4(in[i], part, size);
}

// Scans the last sums of all parts of 1024: their exclusive sum plus their last element.
extern "C" __global__ void scanSums(unsigned *sums, const unsigned *out, const unsigned *in, unsigned count, unsigned size) {
    __shared__ unsigned part[512];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, value = 0;
    if (i < count) value = out[1023 + 1024 * i] + in[1023 + 1024 * i];
    unsigned sum = inclusive(value, part, size) - value;
    if (i < count) sums[i] = sum;
}

extern "C" __global__ void addSums(uint4 *out, const unsigned *sums) {
    __shared__ unsigned sum;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) sum = sums[blockIdx.x];
    __syncthreads();
    uint4 v = out[i];
    out[i] = make_uint4(v.x + sum, v.y + sum, v.z + sum, v.w + sum);
}
