// Coulombic potential: the energy that point charges cause at every point of a plane, with the charges in constant memory. A CTA of 16 x 8 threads;
// each thread computes two points that are 16 apart, so that a half warp writes neighbouring points.
const int ATOMS = 1000, WIDTH = 16, POINTS = 2;

// Coordinates x and y, the squared distance from the plane, and the charge.
__constant__ float4 atoms[ATOMS];

extern "C" __global__ void potential(int count, float spacing, float *energies) {
    unsigned column = __umul24(blockIdx.x, blockDim.x) * POINTS + threadIdx.x;
    unsigned row = __umul24(blockIdx.y, blockDim.y) + threadIdx.y;
    unsigned place = __umul24(gridDim.x, blockDim.x) * POINTS * row + column;
    float x = spacing * column, y = spacing * row, apart = spacing * WIDTH;
    float sums[POINTS] = {};
    // Begins at 0, which the compiler does not know: it would load through uniform registers of sm_80, which is not implemented.
    for (int i = threadIdx.z; i < count; ++i) {
        float dy = y - atoms[i].y, rest = dy * dy + atoms[i].z, dx = x - atoms[i].x;
        for (int k = 0; k < POINTS; ++k) {
            float across = dx + k * apart;
            sums[k] += atoms[i].w * rsqrtf(across * across + rest);
        }
    }
    for (int k = 0; k < POINTS; ++k) energies[place + k * WIDTH] += sums[k];
}
