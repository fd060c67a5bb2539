/**
 * A shop as a measured process: `bare` is the host alone, and sends responses of the gate as constants; `gated` has the payment
 * adapter in front of the same routes.
 */
import { createServer } from "node:http"

import { mppSeller, protocolSeller, x402v1Seller, x402v2Seller } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import * as Schema from "effect/Schema"

import { report } from "./MeasuredProcess.ts"
import * as ShopHosts from "./ShopHosts.ts"

const [
  kind,
  port = "0",
  rpcUrl = "",
  facilitator = "",
  payTo = "",
  network = "eip155:31337",
  host = "koa",
  copies = "{}"
] = process.argv.slice(2)
if (!ShopHosts.isHost(host)) throw new Error(`no host is named ${host}`)
const origin = `http://127.0.0.1:${port}`

const decodeCopies = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Record(
      Schema.String,
      Schema.Struct({
        status: Schema.Number,
        headers: Schema.Record(Schema.String, Schema.String),
        body: Schema.String
      })
    )
  )
)

const terms = { scheme: "exact", network, price: "$0.01", payTo } as const
/** Version 1 of x402 has no name for networks that are not public. */
const versionOne = x402v1Seller.canOffer("exact", network) ? [x402v1Seller] : []
const dialects = [...versionOne, protocolSeller, x402v2Seller, mppSeller()]

const options = {
  origin,
  facilitator,
  secret: "a secret of at least thirty-two characters",
  schemes: [exactEvm.server({ rpcUrl })],
  routes: { "GET /report": terms, "GET /everybody": { ...terms, dialects } }
}

const listener = await ShopHosts.hosts[host](kind === "gated" ? options : undefined, decodeCopies(copies))
createServer(listener).listen(Number(port), "127.0.0.1", () => report(origin))
