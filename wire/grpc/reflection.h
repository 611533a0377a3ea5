/*
 * reflection -- grpc.reflection.v1 and v1alpha: which services there are, and
 * the files that describe them.
 *
 * The files are given as serialized google.protobuf.FileDescriptorProto, as
 * `protoc --descriptor_set_out --include_imports` writes them into a
 * FileDescriptorSet; names and imports are read out of them.
 *
 * Thread: any, once all files are added.
 * Limits: REFLECTION_FILES_MAX; a question is answered before the next is read.
 * Source: grpc/reflection/v1/reflection.proto,
 * google/protobuf/descriptor.proto.
 */
#ifndef WIRE_GRPC_REFLECTION_H
#define WIRE_GRPC_REFLECTION_H

#include "wire/grpc/grpc.h"

#define REFLECTION_FILES_MAX 32

struct reflection;
/* Its methods are added to the server; the gate sees them. */
struct reflection *reflection_new(struct grpc_server *);
void reflection_free(struct reflection **);   /* after the server's sessions */
/*
 * Add all files of a FileDescriptorSet, which must outlive it.  Errors: INPUT
 * when it is none; FULL.
 */
MUST_USE enum err reflection_add(struct reflection *, struct str set,
    struct why *);

#endif
