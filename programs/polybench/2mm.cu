// Adds a product of matrices to c: a thread per element, the sum kept in memory as Polybench does. Row-major; a is n x m, b is m x w.
extern "C" __global__ void addProduct(const float *a, const float *b, float *c, int n, int m, int w) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= w) return;
    for (int k = 0; k < m; k++) c[row * w + column] += a[row * m + k] * b[k * w + column];
}
