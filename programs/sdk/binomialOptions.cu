// Prices of European call options by binomial trees of 2048 steps, a CTA per option. A tree is a row of values at expiry, from which each step back
// computes a row that is one shorter. `inRegisters` keeps 16 neighbouring values per thread in registers, and threads exchange only what lies
// on their borders (samples 11). `inShared` keeps the row in device memory and takes 32 steps at a time on tiles in shared memory (SDK 4).
const int STEPS = 2048, OPTIONS = 512;

// Price of the stock, strike, logarithm of a step up, and discounted probabilities of a step up and down.
struct Option { float stock, strike, up, rise, fall; };
__constant__ Option options[OPTIONS];

__device__ __forceinline__ float at_expiry(const Option &option, int ups) {
    return fmaxf(option.stock * __expf(option.up * (2.0f * ups - STEPS)) - option.strike, 0);
}

const int THREADS = 128, OWN = STEPS / THREADS;

extern "C" __global__ void inRegisters(float *prices) {
    __shared__ float border[THREADS + 1];
    int thread = threadIdx.x;
    Option option = options[blockIdx.x];
    float value[OWN + 1];
#pragma unroll
    for (int i = 0; i < OWN; ++i) value[i] = at_expiry(option, thread * OWN + i);
    if (thread == 0) border[THREADS] = at_expiry(option, STEPS);
    // A thread has nothing to do once the row ends before its values.
    int last = max(0, thread * OWN - 1);
#pragma unroll 16
    for (int step = STEPS; step > 0; --step) {
        border[thread] = value[0];
        __syncthreads();
        value[OWN] = border[thread + 1];
        __syncthreads();
        if (step > last) {
#pragma unroll
            for (int i = 0; i < OWN; ++i) value[i] = option.rise * value[i + 1] + option.fall * value[i];
        }
    }
    if (thread == 0) prices[blockIdx.x] = value[0];
}

// A tile loses a value per step; the next one begins where this one's remaining values end.
const int TILE = 256, AT_ONCE = 32, ADVANCE = TILE - AT_ONCE;

extern "C" __global__ void __launch_bounds__(TILE) inShared(float *prices, float *rows) {
    __shared__ float now[TILE + 1], next[TILE + 1];
    int thread = threadIdx.x;
    Option option = options[blockIdx.x];
    float *row = rows + blockIdx.x * (STEPS + 16);
    for (int i = thread; i <= STEPS; i += TILE) row[i] = at_expiry(option, i);
    // Reads one beyond the tile; what comes of it is never kept.
    if (thread == 0) now[TILE] = next[TILE] = 0;
    for (int length = STEPS; length > 0; length -= AT_ONCE) {
        for (int base = 0; base < length; base += ADVANCE) {
            int top = min(TILE - 1, length - base);
            __syncthreads();
            if (thread <= top) now[thread] = row[base + thread];
            for (int step = 0; step < AT_ONCE; step += 2) {
                __syncthreads();
                next[thread] = option.rise * now[thread + 1] + option.fall * now[thread];
                __syncthreads();
                now[thread] = option.rise * next[thread + 1] + option.fall * next[thread];
            }
            __syncthreads();
            if (thread <= top - AT_ONCE) row[base + thread] = now[thread];
        }
    }
    if (thread == 0) prices[blockIdx.x] = now[0];
}
