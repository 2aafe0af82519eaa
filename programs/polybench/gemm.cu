// c = alpha * a * b + beta * c, a thread per element, the sum kept in memory as Polybench does. All matrices are n x n and row-major.
// The benchmark fixes n when it is compiled, so that there is a kernel for its 512, too.
template <int FIXED> __device__ __forceinline__ void gemmOf(const float *a, const float *b, float *c, int n, float alpha, float beta) {
    if (FIXED) n = FIXED;
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n) return;
    c[row * n + column] *= beta;
    for (int k = 0; k < n; k++) c[row * n + column] += alpha * a[row * n + k] * b[k * n + column];
}

extern "C" __global__ void gemm(const float *a, const float *b, float *c, int n, float alpha, float beta) {
    gemmOf<0>(a, b, c, n, alpha, beta);
}

extern "C" __global__ void gemm512(const float *a, const float *b, float *c, int n, float alpha, float beta) {
    gemmOf<512>(a, b, c, n, alpha, beta);
}
