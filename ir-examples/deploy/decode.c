/* Continues a text by a model's checkpoint, on the host or on a GPU; texts are token ids. For Llama
 * and Qwen3 without rope scaling.  decode ARTIFACT FOLDER ROPE_THETA TOKENS ID... */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etc/device.h"
#include "etc/weights.h"

static int on_device; /* where a launch reads and writes */

static void check(etc_status status) {
  if (status != ETC_OK) {
    fprintf(stderr, "decode: %s\n", etc_last_error());
    exit(1);
  }
}

/* Zeroed memory for a parameter, bound to it; `shape` gets its extents. */
static void* bind(etc_instance* run, const char* name, etc_dtype dtype, int rank, int64_t* shape) {
  int64_t bytes = etc_dtype_bytes(dtype);
  etc_tensor tensor = {NULL, dtype, rank, shape, NULL};
  check(etc_instance_param_shape(run, name, shape, rank));
  for (int axis = 0; axis < rank; ++axis) {
    bytes *= shape[axis];
  }
  if (on_device) {
    check(etc_device_alloc(bytes, &tensor.data));
    check(etc_device_fill(tensor.data, 0, bytes, NULL));
  } else {
    tensor.data = calloc(1, (size_t)bytes);
    if (tensor.data == NULL) {
      fprintf(stderr, "decode: no memory for the %lld bytes of `%s`\n", (long long)bytes, name);
      exit(1);
    }
  }
  check(etc_instance_bind(run, name, &tensor));
  return tensor.data;
}

static void put(void* to, const void* from, int64_t bytes) {
  if (on_device) {
    check(etc_device_copy_to(to, from, bytes));
  } else {
    memcpy(to, from, (size_t)bytes);
  }
}

/* A number of the command line, which must be from `least` to `most`. */
static int32_t number(const char* text, int64_t least, int64_t most) {
  char* end;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || value < least || value > most) {
    fprintf(stderr, "decode: `%s` is no number from %lld to %lld\n", text, (long long)least,
            (long long)most);
    exit(1);
  }
  return (int32_t)value;
}

/* The base of the rotary embedding. */
static double base(const char* text) {
  char* end;
  const double value = strtod(text, &end);
  if (end == text || *end != '\0' || !isfinite(value) || value <= 0) {
    fprintf(stderr, "decode: `%s` is no ROPE_THETA, a number above 0\n", text);
    exit(1);
  }
  return value;
}

int main(int argc, char** argv) {
  etc_program* program;
  etc_program_info info;
  etc_checkpoint* checkpoint;
  etc_weights* weights;
  etc_instance* run;
  int64_t shape[5], least, most;
  const int32_t prompt = argc - 5; /* tokens */
  if (prompt < 1) {
    fprintf(stderr, "decode ARTIFACT FOLDER ROPE_THETA TOKENS ID...\n");
    return 2;
  }
  const double theta = base(argv[3]);
  const int32_t steps = prompt + number(argv[4], 0, INT32_MAX - argc) - 1;
  check(etc_program_load(argv[1], &program));
  info.struct_size = sizeof info;
  check(etc_program_describe(program, &info));
  on_device = strcmp(info.target, "host") != 0;
  check(etc_checkpoint_open(argv[2], &checkpoint));
  check(etc_weights_load(program, NULL, checkpoint, NULL, &weights));
  check(etc_instance_create(program, NULL, &run)); /* NULL: the program's only graph */
  check(etc_instance_bind_weights(run, weights));
  check(etc_instance_set_dim(run, "batch", 1));
  check(etc_instance_set_dim(run, "max_pages", steps / 64 + 1)); /* of 64 positions */
  check(etc_instance_set_dim(run, "num_pages", steps / 64 + 1));

  bind(run, "k_cache", ETC_BF16, 5, shape);
  bind(run, "v_cache", ETC_BF16, 5, shape);
  bind(run, "logits", ETC_F32, 2, shape);
  void* ids = bind(run, "ids", ETC_I32, 1, shape);
  void* pos = bind(run, "pos", ETC_I32, 1, shape);
  void* token = bind(run, "token", ETC_I32, 1, shape);
  char* frequencies = bind(run, "inv_freq", ETC_F32, 1, shape);
  for (int64_t i = 0; i < shape[0]; ++i) {
    const float frequency = (float)pow(theta, -(double)i / (double)shape[0]);
    put(frequencies + i * 4, &frequency, 4);
  }
  char* page_table = bind(run, "page_table", ETC_I32, 2, shape);
  for (int32_t page = 0; page < shape[1]; ++page) {
    put(page_table + page * 4, &page, 4);
  }

  check(etc_instance_value_range(run, "ids", &least, &most)); /* a launch does not look */
  for (int32_t step = 0, next = 0; step < steps; ++step) {
    const int32_t id = step < prompt ? number(argv[5 + step], least, most) : next;
    put(ids, &id, sizeof id);
    put(pos, &step, sizeof step);
    check(etc_instance_launch(run, NULL));
    if (on_device) {
      check(etc_device_copy_from(&next, token, sizeof next));
    } else {
      memcpy(&next, token, sizeof next);
    }
    if (step >= prompt - 1) {
      printf("%d\n", next);
    }
  }
  etc_instance_free(run);
  etc_weights_free(weights);
  etc_checkpoint_free(checkpoint);
  etc_program_free(program);
  return 0;
}
