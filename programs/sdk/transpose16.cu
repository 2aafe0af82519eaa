// A matrix turned around in tiles of 16 x 16 by CTAs of as many threads, as CUDA's samples did it for GPUs with 16 banks of shared memory: through
// rows of shared memory that are a word longer than the tile, or with tiles that only change places. Each CTA does the same `passes` times.
#define TILE 16

template <bool TURNED> __device__ __forceinline__ void move(float *out, const float *in, int width, int height, int passes) {
    __shared__ float tile[TILE][TILE + 1];
    int from = blockIdx.x * TILE + threadIdx.x + (blockIdx.y * TILE + threadIdx.y) * width;
    int to = blockIdx.y * TILE + threadIdx.x + (blockIdx.x * TILE + threadIdx.y) * height;
    for (int pass = 0; pass < passes; ++pass) {
        tile[threadIdx.y][threadIdx.x] = in[from];
        __syncthreads();
        out[to] = TURNED ? tile[threadIdx.x][threadIdx.y] : tile[threadIdx.y][threadIdx.x];
    }
}

extern "C" __global__ void noBankConflicts(float *out, const float *in, int width, int height, int passes) {
    move<true>(out, in, width, height, passes);
}

extern "C" __global__ void coarseGrained(float *out, const float *in, int width, int height, int passes) {
    move<false>(out, in, width, height, passes);
}
