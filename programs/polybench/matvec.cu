// Products of a matrix of n x n and a vector, as atax, bicg, gesummv and mvt of Polybench use them: a thread per row or column, with the sum
// kept in memory. A thread per row reads the matrix with a stride of n; a thread per column reads neighbouring elements.
// The benchmark fixes n when it is compiled, so that there is a kernel for its 4096, too.
template <int FIXED> __device__ __forceinline__ void addRowsOf(const float *a, const float *x, float *y, int n) {
    if (FIXED) n = FIXED;
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    for (int k = 0; k < n; k++) y[row] += a[row * n + k] * x[k];
}

extern "C" __global__ void addRows(const float *a, const float *x, float *y, int n) {
    addRowsOf<0>(a, x, y, n);
}

extern "C" __global__ void addRows4096(const float *a, const float *x, float *y, int n) {
    addRowsOf<4096>(a, x, y, n);
}

template <int FIXED> __device__ __forceinline__ void addColumnsOf(const float *a, const float *x, float *y, int n) {
    if (FIXED) n = FIXED;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n) return;
    for (int k = 0; k < n; k++) y[column] += a[k * n + column] * x[k];
}

extern "C" __global__ void addColumns(const float *a, const float *x, float *y, int n) {
    addColumnsOf<0>(a, x, y, n);
}

extern "C" __global__ void addColumns4096(const float *a, const float *x, float *y, int n) {
    addColumnsOf<4096>(a, x, y, n);
}

// The same, from zero.
template <int FIXED> __device__ __forceinline__ void rowsOf(const float *a, const float *x, float *y, int n) {
    if (FIXED) n = FIXED;
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    y[row] = 0;
    for (int k = 0; k < n; k++) y[row] += a[row * n + k] * x[k];
}

extern "C" __global__ void rows(const float *a, const float *x, float *y, int n) {
    rowsOf<0>(a, x, y, n);
}

extern "C" __global__ void rows4096(const float *a, const float *x, float *y, int n) {
    rowsOf<4096>(a, x, y, n);
}

template <int FIXED> __device__ __forceinline__ void columnsOf(const float *a, const float *x, float *y, int n) {
    if (FIXED) n = FIXED;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n) return;
    y[column] = 0;
    for (int k = 0; k < n; k++) y[column] += a[k * n + column] * x[k];
}

extern "C" __global__ void columns(const float *a, const float *x, float *y, int n) {
    columnsOf<0>(a, x, y, n);
}

extern "C" __global__ void columns4096(const float *a, const float *x, float *y, int n) {
    columnsOf<4096>(a, x, y, n);
}

// y = alpha * a * x + beta * b * x.
template <int FIXED> __device__ __forceinline__ void gesummvOf(const float *a, const float *b, const float *x, float *y, float *partial, int n, float alpha, float beta) {
    if (FIXED) n = FIXED;
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    for (int k = 0; k < n; k++) {
        partial[row] += a[row * n + k] * x[k];
        y[row] += b[row * n + k] * x[k];
    }
    y[row] = alpha * partial[row] + beta * y[row];
}

extern "C" __global__ void gesummv(const float *a, const float *b, const float *x, float *y, float *partial, int n, float alpha, float beta) {
    gesummvOf<0>(a, b, x, y, partial, n, alpha, beta);
}

extern "C" __global__ void gesummv4096(const float *a, const float *b, const float *x, float *y, float *partial, int n, float alpha, float beta) {
    gesummvOf<4096>(a, b, x, y, partial, n, alpha, beta);
}
