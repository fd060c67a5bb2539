/** A local EVM chain, the facilitator as the process that its package brings, a Koa shop and a buyer: a sale on a real chain. */
import { spawn } from "node:child_process"
import { createServer } from "node:http"
import { createInterface } from "node:readline"

import { Router } from "@koa/router"
import { exactEvm } from "@pontage/evm"
import { EvmTestChain } from "@pontage/evm/testing"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { paymentMiddleware } from "@pontage/koa"
import * as Effect from "effect/Effect"
import Koa from "koa"

/** Starts the service by its own file, on the Node that runs this, and gives its address from its log. */
const startService = (environment) =>
  new Promise((resolve, reject) => {
    const service = spawn(process.execPath, ["node_modules/@pontage/facilitator/dist/main.js"], {
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "inherit"]
    })
    service.once("error", reject)
    service.once("exit", (code) => reject(new Error(`the facilitator ended with ${code}`)))
    createInterface({ input: service.stdout }).on("line", (line) => {
      const url = /listens on (http:\S+?);?(?:\s|"|$)/.exec(line)?.[1]
      if (url !== undefined) resolve({ url, service })
    })
  })

const sale = Effect.gen(function* () {
  const { accounts, balanceOf, network, rpcUrl } = yield* EvmTestChain.EvmTestChain
  const { url: facilitator, service } = yield* Effect.promise(() =>
    startService({
      PORT: "0",
      PONTAGE_STORE: "memory",
      PONTAGE_EVM_RPC_URL: rpcUrl,
      PONTAGE_EVM_SIGNER_KEY: accounts.signers[0].privateKey
    })
  )
  yield* Effect.addFinalizer(() => Effect.sync(() => service.kill()))
  const sold = yield* Effect.promise(async () => {
    const app = new Koa()
    const server = createServer()
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
    const origin = `http://127.0.0.1:${server.address().port}`
    const router = new Router()
    router.get("/report", (context) => void (context.body = { report: "It will rain, and then it will not." }))
    const payments = paymentMiddleware({
      origin,
      facilitator,
      secret: "a secret of 32 characters or more",
      schemes: [exactEvm.server({ rpcUrl })],
      router,
      routes: { "GET /report": { network, price: "$0.01", payTo: accounts.payee.address } }
    })
    app.use(payments)
    app.use(router.routes())
    server.on("request", app.callback())
    await payments.ready()
    const signer = exactEvm.localSigner(accounts.payers[0].privateKey)
    const paying = wrapFetch(fetch, { schemes: [exactEvm.client({ signer, network })] })
    const response = await paying(`${origin}/report`)
    const receipt = settlementOf(response)
    const body = await response.json()
    await payments.close()
    server.close()
    server.closeAllConnections()
    return { status: response.status, body, transaction: receipt?.transaction }
  })
  const earned = yield* balanceOf(accounts.payee.address)
  if (sold.status !== 200 || sold.transaction === undefined || earned !== 10_000n) {
    throw new Error(`no sale: ${JSON.stringify(sold)}, ${earned}`)
  }
  console.log(JSON.stringify({ ...sold, node: process.version }))
})

await Effect.runPromise(Effect.scoped(Effect.provide(sale, EvmTestChain.layer({ payers: 1 }))))
