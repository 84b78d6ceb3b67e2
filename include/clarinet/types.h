/*
 * types: the plain C types of the CLR's profiling and metadata APIs.
 *
 * Layouts are those of the runtime on every platform, 32 and 64 bit. On Windows the few types that
 * windows.h also has (HRESULT, BOOL, WCHAR, GUID) are the same types, so both may be included.
 */
#ifndef CLARINET_TYPES_H
#define CLARINET_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(__i386__)
#define CLR_CALL __attribute__((__stdcall__))
#else
#define CLR_CALL
#endif

#if defined(_WIN32)
#define CLR_EXPORT __declspec(dllexport)
#else
#define CLR_EXPORT __attribute__((visibility("default")))
#endif

/* Shape of the basic types. */
#if defined(_WIN32)
typedef long HRESULT;
typedef int BOOL;
typedef wchar_t WCHAR;
#else
typedef int32_t HRESULT;
typedef int32_t BOOL;
typedef uint16_t WCHAR;
#endif

#ifndef GUID_DEFINED
#define GUID_DEFINED
typedef struct _GUID {
    uint32_t Data1;
    uint16_t Data2;
    uint16_t Data3;
    uint8_t Data4[8];
} GUID;
#endif

/* True for S_OK and the other success codes. */
#define CLR_OK(hr) ((hr) >= 0)

/* Ids the runtime hands out: opaque, 0 is none. */
typedef uintptr_t ProcessID;
typedef uintptr_t AssemblyID;
typedef uintptr_t AppDomainID;
typedef uintptr_t ModuleID;
typedef uintptr_t ClassID;
typedef uintptr_t ThreadID;
typedef uintptr_t ContextID;
typedef uintptr_t FunctionID;
typedef uintptr_t ObjectID;
typedef uintptr_t GCHandleID;
typedef uintptr_t ReJITID;
typedef uintptr_t COR_PRF_ELT_INFO;
typedef uintptr_t COR_PRF_FRAME_INFO;
typedef void **ObjectHandleID;
typedef uintptr_t EVENTPIPE_PROVIDER;
typedef uintptr_t EVENTPIPE_EVENT;
typedef uint64_t EVENTPIPE_SESSION;

typedef union {
    FunctionID functionID;
    uintptr_t clientID;
} FunctionIDOrClientID;

/* Metadata tokens: the table in the top byte, the row below. */
typedef uint32_t mdToken;
typedef mdToken mdModule;
typedef mdToken mdTypeRef;
typedef mdToken mdTypeDef;
typedef mdToken mdFieldDef;
typedef mdToken mdMethodDef;
typedef mdToken mdParamDef;
typedef mdToken mdInterfaceImpl;
typedef mdToken mdMemberRef;
typedef mdToken mdCustomAttribute;
typedef mdToken mdPermission;
typedef mdToken mdSignature;
typedef mdToken mdEvent;
typedef mdToken mdProperty;
typedef mdToken mdModuleRef;
typedef mdToken mdAssembly;
typedef mdToken mdAssemblyRef;
typedef mdToken mdFile;
typedef mdToken mdExportedType;
typedef mdToken mdManifestResource;
typedef mdToken mdTypeSpec;
typedef mdToken mdGenericParam;
typedef mdToken mdMethodSpec;
typedef mdToken mdGenericParamConstraint;
typedef mdToken mdString;

#define CLR_TOKEN_TYPE(token)   ((token)&0xff000000u)
#define CLR_TOKEN_ROW(token)    ((token)&0x00ffffffu)
#define CLR_TOKEN_IS_NIL(token) (CLR_TOKEN_ROW(token) == 0)

/* The state of a metadata enumeration (HCORENUM); starts as NULL, ends with close_enum. */
typedef void *clr_enumeration;

/* Structures of the profiling API. */
typedef struct {
    uint32_t oldOffset;
    uint32_t newOffset;
    BOOL fAccurate;
} COR_IL_MAP;

typedef struct {
    uint32_t ilOffset; /* or COR_IL_NO_MAPPING, COR_IL_PROLOG, COR_IL_EPILOG */
    uint32_t nativeStartOffset;
    uint32_t nativeEndOffset;
} COR_DEBUG_IL_TO_NATIVE_MAP;

typedef struct {
    mdFieldDef ridOfField;
    uint32_t ulOffset;
} COR_FIELD_OFFSET;

typedef struct {
    uintptr_t startAddress;
    uint32_t length;
} COR_PRF_FUNCTION_ARGUMENT_RANGE;

typedef struct {
    uint32_t numRanges;
    uint32_t totalArgumentSize;
    COR_PRF_FUNCTION_ARGUMENT_RANGE ranges[1]; /* numRanges of them */
} COR_PRF_FUNCTION_ARGUMENT_INFO;

typedef struct {
    uintptr_t startAddress;
    size_t size;
} COR_PRF_CODE_INFO;

typedef struct {
    FunctionID functionId;
    ReJITID reJitId;
} COR_PRF_FUNCTION;

typedef struct {
    ModuleID moduleId;
    mdMethodDef methodId;
} COR_PRF_METHOD;

typedef struct {
    uint32_t generation; /* COR_PRF_GC_GENERATION */
    ObjectID rangeStart;
    uintptr_t rangeLength;
    uintptr_t rangeLengthReserved;
} COR_PRF_GC_GENERATION_RANGE;

typedef struct {
    ObjectID rangeStart;
    uintptr_t rangeLength;
    uintptr_t rangeLengthReserved;
} COR_PRF_NONGC_HEAP_RANGE;

typedef struct {
    uint32_t clauseType; /* COR_PRF_CLAUSE_TYPE */
    uintptr_t programCounter;
    uintptr_t framePointer;
    uintptr_t shadowStackPointer;
} COR_PRF_EX_CLAUSE_INFO;

typedef struct {
    const WCHAR *providerName;
    uint64_t keywords;
    uint32_t loggingLevel;
    const WCHAR *filterData; /* "key=value;key=value" or NULL */
} COR_PRF_EVENTPIPE_PROVIDER_CONFIG;

typedef struct {
    uint32_t type;        /* COR_PRF_EVENTPIPE_PARAM_TYPE */
    uint32_t elementType; /* of an array */
    const WCHAR *name;
} COR_PRF_EVENTPIPE_PARAM_DESC;

typedef struct {
    uint64_t ptr;
    uint32_t size;
    uint32_t reserved;
} COR_PRF_EVENT_DATA;

typedef struct {
    uint64_t Ptr;
    uint32_t Size;
    uint32_t Type;
} COR_PRF_FILTER_DATA;

/* Structures of the metadata API. */
typedef struct {
    uint32_t dwOSPlatformId;
    uint32_t dwOSMajorVersion;
    uint32_t dwOSMinorVersion;
} OSINFO;

typedef struct {
    uint16_t usMajorVersion;
    uint16_t usMinorVersion;
    uint16_t usBuildNumber;
    uint16_t usRevisionNumber;
    WCHAR *szLocale;
    uint32_t cbLocale; /* in: size of the buffer in units; out: units there are */
    uint32_t *rProcessor;
    uint32_t ulProcessor;
    OSINFO *rOS;
    uint32_t ulOS;
} ASSEMBLYMETADATA;

typedef struct {
    void *pbPublicKeyOrToken;
    uint32_t cbPublicKeyOrToken;
    const WCHAR *szName;
    ASSEMBLYMETADATA *pMetaData;
    void *pbHashValue;
    uint32_t cbHashValue;
    uint32_t dwAssemblyRefFlags;
} COR_PRF_ASSEMBLY_REFERENCE_INFO;

typedef struct {
    mdMemberRef tkCtor;
    const void *pCustomAttribute;
    uint32_t cbCustomAttribute;
} COR_SECATTR;

/* Functions the runtime calls. */
typedef uintptr_t(CLR_CALL FunctionIDMapper)(FunctionID function, BOOL *hook);
typedef uintptr_t(CLR_CALL FunctionIDMapper2)(FunctionID function, void *client_data, BOOL *hook);
typedef void(CLR_CALL FunctionEnter)(FunctionID function);
typedef void(CLR_CALL FunctionLeave)(FunctionID function);
typedef void(CLR_CALL FunctionTailcall)(FunctionID function);
typedef void(CLR_CALL FunctionEnter2)(FunctionID function, uintptr_t client_data,
                                      COR_PRF_FRAME_INFO frame,
                                      COR_PRF_FUNCTION_ARGUMENT_INFO *arguments);
typedef void(CLR_CALL FunctionLeave2)(FunctionID function, uintptr_t client_data,
                                      COR_PRF_FRAME_INFO frame,
                                      COR_PRF_FUNCTION_ARGUMENT_RANGE *result);
typedef void(CLR_CALL FunctionTailcall2)(FunctionID function, uintptr_t client_data,
                                         COR_PRF_FRAME_INFO frame);
typedef void(CLR_CALL FunctionEnter3)(FunctionIDOrClientID function);
typedef void(CLR_CALL FunctionLeave3)(FunctionIDOrClientID function);
typedef void(CLR_CALL FunctionTailcall3)(FunctionIDOrClientID function);
typedef void(CLR_CALL FunctionEnter3WithInfo)(FunctionIDOrClientID function, COR_PRF_ELT_INFO info);
typedef void(CLR_CALL FunctionLeave3WithInfo)(FunctionIDOrClientID function, COR_PRF_ELT_INFO info);
typedef void(CLR_CALL FunctionTailcall3WithInfo)(FunctionIDOrClientID function,
                                                 COR_PRF_ELT_INFO info);
typedef HRESULT(CLR_CALL StackSnapshotCallback)(FunctionID function, uintptr_t ip,
                                                COR_PRF_FRAME_INFO frame, uint32_t context_size,
                                                uint8_t context[], void *client_data);
typedef BOOL(CLR_CALL *ObjectReferenceCallback)(ObjectID root, ObjectID *reference,
                                                void *client_data);
typedef BOOL(CLR_CALL *ObjectCallback)(ObjectID object, void *client_data);
typedef void(CLR_CALL EventPipeProviderCallback)(const uint8_t *source_id, uint32_t is_enabled,
                                                 uint8_t level, uint64_t match_any_keywords,
                                                 uint64_t match_all_keywords,
                                                 COR_PRF_FILTER_DATA *filter_data,
                                                 void *callback_data);

#endif
