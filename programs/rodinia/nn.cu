// Distances of records, of a latitude and a longitude each, from a place.
struct Place { float latitude, longitude; };

extern "C" __global__ void euclid(const Place *places, float *distances, int count, float latitude, float longitude) {
    int thread = blockDim.x * (gridDim.x * blockIdx.y + blockIdx.x) + threadIdx.x;
    if (thread < count) {
        const Place *place = places + thread;
        float north = latitude - place->latitude, east = longitude - place->longitude;
        distances[thread] = sqrtf(north * north + east * east);
    }
}
