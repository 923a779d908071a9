# Both base images are build arguments: a mirror, a digest or a stand-in goes here.
ARG GO_IMAGE=golang:1.26
ARG RUNTIME_IMAGE=gcr.io/distroless/static-debian12:nonroot

# Build on the machine's own platform. Go crosses to the target faster than an emulator runs.
FROM --platform=${BUILDPLATFORM} ${GO_IMAGE} AS build
WORKDIR /src
ENV CGO_ENABLED=0

# The source is mounted, not copied: at an absolute path, since buildah refuses ".".
# Modules are downloaded in a step of their own, which the target platform does not repeat.
RUN --mount=type=bind,target=/src \
    --mount=type=cache,target=/go/pkg/mod \
    go mod download

ARG TARGETOS
ARG TARGETARCH
RUN --mount=type=bind,target=/src \
    --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -trimpath -o /function ./fn

FROM ${RUNTIME_IMAGE}
COPY --from=build /function /function
EXPOSE 9443
USER 65532:65532
ENTRYPOINT ["/function"]
