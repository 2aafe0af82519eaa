// Latency and throughput of arithmetic. `chain` has 128 operations per round, each of which needs the one before it; `streams` has four chains
// of 16 operations per round that do not depend on one another. `op` is the operation's number in the list at the end of this file.
#include "timing.cuh"

template <class T> __device__ __forceinline__ T load(const wide *in, int i) { return (T)in[i]; }
template <> __device__ __forceinline__ float load<float>(const wide *in, int i) { return __uint_as_float((word)in[i]); }
template <> __device__ __forceinline__ double load<double>(const wide *in, int i) { return __longlong_as_double(in[i]); }
__device__ __forceinline__ wide bits(word x) { return x; }
__device__ __forceinline__ wide bits(int x) { return (word)x; }
__device__ __forceinline__ wide bits(float x) { return __float_as_uint(x); }
__device__ __forceinline__ wide bits(double x) { return __double_as_longlong(x); }

#define ONE_CHAIN(number, type, letter, text)                                                            \
    case number: {                                                                                       \
        type x = load<type>(in, threadIdx.x), y = load<type>(in, 32), z = load<type>(in, 33);            \
        Stopwatch watch(clocks);                                                                         \
        _Pragma("unroll 1") for (int round = 0; round < rounds; round++) {                               \
            _Pragma("unroll") for (int i = 0; i < 128; i++) asm volatile(text : "+" letter(x) : letter(y), letter(z)); \
        }                                                                                                \
        watch.stop();                                                                                    \
        out[threadIdx.x] = bits(x);                                                                      \
        break;                                                                                           \
    }

#define FOUR_CHAINS(number, type, letter, text)                                                          \
    case number: {                                                                                       \
        type a = load<type>(in, threadIdx.x % 32), b = a, c = a, d = a, y = load<type>(in, 32), z = load<type>(in, 33); \
        __syncthreads();                                                                                 \
        Stopwatch watch(clocks);                                                                         \
        _Pragma("unroll 1") for (int round = 0; round < rounds; round++) {                               \
            _Pragma("unroll") for (int i = 0; i < 16; i++) {                                             \
                asm volatile(text : "+" letter(a) : letter(y), letter(z));                               \
                asm volatile(text : "+" letter(b) : letter(y), letter(z));                               \
                asm volatile(text : "+" letter(c) : letter(y), letter(z));                               \
                asm volatile(text : "+" letter(d) : letter(y), letter(z));                               \
            }                                                                                            \
        }                                                                                                \
        watch.stop();                                                                                    \
        out[threadIdx.x] = bits(a) + bits(b) + bits(c) + bits(d);                                        \
        break;                                                                                           \
    }

#define OPERATIONS(each)                                                                                 \
    each(0, float, "f", "fma.rn.f32 %0, %0, %1, %2;")                                                    \
    each(1, float, "f", "add.f32 %0, %0, %1;")                                                           \
    each(2, float, "f", "max.f32 %0, %0, %1;\n\tadd.f32 %0, %0, %2;")                                    \
    each(3, word, "r", "add.u32 %0, %0, %1;\n\tadd.u32 %0, %0, %2;")                                     \
    each(4, word, "r", "mad.lo.u32 %0, %0, %1, %2;")                                                     \
    each(5, word, "r", "mul.hi.u32 %0, %0, %1;")                                                         \
    each(6, word, "r", "lop3.b32 %0, %0, %1, %2, 0x96;")                                                 \
    each(7, word, "r", "shf.l.wrap.b32 %0, %0, %1, %2;")                                                 \
    each(8, word, "r", "prmt.b32 %0, %0, %1, %2;")                                                       \
    each(9, word, "r", "popc.b32 %0, %0;")                                                               \
    each(10, word, "r", "bfind.u32 %0, %0;")                                                             \
    each(11, word, "r", "brev.b32 %0, %0;")                                                              \
    each(12, float, "f", "ex2.approx.ftz.f32 %0, %0;")                                                   \
    each(13, float, "f", "rcp.approx.ftz.f32 %0, %0;\n\tadd.f32 %0, %0, %1;")                            \
    each(14, float, "f", "rsqrt.approx.ftz.f32 %0, %0;")                                                 \
    each(15, float, "f", "sin.approx.ftz.f32 %0, %0;")                                                   \
    each(16, float, "f", "tanh.approx.f32 %0, %0;")                                                      \
    each(17, double, "d", "fma.rn.f64 %0, %0, %1, %2;")                                                  \
    each(18, double, "d", "add.f64 %0, %0, %1;")                                                         \
    each(19, word, "r", "fma.rn.f16x2 %0, %0, %1, %2;")                                                  \
    each(20, word, "r", "add.rn.f16x2 %0, %0, %1;")                                                      \
    each(21, word, "r", "fma.rn.bf16x2 %0, %0, %1, %2;")                                                 \
    each(22, word, "r", "{ .reg .f32 t;\n\tcvt.rn.f32.s32 t, %0;\n\tcvt.rzi.s32.f32 %0, t; }")           \
    each(23, word, "r", "{ .reg .pred p;\n\tsetp.ne.u32 p, %0, %1;\n\tvote.sync.ballot.b32 %0, p, 0xffffffff; }") \
    each(24, word, "r", "shfl.sync.idx.b32 %0, %0, %0, 31, 0xffffffff;")                                 \
    each(25, word, "r", "redux.sync.add.u32 %0, %0, 0xffffffff;")                                        \
    each(26, word, "r", "match.any.sync.b32 %0, %0, 0xffffffff;")                                        \
    each(27, word, "r", "{ .reg .pred p;\n\tsetp.lt.u32 p, %0, %1;\n\tselp.u32 %0, %2, %0, p; }")        \
    each(28, word, "r", "dp4a.u32.u32 %0, %1, %2, %0;")                                                  \
    each(29, int, "r", "{ .reg .s32 t;\n\tadd.s32 t, %0, %1;\n\tmax.s32 %0, t, %2; }")

extern "C" __global__ void chain(const wide *in, wide *out, wide *clocks, int op, int rounds) {
    switch (op) { OPERATIONS(ONE_CHAIN) }
}

extern "C" __global__ void streams(const wide *in, wide *out, wide *clocks, int op, int rounds) {
    switch (op) { OPERATIONS(FOUR_CHAINS) }
}
