// Sorting of keys with values by a bitonic network: parts of 1024 in shared memory, longer distances in device memory.
__device__ __forceinline__ void order(unsigned &keyA, unsigned &valueA, unsigned &keyB, unsigned &valueB, unsigned up) {
    if ((keyA > keyB) == up) {
        unsigned t = keyA;
        keyA = keyB;
        keyB = t;
        t = valueA;
        valueA = valueB;
        valueB = t;
    }
}

__device__ __forceinline__ void steps(unsigned *keys, unsigned *values, unsigned stride, unsigned up) {
    for (; stride > 0; stride >>= 1) {
        __syncthreads();
        unsigned at = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
        order(keys[at], values[at], keys[at + stride], values[at + stride], up);
    }
}

#define LOAD                                                                   \
    __shared__ unsigned keys[1024], values[1024];                              \
    unsigned at = blockIdx.x * 1024 + threadIdx.x;                             \
    keys[threadIdx.x] = inKeys[at];                                            \
    values[threadIdx.x] = inValues[at];                                        \
    keys[threadIdx.x + 512] = inKeys[at + 512];                                \
    values[threadIdx.x + 512] = inValues[at + 512];
#define STORE                                                                  \
    __syncthreads();                                                           \
    outKeys[at] = keys[threadIdx.x];                                           \
    outValues[at] = values[threadIdx.x];                                       \
    outKeys[at + 512] = keys[threadIdx.x + 512];                               \
    outValues[at + 512] = values[threadIdx.x + 512];

// Parts of 1024: odd ones descend, so that pairs of them are bitonic.
extern "C" __global__ void sortShared(unsigned *outKeys, unsigned *outValues, const unsigned *inKeys, const unsigned *inValues) {
    LOAD
    for (unsigned size = 2; size < 1024; size <<= 1) steps(keys, values, size / 2, (threadIdx.x & (size / 2)) != 0);
    steps(keys, values, 512, blockIdx.x & 1);
    STORE
}

extern "C" __global__ void mergeGlobal(unsigned *outKeys, unsigned *outValues, const unsigned *inKeys, const unsigned *inValues,
                                       unsigned length, unsigned size, unsigned stride, unsigned up) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, down = up ^ ((i & (length / 2 - 1) & (size / 2)) != 0);
    unsigned at = 2 * i - (i & (stride - 1));
    unsigned keyA = inKeys[at], valueA = inValues[at], keyB = inKeys[at + stride], valueB = inValues[at + stride];
    order(keyA, valueA, keyB, valueB, down);
    outKeys[at] = keyA;
    outValues[at] = valueA;
    outKeys[at + stride] = keyB;
    outValues[at + stride] = valueB;
}

extern "C" __global__ void mergeShared(unsigned *outKeys, unsigned *outValues, const unsigned *inKeys, const unsigned *inValues,
                                       unsigned length, unsigned size, unsigned up) {
    LOAD
    unsigned i = (blockIdx.x * 512 + threadIdx.x) & (length / 2 - 1);
    steps(keys, values, 512, up ^ ((i & (size / 2)) != 0));
    STORE
}
