// One plane of a convolution in three dimensions with 15 taps of 11 points, which a launch per plane applies. The plane is z; taps lie in the
// planes before and after it and in itself, as Polybench places them.
// The benchmark fixes n when it is compiled, so that there is a kernel for its 256, too.
template <int FIXED> __device__ __forceinline__ void convolvePlaneOf(const float *in, float *out, int n, int z) {
    if (FIXED) n = FIXED;
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1) return;
    int plane = n * n, at = z * plane + y * n + x;
    const float *before = in + at - plane, *here = in + at, *after = in + at + plane;
    out[at] = 2 * before[-n - 1] + 4 * after[-n - 1] + 5 * before[-n - 1] + 7 * after[-n - 1] - 8 * before[-n - 1] + 10 * after[-n - 1] -
              3 * here[-n] + 6 * here[0] - 9 * here[n] + 2 * before[-n + 1] + 4 * after[-n + 1] + 5 * before[1] + 7 * after[1] -
              8 * before[n + 1] + 10 * after[n + 1];
}

extern "C" __global__ void convolvePlane(const float *in, float *out, int n, int z) {
    convolvePlaneOf<0>(in, out, n, z);
}

extern "C" __global__ void convolvePlane256(const float *in, float *out, int n, int z) {
    convolvePlaneOf<256>(in, out, n, z);
}
