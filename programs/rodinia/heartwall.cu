// Tracks points of the walls of a heart through frames of ultrasound: a CTA of 256 threads per point. In the first frame it cuts the point's
// template out; in every other one it looks for the template around the last place by normalised cross-correlation, and now and then mixes
// what it finds into the template. Matrices go by columns. The correlation is a convolution with the turned template; the sums under the
// template come of running sums along columns and rows.
const int THREADS = 256;

struct Sizes {
    // Rows and columns of a frame; half of a template; half of the window that is searched.
    int rows, columns, half, reach;
};

__device__ __forceinline__ void cut(float *to, const float *frame, Sizes s, int row, int column, int half) {
    int side = 2 * half + 1;
    for (int i = threadIdx.x; i < side * side; i += THREADS) {
        to[i] = frame[(column - half + i / side) * s.rows + row - half + i % side];
    }
}

// For every place of a template at least partly in the window the sum of what lies under it: `padded` has the window with zeros around it.
__device__ __forceinline__ void sums_under(float *sums, float *padded, float *along, const float *window, bool square, int side, int wide) {
    int all = wide + 2 * side, out = wide + side - 1;
    for (int i = threadIdx.x; i < all * all; i += THREADS) {
        int row = i % all - side, column = i / all - side;
        bool inside = row >= 0 && row < wide && column >= 0 && column < wide;
        float value = inside ? window[column * wide + row] : 0;
        padded[i] = square ? value * value : value;
    }
    __syncthreads();
    for (int column = threadIdx.x; column < all; column += THREADS) {
        float sum = 0;
        for (int row = 0; row < all; ++row) padded[column * all + row] = sum += padded[column * all + row];
    }
    __syncthreads();
    // Differences of sums down to two rows, then the same along rows.
    for (int i = threadIdx.x; i < out * all; i += THREADS) {
        int row = i % out, column = i / out;
        along[i] = padded[column * all + row + side] - padded[column * all + row];
    }
    __syncthreads();
    for (int row = threadIdx.x; row < out; row += THREADS) {
        float sum = 0;
        for (int column = 0; column < all; ++column) along[column * out + row] = sum += along[column * out + row];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < out * out; i += THREADS) {
        int row = i % out, column = i / out;
        sums[i] = along[(column + side) * out + row] - along[column * out + row];
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS) track(const float *frame, Sizes s, int number, int *places, float *templates, float *scratch,
                                                            int scratch_size, int farthest) {
    __shared__ float turned[51 * 51], partial[51], partial_square[51], best[THREADS];
    __shared__ int where[THREADS];
    __shared__ float mean, spread;
    int point = blockIdx.x, points = gridDim.x, thread = threadIdx.x;
    int side = 2 * s.half + 1, wide = 2 * s.reach + 1, out = wide + side - 1, elements = side * side;
    float *pattern = templates + point * elements;
    int *place = places + 2 * (number * points + point), *last = place - 2 * points;
    if (number == 0) {
        cut(pattern, frame, s, place[0], place[1], s.half);
        return;
    }
    // The memory of this CTA: window, correlation, sums, sums of squares, and what the sums need.
    float *window = scratch + point * scratch_size, *correlation = window + wide * wide, *sums = correlation + out * out;
    float *squares = sums + out * out, *padded = squares + out * out, *along = padded + (wide + 2 * side) * (wide + 2 * side);
    cut(window, frame, s, last[0], last[1], s.reach);
    for (int i = thread; i < elements; i += THREADS) turned[i] = pattern[elements - 1 - i];
    __syncthreads();
    for (int i = thread; i < out * out; i += THREADS) {
        int row = i % out, column = i / out;
        float sum = 0;
        for (int c = max(0, column - wide + 1); c <= min(side - 1, column); ++c) {
            for (int r = max(0, row - wide + 1); r <= min(side - 1, row); ++r) {
                sum += turned[c * side + r] * window[(column - c) * wide + row - r];
            }
        }
        correlation[i] = sum;
    }
    sums_under(sums, padded, along, window, false, side, wide);
    sums_under(squares, padded, along, window, true, side, wide);
    // Mean and deviation of the template: a sum per column, then one thread.
    if (thread < side) {
        float sum = 0, square = 0;
        for (int i = 0; i < side; ++i) {
            float value = pattern[thread * side + i];
            sum += value;
            square += value * value;
        }
        partial[thread] = sum;
        partial_square[thread] = square;
    }
    __syncthreads();
    if (thread == 0) {
        float sum = 0, square = 0;
        for (int i = 0; i < side; ++i) {
            sum += partial[i];
            square += partial_square[i];
        }
        mean = sum / elements;
        spread = sqrtf(fmaxf(square - sum * sum / elements, 0));
    }
    __syncthreads();
    // The best place not farther from the last one than it may move.
    float most = -1e30f;
    int at = 0;
    for (int i = thread; i < out * out; i += THREADS) {
        int row = i % out - (out / 2), column = i / out - (out / 2);
        float deviation = sqrtf(fmaxf(squares[i] - sums[i] * sums[i] / elements, 0));
        float value = deviation > 0 ? (correlation[i] - sums[i] * mean) / (spread * deviation) : 0;
        if (row * row + column * column <= farthest * farthest && value > most) {
            most = value;
            at = i;
        }
    }
    best[thread] = most;
    where[thread] = at;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (thread < half && best[thread + half] > best[thread]) {
            best[thread] = best[thread + half];
            where[thread] = where[thread + half];
        }
        __syncthreads();
    }
    at = where[0];
    int row = last[0] + at % out - out / 2, column = last[1] + at / out - out / 2;
    if (thread == 0) {
        place[0] = row;
        place[1] = column;
    }
    if (number % 2 == 0) {
        const float keep = 0.87f;
        for (int i = thread; i < elements; i += THREADS) {
            float now = frame[(column - s.half + i / side) * s.rows + row - s.half + i % side];
            pattern[i] = keep * pattern[i] + (1 - keep) * now;
        }
    }
}
