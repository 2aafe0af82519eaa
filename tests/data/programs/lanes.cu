// Lanes of a warp that wait for each other, and groups of lanes that go different ways.

// Six ways in which lanes of a warp wait for each other, legal since Volta (independent thread scheduling).
extern "C" __global__ void lock_in_loop(int* lock, int* sum) {
    bool done = false;
    do {
        if (atomicCAS(lock, 0, 1) == 0) { *(volatile int*)sum += 1; __threadfence(); atomicExch(lock, 0); done = true; }
    } while (!done);
}
extern "C" __global__ void lock_spin(int* lock, int* sum) {
    int n = 0;
    while (atomicCAS(lock, 0, 1) != 0) n++;
    *(volatile int*)sum += 1;
    __threadfence();
    atomicExch(lock, 0);
    if (n == 12345678) *sum = 0;
}
extern "C" __global__ void lock_sleep(int* lock, int* sum) {
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
    *(volatile int*)sum += 1;
    __threadfence();
    atomicExch(lock, 0);
}
extern "C" __global__ void ticket(int* lock, int* sum) {
    while (((volatile int*)lock)[0] != (int)threadIdx.x) {}
    *(volatile int*)sum += 1;
    __threadfence();
    *(volatile int*)lock = threadIdx.x + 1;
}
extern "C" __global__ void ticket_break(int* lock, int* sum) {
    int x = 0;
    while (((volatile int*)lock)[0] != (int)threadIdx.x) { x = x * 3 + 1; if (x == 77) break; }
    *(volatile int*)sum += 1;
    __threadfence();
    *(volatile int*)lock = threadIdx.x + 1;
}
extern "C" __global__ void handshake(int* lock, int* sum) {
    if (threadIdx.x == 0) { while (*(volatile int*)lock == 0) {} *sum = 32; }
    else if (threadIdx.x == 1) { *(volatile int*)lock = 1; }
}

// Groups of lanes, each with a sequence of operations of its own: `ways[32 * step + lane]` is the operation of a lane, the same within its group.
extern "C" __global__ void groups(const unsigned* masks, const unsigned char* ways, int steps, unsigned* x, unsigned* shared_sums) {
    __shared__ unsigned sums[16];
    __shared__ unsigned long long wide_sums[4];
    unsigned lane = threadIdx.x, mask = masks[lane], value = x[lane];
    if (lane < 16) sums[lane] = 0;
    if (lane < 4) wide_sums[lane] = 0;
    __syncthreads();
    for (int step = 0; step < steps; step++) {
        switch (ways[32 * step + lane]) {
        case 0: value += __ballot_sync(mask, value & 1); break;
        case 1: value ^= __shfl_sync(mask, value, (lane + 5) & 31); break;
        case 2: value = value * 3 + __match_any_sync(mask, value & 3); break;
        case 3: value += __popc(__match_any_sync(mask, (unsigned long long)(value & 3) << 33)); break;
        case 4: atomicAdd(&sums[value & 15], value); break;
        case 5: __syncwarp(mask); value = value * 1664525 + 1013904223; break;
        case 6: value += __any_sync(mask, value > 0xc0000000u) + 2 * __all_sync(mask, value > 0x10000000u); break;
        case 7: for (unsigned i = 0; i < (value & 7); i++) value = (value << 1 | value >> 31) ^ i; break;
        case 8: atomicAdd(&wide_sums[value & 3], (unsigned long long)value << 20); break;
        case 9: { int same; unsigned peers = __match_all_sync(mask, value >> 31, &same); value ^= same ? peers : 77; break; }
        case 10: atomicMax(&sums[0], value); atomicXor(&sums[1], 0u); value = (value >> 3) * 5; break;
        case 11: {
            unsigned best = value;
#if __CUDA_ARCH__ >= 800
            best = __reduce_max_sync(mask, value);
#else
            for (unsigned i = 0; i < 32; i++) {
                unsigned other = __shfl_sync(mask, value, i);
                if (mask >> i & 1 && other > best) best = other;
            }
#endif
            value += best;
            break;
        }
        case 12: value -= __shfl_up_sync(mask, value, 1); break;
        case 13: value += __shfl_xor_sync(mask, value, 3) >> 1; break;
        default: break;
        }
    }
    x[lane] = value;
    __syncthreads();
    if (lane < 16) shared_sums[lane] = sums[lane];
    if (lane < 4) { shared_sums[16 + 2 * lane] = (unsigned)wide_sums[lane]; shared_sums[17 + 2 * lane] = (unsigned)(wide_sums[lane] >> 32); }
}

// Sums by a compare-and-swap loop in shared memory.
extern "C" __global__ void wide_sum(const double* values, double* out) {
    __shared__ double sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, values[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) *out = sum;
}

// The upper and lower halves and the bytes of words as numbers.
extern "C" __global__ void parts(const unsigned* words, float* out) {
    unsigned word = words[threadIdx.x];
    float* mine = out + 8 * threadIdx.x;
    mine[0] = (float)(unsigned short)(word >> 16);
    mine[1] = (float)(unsigned short)word;
    mine[2] = (float)(short)(word >> 16);
    mine[3] = (float)(short)word;
    for (int i = 0; i < 4; i++) mine[4 + i] = (float)(unsigned char)(word >> 8 * i);
}

// Masks that differ from lane to lane: sums of the odd and of the even numbers.
extern "C" __global__ void parity(const int* input, int* out) {
    int value = input[threadIdx.x];
    unsigned peers = __match_any_sync(0xffffffff, value & 1);
    __syncwarp();
    int sum = 0;
    for (unsigned left = peers; left; left &= left - 1) {
        sum += __shfl_sync(peers, value, __ffs(left) - 1);
    }
    out[threadIdx.x] = sum * 100 + __popc(peers);
}
