// C = A * B for square row-major matrices, 16 x 16 tiles in shared memory. n is a multiple of 16.
#define TILE 16
extern "C" __global__ void sgemm(const float *a, const float *b, float *c, int n) {
    __shared__ float tileA[TILE][TILE], tileB[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        tileA[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        tileB[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += tileA[threadIdx.y][i] * tileB[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
