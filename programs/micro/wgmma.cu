// Products of warp groups (wgmma) of every width: alone or four in a batch, from shared memory or with A in registers. `groups` of four warps each.
#include "timing.cuh"
#include "wgmma.cuh"

extern __shared__ __align__(1024) char tiles[];

// A tile whose rows have 128 bytes, exchanged in pieces of 16 bytes.
__device__ __forceinline__ wide tileAt(word byte) {
    word at = (word)__cvta_generic_to_shared(tiles) + byte;
    return (wide)(at >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

__device__ __forceinline__ void arrive() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void finish() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// `ONE` is a product. A batch is 1, 4 or 8 of them.
#define BATCHES(ONE)                                                             \
    if (batch == 1)                                                              \
        _Pragma("unroll 1") for (int r = 0; r < rounds; r++) { arrive(); ONE; finish(); } \
    else if (batch == 4)                                                         \
        _Pragma("unroll 1") for (int r = 0; r < rounds; r++) { arrive(); ONE; ONE; ONE; ONE; finish(); } \
    else                                                                         \
        _Pragma("unroll 1") for (int r = 0; r < rounds; r++) { arrive(); ONE; ONE; ONE; ONE; ONE; ONE; ONE; ONE; finish(); }

// All sums are used: otherwise the compiler lets products wait for each other.
#define KEEP(N)                                  \
    float sum = 0;                               \
    for (int i = 0; i < N / 2; i++) sum += d[i]; \
    if (sum == 1.5f) out[0] = sum;

// The numbers of the operands after the sums.
#define SHARED(N, A, B)                                                                                                        \
    case N: {                                                                                                                  \
        float d[N / 2] = {};                                                                                                   \
        wide a = tileAt(0), b = tileAt(16384);                                                                                 \
        Stopwatch watch(clocks);                                                                                               \
        BATCHES(asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 {" SUMS_##N "}, %" #A ", %" #B ", 1, 1, 1, 0, 0;" \
                             : OF_##N("+f", d) : "l"(a), "l"(b)))                                                              \
        watch.stop();                                                                                                          \
        KEEP(N)                                                                                                                \
        break;                                                                                                                 \
    }
#define REGISTERS(N, A, A1, A2, A3, B)                                                                                         \
    case N: {                                                                                                                  \
        float d[N / 2] = {};                                                                                                   \
        wide b = tileAt(16384);                                                                                                \
        Stopwatch watch(clocks);                                                                                               \
        BATCHES(asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 {" SUMS_##N "}, {%" #A ", %" #A1 ", %" #A2  \
                             ", %" #A3 "}, %" #B ", 1, 1, 1, 0;"                                                               \
                             : OF_##N("+f", d) : "r"(one), "r"(one), "r"(one), "r"(one), "l"(b)))                              \
        watch.stop();                                                                                                          \
        KEEP(N)                                                                                                                \
        break;                                                                                                                 \
    }

__device__ __forceinline__ void fill() {
    for (int i = threadIdx.x; i < 12288; i += blockDim.x) ((word *)tiles)[i] = 0x3f803f80;
    __syncthreads();
    asm volatile("fence.proxy.async;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(256) productsShared(float *out, wide *clocks, int n, int batch, int rounds) {
    fill();
    switch (n) {
        SHARED(8, 4, 5)
        SHARED(16, 8, 9)
        SHARED(32, 16, 17)
        SHARED(48, 24, 25)
        SHARED(64, 32, 33)
        SHARED(96, 48, 49)
        SHARED(128, 64, 65)
        SHARED(256, 128, 129)
    }
}

extern "C" __global__ void __launch_bounds__(256) productsRegisters(float *out, wide *clocks, int n, int batch, int rounds) {
    fill();
    word one = 0x3f803f80;
    asm volatile("" : "+r"(one));
    switch (n) {
        REGISTERS(8, 4, 5, 6, 7, 8)
        REGISTERS(16, 8, 9, 10, 11, 12)
        REGISTERS(32, 16, 17, 18, 19, 20)
        REGISTERS(48, 24, 25, 26, 27, 28)
        REGISTERS(64, 32, 33, 34, 35, 36)
        REGISTERS(96, 48, 49, 50, 51, 52)
        REGISTERS(128, 64, 65, 66, 67, 68)
        REGISTERS(256, 128, 129, 130, 131, 132)
    }
}

// Other types of elements, from shared memory.
#define TYPE(CASE, N, T, SHAPE, KIND, C, A, B, FLAGS)                                                                          \
    case CASE: {                                                                                                               \
        T d[N / 2] = {};                                                                                                       \
        wide a = tileAt(0), b = tileAt(16384);                                                                                 \
        Stopwatch watch(clocks);                                                                                               \
        BATCHES(asm volatile("wgmma.mma_async.sync.aligned." SHAPE "." KIND " {" SUMS_##N "}, %" #A ", %" #B ", " FLAGS ";"    \
                             : OF_##N(C, d) : "l"(a), "l"(b)))                                                                 \
        watch.stop();                                                                                                          \
        float sum = 0;                                                                                                         \
        for (int i = 0; i < N / 2; i++) sum += (float)d[i];                                                                    \
        if (sum == 1.5f) out[0] = sum;                                                                                         \
        break;                                                                                                                 \
    }

extern "C" __global__ void __launch_bounds__(256) productsOfTypes(float *out, wide *clocks, int type, int batch, int rounds) {
    fill();
    switch (type) {
        TYPE(0, 128, float, "m64n128k8", "f32.tf32.tf32", "+f", 64, 65, "1, 1, 1")
        TYPE(1, 128, float, "m64n128k32", "f32.e4m3.e4m3", "+f", 64, 65, "1, 1, 1")
        TYPE(2, 128, int, "m64n128k32", "s32.s8.s8", "+r", 64, 65, "1")
        TYPE(3, 128, word, "m64n256k16", "f16.f16.f16", "+r", 64, 65, "1, 1, 1, 0, 0")
        TYPE(4, 64, word, "m64n128k16", "f16.f16.f16", "+r", 32, 33, "1, 1, 1, 0, 0")
        TYPE(5, 64, float, "m64n64k8", "f32.tf32.tf32", "+f", 32, 33, "1, 1, 1")
        TYPE(6, 64, float, "m64n64k32", "f32.e4m3.e4m3", "+f", 32, 33, "1, 1, 1")
        TYPE(7, 64, int, "m64n64k32", "s32.s8.s8", "+r", 32, 33, "1")
    }
}

// A batch of 1 or 4 whose end stands apart from it: the compiler ends it by an empty product.
#define APART(N, ONE)                                        \
    case N: {                                                \
        float d[N / 2] = {};                                 \
        wide a = tileAt(0), b = tileAt(16384);               \
        Stopwatch watch(clocks);                             \
        for (int r = 0; r < rounds; r++) {                   \
            arrive();                                        \
            if (batch == 1) {                                \
                ONE;                                         \
            } else {                                         \
                _Pragma("unroll") for (int k = 0; k < 4; k++) ONE; \
            }                                                \
            finish();                                        \
        }                                                    \
        watch.stop();                                        \
        KEEP(N)                                              \
        break;                                               \
    }
#define SHARED_APART(N, A, B)                                                                                                  \
    APART(N, asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 {" SUMS_##N "}, %" #A ", %" #B ", 1, 1, 1, 0, 0;" \
                          : OF_##N("+f", d) : "l"(a), "l"(b)))
#define REGISTERS_APART(N, A, A1, A2, A3, B)                                                                                   \
    APART(N, asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 {" SUMS_##N "}, {%" #A ", %" #A1 ", %" #A2 \
                          ", %" #A3 "}, %" #B ", 1, 1, 1, 0;"                                                                  \
                          : OF_##N("+f", d) : "r"(one), "r"(one), "r"(one), "r"(one), "l"(b)))

extern "C" __global__ void __launch_bounds__(256) batchesShared(float *out, wide *clocks, int n, int batch, int rounds) {
    fill();
    switch (n) {
        SHARED_APART(8, 4, 5)
        SHARED_APART(16, 8, 9)
        SHARED_APART(32, 16, 17)
        SHARED_APART(64, 32, 33)
        SHARED_APART(128, 64, 65)
        SHARED_APART(256, 128, 129)
    }
}

extern "C" __global__ void __launch_bounds__(256) batchesRegisters(float *out, wide *clocks, int n, int batch, int rounds) {
    fill();
    word one = 0x3f803f80;
    asm volatile("" : "+r"(one));
    switch (n) {
        REGISTERS_APART(8, 4, 5, 6, 7, 8)
        REGISTERS_APART(16, 8, 9, 10, 11, 12)
        REGISTERS_APART(32, 16, 17, 18, 19, 20)
        REGISTERS_APART(64, 32, 33, 34, 35, 36)
        REGISTERS_APART(128, 64, 65, 66, 67, 68)
        REGISTERS_APART(256, 128, 129, 130, 131, 132)
    }
}
