// The lossless wavelet transform of JPEG 2000, forward: colours are split into components, then each level filters columns and rows by the 5/3
// lifting scheme. A CTA has 64 columns and goes down through the image in windows of eight rows, whose last three rows it keeps in registers.
const int WIDTH = 64, HEIGHT = 8;
// Rows of a window with those around it, and columns of either parity with those around them.
const int ROWS = HEIGHT + 3, HALF = WIDTH / 2 + 2, CELLS = HEIGHT * HALF;

extern "C" __global__ void split(int *red, int *green, int *blue, const unsigned char *pixels, int count) {
    __shared__ unsigned char bytes[3 * 256];
    int first = blockIdx.x * 256, thread = threadIdx.x;
    for (int i = thread; i < 768; i += 256) bytes[i] = first * 3 + i < 3 * count ? pixels[first * 3 + i] : 0;
    __syncthreads();
    if (first + thread >= count) return;
    red[first + thread] = bytes[3 * thread] - 128;
    green[first + thread] = bytes[3 * thread + 1] - 128;
    blue[first + thread] = bytes[3 * thread + 2] - 128;
}

// A column of the window, from two rows above it on; at the ends of the image it turns round, where the window reaches them.
template <bool ENDS>
struct Column {
    const int *next;
    int step, left, last, at, kept[3];

    // Even columns lie in the first half of the buffer, odd ones in the second.
    __device__ __forceinline__ void begin(const int *in, int pitch, int width, int height, int x, int c, int firstY) {
        x = x < 0 ? -x : x < width ? x : 2 * (width - 1) - x;
        bool top = ENDS && firstY == 0;
        int y = top ? 2 : firstY - 2;
        next = in + y * pitch + x;
        step = top ? -pitch : pitch;
        last = height - 1;
        left = top ? 2 : last - y;
        at = c / 2 + (c & 1) * CELLS;
        for (int i = 0; i < 3; ++i) kept[i] = load();
    }
    __device__ __forceinline__ int load() {
        int value = *next;
        if (ENDS && left == 0) {
            step = -step;
            left = last;
        }
        next += step;
        --left;
        return value;
    }

    __device__ __forceinline__ void filter(int *window) {
        int value[ROWS];
#pragma unroll
        for (int i = 0; i < ROWS; ++i) value[i] = i < 3 ? kept[i] : load();
#pragma unroll
        for (int i = 0; i < 3; ++i) kept[i] = value[HEIGHT + i];
#pragma unroll
        for (int i = 1; i < ROWS; i += 2) value[i] -= (value[i - 1] + value[i + 1]) / 2;
#pragma unroll
        for (int i = 2; i < ROWS - 1; i += 2) value[i] += (value[i - 1] + value[i + 1] + 2) / 4;
#pragma unroll
        for (int i = 2; i < 2 + HEIGHT; ++i) window[(i - 2) * HALF + at] = value[i];
    }
};

template <bool ENDS>
__device__ __forceinline__ void transform(int *window, const int *in, int *out, int width, int height, int pitch, int steps) {
    int *even = window, *odd = window + CELLS;
    int thread = threadIdx.x, firstX = blockIdx.x * WIDTH, firstY = blockIdx.y * HEIGHT * steps;
    Column<ENDS> own, border;
    own.begin(in, pitch, width, height, firstX + thread, thread + 2, firstY);
    // Two columns to the left and one to the right belong to nobody else.
    bool more = thread < 3;
    int beside = thread == 0 ? WIDTH : thread - 3;
    if (more) border.begin(in, pitch, width, height, firstX + beside, beside + 2, firstY);
    // There is one odd column less than even ones.
    if (thread < HEIGHT) odd[thread * HALF + HALF - 1] = 0;
    // The first half of the threads writes even columns, the other one odd ones.
    int parity = thread / (WIDTH / 2), c = thread % (WIDTH / 2), x = firstX + 2 * c + parity;
    int *low = out + firstY / 2 * pitch + parity * ((width + 1) / 2) + x / 2, *high = low + (height + 1) / 2 * pitch;
    const int *result = window + parity * CELLS + c + 1;
    for (int y = firstY; y < firstY + steps * HEIGHT; y += HEIGHT) {
        own.filter(window);
        if (more) border.filter(window);
        __syncthreads();
        // What is computed across the ends of rows is never looked at.
        for (int i = thread; i < CELLS - 1; i += WIDTH) odd[i] -= (even[i] + even[i + 1]) / 2;
        __syncthreads();
        for (int i = thread; i < CELLS - 1; i += WIDTH) even[i + 1] += (odd[i] + odd[i + 1] + 2) / 4;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < HEIGHT; i += 2) {
            if (x < width && (!ENDS || y + i < height)) *low = result[i * HALF];
            if (x < width && (!ENDS || y + i + 1 < height)) *high = result[(i + 1) * HALF];
            low += pitch;
            high += pitch;
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(64) forward(const int *in, int *out, int width, int height, int pitch, int steps) {
    __shared__ int window[2 * CELLS];
    if (blockIdx.y == 0 || (blockIdx.y + 1) * HEIGHT * steps + 1 >= height) {
        transform<true>(window, in, out, width, height, pitch, steps);
    } else {
        transform<false>(window, in, out, width, height, pitch, steps);
    }
}
