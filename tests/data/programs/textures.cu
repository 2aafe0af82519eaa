// Texture and surface objects in all forms that are executed.
extern "C" __global__ void fetch(cudaTextureObject_t bytes, cudaTextureObject_t words, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // One texel beyond the end reads zero.
    int4 four = tex1Dfetch<int4>(words, i / 4 + 1);
    out[i] = tex1Dfetch<unsigned char>(bytes, i) + 1000 * four.y;
}

extern "C" __global__ void sample(cudaTextureObject_t clamped, cudaTextureObject_t bordered, cudaTextureObject_t wrapped,
                                  cudaTextureObject_t mirrored, float *out, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x, at = y * blockDim.x + x;
    // Places from two texels before the image to two behind it.
    float u = x - 2 + 0.5f, v = y - 2 + 0.5f;
    float one = tex2D<float>(clamped, u, v), two = tex2D<float>(bordered, u, v);
    float three = tex2D<float>(wrapped, u / width, v / height), four = tex2D<float>(mirrored, u / width, v / height);
    out[at] = one + 100.0f * two + 10000.0f * three;
    out[at + blockDim.x * gridDim.x] = four;
}

struct Objects { cudaTextureObject_t of[2]; };

extern "C" __global__ void layers(Objects objects, cudaTextureObject_t volume, float *out, int which) {
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    int at = (z * gridDim.x + y) * blockDim.x + x;
    float4 gathered = tex2Dgather<float4>(objects.of[0], x + 1.0f, y + 1.0f, 0);
    out[at] = tex2DLayered<float>(objects.of[which], x + 0.5f, y + 0.5f, z) + 1000.0f * tex3D<float>(volume, x + 0.5f, y + 0.5f, z + 0.5f);
    out[at + gridDim.x * gridDim.y * blockDim.x] = gathered.x + 8.0f * gathered.y + 64.0f * gathered.z + 512.0f * gathered.w;
}

extern "C" __global__ void surfaces(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    int x = threadIdx.x, y = blockIdx.x;
    short value = surf2Dread<short>(from, 2 * x, y);
    short right = surf2Dread<short>(from, 2 * (x + 1), y, cudaBoundaryModeZero);
    short below = surf2Dread<short>(from, 2 * x, y + 1, cudaBoundaryModeClamp);
    surf2Dwrite(make_int2(value + right, below), to, 8 * x, y);
    surf2Dwrite(make_int2(9, 9), to, 8 * (x + 1000), y, cudaBoundaryModeZero);
}
