// Gaussian elimination, two launches per column: the multipliers of the column, then all rows below.
extern "C" __global__ void multipliers(float *m, const float *a, int n, int column) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n - 1 - column) return;
    m[n * (i + column + 1) + column] = a[n * (i + column + 1) + column] / a[n * column + column];
}

extern "C" __global__ void eliminate(const float *m, float *a, float *b, int n, int column) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n - 1 - column || y >= n - column) return;
    a[n * (x + 1 + column) + y + column] -= m[n * (x + 1 + column) + column] * a[n * column + y + column];
    if (y == 0) b[x + 1 + column] -= m[n * (x + 1 + column) + column] * b[column];
}

// A matrix that needs no exchange of rows.
extern "C" __global__ void makeMatrix(float *a, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < n) a[y * n + x] = 10.0f / (1.0f + abs(x - y));
}
