# Both base images are build arguments. Set them to use a mirror, a digest or another image.
ARG GO_IMAGE=golang:1.26
ARG RUNTIME_IMAGE=gcr.io/distroless/static-debian12:nonroot

# Build on the machine's own platform. Cross-compiling with Go is faster than an emulator.
FROM --platform=${BUILDPLATFORM} ${GO_IMAGE} AS build
WORKDIR /src
ENV CGO_ENABLED=0

# The source is mounted instead of copied. The path is absolute, because buildah refuses ".".
# Modules are downloaded in a separate step, which is shared by all target platforms.
RUN --mount=type=bind,target=/src \
    --mount=type=cache,target=/go/pkg/mod \
    go mod download

ARG TARGETOS
ARG TARGETARCH
RUN --mount=type=bind,target=/src \
    --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -tags grpcnotrace -trimpath -o /function ./fn

FROM ${RUNTIME_IMAGE}
COPY --from=build /function /function
EXPOSE 9443
USER 65532:65532
ENTRYPOINT ["/function"]
