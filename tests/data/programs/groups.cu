// Products of warp groups of all types: twice the product of a 64 x k and a k x 32 matrix of 32 bytes in k (bits: 256).
// `words` is what lies in shared memory, the first matrix from byte 0 and the second one from byte 8192 on; then two descriptors without
// the address of that memory; then, for kernels whose first matrix lies in registers, four words of each thread. Compile for sm_90a.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ void fill(u32 *tile, const u32 *words, u64 &a, u64 &b) {
#pragma unroll 1
  for (int i = threadIdx.x; i < 3072; i += 128) tile[i] = words[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  u64 start = (u32)__cvta_generic_to_shared(tile) >> 4;
  a = (words[3072] | (u64)words[3073] << 32) + start;
  b = (words[3074] | (u64)words[3075] << 32) + start;
}

#define EIGHT(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3]), c(d[i + 4]), c(d[i + 5]), c(d[i + 6]), c(d[i + 7])
#define SIXTEEN(c) EIGHT(c, 0), EIGHT(c, 8)
#define NAMES16 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}"
#define NAMES8 "{%0,%1,%2,%3,%4,%5,%6,%7}"
// The first of two products overwrites what the sums were before.
#define KERNEL(name, T, c, sums, names, shape, first, second, from, rest)                                                                          \
  extern "C" __global__ void __launch_bounds__(128) name(const u32 *words, T *out) {                                                               \
    __shared__ __align__(1024) u32 tile[3072];                                                                                                      \
    u64 a, b;                                                                                                                                       \
    fill(tile, words, a, b);                                                                                                                        \
    [[maybe_unused]] const u32 *own = words + 3076 + 4 * threadIdx.x;                                                                               \
    T d[sums];                                                                                                                                      \
    _Pragma("unroll") for (int i = 0; i < sums; i++) d[i] = 77;                                                                                     \
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                                                                         \
    asm volatile("wgmma.mma_async.sync.aligned." shape " " names ", " first ", " second ", 0" rest ";" : c : from, "l"(b));                         \
    asm volatile("wgmma.mma_async.sync.aligned." shape " " names ", " first ", " second ", 1" rest ";" : c : from, "l"(b));                         \
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");                                                                                  \
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");                                                                                  \
    _Pragma("unroll") for (int i = 0; i < sums; i++) out[sums * threadIdx.x + i] = d[i];                                                            \
  }
#define F(d) "+f"(d)
#define R(d) "+r"(d)
#define OWN "r"(own[0]), "r"(own[1]), "r"(own[2]), "r"(own[3])
#define SINGLE(name, shape, rest) KERNEL(name, float, SIXTEEN(F), 16, NAMES16, shape, "%16", "%17", "l"(a), rest)
#define SINGLE_OWN(name, shape, rest) KERNEL(name, float, SIXTEEN(F), 16, NAMES16, shape, "{%16,%17,%18,%19}", "%20", OWN, rest)
#define HALF(name, shape, rest) KERNEL(name, u32, EIGHT(R, 0), 8, NAMES8, shape, "%8", "%9", "l"(a), rest)
#define WHOLE(name, shape) KERNEL(name, int, SIXTEEN(R), 16, NAMES16, shape, "%16", "%17", "l"(a), "")
#define WHOLE_OWN(name, shape) KERNEL(name, int, SIXTEEN(R), 16, NAMES16, shape, "{%16,%17,%18,%19}", "%20", OWN, "")

// f32 = sums of single precision; n, t: the layouts of the two matrices; o: the first one lies in registers.
SINGLE(f32_f16_f16_nn, "m64n32k16.f32.f16.f16", ", 1, 1, 0, 0")
SINGLE(f32_f16_f16_tn, "m64n32k16.f32.f16.f16", ", 1, 1, 1, 0")
SINGLE(f32_f16_f16_nt, "m64n32k16.f32.f16.f16", ", 1, 1, 0, 1")
SINGLE(f32_bf16_bf16_tt, "m64n32k16.f32.bf16.bf16", ", 1, 1, 1, 1")
HALF(f16_f16_f16_nn, "m64n32k16.f16.f16.f16", ", 1, 1, 0, 0")
SINGLE(f32_tf32_tf32_nn, "m64n32k8.f32.tf32.tf32", ", 1, 1")
SINGLE(f32_e4m3_e5m2_nn, "m64n32k32.f32.e4m3.e5m2", ", 1, 1")
HALF(f16_e5m2_e4m3_nn, "m64n32k32.f16.e5m2.e4m3", ", 1, 1")
WHOLE(s32_s8_s8_nn, "m64n32k32.s32.s8.s8")
WHOLE(s32_u8_s8_nn, "m64n32k32.s32.u8.s8")
WHOLE(s32_u8_u8_nn, "m64n32k32.s32.u8.u8.satfinite")
WHOLE(s32_b1_b1_nn, "m64n32k256.s32.b1.b1.and.popc")
SINGLE_OWN(f32_f16_f16_on, "m64n32k16.f32.f16.f16", ", 1, 1, 0")
SINGLE_OWN(f32_tf32_tf32_on, "m64n32k8.f32.tf32.tf32", ", 1, 1")
SINGLE_OWN(f32_e4m3_e4m3_on, "m64n32k32.f32.e4m3.e4m3", ", 1, 1")
WHOLE_OWN(s32_s8_u8_on, "m64n32k32.s32.s8.u8")
