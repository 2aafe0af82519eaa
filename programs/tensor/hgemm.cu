// C = A B in half precision with sums of single precision: a CTA of four warps computes 64 x 64 elements, a warp 32 x 32. Tiles of A and B of
// 32 in depth are copied to shared memory asynchronously, the next one while the present one is multiplied. Rows of 64 bytes of shared memory
// are stored with their 16-byte pieces permuted, so that LDSM and the copies meet no bank conflicts.
#include "fragments.cuh"

const int TILE = 64, DEPTH = 32, STAGES = 2;

// Where piece `piece` of eight elements of row `row` lies in a tile whose rows have `pieces` pieces.
__device__ __forceinline__ int place(int row, int piece, int pieces) {
    int swap = pieces == 4 ? row >> 1 & 3 : row & 7;
    return (row * pieces + (piece ^ swap)) * 8;
}

extern "C" __global__ void __launch_bounds__(128) hgemm(const half_bits *a, const half_bits *b, float *c, int n, int k) {
    __shared__ __align__(128) half_bits as[STAGES][TILE * DEPTH], bs[STAGES][DEPTH * TILE];
    int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    a += row * k;
    b += column;
    auto fetch = [&](int stage, int from) {
        // 64 rows of four pieces of A, and 32 rows of eight of B.
        for (int i = thread; i < TILE * DEPTH / 8; i += 128) {
            copy16(&as[stage][place(i / 4, i % 4, 4)], a + (i / 4) * k + from + i % 4 * 8);
            copy16(&bs[stage][place(i / 8, i % 8, 8)], b + (from + i / 8) * n + i % 8 * 8);
        }
        asm volatile("cp.async.commit_group;");
    };
    float sums[2][4][4] = {};
    int top = warp / 2 * 32, left = warp % 2 * 32;
    fetch(0, 0);
    for (int step = 0; step < k / DEPTH; ++step) {
        int stage = step % STAGES;
        if (step + 1 < k / DEPTH) {
            fetch(1 - stage, (step + 1) * DEPTH);
            asm volatile("cp.async.wait_group 1;");
        } else {
            asm volatile("cp.async.wait_group 0;");
        }
        __syncthreads();
#pragma unroll
        for (int deep = 0; deep < DEPTH / 16; ++deep) {
            unsigned left_side[2][4], right_side[2][4];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                load4(left_side[i], &as[stage][place(top + 16 * i + lane % 16, 2 * deep + lane / 16, 4)]);
                load4_transposed(right_side[i], &bs[stage][place(16 * deep + lane % 16, left / 8 + 2 * i + lane / 16, 8)]);
            }
#pragma unroll
            for (int i = 0; i < 2; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    multiply(sums[i][j], left_side[i], right_side[j / 2][j % 2 * 2], right_side[j / 2][j % 2 * 2 + 1]);
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            float *out = c + (row + top + 16 * i + lane / 4) * n + column + left + 8 * j + lane % 4 * 2;
            *reinterpret_cast<float2 *>(out) = make_float2(sums[i][j][0], sums[i][j][1]);
            *reinterpret_cast<float2 *>(out + 8 * n) = make_float2(sums[i][j][2], sums[i][j][3]);
        }
    }
}
