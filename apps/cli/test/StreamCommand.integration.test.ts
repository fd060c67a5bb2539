/** `pontage pay` at a shop that sells an answer by the token while it sends it, over a chain. */
import { Readable } from "node:stream"

import { assert, describe, it } from "@effect/vitest"
import { Router } from "@koa/router"
import { ChannelStore, LocalFacilitator, MemoryChannelStore } from "@pontage/core"
import { channelEvm } from "@pontage/evm"
import { ChannelContracts, EvmTestChain } from "@pontage/evm/testing"
import { meterOf, paymentMiddleware } from "@pontage/koa"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import Koa from "koa"

import * as CliProcess from "./CliProcess.ts"
import * as OpenShop from "./OpenShop.ts"

/** Tokens, each charged before it is sent. */
async function* tokens(charge: () => Promise<void>, count: number): AsyncGenerator<string> {
  for (let token = 0; token < count; token++) {
    // oxlint-disable-next-line no-await-in-loop -- one token after the other
    await charge()
    yield `data: word${token}\n\n`
  }
}

/** A Koa shop that sells `GET /answer` at $0.0001 a token, ten at a time, and the command at it. */
const open = Effect.gen(function* () {
  const chain = yield* EvmTestChain.make({ payers: 2 })
  yield* ChannelContracts.deploy(chain)
  const { accounts, rpcUrl } = chain
  const [sender, authorizer] = accounts.signers
  const app = new Koa()
  app.silent = true
  const handle: { serve?: ReturnType<Koa["callback"]> } = {}
  const { origin } = yield* OpenShop.listen((request, response) => void handle.serve?.(request, response))
  const router = new Router()
  router.get("/answer", (context) => {
    const meter = meterOf(context)
    context.type = "text/event-stream"
    context.body = Readable.from(tokens(async () => meter?.charge(), Number(context.query["tokens"])))
  })
  const scheme = channelEvm.facilitator({
    signer: sender,
    rpcUrl,
    authorizer: { signer: authorizer },
    minimumDeposit: 1n
  })
  const selling = paymentMiddleware({
    origin,
    secret: "a secret of 32 characters or more",
    facilitator: LocalFacilitator.layerMemory({ schemes: [scheme] }).pipe(
      Layer.provide(Layer.succeed(ChannelStore, MemoryChannelStore.make()))
    ),
    schemes: [channelEvm.server({ rpcUrl, deposit: 10_000n })],
    router,
    routes: {
      "GET /answer": {
        scheme: "batch-settlement",
        network: chain.network,
        price: "$0.001",
        payTo: accounts.payee.address,
        metered: { unit: "token", tick: "$0.0001", idleSeconds: 10 }
      }
    }
  })
  app.use(selling)
  app.use(router.routes())
  handle.serve = app.callback()
  yield* Effect.promise(() => selling.ready())
  yield* Effect.addFinalizer(() => Effect.promise(() => selling.close()))
  const home = CliProcess.freshHome()
  const key = accounts.payers[1]?.privateKey ?? assert.fail("two payers")
  const environment = { PONTAGE_EVM_KEY: key, PONTAGE_RPC: `${chain.network}=${rpcUrl}` }
  const run = (count: number, ...args: ReadonlyArray<string>) =>
    Effect.promise(() => CliProcess.run(home, ["pay", `${origin}/answer?tokens=${count}`, ...args], environment))
  return { run }
})

const words = (text: string) => text.match(/^data: word\d+$/gm)?.length ?? 0

describe("pontage pay at a metered stream", () => {
  it.live("prints it as it comes, says what it cost, and ends at --max-stream", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { run } = yield* open
        const unasked = yield* run(25)
        assert.deepStrictEqual([unasked.code, unasked.out], [3, ""])

        const paid = yield* run(25, "--max", "0.001", "--max-stream", "0.01")
        assert.strictEqual(paid.code, 0, paid.err)
        assert.strictEqual(words(paid.out), 25)
        assert.match(paid.err, /Paid \$0\.0025 for 25 tokens to 127\.0\.0\.1/)
        assert.match(paid.err, /\$0\.0001 each token/)
        assert.match(paid.err, /deposit +0x[0-9a-f]{64}/)

        const limited = yield* run(25, "--max", "0.001", "--max-stream", "0.0015")
        assert.strictEqual(limited.code, 3, limited.err)
        assert.strictEqual(words(limited.out), 10)
        assert.match(limited.err, /Paid \$0\.001 for 10 tokens/)
        assert.include(limited.err, "perStream")

        const document = yield* run(12, "--yes", "--max-stream", "0.01", "--json")
        assert.strictEqual(document.code, 0, document.err)
        const parsed: unknown = JSON.parse(document.out)
        assert.nestedPropertyVal(parsed, "payment.stream.outcome", "complete")
        assert.nestedPropertyVal(parsed, "payment.stream.units", "12")
        assert.nestedPropertyVal(parsed, "payment.stream.price", "$0.0012")
        assert.nestedPropertyVal(parsed, "payment.state", "settled")
      })
    )
  )
})
