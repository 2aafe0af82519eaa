// A 3 x 3 convolution of a matrix of n x n; the border is left as it is. A thread per element, CTAs of 32 x 8.
// The benchmark fixes n when it is compiled, so that there is a kernel for its 4096, too.
template <int FIXED> __device__ __forceinline__ void convolveOf(const float *in, float *out, int n) {
    if (FIXED) n = FIXED;
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
    const float *up = in + (y - 1) * n + x, *at = up + n, *down = at + n;
    out[y * n + x] = 0.2f * up[-1] + 0.5f * up[0] - 0.8f * up[1] - 0.3f * at[-1] + 0.6f * at[0] - 0.9f * at[1] + 0.4f * down[-1] +
                     0.7f * down[0] + 0.1f * down[1];
}

extern "C" __global__ void convolve(const float *in, float *out, int n) {
    convolveOf<0>(in, out, n);
}

extern "C" __global__ void convolve4096(const float *in, float *out, int n) {
    convolveOf<4096>(in, out, n);
}
