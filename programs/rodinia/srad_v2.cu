// Speckle reducing anisotropic diffusion, row by row, with tiles of 16 x 16 in shared memory; two launches per iteration.
// Rows above the image, which the first row of tiles would read, are row 0, and so on all around.
#define B 16

extern "C" __global__ void differences(float *east, float *west, float *north, float *south, const float *image, float *coefficient,
                                       int columns, float variance) {
    __shared__ float tile[B][B], result[B][B], above[B][B], below[B][B], right[B][B], left[B][B];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int corner = columns * B * by + B * bx, at = corner + columns * ty + tx;
    above[ty][tx] = image[by == 0 ? B * bx + tx : corner + tx - columns];
    below[ty][tx] = image[by == gridDim.y - 1 ? corner + columns * (B - 1) + tx : corner + columns * B + tx];
    __syncthreads();
    left[ty][tx] = image[bx == 0 ? corner + columns * ty : corner + columns * ty - 1];
    right[ty][tx] = image[bx == gridDim.x - 1 ? corner + columns * ty + B - 1 : corner + columns * ty + B];
    __syncthreads();
    tile[ty][tx] = image[at];
    __syncthreads();
    float here = tile[ty][tx];
    float n = (ty == 0 ? above[ty][tx] : tile[ty - 1][tx]) - here, s = (ty == B - 1 ? below[ty][tx] : tile[ty + 1][tx]) - here;
    float w = (tx == 0 ? left[ty][tx] : tile[ty][tx - 1]) - here, e = (tx == B - 1 ? right[ty][tx] : tile[ty][tx + 1]) - here;
    float gradient = (n * n + s * s + w * w + e * e) / (here * here), laplace = (n + s + w + e) / here;
    float numerator = 0.5 * gradient - (1.0 / 16.0) * (laplace * laplace), denominator = 1 + .25 * laplace;
    float square = numerator / (denominator * denominator);
    denominator = (square - variance) / (variance * (1 + variance));
    float c = 1.0 / (1.0 + denominator);
    if (c < 0) result[ty][tx] = 0;
    else if (c > 1) result[ty][tx] = 1;
    else result[ty][tx] = c;
    __syncthreads();
    coefficient[at] = result[ty][tx];
    east[at] = e;
    west[at] = w;
    south[at] = s;
    north[at] = n;
}

extern "C" __global__ void diffuse(const float *east, const float *west, const float *north, const float *south, float *image,
                                   const float *coefficient, int columns, float lambda) {
    __shared__ float below[B][B], right[B][B], own[B][B], result[B][B], tile[B][B];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int corner = columns * B * by + B * bx, at = corner + columns * ty + tx;
    tile[ty][tx] = image[at];
    __syncthreads();
    below[ty][tx] = coefficient[by == gridDim.y - 1 ? corner + columns * (B - 1) + tx : corner + columns * B + tx];
    __syncthreads();
    right[ty][tx] = coefficient[bx == gridDim.x - 1 ? corner + columns * ty + B - 1 : corner + columns * ty + B];
    __syncthreads();
    own[ty][tx] = coefficient[at];
    __syncthreads();
    float c = own[ty][tx], s = ty == B - 1 ? below[ty][tx] : own[ty + 1][tx], e = tx == B - 1 ? right[ty][tx] : own[ty][tx + 1];
    float divergence = c * north[at] + s * south[at] + c * west[at] + e * east[at];
    result[ty][tx] = tile[ty][tx] + 0.25 * lambda * divergence;
    __syncthreads();
    image[at] = result[ty][tx];
}
