// Attention of one head at a time in the manner of FlashAttention: O = softmax(Q K^T / 8) V with heads of 64 elements, without the matrix of
// scores in memory. A CTA of four warps has 64 queries, a warp 16 of them. It goes through the keys and values in blocks of 64, which are
// copied to shared memory asynchronously, and keeps for each query the largest score so far, the sum of exponentials and the output.
#include "fragments.cuh"

const int HEAD = 64, BLOCK = 64;

// Where piece `piece` of eight elements of row `row` lies in a tile with rows of eight pieces.
__device__ __forceinline__ int place(int row, int piece) { return (row * 8 + (piece ^ (row & 7))) * 8; }

__device__ __forceinline__ void copy_tile(half_bits *to, const half_bits *from) {
    for (int i = threadIdx.x; i < BLOCK * HEAD / 8; i += 128) {
        copy16(to + place(i / 8, i % 8), from + i * 8);
    }
    asm volatile("cp.async.commit_group;");
}

__device__ __forceinline__ unsigned packed(float low, float high) {
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

__device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

extern "C" __global__ void __launch_bounds__(128) attention(const half_bits *q, const half_bits *k, const half_bits *v, float *o, int length,
                                                            int causal) {
    __shared__ __align__(128) half_bits qs[BLOCK * HEAD], ks[BLOCK * HEAD], vs[BLOCK * HEAD];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    // A head after the other in memory; in a head a row per position.
    long head = static_cast<long>(blockIdx.y) * length * HEAD;
    int first = blockIdx.x * BLOCK, mine = first + warp * 16 + lane / 4;
    copy_tile(qs, q + head + first * HEAD);
    copy_tile(ks, k + head);
    asm volatile("cp.async.wait_group 1;");
    __syncthreads();
    unsigned queries[4][4];
#pragma unroll
    for (int deep = 0; deep < 4; ++deep) {
        load4(queries[deep], qs + place(warp * 16 + lane % 16, 2 * deep + lane / 16));
    }
    const float scale = 0.125f * 1.44269504f;
    float out[8][4] = {}, largest[2] = {-1e30f, -1e30f}, total[2] = {};
    int blocks = causal ? blockIdx.x + 1 : length / BLOCK;
    for (int block = 0; block < blocks; ++block) {
        copy_tile(vs, v + head + block * BLOCK * HEAD);
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        float scores[8][4] = {};
#pragma unroll
        for (int deep = 0; deep < 4; ++deep) {
#pragma unroll
            for (int pair = 0; pair < 4; ++pair) {
                // Rows of K are columns of its transpose: two groups of eight keys, 16 elements deep.
                unsigned keys[4];
                load4(keys, ks + place(16 * pair + lane % 8 + lane / 16 * 8, 2 * deep + lane / 8 % 2));
                multiply(scores[2 * pair], queries[deep], keys[0], keys[1]);
                multiply(scores[2 * pair + 1], queries[deep], keys[2], keys[3]);
            }
        }
        __syncthreads();
        if (block + 1 < blocks) {
            copy_tile(ks, k + head + (block + 1) * BLOCK * HEAD);
        } else {
            asm volatile("cp.async.commit_group;");
        }
        if (causal && block == blockIdx.x) {
#pragma unroll
            for (int j = 0; j < 8; ++j) {
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    int key = block * BLOCK + 8 * j + lane % 4 * 2 + i % 2;
                    if (key > mine + i / 2 * 8) scores[j][i] = -1e30f;
                }
            }
        }
        unsigned weights[8][2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float most = largest[half];
#pragma unroll
            for (int j = 0; j < 8; ++j) most = fmaxf(most, fmaxf(scores[j][2 * half], scores[j][2 * half + 1]));
            most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
            most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
            float shrink = power_of_two((largest[half] - most) * scale), sum = 0;
            largest[half] = most;
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                float low = power_of_two((scores[j][2 * half] - most) * scale), high = power_of_two((scores[j][2 * half + 1] - most) * scale);
                sum += low + high;
                weights[j][half] = packed(low, high);
                out[j][2 * half] *= shrink;
                out[j][2 * half + 1] *= shrink;
            }
            total[half] = total[half] * shrink + sum;
        }
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
#pragma unroll
        for (int deep = 0; deep < 4; ++deep) {
            unsigned weight[4] = {weights[2 * deep][0], weights[2 * deep][1], weights[2 * deep + 1][0], weights[2 * deep + 1][1]};
#pragma unroll
            for (int pair = 0; pair < 4; ++pair) {
                unsigned values[4];
                load4_transposed(values, vs + place(16 * deep + lane % 16, 2 * pair + lane / 16));
                multiply(out[2 * pair], weight, values[0], values[1]);
                multiply(out[2 * pair + 1], weight, values[2], values[3]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float sum = total[half];
        sum += __shfl_xor_sync(~0u, sum, 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        float *row = o + head + static_cast<long>(mine + half * 8) * HEAD + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            *reinterpret_cast<float2 *>(row + 8 * j) = make_float2(out[j][2 * half] / sum, out[j][2 * half + 1] / sum);
        }
    }
}
