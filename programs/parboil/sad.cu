// Sums of absolute differences for the estimation of motion: every 4 x 4 block of a frame against 33 x 33 positions of a reference frame.
// A CTA has 61 threads per block of 4 x 4; each does 18 positions. Then sums for pairs (8 x 4 and 4 x 8) and for 8 x 8.
// Pixels outside of the reference frame are those of its border.
#define RANGE 16
#define SIDE (2 * RANGE + 1)
#define POSITIONS (SIDE * SIDE)
#define PADDED 1096
#define EACH 18
#define GROUPS ((POSITIONS + EACH - 1) / EACH)

extern "C" __global__ void blocks4x4(unsigned short *sums, const unsigned short *frame, const unsigned short *reference, int width, int height) {
    int block = blockIdx.x * (blockDim.x / GROUPS) + threadIdx.x / GROUPS, across = width / 4;
    if (threadIdx.x / GROUPS >= blockDim.x / GROUPS || block >= across * (height / 4)) return;
    int fx = block % across * 4, fy = block / across * 4;
    int begin = threadIdx.x % GROUPS * EACH, end = min(begin + EACH, POSITIONS);
    sums += block * PADDED;
    for (int position = begin; position < end; position++) {
        int rx = fx - RANGE + position % SIDE, ry = fy - RANGE + position / SIDE;
        unsigned short sum = 0;
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 4; x++) {
                int at = min(max(ry + y, 0), height - 1) * width + min(max(rx + x, 0), width - 1);
                sum += abs(reference[at] - frame[(fy + y) * width + fx + x]);
            }
        sums[position] = sum;
    }
}

// Sums of two by two blocks of 4 x 4: one CTA per block of 8 x 8.
extern "C" __global__ void blocks8x8(unsigned short *sums8, const unsigned short *sums4, int across) {
    int x = blockIdx.x, y = blockIdx.y;
    const unsigned short *a = sums4 + (2 * y * across + 2 * x) * PADDED, *b = a + across * PADDED;
    for (int i = threadIdx.x; i < POSITIONS; i += blockDim.x)
        sums8[(y * gridDim.x + x) * PADDED + i] = a[i] + a[i + PADDED] + b[i] + b[i + PADDED];
}
