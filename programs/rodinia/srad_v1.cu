// Speckle reducing anisotropic diffusion of an image, column by column: scaling, then in each iteration sums of the image and of its squares,
// two steps of the diffusion, and scaling back. CTAs of 512 threads. Neighbours are looked up in tables of indices.
#define T 512

extern "C" __global__ void extract(long long count, float *image) {
    int i = blockIdx.x * T + threadIdx.x;
    if (i < count) image[i] = expf(image[i] / 255);
}

extern "C" __global__ void compress(long long count, float *image) {
    int i = blockIdx.x * T + threadIdx.x;
    if (i < count) image[i] = logf(image[i]) * 255;
}

extern "C" __global__ void prepare(long long count, const float *image, float *sums, float *squares) {
    int i = blockIdx.x * T + threadIdx.x;
    if (i < count) {
        sums[i] = image[i];
        squares[i] = image[i] * image[i];
    }
}

// Sums 512 elements with a distance of `step` per CTA; the last CTA may have fewer.
extern "C" __global__ void reduce(long long all, int count, int step, float *sums, float *squares) {
    __shared__ float sum[T], square[T];
    int block = blockIdx.x, t = threadIdx.x, i = block * T + t, last = T - (gridDim.x * T - count), power = 0;
    if (i < count) {
        sum[t] = sums[i * step];
        square[t] = squares[i * step];
    }
    __syncthreads();
    if (last == T || block != gridDim.x - 1) {
        for (int width = 2; width <= T; width *= 2) {
            if ((t + 1) % width == 0) {
                sum[t] += sum[t - width / 2];
                square[t] += square[t - width / 2];
            }
            __syncthreads();
        }
        if (t == T - 1) {
            sums[block * step * T] = sum[t];
            squares[block * step * T] = square[t];
        }
        return;
    }
    // Fewer than 512: the largest power of two first, then one thread adds the rest.
    for (int width = 2; width <= T; width *= 2)
        if (last >= width) power = width;
    for (int width = 2; width <= power; width *= 2) {
        if ((t + 1) % width == 0 && t < power) {
            sum[t] += sum[t - width / 2];
            square[t] += square[t - width / 2];
        }
        __syncthreads();
    }
    if (t == power - 1) {
        for (int k = block * T + power; k < block * T + last; k++) {
            sum[t] += sums[k * step];
            square[t] += squares[k * step];
        }
        sums[block * step * T] = sum[t];
        squares[block * step * T] = square[t];
    }
}

__device__ __forceinline__ void place(int i, int rows, int &row, int &column) {
    row = (i + 1) % rows - 1;
    column = (i + 1) / rows;
    if ((i + 1) % rows == 0) {
        row = rows - 1;
        column--;
    }
}

// Differences to the four neighbours, and the coefficient of diffusion.
extern "C" __global__ void differences(int rows, int columns, long long count, const int *north, const int *south, const int *east,
                                       const int *west, float *dn, float *ds, float *de, float *dw, float variance, float *coefficient,
                                       const float *image) {
    int i = blockIdx.x * T + threadIdx.x, row, column;
    place(i, rows, row, column);
    if (i >= count) return;
    float here = image[i];
    float n = image[north[row] + rows * column] - here, s = image[south[row] + rows * column] - here;
    float w = image[row + rows * west[column]] - here, e = image[row + rows * east[column]] - here;
    float gradient = (n * n + s * s + w * w + e * e) / (here * here), laplace = (n + s + w + e) / here;
    float numerator = 0.5 * gradient - (1.0 / 16.0) * (laplace * laplace), denominator = 1 + 0.25 * laplace;
    float square = numerator / (denominator * denominator);
    denominator = (square - variance) / (variance * (1 + variance));
    float c = 1.0 / (1.0 + denominator);
    if (c < 0) c = 0;
    else if (c > 1) c = 1;
    dn[i] = n;
    ds[i] = s;
    dw[i] = w;
    de[i] = e;
    coefficient[i] = c;
}

extern "C" __global__ void diffuse(float lambda, int rows, int columns, long long count, const int *south, const int *east, const float *dn,
                                   const float *ds, const float *de, const float *dw, const float *coefficient, float *image) {
    int i = blockIdx.x * T + threadIdx.x, row, column;
    place(i, rows, row, column);
    if (i >= count) return;
    float n = coefficient[i], s = coefficient[south[row] + rows * column], w = coefficient[i], e = coefficient[row + rows * east[column]];
    float divergence = n * dn[i] + s * ds[i] + w * dw[i] + e * de[i];
    image[i] = image[i] + 0.25 * lambda * divergence;
}

// The table of the index before (-1) or after (+1), within 0 to count - 1.
extern "C" __global__ void makeTable(int *table, int count, int step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) table[i] = min(max(i + step, 0), count - 1);
}
