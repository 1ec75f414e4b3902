# Lockstep's controller and command line. Nothing but Node, the bundle and the licences is in the image; it runs as a
# user without rights, needs no shell, and writes no file.
#   docker build -t lockstep:0.1.0 .
# Charts and kustomizations are rendered by the real helm and kustomize. An image that has them, built from the modules
# that test/tools pins:
#   docker build --target applications -t lockstep:0.1.0-applications .
# test/start/package.test.ts runs the last stage's command in the same layout; where buildah is at hand,
# npm run test:install:long builds and runs both.
ARG BUILD=node:20-bookworm-slim
ARG PROGRAMS=golang:1.26-bookworm
ARG RUNTIME=gcr.io/distroless/nodejs20-debian12:nonroot

FROM ${BUILD} AS build
WORKDIR /src
COPY . .
# Installs exactly what package-lock.json names, and builds dist/ (the script `prepare`).
RUN npm ci

FROM ${PROGRAMS} AS programs
ENV CGO_ENABLED=0
COPY test/tools /tools
RUN cd /tools/helm && go build -trimpath -ldflags="-s -w" -o /programs/helm helm.sh/helm/v3/cmd/helm
RUN cd /tools/kustomize && go build -trimpath -ldflags="-s -w" -o /programs/kustomize sigs.k8s.io/kustomize/kustomize/v5

FROM ${RUNTIME} AS controller
COPY --from=build /src/package.json /app/package.json
COPY --from=build /src/LICENSE /app/LICENSE
COPY --from=build /src/NOTICE /app/NOTICE
COPY --from=build /src/deploy/sbom.spdx.json /app/sbom.spdx.json
COPY --from=build /src/dist /app/dist
USER 65532:65532
WORKDIR /app
ENV NODE_ENV=production
ENTRYPOINT ["/nodejs/bin/node", "/app/dist/lockstep.js"]
CMD ["controller", "--help"]

FROM controller AS applications
COPY --from=programs /programs /programs

# Without --target, the image has no program but Node.
FROM controller
