// c = a + b in double precision, one element per thread.
__global__ void vecAdd(double *a, double *b, double *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
