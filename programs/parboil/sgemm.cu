// C = alpha * A * transpose(B) + beta * C, all stored column by column. A CTA of 16 x 8 threads has 128 rows and 16 columns: each thread keeps
// 16 sums in registers, B comes through shared memory, A straight from device memory.
#define N 16
#define H 8

extern "C" __global__ void sgemm(const float *a, int lda, const float *b, int ldb, float *c, int ldc, int k, float alpha, float beta) {
    __shared__ float part[H][N];
    float sum[N];
#pragma unroll
    for (int i = 0; i < N; i++) sum[i] = 0;
    int row = blockIdx.x * N * H + threadIdx.y * blockDim.x + threadIdx.x, column = blockIdx.y * N + threadIdx.x;
    for (int i = 0; i < k; i += H) {
        part[threadIdx.y][threadIdx.x] = b[column + (i + threadIdx.y) * ldb];
        __syncthreads();
        for (int j = 0; j < H; j++) {
            float own = a[row + (i + j) * lda];
#pragma unroll
            for (int n = 0; n < N; n++) sum[n] += own * part[j][n];
        }
        __syncthreads();
    }
    int at = ldc * blockIdx.y * N + row;
#pragma unroll
    for (int i = 0; i < N; i++) c[at + i * ldc] = c[at + i * ldc] * beta + alpha * sum[i];
}
