// A source as applications have it: kernels, host code and headers of both. `}` in a comment.
#include <cstdio>
#include <cuda_runtime.h>
#include <missing/library.h>
#include "mixed.h"

#ifndef OFFSET
#error OFFSET is missing
#endif

std::vector<float> numbers(int n) { return std::vector<float>(n, 1.0f); }
static missing::handle handle;

template <typename T>
__global__ void scale(const T *__restrict__ x, T *y, T a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = scaled(x[i], a);
}

int main()
{
    float *x = nullptr, *y = nullptr;
    scale<float><<<4, 256>>>(x, y, 2.0f, 1000);
    printf("}\n");
#ifdef LONG
    return 1;
#endif
}
