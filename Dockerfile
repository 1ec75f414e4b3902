# Lockstep's controller and command line. Nothing but Node, the bundle and the licences is in the image; it runs as a
# user without rights, needs no shell, and writes no file.
#   docker build -t lockstep:0.1.0 .
# test/start/package.test.ts runs the last stage's command in the same layout.
ARG BUILD=node:20-bookworm-slim
ARG RUNTIME=gcr.io/distroless/nodejs20-debian12:nonroot

FROM ${BUILD} AS build
WORKDIR /src
COPY . .
# Installs exactly what package-lock.json names, and builds dist/ (the script `prepare`).
RUN npm ci

FROM ${RUNTIME}
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
