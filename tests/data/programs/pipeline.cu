#include <cooperative_groups.h>
#include <cuda/pipeline>
extern "C" __global__ void pipeline_of_copies(const int *in, int *out, int batches) {
  constexpr int STAGES = 3;
  __shared__ int s[STAGES][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  auto block = cooperative_groups::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int compute = 0, fetch = 0; compute < batches; compute++) {
    for (; fetch < batches && fetch < compute + STAGES; fetch++) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, s[fetch % STAGES], in + 128 * fetch, sizeof(int) * 128, pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum = sum * 3 + s[compute % STAGES][127 - threadIdx.x];
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}
