/** A StatefulSet with a headless Service, as the README's examples have them. */
export const STATEFUL_SET = `
apiVersion: v1
kind: Service
metadata:
  name: web
  labels: {app: web}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {app: web}
  ports:
  - {name: http, port: 80, targetPort: http}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: web
  labels: {app: web}
spec:
  serviceName: web
  replicas: 3
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: main
        image: registry.example/web:1
        ports:
        - {name: http, containerPort: 8080}
        env:
        - {name: MODE, value: fast}
        - {name: LEVEL, value: "1"}
        resources:
          requests: {cpu: 100m, memory: 64Mi}
      - name: sidecar
        image: registry.example/sidecar:1
      volumes:
      - name: config
        configMap: {name: web}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 1Gi}}
`;

/** The same under another name. */
export function statefulSet(name: string): string {
  return STATEFUL_SET.replaceAll("ame: web", `ame: ${name}`);
}

/** A custom kind with what custom kinds may have: schema, rules, defaults, subresources, columns. */
export const GADGET_CRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.example.lockstep.dev
spec:
  group: example.lockstep.dev
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList, shortNames: [gd], categories: [all]}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources:
      status: {}
      scale:
        specReplicasPath: .spec.replicas
        statusReplicasPath: .status.replicas
        labelSelectorPath: .status.selector
    additionalPrinterColumns:
    - {name: Size, type: string, jsonPath: .spec.size}
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        type: object
        description: A gadget for trying things out.
        required: [spec]
        properties:
          spec:
            type: object
            description: What the gadget shall be.
            required: [size]
            x-kubernetes-validations:
            - rule: "self.size != 'huge' || self.replicas <= 3"
              message: a huge gadget has at most 3 replicas; lower spec.replicas or choose another size
            properties:
              size:
                type: string
                description: How large it is.
                enum: [small, large, huge]
              replicas:
                type: integer
                description: How many there are.
                minimum: 0
                default: 1
              tags:
                type: array
                description: Words that describe it.
                items: {type: string}
              parts:
                type: array
                description: What it is made of.
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string, description: The part's name.}
                    weight: {type: integer, description: The part's weight in grams.}
          status:
            type: object
            description: What the gadget is.
            properties:
              replicas: {type: integer, description: How many there are.}
              selector: {type: string, description: Which pods are its own.}
              conditions:
                type: array
                description: Aspects of its state.
                items:
                  type: object
                  properties:
                    type: {type: string}
                    status: {type: string}
                    reason: {type: string}
                    message: {type: string}
                    lastTransitionTime: {type: string, format: date-time}
`;

export function gadget(name: string, spec: string): string {
  return `
apiVersion: example.lockstep.dev/v1alpha1
kind: Gadget
metadata:
  name: ${name}
spec: ${spec}
`;
}

export function configMap(name: string, data: Record<string, string>, extra = ""): string {
  const lines = Object.entries(data).map(([key, value]) => `  ${key}: ${JSON.stringify(value)}`);
  return `
apiVersion: v1
kind: ConfigMap
metadata:
  name: ${name}
${extra}
data:
${lines.join("\n")}
`;
}

export function pod(name: string, labels: string, extra = ""): string {
  return `
apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  labels: ${labels}
spec:
  containers:
  - {name: main, image: registry.example/main:1}
${extra}
`;
}

/** Any object, as text that kubectl reads. */
export function object(value: object): string {
  return JSON.stringify(value);
}

export function event(name: string, namespace: string, involved: Record<string, string>, message: string): string {
  return object({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace },
    involvedObject: { apiVersion: "v1", ...involved },
    reason: "Tested",
    message,
    type: "Normal",
    count: 1,
    firstTimestamp: "2026-01-01T00:00:00Z",
    lastTimestamp: "2026-01-01T00:00:00Z",
    source: { component: "test" },
  });
}
