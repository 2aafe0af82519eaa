// Compression of images to DXT1: a CTA of 64 threads finds for a block of 4 x 4 pixels two colours of 16 bits and for each pixel one of the four
// (or, with the colours the other way round, three) colours on the line between them. The pixels are sorted along the principal axis of their
// colours; the threads try all ways to cut the sorted sequence, each with the end points of least squares.
struct Colour { float r, g, b; };

__device__ __forceinline__ Colour make(float r, float g, float b) { Colour c = {r, g, b}; return c; }
__device__ __forceinline__ Colour operator+(Colour a, Colour b) { return make(a.r + b.r, a.g + b.g, a.b + b.b); }
__device__ __forceinline__ Colour operator-(Colour a, Colour b) { return make(a.r - b.r, a.g - b.g, a.b - b.b); }
__device__ __forceinline__ Colour operator*(float s, Colour a) { return make(s * a.r, s * a.g, s * a.b); }
__device__ __forceinline__ float dot(Colour a, Colour b) { return a.r * b.r + a.g * b.g + a.b * b.b; }

// Weights of the first colour by index of a pixel, in thirds or halves: 0 is the first colour, 1 the second, then those between.
__constant__ float fourth[4] = {1, 0, 2.0f / 3, 1.0f / 3}, third[4] = {1, 0, 0.5f, 0};

// All assignments of sorted pixels to colours on the line: a word with two bits per pixel. A CTA of one thread makes the table.
extern "C" __global__ void cuts(unsigned *words, int *count) {
    int number = 0;
    for (int kinds = 4; kinds >= 3; --kinds) {
        for (int a = 0; a <= 16; ++a) {
            for (int b = a; b <= 16; ++b) {
                for (int c = kinds == 4 ? b : 16; c <= 16; ++c) {
                    unsigned word = 0;
                    for (int pixel = 0; pixel < 16; ++pixel) {
                        int step = (pixel >= a) + (pixel >= b) + (pixel >= c);
                        // Along the line: first colour, those between, second colour.
                        unsigned index = step == 0 ? 0 : step == kinds - 1 ? 1 : step + 1;
                        word |= index << (2 * pixel);
                    }
                    words[number++] = word;
                }
            }
        }
        count[4 - kinds] = number;
    }
}

__device__ __forceinline__ unsigned rounded(Colour c, Colour &exact) {
    unsigned r = rintf(__saturatef(c.r) * 31), g = rintf(__saturatef(c.g) * 63), b = rintf(__saturatef(c.b) * 31);
    exact = make((r << 3 | r >> 2) / 255.0f, (g << 2 | g >> 4) / 255.0f, (b << 3 | b >> 2) / 255.0f);
    return r << 11 | g << 5 | b;
}

// The error of an assignment with its best end points, which are rounded to 16 bits.
__device__ float tried(const Colour *pixels, unsigned word, const float *weights, unsigned &first, unsigned &second) {
    float aa = 0, ab = 0, bb = 0;
    Colour ax = make(0, 0, 0), bx = ax;
    for (int i = 0; i < 16; ++i) {
        float a = weights[word >> (2 * i) & 3], b = 1 - a;
        aa += a * a, ab += a * b, bb += b * b;
        ax = ax + a * pixels[i], bx = bx + b * pixels[i];
    }
    float det = aa * bb - ab * ab;
    if (fabsf(det) < 1e-6f) return 1e30f;
    float inverse = 1 / det;
    Colour one, two;
    first = rounded(inverse * (bb * ax - ab * bx), one);
    second = rounded(inverse * (aa * bx - ab * ax), two);
    float error = 0;
    for (int i = 0; i < 16; ++i) {
        float a = weights[word >> (2 * i) & 3];
        Colour far = pixels[i] - (a * one + (1 - a) * two);
        error += dot(far, far);
    }
    return error;
}

extern "C" __global__ void __launch_bounds__(64) compress(const unsigned *image, uint2 *out, const unsigned *words, const int *count, int blocks) {
    __shared__ Colour pixels[16], sorted[16];
    __shared__ float along[16], errors[64];
    __shared__ int order[16], winners[64];
    int thread = threadIdx.x, number = blockIdx.x;
    if (thread < 16) {
        unsigned word = image[number * 16 + thread];
        pixels[thread] = make((word & 255) / 255.0f, (word >> 8 & 255) / 255.0f, (word >> 16 & 255) / 255.0f);
    }
    __syncthreads();
    // The covariance of the colours and its principal axis, by the power method; every thread for itself.
    Colour mean = make(0, 0, 0);
    for (int i = 0; i < 16; ++i) mean = mean + 0.0625f * pixels[i];
    float rr = 0, rg = 0, rb = 0, gg = 0, gb = 0, bb = 0;
    for (int i = 0; i < 16; ++i) {
        Colour d = pixels[i] - mean;
        rr += d.r * d.r, rg += d.r * d.g, rb += d.r * d.b, gg += d.g * d.g, gb += d.g * d.b, bb += d.b * d.b;
    }
    Colour axis = make(1, 1, 1);
    for (int i = 0; i < 8; ++i) {
        axis = make(rr * axis.r + rg * axis.g + rb * axis.b, rg * axis.r + gg * axis.g + gb * axis.b, rb * axis.r + gb * axis.g + bb * axis.b);
        float most = fmaxf(fmaxf(axis.r, axis.g), axis.b);
        axis = most > 0 ? (1 / most) * axis : make(1, 1, 1);
    }
    if (thread < 16) along[thread] = dot(pixels[thread] - mean, axis);
    __syncthreads();
    if (thread < 16) {
        int rank = 0;
        for (int i = 0; i < 16; ++i) rank += along[i] < along[thread] || along[i] == along[thread] && i < thread;
        order[thread] = rank;
        sorted[rank] = pixels[thread];
    }
    __syncthreads();
    float best = 1e30f;
    int winner = -1;
    unsigned first = 0, second = 0;
    int fours = count[0], all = count[1];
    for (int i = thread; i < all; i += 64) {
        unsigned a, b;
        float error = tried(sorted, words[i], i < fours ? fourth : third, a, b);
        // Which colour is the greater number says how many there are on the line.
        if (error < best && (i < fours ? a != b : true)) best = error, winner = i, first = a, second = b;
    }
    errors[thread] = best;
    winners[thread] = thread;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (thread < half && errors[thread + half] < errors[thread]) {
            errors[thread] = errors[thread + half];
            winners[thread] = winners[thread + half];
        }
        __syncthreads();
    }
    if (thread != winners[0]) return;
    unsigned indices = 0;
    if (winner < 0) {
        // All pixels have one colour.
        Colour exact;
        first = second = rounded(mean, exact);
    } else {
        bool swap = winner < fours ? first < second : first > second;
        for (int i = 0; i < 16; ++i) {
            unsigned index = words[winner] >> (2 * order[i]) & 3;
            // With the end points exchanged 0 and 1 change places, and so do the two between.
            if (swap) index = winner < fours || index < 2 ? index ^ 1 : index;
            indices |= index << (2 * i);
        }
        if (swap) {
            unsigned other = first;
            first = second;
            second = other;
        }
    }
    out[number] = make_uint2(first | second << 16, indices);
}
