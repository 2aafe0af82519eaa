// Merge sort of keys with values: parts of 1024 in shared memory, where every thread finds the places of two keys by binary search; then rounds
// of merging in device memory, in pieces of 128 whose borders are found first: ranks of samples in the other part, merged borders, pieces.
#define PIECE 128

template <bool INCLUSIVE> __device__ __forceinline__ unsigned search(unsigned key, const unsigned *data, unsigned length, unsigned stride) {
    if (length == 0) return 0;
    unsigned at = 0;
    for (; stride > 0; stride >>= 1) {
        unsigned next = min(at + stride, length);
        if (INCLUSIVE ? data[next - 1] <= key : data[next - 1] < key) at = next;
    }
    return at;
}

__device__ __forceinline__ unsigned power(unsigned x) {
    return 1u << (32 - __clz(x - 1));
}

extern "C" __global__ void sortShared(unsigned *outKeys, unsigned *outValues, const unsigned *inKeys, const unsigned *inValues, unsigned length) {
    __shared__ unsigned keys[1024], values[1024];
    unsigned at = blockIdx.x * 1024 + threadIdx.x;
    keys[threadIdx.x] = inKeys[at];
    values[threadIdx.x] = inValues[at];
    keys[threadIdx.x + 512] = inKeys[at + 512];
    values[threadIdx.x + 512] = inValues[at + 512];
    for (unsigned stride = 1; stride < length; stride <<= 1) {
        unsigned low = threadIdx.x & (stride - 1), *k = keys + 2 * (threadIdx.x - low), *v = values + 2 * (threadIdx.x - low);
        __syncthreads();
        unsigned keyA = k[low], valueA = v[low], keyB = k[low + stride], valueB = v[low + stride];
        unsigned a = search<false>(keyA, k + stride, stride, stride) + low, b = search<true>(keyB, k, stride, stride) + low;
        __syncthreads();
        k[a] = keyA;
        v[a] = valueA;
        k[b] = keyB;
        v[b] = valueB;
    }
    __syncthreads();
    outKeys[at] = keys[threadIdx.x];
    outValues[at] = values[threadIdx.x];
    outKeys[at + 512] = keys[threadIdx.x + 512];
    outValues[at + 512] = values[threadIdx.x + 512];
}

// The rank of every 128th key of one part in the other part, and the other way round. `stride` keys are sorted already; all parts are full.
extern "C" __global__ void sampleRanks(unsigned *ranksA, unsigned *ranksB, const unsigned *keys, unsigned stride, unsigned threads) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= threads) return;
    unsigned sample = i & (stride / PIECE - 1), begin = (i - sample) * (2 * PIECE);
    keys += begin;
    ranksA += begin / PIECE;
    ranksB += begin / PIECE;
    ranksA[sample] = sample * PIECE;
    ranksB[sample] = search<false>(keys[sample * PIECE], keys + stride, stride, power(stride));
    ranksB[stride / PIECE + sample] = sample * PIECE;
    ranksA[stride / PIECE + sample] = search<true>(keys[stride + sample * PIECE], keys, stride, power(stride));
}

// The ranks of both parts, merged: borders of pieces.
extern "C" __global__ void mergeRanks(unsigned *limits, const unsigned *ranks, unsigned stride, unsigned threads) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= threads) return;
    unsigned half = stride / PIECE, sample = i & (half - 1), begin = (i - sample) * 2;
    ranks += begin;
    limits += begin;
    unsigned a = search<false>(ranks[sample], ranks + half, half, power(half)) + sample;
    limits[a] = ranks[sample];
    unsigned b = search<true>(ranks[half + sample], ranks, half, power(half)) + sample;
    limits[b] = ranks[half + sample];
}

extern "C" __global__ void mergePieces(unsigned *outKeys, unsigned *outValues, const unsigned *inKeys, const unsigned *inValues,
                                       const unsigned *limitsA, const unsigned *limitsB, unsigned stride) {
    __shared__ unsigned keys[2 * PIECE], values[2 * PIECE], beginA, beginB, lengthA, lengthB;
    unsigned piece = blockIdx.x & (2 * stride / PIECE - 1), base = (blockIdx.x - piece) * PIECE, t = threadIdx.x;
    inKeys += base;
    inValues += base;
    outKeys += base;
    outValues += base;
    if (t == 0) {
        bool last = piece == 2 * stride / PIECE - 1;
        beginA = limitsA[blockIdx.x];
        beginB = limitsB[blockIdx.x];
        lengthA = (last ? stride : limitsA[blockIdx.x + 1]) - beginA;
        lengthB = (last ? stride : limitsB[blockIdx.x + 1]) - beginB;
    }
    __syncthreads();
    if (t < lengthA) {
        keys[t] = inKeys[beginA + t];
        values[t] = inValues[beginA + t];
    }
    if (t < lengthB) {
        keys[PIECE + t] = inKeys[stride + beginB + t];
        values[PIECE + t] = inValues[stride + beginB + t];
    }
    __syncthreads();
    unsigned keyA, valueA, keyB, valueB, a, b;
    if (t < lengthA) {
        keyA = keys[t];
        valueA = values[t];
        a = t + search<false>(keyA, keys + PIECE, lengthB, PIECE);
    }
    if (t < lengthB) {
        keyB = keys[PIECE + t];
        valueB = values[PIECE + t];
        b = t + search<true>(keyB, keys, lengthA, PIECE);
    }
    __syncthreads();
    unsigned begin = beginA + beginB;
    if (t < lengthA) {
        keys[a] = keyA;
        values[a] = valueA;
    }
    if (t < lengthB) {
        keys[b] = keyB;
        values[b] = valueB;
    }
    __syncthreads();
    for (unsigned i = t; i < lengthA + lengthB; i += PIECE) {
        outKeys[begin + i] = keys[i];
        outValues[begin + i] = values[i];
    }
}
