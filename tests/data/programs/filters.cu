// Filters between texels, a level of detail by number and by gradients, the sizes of an image, and constants of half precision.
#include <cuda_fp16.h>

extern "C" __global__ void filter(cudaTextureObject_t clamped, cudaTextureObject_t bordered, cudaTextureObject_t wrapped,
                                  cudaTextureObject_t volume, cudaTextureObject_t fractions, float *out, int width, int height, float level) {
    int x = threadIdx.x, y = blockIdx.x, at = y * blockDim.x + x, all = blockDim.x * gridDim.x;
    float u = x * 0.37f - 1.0f, v = y * 0.61f - 1.0f;
    out[at] = tex2D<float>(clamped, u, v);
    out[at + all] = tex2DLod<float>(bordered, u, v, level);
    out[at + 2 * all] = tex2DGrad<float>(wrapped, u / width, v / height, make_float2(level, 0.0f), make_float2(0.0f, level));
    out[at + 3 * all] = tex3D<float>(volume, u, v, x * 0.125f);
    out[at + 4 * all] = tex1D<float>(fractions, u);
    int across, down;
    asm("txq.width.b32 %0, [%1];" : "=r"(across) : "l"(volume));
    asm("txq.height.b32 %0, [%1];" : "=r"(down) : "l"(volume));
    out[at + 5 * all] = 100 * across + down;
}

extern "C" __global__ void halves(const __half2 *in, __half2 *out, __half2 a, __half b) {
    int i = threadIdx.x;
    out[i] = __hfma2(in[i], __half2half2(b), a);
    out[i + 32] = __hadd2(in[i], __high2half2(a));
    out[i + 64] = __hmul2(in[i], __hneg2(__half2half2(__habs(b))));
}
