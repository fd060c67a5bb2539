/**
 * The peers' versions, from this package's own manifest, which pins them.
 */
import { readFileSync } from "node:fs"

import * as Schema from "effect/Schema"

const Manifest = Schema.fromJsonString(Schema.Struct({ dependencies: Schema.Record(Schema.String, Schema.String) }))

const { dependencies } = Schema.decodeUnknownSync(Manifest)(
  readFileSync(new URL("../package.json", import.meta.url), "utf8")
)

/** A peer's package with its version, as tables show it. */
export const named = (name: string): string => `${name} ${dependencies[name]}`
