#pragma once
#include <vector>
#define DEVICE __device__ __forceinline__
template <typename T>
DEVICE T scaled(T x, T a)
{
    return OFFSET + a * x;
}
std::vector<float> numbers(int n);
