// Cosine transforms of blocks of 8 x 8: once as two products of matrices, a CTA and 64 threads per block; once as eight-element transforms of
// columns and rows in CTAs that have 32 x 16 elements, a thread per column and per row.
__constant__ float matrix[64];

extern "C" __global__ void products(float *out, const float *in, int width) {
    __shared__ float a[64], b[64];
    int tx = threadIdx.x, ty = threadIdx.y, at = (blockIdx.y * 8 + ty) * width + blockIdx.x * 8 + tx;
    a[ty * 8 + tx] = in[at];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) sum += matrix[i * 8 + ty] * a[i * 8 + tx];
    b[ty * 8 + tx] = sum;
    __syncthreads();
    sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) sum += b[ty * 8 + i] * matrix[i * 8 + tx];
    a[ty * 8 + tx] = sum;
    __syncthreads();
    out[at] = a[ty * 8 + tx];
}

__device__ __forceinline__ void transform(float *v, int step) {
    const float n = 0.35355339f, a = 1.38703985f, b = 1.30656296f, c = 1.17587560f, d = 0.78569496f, e = 0.54119610f, f = 0.27589938f;
    float s07 = v[0] + v[7 * step], s16 = v[step] + v[6 * step], s25 = v[2 * step] + v[5 * step], s34 = v[3 * step] + v[4 * step];
    float d07 = v[0] - v[7 * step], d61 = v[6 * step] - v[step], d25 = v[2 * step] - v[5 * step], d43 = v[4 * step] - v[3 * step];
    float outer = s07 + s34, outerLess = s07 - s34, inner = s16 + s25, innerLess = s16 - s25;
    v[0] = n * (outer + inner);
    v[2 * step] = n * (b * outerLess + e * innerLess);
    v[4 * step] = n * (outer - inner);
    v[6 * step] = n * (e * outerLess - b * innerLess);
    v[step] = n * (a * d07 - c * d61 + d * d25 - f * d43);
    v[3 * step] = n * (c * d07 + f * d61 - a * d25 + d * d43);
    v[5 * step] = n * (d * d07 + a * d61 + f * d25 - c * d43);
    v[7 * step] = n * (f * d07 + d * d61 + c * d25 + a * d43);
}

extern "C" __global__ void vectors(float *out, const float *in, int width) {
    __shared__ float tile[16 * 33];
    int tx = threadIdx.y * 8 + threadIdx.x, ty = threadIdx.z * 8;
    float *own = tile + ty * 33 + tx;
    int at = (blockIdx.y * 16 + ty) * width + blockIdx.x * 32 + tx;
#pragma unroll
    for (int i = 0; i < 8; i++) own[i * 33] = in[at + i * width];
    transform(own, 33);
    __syncwarp();
    transform(tile + (ty + threadIdx.x) * 33 + threadIdx.y * 8, 1);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 8; i++) out[at + i * width] = own[i * 33];
}
