/* Device memory, copies and timing for programs that use nothing of CUDA themselves. All functions
 * work on the current context. Without one, they make the primary context of device 0 current. */
#ifndef ETC_DEVICE_H_
#define ETC_DEVICE_H_

#include "etc/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller sets struct_size, as in the structs of runtime.h. */
typedef struct etc_device_info {
  size_t struct_size;
  char name[256];
  char arch[16]; /* "sm_90" */
  int32_t sms;
  int32_t driver_version; /* 13000 is 13.0 */
  int64_t memory_bytes;
} etc_device_info;

/* ETC_ERROR_NO_DEVICE where no device can be used; etc_last_error() has the reason. */
ETC_API etc_status etc_device_available(void);
ETC_API etc_status etc_device_describe(etc_device_info* info);

/* Makes the primary context of a device current for this thread. */
ETC_API etc_status etc_device_use(int32_t device);

/* Allocates by the function of etc_set_allocator, if one is set, with the default stream. */
ETC_API etc_status etc_device_alloc(int64_t bytes, void** data);
/* Waits for the work that may use the memory. */
ETC_API etc_status etc_device_free(void* data);
/* Memory of the host that the device reaches at the same address: what a launch stores there, the
 * host sees while later launches run. */
ETC_API etc_status etc_host_alloc(int64_t bytes, void** data);
ETC_API etc_status etc_host_free(void* data);
/* These two return when the copy is done. */
ETC_API etc_status etc_device_copy_to(void* device, const void* host, int64_t bytes);
ETC_API etc_status etc_device_copy_from(void* host, const void* device, int64_t bytes);
/* These two enqueue their work on `stream`: a fill, and a copy within the device. */
ETC_API etc_status etc_device_fill(void* device, uint8_t value, int64_t bytes, void* stream);
ETC_API etc_status etc_device_copy(void* to, const void* from, int64_t bytes, void* stream);
/* Waits for all work of the context, and reports a fault of an earlier launch. */
ETC_API etc_status etc_device_synchronize(void);

/* A stream that does not wait for the default one. */
ETC_API etc_status etc_stream_create(void** stream);
ETC_API etc_status etc_stream_free(void* stream);
/* Waits for the work of the stream, and reports a fault of an earlier launch. */
ETC_API etc_status etc_stream_synchronize(void* stream);

/* A recording is one CUDA graph of the work that was enqueued on a stream from begin to end. The
 * work does not run while it is recorded, and runs at each launch. The stream must not be the
 * default one. Each begin needs its end, in the same thread and with the stream's device current.
 * Several streams may be recorded at once, also of several devices. A launch may come with another
 * device current, and takes a stream of the recording's own. */
typedef struct etc_recording etc_recording;
ETC_API etc_status etc_recording_begin(void* stream);
ETC_API etc_status etc_recording_end(void* stream, etc_recording** recording);
ETC_API etc_status etc_recording_launch(etc_recording* recording, void* stream);
ETC_API void etc_recording_free(etc_recording* recording);

/* A timer measures the time between two points of a stream, start and stop. */
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
