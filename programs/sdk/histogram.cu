// Histograms of bytes with 64 and with 256 bins: partial ones per CTA, then their sum, a CTA per bin.
__device__ __forceinline__ void count64(unsigned char *own, unsigned word) {
    own[((word >> 2) & 63) * 64]++;
    own[((word >> 10) & 63) * 64]++;
    own[((word >> 18) & 63) * 64]++;
    own[((word >> 26) & 63) * 64]++;
}

// A histogram of bytes per thread, 64 threads per CTA; bin after bin, with threads placed so that they do not use the same bank.
extern "C" __global__ void partial64(unsigned *partial, const uint4 *in, unsigned count) {
    unsigned t = threadIdx.x, place = (t & ~63u) | (t & 15) << 2 | (t & 48) >> 4;
    __shared__ unsigned char bins[64 * 64];
#pragma unroll
    for (unsigned i = 0; i < 16; i++) ((unsigned *)bins)[t + i * 64] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + t; i < count; i += blockDim.x * gridDim.x) {
        uint4 word = in[i];
        count64(bins + place, word.x);
        count64(bins + place, word.y);
        count64(bins + place, word.z);
        count64(bins + place, word.w);
    }
    __syncthreads();
    if (t >= 64) return;
    unsigned char *row = bins + t * 64;
    unsigned sum = 0, at = 4 * (t & 15);
#pragma unroll
    for (unsigned i = 0; i < 16; i++) {
        sum += row[at] + row[at + 1] + row[at + 2] + row[at + 3];
        at = (at + 4) & 63;
    }
    partial[blockIdx.x * 64 + t] = sum;
}

// A histogram per warp, six warps per CTA, with atomic additions.
extern "C" __global__ void partial256(unsigned *partial, const unsigned *in, unsigned count) {
    __shared__ unsigned bins[6 * 256];
    unsigned t = threadIdx.x, *own = bins + (t >> 5) * 256;
#pragma unroll
    for (unsigned i = 0; i < 8; i++) bins[t + i * 192] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + t; i < count; i += blockDim.x * gridDim.x) {
        unsigned word = in[i];
        atomicAdd(own + (word & 255), 1);
        atomicAdd(own + (word >> 8 & 255), 1);
        atomicAdd(own + (word >> 16 & 255), 1);
        atomicAdd(own + (word >> 24), 1);
    }
    __syncthreads();
    for (unsigned bin = t; bin < 256; bin += 192) {
        unsigned sum = 0;
        for (unsigned i = 0; i < 6; i++) sum += bins[bin + i * 256];
        partial[blockIdx.x * 256 + bin] = sum;
    }
}

extern "C" __global__ void merge(unsigned *histogram, const unsigned *partial, unsigned count, unsigned bins) {
    __shared__ unsigned part[256];
    unsigned sum = 0;
    for (unsigned i = threadIdx.x; i < count; i += 256) sum += partial[blockIdx.x + i * bins];
    part[threadIdx.x] = sum;
    for (unsigned stride = 128; stride > 0; stride >>= 1) {
        __syncthreads();
        if (threadIdx.x < stride) part[threadIdx.x] += part[threadIdx.x + stride];
    }
    if (threadIdx.x == 0) histogram[blockIdx.x] = part[0];
}
