/* Sums the rows of a matrix with the host artifact of row_sum.etir.  row_sum_c ARTIFACT */
#include <stdio.h>
#include <stdlib.h>

#include "etc/runtime.h"

static void check(etc_status status) {
  if (status != ETC_OK) {
    fprintf(stderr, "row_sum: %s\n", etc_last_error());
    exit(1);
  }
}

int main(int argc, char** argv) {
  const int64_t n = 64, rows = n * 32, columns = 128;
  int64_t a_shape[2], c_shape[1];
  etc_program* program;
  etc_instance* run;
  etc_tensor a = {NULL, ETC_F32, 2, NULL, NULL}; /* NULL strides: dense row-major */
  etc_tensor c = {NULL, ETC_F32, 1, NULL, NULL};
  float *a_data, *c_data;
  int64_t i;
  int right = 1;

  if (argc != 2) {
    fprintf(stderr, "row_sum_c ARTIFACT\n");
    return 2;
  }
  a_data = malloc((size_t)(rows * columns) * sizeof *a_data);
  c_data = malloc((size_t)rows * sizeof *c_data);
  if (!a_data || !c_data) {
    return 1;
  }
  for (i = 0; i < rows * columns; ++i) {
    a_data[i] = (float)(i / columns % 7);
  }

  check(etc_program_load(argv[1], &program));
  check(etc_instance_create(program, NULL, &run)); /* NULL: the program's only graph */
  a_shape[0] = c_shape[0] = rows;
  a_shape[1] = columns;
  a.data = a_data;
  a.shape = a_shape;
  c.data = c_data;
  c.shape = c_shape;
  check(etc_instance_set_dim(run, "n", n));
  check(etc_instance_bind(run, "a", &a));
  check(etc_instance_bind(run, "c", &c));
  check(etc_instance_launch(run, NULL));

  for (i = 0; i < rows; ++i) {
    right &= c_data[i] == (float)(i % 7 * columns);
  }
  printf("%d rows: %s\n", (int)rows, right ? "ok" : "wrong");
  etc_instance_free(run);
  etc_program_free(program);
  free(a_data);
  free(c_data);
  return !right;
}
