// A fluid on a lattice of 19 directions (Boltzmann). A CTA has a row of cells, a thread a cell. Directions are stored one after the other.
// A cell collides and hands its 19 amounts to its neighbours; an obstacle hands them back.
#define DIRECTIONS 19
__device__ constexpr int DX[DIRECTIONS] = {0, 0, 0, 1, -1, 0, 0, 1, -1, 1, -1, 0, 0, 0, 0, 1, 1, -1, -1};
__device__ constexpr int DY[DIRECTIONS] = {0, 1, -1, 0, 0, 0, 0, 1, 1, -1, -1, 1, 1, -1, -1, 0, 0, 0, 0};
__device__ constexpr int DZ[DIRECTIONS] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1};
__device__ constexpr int BACK[DIRECTIONS] = {0, 2, 1, 4, 3, 6, 5, 10, 9, 8, 7, 14, 13, 12, 11, 18, 17, 16, 15};

extern "C" __global__ void step(const float *from, float *to, const int *flags, int ny, int nz) {
    int nx = blockDim.x, x = threadIdx.x, y = blockIdx.x, z = blockIdx.y, cells = nx * ny * nz, cell = x + nx * (y + ny * z);
    float f[DIRECTIONS], rho = 0, ux = 0, uy = 0, uz = 0;
#pragma unroll
    for (int d = 0; d < DIRECTIONS; d++) f[d] = from[d * cells + cell];
    int flag = flags[cell];
    if (flag & 1) {
#pragma unroll
        for (int d = 1; d < DIRECTIONS; d++)
            if (d < BACK[d]) {
                float t = f[d];
                f[d] = f[BACK[d]];
                f[BACK[d]] = t;
            }
    } else {
#pragma unroll
        for (int d = 0; d < DIRECTIONS; d++) {
            rho += f[d];
            if (DX[d]) ux += DX[d] * f[d];
            if (DY[d]) uy += DY[d] * f[d];
            if (DZ[d]) uz += DZ[d] * f[d];
        }
        ux /= rho;
        uy /= rho;
        uz /= rho;
        if (flag & 2) {
            ux = 0.005f;
            uy = 0.002f;
            uz = 0;
        }
        float square = 1.5f * (ux * ux + uy * uy + uz * uz) - 1, base = 1.95f * rho;
#pragma unroll
        for (int d = 0; d < DIRECTIONS; d++) {
            float weight = base * (d == 0 ? 1.0f / 3 : d < 7 ? 1.0f / 18 : 1.0f / 36), along = 0;
            if (DX[d]) along += DX[d] * ux;
            if (DY[d]) along += DY[d] * uy;
            if (DZ[d]) along += DZ[d] * uz;
            f[d] = (1 - 1.95f) * f[d] + weight * (along * (4.5f * along + 3) - square);
        }
    }
    // The lattice is closed at its sides.
#pragma unroll
    for (int d = 0; d < DIRECTIONS; d++) {
        int tx = (x + DX[d] + nx) % nx, ty = (y + DY[d] + ny) % ny, tz = (z + DZ[d] + nz) % nz;
        to[d * cells + tx + nx * (ty + ny * tz)] = f[d];
    }
}

extern "C" __global__ void makeFluid(float *cells, int *flags, int count) {
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= count) return;
    unsigned state = cell * 2654435761u >> 20;
    flags[cell] = state % 16 == 0 ? 1 : state % 16 == 1 ? 2 : 0;
    for (int d = 0; d < DIRECTIONS; d++) cells[d * count + cell] = (d == 0 ? 1.0f / 3 : d < 7 ? 1.0f / 18 : 1.0f / 36) * (1 + 0.01f * (state % 7));
}
