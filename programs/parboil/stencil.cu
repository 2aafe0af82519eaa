// A stencil of seven points in three dimensions. A thread has two columns of cells, half a CTA apart, and walks along z; the plane it is in
// lies in shared memory, the planes before and after it in registers.
#define AT(x, y, z) ((x) + nx * ((y) + ny * (z)))

extern "C" __global__ void sevenPoints(float centre, float around, const float *in, float *out, int nx, int ny, int nz) {
    extern __shared__ float plane[];
    int x = blockIdx.x * blockDim.x * 2 + threadIdx.x, x2 = x + blockDim.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int own = threadIdx.x + threadIdx.y * blockDim.x * 2, own2 = own + blockDim.x, width = 2 * blockDim.x;
    plane[own] = plane[own2] = 0;
    __syncthreads();
    bool inner = x > 0 && y > 0 && x < nx - 1 && y < ny - 1, inner2 = y > 0 && x2 < nx - 1 && y < ny - 1;
    bool left = threadIdx.x == 0, right = threadIdx.x == blockDim.x - 1, low = threadIdx.y == 0, high = threadIdx.y == blockDim.y - 1;
    float before = 0, before2 = 0, after = 0, after2 = 0;
    if (x < nx && y < ny) {
        before = in[AT(x, y, 0)];
        plane[own] = in[AT(x, y, 1)];
    }
    if (x2 < nx && y < ny) {
        before2 = in[AT(x2, y, 0)];
        plane[own2] = in[AT(x2, y, 1)];
    }
    __syncthreads();
    for (int z = 1; z < nz - 1; z++) {
        if (x < nx && y < ny) after = in[AT(x, y, z + 1)];
        if (inner) {
            float up = high ? in[AT(x, y + 1, z)] : plane[own + width], down = low ? in[AT(x, y - 1, z)] : plane[own - width];
            float side = left ? in[AT(x - 1, y, z)] : plane[own - 1];
            out[AT(x, y, z)] = (after + before + up + down + plane[own + 1] + side) * around - plane[own] * centre;
        }
        if (x2 < nx && y < ny) after2 = in[AT(x2, y, z + 1)];
        if (inner2) {
            float up = high ? in[AT(x2, y + 1, z)] : plane[own2 + width], down = low ? in[AT(x2, y - 1, z)] : plane[own2 - width];
            float side = right ? in[AT(x2 + 1, y, z)] : plane[own2 + 1];
            out[AT(x2, y, z)] = (after2 + before2 + up + down + side + plane[own2 - 1]) * around - plane[own2] * centre;
        }
        __syncthreads();
        before = plane[own];
        plane[own] = after;
        before2 = plane[own2];
        plane[own2] = after2;
        __syncthreads();
    }
}
