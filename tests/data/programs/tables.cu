// A loop over an array in constant memory, whose address is the same for all threads: it is kept in a uniform register.
__constant__ float weights[32];
__constant__ double offsets[8];

extern "C" __global__ void weigh(const float *x, float *y, double *z, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    double offset = 0.0;
#pragma unroll 1
    for (int k = 0; k < count; k++) {
        sum += weights[k] * x[i + k];
        offset += offsets[k & 7];
    }
    y[i] = sum;
    z[i] = offset + i;
}
