// A matrix turned around in tiles of 32 x 32 with CTAs of 32 x 8, in eight ways: copies, and transpositions with and without shared memory, a
// word more per row, and another order of CTAs.
#define TILE 32
#define ROWS 8
#define PLACE int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
#define EACH for (int i = 0; i < TILE; i += ROWS)

extern "C" __global__ void copy(float *out, const float *in, int width, int height) {
    PLACE
    int at = x + width * y;
    EACH out[at + i * width] = in[at + i * width];
}

extern "C" __global__ void copyShared(float *out, const float *in, int width, int height) {
    __shared__ float tile[TILE][TILE];
    PLACE
    int at = x + width * y;
    EACH tile[threadIdx.y + i][threadIdx.x] = in[at + i * width];
    __syncthreads();
    EACH out[at + i * width] = tile[threadIdx.y + i][threadIdx.x];
}

extern "C" __global__ void naive(float *out, const float *in, int width, int height) {
    PLACE
    EACH out[y + height * x + i] = in[x + width * y + i * width];
}

template <int PAD> __device__ __forceinline__ void turn(float *out, const float *in, int width, int height, int bx, int by) {
    __shared__ float tile[TILE][TILE + PAD];
    int from = bx * TILE + threadIdx.x + (by * TILE + threadIdx.y) * width;
    int to = by * TILE + threadIdx.x + (bx * TILE + threadIdx.y) * height;
    EACH tile[threadIdx.y + i][threadIdx.x] = in[from + i * width];
    __syncthreads();
    EACH out[to + i * height] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void coalesced(float *out, const float *in, int width, int height) {
    turn<0>(out, in, width, height, blockIdx.x, blockIdx.y);
}

extern "C" __global__ void padded(float *out, const float *in, int width, int height) {
    turn<1>(out, in, width, height, blockIdx.x, blockIdx.y);
}

// CTAs in diagonal order, so that those that run together write to different channels.
extern "C" __global__ void diagonal(float *out, const float *in, int width, int height) {
    int bx, by;
    if (width == height) {
        by = blockIdx.x;
        bx = (blockIdx.x + blockIdx.y) % gridDim.x;
    } else {
        int number = blockIdx.x + gridDim.x * blockIdx.y;
        by = number % gridDim.y;
        bx = (number / gridDim.y + by) % gridDim.x;
    }
    turn<1>(out, in, width, height, bx, by);
}

// Turns within tiles only, and turns whole tiles only.
extern "C" __global__ void fine(float *out, const float *in, int width, int height) {
    __shared__ float tile[TILE][TILE + 1];
    PLACE
    int at = x + y * width;
    EACH tile[threadIdx.y + i][threadIdx.x] = in[at + i * width];
    __syncthreads();
    EACH out[at + i * height] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void coarse(float *out, const float *in, int width, int height) {
    __shared__ float tile[TILE][TILE + 1];
    PLACE
    int to = blockIdx.y * TILE + threadIdx.x + (blockIdx.x * TILE + threadIdx.y) * height;
    EACH tile[threadIdx.y + i][threadIdx.x] = in[x + width * y + i * width];
    __syncthreads();
    EACH out[to + i * height] = tile[threadIdx.y + i][threadIdx.x];
}
