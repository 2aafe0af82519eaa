// Alignment of two sequences (Needleman and Wunsch): a table whose entry is the best of its upper, left and upper left neighbour.
// Blocks of 16 x 16 lie on diagonals, a launch each; within a block 16 threads walk along its diagonals. Row and column 0 are given.
#define B 16

__device__ __forceinline__ int best(int a, int b, int c) {
    int larger = a <= b ? b : a;
    return larger <= c ? c : larger;
}

__device__ __forceinline__ void align(const int *score, int *table, int columns, int penalty, int bx, int by, bool first) {
    __shared__ int part[B + 1][B + 1], own[B][B];
    int t = threadIdx.x, corner = columns * B * by + B * bx, at = corner + t + columns + 1;
    if (first && t == 0) part[0][0] = table[corner];
    for (int y = 0; y < B; y++) own[y][t] = score[at + columns * y];
    if (!first && t == 0) part[0][0] = table[corner];
    if (first) __syncthreads();
    part[t + 1][0] = table[corner + columns * (t + 1)];
    __syncthreads();
    part[0][t + 1] = table[corner + t + 1];
    __syncthreads();
    for (int m = 0; m < B; m++) {
        if (t <= m) {
            int x = t + 1, y = m - t + 1;
            part[y][x] = best(part[y - 1][x - 1] + own[y - 1][x - 1], part[y][x - 1] - penalty, part[y - 1][x] - penalty);
        }
        __syncthreads();
    }
    for (int m = B - 2; m >= 0; m--) {
        if (t <= m) {
            int x = t + B - m, y = B - t;
            part[y][x] = best(part[y - 1][x - 1] + own[y - 1][x - 1], part[y][x - 1] - penalty, part[y - 1][x] - penalty);
        }
        __syncthreads();
    }
    for (int y = 0; y < B; y++) table[at + columns * y] = part[y + 1][t + 1];
}

// Diagonals up to the longest one, and those after it.
extern "C" __global__ void growing(const int *score, int *table, int columns, int penalty, int diagonal, int width) {
    align(score, table, columns, penalty, blockIdx.x, diagonal - 1 - blockIdx.x, true);
}

extern "C" __global__ void shrinking(const int *score, int *table, int columns, int penalty, int diagonal, int width) {
    align(score, table, columns, penalty, blockIdx.x + width - diagonal, width - blockIdx.x - 1, false);
}

// Row and column 0: the cost of leaving out so many letters.
extern "C" __global__ void makeBorder(int *table, int columns, int penalty) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= columns) return;
    table[i] = -i * penalty;
    table[i * columns] = -i * penalty;
}
