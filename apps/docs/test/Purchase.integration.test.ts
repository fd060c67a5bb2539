/** The program of `protocol.md`, which knows nothing of this repository, buys from a shop of ours on a real chain. */
import { execFile } from "node:child_process"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

import { assert, it } from "@effect/vitest"
import { Router } from "@koa/router"
import { LocalFacilitator } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { EvmTestChain } from "@pontage/evm/testing"
import { paymentMiddleware } from "@pontage/koa"
import * as Effect from "effect/Effect"
import Koa from "koa"

import * as Markdown from "./Markdown.ts"

const example = "apps/docs/examples/buy.mjs"

const listening = Effect.acquireRelease(
  Effect.callback<ReturnType<typeof createServer>>((resume) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) =>
    Effect.callback<void>((resume) => {
      server.close(() => resume(Effect.void))
      server.closeAllConnections()
    })
)

/** A shop that sells a report for a cent. Returns the URL of the report once it is on sale. */
const openShop = Effect.fnUntraced(function* ({ accounts, network, rpcUrl }: EvmTestChain.Shape) {
  const server = yield* listening
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const router = new Router().get("/report", (context) => {
    context.body = { report: "It will rain." }
  })
  const payments = paymentMiddleware({
    origin,
    router,
    facilitator: LocalFacilitator.layerMemory({
      schemes: [exactEvm.facilitator({ signer: accounts.signers[0], rpcUrl })]
    }),
    secret: "a secret of at least thirty-two characters",
    schemes: [exactEvm.server({ rpcUrl })],
    routes: { "GET /report": { network, price: "$0.01", payTo: accounts.payee.address } }
  })
  server.on("request", new Koa().use(payments).use(router.routes()).callback())
  yield* Effect.promise(() => payments.ready())
  yield* Effect.addFinalizer(() => Effect.promise(() => payments.close()))
  return `${origin}/report`
})

it("is shown in the document as it is", () => {
  const [, shown = ""] =
    /<!-- from apps\/docs\/examples\/buy\.mjs -->\n\n```js\n([\s\S]*?)```/.exec(
      Markdown.read("apps/docs/protocol.md")
    ) ?? []
  assert.strictEqual(shown, Markdown.read(example))
})

it.live("buys", () =>
  Effect.gen(function* () {
    const chain = yield* EvmTestChain.make({ payers: 1 })
    const url = yield* openShop(chain)
    const program = fileURLToPath(new URL(example, Markdown.root))
    const run = Effect.promise(() => promisify(execFile)(process.execPath, [program, url]))
    const { body, receipt, status } = JSON.parse((yield* run).stdout)
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(JSON.parse(body), { report: "It will rain." })
    const transfers = yield* chain.transfers({ token: chain.token.address })
    const transfer = transfers.find(({ transactionHash }) => transactionHash === receipt.transaction)
    assert.deepInclude(transfer, { to: chain.accounts.payee.address, value: 10_000n })
    assert.strictEqual(receipt.amount, "10000")
    assert.strictEqual(receipt.payer, chain.accounts.payers[0].address)
  }).pipe(Effect.scoped)
)
