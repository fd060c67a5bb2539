/**
 * Our shop that sells by payment channels, on Express, as a measured process. Its facilitator is in this process and keeps its records in
 * SQLite files, or it is at a URL.
 */
import { createServer } from "node:http"
import { setTimeout as delay } from "node:timers/promises"

import { protocolSeller, x402v2Seller } from "@pontage/core"
import { channelEvm } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import { paymentMiddleware } from "@pontage/express"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import express from "express"
import "effect/schema/SchemaJITCompiler/enable"

import * as EmbeddedFacilitator from "../EmbeddedFacilitator.ts"
import { report } from "./MeasuredProcess.ts"

const Options = Schema.fromJsonString(
  Schema.Struct({
    port: Schema.Number,
    rpcUrl: Schema.String,
    network: Schema.String,
    payTo: Schema.String,
    price: Schema.String,
    /** A facilitator at a URL, with the key by which it knows the shop; default one in this process. */
    facilitator: Schema.optionalKey(Schema.Struct({ url: Schema.String, key: Schema.String })),
    /** The keys that send transactions and authorize claims. */
    senderKey: Schema.String,
    authorizerKey: Schema.String,
    folder: Schema.String,
    /** Milliseconds that the handler of the other goods takes. */
    otherMillis: Schema.Number
  })
)
const options = Schema.decodeUnknownSync(Options)(process.argv[2])
const { authorizerKey, facilitator, folder, network, otherMillis, payTo, port, price, rpcUrl, senderKey } = options

const origin = `http://127.0.0.1:${port}`
const crypto = await Effect.runPromise(BestCrypto.make)
const route = {
  scheme: "batch-settlement",
  network,
  price,
  payTo,
  dialects: [protocolSeller, x402v2Seller]
}
const embedded = EmbeddedFacilitator.layer({
  rpcUrl,
  sender: channelEvm.localSigner(senderKey, crypto),
  authorizer: channelEvm.localSigner(authorizerKey, crypto),
  crypto,
  folder
})
const payment = paymentMiddleware({
  origin,
  secret: "a secret of at least thirty-two characters",
  facilitator:
    facilitator === undefined
      ? embedded
      : { url: facilitator.url, headers: { authorization: `Bearer ${facilitator.key}` } },
  schemes: [channelEvm.server({ rpcUrl })],
  routes: { "GET /report": route, "GET /other": route }
})
const app = express().use(payment)
const body = { report: "It will rain, and then it will not." }
app.get("/report", (_request, response) => {
  response.json(body)
})
app.get("/other", async (_request, response) => {
  await delay(otherMillis)
  response.json(body)
})
await new Promise<void>((resolve) => {
  createServer(app).listen(port, "127.0.0.1", resolve)
})
await payment.ready()
report(origin)
