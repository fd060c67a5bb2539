/**
 * Our buyer with a wallet, as a process under attack: it asks for what `?url=` names, pays where its own options allow it,
 * and reports the result.
 */
import { createServer } from "node:http"

import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as LoopbackServer from "@pontage/devnet/LoopbackServer"
import { exactEvm } from "@pontage/evm"
import { type PayingFetchOptions, wrapFetch } from "@pontage/fetch"
import { fileJournal } from "@pontage/fetch/node"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Role = Schema.fromJsonString(
  Schema.Struct({
    privateKey: Schema.String,
    journal: Schema.optionalKey(Schema.String),
    /** Milliseconds after which a call ends, as with an impatient owner. */
    patience: Schema.Int,
    /** As their owner has written them, right or wrong. */
    options: Schema.Record(Schema.String, Schema.Json)
  })
)

const { journal, options, patience, privateKey } = Schema.decodeUnknownSync(Role)(process.env["ROLE"] ?? "")

const paying = wrapFetch(fetch, {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an untyped caller may pass any value
  ...(options as Partial<PayingFetchOptions>),
  schemes: [exactEvm.client({ signer: exactEvm.localSigner(privateKey), network: BaseSepolia.network })],
  ...(journal !== undefined && { journal: (await fileJournal(journal)).journal })
})

const ask = async (url: string) => {
  try {
    const response = await paying(url, { signal: AbortSignal.timeout(patience) })
    return { status: response.status, said: await response.text() }
  } catch (error) {
    const rule = error instanceof Error ? (Reflect.get(error, "rule") ?? error.name) : error
    return { status: 0, said: String(rule) }
  }
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://buyer.example").searchParams.get("url") ?? ""
  void ask(url).then((answer) => response.end(JSON.stringify(answer)))
})

const program = Effect.gen(function* () {
  process.send?.({ url: yield* LoopbackServer.listen(server) })
  return yield* Effect.never
})

process.on("disconnect", () => process.exit(1))
await Effect.runPromise(Effect.scoped(program))
