import { expect, it } from "vitest";
import { sbomOf } from "./sbom.ts";

it("every locked package is in the SBOM once, with version, licence and checksum; bundled ones are contained", () => {
  const document = sbomOf(
    {
      name: "lockstep",
      version: "1.2.3",
      packages: {
        "": { version: "1.2.3", license: "Apache-2.0" },
        "node_modules/yaml": { version: "2.0.0", license: "ISC", integrity: "sha512-AAEC" },
        "node_modules/@a/b/node_modules/yaml": { version: "1.0.0" },
      },
    },
    "digest",
    (path) => path === "node_modules/yaml",
  );
  const ids = document.packages.map(({ SPDXID }) => SPDXID);
  expect(ids).toEqual(["SPDXRef-lockstep", "SPDXRef-yaml", "SPDXRef--a-b-yaml"]);
  expect(document.packages[1]).toMatchObject({
    name: "yaml",
    versionInfo: "2.0.0",
    licenseDeclared: "ISC",
    checksums: [{ algorithm: "SHA512", checksumValue: "000102" }],
  });
  expect(document.relationships).toContainEqual({
    spdxElementId: "SPDXRef-lockstep",
    relationshipType: "CONTAINS",
    relatedSpdxElement: "SPDXRef-yaml",
  });
  expect(document.relationships).toContainEqual({
    spdxElementId: "SPDXRef--a-b-yaml",
    relationshipType: "DEV_DEPENDENCY_OF",
    relatedSpdxElement: "SPDXRef-lockstep",
  });
});
