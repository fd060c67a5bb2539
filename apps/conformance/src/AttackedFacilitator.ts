/**
 * The peer's facilitator, as a process under attack.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as PeerFacilitator from "./facilitators/PeerFacilitator.ts"

const Role = Schema.fromJsonString(
  Schema.Struct({ rpcUrl: Schema.String, key: Schema.TemplateLiteral(["0x", Schema.String]) })
)

const program = Effect.gen(function* () {
  const role = Schema.decodeUnknownSync(Role)(process.env["ROLE"] ?? "")
  const { url } = yield* PeerFacilitator.start({ ...role, nonces: "asked", pollingMillis: 20 })
  process.send?.({ url })
  return yield* Effect.never
})

process.on("disconnect", () => process.exit(1))
await Effect.runPromise(Effect.scoped(program))
