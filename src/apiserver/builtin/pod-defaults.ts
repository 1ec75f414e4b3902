import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { listAt, objectAt, setDefault, textAt } from "../store/values.ts";

/** The file mode of mounted ConfigMaps and Secrets: 0644. */
const DEFAULT_FILE_MODE = 0o644;
const DEFAULT_GRACE_SECONDS = 30;

/** Kubernetes' defaults for a pod's spec, or a template's: controllers and kubectl diff see these. */
export function podSpecDefaults(spec: JsonObject): void {
  setDefault(spec, "restartPolicy", "Always");
  setDefault(spec, "dnsPolicy", "ClusterFirst");
  setDefault(spec, "schedulerName", "default-scheduler");
  setDefault(spec, "terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS);
  setDefault(spec, "securityContext", {});
  for (const container of [...listAt(spec, "containers"), ...listAt(spec, "initContainers")]) {
    if (isJsonObject(container)) containerDefaults(container);
  }
  for (const volume of listAt(spec, "volumes")) if (isJsonObject(volume)) volumeDefaults(volume);
}

function containerDefaults(container: JsonObject): void {
  setDefault(container, "imagePullPolicy", pullPolicy(textAt(container, "image") ?? ""));
  setDefault(container, "terminationMessagePath", "/dev/termination-log");
  setDefault(container, "terminationMessagePolicy", "File");
  setDefault(container, "resources", {});
  for (const port of listAt(container, "ports")) if (isJsonObject(port)) setDefault(port, "protocol", "TCP");
  for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    const found = objectAt(container, probe);
    if (found) probeDefaults(found);
  }
  for (const variable of listAt(container, "env")) {
    const fieldRef = objectAt(variable, "valueFrom", "fieldRef");
    if (fieldRef) setDefault(fieldRef, "apiVersion", "v1");
  }
}

function pullPolicy(image: string): string {
  const [name = ""] = image.split("@");
  if (image.includes("@")) return "IfNotPresent";
  const tag = /:([^/:]+)$/.exec(name)?.[1];
  return tag === undefined || tag === "latest" ? "Always" : "IfNotPresent";
}

function probeDefaults(probe: JsonObject): void {
  setDefault(probe, "timeoutSeconds", 1);
  setDefault(probe, "periodSeconds", 10);
  setDefault(probe, "successThreshold", 1);
  setDefault(probe, "failureThreshold", 3);
  const http = objectAt(probe, "httpGet");
  if (http) {
    setDefault(http, "path", "/");
    setDefault(http, "scheme", "HTTP");
  }
}

function volumeDefaults(volume: JsonObject): void {
  if (Object.keys(volume).every((key) => key === "name")) volume.emptyDir = {};
  for (const source of ["configMap", "secret", "downwardAPI", "projected"]) {
    const found = objectAt(volume, source);
    if (found) setDefault(found, "defaultMode", DEFAULT_FILE_MODE);
  }
}
