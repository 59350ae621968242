/* Device memory, copies and timing for programs that use nothing of CUDA themselves. All of it
 * works on the current context; without one, the primary context of device 0 is made current. */
#ifndef ETC_DEVICE_H_
#define ETC_DEVICE_H_

#include "etc/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sized, as the structs of runtime.h. */
typedef struct etc_device_info {
  size_t struct_size;
  char name[256];
  char arch[16]; /* "sm_90" */
  int32_t sms;
  int32_t driver_version; /* 13000 is 13.0 */
  int64_t memory_bytes;
} etc_device_info;

/* ETC_ERROR_NO_DEVICE, with the reason in etc_last_error(), where there is none to use. */
ETC_API etc_status etc_device_available(void);
ETC_API etc_status etc_device_describe(etc_device_info* info);

/* By the functions of etc_set_allocator, where there are some, with the default stream. */
ETC_API etc_status etc_device_alloc(int64_t bytes, void** data);
/* Waits for the work that may use the memory. */
ETC_API etc_status etc_device_free(void* data);
/* Copies are done when they return. */
ETC_API etc_status etc_device_copy_to(void* device, const void* host, int64_t bytes);
ETC_API etc_status etc_device_copy_from(void* host, const void* device, int64_t bytes);
/* Enqueued on `stream`, as is the copy from one place of the device to another. */
ETC_API etc_status etc_device_fill(void* device, uint8_t value, int64_t bytes, void* stream);
ETC_API etc_status etc_device_copy(void* to, const void* from, int64_t bytes, void* stream);
/* Waits for all work of the context; a fault of an earlier launch comes out here. */
ETC_API etc_status etc_device_synchronize(void);

/* A stream that does not wait for the default one. */
ETC_API etc_status etc_stream_create(void** stream);
ETC_API etc_status etc_stream_free(void* stream);

/* What was enqueued on a stream from begin to end, as one CUDA graph: it did not run then, and runs
 * at each launch. The stream must not be the default one. Each begin needs its end. */
typedef struct etc_recording etc_recording;
ETC_API etc_status etc_recording_begin(void* stream);
ETC_API etc_status etc_recording_end(void* stream, etc_recording** recording);
ETC_API etc_status etc_recording_launch(etc_recording* recording, void* stream);
ETC_API void etc_recording_free(etc_recording* recording);

/* Time between two points of a stream. */
typedef struct etc_timer etc_timer;
ETC_API etc_status etc_timer_create(etc_timer** timer);
ETC_API void etc_timer_free(etc_timer* timer);
ETC_API etc_status etc_timer_start(etc_timer* timer, void* stream);
ETC_API etc_status etc_timer_stop(etc_timer* timer, void* stream);
/* Waits until the stop point has passed. */
ETC_API etc_status etc_timer_elapsed_ms(etc_timer* timer, double* milliseconds);

#ifdef __cplusplus
}
#endif

#endif /* ETC_DEVICE_H_ */
