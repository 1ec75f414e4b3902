/**
 * Apart, so that it is loaded on first use. The bundled program finds the parts of a CommonJS package only in an import
 * that names them; a dynamic import of the package itself has none of them.
 */
import { Agent } from "undici";

export function agentWith(connect: Agent.Options["connect"]): Agent {
  return new Agent({ ...(connect && { connect }), headersTimeout: 0, bodyTimeout: 0 });
}
