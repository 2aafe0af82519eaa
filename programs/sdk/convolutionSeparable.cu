// A separable convolution with 17 taps: rows, then columns. CTAs load eight results per thread and a border into shared memory.
#define R 8
__constant__ float taps[2 * R + 1];

#define RX 16
#define RY 4
#define STEPS 8

// CTAs of 16 x 4; each has 128 columns and 4 rows.
extern "C" __global__ void rows(float *out, const float *in, int width, int height, int pitch) {
    __shared__ float part[RY][(STEPS + 2) * RX];
    int x = (blockIdx.x * STEPS - 1) * RX + threadIdx.x, y = blockIdx.y * RY + threadIdx.y;
    in += y * pitch + x;
    out += y * pitch + x;
#pragma unroll
    for (int i = 1; i < 1 + STEPS; i++) part[threadIdx.y][threadIdx.x + i * RX] = in[i * RX];
    part[threadIdx.y][threadIdx.x] = x >= 0 ? in[0] : 0;
    part[threadIdx.y][threadIdx.x + (1 + STEPS) * RX] = width - x > (1 + STEPS) * RX ? in[(1 + STEPS) * RX] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 1; i < 1 + STEPS; i++) {
        float sum = 0;
#pragma unroll
        for (int j = -R; j <= R; j++) sum += taps[R - j] * part[threadIdx.y][threadIdx.x + i * RX + j];
        out[i * RX] = sum;
    }
}

#define CX 16
#define CY 8

// CTAs of 16 x 8; each has 16 columns and 64 rows. A word more per column avoids conflicts of banks.
extern "C" __global__ void columns(float *out, const float *in, int width, int height, int pitch) {
    __shared__ float part[CX][(STEPS + 2) * CY + 1];
    int x = blockIdx.x * CX + threadIdx.x, y = (blockIdx.y * STEPS - 1) * CY + threadIdx.y;
    in += y * pitch + x;
    out += y * pitch + x;
#pragma unroll
    for (int i = 1; i < 1 + STEPS; i++) part[threadIdx.x][threadIdx.y + i * CY] = in[i * CY * pitch];
    part[threadIdx.x][threadIdx.y] = y >= 0 ? in[0] : 0;
    part[threadIdx.x][threadIdx.y + (1 + STEPS) * CY] = height - y > (1 + STEPS) * CY ? in[(1 + STEPS) * CY * pitch] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 1; i < 1 + STEPS; i++) {
        float sum = 0;
#pragma unroll
        for (int j = -R; j <= R; j++) sum += taps[R - j] * part[threadIdx.x][threadIdx.y + i * CY + j];
        out[i * CY * pitch] = sum;
    }
}
