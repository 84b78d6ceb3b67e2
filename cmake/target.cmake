# What runs inside somebody else's process. Libc-neutral: compiled against musl's headers, linked
# with nothing, every libc symbol left to the host process (glibc or musl) and without a version.
# Frame pointers are kept: a walk up from a callback of ours goes through our frames.
find_file(MUSL_SPECS musl-gcc.specs PATHS /usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-musl
          /usr/lib/musl/lib REQUIRED)

# target_library(NAME OUTPUT rooms…): one such library.
function(target_library target output)
  set(sources)
  foreach(name ${ARGN})
    list(APPEND sources ${${name}_sources})
  endforeach()
  add_library(${target} SHARED ${sources})
  target_link_libraries(${target} PRIVATE clarinet_warnings)
  target_compile_options(${target} PRIVATE -specs=${MUSL_SPECS} -fvisibility=hidden -fPIC
    -fno-plt -fno-strict-aliasing -fno-stack-protector -fno-omit-frame-pointer -U_FORTIFY_SOURCE
    -O2 -g -ffunction-sections -fdata-sections)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    # Else atomic operations are calls into libgcc, which is not linked.
    target_compile_options(${target} PRIVATE -mno-outline-atomics)
  endif()
  target_compile_definitions(${target} PRIVATE CLARINET_IN_TARGET=1 _GNU_SOURCE
    CLARINET_VERSION="${PROJECT_VERSION}")
  target_link_options(${target} PRIVATE -nostdlib -nodefaultlibs -nostartfiles
    -Wl,-z,undefs -Wl,--gc-sections -Wl,-Bsymbolic -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,-z,noseparate-code
    -Wl,--build-id)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output} PREFIX lib)
  # The library is copied at every attach: the whole one, with symbols, stays beside it.
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:${target}> $<TARGET_FILE:${target}>.debug
    COMMAND ${CMAKE_STRIP} --strip-unneeded $<TARGET_FILE:${target}>
    COMMAND ${CMAKE_OBJCOPY} --add-gnu-debuglink=$<TARGET_FILE:${target}>.debug $<TARGET_FILE:${target}>
    VERBATIM)
endfunction()

# The recording's file belongs to the tool (it calls the OS and zlib); its format is for both sides.
set(recording_format_sources ${recording_sources})
list(FILTER recording_format_sources EXCLUDE REGEX "/recording/(writer|file)\\.c$")

if(agent_sources)
  target_library(clarinet_agent clarinet base clr cil stackwalk catalogue control recording_format
                 agent profilers)
  # Its size is bounded (tools/check-agent.py): small code but for what runs at every sample, event,
  # probe or object; and unwind tables only where a walk of ours may come through, which is what
  # callbacks, events and probes enter on the program's threads. The rest runs on the agent's own
  # thread or once per method; frame pointers lead through it (a debugger has the .debug file).
  target_compile_options(clarinet_agent PRIVATE -Oz -fno-asynchronous-unwind-tables)
  set(agent_hot_sources ${agent_sources} ${profilers_sources} ${stackwalk_sources} ${base_sources}
      ${clr_sources} ${recording_format_sources})
  list(FILTER agent_hot_sources INCLUDE REGEX
       "/(stackwalk/.*|clr/callback_table|agent/(arena|callbacks|compiled|events|heap_(record|strings)|monitors|ring|sampling|snapshot|tally|thread)[a-z_]*|base/(buffer|table|memory)|recording/encode|profilers/(contention|exception|trace_(async|capture|clock|counters|exceptions|memory|spans|tree|values))[a-z_]*)\\.c$")
  # Loops stay aligned; functions and the targets of jumps are not, which spares 6 KB.
  set_source_files_properties(${agent_hot_sources} PROPERTIES
    COMPILE_OPTIONS "$<$<CONFIG:RelWithDebInfo,Release>:-O2;-fno-reorder-blocks-and-partition;-falign-functions=1;-falign-jumps=1;-falign-labels=1>")
endif()
if(instrumentation_sources)
  target_library(clarinet_instrument clarinet_instrument base rules clr cil metadata instrumentation)
endif()
target_library(clarinet_gate clarinet_gate gate)
target_sources(clarinet_gate PRIVATE ${PROJECT_SOURCE_DIR}/src/base/dotnet_host.c
               ${PROJECT_SOURCE_DIR}/src/clr/iids.c
               ${PROJECT_SOURCE_DIR}/src/base/os_dotnet_linux.c
               ${PROJECT_SOURCE_DIR}/src/base/text.c ${PROJECT_SOURCE_DIR}/src/base/buffer.c
               ${PROJECT_SOURCE_DIR}/src/base/memory.c)

# Of the rooms whose code is fast, what runs once per thread, type or address is small instead.
if(agent_sources)
  set(agent_cold_sources ${agent_sources} ${profilers_sources} ${stackwalk_sources} ${clr_sources}
      ${base_sources})
  list(FILTER agent_cold_sources INCLUDE REGEX
       "/(base/buffer|base/memory|stackwalk/(cfi|image|regions|shape)|clr/callback_table|agent/(arena|callbacks|compiled|heap_strings|monitors|sampling(_(async|chain|code|deaf|fault|signal|stacks|still|threads|types|waits|walk))?|snapshot|thread(_names)?)|profilers/(allocations_live|exception_(classes|leaving|object)|exceptions_rows|trace_(async|capture|exceptions|memory|spans|tree)))\\.c$")
  set_source_files_properties(${agent_cold_sources} PROPERTIES COMPILE_OPTIONS "-Os")
  set(agent_walked_sources ${agent_sources} ${profilers_sources} ${clr_sources} ${base_sources})
  list(FILTER agent_walked_sources INCLUDE REGEX
       "/(agent/(agent|arena|callbacks|events|heap_(blocks|quick|stream|walk)|lifecycle|native_stack|ring|sampling(_signal|_fault|_types)?|snapshot|tally)|profilers/[a-z_]*|clr/(callback_table|eventpipe|profiler)|base/(buffer|table|memory))\\.c$")
  list(FILTER agent_walked_sources EXCLUDE REGEX
       "/profilers/(allocations_live|cpu|exceptions_rows|heap|trace|wall|threads[a-z_]*|trace_(classes|cycles|output|plan|registry|rewrite[a-z_]*|select|shape|spans_output|types|wanted))\\.c$")
  set_property(SOURCE ${agent_walked_sources} APPEND PROPERTY COMPILE_OPTIONS
    -fasynchronous-unwind-tables)
  # What the tracer writes out on its own thread.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/profilers/trace_values.c
    ${PROJECT_SOURCE_DIR}/src/profilers/trace_spans_output.c PROPERTIES COMPILE_OPTIONS "-Os")
endif()
