/**
 * A process that asks the addresses in its arguments, one after the other, and prints what came of each; at the end whether
 * a connection keeps it alive.
 */
import * as Effect from "effect/Effect"

import * as NodeOrigin from "../../src/wire/http/NodeOrigin.ts"

const call = { method: "POST", path: "/a?b", headers: {}, body: "{}", maximumBytes: 1_000, redirect: "error" } as const

for (const origin of process.argv.slice(2)) {
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  const said = await Effect.runPromise(
    Effect.match(NodeOrigin.at(origin).send(call), {
      onFailure: (reason) => (reason instanceof Error && "code" in reason ? String(reason.code) : String(reason)),
      onSuccess: ({ body }) => (body._tag === "Read" ? String(body.text) : body._tag)
    })
  )
  console.log(said)
}
console.log(process.getActiveResourcesInfo().includes("TCPSocketWrap") ? "held" : "free")
