// Clustering: `swap` turns points of `features` numbers around, so that neighbouring threads read neighbouring numbers; `nearest` finds the
// nearest of the centres, which are in constant memory.
__constant__ float centres[4096];

extern "C" __global__ void swap(const float *in, float *out, int points, int features) {
    int point = threadIdx.x + blockDim.x * blockIdx.x;
    if (point >= points) return;
    for (int i = 0; i < features; i++) out[point + points * i] = in[point * features + i];
}

extern "C" __global__ void nearest(const float *__restrict__ points, int features, int count, int clusters, int *membership) {
    unsigned point = (gridDim.x * blockIdx.y + blockIdx.x) * blockDim.x + threadIdx.x;
    if (point >= count) return;
    float least = 3.402823466e38f;
    int index = -1;
    for (int i = 0; i < clusters; i++) {
        float distance = 0;
        for (int j = 0; j < features; j++) {
            float difference = points[point + j * count] - centres[i * features + j];
            distance += difference * difference;
        }
        if (distance < least) {
            least = distance;
            index = i;
        }
    }
    membership[point] = index;
}
