// Clocks around what a microbenchmark repeats. Every warp writes its own two: on a GPU the time of a kernel is the last end minus the first
// begin. A simulated clock register counts instructions, so that a simulated time is the launch's own.
typedef unsigned int word;
typedef unsigned long long wide;

__device__ __forceinline__ wide now() {
    wide ticks;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(ticks) :: "memory");
    return ticks;
}

struct Stopwatch {
    wide *clocks;
    wide begin;

    __device__ __forceinline__ Stopwatch(wide *where) : clocks(where), begin(now()) {}

    __device__ __forceinline__ void stop() {
        wide end = now();
        wide warp = (blockIdx.x * (wide)blockDim.x + threadIdx.x) / 32;
        if (threadIdx.x % 32 == 0) {
            clocks[2 * warp] = begin;
            clocks[2 * warp + 1] = end;
        }
    }
};

// A number that no sum of the kernels has: a store that depends on the sum keeps the compiler from leaving its loads out.
#define NEVER 0x1badcafeu
