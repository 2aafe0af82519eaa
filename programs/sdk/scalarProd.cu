// Dot products of pairs of vectors: a CTA per pair, 1024 partial sums in shared memory, then their sum as a tree.
extern "C" __global__ void dot(float *out, const float *a, const float *b, int vectors, int length) {
    __shared__ float sums[1024];
    for (int vector = blockIdx.x; vector < vectors; vector += gridDim.x) {
        int begin = length * vector, end = begin + length;
        for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
            float sum = 0;
            for (int at = begin + i; at < end; at += 1024) sum += a[at] * b[at];
            sums[i] = sum;
        }
        for (int stride = 512; stride > 0; stride >>= 1) {
            __syncthreads();
            for (int i = threadIdx.x; i < stride; i += blockDim.x) sums[i] += sums[stride + i];
        }
        if (threadIdx.x == 0) out[vector] = sums[0];
        __syncthreads();
    }
}
