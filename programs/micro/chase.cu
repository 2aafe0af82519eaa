// Latency: one thread makes a ring of pointers and follows it. `cached` reads through the L1, `uncached` from the LLC; `spread` makes a ring
// larger than the LLC with many threads, which four threads then follow past the caches.
typedef unsigned long long word;

template <bool L1> __device__ word load(const word *at) {
    word value;
    if (L1) asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    else asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

template <bool L1> __device__ void chase(word *ring, word *last, unsigned *clocks, int entries, int steps) {
    for (int i = 0; i < entries - 1; i++) ring[i] = (word)(ring + i + 1);
    ring[entries - 1] = (word)ring;
    word at = load<L1>(ring);
    __syncthreads();
    unsigned begin = clock();
    for (int i = 0; i < steps; i++) at = load<L1>((const word *)at);
    clocks[0] = begin;
    clocks[1] = clock();
    last[0] = (at - (word)ring) / sizeof(word);
}

extern "C" __global__ void cached(word *ring, word *last, unsigned *clocks, int entries, int steps) {
    chase<true>(ring, last, clocks, entries, steps);
}

extern "C" __global__ void uncached(word *ring, word *last, unsigned *clocks, int entries, int steps) {
    chase<false>(ring, last, clocks, entries, steps);
}

extern "C" __global__ void spread(word *ring, word *last, int entries, int steps, int width) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = thread; i < entries - width; i += gridDim.x * blockDim.x) ring[i] = (word)(ring + i + width);
    if (thread >= width) return;
    ring[entries - width + thread] = (word)(ring + thread);
    word at = (word)(ring + thread), next;
    __syncwarp(15);
    // The first reads wait for entries that other CTAs may still write: the thread's own lie at its index, so it follows those only.
    for (int i = 0; i < steps; i++) {
        asm volatile("ld.global.cv.u64 %0, [%1];" : "=l"(next) : "l"(at) : "memory");
        at = next ? next : at;
    }
    last[thread] = at ? 1 : 0;
}
