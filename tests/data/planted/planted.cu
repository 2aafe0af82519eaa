// Kernels with two faults each. An argument or the launch removes each fault alone; the work stays the same.

// Faults: lanes whose addresses are `stride` apart, and lanes of which `bank` fall on one bank of shared memory.
extern "C" __global__ void apart_and_banks(const float* x, float* out, int mask, int rounds, int reads, int stride, int bank) {
    __shared__ float tile[2048];
    int t = threadIdx.x, at = (blockIdx.x * blockDim.x + t) * stride;
    for (int i = t; i < 2048; i += blockDim.x) tile[i] = i;
    __syncthreads();
    float sum = 0;
    for (int r = 0; r < rounds; r++) {
        sum += x[at & mask];
        at += 32 * stride;
        for (int i = 0; i < reads; i++) sum += tile[((t + i) * bank + r) & 2047];
    }
    out[blockIdx.x * blockDim.x + t] = sum;
}

// Faults: with `swap` neighbouring threads have neighbouring rows; and the launch's dynamic shared memory.
extern "C" __global__ void jacobi(int n, const float* __restrict__ a, float* __restrict__ b, int swap) {
    int across = blockIdx.x * blockDim.x + threadIdx.x, down = blockIdx.y * blockDim.y + threadIdx.y;
    int x = (swap ? down : across) + 1, y = (swap ? across : down) + 1;
    if (x < n - 1 && y < n - 1) {
        b[y * n + x] = 0.2f * (a[y * n + x] + a[y * n + x - 1] + a[y * n + x + 1] + a[(y - 1) * n + x] + a[(y + 1) * n + x]);
    }
}

__device__ __forceinline__ float work(float v, int n, float k) {
    float a = v, b = v + 1, c = v + 2, d = v + 3;
    for (int i = 0; i < n; i++) {
        a = a * k + 1; b = b * k + 2; c = c * k + 3; d = d * k + 4;
    }
    return a + b + c + d;
}

// Faults: lanes that take `ways` paths in turn, and `links` products that each wait for the one before, rather than four sums of them.
extern "C" __global__ void paths_and_chain(float* out, int rounds, int ways, int each, int links, int chains, float k) {
    int t = threadIdx.x;
    float sum = t;
    for (int r = 0; r < rounds; r++) {
        for (int way = 0; way < ways; way++) {
            if (t % ways == way) sum += work(sum, each, k + way);
        }
        if (chains == 1) {
            #pragma unroll 4
            for (int i = 0; i < links; i++) sum = sum * k + 1;
        } else {
            sum += work(sum, links / 4, k);
        }
    }
    out[blockIdx.x * blockDim.x + t] = sum;
}

// Faults: registers that live through the loop, and barriers in it. A load needs the value before it.
template <int LIVE>
__device__ __forceinline__ void chase(const int* next, float* out, int rounds, int barriers, int links, float k) {
    float live[LIVE];
    int g = blockIdx.x * blockDim.x + threadIdx.x, at = g;
    for (int i = 0; i < LIVE; i++) {
        live[i] = g + i;
        asm volatile("" : "+f"(live[i]));
    }
    float sum = 0;
    for (int r = 0; r < rounds; r++) {
        at = next[at];
        sum += at;
        for (int i = 0; i < barriers; i++) __syncthreads();
        #pragma unroll 8
        for (int i = 0; i < links; i++) sum = sum * k + 1;
    }
    for (int i = 0; i < LIVE; i++) {
        asm volatile("" : "+f"(live[i]));
        sum += live[i];
    }
    out[g] = sum;
}
extern "C" __global__ void many_registers(const int* next, float* out, int rounds, int barriers, int links, float k) {
    chase<200>(next, out, rounds, barriers, links, k);
}
extern "C" __global__ void few_registers(const int* next, float* out, int rounds, int barriers, int links, float k) {
    chase<4>(next, out, rounds, barriers, links, k);
}

// Faults: the launch (CTAs of one warp, dynamic shared memory, CTAs beyond the last whole wave), conflicts of `bank` lanes, and a barrier.
extern "C" __global__ void loads(const int* next, float* out, int rounds, int bank, int reads, int barriers) {
    extern __shared__ float tile[];
    int t = threadIdx.x, g = blockIdx.x * blockDim.x + t, at = g;
    if (reads) for (int i = t; i < 1024; i += blockDim.x) tile[i] = i;
    float sum = 0;
    for (int r = 0; r < rounds; r++) {
        at = next[at];
        sum += at;
        for (int i = 0; i < reads; i++) sum += tile[((t + i) * bank + r) & 1023];
        for (int i = 0; i < barriers; i++) __syncthreads();
    }
    out[g] = sum;
}

// Faults: a stream of an array (a small `mask` leaves it in a cache), loads `past` the L1, and a chain.
extern "C" __global__ void stream_and_chain(const float4* x, float* out, int n, int mask, int past, int links, int chains, float k) {
    int threads = gridDim.x * blockDim.x, g = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = g; i < n; i += 2 * threads) {
        float4 a, b;
        if (past) a = __ldcg(&x[i & mask]), b = __ldcg(&x[(i + threads) & mask]);
        else a = x[i & mask], b = x[(i + threads) & mask];
        sum += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
        if (chains == 1) {
            #pragma unroll 4
            for (int j = 0; j < links; j++) sum = sum * k + 1;
        } else {
            sum += work(sum, links / 4, k);
        }
    }
    out[g] = sum;
}

// Faults: atomics of all threads on `spread` addresses, and paths.
extern "C" __global__ void atomics_and_paths(int* counts, float* out, int rounds, int spread, int ways, int each, float k) {
    int t = threadIdx.x, g = blockIdx.x * blockDim.x + t;
    float sum = t;
    int seen = 0;
    for (int r = 0; r < rounds; r++) {
        seen += atomicAdd(&counts[(g * 8) % spread], seen + r);
        for (int way = 0; way < ways; way++) {
            if (t % ways == way) sum += work(sum, each, k + way);
        }
    }
    out[g] = sum + seen;
}

template <int COUNT> __device__ __forceinline__ void straight(float (&sum)[4], float k) {
    #pragma unroll
    for (int i = 0; i < COUNT; i++) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(sum[i % 4]) : "f"(k));
}

// Faults: straight code of 2400 instructions (without `far` a loop of 240), and loads of lanes that are `stride` apart.
extern "C" __global__ void code_and_apart(const float* x, float* out, int mask, int rounds, int far, int loads, int stride, float k) {
    int t = threadIdx.x, g = blockIdx.x * blockDim.x + t;
    float sum[4] = {1, 2, 3, 4};
    for (int r = 0; r < rounds; r++) {
        if (far) straight<2400>(sum, k);
        else for (int i = 0; i < 10; i++) straight<240>(sum, k);
        for (int i = 0; i < loads; i++) sum[0] += x[((g + (r * loads + i) * 32) * stride) & mask];
    }
    out[g] = sum[0] + sum[1] + sum[2] + sum[3];
}

// Faults: special functions, and paths.
extern "C" __global__ void special_and_paths(float* out, int rounds, int special, int ways, int each, float k) {
    int t = threadIdx.x;
    float a = t, b = t + 1, c = t + 2, d = t + 3;
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < special; i++) {
            a = __sinf(a); b = __sinf(b); c = __sinf(c); d = __sinf(d);
        }
        for (int way = 0; way < ways; way++) {
            if (t % ways == way) a += work(a, each, k + way);
        }
    }
    out[blockIdx.x * blockDim.x + t] = a + b + c + d;
}

// Faults: warp 0 works `late` times as long before the barrier, and a chain that all have.
extern "C" __global__ void late_and_chain(float* out, int rounds, int late, int links, int chains, float k) {
    int t = threadIdx.x;
    float sum = t;
    for (int r = 0; r < rounds; r++) {
        if (t < 32) sum += work(sum, late, k);
        if (late) __syncthreads();
        if (chains == 1) {
            #pragma unroll 4
            for (int i = 0; i < links; i++) sum = sum * k + 1;
        } else {
            sum += work(sum, links / 4, k);
        }
    }
    out[blockIdx.x * blockDim.x + t] = sum;
}

// Faults: the first CTA works `longer` times as long, and loads of lanes that are `stride` apart.
extern "C" __global__ void uneven_and_apart(const float* x, float* out, int mask, int rounds, int longer, int stride) {
    int t = threadIdx.x, g = blockIdx.x * blockDim.x + t;
    float sum = 0;
    int mine = blockIdx.x == 0 ? rounds * longer : rounds;
    for (int r = 0; r < mine; r++) sum += x[((g + r * 512) * stride) & mask];
    out[g] = sum;
}
