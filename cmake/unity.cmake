# Builds that nobody goes on with compile several files of a room as one (CMAKE_UNITY_BUILD): most of what a file
# takes is the headers that it shares with its neighbours. These files have a name for themselves
# that a neighbour has as well, and stay apart. A new one costs time and nothing else:
# scripts/test.sh builds the files of its target one by one.
set(ETC_ONE_BY_ONE "" CACHE STRING "Targets whose files are compiled one by one all the same")
if(NOT CMAKE_UNITY_BUILD)
  return()
endif()

# etc_stay_apart(TARGET FILE...): files as the target lists them
function(etc_stay_apart target)
  get_target_property(folder ${target} SOURCE_DIR)
  list(TRANSFORM ARGN PREPEND ${folder}/)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target}
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

etc_stay_apart(etc_analysis derivation/needs.cpp order/use_chains.cpp proofs/prove_coverage.cpp
  proofs/prove_iterations.cpp proofs/prove_own_reads.cpp proofs/report_race.cpp sets/flat_axes.cpp)
etc_stay_apart(etc_compile tuning.cpp)
etc_stay_apart(etc_ir kinds.cpp)
etc_stay_apart(etc_picture tasks.cpp)
etc_stay_apart(etc_report sim_report.cpp)
etc_stay_apart(etc_schedule lower_kernels.cpp passes.cpp schedule_cost.cpp)
etc_stay_apart(etc_verify event_order.cpp)
set_target_properties(etc_runtime_objects etc_tune PROPERTIES UNITY_BUILD OFF)
if(ETC_TESTS)
  etc_stay_apart(analysis_test isl_numbers_test.cpp isl_rows_test.cpp iteration_proofs_test.cpp)
  etc_stay_apart(runtime_test pack_job_test.cpp profile_test.cpp rendezvous_test.cpp)
  etc_stay_apart(schedule_test range_dependences_test.cpp)
  etc_stay_apart(etc_mutation program_text.cpp rank_generator.cpp routing_generator.cpp slice_generator.cpp)
  set_target_properties(etc_fake_cuda oracle_test toolchain_test PROPERTIES UNITY_BUILD OFF)
endif()
if(ETC_ONE_BY_ONE)
  set_target_properties(${ETC_ONE_BY_ONE} PROPERTIES UNITY_BUILD OFF)
endif()
