// Products of matrices by one warp, through the compiler's own loads, stores and products: c = 2 * a * b.
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using namespace nvcuda;

__device__ constexpr int stride(bool byRows, int rows, int columns) { return byRows ? columns : rows; }

template <class T> __device__ void fill(T *to, const T *from, int count) {
#pragma unroll 1
    for (int i = threadIdx.x; i < count; i += 32) to[i] = from[i];
}

#define PRODUCT(NAME, A, STORED, C, M, N, K, LA, LB)                                                              \
    extern "C" __global__ void NAME(const STORED *a, const STORED *b, C *c) {                                     \
        __shared__ STORED tileA[M * K], tileB[K * N];                                                             \
        fill(tileA, a, M * K);                                                                                    \
        fill(tileB, b, K * N);                                                                                    \
        __syncthreads();                                                                                          \
        wmma::fragment<wmma::matrix_a, M, N, K, A, wmma::LA> first;                                               \
        wmma::fragment<wmma::matrix_b, M, N, K, A, wmma::LB> second;                                              \
        wmma::fragment<wmma::accumulator, M, N, K, C> sums;                                                       \
        wmma::fill_fragment(sums, C(0));                                                                          \
        wmma::load_matrix_sync(first, tileA, stride(#LA[0] == 'r', M, K));  \
        wmma::load_matrix_sync(second, tileB, stride(#LB[0] == 'r', K, N)); \
        wmma::mma_sync(sums, first, second, sums);                                                                \
        wmma::mma_sync(sums, first, second, sums);                                                                \
        wmma::store_matrix_sync(c, sums, N, wmma::mem_row_major);                                                 \
    }

PRODUCT(f32_16_16_16_rr, __half, __half, float, 16, 16, 16, row_major, row_major)
PRODUCT(f32_16_16_16_rc, __half, __half, float, 16, 16, 16, row_major, col_major)
PRODUCT(f32_16_16_16_cc, __half, __half, float, 16, 16, 16, col_major, col_major)
PRODUCT(f16_16_16_16_rr, __half, __half, __half, 16, 16, 16, row_major, row_major)
PRODUCT(f16_16_16_16_cr, __half, __half, __half, 16, 16, 16, col_major, row_major)
PRODUCT(f32_32_8_16_cr, __half, __half, float, 32, 8, 16, col_major, row_major)
PRODUCT(f32_8_32_16_rc, __half, __half, float, 8, 32, 16, row_major, col_major)
#if __CUDA_ARCH__ >= 720
PRODUCT(s32_16_16_16_rc, signed char, signed char, int, 16, 16, 16, row_major, col_major)
PRODUCT(u32_16_16_16_rr, unsigned char, unsigned char, int, 16, 16, 16, row_major, row_major)
#endif
#if __CUDA_ARCH__ >= 800
PRODUCT(bf_16_16_16_rr, __nv_bfloat16, __nv_bfloat16, float, 16, 16, 16, row_major, row_major)
PRODUCT(tf_16_16_8_rc, wmma::precision::tf32, float, float, 16, 16, 8, row_major, col_major)
PRODUCT(f64_8_8_4_rr, double, double, double, 8, 8, 4, row_major, row_major)
PRODUCT(f64_8_8_4_rc, double, double, double, 8, 8, 4, row_major, col_major)
#endif

#if __CUDA_ARCH__ >= 800
// The same with matrices that are loaded by ldmatrix; b is read by rows and transposed.
extern "C" __global__ void f32_16_8_16_rr(const __half *a, const __half *b, float *c) {
    __shared__ __align__(16) __half tileA[16 * 16], tileB[16 * 8];
    fill(tileA, a, 16 * 16);
    fill(tileB, b, 16 * 8);
    __syncthreads();
    int lane = threadIdx.x;
    unsigned placeA = __cvta_generic_to_shared(&tileA[(lane % 16) * 16 + lane / 16 * 8]);
    unsigned placeB = __cvta_generic_to_shared(&tileB[(lane % 16) * 8]);
    unsigned r0, r1, r2, r3, s0, s1;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(placeA));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(s0), "=r"(s1) : "r"(placeB));
    float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    for (int i = 0; i < 2; i++)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(s0), "r"(s1));
    int row = lane / 4, column = lane % 4 * 2;
    c[row * 8 + column] = c0, c[row * 8 + column + 1] = c1, c[(row + 8) * 8 + column] = c2, c[(row + 8) * 8 + column + 1] = c3;
}

// Two groups of asynchronous copies: the first is waited for, the second only later. out has 3 * 128 elements.
extern "C" __global__ void copies(const int4 *in, int4 *out) {
    __shared__ int4 tile[2][128];
    tile[1][threadIdx.x] = make_int4(-1, -1, -1, -1);
    unsigned place = __cvta_generic_to_shared(&tile[0][threadIdx.x]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(in + threadIdx.x));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(place + 2048), "l"(in + threadIdx.x + 128), "r"(threadIdx.x % 2 * 8));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    out[threadIdx.x] = tile[0][127 - threadIdx.x];
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    out[threadIdx.x + 128] = tile[1][127 - threadIdx.x];
    out[threadIdx.x + 256] = tile[1][threadIdx.x];
}
#endif
