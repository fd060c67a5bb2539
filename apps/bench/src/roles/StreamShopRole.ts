/**
 * A shop on Express that sends a tick a second on each of its streams, as a measured process: `metered` charges each tick on a payment
 * channel, with the facilitator in this process and its records in SQLite files; `bare` is Express alone.
 */
import { createServer } from "node:http"
import { setTimeout as delay } from "node:timers/promises"

import { x402v2Seller } from "@pontage/core"
import { channelEvm } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import { meterOf, paymentMiddleware } from "@pontage/express"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import express from "express"
import "effect/schema/SchemaJITCompiler/enable"

import * as EmbeddedFacilitator from "../EmbeddedFacilitator.ts"
import { report } from "./MeasuredProcess.ts"
import * as ProcessMemory from "./ProcessMemory.ts"
import * as SharedClock from "./SharedClock.ts"

const Options = Schema.fromJsonString(
  Schema.Struct({
    kind: Schema.Literals(["metered", "bare"]),
    port: Schema.Number,
    rpcUrl: Schema.String,
    network: Schema.String,
    payTo: Schema.String,
    /** The price of a tick, and of what one voucher covers. */
    tick: Schema.String,
    window: Schema.String,
    /** The keys that send transactions and authorize claims. */
    senderKey: Schema.String,
    authorizerKey: Schema.String,
    folder: Schema.String
  })
)
const options = Schema.decodeUnknownSync(Options)(process.argv[2])
const origin = `http://127.0.0.1:${options.port}`

const selling = async () => {
  const { authorizerKey, folder, network, payTo, rpcUrl, senderKey, tick, window } = options
  const crypto = await Effect.runPromise(BestCrypto.make)
  return paymentMiddleware({
    origin,
    secret: "a secret of at least thirty-two characters",
    facilitator: EmbeddedFacilitator.layer({
      rpcUrl,
      sender: channelEvm.localSigner(senderKey, crypto),
      authorizer: channelEvm.localSigner(authorizerKey, crypto),
      crypto,
      folder
    }),
    schemes: [channelEvm.server({ rpcUrl })],
    routes: {
      "GET /ticks": {
        scheme: "batch-settlement",
        network,
        price: window,
        payTo,
        dialects: [x402v2Seller],
        metered: { unit: "tick", tick }
      }
    }
  })
}

const app = express()
const payment = options.kind === "metered" ? await selling() : undefined
if (payment !== undefined) app.use(payment)

/** Each tick says when it was due. A stream ends with its reader, or with its meter. */
const send = async (request: express.Request, response: express.Response): Promise<void> => {
  const meter = meterOf(request)
  response.writeHead(200, { "Content-Type": "text/event-stream" })
  response.flushHeaders()
  const start = SharedClock.now()
  for (let second = 1; !response.destroyed; second++) {
    const due = start + second * 1_000
    // oxlint-disable-next-line no-await-in-loop -- a tick follows the other
    await delay(Math.max(0, due - SharedClock.now()))
    // oxlint-disable-next-line no-await-in-loop -- a tick is sent once it is charged
    const isCharged = await (meter?.charge(1).then(
      () => true,
      () => false
    ) ?? true)
    if (!isCharged) return
    response.write(`data: ${due}\n\n`)
  }
}
app.get("/ticks", (request, response) => void send(request, response))

const server = createServer(app)
await new Promise<void>((resolve) => {
  server.listen({ port: options.port, host: "127.0.0.1", backlog: 1_024 }, resolve)
})
await payment?.ready()
process.on("message", (message) => {
  if (message === "memory") process.send?.(ProcessMemory.read())
})
report(origin)
