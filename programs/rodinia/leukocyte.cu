// Finds white blood cells in a frame of a video and follows their outlines. `score` compares the gradient along circles of seven radii with their
// normals (the gradient inverse coefficient of variation): a CTA per column, a thread per row. `dilate` takes the greatest score in a disc around
// each pixel, so that a cell's centre is where both are equal. `flow` smooths the picture around a cell along a direction until it hardly changes
// (a motion gradient vector flow): a CTA of 320 threads per cell, with the picture in shared memory. Frames go by columns. The original reads
// frames through textures; here they are read-only data.
const int POINTS = 150, CIRCLES = 7, LEAST_RADIUS = 8, MARGIN = 22, DISC = 25;

// A whole number that has come out a little too small is still that number.
__device__ constexpr int towards_zero(double value) {
    return static_cast<int>(value + (value < 0 ? -1e-6 : 1e-6));
}

// Directions of the points of a circle, and where they lie on each circle. Sine and cosine by steps of an angle, whose own are series.
struct Circle {
    float cosine[POINTS], sine[POINTS];
    int right[CIRCLES * POINTS], down[CIRCLES * POINTS];
    __device__ constexpr Circle() : cosine(), sine(), right(), down() {
        double angle = 2 * 3.14159265358979323846 / POINTS, c = 1, s = 0, step_c = 1, step_s = angle, term = angle;
        for (int i = 2; i < 16; ++i) {
            term *= angle / i;
            if (i % 2) step_s += i % 4 == 1 ? term : -term; else step_c += i % 4 == 0 ? term : -term;
        }
        for (int n = 0; n < POINTS; ++n) {
            cosine[n] = c, sine[n] = s;
            for (int k = 0; k < CIRCLES; ++k) {
                right[k * POINTS + n] = towards_zero(c * (LEAST_RADIUS + 2 * k));
                down[k * POINTS + n] = towards_zero(s * (LEAST_RADIUS + 2 * k));
            }
            double turned = c * step_c - s * step_s;
            s = s * step_c + c * step_s;
            c = turned;
        }
    }
};
__constant__ Circle circle = Circle();

// Which pixels of a square belong to the disc of `dilate`.
__constant__ float disc[DISC * DISC];

// Gradients of the frame, and cut out around each cell a piece of their strength from 0 to 1. Host code in the original.
extern "C" __global__ void gradients(const float *frame, float *right, float *down, int rows, int columns) {
    int place = blockIdx.x * blockDim.x + threadIdx.x, row = place % rows, column = place / rows;
    if (column >= columns) return;
    int left = max(column - 1, 0), far = min(column + 1, columns - 1), up = max(row - 1, 0), low = min(row + 1, rows - 1);
    right[place] = (frame[far * rows + row] - frame[left * rows + row]) / (far - left);
    down[place] = (frame[column * rows + low] - frame[column * rows + up]) / (low - up);
}

extern "C" __global__ void pieces(const float *right, const float *down, float *pictures, int *heights, int *widths, int rows, int columns,
                                  int height, int width) {
    int cell = blockIdx.x;
    for (int i = threadIdx.x; i < height * width; i += blockDim.x) {
        int row = (cell * 29 + 30) % rows + i / width - height / 2, column = (cell * 47 + 26) % columns + i % width - width / 2;
        int place = min(max(column, 0), columns - 1) * rows + min(max(row, 0), rows - 1);
        pictures[cell * height * width + i] = fminf(1, (fabsf(right[place]) + fabsf(down[place])) / 64);
    }
    heights[cell] = height, widths[cell] = width;
}

extern "C" __global__ void score(int rows, const float *__restrict__ right, const float *__restrict__ down, float *scores) {
    int column = blockIdx.x + MARGIN, row = threadIdx.x + MARGIN;
    float best = 0;
    for (int k = 0; k < CIRCLES; ++k) {
        // Mean and variance as points come.
        float sum = 0, squares = 0, mean = 0;
        // Begins at 0, which the compiler does not know: it would load constants through uniform registers of sm_80, which is not implemented.
        for (int n = threadIdx.z; n < POINTS; ++n) {
            int place = (column + circle.right[k * POINTS + n]) * rows + row + circle.down[k * POINTS + n];
            float along = right[place] * circle.cosine[n] + down[place] * circle.sine[n];
            sum += along;
            float off = along - mean;
            mean += off / (n + 1);
            squares += off * (along - mean);
        }
        mean = sum / POINTS;
        float variance = squares / (POINTS - 1);
        if (mean * mean / variance > best) best = mean * mean / variance;
    }
    scores[column * rows + row] = best;
}

extern "C" __global__ void dilate(int rows, int columns, int side, const float *__restrict__ scores, float *dilated) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x, row = thread % rows, column = thread / rows;
    if (column >= columns) return;
    float most = 0;
    for (int i = 0; i < side; ++i) {
        int y = row - side / 2 + i;
        if (y < 0 || y >= rows) continue;
        // As above.
        for (int j = threadIdx.z; j < side; ++j) {
            int x = column - side / 2 + j;
            if (x < 0 || x >= columns || disc[i * side + j] == 0) continue;
            float value = scores[x * rows + y];
            if (value > most) most = value;
        }
    }
    dilated[row * columns + column] = most;
}

const int THREADS = 320, LARGEST = 41 * 81, FOLDED = 256;

__device__ __forceinline__ float step(float x) {
    return atanf(x) * 0.318309886f + 0.5f;
}

extern "C" __global__ void __launch_bounds__(THREADS) flow(float *flows, const float *pictures, const int *heights, const int *widths, float vx,
                                                           float vy, float blur, int iterations, float small) {
    __shared__ float picture[LARGEST], waiting[THREADS];
    __shared__ bool still;
    int height = heights[blockIdx.x], width = widths[blockIdx.x], thread = threadIdx.x;
    float *result = flows + blockIdx.x * height * width;
    const float *given = pictures + blockIdx.x * height * width;
    int rounds = (height * width + THREADS - 1) / THREADS;
    for (int i = thread; i < height * width; i += THREADS) picture[i] = given[i];
    if (thread == 0) still = false;
    __syncthreads();
    const float per_width = 1.0f / width, sharp = 1 / blur, smooth = 0.5f, weight = 1 / (8 * smooth + 1);
    for (int iteration = 0; iteration < iterations && !still; ++iteration) {
        float change = 0;
        int row = 0, column = thread % width - THREADS % width;
        for (int round = 0; round < rounds; ++round) {
            int before = row * width + column;
            row = (thread + round * THREADS + 0.5f) * per_width;
            column += THREADS % width;
            if (column >= width) column -= width;
            float value = 0, old = 0;
            bool inside = row < height;
            if (inside) {
                int up = max(row - 1, 0) * width, here = row * width, low = min(row + 1, height - 1) * width;
                int left = max(column - 1, 0), right = min(column + 1, width - 1);
                old = picture[here + column];
                float ul = picture[up + left] - old, u = picture[up + column] - old, ur = picture[up + right] - old;
                float l = picture[here + left] - old, r = picture[here + right] - old;
                float dl = picture[low + left] - old, d = picture[low + column] - old, dr = picture[low + right] - old;
                // A neighbour counts as far as it lies in the direction of the motion.
                value = old + smooth * weight * (step(ul * (vy - vx) * sharp) * ul + step(u * vy * sharp) * u + step(ur * (vx + vy) * sharp) * ur +
                                                 step(-l * vx * sharp) * l + step(r * vx * sharp) * r +
                                                 step(-dl * (vx + vy) * sharp) * dl + step(-d * vy * sharp) * d + step(dr * (vx - vy) * sharp) * dr);
                float source = given[here + column];
                value -= weight * source * (value - source);
            }
            // The values of a round are written after the next round has read, which is the last to need the old ones.
            __syncthreads();
            if (round > 0) picture[before] = waiting[thread];
            if (round < rounds - 1) waiting[thread] = value; else if (inside) picture[row * width + column] = value;
            change += fabsf(value - old);
        }
        // The mean change, by halves; 320 threads are first folded to 256.
        waiting[thread] = change;
        __syncthreads();
        if (thread >= FOLDED) waiting[thread - FOLDED] += waiting[thread];
        __syncthreads();
        for (int half = FOLDED / 2; half > 0; half /= 2) {
            if (thread < half) waiting[thread] += waiting[thread + half];
            __syncthreads();
        }
        if (thread == 0 && waiting[0] / (height * width) < small) still = true;
        __syncthreads();
    }
    for (int i = thread; i < height * width; i += THREADS) result[i] = picture[i];
}
