/* clang-format off */
/* Made by tools/clr/generate.py from tools/clr/enums.txt: do not edit. */

/*
 * flags: the CLR's enumerations. Each enumeration is a uint32_t, so that its size in structures and
 * calls is the same everywhere; its values are constants. Values beyond INT_MAX are macros.
 */
#ifndef CLARINET_FLAGS_H
#define CLARINET_FLAGS_H

#include <stdint.h>


typedef uint32_t CorDebugIlToNativeMappingTypes;
enum {
    COR_IL_NO_MAPPING = -1,
    COR_IL_PROLOG = -2,
    COR_IL_EPILOG = -3,
};

typedef uint32_t COR_PRF_SNAPSHOT_INFO;
enum {
    COR_PRF_SNAPSHOT_DEFAULT = 0x0,
    COR_PRF_SNAPSHOT_REGISTER_CONTEXT = 0x1,
    COR_PRF_SNAPSHOT_X86_OPTIMIZED = 0x2,
};

typedef uint32_t COR_PRF_STATIC_TYPE;
enum {
    COR_PRF_FIELD_NOT_A_STATIC = 0x0,
    COR_PRF_FIELD_APP_DOMAIN_STATIC = 0x1,
    COR_PRF_FIELD_THREAD_STATIC = 0x2,
    COR_PRF_FIELD_CONTEXT_STATIC = 0x4,
    COR_PRF_FIELD_RVA_STATIC = 0x8,
};

typedef uint32_t COR_PRF_MONITOR;
enum {
    COR_PRF_MONITOR_NONE = 0x0,
    COR_PRF_MONITOR_FUNCTION_UNLOADS = 0x1,
    COR_PRF_MONITOR_CLASS_LOADS = 0x2,
    COR_PRF_MONITOR_MODULE_LOADS = 0x4,
    COR_PRF_MONITOR_ASSEMBLY_LOADS = 0x8,
    COR_PRF_MONITOR_APPDOMAIN_LOADS = 0x10,
    COR_PRF_MONITOR_JIT_COMPILATION = 0x20,
    COR_PRF_MONITOR_EXCEPTIONS = 0x40,
    COR_PRF_MONITOR_GC = 0x80,
    COR_PRF_MONITOR_OBJECT_ALLOCATED = 0x100,
    COR_PRF_MONITOR_THREADS = 0x200,
    COR_PRF_MONITOR_REMOTING = 0x400,
    COR_PRF_MONITOR_CODE_TRANSITIONS = 0x800,
    COR_PRF_MONITOR_ENTERLEAVE = 0x1000,
    COR_PRF_MONITOR_CCW = 0x2000,
    COR_PRF_MONITOR_REMOTING_COOKIE = 0x4400,
    COR_PRF_MONITOR_REMOTING_ASYNC = 0x8400,
    COR_PRF_MONITOR_SUSPENDS = 0x10000,
    COR_PRF_MONITOR_CACHE_SEARCHES = 0x20000,
    COR_PRF_ENABLE_REJIT = 0x40000,
    COR_PRF_ENABLE_INPROC_DEBUGGING = 0x80000,
    COR_PRF_ENABLE_JIT_MAPS = 0x100000,
    COR_PRF_DISABLE_INLINING = 0x200000,
    COR_PRF_DISABLE_OPTIMIZATIONS = 0x400000,
    COR_PRF_ENABLE_OBJECT_ALLOCATED = 0x800000,
    COR_PRF_MONITOR_CLR_EXCEPTIONS = 0x1000000,
    COR_PRF_MONITOR_ALL = 0x107ffff,
    COR_PRF_ENABLE_FUNCTION_ARGS = 0x2000000,
    COR_PRF_ENABLE_FUNCTION_RETVAL = 0x4000000,
    COR_PRF_ENABLE_FRAME_INFO = 0x8000000,
    COR_PRF_ENABLE_STACK_SNAPSHOT = 0x10000000,
    COR_PRF_USE_PROFILE_IMAGES = 0x20000000,
    COR_PRF_DISABLE_TRANSPARENCY_CHECKS_UNDER_FULL_TRUST = 0x40000000,
    COR_PRF_REQUIRE_PROFILE_IMAGE = 0x20001800,
    COR_PRF_ALLOWABLE_AFTER_ATTACH = 0x100502fe,
};
#define COR_PRF_DISABLE_ALL_NGEN_IMAGES 0x80000000u
#define COR_PRF_ALL 0x8fffffffu
#define COR_PRF_ALLOWABLE_NOTIFICATION_PROFILER 0xb1e32b7fu
#define COR_PRF_MONITOR_IMMUTABLE 0xeef8cc00u

typedef uint32_t COR_PRF_HIGH_MONITOR;
enum {
    COR_PRF_HIGH_MONITOR_NONE = 0x0,
    COR_PRF_HIGH_ADD_ASSEMBLY_REFERENCES = 0x1,
    COR_PRF_HIGH_IN_MEMORY_SYMBOLS_UPDATED = 0x2,
    COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS = 0x4,
    COR_PRF_HIGH_DISABLE_TIERED_COMPILATION = 0x8,
    COR_PRF_HIGH_BASIC_GC = 0x10,
    COR_PRF_HIGH_MONITOR_GC_MOVED_OBJECTS = 0x20,
    COR_PRF_HIGH_REQUIRE_PROFILE_IMAGE = 0x0,
    COR_PRF_HIGH_MONITOR_LARGEOBJECT_ALLOCATED = 0x40,
    COR_PRF_HIGH_MONITOR_EVENT_PIPE = 0x80,
    COR_PRF_HIGH_MONITOR_PINNEDOBJECT_ALLOCATED = 0x100,
    COR_PRF_HIGH_ALLOWABLE_AFTER_ATTACH = 0xf6,
    COR_PRF_HIGH_ALLOWABLE_NOTIFICATION_PROFILER = 0xfe,
    COR_PRF_HIGH_MONITOR_IMMUTABLE = 0x8,
};

typedef uint32_t COR_PRF_MISC;
#define PROFILER_PARENT_UNKNOWN 0xfffffffdu
#define PROFILER_GLOBAL_CLASS 0xfffffffeu
#define PROFILER_GLOBAL_MODULE 0xffffffffu

typedef uint32_t COR_PRF_JIT_CACHE;
enum {
    COR_PRF_CACHED_FUNCTION_FOUND = 0x0,
    COR_PRF_CACHED_FUNCTION_NOT_FOUND = 0x1,
};

typedef uint32_t COR_PRF_TRANSITION_REASON;
enum {
    COR_PRF_TRANSITION_CALL = 0x0,
    COR_PRF_TRANSITION_RETURN = 0x1,
};

typedef uint32_t COR_PRF_SUSPEND_REASON;
enum {
    COR_PRF_SUSPEND_OTHER = 0x0,
    COR_PRF_SUSPEND_FOR_GC = 0x1,
    COR_PRF_SUSPEND_FOR_APPDOMAIN_SHUTDOWN = 0x2,
    COR_PRF_SUSPEND_FOR_CODE_PITCHING = 0x3,
    COR_PRF_SUSPEND_FOR_SHUTDOWN = 0x4,
    COR_PRF_SUSPEND_FOR_INPROC_DEBUGGER = 0x6,
    COR_PRF_SUSPEND_FOR_GC_PREP = 0x7,
    COR_PRF_SUSPEND_FOR_REJIT = 0x8,
    COR_PRF_SUSPEND_FOR_PROFILER = 0x9,
};

typedef uint32_t COR_PRF_RUNTIME_TYPE;
enum {
    COR_PRF_DESKTOP_CLR = 0x1,
    COR_PRF_CORE_CLR = 0x2,
};

typedef uint32_t COR_PRF_REJIT_FLAGS;
enum {
    COR_PRF_REJIT_BLOCK_INLINING = 0x1,
    COR_PRF_REJIT_INLINING_CALLBACKS = 0x2,
};

typedef uint32_t COR_PRF_EVENTPIPE_PARAM_TYPE;
enum {
    COR_PRF_EVENTPIPE_OBJECT = 0x1,
    COR_PRF_EVENTPIPE_BOOLEAN = 0x3,
    COR_PRF_EVENTPIPE_CHAR = 0x4,
    COR_PRF_EVENTPIPE_SBYTE = 0x5,
    COR_PRF_EVENTPIPE_BYTE = 0x6,
    COR_PRF_EVENTPIPE_INT16 = 0x7,
    COR_PRF_EVENTPIPE_UINT16 = 0x8,
    COR_PRF_EVENTPIPE_INT32 = 0x9,
    COR_PRF_EVENTPIPE_UINT32 = 0xa,
    COR_PRF_EVENTPIPE_INT64 = 0xb,
    COR_PRF_EVENTPIPE_UINT64 = 0xc,
    COR_PRF_EVENTPIPE_SINGLE = 0xd,
    COR_PRF_EVENTPIPE_DOUBLE = 0xe,
    COR_PRF_EVENTPIPE_DECIMAL = 0xf,
    COR_PRF_EVENTPIPE_DATETIME = 0x10,
    COR_PRF_EVENTPIPE_GUID = 0x11,
    COR_PRF_EVENTPIPE_STRING = 0x12,
    COR_PRF_EVENTPIPE_ARRAY = 0x13,
};

typedef uint32_t COR_PRF_EVENTPIPE_LEVEL;
enum {
    COR_PRF_EVENTPIPE_LOGALWAYS = 0x0,
    COR_PRF_EVENTPIPE_CRITICAL = 0x1,
    COR_PRF_EVENTPIPE_ERROR = 0x2,
    COR_PRF_EVENTPIPE_WARNING = 0x3,
    COR_PRF_EVENTPIPE_INFORMATIONAL = 0x4,
    COR_PRF_EVENTPIPE_VERBOSE = 0x5,
};

typedef uint32_t COR_PRF_HANDLE_TYPE;
enum {
    COR_PRF_HANDLE_TYPE_WEAK = 0x1,
    COR_PRF_HANDLE_TYPE_STRONG = 0x2,
    COR_PRF_HANDLE_TYPE_PINNED = 0x3,
};

typedef uint32_t COR_PRF_GC_ROOT_KIND;
enum {
    COR_PRF_GC_ROOT_STACK = 0x1,
    COR_PRF_GC_ROOT_FINALIZER = 0x2,
    COR_PRF_GC_ROOT_HANDLE = 0x3,
    COR_PRF_GC_ROOT_OTHER = 0x0,
};

typedef uint32_t COR_PRF_GC_ROOT_FLAGS;
enum {
    COR_PRF_GC_ROOT_PINNING = 0x1,
    COR_PRF_GC_ROOT_WEAKREF = 0x2,
    COR_PRF_GC_ROOT_INTERIOR = 0x4,
    COR_PRF_GC_ROOT_REFCOUNTED = 0x8,
};

typedef uint32_t COR_PRF_FINALIZER_FLAGS;
enum {
    COR_PRF_FINALIZER_CRITICAL = 0x1,
};

typedef uint32_t COR_PRF_GC_GENERATION;
enum {
    COR_PRF_GC_GEN_0 = 0x0,
    COR_PRF_GC_GEN_1 = 0x1,
    COR_PRF_GC_GEN_2 = 0x2,
    COR_PRF_GC_LARGE_OBJECT_HEAP = 0x3,
    COR_PRF_GC_PINNED_OBJECT_HEAP = 0x4,
};

typedef uint32_t COR_PRF_CLAUSE_TYPE;
enum {
    COR_PRF_CLAUSE_NONE = 0x0,
    COR_PRF_CLAUSE_FILTER = 0x1,
    COR_PRF_CLAUSE_CATCH = 0x2,
    COR_PRF_CLAUSE_FINALLY = 0x3,
};

typedef uint32_t COR_PRF_GC_REASON;
enum {
    COR_PRF_GC_INDUCED = 0x1,
    COR_PRF_GC_OTHER = 0x0,
};

typedef uint32_t COR_PRF_MODULE_FLAGS;
enum {
    COR_PRF_MODULE_DISK = 0x1,
    COR_PRF_MODULE_NGEN = 0x2,
    COR_PRF_MODULE_DYNAMIC = 0x4,
    COR_PRF_MODULE_COLLECTIBLE = 0x8,
    COR_PRF_MODULE_RESOURCE = 0x10,
    COR_PRF_MODULE_FLAT_LAYOUT = 0x20,
    COR_PRF_MODULE_WINDOWS_RUNTIME = 0x40,
};

typedef uint32_t COR_PRF_CODEGEN_FLAGS;
enum {
    COR_PRF_CODEGEN_DISABLE_INLINING = 0x1,
    COR_PRF_CODEGEN_DISABLE_ALL_OPTIMIZATIONS = 0x2,
    COR_PRF_CODEGEN_DEBUG_INFO = 0x3,
};

typedef uint32_t ClrImageNumbers;
#ifndef _WINNT_ /* winnt.h has these */
enum {
    IMAGE_DIRECTORY_ENTRY_COMHEADER = 0xe,
};
#endif

typedef uint32_t ClrHeaderNumbers;
#ifndef _WINNT_ /* winnt.h has these */
enum {
    COMIMAGE_FLAGS_ILONLY = 0x1,
    COMIMAGE_FLAGS_32BITREQUIRED = 0x2,
    COMIMAGE_FLAGS_IL_LIBRARY = 0x4,
    COMIMAGE_FLAGS_STRONGNAMESIGNED = 0x8,
    COMIMAGE_FLAGS_NATIVE_ENTRYPOINT = 0x10,
    COMIMAGE_FLAGS_TRACKDEBUGDATA = 0x10000,
    COMIMAGE_FLAGS_32BITPREFERRED = 0x20000,
    COR_VERSION_MAJOR_V2 = 0x2,
    COR_VERSION_MAJOR = 0x2,
    COR_VERSION_MINOR = 0x5,
    COR_DELETED_NAME_LENGTH = 0x8,
    COR_VTABLEGAP_NAME_LENGTH = 0x8,
    NATIVE_TYPE_MAX_CB = 0x1,
    COR_ILMETHOD_SECT_SMALL_MAX_DATASIZE = 0xff,
    COR_VTABLE_32BIT = 0x1,
    COR_VTABLE_64BIT = 0x2,
    COR_VTABLE_FROM_UNMANAGED = 0x4,
    COR_VTABLE_FROM_UNMANAGED_RETAIN_APPDOMAIN = 0x8,
    COR_VTABLE_CALL_MOST_DERIVED = 0x10,
    IMAGE_COR_EATJ_THUNK_SIZE = 0x20,
    MAX_CLASS_NAME = 0x400,
    MAX_PACKAGE_NAME = 0x400,
};
#endif

typedef uint32_t CorTypeAttr;
enum {
    tdVisibilityMask = 0x7,
    tdNotPublic = 0x0,
    tdPublic = 0x1,
    tdNestedPublic = 0x2,
    tdNestedPrivate = 0x3,
    tdNestedFamily = 0x4,
    tdNestedAssembly = 0x5,
    tdNestedFamANDAssem = 0x6,
    tdNestedFamORAssem = 0x7,
    tdLayoutMask = 0x18,
    tdAutoLayout = 0x0,
    tdSequentialLayout = 0x8,
    tdExplicitLayout = 0x10,
    tdClassSemanticsMask = 0x20,
    tdClass = 0x0,
    tdInterface = 0x20,
    tdAbstract = 0x80,
    tdSealed = 0x100,
    tdSpecialName = 0x400,
    tdImport = 0x1000,
    tdSerializable = 0x2000,
    tdWindowsRuntime = 0x4000,
    tdStringFormatMask = 0x30000,
    tdAnsiClass = 0x0,
    tdUnicodeClass = 0x10000,
    tdAutoClass = 0x20000,
    tdCustomFormatClass = 0x30000,
    tdCustomFormatMask = 0xc00000,
    tdBeforeFieldInit = 0x100000,
    tdForwarder = 0x200000,
    tdReservedMask = 0x40800,
    tdRTSpecialName = 0x800,
    tdHasSecurity = 0x40000,
};

typedef uint32_t CorMethodAttr;
enum {
    mdMemberAccessMask = 0x7,
    mdPrivateScope = 0x0,
    mdPrivate = 0x1,
    mdFamANDAssem = 0x2,
    mdAssem = 0x3,
    mdFamily = 0x4,
    mdFamORAssem = 0x5,
    mdPublic = 0x6,
    mdStatic = 0x10,
    mdFinal = 0x20,
    mdVirtual = 0x40,
    mdHideBySig = 0x80,
    mdVtableLayoutMask = 0x100,
    mdReuseSlot = 0x0,
    mdNewSlot = 0x100,
    mdCheckAccessOnOverride = 0x200,
    mdAbstract = 0x400,
    mdSpecialName = 0x800,
    mdPinvokeImpl = 0x2000,
    mdUnmanagedExport = 0x8,
    mdReservedMask = 0xd000,
    mdRTSpecialName = 0x1000,
    mdHasSecurity = 0x4000,
    mdRequireSecObject = 0x8000,
};

typedef uint32_t CorFieldAttr;
enum {
    fdFieldAccessMask = 0x7,
    fdPrivateScope = 0x0,
    fdPrivate = 0x1,
    fdFamANDAssem = 0x2,
    fdAssembly = 0x3,
    fdFamily = 0x4,
    fdFamORAssem = 0x5,
    fdPublic = 0x6,
    fdStatic = 0x10,
    fdInitOnly = 0x20,
    fdLiteral = 0x40,
    fdNotSerialized = 0x80,
    fdSpecialName = 0x200,
    fdPinvokeImpl = 0x2000,
    fdReservedMask = 0x9500,
    fdRTSpecialName = 0x400,
    fdHasFieldMarshal = 0x1000,
    fdHasDefault = 0x8000,
    fdHasFieldRVA = 0x100,
};

typedef uint32_t CorParamAttr;
enum {
    pdIn = 0x1,
    pdOut = 0x2,
    pdOptional = 0x10,
    pdReservedMask = 0xf000,
    pdHasDefault = 0x1000,
    pdHasFieldMarshal = 0x2000,
    pdUnused = 0xcfe0,
};

typedef uint32_t CorPropertyAttr;
enum {
    prSpecialName = 0x200,
    prReservedMask = 0xf400,
    prRTSpecialName = 0x400,
    prHasDefault = 0x1000,
    prUnused = 0xe9ff,
};

typedef uint32_t CorEventAttr;
enum {
    evSpecialName = 0x200,
    evReservedMask = 0x400,
    evRTSpecialName = 0x400,
};

typedef uint32_t CorMethodSemanticsAttr;
enum {
    msSetter = 0x1,
    msGetter = 0x2,
    msOther = 0x4,
    msAddOn = 0x8,
    msRemoveOn = 0x10,
    msFire = 0x20,
};

typedef uint32_t CorDeclSecurity;
enum {
    dclActionMask = 0x1f,
    dclActionNil = 0x0,
    dclRequest = 0x1,
    dclDemand = 0x2,
    dclAssert = 0x3,
    dclDeny = 0x4,
    dclPermitOnly = 0x5,
    dclLinktimeCheck = 0x6,
    dclInheritanceCheck = 0x7,
    dclRequestMinimum = 0x8,
    dclRequestOptional = 0x9,
    dclRequestRefuse = 0xa,
    dclPrejitGrant = 0xb,
    dclPrejitDenied = 0xc,
    dclNonCasDemand = 0xd,
    dclNonCasLinkDemand = 0xe,
    dclNonCasInheritance = 0xf,
    dclMaximumValue = 0xf,
};

typedef uint32_t CorMethodImpl;
enum {
    miCodeTypeMask = 0x3,
    miIL = 0x0,
    miNative = 0x1,
    miOPTIL = 0x2,
    miRuntime = 0x3,
    miManagedMask = 0x4,
    miUnmanaged = 0x4,
    miManaged = 0x0,
    miForwardRef = 0x10,
    miPreserveSig = 0x80,
    miInternalCall = 0x1000,
    miSynchronized = 0x20,
    miNoInlining = 0x8,
    miAggressiveInlining = 0x100,
    miNoOptimization = 0x40,
    miAggressiveOptimization = 0x200,
    miAsync = 0x2000,
    miUserMask = 0x13fc,
    miMaxMethodImplVal = 0xffff,
};

typedef uint32_t CorPinvokeMap;
enum {
    pmNoMangle = 0x1,
    pmCharSetMask = 0x6,
    pmCharSetNotSpec = 0x0,
    pmCharSetAnsi = 0x2,
    pmCharSetUnicode = 0x4,
    pmCharSetAuto = 0x6,
    pmBestFitUseAssem = 0x0,
    pmBestFitEnabled = 0x10,
    pmBestFitDisabled = 0x20,
    pmBestFitMask = 0x30,
    pmThrowOnUnmappableCharUseAssem = 0x0,
    pmThrowOnUnmappableCharEnabled = 0x1000,
    pmThrowOnUnmappableCharDisabled = 0x2000,
    pmThrowOnUnmappableCharMask = 0x3000,
    pmSupportsLastError = 0x40,
    pmCallConvMask = 0x700,
    pmCallConvWinapi = 0x100,
    pmCallConvCdecl = 0x200,
    pmCallConvStdcall = 0x300,
    pmCallConvThiscall = 0x400,
    pmCallConvFastcall = 0x500,
    pmMaxValue = 0xffff,
};

typedef uint32_t CorAssemblyFlags;
enum {
    afPublicKey = 0x1,
    afPA_None = 0x0,
    afPA_MSIL = 0x10,
    afPA_x86 = 0x20,
    afPA_IA64 = 0x30,
    afPA_AMD64 = 0x40,
    afPA_ARM = 0x50,
    afPA_ARM64 = 0x60,
    afPA_NoPlatform = 0x70,
    afPA_Specified = 0x80,
    afPA_Mask = 0x70,
    afPA_FullMask = 0xf0,
    afPA_Shift = 0x4,
    afEnableJITcompileTracking = 0x8000,
    afDisableJITcompileOptimizer = 0x4000,
    afDebuggableAttributeMask = 0xc000,
    afRetargetable = 0x100,
    afContentType_Default = 0x0,
    afContentType_WindowsRuntime = 0x200,
    afContentType_Mask = 0xe00,
};

typedef uint32_t CorManifestResourceFlags;
enum {
    mrVisibilityMask = 0x7,
    mrPublic = 0x1,
    mrPrivate = 0x2,
};

typedef uint32_t CorFileFlags;
enum {
    ffContainsMetaData = 0x0,
    ffContainsNoMetaData = 0x1,
};

typedef uint32_t CorPEKind;
enum {
    peNot = 0x0,
    peILonly = 0x1,
    pe32BitRequired = 0x2,
    pe32Plus = 0x4,
    pe32Unmanaged = 0x8,
    pe32BitPreferred = 0x10,
};

typedef uint32_t CorGenericParamAttr;
enum {
    gpVarianceMask = 0x3,
    gpNonVariant = 0x0,
    gpCovariant = 0x1,
    gpContravariant = 0x2,
    gpSpecialConstraintMask = 0x3c,
    gpNoSpecialConstraint = 0x0,
    gpReferenceTypeConstraint = 0x4,
    gpNotNullableValueTypeConstraint = 0x8,
    gpDefaultConstructorConstraint = 0x10,
    gpAllowByRefLike = 0x20,
};

typedef uint32_t CorILMethodSect;
enum {
    CorILMethod_Sect_Reserved = 0x0,
    CorILMethod_Sect_EHTable = 0x1,
    CorILMethod_Sect_OptILTable = 0x2,
    CorILMethod_Sect_KindMask = 0x3f,
    CorILMethod_Sect_FatFormat = 0x40,
    CorILMethod_Sect_MoreSects = 0x80,
};

typedef uint32_t CorExceptionFlag;
enum {
    COR_ILEXCEPTION_CLAUSE_NONE = 0x0,
    COR_ILEXCEPTION_CLAUSE_OFFSETLEN = 0x0,
    COR_ILEXCEPTION_CLAUSE_DEPRECATED = 0x0,
    COR_ILEXCEPTION_CLAUSE_FILTER = 0x1,
    COR_ILEXCEPTION_CLAUSE_FINALLY = 0x2,
    COR_ILEXCEPTION_CLAUSE_FAULT = 0x4,
    COR_ILEXCEPTION_CLAUSE_DUPLICATED = 0x8,
};

typedef uint32_t CorILMethodFlags;
enum {
    CorILMethod_InitLocals = 0x10,
    CorILMethod_MoreSects = 0x8,
    CorILMethod_CompressedIL = 0x40,
    CorILMethod_FormatShift = 0x3,
    CorILMethod_FormatMask = 0x7,
    CorILMethod_TinyFormat = 0x2,
    CorILMethod_SmallFormat = 0x0,
    CorILMethod_FatFormat = 0x3,
    CorILMethod_TinyFormat1 = 0x6,
};

typedef uint32_t CorCheckDuplicatesFor;
enum {
    MDNoDupChecks = 0x0,
    MDDupTypeDef = 0x1,
    MDDupInterfaceImpl = 0x2,
    MDDupMethodDef = 0x4,
    MDDupTypeRef = 0x8,
    MDDupMemberRef = 0x10,
    MDDupCustomAttribute = 0x20,
    MDDupParamDef = 0x40,
    MDDupPermission = 0x80,
    MDDupProperty = 0x100,
    MDDupEvent = 0x200,
    MDDupFieldDef = 0x400,
    MDDupSignature = 0x800,
    MDDupModuleRef = 0x1000,
    MDDupTypeSpec = 0x2000,
    MDDupImplMap = 0x4000,
    MDDupAssemblyRef = 0x8000,
    MDDupFile = 0x10000,
    MDDupExportedType = 0x20000,
    MDDupManifestResource = 0x40000,
    MDDupGenericParam = 0x80000,
    MDDupMethodSpec = 0x100000,
    MDDupGenericParamConstraint = 0x200000,
    MDDupAssembly = 0x10000000,
    MDDupDefault = 0x102818,
};
#define MDDupAll 0xffffffffu
#define MDDupENC 0xffffffffu

typedef uint32_t CorRefToDefCheck;
enum {
    MDRefToDefDefault = 0x3,
    MDRefToDefNone = 0x0,
    MDTypeRefToDef = 0x1,
    MDMemberRefToDef = 0x2,
};
#define MDRefToDefAll 0xffffffffu

typedef uint32_t CorNotificationForTokenMovement;
enum {
    MDNotifyDefault = 0xf,
    MDNotifyNone = 0x0,
    MDNotifyMethodDef = 0x1,
    MDNotifyMemberRef = 0x2,
    MDNotifyFieldDef = 0x4,
    MDNotifyTypeRef = 0x8,
    MDNotifyTypeDef = 0x10,
    MDNotifyParamDef = 0x20,
    MDNotifyInterfaceImpl = 0x40,
    MDNotifyProperty = 0x80,
    MDNotifyEvent = 0x100,
    MDNotifySignature = 0x200,
    MDNotifyTypeSpec = 0x400,
    MDNotifyCustomAttribute = 0x800,
    MDNotifySecurityValue = 0x1000,
    MDNotifyPermission = 0x2000,
    MDNotifyModuleRef = 0x4000,
    MDNotifyNameSpace = 0x8000,
    MDNotifyAssemblyRef = 0x1000000,
    MDNotifyFile = 0x2000000,
    MDNotifyExportedType = 0x4000000,
    MDNotifyResource = 0x8000000,
};
#define MDNotifyAll 0xffffffffu

typedef uint32_t CorSetENC;
enum {
    MDSetENCOn = 0x1,
    MDSetENCOff = 0x2,
    MDUpdateENC = 0x1,
    MDUpdateFull = 0x2,
    MDUpdateExtension = 0x3,
    MDUpdateIncremental = 0x4,
    MDUpdateDelta = 0x5,
    MDUpdateMask = 0x7,
};

typedef uint32_t CorErrorIfEmitOutOfOrder;
enum {
    MDErrorOutOfOrderDefault = 0x0,
    MDErrorOutOfOrderNone = 0x0,
    MDMethodOutOfOrder = 0x1,
    MDFieldOutOfOrder = 0x2,
    MDParamOutOfOrder = 0x4,
    MDPropertyOutOfOrder = 0x8,
    MDEventOutOfOrder = 0x10,
};
#define MDErrorOutOfOrderAll 0xffffffffu

typedef uint32_t CorImportOptions;
enum {
    MDImportOptionDefault = 0x0,
    MDImportOptionAllTypeDefs = 0x1,
    MDImportOptionAllMethodDefs = 0x2,
    MDImportOptionAllFieldDefs = 0x4,
    MDImportOptionAllProperties = 0x8,
    MDImportOptionAllEvents = 0x10,
    MDImportOptionAllCustomAttributes = 0x20,
    MDImportOptionAllExportedTypes = 0x40,
};
#define MDImportOptionAll 0xffffffffu

typedef uint32_t CorThreadSafetyOptions;
enum {
    MDThreadSafetyDefault = 0x0,
    MDThreadSafetyOff = 0x0,
    MDThreadSafetyOn = 0x1,
};

typedef uint32_t CorLinkerOptions;
enum {
    MDAssembly = 0x0,
    MDNetModule = 0x1,
};

typedef uint32_t MergeFlags;
enum {
    MergeFlagsNone = 0x0,
    MergeManifest = 0x1,
    DropMemberRefCAs = 0x2,
    NoDupCheck = 0x4,
    MergeExportedTypes = 0x8,
};

typedef uint32_t CorLocalRefPreservation;
enum {
    MDPreserveLocalRefsNone = 0x0,
    MDPreserveLocalTypeRef = 0x1,
    MDPreserveLocalMemberRef = 0x2,
};

typedef uint32_t CorTokenType;
enum {
    mdtModule = 0x0,
    mdtTypeRef = 0x1000000,
    mdtTypeDef = 0x2000000,
    mdtFieldDef = 0x4000000,
    mdtMethodDef = 0x6000000,
    mdtParamDef = 0x8000000,
    mdtInterfaceImpl = 0x9000000,
    mdtMemberRef = 0xa000000,
    mdtCustomAttribute = 0xc000000,
    mdtPermission = 0xe000000,
    mdtSignature = 0x11000000,
    mdtEvent = 0x14000000,
    mdtProperty = 0x17000000,
    mdtMethodImpl = 0x19000000,
    mdtModuleRef = 0x1a000000,
    mdtTypeSpec = 0x1b000000,
    mdtAssembly = 0x20000000,
    mdtAssemblyRef = 0x23000000,
    mdtFile = 0x26000000,
    mdtExportedType = 0x27000000,
    mdtManifestResource = 0x28000000,
    mdtNestedClass = 0x29000000,
    mdtGenericParam = 0x2a000000,
    mdtMethodSpec = 0x2b000000,
    mdtGenericParamConstraint = 0x2c000000,
    mdtString = 0x70000000,
    mdtName = 0x71000000,
    mdtBaseType = 0x72000000,
};

typedef uint32_t CorOpenFlags;
enum {
    ofRead = 0x0,
    ofWrite = 0x1,
    ofReadWriteMask = 0x1,
    ofCopyMemory = 0x2,
    ofReadOnly = 0x10,
    ofTakeOwnership = 0x20,
    ofNoTypeLib = 0x80,
    ofNoTransform = 0x1000,
    ofReserved1 = 0x100,
    ofReserved2 = 0x200,
    ofReserved3 = 0x400,
};
#define ofReserved 0xffffef40u

typedef uint32_t CorFileMapping;
enum {
    fmFlat = 0x0,
    fmExecutableImage = 0x1,
};

typedef uint32_t CorAttributeTargets;
enum {
    catAssembly = 0x1,
    catModule = 0x2,
    catClass = 0x4,
    catStruct = 0x8,
    catEnum = 0x10,
    catConstructor = 0x20,
    catMethod = 0x40,
    catProperty = 0x80,
    catField = 0x100,
    catEvent = 0x200,
    catInterface = 0x400,
    catParameter = 0x800,
    catDelegate = 0x1000,
    catGenericParameter = 0x4000,
    catAll = 0x5fff,
    catClassMembers = 0x17fc,
};

typedef uint32_t NGenHintEnum;
enum {
    NGenDefault = 0x0,
    NGenEager = 0x1,
    NGenLazy = 0x2,
    NGenNever = 0x3,
};

typedef uint32_t LoadHintEnum;
enum {
    LoadDefault = 0x0,
    LoadAlways = 0x1,
    LoadSometimes = 0x2,
    LoadNever = 0x3,
};

typedef uint32_t CorSaveSize;
enum {
    cssAccurate = 0x0,
    cssQuick = 0x1,
    cssDiscardTransientCAs = 0x2,
};

typedef uint32_t NativeTypeArrayFlags;
enum {
    ntaSizeParamIndexSpecified = 0x1,
    ntaReserved = 0xfffe,
};

typedef uint32_t CorElementType;
enum {
    ELEMENT_TYPE_END = 0x0,
    ELEMENT_TYPE_VOID = 0x1,
    ELEMENT_TYPE_BOOLEAN = 0x2,
    ELEMENT_TYPE_CHAR = 0x3,
    ELEMENT_TYPE_I1 = 0x4,
    ELEMENT_TYPE_U1 = 0x5,
    ELEMENT_TYPE_I2 = 0x6,
    ELEMENT_TYPE_U2 = 0x7,
    ELEMENT_TYPE_I4 = 0x8,
    ELEMENT_TYPE_U4 = 0x9,
    ELEMENT_TYPE_I8 = 0xa,
    ELEMENT_TYPE_U8 = 0xb,
    ELEMENT_TYPE_R4 = 0xc,
    ELEMENT_TYPE_R8 = 0xd,
    ELEMENT_TYPE_STRING = 0xe,
    ELEMENT_TYPE_PTR = 0xf,
    ELEMENT_TYPE_BYREF = 0x10,
    ELEMENT_TYPE_VALUETYPE = 0x11,
    ELEMENT_TYPE_CLASS = 0x12,
    ELEMENT_TYPE_VAR = 0x13,
    ELEMENT_TYPE_ARRAY = 0x14,
    ELEMENT_TYPE_GENERICINST = 0x15,
    ELEMENT_TYPE_TYPEDBYREF = 0x16,
    ELEMENT_TYPE_I = 0x18,
    ELEMENT_TYPE_U = 0x19,
    ELEMENT_TYPE_FNPTR = 0x1b,
    ELEMENT_TYPE_OBJECT = 0x1c,
    ELEMENT_TYPE_SZARRAY = 0x1d,
    ELEMENT_TYPE_MVAR = 0x1e,
    ELEMENT_TYPE_CMOD_REQD = 0x1f,
    ELEMENT_TYPE_CMOD_OPT = 0x20,
    ELEMENT_TYPE_INTERNAL = 0x21,
    ELEMENT_TYPE_MODIFIER = 0x40,
    ELEMENT_TYPE_SENTINEL = 0x41,
    ELEMENT_TYPE_PINNED = 0x45,
};

typedef uint32_t CorCallingConvention;
enum {
    IMAGE_CEE_CS_CALLCONV_DEFAULT = 0x0,
    IMAGE_CEE_CS_CALLCONV_C = 0x1,
    IMAGE_CEE_CS_CALLCONV_STDCALL = 0x2,
    IMAGE_CEE_CS_CALLCONV_THISCALL = 0x3,
    IMAGE_CEE_CS_CALLCONV_FASTCALL = 0x4,
    IMAGE_CEE_CS_CALLCONV_VARARG = 0x5,
    IMAGE_CEE_CS_CALLCONV_FIELD = 0x6,
    IMAGE_CEE_CS_CALLCONV_LOCAL_SIG = 0x7,
    IMAGE_CEE_CS_CALLCONV_PROPERTY = 0x8,
    IMAGE_CEE_CS_CALLCONV_UNMANAGED = 0x9,
    IMAGE_CEE_CS_CALLCONV_GENERICINST = 0xa,
    IMAGE_CEE_CS_CALLCONV_MASK = 0xf,
    IMAGE_CEE_CS_CALLCONV_GENERIC = 0x10,
    IMAGE_CEE_CS_CALLCONV_HASTHIS = 0x20,
    IMAGE_CEE_CS_CALLCONV_EXPLICITTHIS = 0x40,
};

#endif
