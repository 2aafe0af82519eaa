// Programmatic dependent launches: a producer that lets its dependent begin at once, and consumers that work before they wait for its values.

__device__ __forceinline__ void launchDependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ __forceinline__ void waitForGrid() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// A chain of dependent additions and multiplications.
__device__ __forceinline__ unsigned churn(unsigned x, int rounds) {
    #pragma unroll 1
    for (int r = 0; r < rounds; r++) x = x * 1664525u + 1013904223u;
    return x;
}

// out[i] comes of in[i]; the store is the last instruction.
extern "C" __global__ void produce(unsigned *out, const unsigned *in, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    launchDependents();
    out[i] = churn(in[i], rounds);
}

// Combines what the launch before left in `from` with values of its own, which it makes of the number of the element before the wait.
extern "C" __global__ void consume(unsigned *out, const unsigned *from, unsigned first, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    launchDependents();
    unsigned own = churn(first + i, rounds);
    waitForGrid();
    out[i] = from[i] ^ own;
}
