/**
 * Splits and reassembles a container image's name as Karmada's image overrider does: `[registry/]repository[:tag]` or
 * `[registry/]repository@digest`.
 */
export interface ImageReference {
  readonly registry: string;
  readonly repository: string;
  readonly tag: string;
  readonly digest: string;
}

const REPOSITORY_PART = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const HOST_PART = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?";
const HOST = `(?:${HOST_PART}(?:\\.${HOST_PART})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const NAME = new RegExp(`^(?:${HOST}/)?${REPOSITORY_PART}(?:/${REPOSITORY_PART})*$`);
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;

/** The maximum length in the image format. */
const NAME_MAX_CHARS = 255;

/**
 * Undefined if it is not an image name. If both a tag and a digest are given, the digest is dropped, as in Karmada: the
 * result must be what Karmada would have sent.
 */
export function parseImage(image: string): ImageReference | undefined {
  const at = image.indexOf("@");
  const digest = at < 0 ? "" : image.slice(at + 1);
  const rest = at < 0 ? image : image.slice(0, at);
  const colon = rest.lastIndexOf(":");
  const hasTag = colon > rest.lastIndexOf("/");
  const tag = hasTag ? rest.slice(colon + 1) : "";
  const name = hasTag ? rest.slice(0, colon) : rest;
  if (name.length > NAME_MAX_CHARS || !NAME.test(name)) return undefined;
  if (hasTag && !TAG.test(tag)) return undefined;
  if (at >= 0 && !DIGEST.test(digest)) return undefined;
  return { ...splitRegistry(name), tag, digest: hasTag ? "" : digest };
}

export function formatImage({ registry, repository, tag, digest }: ImageReference): string {
  const name = registry === "" ? repository : `${registry}/${repository}`;
  if (tag !== "") return `${name}:${tag}`;
  return digest === "" ? name : `${name}@${digest}`;
}

/** A value that is neither a tag nor a digest changes nothing, as in Karmada. */
export function withTagOrDigest(image: ImageReference, value: string): ImageReference {
  if (TAG.test(value)) return { ...image, tag: value, digest: "" };
  if (DIGEST.test(value)) return { ...image, tag: "", digest: value };
  return image;
}

/** A first part without a dot or a port is a folder of the default registry, unless it is `localhost`. */
function splitRegistry(name: string): { registry: string; repository: string } {
  const slash = name.indexOf("/");
  const first = name.slice(0, Math.max(slash, 0));
  if (slash < 0 || (!/[.:]/.test(first) && first !== "localhost")) return { registry: "", repository: name };
  return { registry: first, repository: name.slice(slash + 1) };
}
