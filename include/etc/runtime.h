/* The runtime library: loads what `etc compile` wrote, binds tensors by name, launches.
 * docs/runtime.md shows it in use. C ABI; every function may be called from any thread, and threads
 * may share a program. An instance has one at a time: a call beside another is ETC_ERROR_BUSY. So
 * has a group, whose calls are calls with each of its instances, too. */
#ifndef ETC_RUNTIME_H_
#define ETC_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ETC_API __attribute__((visibility("default")))
#else
#define ETC_API
#endif

/* The version of these headers; etc_version() is that of the library (docs/runtime.md). */
#define ETC_VERSION_MAJOR 0
#define ETC_VERSION_MINOR 1
#define ETC_VERSION_PATCH 0
#define ETC_VERSION_NUMBER (ETC_VERSION_MAJOR * 10000 + ETC_VERSION_MINOR * 100 + ETC_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* ETC_VERSION_NUMBER of the library: 100 is 0.1.0. */
ETC_API int32_t etc_version(void);

typedef enum etc_status {
  ETC_OK = 0,
  ETC_ERROR_ARGUMENT = 1,  /* a null pointer or a number that makes no sense */
  ETC_ERROR_NOT_FOUND = 2, /* no graph, dim, parameter, ... of that name or index */
  ETC_ERROR_FILE = 3,      /* a file cannot be read */
  ETC_ERROR_MANIFEST = 4,  /* the manifest is malformed or of another version */
  ETC_ERROR_BINARY = 5,    /* the binary is not the one that the manifest describes */
  ETC_ERROR_BIND = 6,      /* a tensor does not fit its parameter */
  ETC_ERROR_DIM = 7,       /* a dim has no value, or one out of its range */
  ETC_ERROR_UNBOUND = 8,   /* a launch without a tensor for each parameter */
  ETC_ERROR_VALUE = 9,     /* a debug check failed: an element is not what is promised of it */
  ETC_ERROR_CAPTURE = 10,  /* not possible while the stream is being captured */
  ETC_ERROR_OUT_OF_MEMORY = 11,
  ETC_ERROR_NO_DEVICE = 12, /* no CUDA driver, or no device that fits the program */
  ETC_ERROR_DEVICE = 13,    /* a call of the CUDA driver failed */
  ETC_ERROR_INTERNAL = 14,
  ETC_ERROR_BUSY = 15,    /* another thread is inside of a call with the same instance or group */
  ETC_ERROR_TIMEOUT = 16, /* the watchdog ended a launch that stood still */
  ETC_ERROR_CHECKPOINT = 17, /* a checkpoint is malformed, or lacks what a program needs */
  ETC_ERROR_CANCELLED = 18,  /* the caller's progress function ended the call */
  ETC_ERROR_GROUP = 19 /* the ranks of a group cannot go on together: one does not come, is gone,
                          is unlike the others, or has failed */
} etc_status;

/* "ETC_ERROR_BIND", ...; null for a number that is no status. */
ETC_API const char* etc_status_name(etc_status status);

/* What this thread's last failed call had to say, until its next one; "" before the first. */
ETC_API const char* etc_last_error(void);

/* ---- Hooks: of the process, for all threads ---- */

typedef enum etc_log_level {
  ETC_LOG_ERROR = 0, /* the text of each call that fails */
  ETC_LOG_INFO = 1   /* programs that are loaded, memory that is allocated */
} etc_log_level;

/* Called on the thread of the call that speaks; `text` is gone when it returns. No throw. */
typedef void (*etc_log_function)(void* user, etc_log_level level, const char* text);
/* Null: no log, as at the start. A call under way may still use the function from before. */
ETC_API void etc_set_log(etc_log_function function, void* user);

typedef struct etc_allocator {
  size_t struct_size; /* sizeof(etc_allocator) */
  void* user;
  /* `bytes` (at least 1) aligned to 256, or null. `device` is the number of the GPU, whose context
   * is current, or -1 for the host. What is enqueued on `stream` from now on uses
   * the memory. */
  void* (*allocate)(void* user, int64_t bytes, int32_t device, void* stream);
  /* Nothing uses the memory any more. */
  void (*release)(void* user, void* data, int64_t bytes, int32_t device);
} etc_allocator;
/* For the workspaces, the event memory and the profile memory of instances that are created from
 * now on, and for what etc_device_alloc gives from now on; all memory goes back to the functions
 * that it came from. Null: the library's own, as at the start. They are called from any thread, and
 * must not throw. The struct is copied. */
ETC_API etc_status etc_set_allocator(const etc_allocator* allocator);

/* A fixed underlying type makes a wrong number an error instead of undefined behaviour. */
#ifdef __cplusplus
typedef enum etc_dtype : int32_t {
#else
typedef enum etc_dtype {
#endif
  ETC_F32 = 0,
  ETC_F16 = 1,
  ETC_BF16 = 2,
  ETC_I64 = 3,
  ETC_I32 = 4,
  ETC_U8 = 5,
  ETC_BOOL = 6,
  ETC_U16 = 7,
  ETC_I8 = 8,
  ETC_U32 = 9,
  ETC_F64 = 10,
  ETC_F8E4M3 = 11, /* float8_e4m3fn: without infinities */
  ETC_F8E5M2 = 12
} etc_dtype;

typedef enum etc_access { ETC_IN = 0, ETC_OUT = 1, ETC_INOUT = 2 } etc_access;

/* "f32", "bf16", ...; null for a number that is no dtype. */
ETC_API const char* etc_dtype_name(etc_dtype dtype);
ETC_API int64_t etc_dtype_bytes(etc_dtype dtype);

/* ---- Programs ---- */

typedef struct etc_program etc_program;

/* `path` names an artifact in one file (.etca), or of one in two files the manifest (.json) or the
 * binary that it lies beside. Reads and checks all of it; needs no device. The files are not needed
 * afterwards. */
ETC_API etc_status etc_program_load(const char* path, etc_program** program);
/* The bytes of an artifact in one file; they are not needed afterwards. */
ETC_API etc_status etc_program_load_memory(const void* data, size_t bytes, etc_program** program);
/* Instances of the program stay usable. Null is allowed. */
ETC_API void etc_program_free(etc_program* program);

/* The structs below are filled by the library, as far as `struct_size` says that the caller's go:
 * set it to the struct's size before the call, in C by `etc_dim_info info = {.struct_size =
 * sizeof(info)};`. Later versions add fields to their ends only. Texts in them belong to the
 * program. */
typedef struct etc_program_info {
  size_t struct_size;
  const char* target; /* "host" or, for example, "sm_90a" */
  const char* binary_file;
  const char* toolchain;
  int32_t graphs;
  int32_t constants;
  int32_t debug_checks; /* whether launches check what they are promised */
  /* 32 hexadecimal digits, of the manifest, which holds those of the binary. */
  const char* hash;
  const char* compiler_version; /* of etc: "0.1.0" */
  const char* const* flags;     /* of the toolchain */
  int32_t flag_count;
  int32_t proofs;      /* groups of proofs; 0 for a program that was compiled without */
  int32_t assumptions; /* under which they hold */
  int32_t not_proved;  /* statements that could not be proved */
  int32_t watchdog;    /* whether launches that stand still end */
  int32_t profile;     /* whether launches leave a profile behind */
} etc_program_info;

/* How much of one property was proved. */
typedef struct etc_proof_info {
  size_t struct_size;
  const char* subject;  /* "source", or "kernels" for what was made of its graphs */
  const char* property; /* "bounds", "counts", "order", "races", "iterations", "coverage" */
  int64_t proved;
  int64_t not_proved;
} etc_proof_info;

typedef enum etc_constant_kind {
  ETC_CONSTANT_BOOL = 0,
  ETC_CONSTANT_INT = 1,
  ETC_CONSTANT_FLOAT = 2
} etc_constant_kind;

typedef struct etc_constant_info {
  size_t struct_size;
  const char* name;
  etc_constant_kind kind;
  int64_t int_value;  /* of a bool (0 or 1) and of an int */
  double float_value; /* of a float, and of the others converted */
} etc_constant_info;

typedef struct etc_graph_info {
  size_t struct_size;
  const char* name;
  int32_t dims;
  int32_t params;
  int32_t kernels;
  const char* mesh; /* the dim that is the number of ranks; null: the graph runs alone */
} etc_graph_info;

typedef struct etc_dim_info {
  size_t struct_size;
  const char* name;
  int64_t min; /* both included */
  int64_t max;
  int64_t multiple;
} etc_dim_info;

typedef struct etc_param_info {
  size_t struct_size;
  const char* name;
  etc_access access;
  etc_dtype dtype;
  int32_t rank;
  const char* const* extents; /* as text, one for each axis: "n*32" */
  int64_t alignment;
  int32_t has_value_range;
  const char* value_min; /* as text, both included; null where there is no range */
  const char* value_max;
  int32_t has_tile;           /* whether the last two axes are stored in tiles; else row-major */
  int64_t tile[2];            /* their extents; else 0 */
  int32_t distinct;           /* no two elements are equal */
  int32_t monotone;           /* along the last axis, no element is less than the one before */
  int32_t swizzle;            /* whether the tiles are swizzled */
  int64_t array;              /* of an array of tensors, how many: the first extent; else 0 */
  const char* const* sources; /* what it is called in a checkpoint, in their order (weights.h) */
  int32_t source_count;
  int32_t has_shard; /* whether each rank has a part of it: etc_program_part */
  int32_t shard;     /* the axis that is divided; else 0 */
  /* Of each source what is taken of each tensor, "[0..3072 of 9216, *]"; "" where that is all. */
  const char* const* source_ranges;
} etc_param_info;

typedef struct etc_kernel_info {
  size_t struct_size;
  const char* entry; /* the first one of a kernel that is a list of launches */
  const char* schedule;
  const char* where; /* "batch in 1..8", "" when it serves every size */
  int32_t threads;
  int64_t shared_bytes;
  int32_t entries; /* 1: a persistent kernel, launched once */
} etc_kernel_info;

/* `graph` may be null when the program has one graph. */
ETC_API etc_status etc_program_describe(const etc_program* program, etc_program_info* info);
/* Proofs by number, and the texts of what they assume and of what is not proved. */
ETC_API etc_status etc_program_proof(const etc_program* program, int32_t index,
                                     etc_proof_info* info);
ETC_API etc_status etc_program_assumption(const etc_program* program, int32_t index,
                                          const char** text);
ETC_API etc_status etc_program_not_proved(const etc_program* program, int32_t index,
                                          const char** text);
ETC_API etc_status etc_program_constant(const etc_program* program, int32_t index,
                                        etc_constant_info* info);
ETC_API etc_status etc_program_graph(const etc_program* program, int32_t index,
                                     etc_graph_info* info);
ETC_API etc_status etc_program_dim(const etc_program* program, const char* graph, int32_t index,
                                   etc_dim_info* info);
ETC_API etc_status etc_program_param(const etc_program* program, const char* graph, int32_t index,
                                     etc_param_info* info);
/* Which of how many equal parts of the axis `shard` a rank of so many has of a parameter of a graph
 * with a mesh. There is one for each rank, or a number that divides that of the ranks: then ranks
 * that follow each other have the same part, each a copy of its own. Part 0 of 1 is all of the
 * parameter. ETC_ERROR_DIM where the graph is not for so many ranks. */
ETC_API etc_status etc_program_part(const etc_program* program, const char* graph,
                                    const char* param, int32_t rank, int32_t ranks, int32_t* part,
                                    int32_t* parts);
ETC_API etc_status etc_program_kernel(const etc_program* program, const char* graph, int32_t index,
                                      etc_kernel_info* info);

/* ---- Layouts ---- */

/* A parameter in tiles of A x B holds the elements of [..., n, k] in the order [..., n / A, k / B,
 * n % A, k % B]. In a swizzled tile what has the byte a in the tile by rows stands at
 * a ^ ((a >> 7 & m) << 4), where m is one less than the 16-byte pieces of a tile's row: 1, 3 or 7,
 * as the tensor cores read shared memory. Packing brings a dense row-major tensor into that order,
 * unpacking takes it back. `shape`, of the row-major tensor, has `rank` extents; source and
 * destination have the same size and must not overlap; of a tensor without elements both may be
 * null. A packed tensor is bound by the shape that it has then, [..., n / A, k / B, A, B]: a
 * row-major one cannot be bound in its place. */
ETC_API etc_status etc_pack(const etc_program* program, const char* graph, const char* param,
                            const int64_t* shape, int32_t rank, const void* row_major,
                            void* packed);
ETC_API etc_status etc_unpack(const etc_program* program, const char* graph, const char* param,
                              const int64_t* shape, int32_t rank, const void* packed,
                              void* row_major);
/* The same in memory of the current context's device, enqueued on `stream`. */
ETC_API etc_status etc_pack_device(const etc_program* program, const char* graph, const char* param,
                                   const int64_t* shape, int32_t rank, const void* row_major,
                                   void* packed, void* stream);
ETC_API etc_status etc_unpack_device(const etc_program* program, const char* graph,
                                     const char* param, const int64_t* shape, int32_t rank,
                                     const void* packed, void* row_major, void* stream);

/* ---- Instances: one graph with its tensors, sizes and memory ---- */

typedef struct etc_instance etc_instance;

/* An instance for a GPU belongs to the device of the context that is current now; without one,
 * the primary context of device 0 is made current. */
ETC_API etc_status etc_instance_create(const etc_program* program, const char* graph,
                                       etc_instance** instance);
/* Waits for launches under way. Captured graphs of this instance must not run afterwards. */
ETC_API void etc_instance_free(etc_instance* instance);

/* Until it is set again or cleared. Else a launch infers it from tensors whose shape names it. */
ETC_API etc_status etc_instance_set_dim(etc_instance* instance, const char* name, int64_t value);
ETC_API etc_status etc_instance_clear_dim(etc_instance* instance, const char* name);
/* The value that a launch would use now. */
ETC_API etc_status etc_instance_dim(const etc_instance* instance, const char* name, int64_t* value);
/* The shape of a parameter under the dims as they are now: `rank` extents, room for `capacity`. */
ETC_API etc_status etc_instance_param_shape(const etc_instance* instance, const char* name,
                                            int64_t* extents, int32_t capacity);

/* The bounds of a parameter's values under the dims as they are now, both included; those of
 * int64_t without a declared range. */
ETC_API etc_status etc_instance_value_range(const etc_instance* instance, const char* name,
                                            int64_t* min, int64_t* max);

typedef struct etc_tensor {
  void* data;
  etc_dtype dtype;
  int32_t rank;
  const int64_t* shape;
  const int64_t* strides; /* in elements; null: dense row-major */
} etc_tensor;

/* Layout-compatible with DLTensor of DLPack. */
typedef struct etc_dl_tensor {
  void* data;
  struct {
    int32_t device_type;
    int32_t device_id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
  } dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} etc_dl_tensor;

/* The description is copied, the data must live until the launches that use it end. A failed bind
 * leaves the earlier one in place. Where the parameter has a tile, the tensor is a packed one. */
ETC_API etc_status etc_instance_bind(etc_instance* instance, const char* name,
                                     const etc_tensor* tensor);
ETC_API etc_status etc_instance_bind_dlpack(etc_instance* instance, const char* name,
                                            const etc_dl_tensor* tensor);
/* One tensor of an array. The calls above take all of them stacked, at any first stride. */
ETC_API etc_status etc_instance_bind_element(etc_instance* instance, const char* name,
                                             int64_t index, const etc_tensor* tensor);
ETC_API etc_status etc_instance_bind_element_dlpack(etc_instance* instance, const char* name,
                                                    int64_t index, const etc_dl_tensor* tensor);
/* The caller's word that launches use no element of one which lies in an element of the other,
 * although they overlap. Of two arrays, the tensors of the same number may. */
ETC_API etc_status etc_instance_allow_overlap(etc_instance* instance, const char* a, const char* b);

/* What a launch needs under the dims as they are now. */
ETC_API etc_status etc_instance_workspace_bytes(const etc_instance* instance, int64_t* bytes);
/* Memory to use instead of the runtime's own, aligned to 256 bytes; null takes it back. */
ETC_API etc_status etc_instance_bind_workspace(etc_instance* instance, void* data, int64_t bytes);
/* Allocates now what a launch under the current dims needs, so that the launch can be captured:
 * before the capture, unless there is enough already. */
ETC_API etc_status etc_instance_reserve(etc_instance* instance);
/* SMs (host: threads) that a launch uses; 0: all of them. */
ETC_API etc_status etc_instance_set_sms(etc_instance* instance, int32_t sms);
/* Whether a GPU keeps the launches of a kernel that is a list of them as a CUDA graph, when they
 * come for the second time, and starts them as one: 1, as at the start, or 0. */
ETC_API etc_status etc_instance_set_replay(etc_instance* instance, int32_t replay);

/* Enqueues one launch on `stream` (a CUstream or cudaStream_t; null is the default stream). A host
 * program runs to its end before this returns. Launches of one instance must not overlap. */
ETC_API etc_status etc_instance_launch(etc_instance* instance, void* stream);

/* Waits for `stream`; ETC_ERROR_VALUE, with the tensor, the index and the values, if a debug check
 * failed in a launch since the last call, or data asked for more tasks than a queue has places, or
 * ETC_ERROR_TIMEOUT, with the task and the event that it waited for, if the watchdog ended one.
 * Until then the launches behind a failed check or an ended launch do nothing. Good at once for a
 * program with no check, watchdog or dynamic schedule. A host launch asks by itself. */
ETC_API etc_status etc_instance_check(etc_instance* instance, void* stream);

/* ---- Groups: the ranks of a program with a mesh ---- */

typedef struct etc_group etc_group;

/* `ranks` is one of the numbers of ranks that the graph is for; the dim that says so is set. */
ETC_API etc_status etc_group_create(const etc_program* program, const char* graph, int32_t ranks,
                                    etc_group** group);
/* The same of a program for a GPU, with the device of each rank, by its number at the driver; each
 * must reach the memory of all others. Ranks that name one device share its SMs, which is for
 * tests. etc_group_create has rank 0 on device 0, rank 1 on device 1, and so on. All are used with
 * their primary contexts. */
ETC_API etc_status etc_group_create_on(const etc_program* program, const char* graph, int32_t ranks,
                                       const int32_t* devices, etc_group** group);

/* Of a process that runs one rank of a group. */
typedef struct etc_join_options {
  size_t struct_size; /* sizeof(etc_join_options) */
  int32_t ranks; /* how many there are; 0: the environment says so, and which rank this one is */
  int32_t rank;  /* of this process, where `ranks` is not 0 */
  const char* address; /* "host:port", where rank 0 listens and the others look for it; null: the
                          environment says so */
  int32_t timeout_ms;  /* how long to wait for another rank, here and in later calls; 0: 30000 */
  int32_t has_device;  /* of a program for a GPU: whether `device` is given, so that ranks may share
                          it; else it is the rank among those of the machine, or the only one */
  int32_t device;      /* by its number at the driver */
} etc_join_options;
/* Joins the processes of the other ranks, all of them on this machine, and waits until each has
 * called this. docs/multi-gpu.md says what the environment may have. `options` may be null.
 * ETC_ERROR_GROUP, on all ranks, where one does not come or differs from the others. The group has
 * the instance of this rank alone. Reserve is a call that all ranks make; so is a launch with other
 * sizes than the one before. Behind an error of a rank that is gone or did not come, a group is
 * only to be freed. */
ETC_API etc_status etc_group_join(const etc_program* program, const char* graph,
                                  const etc_join_options* options, etc_group** group);

typedef struct etc_group_info {
  size_t struct_size;
  int32_t ranks;
  int32_t own_rank; /* of a group with a process for each rank; else -1 */
  int32_t device;   /* of the own rank, by its number at the driver; -1 on the host and where
                       own_rank is */
} etc_group_info;
ETC_API etc_status etc_group_describe(const etc_group* group, etc_group_info* info);

/* No launch is under way. Frees the instances, too. Null is allowed. */
ETC_API void etc_group_free(etc_group* group);
/* The instance of a rank, to bind and to set dims of: the group's own, not to be freed. */
ETC_API etc_status etc_group_instance(etc_group* group, int32_t rank, etc_instance** instance);
/* Makes sure that all ranks have the same sizes, and the memory that peers reach large enough for
 * them. No launch is under way. From then on each rank may be launched by itself, from a thread of
 * its own, and all of them equally often: a launch waits for its peers where it reaches into them.
 */
ETC_API etc_status etc_group_reserve(etc_group* group);
/* Reserves, and launches each rank of this process on its stream. `streams` has one for each of
 * them, or is null. On a GPU a null stream, here and in calls for an instance of the group, is one
 * that the rank has for itself, in order with the default stream. A launch on the host returns when
 * it has ended, or with ETC_ERROR_GROUP where it waits for a rank whose process is gone. */
ETC_API etc_status etc_group_launch(etc_group* group, void* const* streams);
/* Waits for what was launched on these streams, and does what etc_instance_check does for each rank
 * of this process. */
ETC_API etc_status etc_group_synchronize(etc_group* group, void* const* streams);
/* Of a group with a process for each rank: gives all of them the `bytes` bytes of each, those of
 * rank 0 first, so `all` has room for as many of each rank. All ranks call this with the same
 * number of bytes, else it is ETC_ERROR_GROUP on each. It is for results, not for speed: the bytes
 * go over the connections. */
ETC_API etc_status etc_group_gather(etc_group* group, const void* own, int64_t bytes, void* all);

/* ---- Profiles: what each SM did when (programs compiled with `--profile`) ---- */

typedef struct etc_profile etc_profile;

/* What the last launch of the instance did; waits for `stream`. ETC_ERROR_NOT_FOUND where nothing
 * was launched, a reserve has made the memory larger since, or the program has no profiles. */
ETC_API etc_status etc_instance_profile(etc_instance* instance, void* stream,
                                        etc_profile** profile);
/* Null is allowed. */
ETC_API void etc_profile_free(etc_profile* profile);

typedef enum etc_span_kind {
  ETC_SPAN_TASK = 0,   /* the consumers run a task */
  ETC_SPAN_LOAD = 1,   /* the loader copies what a task preloads */
  ETC_SPAN_REDUCE = 2, /* the epilogue warp joins the partials of a task */
  ETC_SPAN_WAIT = 3,   /* a role waits for an event */
  ETC_SPAN_SIGNAL = 4  /* a role notifies an event */
} etc_span_kind;

typedef struct etc_profile_info {
  size_t struct_size;
  int64_t spans;
  int64_t lost;        /* spans for which there was no room, or that made no sense */
  int32_t tracks;      /* the consumers of each SM, and other roles that did something */
  const char* summary; /* as `etc run --profile` prints it */
} etc_profile_info;

/* Texts belong to the profile. Times are nanoseconds since the launch began. */
typedef struct etc_span_info {
  size_t struct_size;
  etc_span_kind kind;
  int32_t track;
  const char* track_name; /* "SM 3 consumers" */
  const char* call;       /* "@final_sum" */
  const char* name;       /* "@final_sum[3]" */
  double begin;
  double end;
  double data; /* of it, waiting inside of a task for other roles of the SM, as for what is loaded;
                  for what other SMs signal there are spans of ETC_SPAN_WAIT */
} etc_span_info;

ETC_API etc_status etc_profile_describe(etc_profile* profile, etc_profile_info* info);
/* By track, and on a track by time. */
ETC_API etc_status etc_profile_span(const etc_profile* profile, int64_t index, etc_span_info* info);
/* All of it as JSON that Perfetto and chrome://tracing show. */
ETC_API etc_status etc_profile_json(etc_profile* profile, const char** json);

#ifdef __cplusplus
}
#endif

#endif /* ETC_RUNTIME_H_ */
