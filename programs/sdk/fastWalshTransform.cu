// Walsh transform of vectors of 2^k floats, in place: passes over device memory until parts of 2048 floats are left, which a CTA does in
// shared memory. Both combine four floats at a time. Last, products of two spectra.
__device__ __forceinline__ void four(float &a, float &b, float &c, float &d) {
    float t = a;
    a += c;
    c = t - c;
    t = b;
    b += d;
    d = t - d;
    t = a;
    a += b;
    b = t - b;
    t = c;
    c += d;
    d = t - d;
}

extern "C" __global__ void inShared(float *out, const float *in, int bits) {
    extern __shared__ float part[];
    int n = 1 << bits, base = blockIdx.x << bits, t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x) part[i] = in[base + i];
    for (int stride = n >> 2; stride > 0; stride >>= 2) {
        int low = t & (stride - 1), i = ((t - low) << 2) + low;
        __syncthreads();
        float a = part[i], b = part[i + stride], c = part[i + 2 * stride], d = part[i + 3 * stride];
        four(a, b, c, d);
        part[i] = a;
        part[i + stride] = b;
        part[i + 2 * stride] = c;
        part[i + 3 * stride] = d;
    }
    if (bits & 1) {
        __syncthreads();
        for (int i = t; i < n / 2; i += blockDim.x) {
            float a = part[2 * i], b = part[2 * i + 1];
            part[2 * i] = a + b;
            part[2 * i + 1] = a - b;
        }
    }
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) out[base + i] = part[i];
}

extern "C" __global__ void inMemory(float *out, const float *in, int stride) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, n = blockDim.x * gridDim.x * 4, low = t & (stride - 1);
    int i = ((t - low) << 2) + low + blockIdx.y * n;
    float a = in[i], b = in[i + stride], c = in[i + 2 * stride], d = in[i + 3 * stride];
    four(a, b, c, d);
    out[i] = a;
    out[i + stride] = b;
    out[i + 2 * stride] = c;
    out[i + 3 * stride] = d;
}

extern "C" __global__ void multiply(float *a, const float *b, int n) {
    float scale = 1.0f / n;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) a[i] *= b[i] * scale;
}
