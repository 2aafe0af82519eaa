// Copies by the tensor memory accelerator: linear ones, boxes of tensors, and stores; several in flight.
#include "timing.cuh"

extern __shared__ __align__(1024) char tile[];
struct alignas(64) Map { char bytes[128]; };

__device__ __forceinline__ word at(const void *p) { return (word)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void open(wide *barriers) {
    for (int k = 0; k < 8; k++) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at(barriers + k)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void expect(wide *barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(at(barrier)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void await(wide *barrier, int phase) {
    asm volatile("{ .reg .pred q; AGAIN: mbarrier.try_wait.parity.shared.b64 q, [%0], %1; @!q bra AGAIN; }" :: "r"(at(barrier)), "r"(phase) : "memory");
}
__device__ __forceinline__ void load(int place, const char *from, int bytes, wide *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(at(tile) + place), "l"(from), "r"(bytes), "r"(at(barrier)) : "memory");
}
// What the copies will read comes to the LLC.
__device__ __forceinline__ void warmUp(const char *in, int bytes, word *out) {
    word sum = 0;
    #pragma unroll 1
    for (int b = threadIdx.x * 32; b < bytes; b += 32 * blockDim.x) {
        word value;
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(in + b) : "memory");
        sum += value;
    }
    if (sum == NEVER) out[0] = sum;
    __syncthreads();
}

// As many copies of `bytes` as `rounds` says, `ahead` of them (1, 2, 4 or 8) in flight, by one thread of each CTA, from memory of its own: `span` bytes.
// `warm` bytes are read before.
extern "C" __global__ void bulkLoads(const char *in, word *out, wide *clocks, int bytes, int ahead, int span, int warm, int rounds) {
    __shared__ wide barriers[8];
    const char *mine = in + (wide)span * blockIdx.x;
    warmUp(mine, warm, out);
    if (threadIdx.x) return;
    open(barriers);
    Stopwatch watch(clocks);
    #pragma unroll 1
    for (int i = 0; i < ahead; i++) {
        expect(barriers + i, bytes);
        load(i * bytes, mine + i * bytes, bytes, barriers + i);
    }
    int slot = 0, phase = 0;
    #pragma unroll 1
    for (int i = ahead; i < rounds; i++) {
        await(barriers + slot, phase);
        expect(barriers + slot, bytes);
        load(slot * bytes, mine + ((wide)i * bytes & span - 1), bytes, barriers + slot);
        if (++slot == ahead) { slot = 0; phase ^= 1; }
    }
    #pragma unroll 1
    for (int i = 0; i < ahead; i++) {
        await(barriers + slot, phase);
        if (++slot == ahead) { slot = 0; phase ^= 1; }
    }
    watch.stop();
}

// One copy at a time; the slot of each is found by divisions.
extern "C" __global__ void bulkLoadsDivided(const char *in, word *out, wide *clocks, int bytes, int span, int warm, int ahead, int rounds) {
    __shared__ wide barriers[8];
    warmUp(in, warm, out);
    if (threadIdx.x) return;
    open(barriers);
    Stopwatch watch(clocks);
    #pragma unroll 1
    for (int i = 0; i < rounds + ahead; i++) {
        if (i < rounds) {
            int k = i % ahead;
            expect(barriers + k, bytes);
            load(k * bytes, in + (wide)i * bytes, bytes, barriers + k);
        }
        int j = i - (ahead - 1);
        if (j >= 0 && j < rounds) await(barriers + j % ahead, j / ahead & 1);
    }
    watch.stop();
}

// Stores of `bytes`, `ahead` (1, 2 or 4) of them not waited for.
extern "C" __global__ void bulkStores(char *outside, wide *clocks, int bytes, int ahead, int span, int rounds) {
    if (threadIdx.x) return;
    char *mine = outside + (wide)span * blockIdx.x;
    Stopwatch watch(clocks);
    #pragma unroll 1
    for (int i = 0; i < rounds; i++) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(mine + ((wide)i * bytes & span - 1)), "r"(at(tile)), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        if (ahead == 1) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        else if (ahead == 2) asm volatile("cp.async.bulk.wait_group 1;" ::: "memory");
        else asm volatile("cp.async.bulk.wait_group 3;" ::: "memory");
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    watch.stop();
}

// Boxes of 64 columns and `rows` of a matrix of bfloats with 64 columns per CTA, `ahead` in flight.
extern "C" __global__ void boxLoads(const __grid_constant__ Map map, const char *in, word *out, wide *clocks, int rows, int ahead, int total, int warm, int rounds) {
    __shared__ wide barriers[8];
    warmUp(in + 128ll * total * blockIdx.x, warm, out);
    if (threadIdx.x) return;
    open(barriers);
    int bytes = 128 * rows;
    Stopwatch watch(clocks);
    int slot = 0, phase = 0;
    #pragma unroll 1
    for (int i = 0; i < rounds; i++) {
        if (i >= ahead) await(barriers + slot, phase ^ 1);
        expect(barriers + slot, bytes);
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     :: "r"(at(tile) + slot * bytes), "l"(&map), "r"(0), "r"((int)blockIdx.x * total + (i * rows & total - 1)), "r"(at(barriers + slot)) : "memory");
        if (++slot == ahead) { slot = 0; phase ^= 1; }
    }
    #pragma unroll 1
    for (int i = 0; i < ahead; i++) {
        await(barriers + slot, phase ^ 1);
        if (++slot == ahead) { slot = 0; phase ^= 1; }
    }
    watch.stop();
}
