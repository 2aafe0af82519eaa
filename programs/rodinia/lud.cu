// LU decomposition in place in blocks of 16 x 16: a launch each for the block on the diagonal, the blocks right of and below it, and the rest.
#define B 16

extern "C" __global__ void diagonal(float *m, int n, int offset) {
    __shared__ float block[B][B];
    int t = threadIdx.x, at = offset * n + offset;
    for (int i = 0; i < B; i++, at += n) block[i][t] = m[at + t];
    __syncthreads();
    for (int i = 0; i < B - 1; i++) {
        if (t > i) {
            for (int j = 0; j < i; j++) block[t][i] -= block[t][j] * block[j][i];
            block[t][i] /= block[i][i];
        }
        __syncthreads();
        if (t > i)
            for (int j = 0; j <= i; j++) block[i + 1][t] -= block[i + 1][j] * block[j][t];
        __syncthreads();
    }
    // Row 0 has not changed.
    at = (offset + 1) * n + offset;
    for (int i = 1; i < B; i++, at += n) m[at + t] = block[i][t];
}

// A CTA per pair of blocks: its first half warp has a column of the block on the right, its second half warp a row of the block below.
extern "C" __global__ void perimeter(float *m, int n, int offset) {
    __shared__ float corner[B][B], right[B][B], below[B][B];
    int t = threadIdx.x % B, at;
    if (threadIdx.x < B) {
        at = offset * n + offset;
        for (int i = 0; i < B / 2; i++, at += n) corner[i][t] = m[at + t];
        at = offset * n + offset + (blockIdx.x + 1) * B;
        for (int i = 0; i < B; i++, at += n) right[i][t] = m[at + t];
    } else {
        at = (offset + B / 2) * n + offset;
        for (int i = B / 2; i < B; i++, at += n) corner[i][t] = m[at + t];
        at = (offset + (blockIdx.x + 1) * B) * n + offset;
        for (int i = 0; i < B; i++, at += n) below[i][t] = m[at + t];
    }
    __syncthreads();
    if (threadIdx.x < B) {
        for (int i = 1; i < B; i++)
            for (int j = 0; j < i; j++) right[i][t] -= corner[i][j] * right[j][t];
    } else {
        for (int i = 0; i < B; i++) {
            for (int j = 0; j < i; j++) below[t][i] -= below[t][j] * corner[j][i];
            below[t][i] /= corner[i][i];
        }
    }
    __syncthreads();
    if (threadIdx.x < B) {
        at = (offset + 1) * n + offset + (blockIdx.x + 1) * B;
        for (int i = 1; i < B; i++, at += n) m[at + t] = right[i][t];
    } else {
        at = (offset + (blockIdx.x + 1) * B) * n + offset;
        for (int i = 0; i < B; i++, at += n) m[at + t] = below[i][t];
    }
}

extern "C" __global__ void interior(float *m, int n, int offset) {
    __shared__ float right[B][B], below[B][B];
    int tx = threadIdx.x, ty = threadIdx.y, row = offset + (blockIdx.y + 1) * B, column = offset + (blockIdx.x + 1) * B;
    right[ty][tx] = m[(offset + ty) * n + column + tx];
    below[ty][tx] = m[(row + ty) * n + offset + tx];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < B; i++) sum += below[ty][i] * right[i][tx];
    m[(row + ty) * n + column + tx] -= sum;
}

// A matrix whose diagonal is larger than the sum of each row: it needs no exchange of rows.
extern "C" __global__ void makeMatrix(float *m, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < n) m[y * n + x] = x == y ? 2.0f * n : (float)((x * 7 + y * 13) % 17) / 17.0f;
}
